//! Finds the place of a mutant in the syntax of its file, and the change that plants the mutant beside the original
//! code.

use std::collections::BTreeMap;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::copy::Copy;
use super::mutant::{Mutant, byte};
use super::together::{Switch, Way, is_active};

type Span = (usize, usize);

/// For each mutant, returns one way to plant it beside the original code, or no way.
///
/// # Errors
/// If a file cannot be read, or is not Rust.
pub(crate) fn ways(
    copy: &Copy,
    mutants: &[(usize, &Mutant)],
) -> Result<Vec<(usize, Vec<Way>)>, String> {
    let mut files: BTreeMap<&str, (String, Places)> = BTreeMap::new();
    let mut ways = Vec::new();
    for (index, mutant) in mutants {
        let file = &*mutant.file;
        if !files.contains_key(file) {
            let text = copy.read(file)?;
            let parsed = syn::parse_file(&text).map_err(|error| format!("{file}: {error}"))?;
            let mut places = Places::default();
            places.visit_file(&parsed);
            files.insert(file, (text, places));
        }
        let (text, places) = &files[file];
        let way = places.switch(text, *index, mutant).map(|one| vec![one]);
        ways.push((*index, way.into_iter().collect()));
    }
    Ok(ways)
}

/// The parts of a file that mutants change, by the place of their operator or pattern.
#[derive(Default)]
struct Places {
    binary: BTreeMap<Span, [(Span, Span); 3]>,
    unary: BTreeMap<Span, [(Span, Span); 2]>,
    /// The guard of each match arm, or the empty place where a guard would be.
    arms: BTreeMap<Span, (Span, Span)>,
}

fn range(node: &impl Spanned) -> (Span, Span) {
    let span = node.span();
    let (start, end) = (span.start(), span.end());
    ((start.line, start.column + 1), (end.line, end.column + 1))
}

impl<'ast> Visit<'ast> for Places {
    fn visit_expr_binary(&mut self, node: &'ast syn::ExprBinary) {
        let parts = [range(node), range(&node.left), range(&node.right)];
        self.binary.insert(range(&node.op).0, parts);
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &'ast syn::ExprUnary) {
        let parts = [range(node), range(&node.expr)];
        self.unary.insert(range(&node.op).0, parts);
        visit::visit_expr_unary(self, node);
    }

    fn visit_arm(&mut self, node: &'ast syn::Arm) {
        let guard = match &node.pat {
            syn::Pat::Guard(pat) => Some(range(&*pat.guard)),
            _ => None,
        };
        let arrow = range(&node.fat_arrow_token).0;
        self.arms
            .insert(range(&node.pat).0, guard.unwrap_or((arrow, arrow)));
        visit::visit_arm(self, node);
    }
}

impl Places {
    /// Returns the change that plants a mutant beside the original code, if there is such a change.
    fn switch(&self, text: &str, index: usize, mutant: &Mutant) -> Option<Switch> {
        let is_it = is_active(index);
        let part = |(from, to): (Span, Span)| text.get(byte(text, from)?..byte(text, to)?);
        let (whole, new) = match mutant.genre.as_str() {
            "FnValue" => {
                let new = format!("if {is_it} {{ return {}; }} ", mutant.new);
                ((mutant.from, mutant.from), new)
            }
            "BinaryOperator" => {
                let [whole, left, right] = *self.binary.get(&mutant.from)?;
                let old = part((mutant.from, mutant.to))?;
                let (left, right, new) = (part(left)?, part(right)?, &mutant.new);
                let new = format!(
                    "(if {is_it} {{ {left} {new} {right} }} else {{ {left} {old} {right} }})"
                );
                (whole, new)
            }
            "UnaryOperator" => {
                let [whole, inner] = *self.unary.get(&mutant.from)?;
                let (old, inner) = (part(whole)?, part(inner)?);
                (
                    whole,
                    format!("(if {is_it} {{ {inner} }} else {{ {old} }})"),
                )
            }
            "MatchArmGuard" => {
                let guard = (mutant.from, mutant.to);
                let new = match mutant.new.as_str() {
                    "true" => format!("{is_it} || ({})", part(guard)?),
                    _ => format!("!{is_it} && ({})", part(guard)?),
                };
                (guard, new)
            }
            "MatchArm" => {
                let guard = *self.arms.get(&mutant.from)?;
                let new = match part(guard)? {
                    "" => format!("if !{is_it} "),
                    old => format!("!{is_it} && ({old})"),
                };
                (guard, new)
            }
            _ => return None,
        };
        let at = byte(text, whole.0)?..byte(text, whole.1)?;
        let scope = byte(text, mutant.from)?..byte(text, mutant.to)?;
        Some(Switch {
            file: mutant.file.clone(),
            scope: if at.is_empty() { scope } else { at.clone() },
            at,
            new,
        })
    }
}
