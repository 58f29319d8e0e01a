//! A client of the three APIs that reads answers as the packages of the providers do.

use serde_json::{Value as Json, json};

use crate::upstream::Block;

/// A form of the API, with its path and its way to write messages and calls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Api {
    Messages,
    Chat,
    Responses,
}

pub(crate) const APIS: [Api; 3] = [Api::Messages, Api::Chat, Api::Responses];

/// What a client has read of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// The items that the client adds to its list.
    pub(crate) items: Vec<Json>,
    pub(crate) text: String,
    /// The ids of calls.
    pub(crate) calls: Vec<String>,
    pub(crate) stop: String,
    pub(crate) input: u64,
    pub(crate) output: u64,
}

impl Api {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Messages => "/v1/messages",
            Self::Chat => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
        }
    }

    pub(crate) fn key(self) -> &'static str {
        if self == Self::Responses {
            "input"
        } else {
            "messages"
        }
    }

    /// Returns a list in which a tool was called `calls` times. No two results are alike.
    pub(crate) fn list(self, calls: u64) -> Vec<Json> {
        let mut list = vec![json!({"role": "user", "content": "Which guests have asked?"})];
        for call in 0..calls {
            let id = format!("c{call}");
            list.extend(self.called(&id, &page(call)));
        }
        list
    }

    pub(crate) fn called(self, id: &str, text: &str) -> Vec<Json> {
        match self {
            Self::Messages => vec![
                json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "guests", "input": {"of": id}}]}),
                self.result(id, text),
            ],
            Self::Chat => vec![
                json!({"role": "assistant", "content": null, "tool_calls": [
                    {"id": id, "type": "function", "function": {"name": "guests", "arguments": of_call(id)}}]}),
                self.result(id, text),
            ],
            Self::Responses => vec![
                json!({"type": "function_call", "call_id": id, "name": "guests", "arguments": of_call(id)}),
                self.result(id, text),
            ],
        }
    }

    pub(crate) fn result(self, id: &str, text: &str) -> Json {
        match self {
            Self::Messages => json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": text}]}),
            Self::Chat => json!({"role": "tool", "tool_call_id": id, "content": text}),
            Self::Responses => {
                json!({"type": "function_call_output", "call_id": id, "output": text})
            }
        }
    }

    pub(crate) fn body(self, list: &[Json], is_stream: bool) -> Json {
        let mut body = match self {
            Self::Messages => json!({"model": "claude-m", "max_tokens": 99, "tools": [
                {"name": "guests", "description": "Lists guests.", "input_schema": {"type": "object"}}]}),
            Self::Chat => json!({"model": "gpt-m", "tools": [
                {"type": "function", "function": {"name": "guests", "parameters": {"type": "object"}}}]}),
            Self::Responses => {
                json!({"model": "gpt-m", "store": false, "include": ["reasoning.encrypted_content"],
                "tools": [{"type": "function", "name": "guests", "parameters": {"type": "object"}}]})
            }
        };
        body[self.key()] = json!(list);
        body["stream"] = json!(is_stream);
        if self == Self::Chat && is_stream {
            body["stream_options"] = json!({"include_usage": true});
        }
        body
    }

    /// Reads an answer as the packages of the providers do.
    pub(crate) fn read(self, bytes: &[u8], is_stream: bool) -> Answer {
        let text = std::str::from_utf8(bytes).unwrap();
        if is_stream {
            let events = text.split("\n\n").filter(|event| !event.is_empty());
            let data = events.map(|event| event.split_once("data: ").unwrap().1);
            let events: Vec<Json> = data
                .filter(|data| *data != "[DONE]")
                .map(|data| serde_json::from_str(data).unwrap())
                .collect();
            assert_eq!(text.ends_with("data: [DONE]\n\n"), self == Self::Chat);
            match self {
                Self::Messages => of_message(&from_events(&events)),
                Self::Chat => of_chat(&from_chunks(&events)),
                Self::Responses => of_response(&from_numbered(&events)),
            }
        } else {
            let json = serde_json::from_str(text).unwrap();
            match self {
                Self::Messages => of_message(&json),
                Self::Chat => of_chat(&json),
                Self::Responses => of_response(&json),
            }
        }
    }
}

