//! What must not leave with an export unless it is asked for.

use oleada_engine::plan::secrets::each_secret;
use oleada_engine::plan::{PlanSpec, Target};
use oleada_engine::result::parameter_is_secret;

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

/// Takes secrets out of a plan, and says what they were, such as “the bearer token of request 1”: those that
/// [`each_secret`] finds, and the values of data columns whose names look secret. A value other than a password that consists of
/// places to fill in is no secret. Bodies stay: nobody can say what is secret in them.
pub fn strip(plan: &mut PlanSpec) -> Vec<String> {
    let mut gone = Vec::new();
    for (n, request) in plan.requests.iter_mut().enumerate() {
        if let Some(user) = Target::parse(&request.url).ok().and_then(|target| target.credentials) {
            request.url = without_user(&request.url);
            // The name goes where a password can be added to it; one that nobody would use is only told of.
            if request.basic_auth.is_some() && !user.password.is_empty() {
                gone.push(format!("the password in the address of request {}", n + 1));
            }
            request.basic_auth.get_or_insert(user);
        }
        // A password goes, whatever it looks like.
        if let Some(user) = request.basic_auth.as_mut().filter(|user| !user.password.is_empty()) {
            user.password.clear();
            gone.push(format!("the password of request {}", n + 1));
        }
    }
    each_secret(plan, |what, text| {
        if !text.is_empty() && !only_places(text) {
            text.clear();
            gone.push(what);
        }
    });
    for request in &mut plan.requests {
        request.bearer.take_if(|token| token.is_empty());
    }
    if let Some(data) = &mut plan.data {
        for (n, column) in data.columns.iter().enumerate().filter(|(_, column)| parameter_is_secret(column)) {
            let mut values =
                data.rows.iter_mut().filter_map(|row| row.get_mut(n)).filter(|value| !value.is_empty()).peekable();
            if values.peek().is_some() {
                gone.push(format!("the data's column {column}"));
            }
            values.for_each(String::clear);
        }
    }
    gone
}

/// An address without its `user:password@`: everything between the scheme's slashes and the last @ before the path goes.
pub fn without_user(url: &str) -> String {
    let Some(start) = url.find("://").map(|at| at + 3) else { return url.to_owned() };
    let end = url[start..].find(['/', '?', '#', '\\']).map_or(url.len(), |at| start + at);
    match url[start..end].rfind('@') {
        Some(at) => format!("{}{}", &url[..start], &url[start + at + 1..]),
        None => url.to_owned(),
    }
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
                "the password of request 1",
                "the password of request 2",
                "the cookie theme of request 1",
                "the header X-Api-Key of request 1",
                "the parameter token of request 1",
                "the form field password of request 1",
                "the parameter api_key in the address of request 1",
                "the bearer token of request 3",
                "the data's column password"
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
