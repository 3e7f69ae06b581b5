//! Chromium, driven through chromedriver: what a person would do and see.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::tools::{artefacts, temp_dir, tool};

/// How long a page may take to show what is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// A browser with one window; ended by [`Browser::close`].
pub struct Browser {
    client: Client,
    driver: Driver,
}

/// The chromedriver behind it; ended when dropped, and the browser with it.
struct Driver {
    child: Child,
    folder: std::path::PathBuf,
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // A driver that is killed leaves its browser behind; ours is the one with this folder.
        for process in processes_naming(&self.folder) {
            let _ = Command::new("kill").args(["-KILL", &process]).stderr(Stdio::null()).status();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Ids of the processes whose command line names a folder.
fn processes_naming(folder: &std::path::Path) -> Vec<String> {
    let named = folder.display().to_string();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter(|e| std::fs::read(e.path().join("cmdline")).is_ok_and(|c| String::from_utf8_lossy(&c).contains(&named)))
        .filter_map(|e| e.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
        .collect()
}

/// Light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// As on paper.
    Light,
    /// As at night.
    Dark,
}

impl Browser {
    /// Starts one, if this machine has Chromium and its driver.
    ///
    /// # Errors
    /// If either does not start.
    pub async fn start() -> Result<Option<Browser>> {
        let (Some(driver), Some(chromium)) = (tool("OLEADA_TEST_CHROMEDRIVER"), tool("OLEADA_TEST_CHROMIUM")) else {
            return Ok(None);
        };
        let folder = temp_dir("browser");
        let mut child = Command::new(driver)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("chromedriver does not start")?;
        let output = child.stdout.take().context("no stdout")?;
        let driver = Driver { child, folder };
        let port = tokio::task::spawn_blocking(move || listening_port(output)).await??;
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
        ];
        let mut arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
        arguments.push(format!("--user-data-dir={}", driver.folder.display()));
        let capabilities = json!({
            "goog:chromeOptions": { "binary": chromium, "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities.as_object().cloned().unwrap_or_default())
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .context("Chromium does not start")?;
        Ok(Some(Browser { client, driver }))
    }

    /// The driver's client, for what is not covered here.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Opens an address.
    pub async fn open(&self, url: &str) -> Result<()> {
        Ok(self.client.goto(url).await?)
    }

    /// Types into the field with this name, replacing what is there.
    pub async fn fill(&self, name: &str, text: &str) -> Result<()> {
        let field = self.wait(&format!("[name=\"{name}\"]")).await?;
        field.clear().await.with_context(|| format!("clearing {name}"))?;
        field.send_keys(text).await.with_context(|| format!("typing into {name}"))?;
        Ok(())
    }

    /// Waits for an element and clicks it.
    pub async fn click(&self, css: &str) -> Result<()> {
        let element = self.wait(css).await?;
        self.client
            .execute("arguments[0].scrollIntoView({block: 'center'})", vec![serde_json::to_value(&element)?])
            .await?;
        element.click().await.with_context(|| format!("clicking {css}"))
    }

    /// Waits for the element.
    pub async fn wait(&self, css: &str) -> Result<fantoccini::elements::Element> {
        let wait = self.client.wait().at_most(PATIENCE);
        wait.for_element(Locator::Css(css)).await.with_context(|| format!("waiting for {css}"))
    }

    /// Waits until a script's value is true.
    pub async fn wait_until(&self, what: &str, script: &str) -> Result<()> {
        let until = std::time::Instant::now() + 2 * PATIENCE;
        while std::time::Instant::now() < until {
            // A page that is just being replaced answers with an error; the next look is on the new one.
            if self.client.execute(script, vec![]).await.is_ok_and(|v| v == Value::Bool(true)) {
                return Ok(());
            }
            tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(100))).await?;
        }
        let text = self.client.execute("return document.body.innerText.slice(0, 2000)", vec![]).await;
        anyhow::bail!("{what}: not within {} s; the page says {text:?}", 2 * PATIENCE.as_secs())
    }

    /// The path of the page that is shown.
    pub async fn path(&self) -> Result<String> {
        Ok(self.client.current_url().await?.path().to_owned())
    }

    /// The value of a script, as JSON.
    pub async fn script(&self, script: &str) -> Result<Value> {
        Ok(self.client.execute(script, vec![]).await?)
    }

    /// What the accessibility checks of axe find on this page, with everything unfolded; `axe` is its script.
    ///
    /// # Errors
    /// If the script does not run.
    pub async fn violations(&self, axe: &str) -> Result<Vec<String>> {
        self.client.execute("for (const d of document.querySelectorAll('details')) d.open = true", vec![]).await?;
        self.client.execute(axe, vec![]).await?;
        let run = "const done = arguments[arguments.length - 1];
            axe.run(document, { resultTypes: ['violations'] }).then(
                (found) => done(found.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.target.join(' ')).join(', ')}`)),
                (error) => done([`axe did not run: ${error}`]));";
        Ok(serde_json::from_value(self.client.execute_async(run, vec![]).await?)?)
    }

    /// Errors that the page wrote to its console since the last call, such as broken scripts and refused styles.
    pub async fn console_errors(&self) -> Result<Vec<String>> {
        let entries = self.client.issue_cmd(ConsoleLog).await?;
        let entries = entries.as_array().cloned().unwrap_or_default();
        let severe = entries.iter().filter(|e| e["level"] == "SEVERE");
        Ok(severe.map(|e| e["message"].as_str().unwrap_or_default().to_owned()).collect())
    }

    /// Lets pages be read in another time zone, such as `Asia/Kathmandu`.
    pub async fn time_zone(&self, zone: &str) -> Result<()> {
        self.cdp("Emulation.setTimezoneOverride", json!({ "timezoneId": zone })).await?;
        Ok(())
    }

    /// Sets width and colour scheme, takes a picture of the whole page into the artefacts, and fails if the page is wider than
    /// the window.
    pub async fn picture(&self, name: &str, width: u32, scheme: Scheme) -> Result<()> {
        self.shape(width, 900, scheme).await?;
        let size =
            self.script("return [document.documentElement.scrollWidth, document.documentElement.scrollHeight]").await?;
        let (wide, high) = (size[0].as_u64().unwrap_or(0), size[1].as_u64().unwrap_or(900));
        anyhow::ensure!(wide <= u64::from(width), "{name} is {wide} px wide in a window of {width} px");
        self.shape(width, u32::try_from(high.clamp(600, 12_000))?, scheme).await?;
        let png = self.cdp("Page.captureScreenshot", json!({ "format": "png" })).await?;
        let png = base64::engine::general_purpose::STANDARD.decode(png["data"].as_str().context("no picture")?)?;
        let scheme = if scheme == Scheme::Dark { "dark" } else { "light" };
        std::fs::write(artefacts().join(format!("{name}-{width}-{scheme}.png")), png)?;
        self.shape(1280, 900, Scheme::Light).await
    }

    /// Pictures of the page at phone and desktop width, light and dark.
    pub async fn pictures(&self, name: &str) -> Result<()> {
        for width in [360, 1280] {
            for scheme in [Scheme::Light, Scheme::Dark] {
                self.picture(name, width, scheme).await?;
            }
        }
        Ok(())
    }

    async fn shape(&self, width: u32, height: u32, scheme: Scheme) -> Result<()> {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.cdp("Emulation.setDeviceMetricsOverride", metrics).await?;
        let value = if scheme == Scheme::Dark { "dark" } else { "light" };
        // Without motion a picture shows no colour on its way to another.
        let media = json!({ "features": [
            { "name": "prefers-color-scheme", "value": value },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ] });
        self.cdp("Emulation.setEmulatedMedia", media).await?;
        Ok(())
    }

    async fn cdp(&self, command: &str, parameters: Value) -> Result<Value> {
        Ok(self.client.issue_cmd(Cdp { command: command.to_owned(), parameters }).await?)
    }

    /// Bytes that the page's scripts hold, after what they do not hold any more was taken away.
    pub async fn heap_bytes(&self) -> Result<u64> {
        self.cdp("HeapProfiler.collectGarbage", json!({})).await?;
        let usage = self.cdp("Runtime.getHeapUsage", json!({})).await?;
        let bytes = usage["usedSize"].as_f64().context("no heap usage")?;
        // The memory of compiled code counts too, where the browser tells it.
        Ok((bytes + usage["backingStorageSize"].as_f64().unwrap_or(0.0)) as u64)
    }

    /// Ends the browser and its driver.
    pub async fn close(self) -> Result<()> {
        self.client.close().await?;
        drop(self.driver);
        Ok(())
    }
}

/// Reads the driver's first lines until it says where it listens.
fn listening_port(output: std::process::ChildStdout) -> Result<u16> {
    let mut lines = BufReader::new(output).lines();
    for line in lines.by_ref().take(50) {
        let line = line?;
        if let Some((_, rest)) = line.split_once("started successfully on port ") {
            // The rest of the output is not read, but stays open so that the driver can write it.
            std::thread::spawn(move || lines.for_each(drop));
            return Ok(rest.trim_end_matches('.').trim().parse()?);
        }
    }
    anyhow::bail!("chromedriver did not say where it listens")
}

/// A command of the Chrome DevTools protocol.
#[derive(Debug)]
struct Cdp {
    command: String,
    parameters: Value,
}

impl WebDriverCompatibleCommand for Cdp {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "cmd": self.command, "params": self.parameters }).to_string()))
    }
}

/// The browser's console.
#[derive(Debug)]
struct ConsoleLog;

impl WebDriverCompatibleCommand for ConsoleLog {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "type": "browser" }).to_string()))
    }
}