/// Returns a result of a tool. Its lines occur in no other result.
pub(crate) fn page(number: u64) -> String {
    let line = |n: u64| {
        let n = number * 1000 + n;
        format!(
            "guest {n} asks for table {} on day {}",
            n * 7919 % 1009,
            n * 31 % 28
        )
    };
    let lines: Vec<String> = (0..120).map(line).collect();
    lines.join("\n")
}

fn of_message(json: &Json) -> Answer {
    let blocks = json["content"].as_array().unwrap();
    let texts = blocks.iter().filter_map(|block| block["text"].as_str());
    let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
    Answer {
        items: vec![json!({"role": "assistant", "content": blocks})],
        text: texts.collect::<Vec<_>>().join("|"),
        calls: calls
            .map(|call| call["id"].as_str().unwrap().to_owned())
            .collect(),
        stop: json["stop_reason"].as_str().unwrap().to_owned(),
        input: json["usage"]["input_tokens"].as_u64().unwrap(),
        output: json["usage"]["output_tokens"].as_u64().unwrap(),
    }
}

/// Builds a message from its events. Checks that each block has the next index, and that blocks do not overlap.
fn from_events(events: &[Json]) -> Json {
    let mut message = Json::Null;
    let mut open = None;
    let mut input = String::new();
    for event in events {
        let index = event["index"].as_u64().map(|index| index as usize);
        match event["type"].as_str().unwrap() {
            "message_start" => {
                assert!(message.is_null(), "an answer begins once");
                message = event["message"].clone();
            }
            "content_block_start" => {
                let blocks = message["content"].as_array_mut().unwrap();
                assert_eq!((index, open), (Some(blocks.len()), None));
                blocks.push(event["content_block"].clone());
                open = index;
                input.clear();
            }
            "content_block_delta" => {
                assert_eq!(index, open);
                let block = &mut message["content"][open.unwrap()];
                let delta = &event["delta"];
                for key in ["text", "thinking", "signature"] {
                    if let Some(more) = delta[key].as_str() {
                        let before = block[key].as_str().unwrap();
                        block[key] = json!(format!("{before}{more}"));
                    }
                }
                input.push_str(delta["partial_json"].as_str().unwrap_or_default());
            }
            "content_block_stop" => {
                assert_eq!(index, open.take());
                if !input.is_empty() {
                    message["content"][index.unwrap()]["input"] =
                        serde_json::from_str(&input).unwrap();
                }
            }
            "message_delta" => {
                message["stop_reason"] = event["delta"]["stop_reason"].clone();
                for (key, value) in event["usage"].as_object().unwrap() {
                    message["usage"][key] = value.clone();
                }
            }
            _ => {}
        }
    }
    assert_eq!(events.last().unwrap()["type"], "message_stop");
    message
}

fn of_chat(json: &Json) -> Answer {
    let message = &json["choices"][0]["message"];
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    Answer {
        items: vec![message.clone()],
        text: message["content"].as_str().unwrap_or_default().to_owned(),
        calls: calls
            .map(|call| call["id"].as_str().unwrap().to_owned())
            .collect(),
        stop: json["choices"][0]["finish_reason"]
            .as_str()
            .unwrap()
            .to_owned(),
        input: json["usage"]["prompt_tokens"].as_u64().unwrap(),
        output: json["usage"]["completion_tokens"].as_u64().unwrap(),
    }
}

