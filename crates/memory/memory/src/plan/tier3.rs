//! Tier 3: the conversation becomes a summary.

use accp_frame::TokenCounter as _;

use super::PlanError;
use super::planner::Planner;
use crate::archive::{Archive, Archived};
use crate::event::Tier;
use crate::hooks::Hooks;
use crate::message::{ListMessage, Role};
use crate::names::{CHECKPOINTS, OFFLOADED};
use crate::session::{Covers, Slot, SlotKind};
use crate::summarizer::{Sent, SummaryError, SummaryRequest};
use crate::summary::{Content, Head, Room};
use crate::unit::{Unit, last};

/// The largest share of a window for the summary without the requests of the user, in percent.
const SUMMARY: u64 = 20;
/// The largest share of a window for the usual summary, in percent. If constraints and decisions need more room, a
/// summary may be larger.
const USUAL: u64 = 10;
/// The share of a window that a list may have after a summary, in percent. It is lower if the other tiers act below
/// it, and higher if the requests need more. With a lower share, summaries are rarer, and each summary makes a
/// provider's cache useless. But fewer turns stay verbatim.
const GOAL: u64 = 50;
/// A list with all requests whole has to be below this share of a window after a summary, in percent.
const WHOLE: u64 = 65;
/// The largest share of a window for the requests of the user, in percent.
const REQUESTS: u64 = 50;
/// The newest request and the messages since then stay in any case if they take at most this share of a window, in
/// percent.
const NEWEST: u64 = 25;
/// How many more times a summary is written at most, each time with more or fewer turns that stay in the list.
const TRIES: usize = 4;
/// How many tokens a summary may gain where it is put into its message, because tokens do not add up exactly.
const SEAM: u64 = 2;
/// The share of the window, in thousandths, up to which a summary has to show the first request whole.
const INTENT: u64 = 125;

/// How many tokens the message with a summary may have.
#[derive(Debug, Clone, Copy)]
struct Most {
    /// The usual limit: a fifth of the window, or less if less room is left.
    usual: u64,
    /// The limit that leaves room for the next turns.
    good: u64,
    /// All the room that the messages that have to stay do not take.
    left: u64,
}

