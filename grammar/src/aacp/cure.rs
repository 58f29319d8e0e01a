//! The place of a fault in a packet, and its cure.

use std::borrow::Cow;

use super::pest_parser::Rule;
use crate::cure::shorten;
use crate::error::{Expected, Explain};

impl Explain for Rule {
    fn expected(self) -> Option<Expected> {
        Some(match self {
            Rule::task => Expected::Task,
            Rule::dom => Expected::Dom,
            Rule::key => Expected::Key,
            Rule::packet_bar | Rule::packet_separator => Expected::Mark('|'),
            Rule::field_colon => Expected::Mark(':'),
            Rule::EOI => Expected::EndOfPacket,
            _ => return None,
        })
    }

    fn place(rules: &[Self], before: &str) -> String {
        let field = before.rsplit('|').next().unwrap_or_default();
        match rules {
            rules if rules.contains(&Rule::EOI) => {
                let key = field.split(':').next().unwrap_or_default();
                format!("after the value of `{}`", shorten(key))
            }
            rules if rules.contains(&Rule::field_colon) => {
                format!("after the key `{}`", shorten(field))
            }
            rules if rules.contains(&Rule::packet_separator) => "after the domain".to_owned(),
            rules if rules.contains(&Rule::packet_bar) => "after the task".to_owned(),
            rules if rules.contains(&Rule::task) => "at the start of the packet".to_owned(),
            _ => "after '|'".to_owned(),
        }
    }

    fn cure(rules: &[Self], before: &str, found: Option<char>) -> Option<Cow<'static, str>> {
        let expects = |rule: Self| rules.contains(&rule);
        Some(Cow::Borrowed(if expects(Rule::EOI) {
            match found {
                Some('\n' | '\r') => "a packet is one line; leave out the line end",
                _ => {
                    "a value holds no control characters and none that cannot be seen; replace this one"
                }
            }
        } else if expects(Rule::field_colon) {
            match found {
                None | Some('|') => "a field is written key:value; only task and domain have none",
                _ => "a key holds letters, digits and '_'",
            }
        } else if expects(Rule::key) {
            match found {
                None | Some('|') => "an empty slot is left out, with its '|'",
                Some(':') => "a field has a name before its ':'",
                Some(' ') => "a space around a key is left out",
                _ => "a key is a letter, then letters, digits and '_'",
            }
        } else if found.is_none() && !before.is_empty() {
            "the packet is cut short: it is written TASK|DOM|key:value|.."
        } else if expects(Rule::packet_separator) {
            "a domain holds letters, digits, '_' and '-'"
        } else if expects(Rule::packet_bar) {
            "a task holds letters, digits, '_' and '-'"
        } else {
            "a packet begins with task and domain: TASK|DOM|key:value|.."
        }))
    }
}
