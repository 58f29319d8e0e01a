//! A request of the session, as a message for an agent of A2A.

use a2a::{AgentCard, Message, Part, Role};
use accp_client::Agent;
use accp_frame::{Message as Dynamic, Registry, Value};

use crate::log::Log;
use crate::said::{ACCP, Said, TEXT, WIDE};
use crate::shown::frame;
use crate::values::{Room, with_values};

/// Fields that name the agent whom a request is for.
const FOR: [&str; 2] = ["assignee", "destination"];

/// Returns whether a request is for another agent than this one.
pub(super) fn is_for_another(request: &Dynamic<'_>, agent: &str) -> bool {
    let named = |field: &&str| request.payload.get(field).and_then(Value::as_str);
    let mut named = FOR.iter().filter_map(named);
    named.any(|name| name.trim_start_matches('@') != agent)
}

/// Returns a request as a message: a frame if the agent takes frames, and otherwise its words. Values stand
/// in the place of references, which the agent cannot read.
pub(super) async fn message(
    id: String,
    text: &str,
    card: &AgentCard,
    agent: &Agent,
    registry: &Registry,
) -> Message {
    let log = Log::Agent(agent.clone());
    let whole = with_values(text, &log, registry, &mut Room::of_an_answer()).await;
    let takes_frames = card.default_input_modes.iter().any(|mode| {
        let mode = mode.split(';').next().unwrap_or_default();
        mode.trim().eq_ignore_ascii_case(ACCP)
    });
    let part = if takes_frames {
        frame(&head(&whole))
    } else {
        let words = words(&whole, registry).unwrap_or_else(|| head(&whole));
        Part::text(words).with_media_type(TEXT)
    };
    Message {
        message_id: id,
        ..Message::new(Role::User, vec![part])
    }
}

/// Returns the text of a frame without its envelope, which means something in this session alone.
fn head(text: &str) -> String {
    Said::read_wide(text).map_or_else(|_| text.to_owned(), |said| said.head())
}

/// Returns the words of a message of a conversation.
fn words(text: &str, registry: &Registry) -> Option<String> {
    let request = Dynamic::decode_with(text, registry, &WIDE).ok()?;
    let is_chat = request.schema.as_deref() == Some("CH");
    let content = request.payload.get("content").filter(|_| is_chat)?;
    content.as_str().map(str::to_owned)
}
