//! The grammar for Lark, for llguidance and the services built on it.

use alloc::string::String;
use core::fmt::Write as _;

use super::grammar::{Expr, Grammar, Spelling};
use super::regex::pattern;

impl Grammar {
    /// Returns the grammar for Lark: rules in small letters, tokens in capitals.
    pub fn to_lark(&self) -> String {
        let mut out = String::from("// ") + &self.head("lark");
        for rule in self.rules() {
            let lark = Lark(self);
            out.push('\n');
            lark.rule(&mut out, &rule.name);
            out.push_str(": ");
            match &rule.body {
                // `pattern` escapes each slash, so slashes can enclose it.
                body if rule.token => {
                    out.push('/');
                    out.push_str(&pattern(body));
                    out.push('/');
                }
                // One frame on each line is easy to read.
                Expr::Choice(options) if options.len() > 4 => {
                    for (at, option) in options.iter().enumerate() {
                        out.push_str(if at > 0 { "\n    | " } else { "" });
                        lark.expr(&mut out, option);
                    }
                }
                body => lark.expr(&mut out, body),
            }
        }
        out.push('\n');
        out
    }
}

struct Lark<'g>(&'g Grammar);

impl Spelling for Lark<'_> {
    const GAP: &'static str = " ";
    const BAR: &'static str = " | ";
    const OPEN: &'static str = "(";
    const ATOMIC: bool = true;

    fn literal(&self, out: &mut String, text: &str) {
        quoted(out, text);
    }

    fn rule(&self, out: &mut String, name: &str) {
        if self.0.rule(name).is_some_and(|rule| rule.token) {
            out.extend(name.chars().map(|c| c.to_ascii_uppercase()));
        } else {
            out.push_str(name);
        }
    }
}

/// Appends printable ASCII and line feeds in double quotes.
pub(super) fn quoted(out: &mut String, text: &str) {
    // Such a text has the same escapes in Rust as in the exported formats.
    let _ = write!(out, "{text:?}");
}
