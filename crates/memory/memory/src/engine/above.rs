//! What results of a list later ones can refer to.

use std::collections::HashSet;

use super::again::Standing;
use super::known::KnownResult;
use super::mark::referred;
use super::shapes::Shapes;

/// The results that stand whole in a list.
#[derive(Debug, Clone, Default)]
pub(super) struct Above {
    pub(super) standing: Standing,
    pub(super) shapes: Shapes,
    /// The results that a later one refers to.
    referred: HashSet<String>,
}

impl Above {
    /// Takes the next result, if it stands whole.
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
