//! Matches texts with a generated grammar. pest reads and optimises the grammar, and this module runs the result.

use std::collections::HashMap;

use pest_meta::optimizer::{OptimizedExpr, OptimizedRule};

pub(super) struct Peg(HashMap<String, OptimizedRule>);

impl Peg {
    /// Reads a grammar, or returns the errors of pest.
    pub(super) fn new(pest: &str) -> Result<Self, String> {
        match pest_meta::parse_and_optimize(pest) {
            Ok((_, rules)) => Ok(Self(
                rules
                    .into_iter()
                    .map(|rule| (rule.name.clone(), rule))
                    .collect(),
            )),
            Err(errors) => Err(errors.iter().map(ToString::to_string).collect()),
        }
    }

    /// Returns whether a rule matches the whole text.
    pub(super) fn is(&self, rule: &str, text: &str) -> bool {
        self.take(&self.0[rule].expr, text) == Some("")
    }

    /// Returns the text after the part that the expression matches; `None` if the expression does not match.
    fn take<'t>(&self, expr: &OptimizedExpr, text: &'t str) -> Option<&'t str> {
        match expr {
            OptimizedExpr::Str(literal) => text.strip_prefix(literal.as_str()),
            OptimizedExpr::Insens(literal) => {
                let head = text.get(..literal.len())?;
                let is_it = head.eq_ignore_ascii_case(literal);
                is_it.then(|| &text[literal.len()..])
            }
            OptimizedExpr::Range(from, to) => {
                let c = text.chars().next()?;
                let [from, to] = [from, to].map(|end| end.chars().next());
                (from? <= c && c <= to?).then(|| &text[c.len_utf8()..])
            }
            OptimizedExpr::Ident(name) => self.take(&self.0.get(name)?.expr, text),
            OptimizedExpr::Seq(one, two) => self.take(two, self.take(one, text)?),
            OptimizedExpr::Choice(one, two) => {
                self.take(one, text).or_else(|| self.take(two, text))
            }
            OptimizedExpr::Opt(inner) => Some(self.take(inner, text).unwrap_or(text)),
            OptimizedExpr::Rep(inner) => {
                let mut rest = text;
                while let Some(next) = self.take(inner, rest) {
                    rest = next;
                }
                Some(rest)
            }
            OptimizedExpr::NegPred(inner) => match self.take(inner, text) {
                Some(_) => None,
                None => Some(text),
            },
            other => panic!("no grammar of ours has {other:?}"),
        }
    }
}
