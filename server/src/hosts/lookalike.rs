//! International host names that can be taken for another name.

use oleada_engine::plan::Target;
use unicode_security::confusable_detection::skeleton;
use unicode_security::restriction_level::{RestrictionLevel, RestrictionLevelDetection as _};
use unicode_security::{GeneralSecurityProfile as _, MixedScript as _};

/// A sentence with both forms of the name, when one of its labels mixes scripts in a way that can deceive (UTS 39, beyond
/// “highly restrictive”), or is in another script and looks like plain ASCII letters throughout.
pub fn warning(target: &Target) -> Option<String> {
    let unicode = target.unicode_host()?;
    let why = unicode.split('.').find_map(|label| {
        if mixes_scripts(label) {
            Some(format!("“{label}” mixes letters of several scripts, which can look alike"))
        } else {
            let foreign = || format!("“{label}” looks as if it were written in Latin letters, but is not");
            looks_latin(label).then(foreign)
        }
    })?;
    Some(format!("{unicode} ({}): {why}. Make sure that this is the host you mean.", target.at.host))
}

/// Latin together with Chinese, Japanese or Korean is common and does not count.
fn mixes_scripts(label: &str) -> bool {
    !label.is_single_script() && label.detect_restriction_level() > RestrictionLevel::HighlyRestrictive
}

/// Whether a label without any ASCII letter can be taken for one that has nothing else.
fn looks_latin(label: &str) -> bool {
    let foreign = label.chars().any(|c| !c.is_ascii() && c.identifier_allowed());
    foreign && !label.chars().any(|c| c.is_ascii_alphabetic()) && skeleton(label).all(|c| c.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(host: &str) -> Option<String> {
        warning(&Target::parse(&format!("http://{host}/")).unwrap())
    }

    #[test]
    fn b46_look_alikes_are_flagged_with_both_forms() {
        // With a Cyrillic а; Cyrillic throughout; Greek omicrons; Armenian; a subdomain.
        for (host, why) in [
            ("p\u{430}ypal.test", "mixes"),
            ("\u{430}\u{440}\u{440}\u{4cf}\u{435}.test", "looks as if it were written in Latin letters"),
            ("g\u{3bf}\u{3bf}gle.test", "mixes"),
            ("sh\u{585}p.test", "mixes"),
            ("www.p\u{430}y.shop.test", "mixes"),
        ] {
            let said = of(host).unwrap_or_else(|| panic!("{host}"));
            assert!(said.contains(host) && said.contains("(") && said.contains("xn--") && said.contains(why), "{said}");
        }
        assert_eq!(of("p\u{430}ypal.test"), of("xn--pypal-4ve.test"), "the same name in its ASCII form");
    }

    #[test]
    fn b46_honest_names_are_not() {
        for host in [
            "bücher.test",
            "bücher-shop2.test",
            "ılıca.test",
            "пример.test",
            "παράδειγμα.test",
            "例え.test",
            "sony-ソニー.test",
            "한국shop.test",
            "مثال.test",
            "💩.test",
            "plain.test",
            "127.0.0.1",
        ] {
            assert_eq!(of(host), None, "{host}");
        }
    }
}
