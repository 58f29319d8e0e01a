//! The error for a frame that no variant of an enum accepts.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use accp_registry::{ErrorCode, Intent, lexical, nearest};

use super::FrameTypes;
use crate::envelope::Envelope;
use crate::error::DecodeError;
use crate::reader::{Header, Reader};
use crate::writer::FrameType;

/// The greatest length of a peer's header or schema code that an error repeats.
const WORD: usize = 40;
/// The greatest number of frames that an error lists.
const LISTED: usize = 8;

/// Refuses a frame that no variant of the enum `name` accepts. The error names the type of the frame, and the accepted
/// frame types that are most similar.
#[cold]
pub fn no_variant<T>(
    header: &Header<'_>,
    schema: Option<&str>,
    r: &Reader<'_>,
    name: &'static str,
    types: &FrameTypes,
) -> Result<T, DecodeError> {
    let code = match Intent::lookup(header.intent) {
        Some(_) => ErrorCode::INVALID_TYPE,
        None => ErrorCode::INVALID_INTENT,
    };
    let mut ahead = r.clone();
    let mut scan = || {
        while ahead.param()?.is_some() {
            ahead.skip_value()?;
        }
        Envelope::read(&mut ahead)
    };
    match scan() {
        Err(fault) if fault.code() == ErrorCode::PARSE_ERROR => Err(fault),
        _ => {
            let expected = expected(header, schema, name, types);
            Err(DecodeError::new(code, 2 + header.agent.len(), expected))
        }
    }
}

fn expected(
    header: &Header<'_>,
    schema: Option<&str>,
    name: &'static str,
    types: &FrameTypes,
) -> String {
    let mut known: Vec<FrameType<'static>> = Vec::new();
    types.each(&mut |frame| known.push(*frame));
    let head = |frame: &FrameType<'_>| format!("{}:{}", frame.intent, frame.operation);
    let found = format!("{}:{}", header.intent, header.operation);
    let is_short = found.len() <= WORD && schema.is_none_or(|code| code.len() <= WORD);
    // A schema code has the form of a key. Any other text is payload, which an error does not repeat.
    let is_word = schema.is_none_or(lexical::is_key);
    let what = if is_short && is_word {
        titled(&found, schema)
    } else {
        String::from("this one")
    };
    let same_head = known.iter().filter(|frame| head(frame) == found);
    let same_head: Vec<String> = same_head
        .map(|frame| titled(&head(frame), frame.schema))
        .collect();
    let hint = if same_head.is_empty() {
        let of_schema = known.iter().filter(|frame| frame.schema == schema);
        let of_schema: Vec<String> = of_schema.map(&head).collect();
        let all: Vec<String> = known.iter().map(&head).collect();
        let near = |heads: &[String]| {
            let near = nearest(&found, heads.iter().map(String::as_str))?;
            let frame = known.iter().find(|frame| head(frame) == near)?;
            Some(titled(near, frame.schema))
        };
        match near(&of_schema).or_else(|| near(&all)) {
            Some(near) => format!("did you mean {near}?"),
            None if !of_schema.is_empty() => listed(&of_schema, "this schema has"),
            None => listed(&all, "there are"),
        }
    } else {
        listed(&same_head, "there is")
    };
    format!("a frame of {name}, which {what} is not; {hint}")
}

/// Returns a head with its schema.
fn titled(head: &str, schema: Option<&str>) -> String {
    match schema {
        Some(code) => format!("`{head}` of schema {code}"),
        None => format!("`{head}` without a schema"),
    }
}

fn listed(names: &[String], what: &str) -> String {
    let rest = names.len().saturating_sub(LISTED);
    let names = names[..names.len() - rest].join(", ");
    match rest {
        0 => format!("{what} {names}"),
        rest => format!("{what} {names} and {rest} more"),
    }
}
