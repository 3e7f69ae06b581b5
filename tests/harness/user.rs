//! People: requests as a browser without scripts would make them, one cookie jar each. Redirects are not followed.

use std::ops::Deref;
use std::time::{Duration, Instant};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue, LOCATION, ORIGIN};
use reqwest::{Client, RequestBuilder, redirect};
use scraper::{ElementRef, Html, Selector};
use serde_json::Value;

use crate::server::At;
use crate::{PATIENCE, pause};

/// A form as pairs of name and value.
pub fn form_of(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// An event of a stream: name, id, data.
pub type Event = (String, String, String);

/// Somebody without an account, or not signed in yet.
#[derive(Clone)]
pub struct Anonymous {
    url: String,
    client: Client,
}

/// Somebody who is signed in.
#[derive(Clone)]
pub struct SignedIn {
    visitor: Anonymous,
    /// As in [`email_of`].
    pub email: String,
}

impl Deref for SignedIn {
    type Target = Anonymous;

    fn deref(&self) -> &Anonymous {
        &self.visitor
    }
}

/// The address of a person of this name.
pub fn email_of(name: &str) -> String {
    format!("{name}@people.test")
}

/// The password of a person of this name.
pub fn password_of(name: &str) -> String {
    format!("correct horse {name}")
}

/// An answer, read to its end.
#[derive(Clone, Debug)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// Body as text.
    pub body: String,
    /// Bytes of the body as they came.
    pub bytes: usize,
}

impl Anonymous {
    /// Somebody with an empty cookie jar.
    pub fn new(at: &impl At) -> Anonymous {
        oleada_server::install_tls_provider();
        let client = Client::builder()
            .cookie_store(true)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .timeout(Duration::from_secs(90))
            .build()
            .expect("a client");
        Anonymous { url: at.url().to_owned(), client }
    }

    /// Whether the server answers at all.
    pub(crate) async fn answers(&self) -> bool {
        self.client.get(format!("{}/robots.txt", self.url)).send().await.is_ok()
    }

    /// A request that is the caller's to finish, without an `Origin`.
    pub fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let method = method.parse().expect("a method");
        self.client.request(method, format!("{}{path}", self.url))
    }

    /// Sends a request and reads the answer.
    pub async fn send(&self, request: RequestBuilder) -> Reply {
        let response = request.send().await.expect("an answer");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await.expect("the whole answer");
        Reply { status, headers, bytes: body.len(), body: String::from_utf8_lossy(&body).into_owned() }
    }

    /// `GET`.
    pub async fn get(&self, path: &str) -> Reply {
        self.send(self.request("GET", path)).await
    }

    /// Sends a form, as from a page of the server.
    pub async fn post(&self, path: &str, form: &[(&str, &str)]) -> Reply {
        self.send(self.request("POST", path).header(ORIGIN, &self.url).form(form)).await
    }

    /// Sends a form of pairs that were made.
    pub async fn post_pairs(&self, path: &str, form: &[(String, String)]) -> Reply {
        self.send(self.request("POST", path).header(ORIGIN, &self.url).form(form)).await
    }

    /// Sends a form as a page of another origin would.
    pub async fn post_from(&self, origin: &str, path: &str, form: &[(&str, &str)]) -> Reply {
        self.send(self.request("POST", path).header(ORIGIN, origin).form(form)).await
    }

    /// A JSON document, which has to be there.
    pub async fn json(&self, path: &str) -> Value {
        let reply = self.get(path).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        serde_json::from_str(&reply.body).unwrap_or_else(|error| panic!("{path}: {error}: {}", reply.body))
    }

    /// All events of a run until the stream ends, after the one with id `seen`.
    pub async fn events(&self, run: &str, seen: Option<&str>) -> Vec<Event> {
        self.events_until(run, seen, |_| false).await
    }

    /// Waits until `seconds` seconds of a run have been told, and returns how many requests were sent in them.
    pub async fn wait_for_seconds(&self, run: &str, seconds: usize) -> u64 {
        let told = |events: &[Event]| events.iter().filter(|(name, ..)| name == "second").count();
        let events = self.events_until(run, None, |events| told(events) >= seconds).await;
        assert!(told(&events) >= seconds, "the run was over after {}: {events:?}", told(&events));
        let sent = |data: &str| serde_json::from_str::<Value>(data).ok().and_then(|second| second["sent"].as_u64());
        events.iter().filter(|(name, ..)| name == "second").filter_map(|(.., data)| sent(data)).sum()
    }

    async fn events_until(&self, run: &str, seen: Option<&str>, enough: impl Fn(&[Event]) -> bool) -> Vec<Event> {
        let mut request = self.request("GET", &format!("{run}/events")).timeout(Duration::from_secs(600));
        if let Some(seen) = seen {
            request = request.header("last-event-id", seen);
        }
        let mut response = request.send().await.expect("a stream");
        assert_eq!(response.status().as_u16(), 200, "{run}/events");
        let (mut text, mut events) = (String::new(), Vec::new());
        // An error is how the stream of a process that was killed ends.
        while let Ok(Some(chunk)) = response.chunk().await {
            text.push_str(&String::from_utf8_lossy(&chunk));
            while let Some(end) = text.find("\n\n") {
                events.extend(event_of(&text[..end]));
                text.drain(..end + 2);
            }
            if enough(&events) {
                break;
            }
        }
        events
    }

    /// Waits until the page of a run shows that it is over.
    pub async fn wait_for_run(&self, run: &str) -> Reply {
        self.wait_for(run, "the run to be over", |page| !page.select(".run-line .badge").is_empty()).await
    }

    /// Waits until a page holds a text.
    pub async fn wait_for_text(&self, path: &str, text: &str) -> Reply {
        self.wait_for(path, text, |page| page.body.contains(text)).await
    }

    /// Waits until a page is as it should be.
    pub async fn wait_for(&self, path: &str, what: &str, ready: impl Fn(&Reply) -> bool) -> Reply {
        let until = Instant::now() + 2 * PATIENCE;
        loop {
            let page = self.get(path).await;
            assert_eq!(page.status, 200, "{path}: {}", page.body);
            if ready(&page) {
                return page;
            }
            assert!(Instant::now() < until, "{path}: waited in vain for {what}: {}", page.body);
            pause().await;
        }
    }
}

