//! The parts of a list that stay or go as a whole.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::form::Form;
use crate::list::MessageList;
use crate::message::ListMessage;

/// Messages that stay in a list together, or leave it together: a call and its results, a request for approval and its
/// answer, reasoning and what follows it, and in Anthropic's form a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) messages: Range<usize>,
    /// Whether this is a message that stays although older ones leave: a system message, or a `compaction`.
    pub(crate) is_system: bool,
    /// Whether a call in the unit waits for its result.
    pub(crate) in_flight: bool,
}

/// Returns the units of a list that follows the rules of its form.
pub(crate) fn units(list: &MessageList) -> Vec<Unit> {
    let messages = list.messages();
    let mut ends: Vec<usize> = (1..=messages.len()).collect();
    let mut open = Vec::new();
    pairs(messages, &mut ends, &mut open);
    approvals(messages, &mut ends);
    for at in 0..messages.len() {
        let next = messages.get(at + 1);
        let joins = match list.form() {
            Form::Anthropic => next.is_some_and(|next| next.role == messages[at].role),
            // A `compaction` stays without the reasoning before it.
            Form::Responses => {
                messages[at].is_kind("reasoning") && next.is_some_and(|next| !next.stays())
            }
            Form::OpenAi => false,
        };
        if joins {
            ends[at] = ends[at].max(at + 2);
        }
    }
    let mut units: Vec<Unit> = Vec::new();
    let mut start = 0;
    let mut end = 0;
    for (at, reaches) in ends.iter().enumerate() {
        if at == end && at > start {
            units.push(unit(messages, start..end, &open));
            start = at;
        }
        end = end.max(*reaches);
    }
    if start < messages.len() {
        units.push(unit(messages, start..messages.len(), &open));
    }
    units
}

/// Extends the unit of each call up to its results. Notes the calls without a result as open.
fn pairs(messages: &[ListMessage], ends: &mut [usize], open: &mut Vec<usize>) {
    let mut asked: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, message) in messages.iter().enumerate() {
        for answer in &message.answers {
            let waiting = asked.get_mut(answer.id.as_str());
            // If an id repeats, a result answers the latest call that has no result yet.
            if let Some(call) = waiting.and_then(Vec::pop) {
                ends[call] = ends[call].max(at + 1);
            }
        }
        for call in &message.calls {
            asked.entry(&call.id).or_default().push(at);
        }
    }
    open.extend(asked.into_values().flatten());
}

/// Extends the unit of each request for approval, or of the reference to one, up to its answer. A provider refuses an
/// answer without its request.
fn approvals(messages: &[ListMessage], ends: &mut [usize]) {
    let mut asked: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, message) in messages.iter().enumerate() {
        let json = message.json();
        if message.is_kind("mcp_approval_response") {
            let id = json["approval_request_id"].as_str();
            if let Some(request) = id.and_then(|id| asked.get(id)) {
                ends[*request] = ends[*request].max(at + 1);
            }
        } else if (message.is_kind("mcp_approval_request") || message.is_kind("item_reference"))
            && let Some(id) = json["id"].as_str()
        {
            asked.insert(id, at);
        }
    }
}

fn unit(messages: &[ListMessage], range: Range<usize>, open: &[usize]) -> Unit {
    Unit {
        is_system: messages[range.clone()].iter().all(ListMessage::stays),
        in_flight: open.iter().any(|at| range.contains(at)),
        messages: range,
    }
}

/// Returns the index of the first unit that has to stay: the last unit. If a call is in flight, the unit before the
/// call has to stay, too, because the call answers it.
pub(crate) fn last(units: &[Unit]) -> usize {
    let mut first = units.len().saturating_sub(1);
    let waiting = units.iter().position(|unit| unit.in_flight);
    if let Some(at) = waiting {
        let before = units[..at].iter().rposition(|unit| !unit.is_system);
        first = first.min(before.unwrap_or(at));
    }
    first
}
