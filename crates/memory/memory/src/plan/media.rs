//! Tier 1: pictures, documents and sounds, which stay as long as they can.

use std::cmp::Reverse;

use super::planner::Planner;
use crate::event::Tier;
use crate::hooks::Hooks;
use crate::media::Way;
use crate::message::ListMessage;
use crate::raw::Pointer;

/// A picture, a document or a sound in the list.
struct Stands {
    slot: usize,
    part: Pointer,
    tokens: u64,
    /// Whether the medium is part of a tool's result, such as a screenshot.
    is_result: bool,
}

impl Planner<'_> {
    /// Removes the oldest pictures, documents and sounds, if otherwise a summary would replace whole turns. Those of
    /// results leave first. Those that people gave leave only if the list then needs no summary.
    pub(super) fn media(&mut self, hooks: &mut dyn Hooks) {
        let window = self.options.window;
        let limit = window.tokens_at(window.summarises_at());
        for is_result in [true, false] {
            let before = self.total();
            let is_forced = self.options.force && is_result;
            if before < limit && !is_forced {
                return;
            }
            let goal = if is_forced { 0 } else { limit };
            let act = self.begin(Tier::One, self.over(before));
            let mut all = self.standing(0, self.newest(1));
            all.retain(|one| one.is_result == is_result);
            for one in all {
                if self.is_enough(before, goal) {
                    break;
                }
                self.leave(&one);
            }
            if is_result {
                self.keep_if(act, goal, hooks);
            } else if self.total() < limit {
                self.end(act, hooks);
            } else {
                self.undo(act);
            }
        }
    }

    /// Removes pictures, documents and sounds from results of the newest turn as well, the largest first, until
    /// `wanted` tokens are saved.
    pub(super) fn media_that_do_not_fit(&mut self, wanted: u64) {
        let before = self.total();
        let mut all = self.standing(self.newest(1), self.draft.slots.len());
        all.retain(|one| one.is_result);
        all.sort_by_key(|one| Reverse(one.tokens));
        for one in all {
            if before - self.total() >= wanted {
                break;
            }
            self.leave(&one);
        }
    }

    /// Returns the media in the slots `from..to`, the oldest first.
    fn standing(&self, from: usize, to: usize) -> Vec<Stands> {
        let mut all = Vec::new();
        let slots = self.draft.slots.iter().enumerate();
        for (slot, place) in slots.take(to).skip(from) {
            let message = &place.message;
            for found in message.media.iter().filter(|found| found.can_leave) {
                let mut answers = message.answers.iter();
                all.push(Stands {
                    slot,
                    part: found.part.clone(),
                    tokens: self.options.window.media_tokens(found, self.session.form),
                    is_result: answers.any(|answer| found.part.is_inside(&answer.content)),
                });
            }
        }
        all
    }

    /// Puts a line in the place of a picture, if that is shorter.
    fn leave(&mut self, one: &Stands) {
        let place = &self.draft.slots[one.slot];
        let (form, message) = (self.session.form, place.message.clone());
        let found = message.media.iter().find(|found| found.part == one.part);
        let index = place.covers.first().map(|range| range.start);
        let new = found.zip(index).and_then(|(found, index)| {
            message.with(
                form,
                &[(
                    found.part.clone(),
                    found.left(form, Way::Command(&self.commands), index),
                )],
            )
        });
        let tokens = |message: &ListMessage| {
            let (window, counter) = (self.options.window, self.options.counter);
            window.tokens(message, counter)
        };
        if let Some(new) = new.filter(|new| tokens(new) < tokens(&message)) {
            self.replace(one.slot, new);
        }
    }
}
