//! OpenAPI 3.0 and 3.1, and Swagger 2.0, as JSON or YAML: one request for each operation.

use std::cell::Cell;

use oleada_engine::plan::request::{Escape, escaped};
use oleada_engine::plan::{Method, PlanSpec, RequestSpec, limits};

use crate::doc::Doc;
use crate::finish::{finish, one_line};
use crate::payload::variable;
use crate::{ImportError, Imported, checked, shown};

/// Values inside each other, in an example that is made from a schema.
const DEPTH: usize = 10;
/// References that lead to references.
const HOPS: usize = 20;
/// Bytes and values of one example.
const EXAMPLE: usize = 64 * 1024;
/// Keys that are looked at to follow references, in one document.
const WORK: usize = 20_000_000;
/// Parameters of one operation that are looked at.
const PARAMETERS: usize = 200;
/// What stands for an address where the document names none.
const NOWHERE: &str = "http://localhost";

/// Reads a document; requests with GET come first, else they stand in its order. A parameter without an example becomes a variable.
///
/// # Errors
/// [`ImportError`] where it is no such document, is larger than [`limits::OPENAPI_BYTES`], or has no operation.
pub fn import(text: &str) -> Result<Imported, ImportError> {
    let text = checked(text)?;
    if text.len() > limits::OPENAPI_BYTES {
        return Err(ImportError::TooLarge(limits::OPENAPI_BYTES));
    }
    let root = if text.starts_with('{') { Doc::json(text)? } else { Doc::yaml(text)? };
    let version = ["openapi", "swagger"].iter().find_map(|key| root.get(key)).and_then(Doc::word).unwrap_or_default();
    let old = root.get("swagger").is_some();
    if !(old && version.starts_with('2') || !old && version.starts_with('3')) {
        return Err(ImportError::broken(
            "This is no OpenAPI document of version 3.0 or 3.1, nor Swagger 2.0: “openapi” or “swagger” must say which.",
        ));
    }
    let spec = Spec { root: &root, old, left: Cell::new(0), work: Cell::new(WORK) };
    let mut told = Vec::new();
    let mut operations = spec.operations();
    operations.sort_by_key(|operation| operation.method != Method::Get);
    if operations.len() > limits::REQUEST_LIST {
        let more = operations.len() - limits::REQUEST_LIST;
        told.push(format!("A test holds at most {} requests: {more} operations are left out.", limits::REQUEST_LIST));
        operations.truncate(limits::REQUEST_LIST);
    }
    let requests: Vec<RequestSpec> = operations.iter().map(|operation| spec.request(operation, &mut told)).collect();
    if requests.iter().any(|request| request.url.starts_with(NOWHERE)) {
        told.push(format!(
            "The document does not say where its service is: {NOWHERE} stands in the addresses instead."
        ));
    }
    spec.security(&operations, &mut told);
    let info = root.get("info");
    let text = |key: &str| info.and_then(|info| info.text_of(key)).map(str::to_owned);
    finish(Imported {
        name: text("title"),
        notes: text("description"),
        plan: PlanSpec { requests, ..PlanSpec::default() },
        left_out: told,
        ..Imported::default()
    })
}

struct Spec<'a> {
    root: &'a Doc,
    old: bool,
    /// What may still be added to the example that is being made.
    left: Cell<usize>,
    /// Keys that may still be looked at to follow references.
    work: Cell<usize>,
}

struct Operation<'a> {
    path: &'a str,
    method: Method,
    item: &'a Doc,
    doc: &'a Doc,
}

