//! Journeys in Chromium, with pictures of what was seen on the way.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use harness::Server;
use harness::browser::Browser;
use harness::tools::{Target, tool};

#[path = "browser/report.rs"]
mod report;

/// Signs up, registers a host, makes and runs a test twice, shares it, compares; every page is pictured.
#[tokio::test(flavor = "multi_thread")]
async fn from_sign_up_to_comparing_two_runs() {
    let Some(browser) = Browser::start().await.unwrap() else { return };
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let at = |path: &str| format!("{}{path}", server.url());

    browser.open(&at("/")).await.unwrap();
    browser.pictures("home").await.unwrap();
    browser.open(&at("/sign-up")).await.unwrap();
    browser.pictures("sign-up").await.unwrap();
    browser.fill("email", "anna@example.test").await.unwrap();
    browser.fill("password", "correct horse battery").await.unwrap();
    browser.click("main form button[type=submit]").await.unwrap();
    browser.wait_until("signed up", "return location.pathname === '/dashboard'").await.unwrap();
    browser.pictures("dashboard-empty").await.unwrap();

    browser.open(&at("/hosts")).await.unwrap();
    browser.fill("address", target.address()).await.unwrap();
    browser.click("form[action='/hosts'] button[type=submit]").await.unwrap();
    browser.wait_until("host added", "return /^\\/hosts\\/./.test(location.pathname)").await.unwrap();
    browser.pictures("host").await.unwrap();
    browser.open(&at("/hosts")).await.unwrap();
    browser.pictures("hosts").await.unwrap();

    browser.open(&at("/tests/new")).await.unwrap();
    browser.fill("name", "Front page").await.unwrap();
    browser.click("input[name=load][value=per_second]").await.unwrap();
    browser.fill("rate", "40").await.unwrap();
    browser.fill("duration_s", "6").await.unwrap();
    browser.fill("requests[0].url", &target.url("/delay/15")).await.unwrap();
    // The preview follows the form: 40 clients a second for 6 seconds.
    browser.wait_until("preview", "return document.body.innerText.includes('240')").await.unwrap();
    browser.pictures("test-form").await.unwrap();
    browser.click("button[name=action][value=run]").await.unwrap();
    browser.wait_until("run page", "return /^\\/runs\\/./.test(location.pathname)").await.unwrap();

    // Live without a reload: the page's own script counts on while the run goes on.
    browser.wait("html[data-islands=ready]").await.unwrap();
    browser.script("window.stayed = true").await.unwrap();
    let sent = "[...document.querySelectorAll('.ledger-live dt')].find(d => d.innerText === 'Sent')?.nextElementSibling.innerText";
    for more in ["window.first", "window.second"] {
        browser.script(&format!("{more} = {sent}")).await.unwrap();
        let moved = format!("return window.stayed === true && !!{more} && {sent} !== {more}");
        browser.wait_until("one more second without a reload", &moved).await.unwrap();
    }
    browser.picture("run-live", 1280, harness::browser::Scheme::Light).await.unwrap();
    // At the end the page fetches its report by itself.
    browser.wait(".verdict").await.unwrap();
    let first = browser.path().await.unwrap();
    browser.pictures("report").await.unwrap();

    browser.click(&format!("form[action='{first}/share'] button")).await.unwrap();
    browser.wait_until("shared", "return document.documentElement.innerHTML.includes('/r/')").await.unwrap();
    let link = browser
        .script("return (document.documentElement.innerHTML.match(/\\/r\\/[0-9a-f]{32}/) || [''])[0]")
        .await
        .unwrap();
    browser.pictures("report-shared").await.unwrap();

    let test = browser
        .script("return document.querySelector('main a[href^=\"/tests/\"]').getAttribute('href')")
        .await
        .unwrap();
    let test = test.as_str().unwrap().to_owned();
    browser.open(&at(&test)).await.unwrap();
    browser.pictures("test").await.unwrap();
    browser.click(&format!("form[action='{test}/run'] button")).await.unwrap();
    browser.wait_until("second run", "return /^\\/runs\\/./.test(location.pathname)").await.unwrap();
    browser.wait(".verdict").await.unwrap();
    let second = browser.path().await.unwrap();

    let id = |path: &str| path.trim_start_matches("/runs/").to_owned();
    browser.open(&at(&format!("/compare?run={}&run={}", id(&first), id(&second)))).await.unwrap();
    browser.wait("main svg").await.unwrap();
    browser.pictures("compare").await.unwrap();

    browser.open(&at(&format!("{test}/trend"))).await.unwrap();
    browser.wait("main svg").await.unwrap();
    browser.pictures("trend").await.unwrap();

    // The same test at two sizes, one after the other.
    browser.open(&at(&format!("{test}/capacity"))).await.unwrap();
    browser.pictures("capacity-form").await.unwrap();
    browser.open(&at(&format!("{test}/series"))).await.unwrap();
    browser.pictures("series-form").await.unwrap();
    browser.fill("sizes", "20, 40").await.unwrap();
    browser.click("main form button[type=submit]").await.unwrap();
    browser.wait_until("series", "return /^\\/series\\/./.test(location.pathname)").await.unwrap();
    let over = "return document.querySelector('.run-line .badge')?.innerText.trim() === 'Over'";
    browser.wait_until("both runs of the series", over).await.unwrap();
    let series = browser.path().await.unwrap();
    browser.pictures("series").await.unwrap();
    browser.open(&at("/runs")).await.unwrap();
    browser.pictures("runs").await.unwrap();
    browser.open(&at(&first)).await.unwrap();
    browser.wait("main svg").await.unwrap();
    browser.open(&at("/tests")).await.unwrap();
    browser.pictures("tests").await.unwrap();
    browser.open(&at("/dashboard")).await.unwrap();
    browser.pictures("dashboard").await.unwrap();

    // A colleague has the link and no account.
    browser.client().delete_all_cookies().await.unwrap();
    browser.open(&at(link.as_str().unwrap())).await.unwrap();
    browser.wait("main svg").await.unwrap();
    browser.pictures("report-public").await.unwrap();
    browser.open(&at(&format!("{}/embed", link.as_str().unwrap()))).await.unwrap();
    browser.wait("svg").await.unwrap();
    browser.pictures("report-embedded").await.unwrap();
    // What is the account's stays so.
    browser.open(&at(&series)).await.unwrap();
    browser.wait_until("signed out", "return location.pathname === '/sign-in'").await.unwrap();
    browser.open(&at("/nowhere")).await.unwrap();
    browser.pictures("not-found").await.unwrap();
    let errors = browser.console_errors().await.unwrap();
    let faults: Vec<_> = errors.iter().filter(|e| !e.contains("/nowhere")).collect();
    assert!(faults.is_empty(), "{faults:?}");
    browser.close().await.unwrap();
}

