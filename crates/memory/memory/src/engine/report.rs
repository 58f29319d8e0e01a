//! What a memory did to a list.

/// What a memory did to a list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// The tokens of the given list, as a provider bills them.
    pub given: u64,
    /// The tokens of the list to send, with the definition of the tool if that is needed.
    pub sent: u64,
    /// The tokens at the beginning of the list to send that the last list had, too. A cache may have these.
    pub same: u64,
    /// The messages at the beginning of the list to send that the last list had, too.
    pub same_messages: usize,
    /// The messages at the beginning of the list to send that the next step will hardly change.
    pub settled: usize,
    /// The results among the new messages that got a cheaper form.
    pub forms: Vec<Formed>,
    /// The results in [`forms`](Self::forms) that show only their ends, because they are large.
    pub cut: Vec<Formed>,
    /// The change to messages that were sent before; `None` if there was no change.
    pub step: Option<Step>,
    /// The messages before this index have left the list, except those that [stay](crate::ListMessage::stays)
    /// ([`Promise::Window`](crate::Promise::Window)). One message of the user takes their place and sums them up. 0
    /// if no message has left.
    pub left: usize,
    /// Whether a mark of the list needs the tool ([`Memory::tool`](crate::Memory::tool)) among the tools of the
    /// request. Once this is true, it is true for each later list.
    pub needs_tool: bool,
    /// The messages whose bound thoughts were dropped by the [`step`](Self::step), in order, by their indices in the
    /// given list. The list before these thoughts has changed, so the provider would refuse them. They stay away from
    /// each later list.
    pub thoughts: Vec<usize>,
    /// The message that keeps a step from changing anything before it, if the list is still larger than allowed: it
    /// has a bound thought of the newest turn, which the provider wants as it is. `None` if there is no such message,
    /// or the list has room.
    pub held: Option<usize>,
    /// Whether the list is still larger than the window.
    pub is_over: bool,
}

/// A result that got a cheaper form when it entered the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formed {
    /// The index of the message, from 0.
    pub message: usize,
    /// The name of the result in marks: the id of its call if that is short, or its number among the results.
    pub result: String,
    /// The tokens of the result as it was given.
    pub before: u64,
    /// The tokens of the result in the list to send.
    pub after: u64,
}

/// A change to messages that were sent before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Why the step was made.
    pub why: Why,
    /// The results that were cut, in order.
    pub cut: Vec<Formed>,
}

/// Why a step was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The cache has lost the list after some time, or the program has changed the list. The cache stores the list
    /// anew in any case.
    Free,
    /// The list would not fit the window, or would cost more as a whole.
    Forced,
    /// The removed tokens save more than it costs to store the messages behind them again.
    Pays,
}
