//! Tests of what the gateway changes, and that a change stays in all later requests.

use std::io::Write as _;

use accp_gateway::{By, Config, Gateway, GatewayError, Keep, Policy, Report};
use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value as Json, json};

use crate::conversation::{Bench, messages, request, rows};

/// Returns a request without its marks for caches.
fn bare(mut body: Json) -> Json {
    fn unmark(json: &mut Json) {
        match json {
            Json::Object(map) => {
                map.remove("cache_control");
                map.values_mut().for_each(unmark);
            }
            Json::Array(items) => items.iter_mut().for_each(unmark),
            _ => {}
        }
    }
    unmark(&mut body);
    body
}

/// Returns the texts of results in a list.
fn results(body: &Json) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap().iter();
    let blocks = messages.flat_map(|message| message["content"].as_array().into_iter().flatten());
    let results = blocks.filter(|block| block["type"] == "tool_result");
    results
        .map(|block| block["content"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn only_texts_of_results_change() {
    let bench = Bench::start(Policy::Append).await;
    let given = request(messages(3));
    let sent = bench.ask(&given).await;
    let mut other = sent.clone();
    for (at, text) in results(&given).into_iter().enumerate() {
        let now = &mut other["messages"][2 + 2 * at]["content"][0]["content"];
        assert!(now.as_str().unwrap().len() * 10 < text.len() * 8, "{now}");
        *now = json!(text);
    }
    assert_eq!(
        other.to_string(),
        given.to_string(),
        "all else stays, and in its order"
    );
}

#[tokio::test]
async fn each_list_is_the_last_one_grown_over_restarts_and_moving_marks() {
    let mut bench = Bench::start(Policy::Append).await;
    let mut before: Vec<Json> = Vec::new();
    for calls in 1..7 {
        if calls % 2 == 0 {
            bench.restart().await;
        }
        let sent = bare(bench.ask(&request(messages(calls))).await);
        let now = sent["messages"].as_array().unwrap().clone();
        assert!(now.starts_with(&before), "after {calls} calls");
        assert_ne!(results(&sent), results(&request(messages(calls))));
        before = now;
    }
}

#[tokio::test]
async fn a_fork_keeps_the_forms_of_its_beginning() {
    let bench = Bench::start(Policy::Append).await;
    let trunk = bare(bench.ask(&request(messages(3))).await);
    let mut forked = messages(2);
    forked.push(json!({"role": "assistant", "content": "None is free."}));
    forked.push(json!({"role": "user", "content": "Look again."}));
    let fork = bare(bench.ask(&request(forked)).await);
    assert_eq!(
        fork["messages"].as_array().unwrap()[..5],
        trunk["messages"].as_array().unwrap()[..5]
    );
    let grown = bare(bench.ask(&request(messages(4))).await);
    let trunk = trunk["messages"].as_array().unwrap();
    assert!(grown["messages"].as_array().unwrap().starts_with(trunk));
}

#[tokio::test]
async fn a_list_of_chat_and_one_of_responses_change_as_well() {
    let bench = Bench::start(Policy::Append).await;
    let chat = json!({"model": "gpt-m", "messages": [
        {"role": "system", "content": "You book tables. ".repeat(400)},
        {"role": "user", "content": "Which are free?"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "slots", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": rows(0, 30)},
    ]});
    let responses = json!({"model": "gpt-m", "store": false, "instructions": "You book tables. ".repeat(400), "input": [
        {"role": "user", "content": "Which are free?"},
        {"type": "function_call", "call_id": "c1", "name": "slots", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": rows(0, 30)},
    ]});
    for (path, place, body) in [
        ("/v1/chat/completions", "/messages/3/content", chat),
        ("/v1/responses", "/input/2/output", responses),
    ] {
        bench.post(path, "k1", body.to_string()).await;
        let mut sent = bench.upstream.last().json();
        let now = sent.pointer_mut(place).unwrap();
        assert!(now.as_str().unwrap().contains("\"columns\""), "{now}");
        *now = json!(rows(0, 30));
        assert_eq!(sent, body);
    }
}

#[tokio::test]
async fn packed_bodies_are_read() {
    let bench = Bench::start(Policy::Append).await;
    let body = request(messages(2)).to_string();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(body.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = compress_to_vec(body.as_bytes(), CompressionLevel::Fastest);
    for (encoding, packed) in [("gzip", gzip), ("zstd", zstd)] {
        let sent = bench
            .client
            .post(bench.url("/v1/messages"))
            .header("content-encoding", encoding);
        sent.body(packed).send().await.unwrap();
        let got = bench.upstream.last();
        assert!(!got.headers.contains_key("content-encoding"));
        assert_eq!(results(&got.json()).len(), 2);
        assert!(got.body.len() < body.len() * 9 / 10);
    }
    // An encoding that the gateway does not read passes as it is.
    let sent = bench
        .client
        .post(bench.url("/v1/messages"))
        .header("content-encoding", "br");
    sent.body("\u{b}...").send().await.unwrap();
    assert_eq!(bench.upstream.last().headers["content-encoding"], "br");
    assert_eq!(bench.upstream.last().body, "\u{b}...");
}

#[tokio::test]
async fn a_session_belongs_to_its_key() {
    let mut bench = Bench::start(Policy::Append).await;
    let body = request(messages(2)).to_string();
    for key in ["k1", "k2", "k1"] {
        let answer = bench.post("/v1/messages", key, body.clone()).await;
        assert!(answer.headers().contains_key("x-accp-session"));
        answer.bytes().await.unwrap();
    }
    let entries = bench.stop().await.entries(None).unwrap();
    assert_eq!(entries[0].session, entries[2].session);
    assert_ne!(entries[0].session, entries[1].session);
    // The ledger has no key.
    let file = std::fs::read(bench.ledger_file()).unwrap();
    assert!(!file.windows(2).any(|pair| pair == b"k1"));
}

#[tokio::test]
async fn who_keeps_nothing_changes_nothing() {
    let config = Config {
        keep: Keep::None,
        ..Config::default()
    };
    let refused = Gateway::bind(config.clone(), ":memory:").await.unwrap_err();
    assert!(
        matches!(refused, GatewayError::NothingKept(Policy::Append)),
        "{refused}"
    );
    let config = Config {
        policy: Policy::Shadow,
        ..config
    };
    let mut bench = Bench::with(config).await;
    let body = request(messages(2)).to_string();
    bench
        .post("/v1/messages", "k1", body)
        .await
        .bytes()
        .await
        .unwrap();
    assert_eq!(bench.stop().await.entries(None).unwrap().len(), 1);
    let file = std::fs::read(bench.ledger_file()).unwrap();
    assert!(!file.windows(6).any(|text| text == b"\"slot\""));
}

#[tokio::test]
async fn who_keeps_nothing_takes_no_ledger_with_parts_of_prompts() {
    let mut bench = Bench::start(Policy::Append).await;
    bench.ask(&request(messages(2))).await;
    drop(bench.stop().await);
    let config = Config {
        listen: ([127, 0, 0, 1], 0).into(),
        policy: Policy::Shadow,
        keep: Keep::None,
        ..Config::default()
    };
    let refused = Gateway::bind(config, bench.ledger_file()).await;
    let refused = refused.unwrap_err();
    assert!(matches!(refused, GatewayError::PartsKept), "{refused}");
    assert!(refused.to_string().contains("--ledger"), "{refused}");
}

#[tokio::test]
async fn a_gateway_opens_to_other_machines_only_if_it_is_told_to() {
    let config = Config {
        listen: ([0, 0, 0, 0], 0).into(),
        ..Config::default()
    };
    let refused = Gateway::bind(config, ":memory:").await.unwrap_err();
    assert!(matches!(refused, GatewayError::Remote(_)), "{refused}");
}

#[tokio::test]
async fn parts_of_prompts_are_sealed_under_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, byte: u8| {
        let file = folder.path().join(name);
        std::fs::write(&file, [byte; 32]).unwrap();
        Some(file)
    };
    let config = |key_file| Config {
        key_file,
        ..Config::default()
    };
    let mut bench = Bench::with(config(file("one", b'1'))).await;
    let first = bare(bench.ask(&request(messages(2))).await);
    bench.restart().await;
    let second = bare(bench.ask(&request(messages(3))).await);
    let (first, second) = (&first["messages"], &second["messages"]);
    assert!(
        second
            .as_array()
            .unwrap()
            .starts_with(first.as_array().unwrap())
    );
    drop(bench.stop().await);
    let text = std::fs::read(bench.ledger_file()).unwrap();
    assert!(
        !text
            .windows(8)
            .any(|part| part == b"\"columns" || part == b"\\\"column")
    );
    assert!(text.windows(7).any(|part| part == b"sealed:"));
    for (key_file, why) in [
        (None, "--key-file"),
        (file("other", b'2'), "another key"),
        (file("short", b' '), "at least 32 random bytes"),
    ] {
        let config = Config {
            listen: ([127, 0, 0, 1], 0).into(),
            ..config(key_file)
        };
        let refused = Gateway::bind(config, bench.ledger_file())
            .await
            .unwrap_err();
        assert!(refused.to_string().contains(why), "{refused}");
    }
}

/// A key seals what is written from then on. So it would not hide what stands in a ledger already.
#[tokio::test]
async fn a_key_is_refused_for_a_ledger_whose_parts_are_not_sealed() {
    let mut bench = Bench::start(Policy::Append).await;
    bench.ask(&request(messages(2))).await;
    drop(bench.stop().await);
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, [b'1'; 32]).unwrap();
    let config = Config {
        listen: ([127, 0, 0, 1], 0).into(),
        key_file: Some(key),
        ..Config::default()
    };
    let refused = Gateway::bind(config, bench.ledger_file())
        .await
        .unwrap_err();
    let why = "parts of prompts from before that are not sealed";
    assert!(refused.to_string().contains(why), "{refused}");
}

/// A large new result may show only its ends before the model has ever seen it. The row, the report and the stream of
/// events say so.
#[tokio::test]
async fn a_new_result_that_is_cut_at_first_sight_is_told() {
    let mut bench = Bench::start(Policy::Save).await;
    let url = bench.url("/accp/v1/gateway/events");
    let mut events = bench.client.get(url).send().await.unwrap();
    let mut list = messages(1);
    let lines = (0..900).map(|n| format!("host {n} took {} ms", n * 31 % 997));
    let text = lines.collect::<Vec<_>>().join("\n");
    list[2]["content"][0]["content"] = text.into();
    let got = bench.ask(&request(list)).await;
    assert!(got.to_string().contains("of result c0 left out"), "{got}");
    let event = events.chunk().await.unwrap().unwrap();
    let event = std::str::from_utf8(&event).unwrap();
    let event: Json = serde_json::from_str(event.split_once("data: ").unwrap().1).unwrap();
    let told = event["what"].as_str().unwrap();
    assert!(
        told.starts_with("at first sight: 1 new results show only their ends"),
        "{told}"
    );
    assert_eq!(event["cut"][0]["result"], "c0");
    drop(events);
    let ledger = bench.stop().await;
    assert_eq!(ledger.entries(None).unwrap()[0].note.as_deref(), Some(told));
    let report = Report::of(&ledger, By::Session).unwrap();
    assert_eq!(report.notes.len(), 1, "{report:?}");
}
