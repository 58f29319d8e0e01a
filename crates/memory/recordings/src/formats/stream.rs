//! Joins answers that were recorded piece by piece, as a provider streams them.

use serde_json::{Map, Value as Json, json};

use super::draft::Draft;
use super::fields::is_void;

/// Returns whether this is a piece of a streamed answer.
pub(crate) fn is_piece(json: &Json) -> bool {
    is_chunk(json) || is_event(json) || is_finished(json)
}

fn is_chunk(json: &Json) -> bool {
    let choices = json["choices"].as_array();
    choices.is_some_and(|all| all.iter().any(|choice| choice["delta"].is_object()))
        || json["object"] == "chat.completion.chunk"
}

/// Returns whether this is an event of Anthropic's streams.
fn is_event(json: &Json) -> bool {
    const EVENTS: [&str; 7] = [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
    ];
    let kind = json["type"].as_str().unwrap_or_default();
    EVENTS.contains(&kind)
}

/// Returns whether this is an event of OpenAI Responses' streams.
fn is_finished(json: &Json) -> bool {
    let kind = json["type"].as_str().unwrap_or_default();
    kind.starts_with("response.")
}

/// Joins the pieces of an answer to one message. The message keeps the pieces, too.
pub(super) fn join(json: &Json) -> Option<Json> {
    let pieces = json.as_array().filter(|all| !all.is_empty())?;
    let mut answer = Answer::default();
    let all = if pieces.iter().all(is_chunk) {
        pieces.iter().all(|piece| answer.chunk(piece).is_some())
    } else if pieces.iter().all(is_event) {
        pieces.iter().all(|piece| answer.event(piece).is_some())
    } else {
        false
    };
    all.then(|| answer.message(json.clone()))
}

/// An answer while its pieces are joined.
#[derive(Default)]
struct Answer {
    thinking: String,
    text: String,
    calls: Vec<Call>,
    /// The index of the block of each call of Anthropic.
    blocks: Vec<u64>,
}

#[derive(Default)]
struct Call {
    id: Option<Json>,
    name: String,
    arguments: String,
}

impl Answer {
    /// Adds a piece of OpenAI's chat. Returns `None` if the piece says something else.
    fn chunk(&mut self, piece: &Json) -> Option<()> {
        const KNOWN: [&str; 4] = ["role", "content", "reasoning_content", "tool_calls"];
        for choice in piece["choices"].as_array().into_iter().flatten() {
            let delta = &choice["delta"];
            let mut all = delta.as_object().into_iter().flatten();
            let known = all.all(|(key, value)| KNOWN.contains(&key.as_str()) || is_void(value));
            known.then_some(())?;
            let text_of = |key: &str| delta[key].as_str().unwrap_or_default();
            self.thinking.push_str(text_of("reasoning_content"));
            self.text.push_str(text_of("content"));
            for call in delta["tool_calls"].as_array().into_iter().flatten() {
                let function = &call["function"];
                let index = call["index"].as_u64().unwrap_or(0);
                let index = usize::try_from(index).unwrap_or(0).min(self.calls.len());
                if index == self.calls.len() {
                    self.calls.push(Call::default());
                }
                let made = &mut self.calls[index];
                if call["id"].is_string() {
                    made.id = Some(call["id"].clone());
                }
                made.name
                    .push_str(function["name"].as_str().unwrap_or_default());
                let arguments = function["arguments"].as_str();
                made.arguments.push_str(arguments.unwrap_or_default());
            }
        }
        Some(())
    }

    /// Adds an event of Anthropic. Returns `None` if the event says something else.
    fn event(&mut self, piece: &Json) -> Option<()> {
        const BLOCKS: [&str; 3] = ["text", "thinking", "tool_use"];
        const DELTAS: [&str; 4] = [
            "text_delta",
            "thinking_delta",
            "signature_delta",
            "input_json_delta",
        ];
        let is_known = |json: &Json, known: &[&str]| {
            json["type"]
                .as_str()
                .is_none_or(|kind| known.contains(&kind))
        };
        let known =
            is_known(&piece["content_block"], &BLOCKS) && is_known(&piece["delta"], &DELTAS);
        known.then_some(())?;
        let index = piece["index"].as_u64().unwrap_or(0);
        let text_of = |json: &Json, key: &str| json[key].as_str().unwrap_or_default().to_owned();
        let block = &piece["content_block"];
        self.text.push_str(&text_of(block, "text"));
        self.thinking.push_str(&text_of(block, "thinking"));
        if block["name"].is_string() {
            self.blocks.push(index);
            self.calls.push(Call {
                id: block.get("id").cloned(),
                name: text_of(block, "name"),
                arguments: String::new(),
            });
        }
        let delta = &piece["delta"];
        self.text.push_str(&text_of(delta, "text"));
        self.thinking.push_str(&text_of(delta, "thinking"));
        let call = self.blocks.iter().position(|block| *block == index);
        if let Some(call) = call.and_then(|call| self.calls.get_mut(call)) {
            call.arguments.push_str(&text_of(delta, "partial_json"));
        }
        Some(())
    }

    fn message(self, pieces: Json) -> Json {
        let mut draft = Draft::new("assistant");
        if !self.thinking.is_empty() {
            draft.named("thinking", self.thinking, Map::new());
        }
        if !self.text.is_empty() || self.calls.is_empty() {
            draft.text(self.text);
        }
        for call in self.calls {
            let arguments = if call.arguments.is_empty() {
                json!({})
            } else {
                call.arguments.into()
            };
            draft.call(call.id, Some(call.name.into()), Some(arguments), Map::new());
        }
        draft.about([("pieces".to_owned(), pieces)].into_iter().collect());
        draft.into_json()
    }
}
