//! The results of a list that later results can refer to.

use std::collections::HashSet;

use super::again::Standing;
use super::known::KnownResult;
use super::mark::referred;
use super::shapes::Shapes;

/// The results that stand uncut in a list.
#[derive(Debug, Clone, Default)]
pub(super) struct Above {
    pub(super) standing: Standing,
    pub(super) shapes: Shapes,
    /// The names of results that a later result refers to.
    referred: HashSet<String>,
}

impl Above {
    /// Adds the next result, unless it is cut.
    pub(super) fn add(&mut self, result: &KnownResult) {
        if result.is_cut() {
            return;
        }
        let text = result.first();
        self.standing
            .add(&result.name, result.inner().unwrap_or(text));
        self.shapes.add(&result.name, text, result.given());
        if result.is_formed() {
            let names = referred(text).into_iter();
            self.referred
                .extend(names.filter(|name| *name != result.name));
        }
    }

    /// Returns whether a later result refers to this one.
    pub(super) fn is_referred(&self, name: &str) -> bool {
        self.referred.contains(name)
    }
}
