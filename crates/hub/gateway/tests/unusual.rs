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
    asked(bench, api, api.body(list, true)).await
}

async fn asked(bench: &Bench, api: Api, body: Json) -> String {
    let answer = bench.post(api.path(), "k1", body.to_string()).await;
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

/// Returns events as a stream of Anthropic has them.
fn stream(events: &[Json]) -> String {
    let events = events.iter().map(|event| {
        let kind = event["type"].as_str().unwrap();
        format!("event: {kind}\ndata: {event}\n\n")
    });
    events.collect()
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
    let came = stream(&events);
    let (url, got) = provider(vec![answer(EVENTS, &came, 0)]).await;
    let mut bench = bench(url).await;
    let seen = ask(&bench, Api::Messages, &Api::Messages.list(6)).await;
    assert_eq!(seen, came);
    assert_eq!(got.lock().unwrap().len(), 1);
    let entries = bench.stop().await.entries(None).unwrap();
    let fault = entries[0].fault.as_deref().unwrap();
    assert!(fault.contains("\"musing_delta\""), "{fault}");
}

/// Returns a message of Anthropic's form with these blocks, as a stream. Its counts come in two events, and only the
/// first one says why the model stopped.
fn ends_twice(blocks: &[Json], reason: &str, searches: u64) -> String {
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "m1", "type": "message", "role": "assistant",
        "model": "claude-m", "content": [], "usage": {"input_tokens": 5, "output_tokens": 1}}}),
    ];
    for (index, block) in blocks.iter().enumerate() {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(
        json!({"type": "message_delta", "delta": {"stop_reason": reason},
        "usage": {"output_tokens": 3, "server_tool_use": {"web_search_requests": searches}}}),
    );
    events.push(
        json!({"type": "message_delta", "delta": {"container": null}, "usage": {"output_tokens": 9}}),
    );
    events.push(json!({"type": "message_stop"}));
    stream(&events)
}

#[tokio::test]
async fn an_answer_may_end_with_several_events() {
    let words = |text: &str| json!({"type": "text", "text": text});
    let input = json!({"result": "c0", "from": 20, "to": 21});
    let looks = json!({"type": "tool_use", "id": "r1", "name": "memory_read", "input": input});
    let alone = ends_twice(&[words("Table 9.")], "end_turn", 0);
    let answers = vec![
        answer(EVENTS, &alone, 0),
        answer(
            EVENTS,
            &ends_twice(&[words("I look."), looks], "tool_use", 2),
            0,
        ),
        answer(EVENTS, &ends_twice(&[words("Table 9.")], "end_turn", 1), 0),
    ];
    let (url, got) = provider(answers).await;
    let bench = bench(url).await;
    let list = Api::Messages.list(6);
    assert_eq!(ask(&bench, Api::Messages, &list).await, alone);
    let seen = read(&ask(&bench, Api::Messages, &list).await);
    assert_eq!(got.lock().unwrap().len(), 3, "the model has read the lines");
    let ends: Vec<&Json> = seen
        .iter()
        .filter(|event| event["type"] == "message_delta")
        .collect();
    assert_eq!(ends.len(), 2, "{seen:?}");
    assert_eq!(ends[0]["delta"]["stop_reason"], "end_turn");
    let counts = &ends[1]["usage"];
    assert_eq!(
        [&counts["input_tokens"], &counts["output_tokens"]],
        [&json!(10), &json!(18)]
    );
    // The provider has searched in both turns.
    assert_eq!(counts["server_tool_use"]["web_search_requests"], 3);
}

#[tokio::test]
async fn calls_without_numbers_of_their_own_are_told_apart() {
    let theirs =
        json!({"id": "g1", "type": "function", "function": {"name": "guests", "arguments": "{}"}});
    for index in [json!(0), Json::Null] {
        let with_number = |mut call: Json| {
            let call_of = call.as_object_mut().unwrap();
            call_of.remove("index");
            if !index.is_null() {
                call_of.insert("index".to_owned(), index.clone());
            }
            json!({ "tool_calls": [call] })
        };
        let ours = with_number(call()["tool_calls"][0].clone());
        let theirs = with_number(theirs.clone());
        let came = chunks(&[ours, theirs.clone()], Some("tool_calls"));
        let (url, got) = provider(vec![answer(EVENTS, &came, 0)]).await;
        let bench = bench(url).await;
        let seen = ask(&bench, Api::Chat, &Api::Chat.list(6)).await;
        assert_eq!(seen, chunks(&[theirs], Some("tool_calls")), "{index}");
        assert_eq!(got.lock().unwrap().len(), 1, "the client answers first");
    }
}

