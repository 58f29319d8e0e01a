//! Writes one rule in the notation of pest.

use std::fmt;

use super::check::Elements;
use super::error::GenerateError;
use super::expr::Expr;
use super::overrides::{Decisions, Modifier, Overrides};
use super::rules::{Definition, Rules};

/// One ABNF rule as pest text: the rule itself and a rule for each of its marks.
pub(super) struct Rendered<'a> {
    rule: &'a Definition,
    decisions: &'a Decisions,
    name: String,
    body: String,
    /// Name and literal, in the order of their first use.
    marks: Vec<(String, String)>,
}

impl<'a> Rendered<'a> {
    pub(super) fn new(
        rules: &Rules,
        overrides: &'a Overrides,
        rule: &'a Definition,
        elements: &Elements,
    ) -> Result<Self, GenerateError> {
        let decisions = overrides.of(rule);
        if let Some(marks) = &decisions.marks
            && marks.len() != elements.literals
        {
            return Err(GenerateError::overrides(
                decisions.line,
                format!(
                    "`{}` has {} literals, and `marks` names {}; name each, left to right",
                    rule.name,
                    elements.literals,
                    marks.len()
                ),
            ));
        }
        let mut renderer = Renderer {
            rules,
            overrides,
            rule,
            decisions,
            marks: Vec::new(),
        };
        let mut body = renderer.render(&elements.expr, Level::Choice)?;
        let is_choice = matches!(elements.expr, Expr::Choice { .. });
        if is_choice && (decisions.whole_input || elements.not_before.is_some()) {
            body = format!("({body})");
        }
        if let Some(next) = &elements.not_before {
            body += " ~ !";
            body += &renderer.render(next, Level::Element)?;
        }
        if decisions.whole_input {
            body = format!("SOI ~ {body} ~ EOI");
        }
        Ok(Self {
            rule,
            decisions,
            name: overrides.pest_name(rule),
            body,
            marks: renderer.marks,
        })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.marks.iter().map(|(name, _)| name.as_str()))
    }
}

impl fmt::Display for Rendered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modifier = match self.decisions.modifier {
            _ if self.rule.is_core => "_",
            Modifier::None => "",
            Modifier::Atomic => "@",
            Modifier::Silent => "_",
        };
        writeln!(f, "\n// {} = {}", self.rule.name, self.rule.node)?;
        if let Some(other) = &self.decisions.other {
            writeln!(f, "// as {other}")?;
        }
        writeln!(f, "{} = {modifier}{{ {} }}", self.name, self.body)?;
        for (name, literal) in &self.marks {
            writeln!(f, "{name} = {{ {literal} }}")?;
        }
        Ok(())
    }
}

/// How tightly the place of an expression binds. An expression that binds less tightly needs parentheses there.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    Choice,
    Sequence,
    Element,
}

struct Renderer<'a> {
    rules: &'a Rules,
    overrides: &'a Overrides,
    rule: &'a Definition,
    decisions: &'a Decisions,
    marks: Vec<(String, String)>,
}

impl Renderer<'_> {
    fn render(&mut self, expr: &Expr, level: Level) -> Result<String, GenerateError> {
        let (text, binds) = match expr {
            Expr::Choice { alternatives, .. } => (
                self.join(alternatives, " | ", Level::Sequence)?,
                Level::Choice,
            ),
            Expr::Sequence(parts) => (self.join(parts, " ~ ", Level::Element)?, Level::Sequence),
            Expr::Repeat { min, max, item } => {
                let times = match (min, max) {
                    (0, Some(1)) => "?".to_owned(),
                    (0, None) => "*".to_owned(),
                    (1, None) => "+".to_owned(),
                    (min, None) => format!("{{{min},}}"),
                    (0, Some(max)) => format!("{{,{max}}}"),
                    (min, Some(max)) if min == max => format!("{{{min}}}"),
                    (min, Some(max)) => format!("{{{min},{max}}}"),
                };
                (self.render(item, Level::Element)? + &times, Level::Element)
            }
            Expr::Rule(name) => {
                let rule = self.rules.get(name, self.rule.line, &self.rule.name)?;
                (self.overrides.pest_name(rule), Level::Element)
            }
            Expr::Literal {
                text,
                folds,
                number,
            } => {
                let caret = if *folds { "^" } else { "" };
                let inner: String = text.chars().map(|c| escaped(c, '"')).collect();
                let literal = format!("{caret}\"{inner}\"");
                (self.mark(literal, *number)?, Level::Element)
            }
            Expr::Range(from, to) => {
                let [from, to] = [from, to].map(|c| match c {
                    c if c.is_ascii() => escaped(*c, '\''),
                    c => format!("{}", c.escape_unicode()),
                });
                (format!("'{from}'..'{to}'"), Level::Element)
            }
        };
        Ok(if binds < level {
            format!("({text})")
        } else {
            text
        })
    }

    fn join(
        &mut self,
        parts: &[Expr],
        separator: &str,
        level: Level,
    ) -> Result<String, GenerateError> {
        let parts: Vec<_> = parts
            .iter()
            .map(|part| self.render(part, level))
            .collect::<Result<_, _>>()?;
        Ok(parts.join(separator))
    }

    /// Returns a literal as it is, or the name of the rule that a `marks` decision gives it.
    fn mark(&mut self, literal: String, number: Option<usize>) -> Result<String, GenerateError> {
        let names = self.decisions.marks.as_deref().unwrap_or_default();
        let Some(suffix) = number.and_then(|number| names.get(number)) else {
            return Ok(literal);
        };
        let name = format!("{}_{suffix}", self.overrides.pest_name(self.rule));
        match self.marks.iter().find(|(known, _)| *known == name) {
            Some((_, other)) if *other != literal => Err(GenerateError::overrides(
                self.decisions.line,
                format!("the mark `{suffix}` cannot name both {other} and {literal}"),
            )),
            Some(_) => Ok(name),
            None => {
                self.marks.push((name.clone(), literal));
                Ok(name)
            }
        }
    }
}

/// Returns a character as pest reads it in quotes. An invisible character becomes its code with at
/// least two digits, as pest requires.
fn escaped(c: char, quote: char) -> String {
    match c {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        '\\' => "\\\\".to_owned(),
        c if c == quote => format!("\\{c}"),
        ' '..='~' => c.to_string(),
        c if c.is_ascii() || c.escape_debug().count() > 1 => format!("\\u{{{:02x}}}", c as u32),
        c => c.to_string(),
    }
}
