//! Changes of what was sent before: when they come, and what leaves.

use time::OffsetDateTime;

use super::report::{Formed, Step, Why};
use super::result::words_of_call;
use super::{Memory, Promise, cut};
use crate::list::MessageList;

/// A result with no more tokens stays whole, unless the window asks for it.
const SHORT: u64 = 1_000;
/// The same where a list has to become shorter.
const FORCED: u64 = 300;
/// The newest messages whose results stay whole, unless the window asks for them.
const NEWEST: usize = 10;
/// The most turns that are expected: as many again as there were, but no more than these.
const TURNS: u64 = 30;

/// A paid step has to save so many times what it costs: nobody knows how many turns are left, and late ones are many.
const MARGIN: f64 = 2.0;

/// A result that a step would cut.
struct Cut {
    message: usize,
    result: usize,
    text: String,
    after: u64,
}

impl Memory {
    /// Makes a step if one is due, and counts what the request saves.
    pub(super) fn step(
        &mut self,
        list: &MessageList,
        now: OffsetDateTime,
        is_changed: bool,
    ) -> Option<Step> {
        let now = now.unix_timestamp();
        let gap = self.state.last.map(|last| now.saturating_sub(last));
        let lived = self.prices.seconds().zip(gap);
        let is_cold = lived.is_some_and(|(seconds, gap)| gap > i64::from(seconds));
        if let Some(step) = self.inside(list) {
            self.account(0, true);
            self.state.last = Some(now);
            return Some(step);
        }
        let planned = self.plan(list, is_cold || is_changed);
        let kept = match &planned {
            _ if is_cold || is_changed || self.state.requests == 0 => 0,
            // The definition of the tool stands before everything else.
            Some(_) if !self.state.needs_tool => 0,
            Some((_, cuts)) => {
                let first = cuts.first().map_or(0, |cut| cut.message);
                let before = self.state.messages.iter().take(first);
                self.beside.1 + before.map(|known| known.tokens_sent).sum::<u64>()
            }
            None => self.state.before.1,
        };
        let step = planned.map(|(why, cuts)| self.cut(why, cuts));
        self.account(kept, is_cold || is_changed);
        self.state.last = Some(now);
        step
    }

    /// Returns the tokens that a list may have.
    fn limit(&self) -> u64 {
        let room = self.window.room();
        self.prices.tier().map_or(room, |tier| tier.min(room))
    }

    /// Lets what has no room in the window leave, if that was promised.
    fn inside(&mut self, list: &MessageList) -> Option<Step> {
        let limit = self.limit();
        if self.promise != Promise::Window || self.tokens() <= limit {
            return None;
        }
        let mut step = Step {
            why: Why::Forced,
            cut: Vec::new(),
        };
        let has_left = self.leave(list, limit);
        if self.tokens() > limit {
            step = self.cut(Why::Forced, self.old(list, FORCED, 0));
        }
        self.sum_up_shorter(list, limit, false);
        if self.tokens() > limit {
            let cut = self.cut(Why::Forced, self.large(list)).cut;
            step.cut.extend(cut);
        }
        self.sum_up_shorter(list, limit, true);
        (has_left || !step.cut.is_empty()).then_some(step)
    }

    /// Returns why something is to leave now, and what.
    fn plan(&self, list: &MessageList, is_free: bool) -> Option<(Why, Vec<Cut>)> {
        let sent = self.tokens();
        let limit = self.limit();
        if sent > limit && self.promise != Promise::Window {
            let mut cuts = Vec::new();
            for (least, newest) in [(SHORT, NEWEST), (FORCED, NEWEST), (FORCED, 0)] {
                cuts = self.old(list, least, newest);
                if sent.saturating_sub(removed(self, &cuts)) <= limit {
                    break;
                }
            }
            return (!cuts.is_empty()).then_some((Why::Forced, cuts));
        }
        let is_bound = self.state.messages.iter().any(|known| known.is_bound);
        if self.promise != Promise::Save || is_bound {
            return None;
        }
        let cuts = self.old(list, SHORT, NEWEST);
        let first = cuts.first()?.message;
        if is_free {
            return Some((Why::Free, cuts));
        }
        let removed = removed(self, &cuts);
        let stays = if self.state.needs_tool {
            let behind = self.state.messages.iter().skip(first);
            behind.map(|known| known.tokens_sent).sum()
        } else {
            sent + self.definition()
        };
        let again =
            stays.saturating_sub(removed) as f64 * (self.prices.write() - self.prices.read());
        let turns = self.state.requests.min(TURNS);
        let gain = removed as f64 * self.prices.read() * turns as f64;
        (gain > again * MARGIN && again <= self.state.saved).then_some((Why::Pays, cuts))
    }