#[tokio::test]
async fn a_whole_answer_has_the_thoughts_of_all_turns() {
    let thought = |text: &str| json!({"type": "reasoning.text", "index": 0, "text": text});
    let whole = |message: Json, reason: &str| {
        let choice = json!({"index": 0, "message": message, "finish_reason": reason});
        let usage = json!({"prompt_tokens": 5, "completion_tokens": 2});
        let body = json!({"id": "chat-1", "model": "gpt-m", "choices": [choice], "usage": usage});
        answer("application/json", &body.to_string(), 0)
    };
    let says = |words: &str, thinks: &str| json!({"role": "assistant", "content": words, "reasoning": thinks, "reasoning_details": [thought(thinks)]});
    let mut looks = says("I look.", "Hm. ");
    looks["tool_calls"] = call()["tool_calls"].clone();
    let answers = vec![
        whole(looks, "tool_calls"),
        whole(says("Table 9.", "I know."), "stop"),
        whole(says("Yes.", "Easy."), "stop"),
    ];
    let (url, got) = provider(answers).await;
    let bench = bench(url).await;
    let mut list = Api::Chat.list(6);
    let seen = asked(&bench, Api::Chat, Api::Chat.body(&list, false)).await;
    let seen: Json = serde_json::from_str(&seen).unwrap();
    let message = &seen["choices"][0]["message"];
    assert_eq!(message["reasoning"], "Hm. I know.");
    let mut second = thought("I know.");
    second["index"] = json!(1);
    assert_eq!(
        message["reasoning_details"],
        json!([thought("Hm. "), second])
    );
    // In the next list, each turn has its own thoughts.
    list.push(message.clone());
    list.push(json!({"role": "user", "content": "Is it free?"}));
    asked(&bench, Api::Chat, Api::Chat.body(&list, false)).await;
    let next = sent(&got.lock().unwrap()[2]);
    let thoughts = next.iter().map(|message| &message["reasoning"]);
    let thoughts: Vec<&str> = thoughts.filter_map(Json::as_str).collect();
    assert_eq!(thoughts, ["Hm. ", "I know."]);
}

/// Some providers say why the model stopped in the chunk that has its last call, and name the role in each chunk.
#[tokio::test]
async fn a_last_call_with_the_reason_beside_it_is_not_seen() {
    let function = json!({"name": "guests", "arguments": "{}"});
    let theirs = json!({"index": 0, "id": "g1", "type": "function", "function": function});
    let first = [
        json!({"role": "assistant", "content": "I "}),
        json!({"role": "assistant", "content": "look."}),
        json!({"tool_calls": [theirs]}),
    ];
    let mut ours = call();
    ours["tool_calls"][0]["index"] = json!(1);
    let last =
        chunks(&[ours], None).replace("\"finish_reason\":null", "\"finish_reason\":\"tool_calls\"");
    let came = chunks(&first, None) + &last;
    let (url, _) = provider(vec![answer(EVENTS, &came, 0)]).await;
    let bench = bench(url).await;
    let seen = ask(&bench, Api::Chat, &Api::Chat.list(6)).await;
    assert_eq!(seen, chunks(&first, Some("tool_calls")));
}

#[tokio::test]
async fn a_content_in_parts_is_that_of_all_turns() {
    let part = |text: &str| json!({"type": "text", "text": text});
    let thought = |text: &str| json!({"type": "thinking", "thinking": [part(text)]});
    let whole = |content: &Json, calls: Json, reason: &str| {
        let mut message = json!({"role": "assistant", "content": content});
        if calls.is_array() {
            message["tool_calls"] = calls;
        }
        let choice = json!({"index": 0, "message": message, "finish_reason": reason});
        let body = json!({"id": "chat-1", "model": "gpt-m", "choices": [choice]});
        answer("application/json", &body.to_string(), 0)
    };
    let looks = json!([thought("Hm."), part("I look.")]);
    let knows = json!([part("Table 9.")]);
    let none = || json!(null);
    let answers = vec![
        whole(&looks, call()["tool_calls"].clone(), "tool_calls"),
        whole(&knows, none(), "stop"),
        whole(&json!("Yes."), none(), "stop"),
    ];
    let (url, got) = provider(answers).await;
    let bench = bench(url).await;
    let mut list = Api::Chat.list(6);
    let seen = asked(&bench, Api::Chat, Api::Chat.body(&list, false)).await;
    let seen: Json = serde_json::from_str(&seen).unwrap();
    let message = &seen["choices"][0]["message"];
    let all = json!([thought("Hm."), part("I look."), part("Table 9.")]);
    assert_eq!(message["content"], all);
    let turn = sent(&got.lock().unwrap()[1]);
    assert_eq!(turn[turn.len() - 2]["content"], looks);
    // In the next list, each turn has its own parts.
    list.push(message.clone());
    list.push(json!({"role": "user", "content": "Is it free?"}));
    asked(&bench, Api::Chat, Api::Chat.body(&list, false)).await;
    let next = sent(&got.lock().unwrap()[2]);
    let contents = next.iter().map(|message| &message["content"]);
    let contents: Vec<&Json> = contents.filter(|content| content.is_array()).collect();
    assert_eq!(contents, [&looks, &knows]);
}