/// The form as a person with scripts meets it: rows come, go and move without a reload, and nothing typed is lost.
#[tokio::test(flavor = "multi_thread")]
async fn rows_of_the_form_change_without_a_reload() {
    let Some(browser) = Browser::start().await.unwrap() else { return };
    let server = Server::start().await;
    let at = |path: &str| format!("{}{path}", server.url());
    sign_up(&browser, &server).await;
    browser.open(&at("/tests/new")).await.unwrap();
    browser.wait("html[data-islands=ready]").await.unwrap();
    browser.script("window.stayed = true").await.unwrap();
    browser.fill("name", "Rows").await.unwrap();
    browser.fill("requests[0].url", "http://a.test/first").await.unwrap();
    browser.click("#add-f-requests").await.unwrap();
    let focused = |id: &str| format!("return window.stayed && document.activeElement.id === '{id}'");
    browser.wait_until("the new row has the focus", &focused("f-requests-1-url")).await.unwrap();
    browser.fill("requests[1].url", "http://a.test/second").await.unwrap();
    browser.click("button[value='up:requests:1']").await.unwrap();
    browser.wait_until("the row moved", &focused("f-requests-0-url")).await.unwrap();
    let url = |i: u8| format!("document.querySelector('[name=\"requests[{i}].url\"]').value");
    let both = browser.script(&format!("return [{}, {}]", url(0), url(1))).await.unwrap();
    assert_eq!(both, serde_json::json!(["http://a.test/second", "http://a.test/first"]));
    // Stages from a pattern, drawn at once.
    browser.click("input[name=load][value=per_second]").await.unwrap();
    browser.click("#f-stages-group summary").await.unwrap();
    browser.click("button[value='pattern:ramp']").await.unwrap();
    browser.wait_until("stages", &focused("f-stages-0-duration-s")).await.unwrap();
    let drawn = "return document.querySelector('.preview-headline').innerText === 'This sends about 960 requests'";
    browser.wait_until("the preview follows the stages", drawn).await.unwrap();
    let said = browser.script("return document.querySelector('#form-status').textContent").await.unwrap();
    assert_eq!(said, "The stages are filled in: Up, hold, down.");
    // JSON is looked at while it is typed, and never in the way.
    browser.click("#f-requests-0-body-group summary").await.unwrap();
    browser.script("document.querySelector('#f-requests-0-body-mode').value = 'text'").await.unwrap();
    browser.fill("requests[0].body", "{\"a\": {{id}},").await.unwrap();
    let note = |text: &str| {
        format!("return document.querySelector('#f-requests-0-body-note').textContent.startsWith('{text}')")
    };
    browser.wait_until("not JSON", &note("This is not JSON")).await.unwrap();
    browser.fill("requests[0].body", "{\"a\": {{id}}, \"b\": \"{{$uuid}}\"}").await.unwrap();
    browser.wait_until("JSON", &note("This is JSON")).await.unwrap();
    browser.pictures("test-form-rows").await.unwrap();
    browser.click("button.button[value=save]").await.unwrap();
    browser.wait_until("saved", "return /^\\/tests\\/[0-9a-f]/.test(location.pathname)").await.unwrap();
    browser.pictures("test-with-stages").await.unwrap();
    assert_eq!(browser.console_errors().await.unwrap(), Vec::<String>::new());
    browser.close().await.unwrap();
}

