//! Events as frames of ACCP, and back.
//!
//! ```
//! use accp_collab::{Event, frames};
//!
//! let line = r#"{"seq":4,"from":"server","event":"proposal_submitted","at":"2026-01-01T00:00:00Z","summary":"Please_review","doc":"proposal.md","reply_to":3}"#;
//! let event = Event::from_line(line).unwrap();
//! let frame = frames::to_frame(&event)?;
//! assert_eq!(
//!     frame,
//!     r"@server>done:proposal_submitted{at:2026-01-01T00\:00\:00Z|doc:proposal.md|re:3|seq:4|summary:Please_review}",
//! );
//! assert_eq!(frames::from_frame(&frame).unwrap(), event);
//! # Ok::<(), accp_frame::EncodeError>(())
//! ```

use accp_frame::{
    AgentId, DecodeOptions, DynamicFrame, EncodeError, EncodeOptions, Limits, Map, Value,
};
use accp_registry::Registry;

use crate::event::{Event, EventName, Role};
use crate::finding::{Code, Finding};
use crate::folder::sha256;

/// The param for the id of the participant, if the agent has another name than the participant.
const FROM: &str = "from";

/// Returns the agent of a participant: the participant itself if its id fits the grammar of frames; otherwise
/// its letters and digits with the first eight digits of its SHA-256.
///
/// ```
/// assert_eq!(accp_collab::frames::agent_of("server"), "server");
/// assert!(accp_collab::frames::agent_of("cy d").starts_with("cyd-"));
/// ```
pub fn agent_of(participant: &str) -> String {
    if AgentId::new(participant).is_ok() {
        return participant.to_owned();
    }
    let letters = participant.chars().filter(char::is_ascii_alphanumeric);
    let plain: String = letters.take(20).collect();
    let digest = sha256(participant.as_bytes());
    format!("{plain}-{}", digest.get(..8).unwrap_or_default())
}

/// Returns the frame of an event.
///
/// # Errors
/// No event causes an error: the names of events fit the grammar, and their texts may be long.
pub fn to_frame(event: &Event) -> Result<String, EncodeError> {
    let agent = agent_of(&event.from);
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let has_other_name = agent != event.from;
    let mut frame = DynamicFrame::new(agent, "done", event.event.as_str())?
        .with("at", event.at.clone())
        .with("seq", number(event.seq))
        .with("summary", event.summary.clone());
    if has_other_name {
        frame = frame.with(FROM, event.from.clone());
    }
    if let Some(doc) = &event.doc {
        frame = frame.with("doc", doc.clone());
    }
    if let Some(reply_to) = event.reply_to {
        frame = frame.with("re", number(reply_to));
    }
    if let Some(role) = event.role {
        frame = frame.with("role", role.as_str());
    }
    if let Some(sha256) = &event.sha256 {
        frame = frame.with("sha256", sha256.clone());
    }
    // A frame may be as long as its line of the log.
    let options = EncodeOptions {
        limits: Limits::NONE,
        inline: true,
        ..EncodeOptions::default()
    };
    frame.encode_with(&Registry::default(), options)
}

/// Returns the event of a frame.
///
/// # Errors
/// The first mistake in the frame, with the code for the member of the event.
pub fn from_frame(text: &str) -> Result<Event, Vec<Finding>> {
    let wrong = |code, text: String| vec![Finding::new(code, text)];
    let options = DecodeOptions {
        limits: Limits::NONE,
        ..DecodeOptions::default()
    };
    let frame =
        DynamicFrame::decode_with(text, &Registry::default(), &options).map_err(|error| {
            wrong(
                Code::Unreadable,
                format!("the line is not a frame ({error}); copy it again"),
            )
        })?;
    let name = EventName::named(&frame.operation).filter(|_| frame.intent.to_string() == "done");
    let event = name.ok_or_else(|| {
        let text = format!(
            "`{}:{}` is not an event; a frame of an event is `done:` and its name",
            frame.intent, frame.operation
        );
        wrong(Code::EventUnknown, text)
    })?;
    let params = &frame.payload;
    let known = ["at", "seq", "summary", FROM, "doc", "re", "role", "sha256"];
    if let Some((key, _)) = params.iter().find(|(key, _)| !known.contains(key)) {
        return Err(wrong(
            Code::FieldMissing,
            format!("an event has no `{key}`; remove it"),
        ));
    }
    let from = member(params, FROM, text_of)?.unwrap_or_else(|| frame.agent.as_str().to_owned());
    if agent_of(&from) != frame.agent.as_str() {
        let text = format!(
            "`{FROM}` is not the participant of the agent {}; copy the frame again",
            frame.agent
        );
        return Err(wrong(Code::ParticipantUnknown, text));
    }
    let role = member(params, "role", text_of)?;
    let role = role
        .map(|name| {
            Role::named(&name).ok_or_else(|| {
                wrong(
                    Code::RoleMissing,
                    "`role` is unknown; write primary or supporting".to_owned(),
                )
            })
        })
        .transpose()?;
    Ok(Event {
        seq: needed(member(params, "seq", number_of)?, "seq")?,
        from,
        event,
        at: needed(member(params, "at", text_of)?, "at")?,
        summary: needed(member(params, "summary", text_of)?, "summary")?,
        doc: member(params, "doc", text_of)?,
        reply_to: member(params, "re", number_of)?,
        role,
        sha256: member(params, "sha256", text_of)?,
    })
}

fn text_of(value: &Value<'_>) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn number_of(value: &Value<'_>) -> Option<u64> {
    match value {
        Value::Integer(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// Reads a param that may be left out.
fn member<T>(
    params: &Map<'_>,
    key: &str,
    read: fn(&Value<'_>) -> Option<T>,
) -> Result<Option<T>, Vec<Finding>> {
    let value = params.get(key);
    value
        .map(|value| {
            let text = format!("`{key}` has the wrong type; copy the frame again");
            read(value).ok_or_else(|| vec![Finding::new(Code::FieldMissing, text)])
        })
        .transpose()
}

fn needed<T>(value: Option<T>, key: &str) -> Result<T, Vec<Finding>> {
    let text = format!("`{key}` is missing; copy the frame again");
    value.ok_or_else(|| vec![Finding::new(Code::FieldMissing, text)])
}
