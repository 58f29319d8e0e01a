//! Thoughts that are bound to the list before them: which of them keep a list as it is, and which leave behind a
//! change.

use super::Memory;
use super::known::Known;
use crate::bill::AROUND;
use crate::list::MessageList;
use crate::message::{ListMessage, Role};
use crate::thought;

impl Memory {
    /// Returns whether a thought of the list is bound to the exact list before it.
    pub(super) fn is_bound(&self, list: &MessageList) -> bool {
        !list.drops_thoughts() && self.state.messages.iter().any(Known::binds)
    }

    /// Returns the message with the last bound thought of the newest turn. The provider wants the thoughts of a turn
    /// that goes on, so nothing before this message may change. `None` if there is no such thought.
    pub(super) fn last_held(&self, list: &MessageList) -> Option<usize> {
        if list.drops_thoughts() {
            return None;
        }
        let begun = list.messages().iter().rposition(begins_turn);
        let mut messages = self.state.messages.iter().enumerate();
        let bound = messages.rfind(|(at, known)| known.binds() && self.state.stands(*at, known));
        let bound = bound.map(|(at, _)| at);
        bound.filter(|at| begun.is_none_or(|begun| *at > begun))
    }

    /// Drops the bound thoughts from a message on, because the list before them has changed. If the tool is new in
    /// this request, its definition stands before the whole list, so all bound thoughts leave. Thoughts stay if the
    /// provider itself drops them.
    pub(super) fn drop_thoughts(&mut self, list: &MessageList, from: usize) {
        if list.drops_thoughts() {
            return;
        }
        let has_new_tool = self.state.needs_tool && !self.has_tool;
        let from = if has_new_tool { 0 } else { from };
        let messages = self.state.messages.iter_mut().zip(list.messages());
        let mut first = None;
        for (at, (known, message)) in messages.enumerate().skip(from) {
            if !known.binds() {
                continue;
            }
            let rest = thought::without(list.form(), message);
            let tokens = match rest {
                Some(rest) => {
                    let billed = rest.billed(list.form());
                    self.counter.count(&billed.text) as u64 + billed.media + AROUND
                }
                None if thought::is_whole(message) => 0,
                None => continue,
            };
            known.drop_thoughts(known.tokens.saturating_sub(tokens));
            self.dropped.push(at);
            first = first.or(Some(at));
        }
        if let Some(at) = first {
            self.changed(at);
        }
    }
}

/// Returns whether a turn of the model begins behind a message: a person speaks, and answers no call.
fn begins_turn(message: &ListMessage) -> bool {
    message.role == Role::User && message.answers.is_empty()
}