impl Planner<'_> {
    /// Sums up all but the newest turns, if tiers 1 and 2 were not enough (CTX-22 to CTX-33).
    pub(super) fn summarise(&mut self, hooks: &mut dyn Hooks) -> Result<(), PlanError> {
        let window = self.options.window;
        let limit = window.tokens_at(window.summarises_at());
        let total = self.total();
        if total < limit {
            return Ok(());
        }
        // The newest turn stays, and so do system messages. If they leave no room for a summary, results of the
        // newest turn leave, too.
        let least = self.least(&self.units()) + window.tokens_at(SUMMARY);
        if least > window.room() && total > window.room() {
            self.results_that_do_not_fit(least - window.room(), hooks);
        }
        // If the messages that have to stay do not fit by themselves, no summary helps (CTX-72).
        let least = self.least(&self.units());
        if least > window.room() {
            let finding = self.too_large(least, window.room());
            return Err(PlanError::OverWindow(finding));
        }
        let total = self.total();
        let act = self.begin(Tier::Three, self.over(total));
        let is_shorter = match self.sum_up(self.goal()) {
            // If no summary is short enough, a list that fits stays as it is. A caller with marked messages gets the
            // error now, before the window is full.
            Err(PlanError::NoRoom(_))
                if total <= window.room() && self.session.marks.is_empty() =>
            {
                false
            }
            done => done?,
        };
        let saved = total.saturating_sub(self.total());
        // If the window is nearly full, even a small saving is enough.
        let is_step = saved >= self.step() || total >= window.tokens_at(window.limits().fresh);
        if is_shorter && saved > 0 && is_step {
            self.checkpoint();
            self.end(act, hooks);
        } else {
            self.undo(act);
        }
        Ok(())
    }

    /// Sums up all but the newest turn, for a fresh session (CTX-10).
    pub(in crate::plan) fn begin_anew(&mut self) -> Result<(), PlanError> {
        let act = self.begin(Tier::Three, "a fresh session".to_owned());
        if self.sum_up(0)? {
            self.checkpoint();
            self.end(act, &mut ());
        }
        Ok(())
    }

    /// Puts a summary in the place of the turns that leave, until the list has `goal` tokens. Returns false if nothing can leave.
    fn sum_up(&mut self, goal: u64) -> Result<bool, PlanError> {
        let window = self.options.window;
        let units = self.units();
        // The newest turn stays in any case. The summary gets the room that this turn leaves.
        let least = self.least(&units);
        let left = window.room().saturating_sub(least);
        let most = Most {
            usual: window.tokens_at(SUMMARY).min(left),
            good: window.tokens_at(WHOLE).saturating_sub(least + 1),
            left,
        };
        // The first try leaves room for a large summary, and the others for the summary that was written.
        let mut first = self.first_kept(&units, most.usual, goal);
        let Some((mut slots, mut made)) = self.with_summary(&units, first, most)? else {
            return Ok(false);
        };
        for _ in 0..TRIES {
            let written = window.tokens(&made.message, self.options.counter);
            let better = self.first_kept(&units, written + written / 16, goal);
            let is_over = self.tokens_of(&slots) > goal;
            if better == first || is_over && better < first {
                break;
            }
            let Some((others, other)) = self.with_summary(&units, better, most)? else {
                break;
            };
            if !is_over && self.tokens_of(&others) > goal {
                break;
            }
            (slots, made, first) = (others, other, better);
        }
        self.archive();
        self.rearrange(slots, &made);
        Ok(true)
    }

    /// Returns the tokens that the list should have after a summary.
    fn goal(&self) -> u64 {
        let window = self.options.window;
        let below = window
            .tokens_at(window.summarises_at())
            .saturating_sub(self.step());
        let goal = GOAL.min(window.acts_at());
        window.tokens_at(goal).min(below)
    }

    fn tokens_of(&self, slots: &[Slot]) -> u64 {
        let tokens = |slot: &Slot| {
            self.options
                .window
                .tokens(&slot.message, self.options.counter)
        };
        slots.iter().map(tokens).sum::<u64>() + self.beside()
    }

    /// Returns the tokens of the list without anything that can leave.
    fn least(&self, units: &[Unit]) -> u64 {
        let must = self.must_stay(units);
        let stay = units
            .iter()
            .enumerate()
            .filter(|(at, unit)| unit.is_system || *at >= must);
        self.beside() + self.tokens_in(stay.map(|(_, unit)| unit))
    }

    /// Returns the index of the first unit that has to stay: the newest request of the user, if this request and all
    /// messages after it are short; otherwise the newest turn.
    fn must_stay(&self, units: &[Unit]) -> usize {
        let newest = self.last(units);
        let asks = |unit: &Unit| {
            let mut slots = self.draft.slots[unit.messages.clone()].iter();
            slots.any(|slot| {
                let message = &slot.message;
                slot.kind == SlotKind::Original
                    && message.role == Role::User
                    && message.answers.is_empty()
            })
        };
        let asked = units[..newest].iter().rposition(asks);
        let most = self.options.window.tokens_at(NEWEST).min(self.goal() / 2);
        let is_short = |asked: &usize| self.tokens_in(&units[*asked..]) <= most;
        // Before the request, there must be a unit that can leave.
        let leaves = |asked: &usize| units[..*asked].iter().any(|unit| !unit.is_system);
        let asked = asked.filter(|asked| leaves(asked) && is_short(asked));
        asked.unwrap_or(newest)
    }

    /// Returns the index of the newest turn. A message that was put back at the end of the list does not count as a
    /// turn: it stays, and the turn before it stays, too.
    pub(super) fn last(&self, units: &[Unit]) -> usize {
        let is_put_back = |unit: &Unit| {
            let slots = &self.draft.slots[unit.messages.clone()];
            slots.iter().all(|slot| slot.kind == SlotKind::Recovered)
        };
        let mut first = last(units);
        while first > 0 && is_put_back(&units[first]) {
            first -= 1;
        }
        first
    }

    fn tokens_in<'u>(&self, units: impl IntoIterator<Item = &'u Unit>) -> u64 {
        let tokens = |unit: &Unit| self.draft.tokens[unit.messages.clone()].iter().sum::<u64>();
        units.into_iter().map(tokens).sum()
    }

    /// Returns the index of the first unit that stays, if the summary has `summary` tokens.
    fn first_kept(&self, units: &[Unit], summary: u64, goal: u64) -> usize {
        let mut used =
            self.beside() + self.tokens_in(units.iter().filter(|unit| unit.is_system)) + summary;
        let must = self.must_stay(units);
        let mut first = units.len();
        for (at, unit) in units.iter().enumerate().rev() {
            let is_summary = self.draft.slots[unit.messages.clone()]
                .iter()
                .any(|slot| slot.kind == SlotKind::Summary);
            if is_summary {
                break;
            }
            if !unit.is_system {
                used += self.tokens_in([unit]);
            }
            if at < must && used > goal {
                break;
            }
            first = at;
        }
        first
    }

    /// Returns the list with a summary of all units before `first`, and this summary. `None` if nothing would leave.
    fn with_summary(
        &self,
        units: &[Unit],
        first: usize,
        most: Most,
    ) -> Result<Option<(Vec<Slot>, Slot)>, PlanError> {
        let mut slots = Vec::new();
        let mut covers = Covers::new();
        let mut left = 0;
        for unit in &units[..first] {
            for at in unit.messages.clone() {
                let slot = &self.draft.slots[at];
                if unit.is_system {
                    slots.push(slot.clone());
                } else {
                    left += self.draft.tokens[at];
                    covers.extend(slot.covers.iter().cloned());
                }
            }
        }
        if covers.is_empty() {
            return Ok(None);
        }
        let covers = merged(covers);
        let mut leaves = vec![false; self.all.len()];
        for range in &covers {
            leaves[range.clone()].fill(true);
        }
        let text = self.summary(&leaves, left, most)?;
        let made = Slot {
            message: ListMessage::user(self.session.form, &text),
            covers,
            kind: SlotKind::Summary,
        };
        slots.push(made.clone());
        let kept = units
            .get(first)
            .map_or(self.draft.slots.len(), |unit| unit.messages.start);
        slots.extend(self.draft.slots[kept..].iter().cloned());
        Ok(Some((slots, made)))
    }

    /// Writes the summary of the messages that leave: by rules, unless the caller's summarizer gives a better one.
    fn summary(&self, leaves: &[bool], saved: u64, most: Most) -> Result<String, SummaryError> {
        let (options, window) = (self.options, self.options.window);
        let stays = leaves.iter().enumerate().filter(|(_, leaves)| !**leaves);
        let content = Content::of(
            &self.all,
            &stays.map(|(at, _)| at).collect(),
            options.writes,
        );
        let files = self.draft.files.iter().map(|file| &file.path);
        let logged = self.session.events.iter().flat_map(|event| &event.files);
        let has_moved = files.chain(logged).any(|path| path.starts_with(OFFLOADED));
        let head = Head {
            session: self.session.id.as_str().to_owned(),
            generated: self.now(),
            saved,
            archive: self.session.id.archive(),
            commands: self.commands.to_string(),
            offloaded: has_moved.then(|| format!("{OFFLOADED}/")),
            checkpoints: Some(format!("{CHECKPOINTS}/")),
        };
        let tokens = |tokens: u64| usize::try_from(tokens).unwrap_or(usize::MAX);
        let empty = ListMessage::user(self.session.form, "");
        let around = window.tokens(&empty, options.counter) + SEAM;
        let room = Room {
            total: tokens(most.usual.saturating_sub(around)),
            usual: tokens(window.tokens_at(USUAL).saturating_sub(around)),
            intent: tokens(window.room() * INTENT / 1_000),
            words: tokens(window.room() * REQUESTS / 100),
            good: tokens(most.good.saturating_sub(around)),
            most: tokens(most.left.saturating_sub(around)),
        };
        let counter = Sent(options.counter);
        let asked = content.asked(&head, room, &counter);
        let first = content.write(&head, room, &counter)?;
        // The tokens of the message with the summary are not saved, so they are subtracted.
        let message = ListMessage::user(self.session.form, &first);
        let head = Head {
            saved: saved.saturating_sub(window.tokens(&message, options.counter)),
            ..head
        };
        let rules = content.write(&head, room, &counter)?;
        let marked: Vec<_> = content
            .marked
            .iter()
            .map(|item| item.text.clone())
            .collect();
        let left = || {
            let left = self.all.iter().filter(|message| leaves[message.index]);
            let left: Vec<_> = left
                .map(|message| Archived::of_parsed(message, None))
                .collect();
            Archive::text(&left)
        };
        let within = |most: u64| {
            let total = tokens(most).saturating_sub(asked).min(room.total);
            let usual = room.usual.min(total);
            let room = Room {
                total,
                usual,
                ..room
            };
            content.write(&head, room, &counter).ok()
        };
        let conversation = || {
            let all = self.all.iter().zip(leaves);
            let shown = all.filter_map(|(message, leaves)| Some((message.for_policy()?, *leaves)));
            shown.collect()
        };
        let request = SummaryRequest {
            rules: &rules,
            room: ((room.total + asked).min(room.most) as u64).max(counter.count(&rules) as u64),
            within: &within,
            left: &left,
            conversation: &conversation,
            marked: &marked,
        };
        let better = options.summarizer.summarize(&request);
        let better = better.filter(|text| request.accepts(text, counter.count(text) as u64));
        Ok(better.unwrap_or(rules))
    }
}

/// Joins ranges that meet.
fn merged(mut covers: Covers) -> Covers {
    covers.sort_by_key(|range| range.start);
    let mut merged = Covers::new();
    for range in covers {
        match merged.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}
