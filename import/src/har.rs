//! HAR 1.2: what a browser recorded.

use oleada_engine::plan::{PlanSpec, Redirects, RequestSpec, limits};

use crate::doc::Doc;
use crate::finish::{finish, sort_headers};
use crate::{ImportError, Imported, checked, shown};

/// What becomes of images, fonts, styles, scripts and the like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Assets {
    /// They are requested like the rest.
    Take,
    /// They are left out.
    LeaveOut,
    /// They are left out if a test could not hold them all.
    #[default]
    LeaveOutIfTooMany,
}

/// Headers that follow from the request itself, or from the connection.
const OURS: &[&str] = &[
    "host",
    "content-length",
    "connection",
    "transfer-encoding",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// Reads a HAR file: its entries in their order. Each redirect is an entry of its own, so none is followed.
///
/// # Errors
/// [`ImportError`] where it is no HAR file, or nothing of it can be requested.
pub fn import(text: &str, assets: Assets) -> Result<Imported, ImportError> {
    from_doc(&Doc::json(checked(text)?)?, assets)
}

pub(crate) fn from_doc(doc: &Doc, assets: Assets) -> Result<Imported, ImportError> {
    let log = doc.get("log").filter(|log| matches!(log.get("entries"), Some(Doc::List(_))));
    let log = log.ok_or(ImportError::broken("This is no HAR file: it has no list log.entries."))?;
    let entries = log.get("entries").map(Doc::list).unwrap_or_default();
    let title = log.get("pages").and_then(|pages| pages.list().first()).and_then(|page| page.text_of("title"));
    let mut imported = Imported {
        name: title.map(str::to_owned),
        plan: PlanSpec { redirects: Redirects::Off, ..PlanSpec::default() },
        ..Imported::default()
    };
    let http: Vec<&Doc> = entries
        .iter()
        .filter(|entry| {
            let url = entry.get("request").and_then(|request| request.text_of("url")).unwrap_or_default();
            ["http://", "https://"].iter().any(|s| url.get(..s.len()).is_some_and(|u| u.eq_ignore_ascii_case(s)))
        })
        .collect();
    let without = match assets {
        Assets::Take => false,
        Assets::LeaveOut => true,
        Assets::LeaveOutIfTooMany => http.len() > limits::REQUEST_LIST,
    };
    let taken: Vec<&Doc> = http.iter().copied().filter(|entry| !(without && is_asset(entry))).collect();
    let told = &mut imported.left_out;
    if http.len() < entries.len() {
        told.push(format!("{} entries are left out: they are not http or https.", entries.len() - http.len()));
    }
    if taken.len() < http.len() {
        told.push(format!("{} images, fonts, styles, scripts and the like are left out.", http.len() - taken.len()));
    }
    if taken.len() > 1 {
        told.push("The times between the requests are not taken over: set a think time if you want pauses.".to_owned());
    }
    // Those over the list's length are counted by `finish`, so their bodies need not be read.
    for (n, entry) in taken.into_iter().enumerate() {
        let full = imported.plan.requests.len() >= limits::REQUEST_LIST;
        imported.plan.requests.extend(if full { Some(RequestSpec::default()) } else { request(entry, n + 1, told) });
    }
    finish(imported)
}

fn is_asset(entry: &Doc) -> bool {
    if let Some(kind) = entry.text_of("_resourceType") {
        return ["image", "font", "stylesheet", "script", "media", "texttrack", "manifest"].contains(&kind);
    }
    let content = entry.get("response").and_then(|response| response.get("content"));
    let kind = content.and_then(|content| content.text_of("mimeType")).unwrap_or_default().to_ascii_lowercase();
    [
        "image/",
        "font/",
        "audio/",
        "video/",
        "text/css",
        "text/javascript",
        "application/javascript",
        "application/x-javascript",
    ]
    .iter()
    .chain(&["application/font", "application/x-font"])
    .any(|start| kind.starts_with(start))
}

fn request(entry: &Doc, number: usize, told: &mut Vec<String>) -> Option<RequestSpec> {
    let written = entry.get("request")?;
    let method = written.text_of("method").unwrap_or("GET").to_ascii_uppercase();
    let mut request = RequestSpec { url: written.text_of("url")?.to_owned(), ..RequestSpec::default() };
    let Ok(method) = method.parse() else {
        told.push(format!("Request {number} is left out: the method “{}” is not known.", shown(&method)));
        return None;
    };
    request.method = method;
    for (name, value) in written.get("headers").map(Doc::pairs).unwrap_or_default() {
        if !name.starts_with(':') && !OURS.contains(&&*name.to_ascii_lowercase()) {
            request.headers.push((name, value));
        }
    }
    if !request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("cookie")) {
        request.cookies = written.get("cookies").map(Doc::pairs).unwrap_or_default();
    }
    sort_headers(&mut request);
    if let Some(data) = written.get("postData") {
        body(data, &mut request, number, told);
    }
    Some(request)
}

