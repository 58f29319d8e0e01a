//! The grammar as data. Each output format is written from it.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A list of rules; the first is the start. No rule leads back to itself: nesting is limited, so
/// the language is regular.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grammar {
    rules: Vec<Rule>,
    /// A description of the texts, for the first line of a file.
    title: &'static str,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rule {
    /// The name: small letters, digits and `_`.
    pub name: String,
    /// Whether the lexer reads this rule, in a parser with a lexer. The lexer always finds the end of a token,
    /// because no character that may follow a token can continue it. A token uses no other rule, and only tokens have
    /// classes.
    pub token: bool,
    /// The expression that the rule stands for.
    pub body: Expr,
}

/// The body of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expr {
    /// This text: printable ASCII and line feeds.
    Literal(String),
    /// One character of these ranges, both ends included.
    Class(Vec<(char, char)>),
    /// The parts, one after the other.
    Sequence(Vec<Expr>),
    /// One of the options.
    Choice(Vec<Expr>),
    /// The item, `min` to `max` times.
    Repeat {
        /// The repeated item.
        item: Box<Expr>,
        /// The least number of repetitions.
        min: u32,
        /// The greatest number of repetitions; `None` has no limit.
        max: Option<u32>,
    },
    /// The rule with this name.
    Rule(String),
}

impl Grammar {
    pub(super) fn new(rules: Vec<Rule>, title: &'static str) -> Self {
        Self { rules, title }
    }

    /// Returns the first line of a file, without the mark of a comment.
    pub(super) fn head(&self, format: &str) -> String {
        let Self { title, .. } = self;
        format!("{title} --format {format}`; do not edit.\n")
    }

    /// Returns the rules, the start first, tokens last.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns the rule with this name.
    pub fn rule(&self, name: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.name == name)
    }
}

impl Rule {
    pub(super) fn new(name: &str, body: Expr) -> Self {
        Self {
            name: name.to_owned(),
            token: false,
            body,
        }
    }
}

pub(super) fn literal(text: &str) -> Expr {
    Expr::Literal(text.to_owned())
}

pub(super) fn class(ranges: &[(u8, u8)]) -> Expr {
    let ranges = ranges.iter();
    Expr::Class(
        ranges
            .map(|(first, last)| ((*first).into(), (*last).into()))
            .collect(),
    )
}

/// Builds a sequence without a sequence in it.
pub(super) fn sequence(parts: impl IntoIterator<Item = Expr>) -> Expr {
    let mut flat = Vec::new();
    for part in parts {
        match part {
            Expr::Sequence(parts) => flat.extend(parts),
            part => flat.push(part),
        }
    }
    single(flat, Expr::Sequence)
}

/// Builds a choice without a choice in it.
pub(super) fn choice(options: impl IntoIterator<Item = Expr>) -> Expr {
    let mut flat = Vec::new();
    for option in options {
        match option {
            Expr::Choice(options) => flat.extend(options),
            option => flat.push(option),
        }
    }
    single(flat, Expr::Choice)
}

fn single(mut parts: Vec<Expr>, of: impl FnOnce(Vec<Expr>) -> Expr) -> Expr {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            of(parts)
        }
    }
}

pub(super) fn repeat(item: Expr, min: u32, max: Option<u32>) -> Expr {
    Expr::Repeat {
        item: Box::new(item),
        min,
        max,
    }
}

pub(super) fn optional(item: Expr) -> Expr {
    repeat(item, 0, Some(1))
}

pub(super) fn many(item: Expr) -> Expr {
    repeat(item, 0, None)
}

pub(super) fn some(item: Expr) -> Expr {
    repeat(item, 1, None)
}

/// The common parts of all output formats: where brackets are needed, and how repetitions are written.
pub(super) trait Spelling {
    /// Appends a literal.
    fn literal(&self, out: &mut String, text: &str);
    /// The text between the parts of a sequence.
    const GAP: &'static str;
    /// The text between the options of a choice.
    const BAR: &'static str;
    /// The text that opens a group; `)` closes it.
    const OPEN: &'static str;
    /// Whether a repetition after a literal applies to all its characters. If not, the literal needs brackets.
    const ATOMIC: bool;
    /// Appends the rule with this name.
    fn rule(&self, out: &mut String, name: &str);

    /// Appends an expression.
    fn expr(&self, out: &mut String, expr: &Expr) {
        match expr {
            Expr::Literal(text) => self.literal(out, text),
            Expr::Class(ranges) => class_text(out, ranges),
            Expr::Rule(name) => self.rule(out, name),
            Expr::Sequence(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    if at > 0 {
                        out.push_str(Self::GAP);
                    }
                    self.group(out, part, matches!(part, Expr::Choice(_)));
                }
            }
            Expr::Choice(options) => {
                for (at, option) in options.iter().enumerate() {
                    if at > 0 {
                        out.push_str(Self::BAR);
                    }
                    self.expr(out, option);
                }
            }
            Expr::Repeat { item, min, max } => {
                let bare = match &**item {
                    Expr::Literal(text) => Self::ATOMIC || text.len() == 1,
                    Expr::Class(_) => true,
                    Expr::Rule(_) => Self::ATOMIC,
                    _ => false,
                };
                self.group(out, item, !bare);
                times(out, *min, *max);
            }
        }
    }

    /// Appends an expression, in brackets where they are needed.
    fn group(&self, out: &mut String, expr: &Expr, brackets: bool) {
        if brackets {
            out.push_str(Self::OPEN);
            self.expr(out, expr);
            out.push(')');
        } else {
            self.expr(out, expr);
        }
    }
}

fn times(out: &mut String, min: u32, max: Option<u32>) {
    use core::fmt::Write as _;
    // Writing to a String cannot fail.
    let _ = match (min, max) {
        (0, Some(1)) => out.write_char('?'),
        (0, None) => out.write_char('*'),
        (1, None) => out.write_char('+'),
        (min, None) => write!(out, "{{{min},}}"),
        (min, Some(max)) if min == max => write!(out, "{{{min}}}"),
        (min, Some(max)) => write!(out, "{{{min},{max}}}"),
    };
}

/// Appends a class such as `[0-9\x2E]`: every notation reads letters, digits, `\xXX`, `\uXXXX` and
/// `\UXXXXXXXX` alike.
fn class_text(out: &mut String, ranges: &[(char, char)]) {
    use core::fmt::Write as _;
    // Writing to a String cannot fail.
    let end = |out: &mut String, c: char| {
        let _ = match u32::from(c) {
            _ if c.is_ascii_alphanumeric() => out.write_char(c),
            code @ ..=0x7f => write!(out, "\\x{code:02X}"),
            code @ ..=0xffff => write!(out, "\\u{code:04X}"),
            code => write!(out, "\\U{code:08X}"),
        };
    };
    out.push('[');
    for &(first, last) in ranges {
        end(out, first);
        if first < last {
            out.push('-');
            end(out, last);
        }
    }
    out.push(']');
}
