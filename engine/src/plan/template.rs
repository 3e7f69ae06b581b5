//! Text with places that are filled in anew for each request: `{{name}}`, `{{$uuid}}` and its like, and numbers such as
//! `%{1:100:2}`.
//!
//! `{{name}}` is a variable: letters, digits and `_`, not beginning with a digit; blanks inside the braces do not count. What
//! only looks similar, such as the braces of JSON, stays text. `{{$…}}` and `%{…}` are never anything else, so a fault in them
//! is told.

use std::fmt;

use super::limits;

/// A parsed text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template {
    parts: Vec<Part>,
}

/// A piece of a [`Template`].
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// As it stands.
    Text(String),
    /// The value of a variable: extracted from a reply, or from a row of data.
    Variable(String),
    /// A value that we make.
    BuiltIn(BuiltIn),
    /// A number of a list.
    Numbers(Numbers),
}

/// Values that need no source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltIn {
    /// `{{$uuid}}`: a random UUID (version 4).
    Uuid,
    /// `{{$now}}`: unix time in ms.
    Now,
    /// `{{$random}}` or `{{$random(8)}}`: so many random letters and digits, 1 to 64.
    Random(u8),
    /// `{{$iteration}}`: how often this client has begun the list before; from 0.
    Iteration,
    /// `{{$client}}`: the client's number in the run; from 0.
    Client,
}

/// Length of `{{$random}}` without a number.
const RANDOM_LENGTH: u8 = 12;
/// Most characters of `{{$random(n)}}`.
const MOST_RANDOM: u8 = 64;

/// `%{…}`: numbers taken in turn, over all clients of the run; after the last comes the first again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers {
    members: Vec<Member>,
    /// How many turns until it begins again.
    length: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Member {
    One(i64),
    /// Every `step`-th from `from` on, `count` of them.
    Range {
        from: i64,
        step: i64,
        count: u64,
    },
    /// Any between the two, these included.
    Random {
        least: i64,
        most: i64,
    },
}

/// A place in a text is not written as it must be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// `{{$…}}` that we do not know.
    #[error(
        "holds “{0}”, which is not one of {{{{$uuid}}}}, {{{{$now}}}}, {{{{$random}}}}, {{{{$random(8)}}}} (1 to 64), {{{{$iteration}}}} and {{{{$client}}}}"
    )]
    BuiltIn(String),
    /// `%{…}` that is not a list of numbers.
    #[error("holds “{0}”, which is not a list like %{{1, 2, 3}}, %{{1:100:2}} or %{{*:1-100}}")]
    Numbers(String),
    /// Too many places.
    #[error("may hold at most {} places to fill in", limits::TEMPLATE_PLACES)]
    TooMany,
}

impl Template {
    /// Reads a text.
    ///
    /// # Errors
    /// [`TemplateError`], a sentence part that follows the field's name.
    pub fn parse(text: &str) -> Result<Template, TemplateError> {
        let mut parts = Vec::new();
        let mut rest = text;
        let mut plain = String::new();
        // Behind the last end nothing can begin: else very many beginnings would each look for it.
        let (brace, braces) = (text.rfind('}').unwrap_or(0), text.rfind("}}").unwrap_or(0));
        while let Some(at) = rest.find(['{', '%']) {
            plain.push_str(&rest[..at]);
            rest = &rest[at..];
            let here = text.len() - rest.len();
            let ends = if rest.starts_with('%') { here < brace } else { here < braces };
            match if ends { place(rest)? } else { None } {
                Some((part, length)) => {
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(part);
                    rest = &rest[length..];
                }
                None => {
                    plain.push_str(&rest[..1]);
                    rest = &rest[1..];
                }
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        if parts.iter().filter(|part| !matches!(part, Part::Text(_))).count() > limits::TEMPLATE_PLACES {
            return Err(TemplateError::TooMany);
        }
        Ok(Template { parts })
    }

    /// The pieces in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Whether nothing is to be filled in.
    pub fn is_plain(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Text(_)))
    }

    /// The names of the variables, in order of appearance; one may come twice.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable(name) => Some(&**name),
            _ => None,
        })
    }
}

/// A place at the beginning of `text`, and its length in bytes.
fn place(text: &str) -> Result<Option<(Part, usize)>, TemplateError> {
    if let Some(inside) = text.strip_prefix("%{") {
        // Without an end it is text: a percent sign before a brace means nothing by itself.
        let Some(end) = inside.find('}') else { return Ok(None) };
        let numbers = Numbers::parse(&inside[..end]).ok_or_else(|| TemplateError::Numbers(shown(&text[..end + 3])))?;
        return Ok(Some((Part::Numbers(numbers), end + 3)));
    }
    let Some(inside) = text.strip_prefix("{{") else { return Ok(None) };
    if let Some(inside) = inside.trim_start().strip_prefix('$') {
        let Some(end) = inside.find("}}") else { return Ok(None) };
        let length = text.len() - inside.len() + end + 2;
        let part = BuiltIn::parse(inside[..end].trim_end());
        let part = part.ok_or_else(|| TemplateError::BuiltIn(shown(&text[..length])))?;
        return Ok(Some((Part::BuiltIn(part), length)));
    }
    // A name has no brace, so the first one decides.
    let end = inside.find(['{', '}']).filter(|end| inside[*end..].starts_with("}}"));
    let Some((name, length)) = end.map(|end| (inside[..end].trim(), end + 4)) else { return Ok(None) };
    Ok(is_name(name).then(|| (Part::Variable(name.to_owned()), length)))
}

fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}

/// Whether a variable may have this name.
pub fn is_name(name: &str) -> bool {
    let first = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    first && name.len() <= limits::VARIABLE_NAME_BYTES && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl BuiltIn {
    fn parse(name: &str) -> Option<BuiltIn> {
        Some(match name {
            "uuid" => BuiltIn::Uuid,
            "now" => BuiltIn::Now,
            "random" => BuiltIn::Random(RANDOM_LENGTH),
            "iteration" => BuiltIn::Iteration,
            "client" => BuiltIn::Client,
            _ => {
                let length = name.strip_prefix("random(")?.strip_suffix(')')?.trim().parse().ok()?;
                (1..=MOST_RANDOM).contains(&length).then_some(BuiltIn::Random(length))?
            }
        })
    }
}

impl Numbers {
    fn parse(text: &str) -> Option<Numbers> {
        let members: Vec<Member> = text.split(',').map(|member| Member::parse(member.trim())).collect::<Option<_>>()?;
        if members.len() > limits::NUMBER_MEMBERS {
            return None;
        }
        let length = members.iter().try_fold(0u64, |sum, member| sum.checked_add(member.length()))?;
        Some(Numbers { members, length })
    }

    /// The number of turn `turn`, counted from 0. `random` gives a number below its argument, at least 1.
    pub fn value(&self, turn: u64, random: impl FnOnce(u64) -> u64) -> i64 {
        let mut left = turn % self.length.max(1);
        for member in &self.members {
            let length = member.length();
            if left < length {
                return match *member {
                    Member::One(number) => number,
                    // Inside the bounds of an i64, because the last one was when it was parsed.
                    Member::Range { from, step, .. } => from.wrapping_add(step.wrapping_mul(left as i64)),
                    Member::Random { least, most } => {
                        least.wrapping_add(random(most.abs_diff(least).saturating_add(1)) as i64)
                    }
                };
            }
            left -= length;
        }
        0
    }
}

impl Member {
    fn parse(text: &str) -> Option<Member> {
        if let Some(range) = text.strip_prefix("*:") {
            // The first dash after the first character: the lower bound may be negative.
            let range = range.trim();
            let dash = range.char_indices().skip(1).find(|(_, c)| *c == '-')?.0;
            let (least, most) = (range[..dash].trim().parse().ok()?, range[dash + 1..].trim().parse().ok()?);
            return (least <= most).then_some(Member::Random { least, most });
        }
        let numbers: Vec<i64> = text.split(':').map(|n| n.trim().parse().ok()).collect::<Option<_>>()?;
        let (from, to, step) = match numbers[..] {
            [one] => return Some(Member::One(one)),
            [from, to] => (from, to, if from <= to { 1 } else { -1 }),
            [from, to, step] => (from, to, step),
            _ => return None,
        };
        if step == 0 || (to > from && step < 0) || (to < from && step > 0) {
            return None;
        }
        let count = (to.abs_diff(from) / step.unsigned_abs()).checked_add(1)?;
        Some(Member::Range { from, step, count })
    }

    fn length(self) -> u64 {
        match self {
            Member::One(_) | Member::Random { .. } => 1,
            Member::Range { count, .. } => count,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Text(text) => f.write_str(text),
            Part::Variable(name) => write!(f, "{{{{{name}}}}}"),
            Part::BuiltIn(built_in) => built_in.fmt(f),
            Part::Numbers(numbers) => numbers.fmt(f),
        }
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("%{")?;
        for (n, member) in self.members.iter().enumerate() {
            f.write_str(if n > 0 { ", " } else { "" })?;
            match *member {
                Member::One(number) => write!(f, "{number}")?,
                Member::Range { from, step, count } => {
                    let to = from.wrapping_add(step.wrapping_mul((count - 1) as i64));
                    write!(f, "{from}:{to}")?;
                    if step != 1 && step != -1 {
                        write!(f, ":{step}")?;
                    }
                }
                Member::Random { least, most } => write!(f, "*:{least}-{most}")?,
            }
        }
        f.write_str("}")
    }
}

impl fmt::Display for BuiltIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuiltIn::Uuid => f.write_str("{{$uuid}}"),
            BuiltIn::Now => f.write_str("{{$now}}"),
            BuiltIn::Random(length) => write!(f, "{{{{$random({length})}}}}"),
            BuiltIn::Iteration => f.write_str("{{$iteration}}"),
            BuiltIn::Client => f.write_str("{{$client}}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<Part> {
        Template::parse(text).unwrap().parts
    }

    fn text(text: &str) -> Part {
        Part::Text(text.into())
    }

    #[test]
    fn places_are_found_and_other_braces_stay() {
        let variable = |name: &str| Part::Variable(name.into());
        assert_eq!(parts("/a/{{id}}/b{{ _x1 }}"), [text("/a/"), variable("id"), text("/b"), variable("_x1")]);
        for plain in [r#"{"a":{"b":{}}}"#, "{{", "{{}}", "{{a-b}}", "{{1a}}", "100% {x}", "%{", "{{a", "é%é{é"] {
            assert_eq!(parts(plain), [text(plain)], "{plain}");
            assert!(Template::parse(plain).unwrap().is_plain());
        }
        assert_eq!(parts("{{{a}}}"), [text("{"), variable("a"), text("}")]);
        assert_eq!(parts(""), []);
    }

    #[test]
    fn built_ins_are_known_or_refused() {
        assert_eq!(parts("{{$uuid}}{{ $now }}"), [Part::BuiltIn(BuiltIn::Uuid), Part::BuiltIn(BuiltIn::Now)]);
        assert_eq!(parts("{{$random(3)}}"), [Part::BuiltIn(BuiltIn::Random(3))]);
        assert_eq!(parts("{{$random}}"), [Part::BuiltIn(BuiltIn::Random(12))]);
        for bad in ["{{$uid}}", "{{$random(0)}}", "{{$random(65)}}", "{{$}}", "{{$random(}}"] {
            assert!(matches!(Template::parse(bad), Err(TemplateError::BuiltIn(_))), "{bad}");
        }
        let said = Template::parse("{{$uid}}").unwrap_err().to_string();
        assert!(said.starts_with("holds “{{$uid}}”, which is not one of {{$uuid}}"), "{said}");
    }

    fn numbers(text: &str) -> Numbers {
        match &parts(text)[..] {
            [Part::Numbers(numbers)] => numbers.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn numbers_come_in_turn() {
        let first = |text: &str, n: u64| -> Vec<i64> { (0..n).map(|t| numbers(text).value(t, |_| 0)).collect() };
        assert_eq!(first("%{1, 2, 3}", 4), [1, 2, 3, 1]);
        assert_eq!(first("%{1:100:49}", 4), [1, 50, 99, 1]);
        assert_eq!(first("%{3:1}", 4), [3, 2, 1, 3]);
        assert_eq!(first("%{1, 2:6:2, *:1-100, 17}", 7), [1, 2, 4, 6, 1, 17, 1]);
        let random = numbers("%{*:-5--3}");
        assert_eq!((random.value(0, |n| n - 1), random.value(9, |_| 0)), (-3, -5));
        for bad in ["%{}", "%{a}", "%{1:}", "%{1:5:0}", "%{5:1:1}", "%{*:5-1}", "%{*:5}", "%{1,,2}", "%{1:2:3:4}"] {
            assert!(matches!(Template::parse(bad), Err(TemplateError::Numbers(_))), "{bad}");
        }
        let wide = numbers("%{-9223372036854775808:9223372036854775807:1000}");
        assert_eq!(wide.value(1, |_| 0), i64::MIN + 1000);
        assert!(Template::parse("%{-9223372036854775808:9223372036854775807}").is_err(), "too many to count");
        for text in ["%{1, 2:100:2, *:1-100, 17}", "%{3:1}", "%{*:-5--3}"] {
            let again = numbers(text).to_string();
            assert_eq!(
                (numbers(&again), again.matches(':').count()),
                (numbers(text), text.matches(':').count()),
                "{text}"
            );
        }
    }

    #[test]
    fn places_are_bounded() {
        let many = "{{a}}".repeat(limits::TEMPLATE_PLACES + 1);
        assert_eq!(Template::parse(&many), Err(TemplateError::TooMany));
        assert_eq!(Template::parse("{{a}}{{b}}{{a}}").unwrap().variables().collect::<Vec<_>>(), ["a", "b", "a"]);
    }

    #[test]
    fn very_many_beginnings_are_read_once() {
        // Were each looked at to the end of the text, this would take hours.
        for start in ["{", "{{", "%{", "{{ ", "{{a ", "%{1"] {
            let many = start.repeat((1 << 20) / start.len());
            assert!(Template::parse(&many).unwrap().is_plain(), "{start}");
            let ended = Template::parse(&format!("{many}}}}}"));
            assert!(if start.starts_with('%') { ended.is_err() } else { ended.is_ok() }, "{start}");
        }
        assert_eq!(parts("{{{a}}}}"), [Part::Text("{".into()), Part::Variable("a".into()), Part::Text("}}".into())]);
        assert_eq!(
            parts("{{a}b}}{{ $now }}%{"),
            [Part::Text("{{a}b}}".into()), Part::BuiltIn(BuiltIn::Now), Part::Text("%{".into())]
        );
    }
}
