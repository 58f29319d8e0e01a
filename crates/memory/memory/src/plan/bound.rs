//! Thoughts of a model that are bound to the exact list before them. Anthropic refuses such a thought if the list
//! before it has changed.

use serde_json::Value as Json;

use super::planner::Planner;
use crate::finding::{Code, Finding};
use crate::form::Form;
use crate::message::{ListMessage, Role};
use crate::session::{Slot, SlotKind};
use crate::thought;

impl Planner<'_> {
    /// Leaves out the thoughts behind the first message that differs from `stood`, the list before the plan. The
    /// current turn keeps its thoughts, because the provider requires them there.
    pub(super) fn leave_out_thoughts(&mut self, stood: &[Slot]) {
        let form = self.session.form;
        let slots = &self.draft.slots;
        let under_way = slots.iter().rposition(|slot| speaks(&slot.message));
        let behind = behind(stood, slots)..under_way.unwrap_or(0);
        for at in behind {
            let slot = &self.draft.slots[at];
            let is_said = matches!(slot.kind, SlotKind::Original | SlotKind::Cut);
            if form == Form::Anthropic
                && is_said
                && let Some(message) = thought::without(form, &slot.message)
            {
                self.replace(at, message);
            }
        }
    }
}

/// Returns a finding for each message with a thought, if the messages before it have changed.
pub(super) fn bound(form: Form, stood: &[Slot], slots: &[Slot]) -> Vec<Finding> {
    let first = changed(stood, slots);
    let behind = slots.iter().enumerate().skip(behind(stood, slots));
    let is_bound = |slot: &Slot| form == Form::Anthropic && slot.message.is_bound();
    let bound = behind.filter(|(_, slot)| is_bound(slot));
    let bound = bound.map(|(at, _)| {
        let text = format!(
            "the thought was made behind another list, which differs from message {first} on; a provider that binds \
             thoughts refuses it; drop it with its turn, or let the provider drop it"
        );
        Finding::at(Code::ThinkingBound, at, text)
    });
    bound.collect()
}

/// Returns the index of the first message that differs from `stood`, the list before the plan.
fn changed(stood: &[Slot], slots: &[Slot]) -> usize {
    let pairs = stood.iter().zip(slots);
    let same = pairs.take_while(|(one, other)| one.message.digest() == other.message.digest());
    same.count()
}

/// Returns the index of the first message whose thoughts stand behind a change. If the first changed message was only
/// cut, its own thoughts do not: they stand before its calls, and before them nothing has changed.
fn behind(stood: &[Slot], slots: &[Slot]) -> usize {
    let first = changed(stood, slots);
    let is_cut = slots
        .get(first)
        .is_some_and(|slot| slot.kind == SlotKind::Cut);
    first + usize::from(is_cut)
}

/// Returns whether a message of the user has something other than results of calls.
fn speaks(message: &ListMessage) -> bool {
    let is_result = |block: &Json| block["type"] == "tool_result";
    let blocks = message.blocks();
    message.role == Role::User && (blocks.is_empty() || !blocks.iter().all(is_result))
}