impl<'a> Spec<'a> {
    fn operations(&self) -> Vec<Operation<'a>> {
        let mut operations = Vec::new();
        for (path, item) in self.root.get("paths").map(Doc::map).unwrap_or_default() {
            let item = self.resolve(item);
            for (method, doc) in item.map() {
                if let Ok(method) = method.to_ascii_uppercase().parse() {
                    operations.push(Operation { path, method, item, doc });
                }
            }
        }
        operations
    }

    /// Follows references inside the document; one that leads nowhere stays as it is.
    fn resolve(&self, doc: &'a Doc) -> &'a Doc {
        let mut doc = doc;
        for _ in 0..HOPS {
            let Some(target) = doc.get("$ref").and_then(Doc::str).and_then(|reference| self.at(reference)) else {
                break;
            };
            doc = target;
        }
        doc
    }

    fn at(&self, reference: &str) -> Option<&'a Doc> {
        let decode = |part: &str| {
            let part: String =
                url::form_urlencoded::parse(part.replace('+', "%2B").as_bytes()).map(|(k, _)| k).collect();
            part.replace("~1", "/").replace("~0", "~")
        };
        let mut parts = reference.strip_prefix("#/")?.split('/');
        parts.try_fold(self.root, |doc, part| {
            self.work.set(self.work.get().checked_sub(1 + doc.map().len())?);
            match doc {
                Doc::List(items) => items.get(part.parse::<usize>().ok()?),
                _ => doc.get(part).or_else(|| doc.get(&decode(part))),
            }
        })
    }

    fn base(&self, operation: &Operation<'a>) -> String {
        if self.old {
            let schemes = operation.doc.get("schemes").or(self.root.get("schemes")).map(Doc::list).unwrap_or_default();
            let has = |scheme: &str| schemes.iter().any(|s| s.str() == Some(scheme));
            let scheme = if has("https") || !has("http") { "https" } else { "http" };
            let path = self.root.text_of("basePath").unwrap_or_default().trim_end_matches('/');
            return match self.root.text_of("host") {
                Some(host) => format!("{scheme}://{host}{path}"),
                None => format!("{NOWHERE}{path}"),
            };
        }
        let server = [operation.doc, operation.item, self.root]
            .iter()
            .find_map(|doc| doc.get("servers").and_then(|servers| servers.list().first()));
        let Some(server) = server else { return NOWHERE.to_owned() };
        let mut url = server.text_of("url").unwrap_or_default().to_owned();
        for (name, variable) in server.get("variables").map(Doc::map).unwrap_or_default().iter().take(20) {
            let value = variable.get("default").and_then(Doc::word).unwrap_or_default();
            if url.len() <= limits::URL_BYTES {
                url = url.replace(&format!("{{{name}}}"), &value);
            }
        }
        let url = url.trim_end_matches('/');
        match url {
            "" => NOWHERE.to_owned(),
            _ if url.contains("://") => url.to_owned(),
            _ if url.starts_with("//") => format!("https:{url}"),
            _ => format!("{NOWHERE}/{}", url.trim_start_matches('/')),
        }
    }

    /// Parameters of the path and of the operation; the latter win.
    fn parameters(&self, operation: &Operation<'a>) -> Vec<&'a Doc> {
        let of = |doc: &'a Doc| {
            doc.get("parameters").map(Doc::list).unwrap_or_default().iter().take(PARAMETERS).map(|p| self.resolve(p))
        };
        let own: Vec<&Doc> = of(operation.doc).collect();
        let key = |doc: &'a Doc| (doc.text_of("name"), doc.text_of("in"));
        let shared = of(operation.item).filter(|p| !own.iter().any(|o| key(o) == key(p)));
        shared.chain(own.iter().copied()).collect()
    }

    fn request(&self, operation: &Operation<'a>, told: &mut Vec<String>) -> RequestSpec {
        let mut request = RequestSpec { method: operation.method, ..RequestSpec::default() };
        let mut path = operation.path.to_owned();
        for parameter in self.parameters(operation) {
            let (Some(name), Some(place)) = (parameter.text_of("name"), parameter.text_of("in")) else { continue };
            let required = parameter.get("required") == Some(&Doc::Bool(true));
            match place {
                "path" => {
                    let value = self.value(parameter).and_then(|v| v.into_iter().next()).filter(|v| !v.is_empty());
                    let value = value.map_or_else(|| place_of(name), |value| escaped(&value, Escape::Component));
                    if path.len() <= limits::URL_BYTES {
                        path = path.replace(&format!("{{{name}}}"), &value);
                    }
                }
                "query" | "formData" | "header" | "cookie" if required => {
                    let ignored = ["accept", "content-type", "authorization"].contains(&&*name.to_ascii_lowercase());
                    let file = parameter.text_of("type") == Some("file");
                    if file {
                        told.push(format!(
                            "{}: the form field “{}” is left out: it is a file.",
                            label(operation),
                            shown(name)
                        ));
                    } else if !(place == "header" && ignored) {
                        let values = self.value(parameter).unwrap_or_else(|| vec![place_of(name)]);
                        let pairs = values.into_iter().map(|value| (name.to_owned(), value));
                        match place {
                            "query" => request.query.extend(pairs),
                            "formData" => request.form.extend(pairs),
                            "header" => request.headers.extend(pairs),
                            _ => request.cookies.extend(pairs),
                        }
                    }
                }
                "body" => self.body(&mut request, "application/json", parameter),
                _ => {}
            }
        }
        if let Some(body) = operation.doc.get("requestBody") {
            self.content(self.resolve(body), operation, &mut request, told);
        }
        let slash = if path.starts_with('/') { "" } else { "/" };
        request.url = format!("{}{slash}{}", self.base(operation), with_places(&path));
        let name = ["operationId", "summary"].iter().find_map(|key| operation.doc.text_of(key));
        request.name = name.and_then(|name| one_line(name, limits::NAME_CHARS));
        request
    }

    /// What the document gives a parameter: its example, default or first of its values.
    fn value(&self, parameter: &'a Doc) -> Option<Vec<String>> {
        let schema = parameter.get("schema").map_or(parameter, |schema| self.resolve(schema));
        let examples = parameter.get("examples").and_then(|list| list.map().first());
        let given = parameter
            .get("example")
            .or_else(|| parameter.get("x-example"))
            .or_else(|| examples.and_then(|(_, example)| self.resolve(example).get("value")))
            .or_else(|| given(schema))
            .or_else(|| given(self.resolve(schema.get("items")?)))?;
        let word = |doc: &Doc| doc.word().unwrap_or_else(|| doc.to_json());
        Some(match given {
            Doc::List(items) => items.iter().take(limits::HEADERS).map(word).collect(),
            one => vec![word(one)],
        })
    }

    /// The body of OpenAPI 3: JSON if it can be, else a form.
    fn content(&self, body: &'a Doc, operation: &Operation<'a>, request: &mut RequestSpec, told: &mut Vec<String>) {
        let kinds = body.get("content").map(Doc::map).unwrap_or_default();
        let starts = |kind: &str, start: &str| kind.to_ascii_lowercase().starts_with(start);
        let json = |kind: &str| starts(kind, "application/json") || kind.contains("+json") || kind == "*/*";
        let find = |is: &dyn Fn(&str) -> bool| kinds.iter().find(|(kind, _)| is(kind));
        if let Some((kind, media)) = find(&json) {
            self.body(request, if kind.contains('*') { "application/json" } else { kind }, media);
        } else if let Some((_, media)) = find(&|kind| starts(kind, "application/x-www-form-urlencoded")) {
            let fields = self.example(media).unwrap_or(Doc::Null);
            request.form = fields.pairs();
        } else if let Some((kind, text)) = kinds.iter().find_map(|(kind, media)| {
            let example = self.given_example(media)?.str()?;
            starts(kind, "text/").then_some((kind, example))
        }) {
            request.body = Some(text.to_owned());
            request.content_type = Some(kind.clone());
        } else if let Some((kind, _)) = kinds.first() {
            told.push(format!(
                "{}: its body is left out: none can be made of type “{}”.",
                label(operation),
                shown(kind)
            ));
        }
    }

    fn body(&self, request: &mut RequestSpec, kind: &str, media: &'a Doc) {
        if let Some(example) = self.example(media) {
            request.body = Some(match &example {
                // Some documents write the JSON as one text.
                Doc::Text(text) if text.trim_start().starts_with(['{', '[']) => text.clone(),
                other => other.to_json(),
            });
            request.content_type = Some(kind.to_owned());
        }
    }

    fn given_example(&self, media: &'a Doc) -> Option<&'a Doc> {
        let first = || media.get("examples").and_then(|list| list.map().first());
        media.get("example").or_else(|| first().and_then(|(_, example)| self.resolve(example).get("value")))
    }

    /// An example that is given, or one that is made.
    fn example(&self, media: &'a Doc) -> Option<Doc> {
        self.left.set(EXAMPLE);
        match self.given_example(media) {
            Some(example) => self.take(example),
            None => self.sample(media.get("schema")?, &mut Vec::new()),
        }
    }

    /// A copy, if there is room for it.
    fn take(&self, doc: &Doc) -> Option<Doc> {
        fn size(doc: &Doc) -> usize {
            16 + match doc {
                Doc::Text(text) => text.len(),
                Doc::List(items) => items.iter().map(size).sum(),
                Doc::Map(entries) => entries.iter().map(|(key, value)| key.len() + size(value)).sum(),
                Doc::Null | Doc::Bool(_) | Doc::Number(_) => 0,
            }
        }
        let left = self.left.get().checked_sub(size(doc));
        self.left.set(left.unwrap_or(0));
        left.map(|_| doc.clone())
    }

    /// A value that fits a schema; `None` where it would hold itself, or become too large. `inside` are the schemas around it.
    fn sample(&self, schema: &'a Doc, inside: &mut Vec<*const Doc>) -> Option<Doc> {
        let schema = self.resolve(schema);
        if inside.len() >= DEPTH || inside.contains(&std::ptr::from_ref(schema)) {
            return None;
        }
        // A schema with many keys costs more.
        self.left.set(self.left.get().checked_sub(16 + schema.map().len())?);
        if let Some(value) = given(schema) {
            return self.take(value);
        }
        inside.push(std::ptr::from_ref(schema));
        let made = self.made(schema, inside);
        inside.pop();
        made
    }

    fn made(&self, schema: &'a Doc, inside: &mut Vec<*const Doc>) -> Option<Doc> {
        let list = |key: &str| schema.get(key).map(Doc::list).unwrap_or_default();
        if let Some(one) = ["oneOf", "anyOf"].iter().find_map(|key| list(key).first()) {
            return self.sample(one, inside);
        }
        let mut entries: Vec<(String, Doc)> = Vec::new();
        let mut whole = None;
        for part in list("allOf") {
            match self.sample(part, inside) {
                Some(Doc::Map(more)) => entries.extend(more),
                Some(other) => whole = Some(other),
                None => {}
            }
        }
        for (name, property) in schema.get("properties").map(Doc::map).unwrap_or_default() {
            if self.resolve(property).get("readOnly") == Some(&Doc::Bool(true)) {
                continue;
            }
            if let Some(value) = self.sample(property, inside) {
                entries.retain(|(n, _)| n != name);
                entries.push((name.clone(), value));
            }
        }
        let kind = schema.get("type").and_then(|kind| match kind {
            Doc::List(kinds) => kinds.iter().filter_map(Doc::str).find(|kind| *kind != "null"),
            kind => kind.str(),
        });
        match kind {
            _ if !entries.is_empty() => Some(Doc::Map(entries)),
            Some("object") => Some(Doc::Map(entries)),
            None if whole.is_some() => whole,
            Some("array") => {
                let item = schema.get("items").and_then(|items| self.sample(items, inside));
                Some(Doc::List(item.into_iter().collect()))
            }
            Some("integer" | "number") => {
                let least = schema.get("minimum").cloned().unwrap_or(Doc::Number(1.into()));
                let most = schema.get("maximum").filter(|most| most.number() < least.number());
                Some(most.cloned().unwrap_or(least))
            }
            Some("boolean") => Some(Doc::Bool(true)),
            Some("string") => Some(Doc::Text(text_for(schema))),
            Some(_) => Some(Doc::Null),
            None if schema.get("properties").is_some() => Some(Doc::Map(entries)),
            None => None,
        }
    }

    /// One sentence for each way in which the operations ask who is there.
    fn security(&self, operations: &[Operation<'a>], told: &mut Vec<String>) {
        let schemes = if self.old {
            self.root.get("securityDefinitions")
        } else {
            self.root.get("components").and_then(|components| components.get("securitySchemes"))
        };
        let wanted = operations.iter().filter_map(|o| o.doc.get("security").or(self.root.get("security")));
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in wanted.flat_map(|list| list.list().iter().flat_map(Doc::map)) {
            if !names.contains(&&**name) && names.len() < 20 {
                names.push(name);
            }
        }
        for name in names {
            let scheme = schemes.and_then(|schemes| schemes.get(name)).map(|scheme| self.resolve(scheme));
            let word = |key: &str| scheme.and_then(|scheme| scheme.text_of(key)).unwrap_or_default();
            let kind: Vec<&str> = [word("type"), word("scheme"), word("in"), word("name")]
                .into_iter()
                .filter(|w| !w.is_empty())
                .collect();
            told.push(format!(
                "The service asks for “{}” ({}), which the document does not hold: add it to the requests.",
                shown(name),
                shown(&kind.join(" "))
            ));
        }
    }
}

fn label(operation: &Operation<'_>) -> String {
    format!("{} {}", operation.method, shown(operation.path))
}

/// What a schema says of its values.
fn given(schema: &Doc) -> Option<&Doc> {
    let first = |key: &str| schema.get(key).and_then(|list| list.list().first()).filter(|value| **value != Doc::Null);
    schema
        .get("example")
        .or_else(|| first("examples"))
        .or_else(|| schema.get("default"))
        .or_else(|| schema.get("const"))
        .or_else(|| first("enum"))
}

fn text_for(schema: &Doc) -> String {
    let text = match schema.text_of("format").unwrap_or_default() {
        "date-time" => "2026-01-01T00:00:00Z",
        "date" => "2026-01-01",
        "time" => "00:00:00Z",
        "uuid" => "00000000-0000-4000-8000-000000000000",
        "email" => "user@example.com",
        "uri" | "url" => "http://example.com/",
        "hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "byte" => "dGV4dA==",
        _ => "text",
    };
    let bound = |key: &str| schema.get(key).and_then(Doc::number).map(|n| n.clamp(0.0, 1000.0) as usize);
    let long: String = text.chars().cycle().take(bound("minLength").unwrap_or(0).max(text.len())).collect();
    long.chars().take(bound("maxLength").unwrap_or(usize::MAX)).collect()
}

/// A variable for a parameter that has no value.
fn place_of(name: &str) -> String {
    format!("{{{{{}}}}}", variable(name, &[]))
}

/// Parts of a path in braces that nothing describes become variables too.
fn with_places(path: &str) -> String {
    let mut out = String::new();
    let mut rest = path;
    while let Some(start) = rest.find('{') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let places = rest.strip_prefix("{{").and_then(|inside| inside.find("}}")).map(|end| end + 4);
        match (places, rest.find('}')) {
            (Some(end), _) => {
                out.push_str(&rest[..end]);
                rest = &rest[end..];
            }
            (None, Some(end)) if end > 1 => {
                out.push_str(&place_of(&rest[1..end]));
                rest = &rest[end + 1..];
            }
            _ => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.into(), value.into())
    }

    const YAML: &str = r##"
openapi: 3.1.0
info: {title: "Pets: the \"API\"", description: "One\ntwo"}
servers:
  - url: https://{region}.pets.test/v1/
    variables: {region: {default: eu}}
security: [{key: []}]
paths:
  /pets:
    parameters:
      - $ref: '#/components/parameters/Tenant'
    post:
      operationId: addPet
      parameters: [{name: dry, in: query, schema: {type: boolean}}]
      requestBody:
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Pet'}
      responses: {200: {description: ok}}
    get:
      summary: "List\nthem"
      security: [{oauth: [read]}]
      parameters:
        - {name: limit, in: query, required: true, schema: {type: integer, default: 20}}
        - {name: tag, in: query, required: true, schema: {type: array, items: {type: string, enum: [a b, c]}}}
        - {name: since-when, in: query, required: true, schema: {type: string}}
  /pets/{pet-id}/{kind}/{rest}:
    get:
      servers: [{url: "http://other.test"}]
      parameters:
        - {name: pet-id, in: path, required: true, schema: {type: string}}
        - {name: kind, in: path, required: true, example: "cat/dög"}
    put:
      requestBody:
        content: {application/x-www-form-urlencoded: {schema: {type: object, properties: {a: {type: string, example: "x y"}, n: {type: integer, minimum: 7}}}}}
    patch:
      requestBody: {content: {multipart/form-data: {schema: {type: object}}}}
components:
  parameters:
    Tenant: {name: X-Tenant, in: header, required: true, example: 12}
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
    oauth: {type: oauth2}
  schemas:
    Pet:
      allOf:
        - type: object
          properties:
            id: {type: integer, readOnly: true}
            name: {type: [string, 'null'], minLength: 6}
        - type: object
          properties:
            born: {type: string, format: date}
            parent: {$ref: '#/components/schemas/Pet'}
            tags: {type: array, items: {oneOf: [{type: string, const: "é"}, {type: integer}]}}
            size: {type: number, maximum: 0.5}
            ok: {type: boolean}
"##;

    #[test]
    fn a_document_in_yaml() {
        let imported = crate::detect_and_import(YAML).unwrap();
        assert_eq!(imported.name.as_deref(), Some("Pets: the \"API\""));
        assert_eq!(imported.notes.as_deref(), Some("One\ntwo"));
        let requests = &imported.plan.requests;
        let lines: Vec<String> = requests.iter().map(|r| format!("{} {}", r.method, r.url)).collect();
        assert_eq!(
            lines,
            [
                "GET https://eu.pets.test/v1/pets",
                "GET http://other.test/pets/{{pet_id}}/cat%2Fd%C3%B6g/{{rest}}",
                "POST https://eu.pets.test/v1/pets",
                "PUT https://eu.pets.test/v1/pets/{{pet_id}}/{{kind}}/{{rest}}",
                "PATCH https://eu.pets.test/v1/pets/{{pet_id}}/{{kind}}/{{rest}}",
            ]
        );
        assert_eq!(requests[0].query, [pair("limit", "20"), pair("tag", "a b"), pair("since-when", "{{since_when}}")]);
        assert_eq!(requests[0].headers, [pair("X-Tenant", "12")]);
        assert_eq!(requests[0].name.as_deref(), Some("List them"));
        assert_eq!(requests[2].name.as_deref(), Some("addPet"));
        assert_eq!(requests[2].content_type.as_deref(), Some("application/json"));
        assert_eq!(
            requests[2].body.as_deref(),
            Some(r#"{"name":"textte","born":"2026-01-01","tags":["é"],"size":0.5,"ok":true}"#)
        );
        assert_eq!(requests[3].form, [pair("a", "x y"), pair("n", "7")]);
        let told = imported.left_out.join("\n");
        for part in [
            "“oauth”",
            "“key” (apiKey header X-Key)",
            "multipart",
            "{{since_when}}",
            "{{pet_id}}",
            "{{rest}}",
            "{{kind}}",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert_eq!(imported.left_out.len(), 7);
    }

    #[test]
    fn swagger_in_json() {
        let text = r##"{"swagger":"2.0","info":{"title":"T"},"host":"a.test:8080","basePath":"/api/","schemes":["http"],
          "paths":{"/x/{id}":{"post":{"parameters":[{"name":"id","in":"path","type":"integer","default":5},
          {"name":"b","in":"body","schema":{"$ref":"#/definitions/a~1b%20c"}}]},
          "delete":{"parameters":[{"name":"id","in":"path","type":"string","enum":["q",2]}]},
          "head":{}},"/form":{"post":{"parameters":[{"name":"f","in":"formData","required":true,"type":"string","x-example":"v"},
          {"name":"up","in":"formData","required":true,"type":"file"}]}}},
          "definitions":{"a/b c":{"example":{"z":1,"a":[null,"é"]}}}}"##;
        let imported = crate::detect_and_import(text).unwrap();
        let requests = &imported.plan.requests;
        assert_eq!(requests[0].url, "http://a.test:8080/api/x/5");
        assert_eq!(requests[0].body.as_deref(), Some(r#"{"z":1,"a":[null,"é"]}"#));
        assert_eq!((requests[1].method, &*requests[1].url), (Method::Delete, "http://a.test:8080/api/x/q"));
        assert_eq!(requests[2].url, "http://a.test:8080/api/x/{{id}}");
        assert_eq!(requests[3].form, [pair("f", "v")]);
        assert_eq!(imported.left_out.len(), 2);
    }

    #[test]
    fn documents_that_lead_in_circles_or_grow_come_to_an_end() {
        let mut schemas =
            vec![r##""A":{"$ref":"#/components/schemas/B"},"B":{"$ref":"#/components/schemas/A"}"##.to_owned()];
        // Each has ten of the next: 10^20 values.
        for n in 0..20 {
            let properties: Vec<String> =
                (0..10).map(|p| format!(r##""p{p}":{{"$ref":"#/components/schemas/S{}"}}"##, n + 1)).collect();
            schemas.push(format!(r#""S{n}":{{"type":"object","properties":{{{}}}}}"#, properties.join(",")));
        }
        let body = |name: &str| {
            format!(
                r##"{{"requestBody":{{"content":{{"application/json":{{"schema":{{"$ref":"#/components/schemas/{name}"}}}}}}}}}}"##
            )
        };
        let paths: Vec<String> =
            (0..60).map(|n| format!(r#""/{n}":{{"post":{},"put":{}}}"#, body("S0"), body("A"))).collect();
        let text = format!(
            r#"{{"openapi":"3.0.1","paths":{{{}}},"components":{{"schemas":{{{}}}}}}}"#,
            paths.join(","),
            schemas.join(",")
        );
        let imported = import(&text).unwrap();
        assert_eq!(imported.plan.requests.len(), 50);
        assert!(imported.plan.requests.iter().all(|r| r.body.as_ref().is_none_or(|b| b.len() < 2 * EXAMPLE)));
        let told = imported.left_out.join("\n");
        assert!(told.contains("70 operations") && told.contains(NOWHERE), "{told}");
    }

    #[test]
    fn what_is_no_such_document_is_refused_in_words() {
        for (text, word) in [
            ("openapi: 4.0", "version"),
            ("{\"swagger\":\"1.2\"}", "version"),
            ("openapi: 3.0.0", "Nothing"),
            ("openapi: 3.0.0\npaths: [", "YAML"),
            ("{\"openapi\":", "JSON"),
        ] {
            let error = import(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
        let large = format!("openapi: 3.0.0\nx: {}", "y".repeat(limits::OPENAPI_BYTES));
        assert_eq!(import(&large), Err(ImportError::TooLarge(limits::OPENAPI_BYTES)));
    }
}
