//! Journeys in Chromium, with pictures of what was seen on the way.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use harness::Server;
use harness::browser::Browser;
use harness::tools::Target;

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
    browser.wait("form[action$='/share']").await.unwrap();
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
    browser.wait("form[action$='/share']").await.unwrap();
    let second = browser.path().await.unwrap();

    let id = |path: &str| path.trim_start_matches("/runs/").to_owned();
    browser.open(&at(&format!("/compare?run={}&run={}", id(&first), id(&second)))).await.unwrap();
    browser.wait("main svg").await.unwrap();
    browser.pictures("compare").await.unwrap();
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
    browser.open(&at("/nowhere")).await.unwrap();
    browser.pictures("not-found").await.unwrap();
    let errors = browser.console_errors().await.unwrap();
    let faults: Vec<_> = errors.iter().filter(|e| !e.contains("/nowhere")).collect();
    assert!(faults.is_empty(), "{faults:?}");
    browser.close().await.unwrap();
}
