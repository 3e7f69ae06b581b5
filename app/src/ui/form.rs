//! Form fields in the manner of the GOV.UK patterns: label above, hint under it, error beside the field, all errors on top.
//!
//! The only file that writes `<textarea`: Leptos 0.8 does not escape that element's children, so it is written as text here.

use leptos::prelude::*;
use oleada_engine::plan::limits::Bound;

use crate::format::{count, escape};
use crate::view::FieldError;

/// The id of a field's input: letters, digits and dashes of its name.
pub fn field_id(name: &str) -> String {
    let mut id = String::from("f-");
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            id.push(c.to_ascii_lowercase());
        } else if !id.ends_with('-') {
            id.push('-');
        }
    }
    id.trim_end_matches('-').to_owned()
}

/// The message for a field, if it has one.
pub fn message<'a>(errors: &'a [FieldError], name: &str) -> Option<&'a str> {
    errors.iter().find(|e| e.field == name).map(|e| e.message.as_str())
}

/// All errors on top of a form, each a link to its field. `label` gives the words for a field's name.
pub fn error_summary(errors: &[FieldError], label: impl Fn(&str) -> String) -> AnyView {
    if errors.is_empty() {
        return ().into_any();
    }
    let items = errors
        .iter()
        .map(|error| {
            let words = label(&error.field);
            let text = if words.is_empty() { error.message.clone() } else { format!("{words} {}", error.message) };
            view! { <li><a href=format!("#{}", field_id(&error.field))>{text}</a></li> }
        })
        .collect_view();
    view! {
        <div class="error-summary" role="alert" tabindex="-1" aria-labelledby="error-summary-title">
            <h2 id="error-summary-title">"There is a problem"</h2>
            <ul>{items}</ul>
        </div>
    }
    .into_any()
}

/// One line of input.
#[derive(Clone, Debug, Default)]
pub struct Field<'a> {
    /// Form name, also the source of its id.
    pub name: &'a str,
    /// Label.
    pub label: &'a str,
    /// What to type, with an example; empty = none.
    pub hint: String,
    /// Unit shown behind the input; empty = none.
    pub unit: &'a str,
    /// Current value, as typed.
    pub value: &'a str,
    /// Input type; empty = text.
    pub kind: &'static str,
    /// `autocomplete` token; empty = off.
    pub autocomplete: &'static str,
    /// `inputmode`; empty = none.
    pub inputmode: &'static str,
    /// Width class: `narrow`, `half` or empty for full.
    pub width: &'static str,
    /// Needed.
    pub required: bool,
    /// Placeholder; only ever an example, never the label.
    pub placeholder: &'static str,
    /// Datalist id for suggestions; empty = none.
    pub list: &'static str,
}

impl Field<'_> {
    /// Draws it, with its error if there is one.
    pub fn view(self, errors: &[FieldError]) -> AnyView {
        let id = field_id(self.name);
        let error = message(errors, self.name).map(str::to_owned);
        let (hint_id, error_id) = (format!("{id}-hint"), format!("{id}-error"));
        let described = described_by(!self.hint.is_empty(), error.is_some(), &hint_id, &error_id);
        let kind = if self.kind.is_empty() { "text" } else { self.kind };
        let class =
            if error.is_some() { format!("field {} has-error", self.width) } else { format!("field {}", self.width) };
        view! {
            <div class=class>
                <label for=id.clone()>{self.label.to_owned()}</label>
                {(!self.hint.is_empty()).then(|| view! { <p class="hint" id=hint_id>{self.hint.clone()}</p> })}
                {error.as_ref().map(|text| view! { <p class="field-error" id=error_id>{sentence(self.label, text)}</p> })}
                <div class="input-row">
                    <input
                        id=id
                        name=self.name.to_owned()
                        type=kind
                        value=(kind != "file").then(|| self.value.to_owned())
                        autocomplete=if self.autocomplete.is_empty() { "off" } else { self.autocomplete }
                        inputmode=some(self.inputmode)
                        placeholder=some(self.placeholder)
                        list=some(self.list)
                        spellcheck=(kind != "text" || !self.inputmode.is_empty()).then_some("false")
                        required=self.required
                        aria-invalid=error.is_some().then_some("true")
                        aria-describedby=described
                    />
                    {(!self.unit.is_empty()).then(|| view! { <span class="unit">{self.unit.to_owned()}</span> })}
                </div>
            </div>
        }
        .into_any()
    }
}

/// Several lines of input.
pub fn text_area(name: &str, label: &str, hint: &str, rows: u8, value: &str, errors: &[FieldError]) -> AnyView {
    area(name, label, hint, rows, value, false, errors)
}

/// Several lines of input that may be JSON: with scripts, a note below says whether it is, while it is typed.
pub fn json_area(name: &str, label: &str, hint: &str, rows: u8, value: &str, errors: &[FieldError]) -> AnyView {
    area(name, label, hint, rows, value, true, errors)
}

