//! The requests of the user: the messages that persons typed, and what was done for each.

use super::artifact::result;
use super::item::Item;
use crate::message::Role;
use crate::parsed::Parsed;
use crate::writes::{has_failed, reported};

/// A message that a person typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) item: Item,
    /// The name of the speaker, where the message has one: another agent may have spoken.
    pub(crate) speaker: Option<String>,
    /// What the assistant did until the next request, unless it only answered.
    pub(crate) done: Option<String>,
}

/// Returns the first request, and each later one that has left.
pub(super) fn requests(
    messages: &[Parsed],
    typed: &[Item],
    left: impl Fn(usize) -> bool,
) -> Vec<Request> {
    let all = typed.iter().enumerate();
    let all = all.filter(|(at, item)| *at == 0 || left(item.message));
    all.map(|(at, item)| {
        let next = typed.get(at + 1).map(|next| next.message);
        let place = messages.partition_point(|one| one.index < item.message);
        let message = messages.get(place);
        let message = message.filter(|one| one.index == item.message);
        Request {
            item: item.clone(),
            speaker: message.and_then(|one| one.name.clone()),
            done: done(messages, item.message, next),
        }
    })
    .collect()
}

/// Returns what was done between a request and the next one: the calls and how they ended, or else that nobody answered. If
/// only the words of a result sound like a failure, and nothing else shows one, the text says that the outcome is unclear.
fn done(messages: &[Parsed], from: usize, next: Option<usize>) -> Option<String> {
    let start = messages.partition_point(|one| one.index <= from);
    let end = next.map_or(messages.len(), |next| {
        messages.partition_point(|one| one.index < next)
    });
    let work = messages.get(start..end).unwrap_or_default();
    let (mut calls, mut failed, mut open, mut is_unclear) = (Vec::new(), 0, 0, false);
    for (at, message) in (start..).zip(work) {
        for call in &message.calls {
            calls.push(message.index);
            match result(messages, at, &call.id) {
                Some(result) if has_failed(result) => failed += 1,
                Some(result) => is_unclear |= reported(result) == Some(false),
                None => open += 1,
            }
        }
    }
    if let (Some(first), Some(last)) = (calls.first(), calls.last()) {
        let place = if first == last {
            format!("call {first}")
        } else {
            format!("calls {first} to {last}")
        };
        let verb = match (next, failed, open) {
            (None, ..) => "so far",
            (Some(_), 0, 0) if is_unclear => "made",
            (Some(_), ..) => "done",
        };
        let end = match (failed, open) {
            (0, 0) if is_unclear => ", outcome unclear".to_owned(),
            (0, 0) => ", ok".to_owned(),
            (failed, 0) if failed == calls.len() => ", failed".to_owned(),
            (failed, 0) => format!(", {failed} of {} failed", calls.len()),
            (0, open) => format!(", {open} of {} without a result", calls.len()),
            (failed, open) => {
                format!(
                    ", {failed} of {} failed, {open} without a result",
                    calls.len()
                )
            }
        };
        return Some(format!("{verb}: {place}{end}"));
    }
    // What a tool of the provider found is an answer, too.
    let says = |one: &Parsed| !one.text.trim().is_empty() || !one.served.is_empty();
    let answers = |one: &&Parsed| one.role == Role::Assistant && says(one);
    let is_answered = work.iter().any(|one| answers(&one));
    (!is_answered).then(|| "no answer".to_owned())
}
