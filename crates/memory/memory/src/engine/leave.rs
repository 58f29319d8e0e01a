//! Lets whole messages leave a list that has no room for them, and writes the summary that takes their place.

use std::collections::HashSet;

use super::above::Above;
use super::known::Left;
use super::mark::{MESSAGE, TOOL};
use super::result::Given;
use super::{Memory, cut};
use crate::list::MessageList;
use crate::media::Way;
use crate::parsed::{Parsed, parse};
use crate::summary::{Item, clipped, typed};
use crate::unit::{Unit, last, units};

/// The share of the limit that a list has after messages have left, in percent.
const GOAL: u64 = 38;
/// The largest share of the limit for the part of the summary that is not words of persons, in percent.
const SUMMARY: u64 = 10;
/// The largest share of the limit for the words of persons, in percent.
const REQUESTS: u64 = 40;
/// The tokens of the head and the headings of a summary, which come in addition to its texts.
const SEAM: u64 = 80;
/// A summary shows this many characters of each message. It takes the first of these numbers with which all messages
/// fit.
const CHARACTERS: [usize; 5] = [400, 240, 120, 60, 30];

impl Memory {
    /// Lets the oldest messages leave until the list has room again. Returns whether one has left.
    pub(super) fn leave(&mut self, list: &MessageList, limit: u64) -> bool {
        let units = units(list);
        let newest = last(&units);
        let all = parse(list.form(), Way::Asking, list.messages());
        let before = self.state.end();
        let aim = limit * GOAL / 100;
        let room = limit * SUMMARY / 100;
        // What the agent has not seen yet stays, too, as long as there is room.
        let messages = &self.state.messages;
        let seen = messages.iter().rposition(|known| known.is_agent);
        let mut unseen = units.iter();
        let unseen = unseen.position(|unit| Some(unit.messages.start) > seen);
        let stays = unseen.map_or(newest, |at| at.min(newest));
        let mut first = self.first_kept(&units, stays, aim.saturating_sub(room));
        let mut has_left = false;
        while first <= newest && (!has_left || self.tokens() > limit) {
            let end = units.get(first).map_or(0, |unit| unit.messages.start);
            first += 1;
            if end > before {
                has_left = true;
                self.state.needs_tool = true;
                let most = limit * REQUESTS / 100;
                let left = self.summed_up(&all, end, most, room);
                self.set_summary(Some(left));
                self.drop_thoughts(list, 0);
                self.form_anew(list, end);
            }
        }
        has_left
    }

    /// Writes a shorter summary, if the messages that have to stay leave no room for the present one. The shorter one
    /// has less of what was said and done, and with `cuts_words` also less of the words of persons.
    pub(super) fn sum_up_shorter(&mut self, list: &MessageList, limit: u64, cuts_words: bool) {
        let over = self.tokens().saturating_sub(limit);
        let Some(left) = self.state.left.as_ref().filter(|_| over > 0) else {
            return;
        };
        let all = parse(list.form(), Way::Asking, list.messages());
        let [most, room] = if cuts_words {
            [left.tokens.saturating_sub(over + SEAM), 0]
        } else {
            let room = limit * SUMMARY / 100;
            [limit * REQUESTS / 100, room.saturating_sub(over + SEAM)]
        };
        let left = self.summed_up(&all, left.end, most, room);
        self.set_summary(Some(left));
        self.drop_thoughts(list, 0);
    }

    /// Puts a summary in the place of the messages that have left, behind the first system messages. `None` removes
    /// the summary.
    pub(super) fn set_summary(&mut self, summary: Option<Left>) {
        let mut messages = self.state.messages.iter();
        let first = messages.position(|known| !known.is_system);
        self.changed(first.unwrap_or(0));
        self.state.left = summary;
    }

