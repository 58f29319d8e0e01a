//! The ways to plant a bug beside the code that it changes.

use std::collections::BTreeMap;
use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::bugs::Bug;
use super::sources::Source;
use super::together::{Switch, Way, is_active};

/// A change of a text: the bytes that are replaced, and the new text, which has the bug.
type Change<'b> = (Range<usize>, &'b str);

/// Returns the ways to plant a bug, the most likely to build first. The first way puts a changed copy of each
/// function's body beside the original body. The other ways put a changed copy of one expression beside the original
/// expression, the smallest expression first. They help where a function returns `impl Trait`: such a function can
/// have only one body.
///
/// # Errors
/// If a pattern does not match exactly once.
pub(crate) fn ways(
    number: usize,
    bug: &Bug,
    crates: &BTreeMap<String, Vec<Source>>,
) -> Result<Vec<Way>, String> {
    let mut files: BTreeMap<String, (&Source, Vec<Change<'_>>)> = BTreeMap::new();
    for edit in &bug.edits {
        let (source, at) = edit.place(&crates[&edit.of])?;
        let file = source.path.to_string_lossy().into_owned();
        let (_, changes) = files.entry(file).or_insert((source, Vec::new()));
        changes.push((at, &edit.new));
    }
    let mut bodies = Some(Way::new());
    let mut expressions = Vec::new();
    for (file, (source, changes)) in &files {
        let places = Places::of(&source.text)?;
        let switches = places.bodies(number, file, &source.text, changes);
        bodies = bodies
            .zip(switches)
            .map(|(bodies, more)| [bodies, more].concat());
        if let ([change], 1) = (&changes[..], files.len()) {
            expressions = places.expressions(number, file, &source.text, change);
        }
    }
    let expressions = expressions.into_iter().map(|switch| vec![switch]);
    Ok(bodies.into_iter().chain(expressions).collect())
}

/// The byte ranges of all function bodies and of all expressions of a file.
#[derive(Default)]
struct Places {
    bodies: Vec<Range<usize>>,
    expressions: Vec<Range<usize>>,
}

impl Places {
    fn of(text: &str) -> Result<Self, String> {
        let mut places = Self::default();
        places.visit_file(&syn::parse_file(text).map_err(|error| error.to_string())?);
        Ok(places)
    }

    /// Puts a changed copy of each body at the start of the original body. Returns `None` if a change is outside of
    /// all bodies.
    fn bodies(
        &self,
        number: usize,
        file: &str,
        text: &str,
        changes: &[Change<'_>],
    ) -> Option<Vec<Switch>> {
        let mut by_body: BTreeMap<(usize, usize), Vec<&Change<'_>>> = BTreeMap::new();
        for change in changes {
            let around = self.bodies.iter().filter(|body| holds(body, &change.0));
            let body = around.min_by_key(|body| body.len())?;
            by_body
                .entry((body.start, body.end))
                .or_default()
                .push(change);
        }
        let switches = by_body.into_iter().map(|((start, end), changes)| {
            let body = changed(text, &(start..end), &changes);
            syn::parse_str::<syn::Block>(&body).ok()?;
            Some(Switch {
                file: file.into(),
                at: start + 1..start + 1,
                new: format!(" if {} {{ return {body}; }}", is_active(number)),
                scope: start..end,
            })
        });
        switches.collect()
    }

    /// For each expression around a change, puts a changed copy beside the original, the smallest expression first.
    fn expressions(
        &self,
        number: usize,
        file: &str,
        text: &str,
        change: &Change<'_>,
    ) -> Vec<Switch> {
        let mut around: Vec<_> = self
            .expressions
            .iter()
            .filter(|place| holds(place, &change.0))
            .collect();
        around.sort_by_key(|place| place.len());
        let switches = around.into_iter().filter_map(|place| {
            let new = changed(text, place, &[change]);
            syn::parse_str::<syn::Expr>(&new).ok()?;
            let old = &text[place.clone()];
            Some(Switch {
                file: file.into(),
                at: place.clone(),
                new: format!("(if {} {{ {new} }} else {{ {old} }})", is_active(number)),
                scope: place.clone(),
            })
        });
        switches.collect()
    }
}

fn holds(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Returns the text of a place, with these changes made.
fn changed(text: &str, place: &Range<usize>, changes: &[&Change<'_>]) -> String {
    let mut changes = changes.to_vec();
    changes.sort_by_key(|(at, _)| at.start);
    let mut new = text[place.clone()].to_owned();
    for (at, with) in changes.into_iter().rev() {
        new.replace_range(at.start - place.start..at.end - place.start, with);
    }
    new
}

impl<'ast> Visit<'ast> for Places {
    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.bodies.push(node.block.span().byte_range());
        visit::visit_item_fn(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.bodies.push(node.block.span().byte_range());
        visit::visit_impl_item_fn(self, node);
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        let body = node.default.as_ref();
        self.bodies
            .extend(body.map(|body| body.span().byte_range()));
        visit::visit_trait_item_fn(self, node);
    }

    fn visit_expr(&mut self, node: &'ast syn::Expr) {
        self.expressions.push(node.span().byte_range());
        visit::visit_expr(self, node);
    }
}