    /// Returns the cuts of results that the model has seen: of those with more tokens than `least`, before the newest messages.
    fn old(&self, list: &MessageList, least: u64, newest: usize) -> Vec<Cut> {
        let messages = &self.state.messages;
        let seen = messages
            .iter()
            .rposition(|known| known.is_agent)
            .unwrap_or(0);
        let end = seen.min(list.messages().len().saturating_sub(newest));
        let mut cuts = Vec::new();
        let known = messages.iter().enumerate();
        let known = known.filter(|(at, known)| self.state.stands(*at, known));
        for (at, known) in known.take_while(|(at, _)| *at < end) {
            for (index, result) in known.results.iter().enumerate() {
                if result.is_cut() || result.tokens <= least {
                    continue;
                }
                let ends = result.ends(|name, text| {
                    let text = cut::ends(name, text, &*self.counter)?;
                    let tokens = self.counter.count(&text) as u64;
                    Some((text, tokens))
                });
                if let Some((text, after)) = ends.filter(|(_, after)| *after < result.tokens) {
                    cuts.push(Cut {
                        message: at,
                        result: index,
                        text: text.to_owned(),
                        after,
                    });
                }
            }
        }
        cuts
    }

    /// Returns the cuts of results that are too large even at first sight.
    fn large(&self, list: &MessageList) -> Vec<Cut> {
        let mut cuts = Vec::new();
        for (at, known) in self.state.messages.iter().enumerate() {
            let is_there = self.state.stands(at, known);
            for (index, result) in known.results.iter().enumerate().filter(|_| is_there) {
                if result.is_cut() || result.tokens <= self.window.large_result() {
                    continue;
                }
                let before = list.messages().get(..at).unwrap_or_default();
                let words = words_of_call(before, result.call());
                let text = cut::preview(&result.name, result.first(), &words, &*self.counter);
                let text = text.map(|text| (self.counter.count(&text) as u64, text));
                cuts.extend(text.map(|(after, text)| Cut {
                    message: at,
                    result: index,
                    text,
                    after,
                }));
            }
        }
        cuts
    }

    /// Lets lines leave.
    fn cut(&mut self, why: Why, cuts: Vec<Cut>) -> Step {
        let mut step = Step {
            why,
            cut: Vec::new(),
        };
        if cuts.is_empty() {
            return step;
        }
        for cut in cuts {
            let Some(known) = self.state.messages.get_mut(cut.message) else {
                continue;
            };
            known.change();
            let Some(result) = known.results.get_mut(cut.result) else {
                continue;
            };
            step.cut.push(Formed {
                message: cut.message,
                result: result.name.clone(),
                before: result.tokens,
                after: cut.after,
            });
            known.tokens_sent = known.tokens_sent.saturating_sub(result.tokens - cut.after);
            result.tokens = cut.after;
            result.cut(Some(cut.text));
        }
        self.state.needs_tool = true;
        self.stand();
        step
    }

    /// Counts what the request costs, and what the given list would have cost. The cache has `kept` tokens of the list that is
    /// sent.
    fn account(&mut self, kept: u64, is_cold: bool) {
        let cost = |tokens: u64, kept: u64| {
            let kept = kept.min(tokens);
            kept as f64 * self.prices.read() + (tokens - kept) as f64 * self.prices.write()
        };
        let beside = self.beside.1;
        let given = beside + self.state.given();
        let sent = self.tokens();
        let given_kept = if is_cold { 0 } else { self.state.before.0 };
        self.state.saved += cost(given, given_kept) - cost(sent, kept);
        self.state.before = (given, sent);
        self.state.requests += 1;
    }
}

/// Returns the tokens that cuts remove.
fn removed(memory: &Memory, cuts: &[Cut]) -> u64 {
    let tokens = |cut: &Cut| {
        let known = memory.state.messages.get(cut.message)?;
        let result = known.results.get(cut.result)?;
        result.tokens.checked_sub(cut.after)
    };
    cuts.iter().filter_map(tokens).sum()
}
