//! Makes one answer out of several turns of a model: the turns in which the model asks for lines that left its list,
//! and the turn after them. The client sees one answer in the form of its provider, without these calls.

mod calls;
mod chat;
mod claude;
mod events;
mod pieces;
mod responses;

use accp_memory::Form;
use serde_json::Value as Json;

use crate::aside::{Aside, Beside, Turn};
use crate::tool::{self, Call, Shown, TURNS};
use events::Events;

/// The most bytes of an answer that the gateway reads: of a whole answer, or of what it keeps of a stream. A longer
/// answer passes on.
pub(crate) const MOST: usize = 32 << 20;

/// The most characters of a kind that the gateway does not know, as the ledger names it.
const KIND: usize = 80;

/// An answer in one form of API, as it comes.
trait Answer: Send {
    /// Takes an event, and writes what the client sees of it.
    fn event(&mut self, raw: &[u8], json: Json, out: &mut Vec<u8>);
    /// Takes a whole answer. Returns whether `json` is an answer.
    fn whole(&mut self, json: Json) -> bool;
    /// Returns whether the turn has ended.
    fn is_over(&self) -> bool;
    /// Ends the turn if the model has said why it stopped. The stream has broken off after that, without its last
    /// events.
    fn stops(&mut self);
    /// Returns the calls of the tool in this turn, with their texts, and how much the client has seen before each; nothing if the
    /// turn was cut off.
    fn calls(&self) -> Vec<(usize, Call, String)>;
    /// Returns whether the model has called no other tool in this turn.
    fn is_alone(&self) -> bool;
    /// Returns this turn as the messages of a list.
    fn items(&self) -> Vec<String>;
    /// Returns the number of the next event for the client, if this form numbers its events.
    fn number(&self) -> u64 {
        0
    }
    /// Returns how much the client has seen, in pieces, or in bytes of a text.
    fn seen(&self) -> usize;
    /// Returns what the client has seen, in pieces.
    fn pieces(&self) -> Vec<String>;
    /// Begins the next turn. Without `keeps`, the client has seen nothing of the turns so far.
    fn begin(&mut self, keeps: bool);
    /// Writes the events that end a stream, which were held back until now.
    fn tail(&mut self, out: &mut Vec<u8>);
    /// Returns whether the client sees another answer than that of the last turn.
    fn differs(&self) -> bool;
    /// Returns one whole answer made of all turns.
    fn combined(&mut self) -> String;
    /// Returns about how many bytes of the answer are kept, to send them again in the next turn.
    fn kept(&self) -> usize;
    /// Keeps nothing more of the answer. From now on, all that begins passes to the client, also calls of the tool.
    fn keep_no_more(&mut self, out: &mut Vec<u8>);
    /// Returns a kind of event that this gateway does not know, if there was one in this turn. Such a turn cannot be
    /// sent again, so what begins after that event passes to the client.
    fn unknown(&self) -> Option<&str> {
        None
    }
}

/// What comes after a turn.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    /// The model waits for lines.
    Reads(Vec<Call>),
    /// The answer ends. If it also calls tools of the client, these calls of the gateway's tool get their results
    /// when the client sends its own.
    Ends(Vec<Call>),
    /// The answer has broken off, or is not valid.
    Breaks,
}

/// Weaves the turns of a model into one answer.
pub(crate) struct Weave {
    form: Form,
    answer: Box<dyn Answer>,
    is_stream: bool,
    /// Whether the client reads the text by a schema, so that it must see only the last turn.
    holds: bool,
    held: Vec<u8>,
    events: Events,
    /// A whole answer, as it comes.
    body: Vec<u8>,
    turns: Vec<Turn>,
    /// Whether the answer is too long to be kept, so that its rest passes on.
    is_full: bool,
}

impl Weave {
    pub(crate) fn new(form: Form, is_stream: bool, holds: bool) -> Self {
        let answer: Box<dyn Answer> = match form {
            Form::Anthropic => Box::new(claude::Claude::default()),
            Form::OpenAi => Box::new(chat::Chat::default()),
            Form::Responses => Box::new(responses::Responses::default()),
        };
        Self {
            form,
            answer,
            is_stream,
            holds,
            held: Vec::new(),
            events: Events::default(),
            body: Vec::new(),
            turns: Vec::new(),
            is_full: false,
        }
    }