fn area(name: &str, label: &str, hint: &str, rows: u8, value: &str, json: bool, errors: &[FieldError]) -> AnyView {
    let id = field_id(name);
    let error = message(errors, name);
    let (hint_id, error_id) = (format!("{id}-hint"), format!("{id}-error"));
    let note_id = format!("{id}-note");
    let described = described_by(!hint.is_empty(), error.is_some(), &hint_id, &error_id)
        .map_or_else(String::new, |d| format!(" aria-describedby=\"{d}\""));
    let invalid = if error.is_some() { " aria-invalid=\"true\"" } else { "" };
    let note = if json { format!(" data-json-note=\"{note_id}\"") } else { String::new() };
    // A parser drops one line break after the tag, so one is given for it to drop.
    let html = format!(
        "<textarea id=\"{id}\" name=\"{}\" rows=\"{rows}\" spellcheck=\"false\" autocomplete=\"off\"{described}{invalid}{note}>\n{}</textarea>",
        escape(name),
        escape(value)
    );
    let class = if error.is_some() { "field has-error" } else { "field" };
    view! {
        <div class=class>
            <label for=id>{label.to_owned()}</label>
            {(!hint.is_empty()).then(|| view! { <p class="hint" id=hint_id>{hint.to_owned()}</p> })}
            {error.map(|text| view! { <p class="field-error" id=error_id>{sentence(label, text)}</p> })}
            <div class="input-row" inner_html=html></div>
            {json.then(|| view! { <p class="note" id=note_id role="status"></p> })}
        </div>
    }
    .into_any()
}

/// A file to send along.
pub fn file(name: &str, label: &str, hint: &str, errors: &[FieldError]) -> AnyView {
    Field { name, label, hint: hint.to_owned(), kind: "file", ..Field::default() }.view(errors)
}

/// A box to tick.
pub fn check_box(name: &str, label: &str, hint: &str, checked: bool) -> AnyView {
    let id = field_id(name);
    let hint_id = format!("{id}-hint");
    let described = (!hint.is_empty()).then(|| hint_id.clone());
    view! {
        <div class="field check">
            <input type="checkbox" id=id.clone() name=name.to_owned() value="on" checked=checked aria-describedby=described />
            <label for=id>{label.to_owned()}</label>
            {(!hint.is_empty()).then(|| view! { <p class="hint" id=hint_id>{hint.to_owned()}</p> })}
        </div>
    }
    .into_any()
}

/// A choice from a list of value and words.
pub fn select(
    name: &str,
    label: &str,
    hint: &str,
    options: &[(&'static str, &'static str)],
    value: &str,
    errors: &[FieldError],
) -> AnyView {
    let options = options.iter().map(|(value, words)| ((*value).to_owned(), (*words).to_owned())).collect();
    choice(name, label, hint, options, value, errors)
}

/// A choice from a list of value and words that are made for it.
pub fn choice(
    name: &str,
    label: &str,
    hint: &str,
    options: Vec<(String, String)>,
    value: &str,
    errors: &[FieldError],
) -> AnyView {
    let id = field_id(name);
    let error = message(errors, name).map(str::to_owned);
    let (hint_id, error_id) = (format!("{id}-hint"), format!("{id}-error"));
    let described = described_by(!hint.is_empty(), error.is_some(), &hint_id, &error_id);
    // A value that is not offered (somebody wrote the request by hand) is shown as it came, so that nothing changes silently.
    let unknown = (!value.is_empty() && !options.iter().any(|(v, _)| v == value)).then(|| value.to_owned());
    let options = options
        .into_iter()
        .map(|(v, words)| view! { <option value=v.clone() selected=v == value>{words}</option> })
        .collect_view();
    let class = if error.is_some() { "field has-error" } else { "field" };
    view! {
        <div class=class>
            <label for=id.clone()>{label.to_owned()}</label>
            {(!hint.is_empty()).then(|| view! { <p class="hint" id=hint_id>{hint.to_owned()}</p> })}
            {error.as_ref().map(|text| view! { <p class="field-error" id=error_id>{sentence(label, text)}</p> })}
            <div class="input-row">
                <select id=id name=name.to_owned() aria-describedby=described aria-invalid=error.is_some().then_some("true")>
                    {unknown.map(|v| view! { <option value=v selected=true>{v.clone()}</option> })}
                    {options}
                </select>
            </div>
        </div>
    }
    .into_any()
}

/// A choice above a list, from value and words; a value that is not offered chooses the first.
pub fn filter_choice(name: &'static str, label: &'static str, options: &[(&str, &str)], value: &str) -> AnyView {
    let id = format!("f-{name}");
    let options = options
        .iter()
        .map(|(v, words)| view! { <option value=(*v).to_owned() selected=*v == value>{(*words).to_owned()}</option> })
        .collect_view();
    view! { <div class="field"><label for=id.clone()>{label}</label><select id=id name=name>{options}</select></div> }
        .into_any()
}

/// `From 1 to 100,000 clients.`
pub fn bound_hint(bound: Bound) -> String {
    let unit =
        if bound.unit.is_empty() || bound.unit == "%" { bound.unit.to_owned() } else { format!(" {}", bound.unit) };
    format!("{} to {}{unit}.", bound_number(bound.min), bound_number(bound.max))
}

fn bound_number(value: f64) -> String {
    if value.fract() == 0.0 && value >= 0.0 { count(value as u64) } else { value.to_string() }
}

/// Messages follow the label; those that are sentences of their own stand alone.
fn sentence(label: &str, message: &str) -> String {
    if message.starts_with(char::is_uppercase) { message.to_owned() } else { format!("{label} {message}") }
}

fn some(text: &'static str) -> Option<&'static str> {
    (!text.is_empty()).then_some(text)
}

fn described_by(hint: bool, error: bool, hint_id: &str, error_id: &str) -> Option<String> {
    match (hint, error) {
        (true, true) => Some(format!("{hint_id} {error_id}")),
        (true, false) => Some(hint_id.to_owned()),
        (false, true) => Some(error_id.to_owned()),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_safe_fragments() {
        assert_eq!(
            (field_id("requests[0].url"), field_id("duration_s"), field_id("\"><script>")),
            ("f-requests-0-url".into(), "f-duration-s".into(), "f-script".into())
        );
    }
}
