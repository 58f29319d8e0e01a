//! Answers in the form of Responses, and the lists that it stores.

use std::collections::HashMap;

use serde_json::{Value as Json, json};

use super::cache::Billed;
use super::chat::MADE;
use super::list::Asked;
use super::refusal::Refusal;
use super::script::{Block, pieces};
use super::seal;

/// The lists with the answers that ended them, each under the id of its answer.
#[derive(Debug, Default)]
pub(super) struct Stored(HashMap<String, Vec<Json>>);

impl Stored {
    /// Returns the items of a request, after those that its `previous_response_id` names.
    pub(super) fn expand(&self, json: &Json) -> Result<Vec<Json>, Refusal> {
        let mut list = Vec::new();
        if let Some(id) = json["previous_response_id"].as_str() {
            let Some(before) = self.0.get(id) else {
                let text = format!("Previous response with id '{id}' not found.");
                return Err(Refusal::invalid(&text));
            };
            list.clone_from(before);
        }
        match &json["input"] {
            Json::String(text) => list.push(json!({"role": "user", "content": text})),
            Json::Array(items) => list.extend(items.iter().cloned()),
            _ => return Err(Refusal::invalid("Missing required parameter: 'input'.")),
        }
        Ok(list)
    }
}

/// Returns the answer: one piece, or the events of a stream.
pub(super) fn answer(
    asked: &Asked,
    number: u64,
    said: &[Block],
    billed: Billed,
    stored: &mut Stored,
) -> Vec<String> {
    let id = format!("resp_{number:04}");
    let items: Vec<Json> = said
        .iter()
        .enumerate()
        .map(|(at, block)| item_of(asked, &format!("{number:04}_{at}"), block))
        .collect();
    if asked.json["store"] != false {
        let list = asked.list.iter().chain(&items).cloned().collect();
        stored.0.insert(id.clone(), list);
    }
    let whole = whole(asked, &id, "completed", &items, &usage(billed));
    if !asked.is_stream() {
        return vec![whole.to_string()];
    }
    let mut events = Events::default();
    let begun = self::whole(asked, &id, "in_progress", &[], &Json::Null);
    events.push(json!({"type": "response.created", "response": begun}));
    events.push(json!({"type": "response.in_progress", "response": begun}));
    for (at, item) in items.iter().enumerate() {
        events.item(at, item);
    }
    events.push(json!({"type": "response.completed", "response": whole}));
    events.0
}

fn whole(asked: &Asked, id: &str, status: &str, items: &[Json], usage: &Json) -> Json {
    let told = |key: &str, other: Json| match &asked.json[key] {
        Json::Null => other,
        told => told.clone(),
    };
    json!({"id": id, "object": "response", "created_at": MADE, "status": status, "background": false,
        "error": null, "incomplete_details": null, "instructions": asked.json["instructions"],
        "max_output_tokens": null, "model": asked.model(), "output": items, "parallel_tool_calls": true,
        "previous_response_id": asked.json["previous_response_id"],
        "reasoning": told("reasoning", json!({"effort": null, "summary": null})),
        "service_tier": "default", "store": told("store", json!(true)), "temperature": 1.0,
        "text": told("text", json!({"format": {"type": "text"}})), "tool_choice": told("tool_choice", json!("auto")),
        "tools": told("tools", json!([])), "top_p": 1.0, "truncation": "disabled", "usage": usage,
        "user": null, "metadata": told("metadata", json!({}))})
}

fn usage(billed: Billed) -> Json {
    let mut details = json!({"cached_tokens": billed.read});
    if billed.written > 0 {
        details["cache_write_tokens"] = json!(billed.written);
    }
    json!({"input_tokens": billed.prompt(), "input_tokens_details": details, "output_tokens": billed.output,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": billed.prompt() + billed.output})
}

fn item_of(asked: &Asked, id: &str, block: &Block) -> Json {
    match block {
        Block::Thinking(text) => {
            let mut item = json!({"id": format!("rs_{id}"), "type": "reasoning",
                "summary": [{"type": "summary_text", "text": text}]});
            let wanted = asked.json["include"].as_array().into_iter().flatten();
            if wanted
                .into_iter()
                .any(|name| name == "reasoning.encrypted_content")
            {
                item["encrypted_content"] = json!(seal::sign_items(asked, text));
            }
            item
        }
        Block::Text(text) => {
            json!({"id": format!("msg_{id}"), "type": "message", "status": "completed",
            "role": "assistant", "content": [part(text)]})
        }
        Block::Call {
            id: call,
            name,
            input,
        } => json!({"id": format!("fc_{id}"), "type": "function_call",
            "status": "completed", "call_id": call, "name": name, "arguments": input.to_string()}),
    }
}

fn part(text: &str) -> Json {
    json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text})
}

/// The events of a stream, which are numbered.
#[derive(Default)]
struct Events(Vec<String>);

impl Events {
    fn push(&mut self, mut event: Json) {
        event["sequence_number"] = json!(self.0.len());
        let kind = event["type"].as_str().unwrap().to_owned();
        self.0.push(format!("event: {kind}\ndata: {event}\n\n"));
    }

    /// Adds the events of an item.
    fn item(&mut self, at: usize, item: &Json) {
        let mut begun = item.clone();
        let id = &item["id"];
        let kind = item["type"].as_str().unwrap();
        let empty = if kind == "reasoning" {
            "summary"
        } else {
            "content"
        };
        if kind == "function_call" {
            begun["arguments"] = json!("");
        } else {
            begun[empty] = json!([]);
        }
        if kind != "reasoning" {
            begun["status"] = json!("in_progress");
        }
        self.push(json!({"type": "response.output_item.added", "output_index": at, "item": begun}));
        let with = |kind: &str, more: Json| {
            let mut event =
                json!({"type": format!("response.{kind}"), "item_id": id, "output_index": at});
            event
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            event
        };
        if kind == "function_call" {
            let arguments = item["arguments"].as_str().unwrap();
            for piece in pieces(arguments) {
                self.push(with(
                    "function_call_arguments.delta",
                    json!({"delta": piece}),
                ));
            }
            let done = json!({"arguments": arguments, "name": item["name"]});
            self.push(with("function_call_arguments.done", done));
        } else if kind == "reasoning" {
            let whole = &item["summary"][0];
            let none = json!({"type": "summary_text", "text": ""});
            self.push(with(
                "reasoning_summary_part.added",
                json!({"summary_index": 0, "part": none}),
            ));
            for piece in pieces(whole["text"].as_str().unwrap()) {
                self.push(with(
                    "reasoning_summary_text.delta",
                    json!({"summary_index": 0, "delta": piece}),
                ));
            }
            let done = json!({"summary_index": 0, "text": whole["text"]});
            self.push(with("reasoning_summary_text.done", done));
            self.push(with(
                "reasoning_summary_part.done",
                json!({"summary_index": 0, "part": whole}),
            ));
        } else {
            let whole = &item["content"][0];
            self.push(with(
                "content_part.added",
                json!({"content_index": 0, "part": part("")}),
            ));
            for piece in pieces(whole["text"].as_str().unwrap()) {
                let delta = json!({"content_index": 0, "delta": piece, "logprobs": []});
                self.push(with("output_text.delta", delta));
            }
            let done = json!({"content_index": 0, "text": whole["text"], "logprobs": []});
            self.push(with("output_text.done", done));
            self.push(with(
                "content_part.done",
                json!({"content_index": 0, "part": whole}),
            ));
        }
        self.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
    }
}