    /// Takes bytes from the provider, and returns the bytes that the client sees now.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.is_stream {
            self.body.extend_from_slice(bytes);
            return out;
        }
        self.events.push(bytes);
        while let Some(raw) = self.events.take() {
            self.take(&raw, &mut out);
            if !self.is_full && self.answer.kept() + self.held.len() > MOST {
                self.is_full = true;
                out.append(&mut self.held);
                self.answer.keep_no_more(&mut out);
            }
        }
        out
    }

    /// Takes an event.
    fn take(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        let data = events::data(raw);
        let Ok(json) = serde_json::from_slice::<Json>(&data) else {
            // The last event of a chat, `[DONE]`, is no JSON.
            let json = Json::String(String::from_utf8_lossy(&data).into_owned());
            self.answer.event(raw, json, out);
            return;
        };
        let is_begin = matches!(
            json["type"].as_str(),
            Some("message_start" | "ping" | "response.created" | "response.in_progress")
        );
        if self.holds && !is_begin && !self.is_full {
            self.answer.event(raw, json, &mut self.held);
        } else {
            self.answer.event(raw, json, out);
        }
    }

    /// Returns why the gateway has not read the whole answer; `None` if it has.
    pub(crate) fn fault(&self) -> Option<String> {
        if self.is_full {
            return Some(format!("the answer has more than {MOST} bytes"));
        }
        let kind: String = self.answer.unknown()?.chars().take(KIND).collect();
        Some(format!(
            "this gateway does not know {kind:?}, and passes what comes after it in an answer"
        ))
    }

    /// Returns whether the turn has ended, even if the provider has not closed the stream yet.
    pub(crate) fn is_over(&self) -> bool {
        self.is_stream && self.answer.is_over()
    }

    /// Takes note that the stream has stopped. Returns whether the turn had ended before.
    pub(crate) fn stops(&mut self) -> bool {
        self.answer.stops();
        self.is_over()
    }

    /// Returns how many bytes of a whole answer wait for its end.
    pub(crate) fn waiting(&self) -> usize {
        self.body.len()
    }

    /// Returns how many turns the gateway has answered.
    pub(crate) fn turns(&self) -> usize {
        self.turns.len()
    }

    /// Returns what comes after a turn. All bytes of the turn have arrived.
    pub(crate) fn next(&mut self) -> Next {
        if !self.is_stream {
            let json = serde_json::from_slice(&self.body);
            if !json.is_ok_and(|json| self.answer.whole(json)) {
                return Next::Breaks;
            }
        } else if !self.answer.is_over() {
            return Next::Breaks;
        }
        let calls = self.answer.calls().into_iter().map(|(_, call, _)| call);
        let calls: Vec<Call> = calls.filter(|_| !self.is_full).collect();
        if calls.is_empty() || !self.answer.is_alone() {
            Next::Ends(calls)
        } else if self.turns.len() < TURNS {
            Next::Reads(calls)
        } else {
            // The model has used up its turns. These calls get no results, because the client has no tool of this
            // name.
            Next::Ends(Vec::new())
        }
    }

    /// Takes the results of the calls, and returns the messages that go to the provider after the list.
    pub(crate) fn go_on(&mut self, shown: &[(Call, Shown)]) -> Vec<String> {
        let mut items = self.answer.items();
        items.extend(tool::results(self.form, shown));
        let seen = if self.holds { 0 } else { self.answer.seen() };
        let turn = Turn { seen, items };
        self.answer.begin(!self.holds);
        self.held.clear();
        self.body.clear();
        self.turns.push(turn);
        let turns = self.turns.iter();
        turns.flat_map(|turn| turn.items.iter().cloned()).collect()
    }

    /// Ends the answer. If the last turn also calls tools of the client, `shown` has the results of the gateway's
    /// tool in this turn. Returns the bytes that the client sees, and the aside that the client does not see.
    pub(crate) fn close(&mut self, shown: &[(Call, Shown)]) -> (Vec<u8>, Option<Aside>) {
        let mut beside = Vec::new();
        if !shown.is_empty() {
            for ((seen, call, text), (_, shown)) in self.answer.calls().into_iter().zip(shown) {
                beside.push(Beside {
                    seen,
                    call: text,
                    result: tool::block(self.form, &call, shown).to_string(),
                });
            }
        }
        // Of an answer that is too long, nobody could tell its place in the next list.
        let is_aside = !self.is_full && (!self.turns.is_empty() || !beside.is_empty());
        let aside = is_aside.then(|| Aside {
            seen: self.answer.pieces(),
            turns: std::mem::take(&mut self.turns),
            beside,
            tokens: 0,
        });
        let mut out = std::mem::take(&mut self.held);
        if self.is_stream {
            self.answer.tail(&mut out);
            out.extend(self.events.rest());
        } else if self.answer.differs() {
            out = self.answer.combined().into_bytes();
        } else {
            out = std::mem::take(&mut self.body);
        }
        (out, aside)
    }

    /// Ends an answer that has broken off, and returns the bytes that were held back.
    pub(crate) fn broken(&mut self) -> Vec<u8> {
        let mut out = std::mem::take(&mut self.held);
        if self.is_stream {
            self.answer.tail(&mut out);
            out.extend(self.events.rest());
        } else {
            out = std::mem::take(&mut self.body);
        }
        out
    }

    /// Returns the event that tells an error in a stream. `told` is the error in the words of the provider, or a text
    /// of the gateway.
    pub(crate) fn error(&self, told: &Json) -> Vec<u8> {
        let mut told = with_message(told);
        match self.form {
            Form::OpenAi => format!("data: {told}\n\n").into_bytes(),
            Form::Anthropic => event(&told, "error"),
            // The event has the members of the error, as the API describes it. The packages of the provider see an
            // error only if the event also has the member `error`.
            Form::Responses => {
                for key in ["code", "message", "param"] {
                    let value = told["error"][key].clone();
                    set(&mut told, key, value);
                }
                set(&mut told, "type", Json::from("error"));
                set(&mut told, "sequence_number", self.answer.number().into());
                event(&told, "error")
            }
        }
    }
}