    /// Returns the first unit that stays, so that the list has about `goal` tokens.
    fn first_kept(&self, units: &[Unit], newest: usize, goal: u64) -> usize {
        let tokens = |unit: &Unit| -> u64 {
            let known = &self.state.messages[unit.messages.clone()];
            known.iter().map(|known| known.tokens_sent).sum()
        };
        let stays = |unit: &Unit| {
            let known = &self.state.messages[unit.messages.clone()];
            known.iter().all(|known| known.is_system)
        };
        let system = units.iter().filter(|unit| stays(unit));
        let mut used = self.beside.1 + self.definition() + system.map(tokens).sum::<u64>();
        let mut first = units.len();
        for (at, unit) in units.iter().enumerate().rev() {
            used += if stays(unit) { 0 } else { tokens(unit) };
            if at < newest && used > goal {
                break;
            }
            first = at;
        }
        first
    }

    /// Gives new forms to the results from message `end` on. The new forms do not refer to earlier results, because
    /// the messages before have left. So a result may have other lines than before, and where the tool has shown lines of
    /// it, the call no longer names these.
    fn form_anew(&mut self, list: &MessageList, end: usize) {
        self.above = Above::default();
        let mut renumbered: HashSet<String> = HashSet::new();
        // The tokens before these messages: as they were given, and as they are sent.
        let before = self.state.messages.iter().take(end);
        let mut given_tokens: u64 = before.clone().map(|known| known.tokens).sum();
        let system = before.filter(|known| known.is_system);
        let system: u64 = system.map(|known| known.tokens_sent).sum();
        let summary = self.state.left.as_ref().map_or(0, |left| left.tokens);
        let mut sent = system + summary;
        for (at, message) in list.messages().iter().enumerate().skip(end) {
            let Some(mut known) = self.state.messages.get(at).cloned() else {
                break;
            };
            known.change();
            known.tokens_sent = known.tokens_whole();
            given_tokens += known.tokens;
            for (index, given) in Given::of(message, &self.named).into_iter().enumerate() {
                let Some(mut result) = known.results.get(index).cloned() else {
                    break;
                };
                let was_cut = result.is_cut();
                let before_lines = result.to_read().map(str::to_owned);
                if result
                    .asked()
                    .is_some_and(|(name, ..)| renumbered.contains(name))
                {
                    result.outdate();
                }
                result.reset();
                result.tokens = self.counter.count(&given.text) as u64;
                let whole = result.tokens;
                let (shown, shown_of) = (self.shown(&result), self.shown_of(&result));
                let is_shown = shown.is_some() || result.is_stale();
                if given.may_change && !is_shown && !self.edits.quotes(list, &result) {
                    let sent = sent + known.tokens_sent;
                    let saved = given_tokens.saturating_sub(sent);
                    self.shape(&given.text, self.beside.1 + sent, saved, &mut result);
                }
                if was_cut {
                    let ends = || cut::ends(&result.name, result.in_lines(), &*self.counter);
                    let text = shown.or_else(ends);
                    let is_less = |text: &String| (self.counter.count(text) as u64) < result.tokens;
                    let text = text.filter(is_less);
                    result.cut(text);
                }
                if result.to_read() != before_lines.as_deref() {
                    renumbered.insert(result.name.clone());
                }
                self.above.add(&result, shown_of);
                result.tokens = self.counter.count(result.now()) as u64;
                known.tokens_sent = (known.tokens_sent + result.tokens).saturating_sub(whole);
                known.results[index] = result;
            }
            sent += known.tokens_sent;
            self.state.messages[at] = known;
        }
    }

