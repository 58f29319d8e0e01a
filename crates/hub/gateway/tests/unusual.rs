//! Tests of streams with members and events that this gateway need not know.

use accp_gateway::{Config, Policy};
use serde_json::{Value as Json, json};

use crate::client::Api;
use crate::conversation::Bench;
use crate::edges::{EVENTS, answer, call, chunks, provider};

/// Starts a gateway whose lists lose lines, in front of this provider.
async fn bench(url: String) -> Bench {
    let config = Config {
        anthropic: url.clone(),
        openai: url,
        policy: Policy::Save,
        window: Some(6_000),
        ..Config::default()
    };
    Bench::with(config).await
}

/// Asks for a stream over a list, and returns what the client sees.
async fn ask(bench: &Bench, api: Api, list: &[Json]) -> String {
    let body = api.body(list, true).to_string();
    let answer = bench.post(api.path(), "k1", body).await;
    answer.text().await.unwrap()
}

/// Returns the list of a request, as the provider got it.
fn sent(got: &str) -> Vec<Json> {
    let (_, body) = got.split_once("\r\n\r\n").unwrap();
    let body: Json = serde_json::from_str(body).unwrap();
    body["messages"].as_array().unwrap().clone()
}

/// Returns the chunks of a stream.
fn read(text: &str) -> Vec<Json> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[tokio::test]
async fn signed_thoughts_of_a_chat_go_on_with_their_turns() {
    let part = |key: &str, text: &str| {
        let mut part = json!({"type": "reasoning.text", "format": "claude", "index": 0});
        part[key] = json!(text);
        json!({"reasoning_details": [part]})
    };
    let first = [
        json!({"reasoning": "Let me ", "reasoning_details": part("text", "Let me ")["reasoning_details"]}),
        part("text", "look."),
        part("signature", "S1"),
        json!({"content": "I look."}),
        call(),
    ];
    let newest = [
        part("text", "Now I know."),
        part("signature", "S2"),
        json!({"content": "Table 9."}),
    ];
    let end = [json!({"content": "Yes."})];
    let answers = vec![
        answer(EVENTS, &chunks(&first, Some("tool_calls")), 0),
        answer(EVENTS, &chunks(&newest, Some("stop")), 0),
        answer(EVENTS, &chunks(&end, Some("stop")), 0),
    ];
    let (url, got) = provider(answers).await;
    let bench = bench(url).await;
    let mut list = Api::Chat.list(6);
    let seen = read(&ask(&bench, Api::Chat, &list).await);
    let thought = |text: &str, signature: &str, index: u64| json!({"type": "reasoning.text", "format": "claude", "index": index, "text": text, "signature": signature});
    let one = thought("Let me look.", "S1", 0);
    let turn = sent(&got.lock().unwrap()[1]);
    let turn = turn[turn.len() - 2].clone();
    assert_eq!(turn["reasoning_details"], json!([one]));
    assert_eq!(turn["reasoning"], "Let me ");
    // The client counts the thoughts of both turns.
    let details = seen
        .iter()
        .map(|chunk| &chunk["choices"][0]["delta"]["reasoning_details"][0]["index"]);
    let numbers: Vec<u64> = details.filter_map(Json::as_u64).collect();
    assert_eq!(numbers, [0, 0, 0, 1, 1]);
    // In the next list, each turn has its own thoughts.
    let two = thought("Now I know.", "S2", 1);
    list.push(json!({"role": "assistant", "content": "I look.\n\nTable 9.", "reasoning_details": [one, two]}));
    list.push(json!({"role": "user", "content": "Is it free?"}));
    ask(&bench, Api::Chat, &list).await;
    let next = sent(&got.lock().unwrap()[2]);
    let thoughts: Vec<&Json> = next
        .iter()
        .map(|message| &message["reasoning_details"])
        .filter(|details| !details.is_null())
        .collect();
    assert_eq!(thoughts, [&json!([one]), &json!([two])]);
}

#[tokio::test]
async fn a_chunk_about_the_prompt_comes_before_the_answer() {
    let prompt = json!({"id": "", "created": 0, "model": "", "choices": [],
        "prompt_filter_results": [{"prompt_index": 0}]});
    let words = chunks(&[json!({"content": "Table 9."})], Some("stop"));
    let usage = json!({"id": "chat-1", "created": 1, "model": "gpt-m", "choices": [],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2}});
    let came = format!("data: {prompt}\n\n{words}data: {usage}\n\ndata: [DONE]\n\n");
    let (url, _) = provider(vec![answer(EVENTS, &came, 0)]).await;
    let bench = bench(url).await;
    let seen = ask(&bench, Api::Chat, &Api::Chat.list(6)).await;
    assert_eq!(seen, came);
}

#[tokio::test]
async fn a_turn_with_an_unknown_kind_of_delta_is_not_sent_again() {
    let delta =
        |at: u64, delta: Json| json!({"type": "content_block_delta", "index": at, "delta": delta});
    let begin = |at: u64, block: Json| json!({"type": "content_block_start", "index": at, "content_block": block});
    let stop = |at: u64| json!({"type": "content_block_stop", "index": at});
    let events = [
        json!({"type": "message_start", "message": {"id": "m1", "type": "message", "role": "assistant",
            "model": "claude-m", "content": [], "usage": {"input_tokens": 5, "output_tokens": 1}}}),
        begin(0, json!({"type": "musing", "words": ""})),
        delta(0, json!({"type": "musing_delta", "words": "Hm."})),
        stop(0),
        begin(
            1,
            json!({"type": "tool_use", "id": "r1", "name": "memory_read", "input": {}}),
        ),
        delta(
            1,
            json!({"type": "input_json_delta", "partial_json": "{\"result\":\"c0\"}"}),
        ),
        stop(1),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ];
    let came = events.iter().map(|event| {
        format!(
            "event: {}\ndata: {event}\n\n",
            event["type"].as_str().unwrap()
        )
    });
    let came: String = came.collect();
    let (url, got) = provider(vec![answer(EVENTS, &came, 0)]).await;
    let mut bench = bench(url).await;
    let seen = ask(&bench, Api::Messages, &Api::Messages.list(6)).await;
    assert_eq!(seen, came);
    assert_eq!(got.lock().unwrap().len(), 1);
    let entries = bench.stop().await.entries(None).unwrap();
    let fault = entries[0].fault.as_deref().unwrap();
    assert!(fault.contains("\"musing_delta\""), "{fault}");
}
