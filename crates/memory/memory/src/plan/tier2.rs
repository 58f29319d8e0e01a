//! Tier 2: large inputs of calls that wrote files.

use std::cmp::Reverse;
use std::path::Path;

use super::planner::Planner;
use crate::event::Tier;
use crate::hooks::Hooks;
use crate::truncate::{HEADING, Persisted, persisted, truncate};
use crate::writes::{Write, reported};

/// An input with more tokens than this is large.
const INPUT: u64 = 1_000;
/// The inputs of this many newest turns stay.
const NEWEST: usize = 2;

/// A call whose input is on disk.
struct Found {
    slot: usize,
    call: usize,
    tokens: u64,
    write: Write,
    persisted: Persisted,
}

impl Planner<'_> {
    /// Cuts inputs that were written to disk, until the list is under the limit and a whole step is saved (CTX-17,
    /// CTX-20): the oldest first, and of one message the largest first.
    pub(super) fn inputs(&mut self, hooks: &mut dyn Hooks) {
        let Some(goal) = self.cuts_to() else {
            return;
        };
        let before = self.total();
        let act = self.begin(Tier::Two, self.over(before));
        let mut all = self.written();
        all.sort_by_key(|found| (found.slot, Reverse(found.tokens), found.persisted));
        for found in &all {
            if self.is_enough(before, goal) {
                break;
            }
            let message = self.draft.slots[found.slot].message.clone();
            let call = &message.calls[found.call];
            let (window, counter) = (self.options.window, self.options.counter);
            let read = self.reads(found.slot);
            let cut = truncate(
                (self.session.form, read.as_str()),
                &message,
                call,
                &found.write,
                window,
                counter,
            );
            if let Some(cut) = cut {
                self.replace(found.slot, cut);
                self.draft.has_cut_inputs = true;
            }
        }
        self.keep_if(act, goal, hooks);
    }

    /// Returns a text that tells a reader how to get the original of a message in the list.
    fn reads(&self, slot: usize) -> String {
        let commands = &self.commands;
        let covers = self.draft.slots[slot].covers.first();
        let message = covers.map_or(0, |range| range.start);
        format!(
            "`accp context restore{commands} --message {message}` gives the call; `accp context recover{commands} WORDS` \
             searches"
        )
    }

    /// Returns the calls with large inputs that are on disk.
    fn written(&self) -> Vec<Found> {
        let least = INPUT.min(self.options.window.large_result());
        let mut all = Vec::new();
        let paths = self.written_paths();
        for (slot, place) in self.draft.slots[..self.newest(NEWEST)].iter().enumerate() {
            if self.draft.tokens[slot] <= least {
                continue;
            }
            let message = &place.message;
            let at = place.covers.first().map_or(0, |range| range.start);
            for (index, call) in message.calls.iter().enumerate() {
                let Some(arguments) = message.arguments(call) else {
                    continue;
                };
                let tokens = self.options.counter.count(&arguments.to_string()) as u64;
                let write = self.options.writes.of(&call.tool, &arguments);
                let Some(write) = write.filter(|_| tokens > least) else {
                    continue;
                };
                let is_cut = |place: &crate::raw::Pointer| {
                    let text = place.value(&arguments).and_then(|text| text.as_str());
                    text.is_some_and(|text| text.starts_with(HEADING))
                };
                if write.texts.iter().any(is_cut) {
                    continue;
                }
                let success = self.result(slot, &call.id).and_then(reported);
                let read = |path: &str| self.lookup.written(path);
                // A report says what the file was at that time. A later call may have overwritten the file.
                let is_over = || {
                    let later = paths.iter().filter(|(place, _)| *place > (at, index));
                    later
                        .into_iter()
                        .any(|(_, path)| names_one_of(path, &write.paths))
                };
                let persisted = persisted(&write, &arguments, success, &read);
                let persisted = persisted.filter(|how| *how == Persisted::Seen || !is_over());
                if let Some(persisted) = persisted {
                    all.push(Found {
                        slot,
                        call: index,
                        tokens,
                        write,
                        persisted,
                    });
                }
            }
        }
        all
    }

    /// Returns the paths that calls of the conversation write, each with its message and its call there. A call that
    /// reports a failure is left out.
    fn written_paths(&self) -> Vec<((usize, usize), String)> {
        let mut all = Vec::new();
        for message in &self.all {
            for (index, call) in message.calls.iter().enumerate() {
                let Some(write) = self.options.writes.of(&call.tool, &call.arguments) else {
                    continue;
                };
                let result = self.result_behind(message.index, &call.id);
                if result.and_then(reported) != Some(false) {
                    let paths = write.paths.into_iter();
                    all.extend(paths.map(|path| ((message.index, index), path)));
                }
            }
        }
        all
    }

    /// Returns the result of a call in the conversation.
    fn result(&self, slot: usize, id: &str) -> Option<&crate::parsed::ParsedResult> {
        let index = self.draft.slots[slot].covers.first()?.start;
        self.result_behind(index, id)
    }

    /// Returns the first result of a call behind a message of the conversation.
    fn result_behind(&self, index: usize, id: &str) -> Option<&crate::parsed::ParsedResult> {
        let later = self
            .all
            .get(index + 1..)?
            .iter()
            .flat_map(|message| &message.results);
        later.into_iter().find(|result| result.id == id)
    }
}

/// Returns whether a path may name the file of one of these paths. One of two paths may begin at another folder.
fn names_one_of(path: &str, paths: &[String]) -> bool {
    let plain = |path: &str| path.trim_start_matches("./").to_owned();
    let path = plain(path);
    paths.iter().any(|other| {
        let other = plain(other);
        Path::new(&path).ends_with(&other) || Path::new(&other).ends_with(&path)
    })
}