    /// Returns the summary of the messages before `end`. The words of persons get at most `most` tokens, and what was
    /// said and done gets at most `room` tokens.
    fn summed_up(&self, all: &[Parsed], end: usize, most: u64, room: u64) -> Left {
        let count = |text: &str| self.counter.count(text) as u64;
        let typed = typed(all);
        // If only agents speak, the first of their messages gives the task.
        let leaves = |one: &&Parsed| {
            let known = self.state.messages.get(one.index);
            known.is_some_and(|known| !known.is_system)
        };
        let first = all.iter().find(leaves);
        let typed = match first {
            Some(first) if typed.is_empty() => vec![Item::whole(first)],
            _ => typed,
        };
        let asked: Vec<_> = typed.iter().filter(|item| item.message < end).collect();
        let requests = self.requests(all, &asked, most);
        let said = |characters: usize| {
            let is_other = |one: &&Parsed| {
                let found = asked.binary_search_by_key(&one.index, |item| item.message);
                found.is_err()
            };
            let others = all[..end].iter().filter(is_other);
            let others = others.filter(leaves);
            let lines = others.filter_map(|one| line(one, characters));
            lines.collect::<Vec<_>>()
        };
        let mut said = CHARACTERS.map(said);
        let fits = said
            .iter()
            .position(|lines| count(&lines.join("\n")) <= room);
        let mut lines = std::mem::take(&mut said[fits.unwrap_or(CHARACTERS.len() - 1)]);
        // If there is not enough room, the oldest lines are left out.
        let mut used = 0;
        let kept = lines.iter().rev().take_while(|line| {
            used += count(line) + 1;
            used <= room
        });
        let gone = lines.len() - kept.count();
        lines.drain(..gone);
        let mut text = vec![self.head(end)];
        if !requests.is_empty() {
            text.push(format!(
                "Requests so far, in order; where two differ, the later one counts:\n{requests}"
            ));
        }
        if !lines.is_empty() {
            let last = if gone > 0 { " last" } else { "" };
            text.push(format!(
                "What was said and done{last}:\n{}",
                lines.join("\n")
            ));
        }
        let text = text.join("\n");
        let tokens = count(&text) + crate::bill::AROUND;
        Left { end, text, tokens }
    }

    /// Returns the first line of a summary of the messages before `end`: which of them left, and how to read them. A
    /// result whose name is a number is found by counting, so the line says which numbers left.
    fn head(&self, end: usize) -> String {
        let before = self.state.messages.iter().take(end);
        let first = before.clone().position(|known| !known.is_system);
        let first = first.unwrap_or(0);
        let results = before.flat_map(|known| &known.results);
        let numbers = results.filter_map(|result| result.name.parse::<usize>().ok());
        let numbers: Vec<usize> = numbers.collect();
        let results = match (numbers.iter().min(), numbers.iter().max()) {
            (Some(from), Some(to)) if from == to => format!(" with result {from}"),
            (Some(from), Some(to)) => format!(" with results {from} to {to}"),
            _ => String::new(),
        };
        format!(
            "[messages {first} to {0}{results} left out; {TOOL}(\"{MESSAGE}{0}\", 1, 40) shows lines of message {0}]",
            end - 1
        )
    }
}

/// Returns what a message said and did, in one line.
fn line(message: &Parsed, characters: usize) -> Option<String> {
    let calls = message.calls.iter();
    let calls = calls.map(|call| format!("{}({})", call.tool, call.arguments));
    let results = message.results.iter();
    let results = results.map(|result| {
        if result.text.trim().is_empty() {
            "-> (empty)".to_owned()
        } else {
            format!("-> {}", result.text)
        }
    });
    let words = Some(message.text.clone()).filter(|text| !text.trim().is_empty());
    let parts: Vec<_> = words.into_iter().chain(calls).chain(results).collect();
    let text = clipped(&parts.join(" "), characters);
    let name = message.name.as_deref().map(|name| format!(" ({name})"));
    let name = name.unwrap_or_default();
    (!text.is_empty()).then(|| format!("{MESSAGE}{}{name}: {text}", message.index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_that_a_result_was_empty() {
        let list = r#"[{"role":"user","content":"Look."},{"role":"assistant","tool_calls":[{"id":"c1","type":"function",
            "function":{"name":"look","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":" "}]"#;
        let list = MessageList::read(list, None).unwrap();
        let all = parse(list.form(), Way::Asking, list.messages());
        let lines: Vec<_> = all.iter().filter_map(|one| line(one, 60)).collect();
        assert_eq!(
            lines,
            [
                "message 0: Look.",
                "message 1: look({})",
                "message 2: -> (empty)"
            ]
        );
    }
}
