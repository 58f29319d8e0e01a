//! Answers in the form of Anthropic's messages.

use serde_json::{Value as Json, json};

use super::cache::Billed;
use super::list::Asked;
use super::script::{Block, pieces};
use super::seal;

/// Returns the answer: one piece, or the events of a stream.
pub(super) fn answer(asked: &Asked, number: u64, said: &[Block], billed: Billed) -> Vec<String> {
    let content: Vec<Json> = said.iter().map(|block| block_of(asked, block)).collect();
    let calls = said.iter().any(|block| matches!(block, Block::Call { .. }));
    let stop = if calls { "tool_use" } else { "end_turn" };
    let message = |content: &[Json], stop: Option<&str>, output: u64| {
        json!({"id": format!("msg_{number:04}"), "type": "message", "role": "assistant", "model": asked.model(),
            "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage(billed, output)})
    };
    if !asked.is_stream() {
        return vec![message(&content, Some(stop), billed.output).to_string()];
    }
    let start = json!({"type": "message_start", "message": message(&[], None, 1)});
    let mut events = vec![event(&start) + &event(&json!({"type": "ping"}))];
    for (index, block) in content.iter().enumerate() {
        let (empty, deltas) = apart(block);
        let start = json!({"type": "content_block_start", "index": index, "content_block": empty});
        events.push(event(&start));
        for delta in deltas {
            events.push(event(
                &json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
        }
        events.push(event(
            &json!({"type": "content_block_stop", "index": index}),
        ));
    }
    let end = json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
        "usage": {"output_tokens": billed.output}});
    events.push(event(&end));
    events.push(event(&json!({"type": "message_stop"})));
    events
}

fn usage(billed: Billed, output: u64) -> Json {
    json!({"input_tokens": billed.input, "cache_creation_input_tokens": billed.written,
        "cache_read_input_tokens": billed.read,
        "cache_creation": {"ephemeral_5m_input_tokens": billed.written - billed.hourly,
            "ephemeral_1h_input_tokens": billed.hourly},
        "output_tokens": output, "service_tier": "standard"})
}

fn block_of(asked: &Asked, block: &Block) -> Json {
    match block {
        Block::Thinking(text) => {
            json!({"type": "thinking", "thinking": text, "signature": seal::sign(asked, text)})
        }
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::Call { id, name, input } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
    }
}

/// Returns a block as it begins in a stream, and the deltas that follow.
fn apart(block: &Json) -> (Json, Vec<Json>) {
    let mut empty = block.clone();
    let texts = |key: &str| pieces(block[key].as_str().unwrap_or_default());
    let deltas = match block["type"].as_str() {
        Some("thinking") => {
            empty["thinking"] = json!("");
            empty["signature"] = json!("");
            let mut deltas: Vec<_> = texts("thinking")
                .iter()
                .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
                .collect();
            deltas.push(json!({"type": "signature_delta", "signature": block["signature"]}));
            deltas
        }
        Some("text") => {
            empty["text"] = json!("");
            let texts = texts("text");
            texts
                .iter()
                .map(|piece| json!({"type": "text_delta", "text": piece}))
                .collect()
        }
        _ => {
            empty["input"] = json!({});
            let mut deltas = vec![json!({"type": "input_json_delta", "partial_json": ""})];
            let input = pieces(&block["input"].to_string());
            deltas.extend(
                input
                    .iter()
                    .map(|piece| json!({"type": "input_json_delta", "partial_json": piece})),
            );
            deltas
        }
    };
    (empty, deltas)
}

fn event(json: &Json) -> String {
    let kind = json["type"].as_str().unwrap();
    format!("event: {kind}\ndata: {json}\n\n")
}
