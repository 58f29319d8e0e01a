//! A request of the session as a message for an agent of A2A.

use a2a::{AgentCard, Message, Part, Role};
use accp_client::Agent;
use accp_frame::Registry;

use crate::expand::{AnswerQuota, with_values};
use crate::frame::{ACCP, TEXT, TO, TaskFrame};
use crate::log::Log;
use crate::render::{chat_text, frame_part};

/// Returns a request as a message: a frame if the agent takes frames, and text otherwise. Values
/// replace references, which the agent cannot read.
pub(super) async fn message(
    id: String,
    text: &str,
    card: &AgentCard,
    agent: &Agent,
    registry: &Registry,
) -> Message {
    let log = Log::Agent(agent.clone());
    let whole = with_values(text, &log, registry, &mut AnswerQuota::new(usize::MAX)).await;
    let takes_frames = card.default_input_modes.iter().any(|mode| {
        let mode = mode.split(';').next().unwrap_or_default();
        mode.trim().eq_ignore_ascii_case(ACCP)
    });
    let part = if takes_frames {
        // A field of the frame may name an agent of this session. The other session does not know that agent, so the
        // host of the other session chooses who gets the request.
        frame_part(&format!("{}[{TO}:?]", head(&whole)))
    } else {
        let text = chat_text(&whole, registry).unwrap_or_else(|| head(&whole));
        Part::text(text).with_media_type(TEXT)
    };
    Message {
        message_id: id,
        ..Message::new(Role::User, vec![part])
    }
}

/// Returns the text of a frame without its envelope, which has a meaning in this session only.
fn head(text: &str) -> String {
    TaskFrame::read_wide(text).map_or_else(|_| text.to_owned(), |frame| frame.head())
}
