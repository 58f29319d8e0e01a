//! Valid lists of messages, generated in all three forms.
//!
//! A [`Script`] says what happens in a conversation, without a form. So a test can write the same conversation in
//! each form.

pub(crate) mod render;

use accp_memory::{Form, MessageList};
use proptest::prelude::*;
use serde_json::Value as Json;

/// A conversation without a form.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) turns: Vec<Turn>,
    /// How many results of the last calls are not there yet, if the list ends with calls.
    pub(crate) in_flight: usize,
}

/// Messages of the user and the steps that the assistant takes for them.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    /// A text of the system before the turn, and whether the role is `developer`.
    pub(crate) system: Option<(String, bool)>,
    /// The messages of the user, at least one.
    pub(crate) users: Vec<User>,
    pub(crate) steps: Vec<Step>,
}

/// A message of the user.
#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) text: String,
    /// Whether the content is a list of parts.
    pub(crate) parts: bool,
    pub(crate) image: bool,
    /// Whether the text is empty, where the form allows that.
    pub(crate) empty: bool,
}

/// One step of the assistant: its words and calls, and the results of the calls.
// Each bool is an independent choice.
#[allow(clippy::struct_excessive_bools)]
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// How many blocks of thinking come first.
    pub(crate) thinking: usize,
    /// Whether the last block of thinking is redacted.
    pub(crate) redacted: bool,
    pub(crate) text: Option<String>,
    /// Whether white space follows the text, where the form allows that.
    pub(crate) trailing: bool,
    /// Whether a tool of the provider searches first.
    pub(crate) search: bool,
    pub(crate) calls: Vec<Call>,
    /// Whether the calls have the ids that earlier calls had, where the form allows that.
    pub(crate) reuse: bool,
    /// Whether the results come in reverse order.
    pub(crate) reversed: bool,
    /// Whether the step or its results are several messages, where the form allows that.
    pub(crate) split: bool,
    /// A member that no provider knows.
    pub(crate) extra: Option<Json>,
}

/// A call and its result.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) kind: Kind,
    pub(crate) tool: String,
    pub(crate) arguments: Json,
    pub(crate) result: String,
    pub(crate) image: bool,
    pub(crate) failed: bool,
}

/// The kind of a call, where the form has it. The other forms write a function call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Function,
    Custom,
    /// The old `function_call`, if the step has only one call.
    Old,
    Computer,
    Shell,
    LocalShell,
    Patch,
}

/// Returns words that are not blank and do not end in white space.
pub(crate) fn text() -> impl Strategy<Value = String> {
    r#"[a-z"\\]{1,5}([ \n\t][a-zé😀"\\/]{1,4}){0,3}"#
}

fn arguments() -> impl Strategy<Value = Json> {
    let value = prop_oneof![
        text().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<bool>().prop_map(Json::from),
        Just(Json::Null),
        prop::collection::vec(text(), 0..3).prop_map(Json::from),
    ];
    prop::collection::vec(("[a-z]{1,4}", value), 0..3)
        .prop_map(|members| Json::Object(members.into_iter().collect()))
}