/// The checks of axe on every page that people work with.
#[tokio::test(flavor = "multi_thread")]
async fn pages_have_no_known_barrier() {
    let Some(browser) = Browser::start().await.unwrap() else { return };
    let Some(axe) = tool("OLEADA_TEST_AXE") else { return };
    let axe = std::fs::read_to_string(axe).unwrap();
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let at = |path: &str| format!("{}{path}", server.url());
    let mut found: Vec<String> = Vec::new();
    let mut look = async |path: &str| {
        browser.open(&at(path)).await.unwrap();
        let violations = browser.violations(&axe).await.unwrap();
        found.extend(violations.into_iter().map(|v| format!("{path}: {v}")));
    };
    for path in ["/", "/sign-in", "/sign-up"] {
        look(path).await;
    }
    sign_up(&browser, &server).await;
    browser.open(&at("/hosts")).await.unwrap();
    browser.fill("address", target.address()).await.unwrap();
    browser.click("form[action='/hosts'] button[type=submit]").await.unwrap();
    browser.wait_until("host added", "return /^\\/hosts\\/./.test(location.pathname)").await.unwrap();
    let host = browser.path().await.unwrap();
    browser.open(&at("/tests/new")).await.unwrap();
    browser.fill("requests[0].url", &target.url("/")).await.unwrap();
    browser.fill("duration_s", "1").await.unwrap();
    browser.fill("per_test", "5").await.unwrap();
    browser.click("button[name=action][value=run]").await.unwrap();
    browser.wait_until("run page", "return /^\\/runs\\/./.test(location.pathname)").await.unwrap();
    browser.wait(".verdict").await.unwrap();
    let run = browser.path().await.unwrap();
    let test = browser
        .script("return document.querySelector('main a[href^=\"/tests/\"]').getAttribute('href')")
        .await
        .unwrap();
    let test = test.as_str().unwrap().to_owned();
    browser.open(&at(&test)).await.unwrap();
    browser.click(&format!("form[action='{test}/run'] button")).await.unwrap();
    browser.wait_until("second run", "return /^\\/runs\\/./.test(location.pathname)").await.unwrap();
    browser.wait(".verdict").await.unwrap();
    let second = browser.path().await.unwrap();
    let id = |run: &str| run.trim_start_matches("/runs/").to_owned();
    let compare = format!("/compare?run={}&run={}", id(&run), id(&second));
    browser.script(&format!("document.querySelector(\"form[action='{second}/share'] button\").click()")).await.unwrap();
    browser.wait("#share-link").await.unwrap();
    let link = "return document.querySelector('#share-link').textContent.match(/\\/r\\/[0-9a-f]+/)[0]";
    let link = browser.script(link).await.unwrap().as_str().unwrap().to_owned();
    let (embed, part) = (format!("{link}/embed"), format!("{run}?from=0&to=1"));
    let [series, capacity, trend] = ["series", "capacity", "trend"].map(|page| format!("{test}/{page}"));
    let of_test = [&test, &series, &capacity, &trend].map(String::as_str);
    let of_runs = [&run, &second, &part, &link, &embed, &compare].map(String::as_str);
    for path in
        ["/dashboard", "/hosts", &host, "/tests", "/tests/new", "/runs"].into_iter().chain(of_test).chain(of_runs)
    {
        look(path).await;
    }
    // The form with rows of every kind, and with faults.
    browser.open(&at("/tests/new")).await.unwrap();
    for (n, list) in ["requests", "stages", "limits", "requests[0].extract", "requests[0].assert"].iter().enumerate() {
        browser.script("for (const d of document.querySelectorAll('details')) d.open = true").await.unwrap();
        browser.click("input[name=load][value=per_second]").await.unwrap();
        browser.click(&format!("button[value='add:{list}']")).await.unwrap();
        let there = format!("return document.querySelectorAll('.row, .request-row').length === {}", n + 2);
        browser.wait_until("one more row", &there).await.unwrap();
    }
    let rich = browser.violations(&axe).await.unwrap();
    browser.click("button.button[value=save]").await.unwrap();
    browser.wait(".error-summary").await.unwrap();
    let faulty = browser.violations(&axe).await.unwrap();
    found.extend(rich.into_iter().chain(faulty).map(|v| format!("the form with rows: {v}")));
    assert!(found.is_empty(), "{found:#?}");
    browser.close().await.unwrap();
}

async fn sign_up(browser: &Browser, server: &Server) {
    browser.open(&format!("{}/sign-up", server.url())).await.unwrap();
    browser.fill("email", "anna@example.test").await.unwrap();
    browser.fill("password", "correct horse battery").await.unwrap();
    browser.click("main form button[type=submit]").await.unwrap();
    browser.wait_until("signed up", "return location.pathname === '/dashboard'").await.unwrap();
}
