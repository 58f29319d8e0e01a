//! The grammar as one regular expression.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::ExportError;
use super::grammar::{Expr, Grammar, Spelling};

/// Engines give up on regular expressions of more bytes than this.
const MOST: u64 = 256 * 1024;

impl Grammar {
    /// Returns the grammar as one regular expression that a whole text must match. It has no
    /// anchors, and uses only groups, classes, `\xXX` and counted repetitions.
    ///
    /// # Errors
    /// [`ExportError::TooLarge`]: every rule is repeated wherever it is used.
    pub fn to_regex(&self) -> Result<String, ExportError> {
        let mut sizes = BTreeMap::new();
        let bytes = self
            .rules()
            .first()
            .map_or(0, |start| self.size(&start.body, &mut sizes));
        if bytes > MOST {
            return Err(ExportError::TooLarge { bytes, most: MOST });
        }
        let mut out = String::new();
        if let Some(start) = self.rules().first() {
            Pattern(self).expr(&mut out, &start.body);
        }
        Ok(out)
    }

    /// Returns the approximate length of an expression. The recursion ends, because no rule leads back to itself.
    fn size<'g>(&'g self, expr: &'g Expr, sizes: &mut BTreeMap<&'g str, u64>) -> u64 {
        let mut sum = |parts: &'g [Expr]| {
            parts.iter().fold(4_u64, |sum, part| {
                sum.saturating_add(self.size(part, sizes)).saturating_add(1)
            })
        };
        match expr {
            Expr::Literal(_) | Expr::Class(_) => pattern(expr).len() as u64,
            Expr::Sequence(parts) | Expr::Choice(parts) => sum(parts),
            Expr::Repeat { item, .. } => self.size(item, sizes).saturating_add(6),
            Expr::Rule(name) => {
                if let Some(size) = sizes.get(name.as_str()) {
                    return *size;
                }
                let size = self
                    .rule(name)
                    .map_or(0, |rule| self.size(&rule.body, sizes));
                sizes.insert(name, size);
                size
            }
        }
    }
}

/// Returns a token as a regular expression.
pub(super) fn pattern(token: &Expr) -> String {
    let mut out = String::new();
    Pattern(&Grammar::new(Vec::new(), "")).expr(&mut out, token);
    out
}

/// Writes an expression as a regular expression, with rules replaced by their bodies.
struct Pattern<'g>(&'g Grammar);

impl Spelling for Pattern<'_> {
    const GAP: &'static str = "";
    const BAR: &'static str = "|";
    const OPEN: &'static str = "(?:";
    const ATOMIC: bool = false;

    fn literal(&self, out: &mut String, text: &str) {
        for character in text.chars() {
            if character == '\n' {
                out.push_str("\\n");
                continue;
            }
            if r"\.+*?()|[]{}^$/".contains(character) {
                out.push('\\');
            }
            out.push(character);
        }
    }

    fn rule(&self, out: &mut String, name: &str) {
        if let Some(rule) = self.0.rule(name) {
            self.group(out, &rule.body, matches!(rule.body, Expr::Choice(_)));
        }
    }
}
