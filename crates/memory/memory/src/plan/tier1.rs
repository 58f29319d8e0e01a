//! Tier 1: large results.

use std::cmp::Reverse;

use super::planner::Planner;
use crate::event::Tier;
use crate::hooks::Hooks;
use crate::offload::{self, offload};
use crate::plan::NewFile;

/// When the list reaches the limit of tier 1, results with more tokens than this leave, too.
const RESULT: u64 = 1_000;

/// A result in the list.
struct Found {
    slot: usize,
    answer: usize,
    tokens: u64,
}

impl Planner<'_> {
    /// Moves each result out that is too large by itself, whatever the state is (CTX-12).
    pub(super) fn large_results(&mut self, hooks: &mut dyn Hooks) {
        let limit = self.options.window.large_result();
        for found in self.found(limit, self.draft.slots.len()) {
            let trigger = format!("a result of {} tokens, over {limit}", self.listed(&found));
            let act = self.begin(Tier::One, trigger);
            if self.offload(&found) {
                self.end(act, hooks);
            } else {
                self.undo(act);
            }
        }
    }

    /// Moves results out, the oldest first, until the list is under the limit (CTX-08).
    pub(super) fn results(&mut self, hooks: &mut dyn Hooks) {
        let Some(goal) = self.cuts_to() else {
            return;
        };
        let before = self.total();
        let act = self.begin(Tier::One, self.over(before));
        for found in self.found(
            RESULT.min(self.options.window.large_result()),
            self.newest(1),
        ) {
            if self.is_enough(before, goal) {
                break;
            }
            self.offload(&found);
        }
        self.keep_if(act, goal, hooks);
    }

    /// Moves results of the newest turn out as well, the largest first, until that many tokens are saved.
    pub(super) fn results_that_do_not_fit(&mut self, wanted: u64, hooks: &mut dyn Hooks) {
        let room = self.options.window.room();
        let before = self.total();
        let act = self.begin(
            Tier::One,
            format!("{before} tokens, over the window of {room}"),
        );
        let newest = self.newest(1);
        let mut all = self.found(0, self.draft.slots.len());
        all.retain(|found| found.slot >= newest);
        all.sort_by_key(|found| Reverse(found.tokens));
        for found in all {
            if before - self.total() >= wanted {
                break;
            }
            self.offload(&found);
        }
        self.media_that_do_not_fit(wanted.saturating_sub(before - self.total()));
        if self.total() < before {
            self.end(act, hooks);
        } else {
            self.undo(act);
        }
    }

    /// Returns the results with more than `over` tokens in the slots before `before`, the oldest first. Results that
    /// are already offloaded are left out.
    fn found(&self, over: u64, before: usize) -> Vec<Found> {
        let mut all = Vec::new();
        for (slot, place) in self.draft.slots[..before].iter().enumerate() {
            // A message has at least as many tokens as its results, so a small message has no large
            // result.
            if self.draft.tokens[slot] <= over {
                continue;
            }
            for (answer, of) in place.message.answers.iter().enumerate() {
                let text = place.message.text_of(of);
                let tokens = self.options.counter.count(&text) as u64;
                if tokens > over && !text.starts_with(offload::HEADING) {
                    all.push(Found {
                        slot,
                        answer,
                        tokens,
                    });
                }
            }
        }
        all
    }

    /// Returns the tokens of a result as the list has it, in JSON. The tokens that are saved are counted in the same way.
    fn listed(&self, found: &Found) -> u64 {
        let message = &self.draft.slots[found.slot].message;
        let text = message.text_of(&message.answers[found.answer]);
        let json = serde_json::Value::from(text).to_string();
        let tokens = self.options.counter.count(&json) as u64;
        tokens.max(found.tokens)
    }

    /// Moves a result out. Returns false if that saves nothing.
    fn offload(&mut self, found: &Found) -> bool {
        let place = &self.draft.slots[found.slot];
        let message = place.message.clone();
        let answer = &message.answers[found.answer];
        let tool = place
            .covers
            .iter()
            .flat_map(Clone::clone)
            .find_map(|index| {
                let results = &self.all.get(index)?.results;
                results
                    .iter()
                    .find(|result| result.id == answer.id)?
                    .tool
                    .clone()
            });
        let path = self.path(tool.as_deref().unwrap_or_default());
        let (window, counter) = (self.options.window, self.options.counter);
        let moved = offload(
            (self.session.form, &self.commands),
            &message,
            answer,
            &path,
            window,
            counter,
        );
        let Some(moved) = moved else {
            return false;
        };
        self.draft.files.push(NewFile {
            path,
            text: moved.text,
            grows: false,
        });
        self.replace(found.slot, moved.message);
        true
    }
}
