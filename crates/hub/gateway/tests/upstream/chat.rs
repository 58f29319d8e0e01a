//! Answers in the form of chat completions.

use serde_json::{Value as Json, json};

use super::cache::Billed;
use super::list::Asked;
use super::script::{Block, pieces};

/// The time of all answers, in Unix seconds.
pub(super) const MADE: u64 = 1_790_000_000;

/// Returns the answer: one piece, or the chunks of a stream.
pub(super) fn answer(asked: &Asked, number: u64, said: &[Block], billed: Billed) -> Vec<String> {
    let texts = said.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let text: String = texts.collect();
    let mut calls = Vec::new();
    for block in said {
        if let Block::Call { id, name, input } = block {
            calls.push(json!({"id": id, "type": "function",
                "function": {"name": name, "arguments": input.to_string()}}));
        }
    }
    let reason = if calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    let id = format!("chatcmpl-{number:04}");
    let usage = usage(billed);
    if !asked.is_stream() {
        let mut message =
            json!({"role": "assistant", "content": text, "refusal": null, "annotations": []});
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        let choice =
            json!({"index": 0, "message": message, "logprobs": null, "finish_reason": reason});
        let answer = json!({"id": id, "object": "chat.completion", "created": MADE, "model": asked.model(),
            "choices": [choice], "usage": usage, "service_tier": "default", "system_fingerprint": "fp_0"});
        return vec![answer.to_string()];
    }
    let counts = asked.json["stream_options"]["include_usage"] == true;
    let chunk = |choices: Json, usage: Json| {
        let mut chunk = json!({"id": id, "object": "chat.completion.chunk", "created": MADE,
            "model": asked.model(), "service_tier": "default", "system_fingerprint": "fp_0", "choices": choices});
        if counts {
            chunk["usage"] = usage;
        }
        format!("data: {chunk}\n\n")
    };
    let of = |delta: Json, reason: Option<&str>| {
        let choice =
            json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason}]);
        chunk(choice, Json::Null)
    };
    let mut chunks = vec![of(
        json!({"role": "assistant", "content": "", "refusal": null}),
        None,
    )];
    chunks.extend(
        pieces(&text)
            .iter()
            .map(|piece| of(json!({"content": piece}), None)),
    );
    for (index, call) in calls.iter().enumerate() {
        let mut first = call.clone();
        first["index"] = json!(index);
        first["function"]["arguments"] = json!("");
        chunks.push(of(json!({"tool_calls": [first]}), None));
        for piece in pieces(call["function"]["arguments"].as_str().unwrap()) {
            let delta = json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]});
            chunks.push(of(delta, None));
        }
    }
    chunks.push(of(json!({}), Some(reason)));
    if counts {
        chunks.push(chunk(json!([]), usage));
    }
    chunks.push("data: [DONE]\n\n".to_owned());
    chunks
}

fn usage(billed: Billed) -> Json {
    let mut details = json!({"cached_tokens": billed.read, "audio_tokens": 0});
    if billed.written > 0 {
        details["cache_write_tokens"] = json!(billed.written);
    }
    json!({"prompt_tokens": billed.prompt(), "completion_tokens": billed.output,
        "total_tokens": billed.prompt() + billed.output, "prompt_tokens_details": details,
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0}})
}
