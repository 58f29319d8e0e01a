//! Watches after a summary whether the model still knows its task, and puts lost messages back (CTX-36 to CTX-44).

use std::collections::BTreeSet;

use super::planner::Planner;
use crate::drift::{Case, DriftEvent, Sign, judged};
use crate::media::Way;
use crate::message::{ListMessage, Role};
use crate::parsed::parse;
use crate::session::{Covers, Slot, SlotKind};
use crate::summary::Content;

/// How many messages of the assistant are watched after a summary.
const WATCHED: usize = 6;
/// The most signs of one message that count. A judge may be any program, so their number has a limit.
const SIGNS: usize = 50;
/// The largest share of a window for the messages that are recovered at once, in percent.
const RECOVERED: u64 = 10;

impl Planner<'_> {
    /// Judges what the assistant has said since the last list, if that is soon after a summary. For a sign of drift,
    /// puts the messages that answer the sign into the list.
    pub(super) fn watch(&mut self) {
        let Some(summed_up) = self.session.summed_up else {
            return;
        };
        if self.options.judges.is_empty() {
            return;
        }
        let count = self.all.len();
        let assistant = |at: &usize| self.all[*at].role == Role::Assistant;
        let watched: Vec<_> = (summed_up..count).filter(assistant).take(WATCHED).collect();
        let new = self.session.originals.len();
        let mut found: Vec<(usize, Sign)> = Vec::new();
        for at in watched.into_iter().filter(|at| *at >= new) {
            found.extend(self.judged(at).into_iter().map(|sign| (at, sign)));
        }
        let recovered = self.recover(found.iter().map(|(_, sign)| sign));
        for ((at, sign), recovered) in found.into_iter().zip(recovered) {
            let event = DriftEvent {
                at: self.now(),
                message: at,
                indicator: sign.indicator,
                severity: sign.severity,
                evidence: sign.evidence,
                recovered,
            };
            // A missing constraint that does not fit is missing again at each message. It is logged once, and once
            // more when it is recovered.
            let all = self.session.drift.iter().chain(&self.drift);
            let is_known = all.filter(|known| known.message >= summed_up).any(|known| {
                (known.indicator, &known.evidence) == (event.indicator, &event.evidence)
            });
            if event.recovered || !is_known {
                self.drift.push(event);
            }
        }
    }

    /// Judges one message of the assistant.
    fn judged(&self, at: usize) -> Vec<Sign> {
        let before = |slot: &&Slot| slot.covers.iter().all(|range| range.start < at);
        let slots: Vec<_> = self.draft.slots.iter().filter(before).collect();
        let is_shown = |slot: &&&Slot| matches!(slot.kind, SlotKind::Original | SlotKind::Cut);
        let shown = slots.iter().filter(is_shown).flat_map(|slot| &slot.covers);
        let stays: BTreeSet<usize> = shown.cloned().flatten().collect();
        let list = parse(
            self.session.form,
            Way::Command(&self.commands),
            slots.iter().map(|slot| &slot.message),
        );
        let case = Case {
            content: &Content::of(&self.all[..at], &stays, self.options.writes),
            archive: &self.all[..at],
            list: &list,
            message: &self.all[at],
        };
        judged(self.options.judges, &case, SIGNS)
    }

    /// Puts the messages that answer signs of drift into the list, as one message. Returns for each sign whether this
    /// was done. It is not done if no message answers the sign, or none fits.
    fn recover<'s>(&mut self, signs: impl Iterator<Item = &'s Sign>) -> Vec<bool> {
        let window = self.options.window;
        let room = window.room().saturating_sub(self.total());
        let mut found = Recovered {
            most: window.tokens_at(RECOVERED).min(room),
            ..Recovered::default()
        };
        let recovered = signs.map(|sign| self.answer(sign, &mut found)).collect();
        let message = ListMessage::user(self.session.form, &found.text());
        let stands = |slot: &Slot| slot.message.digest() == message.digest();
        if found.parts.is_empty() || self.draft.slots.iter().any(stands) {
            return vec![false; found.signs];
        }
        let units = self.units();
        // A call in flight stays at the end, so the recovered message goes before it.
        let waiting = units.iter().find(|unit| unit.in_flight);
        let at = waiting.map_or(self.draft.slots.len(), |unit| unit.messages.start);
        self.insert(
            at,
            Slot {
                message,
                covers: Covers::new(),
                kind: SlotKind::Recovered,
            },
        );
        recovered
    }

    /// Adds the messages that answer a sign, as far as they fit. If a message is too long, only the sentence that the
    /// judge named is added.
    fn answer(&self, sign: &Sign, found: &mut Recovered) -> bool {
        found.signs += 1;
        let mut any = false;
        for index in &sign.messages {
            let Some(message) = self.all.get(*index) else {
                continue;
            };
            let results = message.results.iter().map(|result| &*result.text);
            let whole: String = std::iter::once(&*message.text).chain(results).collect();
            for words in [Some(whole), sign.passage.clone()].into_iter().flatten() {
                let mut more = found.clone();
                more.add(*index, &words, &sign.evidence);
                let message = ListMessage::user(self.session.form, &more.text());
                if self.options.window.tokens(&message, self.options.counter) <= found.most {
                    *found = more;
                    any = true;
                    break;
                }
            }
        }
        any
    }
}

/// The parts of the conversation that are put back into the list.
#[derive(Debug, Clone, Default)]
struct Recovered {
    /// The most tokens that the new message may have.
    most: u64,
    /// For how many signs an answer was looked for.
    signs: usize,
    reasons: Vec<String>,
    parts: Vec<String>,
}

impl Recovered {
    /// Adds words of a message and the reason, unless they are already there.
    fn add(&mut self, message: usize, words: &str, reason: &str) {
        let quoted: Vec<_> = words.lines().map(|line| format!("> {line}")).collect();
        let part = format!("**Message {message}:**\n{}\n", quoted.join("\n"));
        let reason = format!("**Reason:** {reason}\n");
        for (all, one) in [(&mut self.parts, part), (&mut self.reasons, reason)] {
            if !all.contains(&one) {
                all.push(one);
            }
        }
    }

    fn text(&self) -> String {
        let (reasons, parts) = (self.reasons.concat(), self.parts.concat());
        format!("## Recovered Context\n{reasons}{parts}")
    }
}
