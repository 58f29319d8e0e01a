//! The grammar in GBNF, for llama.cpp and other readers of GBNF.

use alloc::string::String;

use super::grammar::{Grammar, Spelling};
use super::lark::quoted;

impl Grammar {
    /// Returns the grammar in GBNF: the start rule is `root`, and names have `-` instead of `_`.
    pub fn to_gbnf(&self) -> String {
        let mut out = String::from("# ") + &self.head("gbnf");
        for (at, rule) in self.rules().iter().enumerate() {
            out.push('\n');
            match at {
                0 => out.push_str("root"),
                _ => Gbnf.rule(&mut out, &rule.name),
            }
            out.push_str(" ::= ");
            Gbnf.expr(&mut out, &rule.body);
        }
        out.push('\n');
        out
    }
}

struct Gbnf;

impl Spelling for Gbnf {
    const GAP: &'static str = " ";
    const BAR: &'static str = " | ";
    const OPEN: &'static str = "(";
    const ATOMIC: bool = true;

    fn literal(&self, out: &mut String, text: &str) {
        quoted(out, text);
    }

    fn rule(&self, out: &mut String, name: &str) {
        out.extend(name.chars().map(|c| if c == '_' { '-' } else { c }));
    }
}
