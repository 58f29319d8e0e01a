//! Steps, which change messages that were sent before: when a step is made, and which results are cut.

use time::OffsetDateTime;

use super::known::KnownResult;
use super::report::{Formed, Step, Why};
use super::result::words_of_call;
use super::{Memory, Promise, cut};
use crate::list::MessageList;

/// The tokens of the tool's answer, and the cost of a call of the tool in input tokens.
const ANSWER: f64 = 800.0;
const CALL: f64 = 200.0;
/// A result with no more tokens than this stays whole, unless the window needs the room.
const SHORT: u64 = 1_000;
/// If the window needs the room, a result with no more tokens than this stays whole.
const FORCED: u64 = 300;
/// A forced step that leaves the list outside its limit has to remove at least the limit divided by this. The cache loses
/// what stands behind each cut, and the next request would force the next step.
const LEAST: u64 = 16;
/// The results of this many newest messages stay whole, unless the window needs the room.
const NEWEST: usize = 10;
/// A conversation is expected to have as many more turns as it has had so far, but at most this many.
const TURNS: u64 = 30;

/// A paid step has to save this many times its cost, because nobody knows how many turns are left.
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
        self.has_tool = self.state.needs_tool;
        self.held = self.last_held(list);
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
        // The definition of the tool stands before the list, so a new definition makes the whole cache useless.
        let has_new_tool = self.state.needs_tool && !self.state.had_tool;
        let kept = match &planned {
            _ if is_cold || is_changed || self.state.requests == 0 || has_new_tool => 0,
            Some(_) if !self.state.needs_tool => 0,
            Some((_, cuts)) => {
                let first = cuts.first().map_or(0, |cut| cut.message);
                let before = self.state.messages.iter().take(first);
                self.beside.1 + before.map(|known| known.tokens_sent).sum::<u64>()
            }
            None => self.state.before.1,
        };
        let step = planned.map(|(why, cuts)| self.cut(list, why, cuts));
        // A large new result was cut, so the request now needs the tool.
        let brought = (has_new_tool && self.state.requests > 0).then(|| Step {
            why: Why::Pays,
            cut: Vec::new(),
        });
        let step = step.or(brought);
        self.account(kept, is_cold || is_changed);
        self.state.last = Some(now);
        step
    }

    /// Returns the tokens that a list may have.
    pub(super) fn limit(&self) -> u64 {
        let room = self.window.room();
        self.prices.tier().map_or(room, |tier| tier.min(room))
    }

    /// Makes the list fit the limit, if [`Promise::Window`] allows that: messages leave, results are cut, and the
    /// summary becomes shorter. Before a thought of the newest turn, nothing changes.
    fn inside(&mut self, list: &MessageList) -> Option<Step> {
        let limit = self.limit();
        if self.promise != Promise::Window || self.tokens() <= limit {
            return None;
        }
        let mut step = Step {
            why: Why::Forced,
            cut: Vec::new(),
        };
        let is_held = self.held.is_some();
        let has_left = !is_held && self.leave(list, limit);
        if self.tokens() > limit {
            step = self.cut(list, Why::Forced, self.old(list, FORCED, 0));
        }
        if !is_held {
            self.sum_up_shorter(list, limit, false);
        }
        if self.tokens() > limit {
            let cut = self.cut(list, Why::Forced, self.large(list)).cut;
            step.cut.extend(cut);
        }
        if !is_held {
            self.sum_up_shorter(list, limit, true);
        }
        let has_changed = has_left || !step.cut.is_empty() || !self.dropped.is_empty();
        has_changed.then_some(step)
    }

    /// Returns what a step would cut now, and why; `None` if no step is due.
    fn plan(&self, list: &MessageList, is_free: bool) -> Option<(Why, Vec<Cut>)> {
        let sent = self.tokens();
        let limit = self.limit();
        if sent > limit && self.promise != Promise::Window {
            // The first cut brings the tool.
            let tool = if self.state.needs_tool {
                0
            } else {
                self.definition()
            };
            let mut cuts = Vec::new();
            let mut is_inside = false;
            for (least, newest) in [(SHORT, NEWEST), (FORCED, NEWEST), (FORCED, 0)] {
                cuts = self.old(list, least, newest);
                is_inside = (sent + tool).saturating_sub(removed(self, &cuts)) <= limit;
                if is_inside {
                    break;
                }
            }
            let costs_nothing = is_free || self.state.requests == 0;
            let is_much = removed(self, &cuts) >= tool + limit / LEAST;
            if !cuts.is_empty() && (is_inside || costs_nothing || is_much) {
                return Some((Why::Forced, cuts));
            }
        }
        if self.promise != Promise::Save || self.is_bound(list) {
            return None;
        }
        let turns = self.state.requests.min(TURNS) as f64;
        let cuts = self.worn(list, is_free, turns);
        let first = cuts.first()?.message;
        let removed = removed(self, &cuts);
        // A cache keeps no list below its minimum.
        let after = sent.saturating_sub(removed);
        if after < self.prices.minimum() || !self.prices.covers_steps(removed) {
            return None;
        }
        if is_free {
            return Some((Why::Free, cuts));
        }
        let stays = if self.state.needs_tool {
            let behind = self.state.messages.iter().skip(first);
            behind.map(|known| known.tokens_sent).sum()
        } else {
            sent + self.definition()
        };
        let again =
            stays.saturating_sub(removed) as f64 * (self.prices.write() - self.prices.read());
        let gain = removed as f64 * self.prices.read() * turns;
        (gain > again * MARGIN && again <= self.state.saved).then_some((Why::Pays, cuts))
    }

    /// Returns the cost if the model asks for a result that was cut: one more reading of the list, and the answer.
    /// Each cut has to pay for one such question.
    fn asking(&self) -> f64 {
        let (_, sent) = self.state.before;
        sent as f64 * self.prices.read() + ANSWER * self.prices.write() + CALL
    }

    /// Returns whether removing this many tokens of a new result saves more in this request than it costs. The costs
    /// are the tool, which stands before everything else, and one question of the model for the lines that are
    /// missing.
    pub(super) fn pays_at_once(&self, removed: u64) -> bool {
        let gain = removed as f64 * self.prices.write();
        let (_, sent) = self.state.before;
        let tool = if self.state.needs_tool {
            0.0
        } else {
            let again = sent as f64 * (self.prices.write() - self.prices.read());
            again + self.definition() as f64 * self.prices.write()
        };
        gain > tool + self.asking()
    }

    /// Returns the cuts that pay within this many turns. Only results that the model has seen are cut: a superseded
    /// result leaves as a whole at any age, and an old result loses its middle. A result to which a later result
    /// refers stays. The middle of a file's text stays if an edit has to match it.
    fn worn(&self, list: &MessageList, is_free: bool, turns: f64) -> Vec<Cut> {
        let messages = &self.state.messages;
        let seen = messages.iter().rposition(|known| known.is_agent);
        let old = list.messages().len().saturating_sub(NEWEST);
        let now = if is_free {
            self.prices.write()
        } else {
            self.prices.read()
        };
        let pays = |removed: u64| {
            let gain = removed as f64 * (now + self.prices.read() * turns);
            gain > self.asking()
        };
        let mut cuts = Vec::new();
        for (at, known) in messages.iter().enumerate().take(seen.unwrap_or(0)) {
            if !self.state.stands(at, known) {
                continue;
            }
            for (index, result) in known.results.iter().enumerate() {
                let is_short = result.tokens <= FORCED;
                if result.is_cut() || is_short || self.above.is_referred(&result.name) {
                    continue;
                }
                if self.has_other_lines(result) {
                    continue;
                }
                let (text, after) = if self.calls.is_superseded((at, index)) {
                    result.gone(|name, text| {
                        let shown = self.shown(result);
                        let mark = shown.unwrap_or_else(|| cut::gone(name, text));
                        let tokens = self.counter.count(&mark) as u64;
                        (mark, tokens)
                    })
                } else {
                    let stays = at >= old || self.edits.quotes(list, result);
                    let ends = if stays { None } else { self.ends(result) };
                    let ends = ends.filter(|(_, after)| pays(result.tokens.saturating_sub(*after)));
                    let Some(ends) = ends else { continue };
                    ends
                };
                if after < result.tokens {
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

    /// Returns whether cutting the result would change its line numbers, by which later results name its lines. A
    /// result that is cut counts, too.
    fn has_other_lines(&self, result: &KnownResult) -> bool {
        self.above.is_counted(&result.name) && result.has_long_lines()
    }

    /// Returns an old result with only its first and last lines, and the tokens of these. A result that the tool has
    /// shown leaves as a whole.
    fn ends<'r>(&self, result: &'r KnownResult) -> Option<(&'r str, u64)> {
        result.ends(|name, text| {
            let shown = self.shown(result);
            let text = shown.or_else(|| cut::ends(name, text, &*self.counter))?;
            let tokens = self.counter.count(&text) as u64;
            Some((text, tokens))
        })
    }

    /// Returns the cuts of results that the model has seen. They have more tokens than `least`, and stand before the
    /// `newest` last messages.
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
                if result.is_cut() || result.tokens <= least || self.has_other_lines(result) {
                    continue;
                }
                let ends = self.ends(result);
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
        self.allowed(cuts)
    }

    /// Returns the cuts of results that are too large to be shown whole, even when they are new. A result that the tool
    /// has shown stays, because the model has asked for it.
    fn large(&self, list: &MessageList) -> Vec<Cut> {
        let mut cuts = Vec::new();
        for (at, known) in self.state.messages.iter().enumerate() {
            let is_there = self.state.stands(at, known);
            for (index, result) in known.results.iter().enumerate().filter(|_| is_there) {
                let is_large = result.tokens > self.window.large_result();
                if result.is_cut() || !is_large || self.has_other_lines(result) {
                    continue;
                }
                if self.shown(result).is_some() || result.is_stale() {
                    continue;
                }
                let before = list.messages().get(..at).unwrap_or_default();
                let words = words_of_call(before, result.call());
                let text = cut::preview(&result.name, result.in_lines(), &words, &*self.counter);
                let text = text.map(|text| (self.counter.count(&text) as u64, text));
                let text = text.filter(|(after, _)| *after < result.tokens);
                cuts.extend(text.map(|(after, text)| Cut {
                    message: at,
                    result: index,
                    text,
                    after,
                }));
            }
        }
        self.allowed(cuts)
    }

    /// Returns the first message that a step may change.
    pub(super) fn first_to_change(&self) -> usize {
        let may_change = |result: &KnownResult| !result.is_cut() && result.tokens > FORCED;
        let mut messages = self.state.messages.iter().skip(self.state.end());
        let first = messages.position(|known| known.results.iter().any(may_change));
        first.map_or(self.state.messages.len(), |first| self.state.end() + first)
    }

    /// Returns the cuts that change nothing before the last thought of the newest turn. The definition of the tool
    /// stands before the whole list, so none are left if the request would have to bring it.
    fn allowed(&self, mut cuts: Vec<Cut>) -> Vec<Cut> {
        if let Some(held) = self.held {
            cuts.retain(|cut| self.has_tool && cut.message > held);
        }
        cuts
    }

    /// Makes the cuts, and returns them as a step. The bound thoughts behind the first cut are dropped.
    fn cut(&mut self, list: &MessageList, why: Why, cuts: Vec<Cut>) -> Step {
        let mut step = Step {
            why,
            cut: Vec::new(),
        };
        if cuts.is_empty() {
            return step;
        }
        for cut in cuts {
            self.changed(cut.message);
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
        let first = step.cut.iter().map(|cut| cut.message).min();
        self.drop_thoughts(list, first.unwrap_or(0));
        self.refer();
        self.stand();
        step
    }

    /// Counts what the request costs, and what the given list would have cost. The cache has `kept` tokens of the list
    /// that is sent.
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
        self.state.had_tool = self.state.needs_tool;
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
