//! The results of a list that later results can refer to.

use std::collections::HashSet;

use super::again::Standing;
use super::known::KnownResult;
use super::mark::referred;
use super::shapes::Shapes;

/// The results of a list, as far as later results and marks depend on them.
#[derive(Debug, Clone, Default)]
pub(super) struct Above {
    pub(super) standing: Standing,
    pub(super) shapes: Shapes,
    /// The names of results that a later result refers to.
    referred: HashSet<String>,
    /// The names of results whose lines only a cut result counts, or a result that the tool has shown. The tool shows
    /// the cut lines with their references, so the numbers in these have to stay true.
    counted: HashSet<String>,
}

impl Above {
    /// Adds the next result. Later results can refer to it, unless it is cut, or the tool has shown it. `shown_of` is
    /// the name of the result or the message whose lines the tool has shown.
    pub(super) fn add(&mut self, result: &KnownResult, shown_of: Option<String>) {
        if let Some(name) = shown_of {
            self.counted.insert(name);
            return;
        }
        if result.is_cut() {
            self.counted.extend(references(result));
            return;
        }
        let text = result.first();
        self.standing
            .add(&result.name, result.inner().unwrap_or(text));
        self.shapes.add(&result.name, text, result.given());
        self.referred.extend(references(result));
    }

    /// Returns whether a later result refers to this one, and is not cut.
    pub(super) fn is_referred(&self, name: &str) -> bool {
        self.referred.contains(name)
    }

    /// Returns whether the list or the tool names lines of this result by their present numbers.
    pub(super) fn is_counted(&self, name: &str) -> bool {
        self.is_referred(name) || self.counted.contains(name)
    }
}

/// Returns the names of the other results that the form of a result refers to.
fn references(result: &KnownResult) -> impl Iterator<Item = String> {
    let names = result.formed().map(referred).unwrap_or_default();
    let own = result.name.clone();
    names.into_iter().filter(move |name| *name != own)
}
