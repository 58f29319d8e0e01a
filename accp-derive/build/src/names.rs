//! Rust identifiers from names of the registry.

use accp_registry::words;
use proc_macro2::{Ident, Span};

/// Turns `task_assignment` into `TaskAssignment`. Returns an empty text for a name without
/// letters and digits.
pub(crate) fn pascal(name: &str) -> String {
    let mut out = String::new();
    for word in words(name) {
        let (first, rest) = word.split_at(1);
        out.push_str(&first.to_ascii_uppercase());
        out.push_str(&rest.to_ascii_lowercase());
    }
    out
}

/// Turns `userId` into `user_id`. Returns an empty text for a name without letters and digits.
pub(crate) fn snake(name: &str) -> String {
    let words: Vec<String> = words(name).map(str::to_ascii_lowercase).collect();
    words.join("_")
}

/// Makes an identifier from a name that [`pascal`] or [`snake`] returned. A name that starts with
/// a digit gets `letter` before it, and a keyword gets a `_` after it. Returns `None` for the
/// empty name.
pub(crate) fn sanitize(name: &str, letter: char) -> Option<Ident> {
    let first = name.bytes().next()?;
    let name = if first.is_ascii_digit() {
        format!("{letter}{name}")
    } else if is_keyword(name) {
        format!("{name}_")
    } else {
        name.to_owned()
    };
    Some(Ident::new(&name, Span::call_site()))
}

/// Returns whether a name is a keyword. syn knows all keywords but `gen` of the 2024 edition.
fn is_keyword(name: &str) -> bool {
    name == "gen" || syn::parse_str::<Ident>(name).is_err()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn splits_names_into_words() {
        for (name, camel, small) in [
            ("task_assignment", "TaskAssignment", "task_assignment"),
            ("userId", "UserId", "user_id"),
            ("HTTPServer2Go", "HttpServer2Go", "http_server2_go"),
            ("__a__b__", "AB", "a_b"),
            ("TA", "Ta", "ta"),
            ("4k-video", "4kVideo", "4k_video"),
            ("_", "", ""),
            ("+", "", ""),
        ] {
            assert_eq!(pascal(name), camel, "{name}");
            assert_eq!(snake(name), small, "{name}");
        }
    }

    #[test]
    fn avoids_what_is_no_identifier() {
        let text = |name| sanitize(name, 'n').map(|ident| ident.to_string());
        for (name, ident) in [
            ("type", "type_"),
            ("gen", "gen_"),
            ("self", "self_"),
            ("Self", "Self_"),
            ("2fa", "n2fa"),
            ("task", "task"),
            ("union", "union"),
        ] {
            assert_eq!(text(name).as_deref(), Some(ident));
        }
        assert_eq!(text(""), None);
    }

    proptest! {
        /// Every name with a letter or digit gives an identifier that rustc's naming lints accept.
        #[test]
        fn makes_identifiers_of_every_name(name in "[!-~]{0,12}") {
            let has_words = name.bytes().any(|b| b.is_ascii_alphanumeric());
            for (made, letter) in [(pascal(&name), 'N'), (snake(&name), 'n')] {
                let Some(ident) = sanitize(&made, letter) else {
                    prop_assert!(!has_words);
                    continue;
                };
                let ident = ident.to_string();
                prop_assert!(syn::parse_str::<Ident>(&ident).is_ok());
                let body = ident.trim_matches('_');
                prop_assert!(!body.contains("__"));
                prop_assert!(!ident.starts_with('_'));
                if letter == 'N' {
                    prop_assert!(body.starts_with(|c: char| c.is_ascii_uppercase()));
                } else {
                    prop_assert!(!body.contains(|c: char| c.is_ascii_uppercase()));
                }
            }
        }
    }
}