/// Returns an error whose member `error` has a message. Clients look for it there, and would take an event without it
/// for a part of the answer.
fn with_message(told: &Json) -> Json {
    let error = match told {
        Json::Object(_) if told["error"]["message"].is_string() => return told.clone(),
        Json::Object(_) if told["message"].is_string() => told.clone(),
        other => {
            let message = match other["error"].as_str().or(other.as_str()) {
                Some(text) if other.is_string() => format!("accp gateway: {text}"),
                Some(text) => text.to_owned(),
                None => other.to_string(),
            };
            serde_json::json!({ "type": "api_error", "message": message, "param": null, "code": null })
        }
    };
    serde_json::json!({ "type": "error", "error": error })
}

/// Returns an event with a name.
fn event(json: &Json, name: &str) -> Vec<u8> {
    format!("event: {name}\ndata: {json}\n\n").into_bytes()
}

/// Returns the sum of two usages. Values that are not numbers are taken from the second one, if it has them.
fn added(one: &Json, other: &Json) -> Json {
    match (one, other) {
        (Json::Object(one), Json::Object(other)) => {
            let mut sum = one.clone();
            for (key, value) in other {
                let before = one.get(key).unwrap_or(&Json::Null);
                sum.insert(key.clone(), added(before, value));
            }
            Json::Object(sum)
        }
        (one, Json::Null) => one.clone(),
        (one, other) => match (one.as_u64(), other.as_u64()) {
            (Some(one), Some(other)) => Json::from(one.saturating_add(other)),
            _ => other.clone(),
        },
    }
}

/// Sets a member, if the value is an object.
fn set(json: &mut Json, key: &str, value: Json) {
    if let Some(map) = json.as_object_mut() {
        map.insert(key.to_owned(), value);
    }
}

/// Returns the arguments of a call; null if they are not JSON.
fn arguments(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or(Json::Null)
}

#[cfg(test)]
mod tests;