fn event_of(block: &str) -> Option<Event> {
    let field = |name: &str| {
        let lines = block.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        lines.map(|value| value.strip_prefix(' ').unwrap_or(value)).collect::<Vec<_>>().join("\n")
    };
    let data = field("data");
    let name = field("event");
    (!data.is_empty() || !name.is_empty()).then(|| (name, field("id"), data))
}

impl SignedIn {
    /// Makes an account.
    pub async fn sign_up(at: &impl At, name: &str) -> SignedIn {
        SignedIn::enter(at, "/sign-up", name).await
    }

    /// Signs in to an account made by [`SignedIn::sign_up`].
    pub async fn sign_in(at: &impl At, name: &str) -> SignedIn {
        SignedIn::enter(at, "/sign-in", name).await
    }

    async fn enter(at: &impl At, path: &str, name: &str) -> SignedIn {
        let visitor = Anonymous::new(at);
        let email = email_of(name);
        let reply = visitor.post(path, &[("email", &email), ("password", &password_of(name))]).await;
        assert_eq!((reply.status, reply.header("location")), (303, Some("/dashboard")), "{path}: {}", reply.body);
        SignedIn { visitor, email }
    }
}

impl Reply {
    /// A header's value, if it is there and text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let name: HeaderName = name.parse().expect("a header name");
        self.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok())
    }

    /// Where a 303 leads. Any other answer fails the test.
    pub fn location(&self) -> String {
        assert_eq!(self.status, 303, "{}", self.body);
        self.headers.get(LOCATION).and_then(|value| value.to_str().ok()).expect("a location").to_owned()
    }

    /// The texts of the elements that a CSS selector finds, white space joined.
    pub fn select(&self, css: &str) -> Vec<String> {
        let words = |element: ElementRef<'_>| {
            element.text().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        self.find(css, |element| Some(words(element)))
    }

    /// What a page itself shows, as HTML: without the head and the scripts around it.
    pub fn main(&self) -> String {
        self.find("main", |element| Some(element.inner_html())).concat()
    }

    /// The first of these attributes that each found element has.
    pub fn select_attribute(&self, css: &str, names: &[&str]) -> Vec<String> {
        self.find(css, |element| names.iter().find_map(|name| element.attr(name)).map(str::to_owned))
    }

    /// The value of a form's control: what would be sent if nothing were changed.
    pub fn value_of(&self, name: &str) -> Option<String> {
        let value = |element: ElementRef<'_>| match element.value().name() {
            // A parser drops one line break after the tag; scraper keeps the text as parsed.
            "textarea" => Some(element.text().collect()),
            "select" => {
                let chosen = Selector::parse("option[selected]").expect("a selector");
                element.select(&chosen).next().and_then(|option| option.attr("value")).map(str::to_owned)
            }
            _ => match element.attr("type") {
                Some("radio" | "checkbox") => element.attr("checked").and(element.attr("value")).map(str::to_owned),
                _ => Some(element.attr("value").unwrap_or("").to_owned()),
            },
        };
        self.find(&format!("[name=\"{name}\"]"), value).into_iter().next()
    }

    fn find(&self, css: &str, of: impl Fn(ElementRef<'_>) -> Option<String>) -> Vec<String> {
        let selector = Selector::parse(css).unwrap_or_else(|error| panic!("{css}: {error}"));
        Html::parse_document(&self.body).select(&selector).filter_map(of).collect()
    }
}