fn body(data: &Doc, request: &mut RequestSpec, number: usize, told: &mut Vec<String>) {
    let kind = data.text_of("mimeType");
    let params = data.get("params").map(Doc::list).unwrap_or_default();
    if let Some(text) = data.text_of("text") {
        let encoding = data.text_of("encoding").or_else(|| data.text_of("_encoding")).unwrap_or_default();
        if encoding.eq_ignore_ascii_case("base64") {
            request.body_base64 = Some(text.split_whitespace().collect());
        } else {
            request.body = Some(text.to_owned());
        }
    } else if kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with("multipart/")) {
        return told
            .push(format!("Request {number}: its form with files is left out: the recording does not hold its text."));
    } else {
        for param in params {
            match (param.text_of("name"), param.get("fileName")) {
                (Some(name), Some(_)) => {
                    told.push(format!("Request {number}: the form field “{}” is left out: it is a file.", shown(name)));
                }
                (Some(name), None) => {
                    let value = param.get("value").and_then(Doc::word).unwrap_or_default();
                    // Browsers write fields as they were sent, some of them decoded, some not.
                    let decoded = |text: &str| match url::form_urlencoded::parse(format!("a={text}").as_bytes()).next()
                    {
                        Some((_, value)) if text.contains('%') && !text.contains(['&', ' ']) => value.into_owned(),
                        _ => text.to_owned(),
                    };
                    request.form.push((decoded(name), decoded(&value)));
                }
                _ => {}
            }
        }
    }
    let has = request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    if let Some(kind) = kind.filter(|_| !has && request.form.is_empty()) {
        request.content_type.get_or_insert_with(|| kind.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oleada_engine::plan::Method;

    const SAMPLE: &str = r#"{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"pages":[{"title":"Shop\nfront","id":"p"}],
      "entries":[
        {"_resourceType":"document","request":{"method":"GET","url":"https://shop.test/?a=b%20c&d=","httpVersion":"h2","headers":[
          {"name":":authority","value":"shop.test"},{"name":"Host","value":"shop.test"},{"name":"Accept","value":"a"},
          {"name":"accept","value":"b"},{"name":"cookie","value":"sid=1; t=\"x\""},{"name":"Connection","value":"close"}],
          "cookies":[{"name":"sid","value":"1"}],"queryString":[{"name":"a","value":"b c"}]},
          "response":{"content":{"mimeType":"text/html"}}},
        {"_resourceType":"image","request":{"method":"get","url":"https://shop.test/a.png","headers":[]}},
        {"request":{"method":"POST","url":"http://shop.test/login","headers":[{"name":"Content-Length","value":"9"}],
          "cookies":[{"name":"c","value":"d"}],
          "postData":{"mimeType":"application/x-www-form-urlencoded","params":[{"name":"user","value":"ann"},
          {"name":"pin","value":"1%2B1"},{"name":"e","value":""},{"name":"f","fileName":"p.png"}]}}},
        {"request":{"method":"POST","url":"http://shop.test/json","headers":[{"name":"Content-Type","value":"application/json"}],
          "postData":{"mimeType":"application/json","text":"{\"é\":\"\n\"}"}}},
        {"request":{"method":"PUT","url":"http://shop.test/raw","headers":[],
          "postData":{"mimeType":"image/png","encoding":"base64","text":"AP8="}}},
        {"request":{"method":"GET","url":"wss://shop.test/live","headers":[]}},
        {"request":{"method":"PURGE","url":"http://shop.test/p","headers":[]}}
      ]}}"#;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.into(), value.into())
    }

    #[test]
    fn entries_become_requests() {
        let imported = import(SAMPLE, Assets::Take).unwrap();
        assert_eq!(imported.name.as_deref(), Some("Shop front"));
        let requests = &imported.plan.requests;
        assert_eq!(requests.len(), 5);
        assert_eq!(requests[0].url, "https://shop.test/?a=b%20c&d=");
        assert_eq!(requests[0].headers, [pair("Accept", "a"), pair("accept", "b")]);
        assert_eq!(requests[0].cookies, [pair("sid", "1"), pair("t", "\"x\"")]);
        assert_eq!(requests[2].form, [pair("user", "ann"), pair("pin", "1+1"), pair("e", "")]);
        assert_eq!((requests[2].cookies.clone(), &requests[2].content_type), (vec![pair("c", "d")], &None));
        assert_eq!(requests[3].body.as_deref(), Some("{\"é\":\"\n\"}"));
        assert_eq!(requests[3].content_type.as_deref(), Some("application/json"));
        assert_eq!((requests[4].method, requests[4].body_base64.as_deref()), (Method::Put, Some("AP8=")));
        assert_eq!(imported.plan.redirects, Redirects::Off);
        let told = imported.left_out.join("\n");
        for part in ["1 entries", "times between", "“f”", "“PURGE”"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert_eq!(imported.left_out.len(), 4);
    }

    #[test]
    fn assets_are_left_out_on_demand_or_when_they_are_too_many() {
        assert_eq!(import(SAMPLE, Assets::LeaveOut).unwrap().plan.requests.len(), 4);
        let entry = |n: usize| {
            let kind = if n.is_multiple_of(2) { "text/css" } else { "text/html" };
            format!(
                r#"{{"request":{{"method":"GET","url":"http://a.test/{n}"}},"response":{{"content":{{"mimeType":"{kind}"}}}}}}"#
            )
        };
        let har =
            |count| format!(r#"{{"log":{{"entries":[{}]}}}}"#, (0..count).map(entry).collect::<Vec<_>>().join(","));
        let urls = |imported: &Imported| imported.plan.requests.iter().map(|r| r.url.clone()).collect::<Vec<_>>();
        assert_eq!(urls(&import(&har(50), Assets::default()).unwrap()).len(), 50);
        let imported = import(&har(60), Assets::default()).unwrap();
        assert_eq!((urls(&imported).len(), &*urls(&imported)[1]), (30, "http://a.test/3"));
        let imported = import(&har(120), Assets::Take).unwrap();
        assert_eq!(urls(&imported).len(), 50);
        assert!(imported.left_out.iter().any(|s| s.contains("70 more")), "{:?}", imported.left_out);
        let odd = har(51).replacen("GET", "BREW", 1);
        let imported = import(&odd, Assets::Take).unwrap();
        assert_eq!((urls(&imported).len(), imported.left_out.len()), (50, 2), "{:?}", imported.left_out);
    }

    #[test]
    fn what_is_no_har_file_is_refused_in_words() {
        for text in
            ["", "{", "[]", "{\"log\":{}}", "{\"log\":{\"entries\":[]}}", "{\"log\":{\"entries\":[1,{\"request\":2}]}}"]
        {
            assert!(import(text, Assets::Take).is_err(), "{text}");
        }
    }
}
