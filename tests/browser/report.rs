//! The report in a browser: a part of the run chosen on a chart, and times in the reader's zone.

use harness::browser::Browser;
use harness::stored::{Stored, result, sum};
use harness::user::password_of;
use oleada_engine::outcome::Outcome;
use oleada_engine::window::Window;

/// A run of 60 seconds that is over.
async fn minute() -> Stored {
    let stored = Stored::new().await;
    let windows: Vec<Window> = (0..60)
        .map(|t| {
            let mut window = Window::new(t, 1);
            for n in 0..20u64 {
                window.ledger.planned += 1;
                window.ledger.sent += 1;
                window.ledger.finish(Outcome::Answered(200));
                window.record_latency(1000 * (u64::from(t) + 1) + n, true);
                window.service.record(900 * (u64::from(t) + 1));
            }
            window.counters.client_us = 2_000_000;
            window
        })
        .collect();
    stored.replace(&windows, &result(&sum(&windows), 60.0)).await;
    stored
}

async fn sign_in(browser: &Browser, stored: &Stored) {
    browser.open(&format!("{}/sign-in", stored.server.url())).await.unwrap();
    browser.fill("email", &stored.user.email).await.unwrap();
    browser.fill("password", &password_of("anna")).await.unwrap();
    browser.click("main form button[type=submit]").await.unwrap();
    browser.wait_until("signed in", "return location.pathname === '/dashboard'").await.unwrap();
}

const STAGE: &str = "document.querySelector('leptos-island .chart-stage')";

#[tokio::test(flavor = "multi_thread")]
async fn a_part_is_chosen_by_keyboard_and_by_dragging() {
    let Some(browser) = Browser::start().await.unwrap() else { return };
    let stored = minute().await;
    sign_in(&browser, &stored).await;
    let url = format!("{}{}", stored.server.url(), stored.run);
    browser.open(&url).await.unwrap();
    browser.wait("html[data-islands=ready]").await.unwrap();
    let keys = async |keys: &[(&str, bool)]| {
        for (key, shift) in keys {
            let press = format!(
                "{STAGE}.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', shiftKey: {shift}, bubbles: true, cancelable: true }}))"
            );
            browser.script(&press).await.unwrap();
        }
    };
    browser.script(&format!("{STAGE}.focus()")).await.unwrap();
    // The first second, five on, five more chosen; given up, and nothing happens.
    let right = [("ArrowRight", false); 6];
    let extend = [("ArrowRight", true); 5];
    keys(&right).await;
    keys(&extend).await;
    browser.wait_until("the band", "return document.querySelector('.over .chosen') !== null").await.unwrap();
    keys(&[("Escape", false), ("Enter", false)]).await;
    let gone = "return document.querySelector('.over .chosen') === null && location.search === ''";
    browser.wait_until("given up", gone).await.unwrap();
    keys(&right).await;
    keys(&extend).await;
    keys(&[("Enter", false)]).await;
    browser.wait_until("the part's page", "return location.search === '?from=5&to=11'").await.unwrap();
    browser.wait("#part-title").await.unwrap();
    let title = browser.script("return document.querySelector('#part-title').innerText").await.unwrap();
    assert_eq!(title, "Seconds 5 to 11");
    browser.pictures("report-part").await.unwrap();
    // Back is the whole run again.
    browser.client().back().await.unwrap();
    browser
        .wait_until("back", "return location.search === '' && !document.querySelector('#part-title')")
        .await
        .unwrap();
    browser.wait("html[data-islands=ready]").await.unwrap();
    // From a quarter to half of the drawing.
    let drag = format!(
        "const stage = {STAGE}; stage.scrollIntoView(); stage.setPointerCapture = () => {{}}; const box = stage.getBoundingClientRect();
         const at = (type, share) => stage.dispatchEvent(new PointerEvent(type, {{ bubbles: true, pointerId: 1, button: 0, buttons: 1, clientX: box.left + box.width * share, clientY: box.top + 50 }}));
         at('pointerdown', 0.25); at('pointermove', 0.4); at('pointermove', 0.5); at('pointerup', 0.5);"
    );
    browser.script(&drag).await.unwrap();
    browser.wait_until("the dragged part", "return /^\\?from=1\\d&to=3\\d$/.test(location.search)").await.unwrap();
    let query = browser.script("return location.search").await.unwrap();
    let json = stored.user.json(&format!("{}/window.json{}", stored.run, query.as_str().unwrap())).await;
    let length = json["to"].as_u64().unwrap() - json["from"].as_u64().unwrap();
    assert!((10..=20).contains(&length), "{json}");
    assert_eq!(json["ledger"]["ok"], 20 * length);
    let errors = browser.console_errors().await.unwrap();
    assert!(errors.is_empty(), "{errors:?}");
    browser.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn b65_times_are_in_the_readers_zone_and_stay_so() {
    let Some(browser) = Browser::start().await.unwrap() else { return };
    let stored = minute().await;
    let link = stored.share().await;
    browser.time_zone("Asia/Kathmandu").await.unwrap();
    let times =
        "return [...document.querySelectorAll('main time')].map((time) => `${time.dateTime} ${time.innerText}`)";
    browser.open(&format!("{}{link}", stored.server.url())).await.unwrap();
    browser.wait_until("times", "return document.querySelectorAll('main time').length > 2").await.unwrap();
    let before = browser.script(times).await.unwrap();
    for time in before.as_array().unwrap() {
        let text = time.as_str().unwrap();
        assert!(text.split(' ').next().unwrap().ends_with('Z'), "stored in UTC: {text}");
        assert!(text.contains("5:45"), "the zone is named: {text}");
    }
    browser.client().refresh().await.unwrap();
    browser.wait_until("times", "return document.querySelectorAll('main time').length > 2").await.unwrap();
    assert_eq!(browser.script(times).await.unwrap(), before, "the same after a reload");
    // In the document they are in UTC.
    let document = stored.user.json(&format!("{link}/result.json")).await;
    assert!(document["started_at"].as_str().unwrap().ends_with('Z'));
    browser.close().await.unwrap();
}
