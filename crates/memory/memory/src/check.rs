//! Checks lists against the rules of their forms: OpenAI's chat, Anthropic's messages and OpenAI's Responses.

mod anthropic;
mod blocks;
mod cache;
mod chat;
mod citations;
pub(crate) mod details;
pub(crate) mod flaw;
mod items;
mod links;
mod media;
mod names;
pub(crate) mod pairs;
mod parts;
mod responses;
pub(crate) mod rule;
pub(crate) mod server;
mod settings;
mod thinking;
mod tools;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value as Json;

use crate::finding::{Code, Finding, on_one_line};
use crate::form::Form;
use crate::list::MessageList;
use crate::message::{Call, ListMessage, Role};
use crate::raw::{Pointer, compact};

use self::pairs::{Pairs, Why};

/// Returns all faults of a list, in the order of its messages; none if a provider takes the list (CTX-66 to
/// CTX-71).
///
/// A call without its result at the end of the list is not a fault: the call is in flight.
///
/// ```
/// use accp_memory::{Form, MessageList, check};
///
/// let list = r#"[{"role":"user","content":"Rye?"},
///     {"role":"assistant","content":null,"tool_calls":[
///         {"id":"c1","type":"function","function":{"name":"stock","arguments":"{}"}}]}"#;
/// let in_flight = MessageList::read(&format!("{list}]"), None)?;
/// assert_eq!(check(&in_flight), []);
///
/// let list = format!(r#"{list},{{"role":"user","content":"Well?"}}]"#);
/// let broken = MessageList::read(&list, None)?;
/// assert_eq!(check(&broken)[0].to_string(), "result-missing: message 1: the call `c1` of `stock` has no \
///     result before message 2; put its result there, or run `accp context repair`");
/// # Ok::<(), accp_memory::Finding>(())
/// ```
pub fn check(list: &MessageList) -> Vec<Finding> {
    let mut found = match list.form() {
        Form::OpenAi => chat::check(list),
        Form::Anthropic => anthropic::check(list),
        Form::Responses => responses::check(list),
    };
    pairs(list, &mut found);
    lone_surrogates(list, &mut found);
    found.extend(details::flaws(list).into_iter().map(|flaw| flaw.finding));
    found.sort_by_key(|finding| finding.message);
    found
}

/// A call at the end of a list that has no result yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InFlight {
    /// The index of the message with the call.
    pub message: usize,
    /// The id of the call.
    pub id: String,
    /// The name of the tool.
    pub tool: String,
}

impl fmt::Display for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!(
            "message {}: the call `{}` of `{}` is in flight; a provider takes the list once the result stands behind it",
            self.message, self.id, self.tool
        );
        on_one_line(f, &text)
    }
}

/// Returns the calls at the end of a list that have no result yet. They are not faults, and [`repair`](crate::repair) keeps
/// them.
///
/// ```
/// use accp_memory::{MessageList, check, in_flight};
///
/// let list = MessageList::read(r#"[{"role":"user","content":"Rye?"},
///     {"role":"assistant","content":null,"tool_calls":[
///         {"id":"c1","type":"function","function":{"name":"stock","arguments":"{}"}}]}]"#, None)?;
/// assert_eq!(check(&list), []);
/// assert_eq!((in_flight(&list)[0].message, &*in_flight(&list)[0].id), (1, "c1"));
/// # Ok::<(), accp_memory::Finding>(())
/// ```
pub fn in_flight(list: &MessageList) -> Vec<InFlight> {
    let waiting = Pairs::of(list).in_flight.into_iter();
    let calls = waiting.filter_map(|(at, index)| {
        let call = list.messages().get(at)?.calls.get(index)?;
        Some(InFlight {
            message: at,
            id: call.id.clone(),
            tool: call.tool.clone(),
        })
    });
    calls.collect()
}

/// Reports texts that were cut in the middle of a character.
fn lone_surrogates(list: &MessageList, found: &mut Vec<Finding>) {
    const WHAT: &str = "half of a surrogate pair";
    for (at, message) in list.messages().iter().enumerate() {
        for place in message.lone().places() {
            let cure = "run `accp context repair`, which puts U+FFFD in its place";
            let text = format!("the text at `{place}` has {WHAT}, which providers refuse; {cure}");
            found.push(Finding::at(Code::LoneSurrogate, at, text));
        }
    }
    for place in list.lone_beside() {
        let text =
            format!("the text at `{place}`, outside the list, has {WHAT}; write `\\ufffd` for it");
        found.push(Finding::of_list(Code::LoneSurrogate, text));
    }
}

