//! What a caller's program decides before each tier, and learns after it.

use crate::event::Event;

/// What a program says to a tier that is about to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The tier acts.
    Act,
    /// The tier waits for the next list. The log says so. A tier that keeps the list inside the window acts
    /// nevertheless.
    Defer,
}

/// Is called for each tier, and may put it off.
///
/// `()` lets every tier act.
pub trait Hooks {
    /// Is asked before a tier acts. The event has the tokens before and after, and the files that would be made.
    fn before(&mut self, _: &Event) -> Verdict {
        Verdict::Act
    }

    /// Is told once the list that the tier gave is the list of the session.
    fn after(&mut self, _: &Event) {}
}

impl Hooks for () {}
