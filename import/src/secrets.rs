//! What must not leave with an export unless it is asked for.

use oleada_engine::plan::{PlanSpec, Target};
use oleada_engine::result::{header_is_shown, parameter_is_secret};

use crate::finish::only_places;

/// Whether an export holds passwords, tokens and the like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Secrets {
    /// They are left out.
    #[default]
    LeaveOut,
    /// They are there.
    Include,
}

/// Takes secrets out of a plan, and says where each was, such as `requests[0].bearer`: passwords, bearer tokens, cookies, the values
/// of headers that are not shown either, and those of parameters, form fields and data columns whose names look secret. A value that consists of places to fill in is
/// no secret. Bodies stay: nobody can say what is secret in them.
pub fn strip(plan: &mut PlanSpec) -> Vec<String> {
    let mut gone = Vec::new();
    for (n, request) in plan.requests.iter_mut().enumerate() {
        let at = |what: &str| format!("requests[{n}].{what}");
        if let Some(user) = Target::parse(&request.url).ok().and_then(|target| target.credentials) {
            request.url = without_user(&request.url);
            // The name alone goes where it can be completed.
            let (password, given) = (user.password.clone(), request.basic_auth.is_some());
            request.basic_auth.get_or_insert(user);
            if given && !password.is_empty() {
                gone.push(at("url"));
            }
        }
        let (url, hidden) = without_secret_values(&request.url);
        if hidden {
            request.url = url;
            gone.push(at("url"));
        }
        if let Some(credentials) = request.basic_auth.as_mut().filter(|c| !c.password.is_empty()) {
            credentials.password.clear();
            gone.push(at("basic_auth.password"));
        }
        if request.bearer.take_if(|token| !only_places(token)).is_some() {
            gone.push(at("bearer"));
        }
        for (list, what) in [
            (&mut request.headers, "headers"),
            (&mut request.cookies, "cookies"),
            (&mut request.query, "query"),
            (&mut request.form, "form"),
        ] {
            for (name, value) in list {
                let secret = match what {
                    "cookies" => true,
                    "headers" => !header_is_shown(name),
                    _ => parameter_is_secret(name),
                };
                if secret && !value.is_empty() && !only_places(value) {
                    value.clear();
                    gone.push(at(&format!("{what}.{name}")));
                }
            }
        }
    }
    if let Some(data) = &mut plan.data {
        for (n, column) in data.columns.iter().enumerate().filter(|(_, column)| parameter_is_secret(column)) {
            let mut values =
                data.rows.iter_mut().filter_map(|row| row.get_mut(n)).filter(|value| !value.is_empty()).peekable();
            if values.peek().is_some() {
                gone.push(format!("data.{column}"));
            }
            values.for_each(String::clear);
        }
    }
    gone
}

/// Everything between the scheme's slashes and the last @ before the path goes.
fn without_user(url: &str) -> String {
    let Some(start) = url.find("://").map(|at| at + 3) else { return url.to_owned() };
    let end = url[start..].find(['/', '?', '#', '\\']).map_or(url.len(), |at| start + at);
    match url[start..end].rfind('@') {
        Some(at) => format!("{}{}", &url[..start], &url[start + at + 1..]),
        None => url.to_owned(),
    }
}

/// An address without the values of parameters whose names look secret, and whether there were any.
fn without_secret_values(url: &str) -> (String, bool) {
    let Some((path, query)) = url.split_once('?') else { return (url.to_owned(), false) };
    let mut hidden = false;
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, value)) if parameter_is_secret(name) && !value.is_empty() && !only_places(value) => {
            hidden = true;
            format!("{name}=")
        }
        _ => pair.to_owned(),
    });
    let query = pairs.collect::<Vec<_>>().join("&");
    (format!("{path}?{query}"), hidden)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oleada_engine::plan::scenario::DataSpec;
    use oleada_engine::plan::{Credentials, RequestSpec};

    #[test]
    fn secrets_go_and_are_named() {
        let pair = |n: &str, v: &str| (n.to_owned(), v.to_owned());
        let request = RequestSpec {
            url: "https://ann:hunter2@a.test:8/x?q=1&api_key=hunter2&t={{token}}".into(),
            headers: vec![pair("Accept", "a"), pair("X-Api-Key", "hunter2"), pair("X-Auth", "Bearer {{t}}")],
            cookies: vec![pair("theme", "hunter2"), pair("sid", "{{sid}}")],
            query: vec![pair("token", "hunter2"), pair("page", "1")],
            form: vec![pair("password", "hunter2"), pair("user", "ann")],
            ..RequestSpec::default()
        };
        let other = RequestSpec {
            url: "http://a.test/".into(),
            basic_auth: Some(Credentials { user: "bob".into(), password: "hunter2".into() }),
            ..RequestSpec::default()
        };
        let third =
            RequestSpec { url: "http://a.test/".into(), bearer: Some("hunter2".into()), ..RequestSpec::default() };
        let data = DataSpec {
            columns: vec!["user".into(), "password".into()],
            rows: vec![vec!["ann".into(), "hunter2".into()]],
            ..DataSpec::default()
        };
        let mut plan = PlanSpec { requests: vec![request, other, third], data: Some(data), ..PlanSpec::default() };
        assert_eq!(
            strip(&mut plan),
            [
                "requests[0].url",
                "requests[0].basic_auth.password",
                "requests[0].headers.X-Api-Key",
                "requests[0].cookies.theme",
                "requests[0].query.token",
                "requests[0].form.password",
                "requests[1].basic_auth.password",
                "requests[2].bearer",
                "data.password"
            ]
        );
        let text = serde_json::to_string(&plan).unwrap();
        assert!(!text.contains("hunter2"), "{text}");
        assert_eq!(plan.requests[0].url, "https://a.test:8/x?q=1&api_key=&t={{token}}");
        assert_eq!(plan.requests[0].headers[2].1, "Bearer {{t}}");
        assert_eq!(plan.requests[0].basic_auth.as_ref().unwrap().user, "ann");
        assert_eq!(strip(&mut plan), [""; 0]);
    }
}
