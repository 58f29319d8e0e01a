//! Frames in plain words, for people: command lines, logs and pages (draft section 9, item 1).
//!
//! ```
//! use accp_frame::words::twin;
//! use accp_runtime::Registry;
//!
//! let frame = "@planner>req:schedule{asgn:dev|task:impl_auth|schema:TA}";
//! let words = "planner requests schedule: assignee dev, task impl_auth";
//! assert_eq!(twin(frame, Registry::shared()), words);
//! ```

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;
use std::sync::LazyLock;

use accp_registry::{Field, FrameSpec, Intent, Limits, Registry, Schema, abbreviate};

use crate::dynamic_frame::DynamicFrame;
use crate::error::DecodeError;
use crate::frame::{Frame, Param};
use crate::reader::DecodeOptions;
use crate::value::Value;

/// Options without size limits, for the frames of a log. The host has already checked these frames, perhaps under
/// higher limits than the default.
pub const UNLIMITED: DecodeOptions = DecodeOptions {
    limits: Limits::NONE,
    marks: true,
};

/// Reads the message of an entry of a log, of any length. A single part of a split frame can be refused, because
/// fields that the schema requires may stand in another part.
///
/// # Errors
/// As [`DynamicFrame::decode_with`].
pub fn message<'a>(text: &'a str, registry: &Registry) -> Result<DynamicFrame<'a>, DecodeError> {
    DynamicFrame::decode_with(text, registry, &UNLIMITED)
}

/// Returns the human-readable twin of a frame: one line of plain words, under full names. The twin leaves out the same
/// fields as the frame. A frame whose schema the registry lacks keeps its keys, and the code of the schema follows. A text
/// that is not a readable frame is quoted. No control character is left in the line, so a terminal cannot act on it.
pub fn twin(text: &str, registry: &Registry) -> String {
    let frame = Frame::parse_with(text, &UNLIMITED);
    let (Ok(frame), Ok(message)) = (&frame, message(text, registry)) else {
        let envelope = frame.as_ref().ok().and_then(|frame| frame.envelope().ok());
        let is_part = envelope.is_some_and(|envelope| envelope.extra.get("pt").is_some());
        let foreign = frame.as_ref().ok().filter(|_| !is_part);
        if let Some(words) = foreign.and_then(without_schema) {
            return words;
        }
        let what = ["not a readable frame", "as it was written"][usize::from(is_part)];
        return format!("{what}: {text:?}");
    };
    let mut out = format!("{} ", message.agent);
    match of_the_session(&message).and_then(|(_, frame)| frame.doc.as_ref()) {
        Some(sentence) => {
            let mut letters = sentence.trim_end_matches('.').chars();
            out.extend(letters.next().map(|first| first.to_ascii_lowercase()));
            out.extend(letters);
        }
        None => {
            let _ = write!(out, "{} {}", verb(message.intent), message.operation);
        }
    }
    let mut separator = ":";
    let is_brief = of_the_session(&message).is_some();
    for (key, value) in stated(frame, &message, registry) {
        let _ = write!(out, "{separator} {} ", name(key));
        write_value(&mut out, value, is_brief);
        separator = ",";
    }
    out
}

/// Returns the twin of a frame with the keys as they stand in the frame, because the registry does not know its
/// schema, or knows another schema by that code. The twin ends with the code.
fn without_schema(frame: &Frame<'_>) -> Option<String> {
    let intent = Intent::lookup(&frame.intent)?;
    let is_schema = |param: &&Param<'_>| param.key == "schema";
    let schema = frame.payload.iter().find(is_schema)?;
    let mut out = format!("{} {} {}", frame.agent, verb(intent), frame.operation);
    let mut separator = ":";
    for param in frame.payload.iter().filter(|param| !is_schema(param)) {
        let _ = write!(out, "{separator} {} ", name(&param.key));
        write_value(&mut out, &param.value.value().ok()?, false);
        separator = ",";
    }
    let _ = write!(out, " (schema {})", name(schema.value.as_str()));
    Some(out)
}

/// Returns the schema of a control frame, and the declaration of the frame in this schema. Both are from the registry
/// of the session's own frames. Returns `None` for a frame between agents.
pub fn of_the_session(message: &DynamicFrame<'_>) -> Option<(&'static Schema, &'static FrameSpec)> {
    static SESSION: LazyLock<Registry> = LazyLock::new(Registry::session);
    let head = [message.intent.as_str(), &*message.operation];
    SESSION.frame(&head).filter(|_| message.schema.is_none())
}

