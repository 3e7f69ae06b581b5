//! JSON or YAML as a tree that keeps the order of keys, and keys that come twice: in lists of headers or parameters both count.

use std::cell::Cell;
use std::fmt;

use oleada_engine::plan::limits;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ImportError;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Doc {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Doc>),
    Map(Vec<(String, Doc)>),
}

impl Doc {
    pub(crate) fn json(text: &str) -> Result<Doc, ImportError> {
        let broken = |e: serde_json::Error| ImportError::Broken(format!("This is not valid JSON: {e}."));
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let doc = Doc::deserialize(&mut deserializer).map_err(broken)?;
        deserializer.end().map_err(broken)?;
        Ok(doc)
    }

    pub(crate) fn yaml(text: &str) -> Result<Doc, ImportError> {
        let options = serde_saphyr::options! {
            with_snippet: false,
        };
        serde_saphyr::from_str_with_options(text, options)
            .map_err(|e| ImportError::Broken(format!("This is not valid YAML: {}.", crate::shown(&e.to_string()))))
    }

    /// The value of a key, unless it is null.
    pub(crate) fn get(&self, key: &str) -> Option<&Doc> {
        self.map().iter().find(|(k, _)| k == key).map(|(_, v)| v).filter(|v| **v != Doc::Null)
    }

    pub(crate) fn map(&self) -> &[(String, Doc)] {
        match self {
            Doc::Map(entries) => entries,
            _ => &[],
        }
    }

    pub(crate) fn list(&self) -> &[Doc] {
        match self {
            Doc::List(items) => items,
            _ => &[],
        }
    }

    pub(crate) fn str(&self) -> Option<&str> {
        match self {
            Doc::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A text, or a number or truth value as one writes it.
    pub(crate) fn word(&self) -> Option<String> {
        match self {
            Doc::Text(text) => Some(text.clone()),
            Doc::Number(number) => Some(number.to_string()),
            Doc::Bool(value) => Some(value.to_string()),
            Doc::Null | Doc::List(_) | Doc::Map(_) => None,
        }
    }

    /// A number, or a text that is one.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Doc::Number(number) => number.as_f64(),
            Doc::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
        .filter(|number| number.is_finite())
    }

    /// The text of a key, unless it is empty.
    pub(crate) fn text_of(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Doc::str).filter(|text| !text.is_empty())
    }

    /// Names and values, written as a map, or as a list of maps with `key` or `name` and `value`.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        let value = |doc: &Doc| doc.word().or_else(|| (*doc != Doc::Null).then(|| doc.to_json())).unwrap_or_default();
        let listed = self.list().iter().filter_map(|item| {
            let name = item.get("key").or_else(|| item.get("name"))?.word()?;
            Some((name, item.get("value").map(value).unwrap_or_default()))
        });
        self.map().iter().map(|(name, doc)| (name.clone(), value(doc))).chain(listed).collect()
    }

    /// Compact JSON.
    pub(crate) fn to_json(&self) -> String {
        // A tree of texts and numbers always has a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Serialize for Doc {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Doc::Null => serializer.serialize_unit(),
            Doc::Bool(value) => serializer.serialize_bool(*value),
            Doc::Number(number) => number.serialize(serializer),
            Doc::Text(text) => serializer.serialize_str(text),
            Doc::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Doc::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Doc {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Doc, D::Error> {
        AnyDoc(&Cell::new(limits::IMPORT_VALUES)).deserialize(deserializer)
    }
}

/// Reads a value, and counts down how many there may be: a short text can hold very many.
#[derive(Clone, Copy)]
struct AnyDoc<'a>(&'a Cell<usize>);

impl<'de> DeserializeSeed<'de> for AnyDoc<'_> {
    type Value = Doc;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Doc, D::Error> {
        let most = limits::IMPORT_VALUES;
        let left = self.0.get().checked_sub(1);
        self.0.set(left.ok_or_else(|| D::Error::custom(format_args!("it holds more than {most} values")))?);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyDoc<'_> {
    type Value = Doc;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_bool<E>(self, value: bool) -> Result<Doc, E> {
        Ok(Doc::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Doc, E> {
        Ok(Doc::Number(value.into()))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Doc, E> {
        Ok(Doc::Number(value.into()))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Doc, E> {
        Ok(serde_json::Number::from_f64(value).map_or(Doc::Null, Doc::Number))
    }
    fn visit_str<E>(self, text: &str) -> Result<Doc, E> {
        Ok(Doc::Text(text.to_owned()))
    }
    fn visit_string<E>(self, text: String) -> Result<Doc, E> {
        Ok(Doc::Text(text))
    }
    fn visit_unit<E>(self) -> Result<Doc, E> {
        Ok(Doc::Null)
    }
    fn visit_none<E>(self) -> Result<Doc, E> {
        Ok(Doc::Null)
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Doc, D::Error> {
        deserializer.deserialize_any(self)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Doc, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Doc::List(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Doc, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            entries.push((key, map.next_value_seed(self)?));
        }
        Ok(Doc::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_repeated_keys_are_kept() {
        let doc = Doc::json(r#"{"b":1,"a":[true,null,"x"],"b":2.5}"#).unwrap();
        assert_eq!(doc.to_json(), r#"{"b":1,"a":[true,null,"x"],"b":2.5}"#);
        assert_eq!(doc.get("b").and_then(Doc::number), Some(1.0));
    }

    #[test]
    fn yaml_keys_may_be_numbers_and_anchors_are_followed() {
        let doc = Doc::yaml("a: &x {200: ok, no: 'off'}\nb: *x\nc: |\n  one\n  two\n").unwrap();
        assert_eq!(doc.get("b").unwrap().to_json(), r#"{"200":"ok","no":"off"}"#);
        assert_eq!(doc.text_of("c"), Some("one\ntwo\n"));
    }

    #[test]
    fn what_is_small_but_holds_much_is_refused() {
        let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for n in 1..12 {
            let line = vec![format!("*a{}", n - 1); 10].join(",");
            text.push_str(&format!("a{n}: &a{n} [{line}]\n"));
        }
        assert!(Doc::yaml(&text).is_err());
        assert!(Doc::json(&"[".repeat(100_000)).is_err());
        let many = Doc::json(&format!("[{}0]", "0,".repeat(limits::IMPORT_VALUES))).unwrap_err().to_string();
        assert!(many.contains("more than 2000000 values"), "{many}");
        assert!(Doc::yaml(&"[".repeat(100_000)).is_err());
    }
}
