//! After a summary: does the model still know its task? (CTX-36 to CTX-44)

use std::collections::BTreeSet;

use super::planner::Planner;
use crate::brief::Brief;
use crate::drift::{Case, Drift, DriftEvent, Judge as _, Lexical};
use crate::message::{Message, Role};
use crate::said::said;
use crate::session::{Covers, Kind, Slot};

/// How many messages of the assistant are watched after a summary.
const WATCHED: usize = 6;
/// The most of a window that recovered messages take, in percent.
const RECOVERED: u64 = 10;

impl Planner<'_> {
    /// Judges what the assistant has said since the last list, if that is soon after a summary. What answers a sign
    /// of drift is put into the list.
    pub(super) fn watch(&mut self) {
        let Some(summed_up) = self.session.summed_up else {
            return;
        };
        let said = self.all.len();
        let assistant = |at: &usize| self.all[*at].role == Role::Assistant;
        let watched: Vec<_> = (summed_up..said).filter(assistant).take(WATCHED).collect();
        let new = self.session.originals.len();
        let mut found: Vec<(usize, Drift)> = Vec::new();
        for at in watched.into_iter().filter(|at| *at >= new) {
            found.extend(self.judged(at).into_iter().map(|drift| (at, drift)));
        }
        for (at, drift) in found {
            let recovered = self.recover(&drift);
            self.drift.push(DriftEvent {
                at: self.now(),
                message: at,
                indicator: drift.indicator,
                severity: drift.severity,
                evidence: drift.evidence,
                recovered,
            });
        }
    }

    /// Judges one message of the assistant.
    fn judged(&self, at: usize) -> Vec<Drift> {
        let before = |slot: &&Slot| slot.covers.iter().all(|range| range.start < at);
        let slots: Vec<_> = self.draft.slots.iter().filter(before).collect();
        let is_shown = |slot: &&&Slot| matches!(slot.kind, Kind::Said | Kind::Cut);
        let shown = slots.iter().filter(is_shown).flat_map(|slot| &slot.covers);
        let stays: BTreeSet<usize> = shown.cloned().flatten().collect();
        let list = said(self.session.form, slots.iter().map(|slot| &slot.message));
        Lexical.judge(&Case {
            brief: &Brief::of(&self.all[..at], &stays, self.means.writes),
            archive: &self.all[..at],
            list: &list,
            message: &self.all[at],
        })
    }

    /// Puts the messages that answer a sign of drift into the list, as one message. Returns false if there are none,
    /// they stand there already, or they have no room.
    fn recover(&mut self, drift: &Drift) -> bool {
        let window = self.means.window;
        let most = window
            .tokens_at(RECOVERED)
            .min(window.room().saturating_sub(self.total()));
        let mut text = format!("## Recovered Context\n**Reason:** {}\n", drift.evidence);
        let mut any = false;
        for index in &drift.messages {
            let Some(said) = self.all.get(*index) else {
                continue;
            };
            let mut words = said.text.clone();
            for result in &said.results {
                words.push_str(&result.text);
            }
            let quoted: Vec<_> = words.lines().map(|line| format!("> {line}")).collect();
            let more = format!("**Message {index}:**\n{}\n", quoted.join("\n"));
            let both = Message::user(self.session.form, &format!("{text}{more}"));
            if window.tokens(&both, self.means.counter) <= most {
                text.push_str(&more);
                any = true;
            }
        }
        let message = Message::user(self.session.form, &text);
        if !any
            || self
                .draft
                .slots
                .iter()
                .any(|slot| slot.message.digest() == message.digest())
        {
            return false;
        }
        let units = self.units();
        // A call in flight stays at the end.
        let waiting = units.iter().find(|unit| unit.in_flight);
        let at = waiting.map_or(self.draft.slots.len(), |unit| unit.messages.start);
        self.insert(
            at,
            Slot {
                message,
                covers: Covers::new(),
                kind: Kind::Recovered,
            },
        );
        true
    }
}