/// Returns whether `name`, the name of a param in `message`, means this field. Without a schema code, the reader could
/// not expand the short keys of the schema. So for a message without a schema code, this compares short names.
pub fn is_at(field: &Field, name: &str, message: &DynamicFrame<'_>) -> bool {
    match message.schema {
        Some(_) => field.name == name,
        None => field.short == abbreviate(name).unwrap_or(name),
    }
}

/// Returns the fields that the text of a frame has, under full names and in the order of the text, without defaults.
pub fn stated<'m, 'a>(
    frame: &Frame<'_>,
    message: &'m DynamicFrame<'a>,
    registry: &'m Registry,
) -> Vec<(&'m str, &'m Value<'a>)> {
    let schema = match message.schema {
        Some(_) => message.schema_in(registry),
        None => of_the_session(message).map(|(schema, _)| schema),
    };
    let stated = |(key, value)| {
        let field = schema.and_then(|schema| schema.fields.iter().find(|f| is_at(f, key, message)));
        let name = field.map_or(key, |field| &*field.name);
        let short = abbreviate(key).unwrap_or(key);
        let is_key = |stated: &str| match field {
            Some(field) => field.keys().any(|key| key == stated),
            None => stated == short,
        };
        // If a key does not fit the grammar, the frame has it in the param `_`.
        let stands = |param: &Param<'_>| {
            let stated = &*param.key;
            stated == key || stated == "_" || is_key(stated)
        };
        Some((frame.payload.iter().position(stands)?, (name, value)))
    };
    let mut said: Vec<_> = message.payload.iter().filter_map(stated).collect();
    said.sort_by_key(|(place, _)| *place);
    said.into_iter().map(|(_, entry)| entry).collect()
}

/// Escapes a name from a file, so that a terminal cannot act on it.
pub fn name(text: &str) -> Cow<'_, str> {
    let escaped = format!("{text:?}");
    if escaped[1..escaped.len() - 1] == *text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(escaped)
    }
}

/// Returns a text from an unknown author so that it can be printed on one line of a terminal or a log. Escapes
/// invisible characters and characters that a terminal could act on.
///
/// ```
/// use accp_frame::words::printable;
///
/// assert_eq!(printable("a \"frame\", né"), "a \"frame\", né");
/// assert_eq!(printable("\u{1b}[31m\nFAKE \u{202e}"), r"\u{1b}[31m\nFAKE \u{202e}");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_printable) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_printable(c) {
            escaped.push(c);
        } else {
            escaped.extend(c.escape_debug());
        }
    }
    Cow::Owned(escaped)
}

/// Returns whether a character can be printed as it is: a terminal shows the character, does not act on it, and keeps
/// the order of the characters around it.
///
/// ```
/// use accp_frame::words::is_printable;
///
/// assert!(['a', 'é', '\\', '"'].into_iter().all(is_printable));
/// assert!(!['\n', '\u{9b}', '\u{202e}'].into_iter().any(is_printable));
/// ```
pub fn is_printable(c: char) -> bool {
    matches!(c, '\'' | '"' | '\\') || c.escape_debug().len() == 1
}

fn verb(intent: Intent) -> &'static str {
    match intent {
        Intent::REQ => "requests",
        Intent::DONE => "completes",
        Intent::FAIL => "reports a failure,",
        Intent::WAIT => "waits,",
        Intent::ESC => "escalates",
        Intent::COMP => "asks to compress",
        Intent::SYNC => "synchronizes",
        Intent::QRY => "queries",
        Intent::ACK => "acknowledges",
        Intent::CANCEL => "cancels",
        Intent::STREAM => "streams",
        Intent::END => "ends the stream",
        Intent::PING => "asks whether the peer is there",
        Intent::PONG => "answers a ping",
        _ => "says",
    }
}