fn from_chunks(chunks: &[Json]) -> Json {
    let mut message = json!({"content": ""});
    let mut answer = json!({"choices": [{}]});
    let mut ended = false;
    for chunk in chunks {
        assert_eq!(chunk["id"], chunks[0]["id"], "an answer has one name");
        if chunk["usage"].is_object() {
            answer["usage"] = chunk["usage"].clone();
        }
        let Some(choice) = chunk["choices"].get(0) else {
            continue;
        };
        assert!(!ended, "nothing stands behind the end");
        let delta = &choice["delta"];
        if let Some(role) = delta["role"].as_str() {
            assert!(message["role"].is_null(), "a message begins once");
            message["role"] = json!(role);
        }
        if let Some(text) = delta["content"].as_str() {
            let before = message["content"].as_str().unwrap();
            message["content"] = json!(format!("{before}{text}"));
        }
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            let index = piece["index"].as_u64().unwrap() as usize;
            if !message["tool_calls"].is_array() {
                message["tool_calls"] = json!([]);
            }
            let calls = message["tool_calls"].as_array_mut().unwrap();
            if index == calls.len() {
                let mut call = piece.clone();
                call.as_object_mut().unwrap().remove("index");
                calls.push(call);
            } else {
                let more = piece["function"]["arguments"].as_str().unwrap();
                let before = calls[index]["function"]["arguments"].as_str().unwrap();
                calls[index]["function"]["arguments"] = json!(format!("{before}{more}"));
            }
        }
        if choice["finish_reason"].is_string() {
            answer["choices"][0]["finish_reason"] = choice["finish_reason"].clone();
            ended = true;
        }
    }
    answer["choices"][0]["message"] = message;
    answer
}

fn of_response(json: &Json) -> Answer {
    let items = json["output"].as_array().unwrap();
    let told = json["tools"].to_string();
    assert!(
        !told.contains("memory_read"),
        "the request of the client had no such tool"
    );
    let texts = items
        .iter()
        .filter_map(|item| item["content"][0]["text"].as_str());
    let calls = items.iter().filter(|item| item["type"] == "function_call");
    Answer {
        text: texts.collect::<Vec<_>>().join("|"),
        calls: calls
            .map(|call| call["call_id"].as_str().unwrap().to_owned())
            .collect(),
        stop: json["status"].as_str().unwrap().to_owned(),
        input: json["usage"]["input_tokens"].as_u64().unwrap(),
        output: json["usage"]["output_tokens"].as_u64().unwrap(),
        items: items.clone(),
    }
}

fn from_numbered(events: &[Json]) -> Json {
    let mut items: Vec<Json> = Vec::new();
    let mut created = Json::Null;
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number);
        let kind = event["type"].as_str().unwrap();
        let index = event["output_index"].as_u64().map(|index| index as usize);
        if kind == "response.created" {
            created = event["response"]["id"].clone();
        } else if kind == "response.output_item.added" {
            assert_eq!(index, Some(items.len()));
            items.push(event["item"].clone());
        } else if let Some(index) = index {
            let id = if event["item_id"].is_null() {
                &event["item"]["id"]
            } else {
                &event["item_id"]
            };
            assert_eq!(*id, items[index]["id"]);
            if kind == "response.output_item.done" {
                items[index] = event["item"].clone();
            }
        }
    }
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    assert_eq!(
        (&last["response"]["output"], &last["response"]["id"]),
        (&json!(items), &created)
    );
    last["response"].clone()
}

pub(crate) fn reads(result: &str, from: u64, to: u64) -> Block {
    Block::Call {
        id: format!("toolu_{result}_{from}"),
        name: "memory_read".into(),
        input: json!({"result": result, "from": from, "to": to}),
    }
}

pub(crate) fn calls(id: &str) -> Block {
    Block::Call {
        id: id.into(),
        name: "guests".into(),
        input: json!({"of": id}),
    }
}

/// Returns the arguments of a call. No two calls are equal, because a memory would then let the result of the first
/// one leave.
fn of_call(id: &str) -> String {
    json!({"of": id}).to_string()
}

pub(crate) fn says(text: &str) -> Block {
    Block::Text(text.into())
}
