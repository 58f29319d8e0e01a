//! Hooks: a caller's program decides whether a tier may act, and hears of each tier that has acted.

use crate::event::Event;

/// What a program says to a tier that is about to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The tier acts.
    Act,
    /// The tier waits for the next list, and the log says so. A tier that is needed to keep the list inside the
    /// window acts nevertheless.
    Defer,
}

/// The hooks of a program. They are called for each tier, and may defer the tier.
///
/// `()` lets every tier act.
pub trait Hooks {
    /// Called before a tier acts. The event has the tokens before and after, and the files that would be made.
    fn before(&mut self, _: &Event) -> Verdict {
        Verdict::Act
    }

    /// Called when the list that the tier made has become the list of the session.
    fn after(&mut self, _: &Event) {}
}

impl Hooks for () {}