/// Writes a value. References are written as in a frame. A text is bare if it is one word, else quoted and escaped, so
/// that a terminal cannot act on it. With `is_brief`, which is for control frames, only the first digits of a hash are
/// written.
fn write_value(out: &mut String, value: &Value<'_>, is_brief: bool) {
    match value {
        Value::String(text) => {
            let is_word =
                |c: char| c.is_alphanumeric() || "_-./+%@#".contains(c) || (is_brief && c == '=');
            if !text.is_empty() && text.chars().all(is_word) {
                match text.get(..12).filter(|_| is_brief && text.len() >= 64) {
                    Some(first) => out.extend([first, ".."]),
                    None => out.push_str(text),
                }
            } else {
                let _ = write!(out, "{text:?}");
            }
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_value(out, item, is_brief);
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push('{');
            for (at, (key, item)) in map.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_value(out, &Value::from(key), is_brief);
                out.push_str(": ");
                write_value(out, item, is_brief);
            }
            out.push('}');
        }
        Value::Ref(key) => {
            let _ = write!(out, "${key}");
        }
        Value::Null => out.push_str("nothing"),
        scalar => {
            let _ = write!(out, "{}", scalar.to_json());
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> String {
        twin(text, Registry::shared())
    }

    #[test]
    fn a_frame_has_a_twin_under_full_names() {
        let twins = [
            "@planner>req:schedule{asgn:dev|task:impl_auth|dead:sprint_14|deps:[a,b]|schema:TA}",
            "@user>req:chat{content:What_are_Q3_findings?|role:user|turn:1|schema:CH}",
            "@o>req:tool{tool:web_search|args:{q:ACCP,max:5}|schema:TC}[mid:1,seq:1]",
            "@analyst>qry:lookup{src:$ctx.sales_db|q:revenue_by_region|old:~}",
            "@dev>fail:error{code:E4002|msg:No_such_file%0A|retry:true|schema:ER}",
            "@a>ping:link{}",
            "@h>sync:join{agents:[dev]|n:101}",
            "@h>sync:put{keys:[[k101_1,00,312],[k101_2,00,1]]}",
            "@h>sync:checkpoint{at:0|covers:7|id:ckpt_2|kept:[[8,12]]|left:[1-5,7]|on:[done,esc]}",
            "@h>sync:state{v:1|delta:{task_1:wip}}",
            "@dev>req:note{text:soup|size:4|schema:NOTE}[mid:1]",
            "@dev>req:transaction{price:low|schema:TX}",
            "@h>req:plan{_:[[a key,1]]}",
            "garbage\u{1b}[2J",
        ];
        insta::assert_snapshot!(twins.map(words).join("\n"), @r#"
        planner requests schedule: assignee dev, task impl_auth, deadline sprint_14, deps [a, b]
        user requests chat: content "What are Q3 findings?", role user, turn 1
        o requests tool: tool_name web_search, arguments {max: 5, q: ACCP}
        analyst queries lookup: source $ctx.sales_db, query revenue_by_region, old nothing
        dev reports a failure, error: code E4002, msg "No such file\n", retry true
        a asks whether the peer is there
        h lets a member in: agents [dev], member 101
        h puts values into cold state: keys [[k101_1, 00, 312], [k101_2, 00, 1]]
        h takes a checkpoint: at 0, covers 7, id ckpt_2, kept [[8, 12]], left [1-5, 7], triggers [done, esc]
        h synchronizes state: version 1, delta {task_1: wip}
        dev requests note: text soup, size 4 (schema NOTE)
        dev requests transaction: price low (schema TX)
        not a readable frame: "@h>req:plan{_:[[a key,1]]}"
        not a readable frame: "garbage\u{1b}[2J"
        "#);
    }

    proptest! {
        /// The twin of any frame is one line without characters that a terminal could act on.
        #[test]
        fn a_twin_is_one_line(text in any::<String>(), key in any::<String>()) {
            let message = DynamicFrame::new("a", "req", "plan").unwrap().with(key, text);
            let frame = message.encode(Registry::shared()).unwrap();
            for text in [frame, message.payload.iter().map(|(_, v)| v.to_string()).collect()] {
                let line = words(&text);
                prop_assert!(!line.contains(char::is_control), "{line:?}");
            }
        }
    }

    #[test]
    fn a_name_is_bare_unless_it_could_do_harm() {
        assert_eq!(name("tau_airline/0 größer"), "tau_airline/0 größer");
        assert_eq!(name("a\u{1b}[2J\u{202e}\nb"), r#""a\u{1b}[2J\u{202e}\nb""#);
    }
}
