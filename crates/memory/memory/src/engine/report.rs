//! What a memory did to a list.

/// What a memory did to a list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// The tokens of the list as it was given, as a provider bills them.
    pub given: u64,
    /// The tokens of the list to send, with the definition of the tool if that is needed.
    pub sent: u64,
    /// The tokens at the beginning of it that the last list had, too: what a cache can have of it.
    pub same: u64,
    /// The messages at the beginning of the list to send that the last list had, too.
    pub same_messages: usize,
    /// The messages at the beginning of the list to send that the next step will hardly change.
    pub settled: usize,
    /// The results among the new messages that got a cheaper form.
    pub forms: Vec<Formed>,
    /// The change of what was sent before, if there was one.
    pub step: Option<Step>,
    /// The messages before this index that are no system messages have left the list ([`Promise::Window`](crate::Promise::Window)).
    /// One message of the user stands in the place of all of them and sums them up.
    pub left: usize,
    /// Whether a mark of the list needs the tool ([`Memory::tool`](crate::Memory::tool)) among the tools of the request. Once
    /// it does, it does so in each later list.
    pub needs_tool: bool,
    /// Whether the list is larger than the window all the same.
    pub is_over: bool,
}

/// A result that got a cheaper form when it entered the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formed {
    /// The index of the message, from 0.
    pub message: usize,
    /// The name of the result in marks: the id of its call if that is short, or its number among the results.
    pub result: String,
    /// Its tokens as it was given.
    pub before: u64,
    /// Its tokens in the list.
    pub after: u64,
}

/// A change of what was sent before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Why it came.
    pub why: Why,
    /// The results that were cut, in order.
    pub cut: Vec<Formed>,
}

/// Why something changes that was sent before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The cache has lost the list by the clock, or its owner has changed the list: the list is written anew in any case.
    Free,
    /// The list would not fit the window, or would be dearer as a whole.
    Forced,
    /// What is removed saves more than it costs to write again what stands behind it.
    Pays,
}
