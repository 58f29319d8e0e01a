use serde_json::json;

use super::*;

const LONG: usize = 17 << 20;

fn event_of(json: &Json) -> String {
    format!("data: {json}\n\n")
}

/// Returns a stream that says two long texts, and then calls the gateway's tool.
fn stream(form: Form) -> Vec<String> {
    let words = "rye ".repeat(LONG / 4);
    let events = match form {
        Form::Anthropic => {
            let delta = |text: &str| json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } });
            let block = |at: u64, block: Json| json!({ "type": "content_block_start", "index": at, "content_block": block });
            let stop = |at: u64| json!({ "type": "content_block_stop", "index": at });
            vec![
                json!({ "type": "message_start", "message": { "id": "a", "usage": {} } }),
                block(0, json!({ "type": "text", "text": "" })),
                delta(&words),
                delta(&words),
                stop(0),
                block(
                    1,
                    json!({ "type": "tool_use", "id": "r1", "name": tool::NAME, "input": {} }),
                ),
                stop(1),
                json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
                json!({ "type": "message_stop" }),
            ]
        }
        Form::OpenAi => {
            let chunk = |delta: Json, reason: Option<&str>| json!({ "id": "a", "choices": [{ "delta": delta, "finish_reason": reason }] });
            let function = json!({ "name": tool::NAME, "arguments": "{}" });
            vec![
                chunk(json!({ "content": words }), None),
                chunk(json!({ "content": words }), None),
                chunk(
                    json!({ "tool_calls": [{ "index": 0, "id": "r1", "function": function }] }),
                    None,
                ),
                chunk(json!({}), Some("tool_calls")),
                Json::from("[DONE]"),
            ]
        }
        Form::Responses => {
            let message = json!({ "type": "message", "content": [{ "text": words }] });
            let call = json!({ "type": "function_call", "call_id": "r1", "name": tool::NAME, "arguments": "{}" });
            let item = |at: u64, item: &Json| json!({ "type": "response.output_item.added", "output_index": at, "item": item });
            vec![
                item(0, &message),
                item(1, &message),
                item(2, &call),
                json!({ "type": "response.completed",
                    "response": { "id": "a", "status": "completed", "output": [{ "type": "message" }, { "type": "message" }, call] } }),
            ]
        }
    };
    let events = events.iter();
    events
        .map(|json| match json.as_str() {
            Some(text) => format!("data: {text}\n\n"),
            None => event_of(json),
        })
        .collect()
}

/// The gateway keeps no more than a bound of a stream. Behind that, the client sees whatever comes, also a call of the
/// gateway's tool.
#[test]
fn a_stream_that_is_too_long_passes() {
    for form in Form::ALL {
        for holds in [false, true] {
            let stream = stream(form);
            let mut weave = Weave::new(form, true, holds);
            let mut seen = Vec::new();
            for event in &stream {
                seen.extend(weave.feed(event.as_bytes()));
            }
            assert!(weave.is_over() && weave.answer.kept() < 3 * LONG);
            assert_eq!(weave.next(), Next::Ends(Vec::new()), "{form:?}");
            let fault = weave.fault().unwrap();
            assert_eq!(fault, "the answer has more than 33554432 bytes");
            let (rest, aside) = weave.close(&[]);
            seen.extend(rest);
            assert!(
                seen == stream.concat().as_bytes(),
                "{form:?}, held {holds}: the client sees what came"
            );
            assert_eq!(aside, None);
        }
    }
}