/// Returns the faults for which a compression refuses a list.
pub(crate) fn broken(list: &MessageList) -> Vec<Finding> {
    let mut found = check(list);
    // Servers that people host themselves take a chat message whose content is null. For Anthropic, a list with a blank
    // text may not be returned (CTX-67).
    let is_taken = |code: Code| code == Code::TextBlank && list.form() == Form::OpenAi;
    found.retain(|finding| !finding.code.is_warning() && !is_taken(finding.code));
    found
}

/// Returns the compact JSON of a value in a message, written as a JSON string. The numbers stay as they were written.
fn as_text(message: &ListMessage, place: &Pointer) -> Option<String> {
    let raw = message.raw().get(place.range(message.raw())?)?;
    Some(Json::from(&*compact(raw)).to_string())
}

/// Reports the calls and results that do not pair.
fn pairs(list: &MessageList, found: &mut Vec<Finding>) {
    let messages = list.messages();
    let pairs = Pairs::of(list);
    for missed in pairs.missing {
        let call = &messages[missed.message].calls[missed.call];
        found.push(missing(missed.message, &call.id, &call.tool, missed.before));
    }
    for stray in pairs.stray {
        let (at, id) = (
            stray.message,
            &*messages[stray.message].answers[stray.answer].id,
        );
        found.push(match stray.why {
            Why::WithoutId => without_id(at, "the result"),
            Why::Repeated => repeated(at, id),
            Why::Misplaced => misplaced(at, id, place(list.form())),
            Why::Orphan => orphan(at, id),
        });
    }
}

/// Returns where the results stand in lists of this form.
fn place(form: Form) -> &'static str {
    match form {
        Form::OpenAi => "right behind the message with its call",
        Form::Anthropic => "in the turn of the user right behind its call",
        Form::Responses => "behind its call",
    }
}

/// Checks that calls have ids, and that the ids of these messages differ.
fn ids(messages: &[ListMessage], from: usize, found: &mut Vec<Finding>) {
    let mut seen = BTreeMap::new();
    let all = (from..).zip(messages);
    for (at, message) in all.filter(|(_, message)| message.role != Role::System) {
        for Call { id, tool, .. } in &message.calls {
            if id.is_empty() {
                found.push(without_id(at, &format!("the call of `{tool}`")));
            } else if let Some(first) = seen.get(id) {
                found.push(same_id(at, id, *first));
            } else {
                seen.insert(id, at);
            }
        }
    }
}

/// Checks that only messages of the model have calls.
fn caller(at: usize, message: &ListMessage, found: &mut Vec<Finding>) {
    if let (Role::System | Role::User | Role::Tool, Some(call)) =
        (message.role, message.calls.first())
    {
        let text = format!(
            "the call of `{}` stands in a message that is not the assistant's; give the message the role \
             `assistant`",
            call.tool
        );
        found.push(Finding::at(Code::Role, at, text).with_id(&*call.id));
    }
}

/// Returns the finding for a call without a result. All forms use the same words.
fn missing(at: usize, id: &str, tool: &str, before: usize) -> Finding {
    let text = format!(
        "the call `{id}` of `{tool}` has no result before message {before}; put its result there, or run \
         `accp context repair`"
    );
    Finding::at(Code::ResultMissing, at, text).with_id(id)
}

fn orphan(at: usize, id: &str) -> Finding {
    let text = format!(
        "the result answers `{id}`, which no call before it has as its id; drop the result, or run `accp \
         context repair`"
    );
    Finding::at(Code::ResultOrphan, at, text).with_id(id)
}

fn misplaced(at: usize, id: &str, place: &str) -> Finding {
    let text = format!(
        "the result of `{id}` has to stand {place}; move it there, or run `accp \
         context repair`"
    );
    Finding::at(Code::ResultMisplaced, at, text).with_id(id)
}

fn repeated(at: usize, id: &str) -> Finding {
    let text = format!("`{id}` has a result already; drop this one, or run `accp context repair`");
    Finding::at(Code::ResultRepeated, at, text).with_id(id)
}

fn without_id(at: usize, what: &str) -> Finding {
    Finding::at(
        Code::IdMissing,
        at,
        format!("{what} has no id; give the id that joins call and result"),
    )
}

fn same_id(at: usize, id: &str, first: usize) -> Finding {
    let text = format!(
        "`{id}` is the id of another call in message {first}; give each call an id of its own"
    );
    Finding::at(Code::IdRepeated, at, text).with_id(id)
}

fn role(at: usize, role: Option<&str>, expected: &str) -> Finding {
    let found = role.map_or_else(|| "none".to_owned(), |role| format!("`{role}`"));
    Finding::at(
        Code::Role,
        at,
        format!(
            "expected one of the roles {expected}, found {found}; give the message one of them"
        ),
    )
}