fn call() -> impl Strategy<Value = Call> {
    let kind = prop_oneof![
        6 => Just(Kind::Function),
        1 => Just(Kind::Custom),
        1 => Just(Kind::Old),
        1 => Just(Kind::Computer),
        1 => Just(Kind::Shell),
        1 => Just(Kind::LocalShell),
        1 => Just(Kind::Patch),
    ];
    let result = prop_oneof![4 => text(), 1 => Just(String::new())];
    let image = prop::bool::weighted(0.2);
    let parts = (
        kind,
        "[a-z_]{1,6}",
        arguments(),
        result,
        image,
        prop::bool::weighted(0.2),
    );
    parts.prop_map(|(kind, tool, arguments, result, image, failed)| Call {
        kind,
        tool,
        arguments,
        result,
        image,
        failed,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let seldom = || prop::bool::weighted(0.25);
    let extra = prop_oneof![4 => Just(None), 1 => arguments().prop_map(Some)];
    let said = (
        0..3_usize,
        seldom(),
        prop::option::of(text()),
        seldom(),
        seldom(),
    );
    let calls = prop_oneof![
        1 => Just(Vec::new()),
        2 => prop::collection::vec(call(), 1..4),
    ];
    let marks = (any::<bool>(), any::<bool>(), seldom(), extra);
    (said, calls, marks).prop_map(|(said, calls, marks)| {
        let (thinking, redacted, text, trailing, search) = said;
        let (reuse, reversed, split, extra) = marks;
        // A step without a call gets a text.
        let text = text.or_else(|| calls.is_empty().then(|| "done".to_owned()));
        Step {
            thinking,
            redacted,
            text,
            trailing,
            search,
            calls,
            reuse,
            reversed,
            split,
            extra,
        }
    })
}

fn user() -> impl Strategy<Value = User> {
    let seldom = || prop::bool::weighted(0.2);
    (text(), any::<bool>(), seldom(), seldom()).prop_map(|(text, parts, image, empty)| User {
        text,
        parts,
        image,
        empty,
    })
}

/// Returns conversations of one to four turns.
pub(crate) fn script() -> impl Strategy<Value = Script> {
    let system = prop::option::weighted(0.3, (text(), any::<bool>()));
    let users = prop::collection::vec(user(), 1..3);
    let turn = (system, users, prop::collection::vec(step(), 0..4));
    let turn = turn.prop_map(|(system, users, steps)| Turn {
        system,
        users,
        steps,
    });
    (prop::collection::vec(turn, 1..5), 0..4_usize)
        .prop_map(|(turns, in_flight)| Script { turns, in_flight })
}

/// Returns the messages of valid lists in a form.
pub(crate) fn messages(form: Form) -> impl Strategy<Value = Vec<Json>> {
    script().prop_map(move |script| render::messages(form, &script))
}

/// Returns the messages of valid lists, each with its form.
pub(crate) fn any_messages() -> impl Strategy<Value = (Form, Vec<Json>)> {
    (prop::sample::select(&Form::ALL[..]), script())
        .prop_map(|(form, script)| (form, render::messages(form, &script)))
}

/// Returns the texts of valid lists, each with its form. White space, numbers and escapes are spelt as no
/// writer of this repository spells them.
pub(crate) fn any_texts() -> impl Strategy<Value = (Form, Vec<String>)> {
    (any_messages(), any::<u64>()).prop_map(|((form, messages), seed)| {
        let mut seed = seed | 1;
        let texts = messages.iter().map(|message| spelt(message, &mut seed));
        (form, texts.collect())
    })
}

/// Reads messages as a list.
pub(crate) fn list(form: Form, messages: &[Json]) -> MessageList {
    let texts: Vec<_> = messages.iter().map(Json::to_string).collect();
    MessageList::of(form, texts.iter().map(String::as_str))
        .expect("a generated message is an object")
}

/// Writes a message with odd white space, escapes and numbers.
pub(crate) fn spelt(message: &Json, seed: &mut u64) -> String {
    let mut out = String::new();
    write(message, seed, true, &mut out);
    out
}

/// Returns the next random number below `below`. The seed must not be 0.
pub(crate) fn next(seed: &mut u64, below: u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed % below
}

fn space(seed: &mut u64, out: &mut String) {
    out.push_str(["", "", "", " ", "\n", "\t ", "\r\n  "][next(seed, 7) as usize]);
}

fn write(json: &Json, seed: &mut u64, top: bool, out: &mut String) {
    match json {
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                space(seed, out);
                write(item, seed, false, out);
                space(seed, out);
            }
            out.push(']');
        }
        Json::Object(map) => {
            out.push('{');
            for (index, (key, value)) in map.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                space(seed, out);
                out.push_str(&Json::from(key.as_str()).to_string());
                space(seed, out);
                out.push(':');
                space(seed, out);
                write(value, seed, false, out);
            }
            if top && next(seed, 3) == 0 {
                let numbers = [
                    "340282366920938463463374607431768211456",
                    "-0.0",
                    "1.10",
                    "1E+5",
                ];
                out.push_str(r#", "x_number" : "#);
                out.push_str(numbers[next(seed, 4) as usize]);
            }
            space(seed, out);
            out.push('}');
        }
        Json::String(text) if next(seed, 4) == 0 => {
            // This text gets escapes that no writer needs.
            out.push('"');
            for unit in text.encode_utf16() {
                out.extend(["\\u".to_owned(), format!("{unit:04X}")]);
            }
            out.push('"');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}
