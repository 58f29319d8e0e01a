//! Tests of providers and clients that fail: the client sees what it would have seen without the gateway.

use accp_gateway::{By, Config, Policy, Report};
use futures_util::StreamExt as _;
use serde_json::{Value as Json, json};

use crate::conversation::{Bench, messages, request};
use crate::upstream::Mood;

#[tokio::test]
async fn a_refused_change_goes_out_once_as_it_was_and_the_session_stays_plain() {
    let mut bench = Bench::start(Policy::Append).await;
    let body = request(messages(2)).to_string();
    bench.upstream.is(Mood::Refuses(body.len()));
    let answer = bench.post("/v1/messages", "k1", body.clone()).await;
    assert_eq!(answer.status(), 200);
    answer.bytes().await.unwrap();
    assert_eq!(bench.upstream.got().len(), 2);
    assert_eq!(bench.upstream.last().body, body);
    bench.upstream.is(Mood::Well);
    bench.restart().await;
    let grown = request(messages(3)).to_string();
    bench
        .post("/v1/messages", "k1", grown.clone())
        .await
        .bytes()
        .await
        .unwrap();
    assert_eq!(bench.upstream.got().len(), 3);
    assert_eq!(bench.upstream.last().body, grown);
    let entries = bench.stop().await.entries(None).unwrap();
    let kinds: Vec<_> = entries
        .iter()
        .map(|entry| (&*entry.policy, entry.repeated))
        .collect();
    assert_eq!(kinds, [("append", true), ("plain", false)]);
    assert_eq!(entries[0].given_digest, entries[0].sent_digest);
}

#[tokio::test]
async fn a_refused_original_is_not_sent_again() {
    let bench = Bench::start(Policy::Append).await;
    bench.upstream.is(Mood::Refuses(0));
    let answer = bench
        .post("/v1/messages", "k1", request(messages(0)).to_string())
        .await;
    assert_eq!(answer.status(), 400);
    assert_eq!(bench.upstream.got().len(), 1);
    // If the provider refuses both the changed request and the original, the client gets the refusal.
    let answer = bench
        .post("/v1/messages", "k1", request(messages(2)).to_string())
        .await;
    assert_eq!(answer.status(), 400);
    assert!(
        answer
            .text()
            .await
            .unwrap()
            .contains("thinking blocks cannot be modified")
    );
    assert_eq!(bench.upstream.got().len(), 3);
}

#[tokio::test]
async fn the_words_and_headers_of_a_busy_provider_pass() {
    let bench = Bench::start(Policy::Append).await;
    bench.upstream.is(Mood::Busy);
    let answer = bench
        .post("/v1/messages", "k1", request(messages(2)).to_string())
        .await;
    assert_eq!(answer.status(), 429);
    assert_eq!(answer.headers()["retry-after"], "7");
    assert_eq!(answer.headers()["request-id"], "r1");
    assert!(answer.text().await.unwrap().contains("slow down"));
    assert_eq!(bench.upstream.got().len(), 1);
}

#[tokio::test]
async fn an_answer_that_breaks_off_never_reads_as_an_end() {
    let mut bench = Bench::start(Policy::Append).await;
    bench.upstream.is(Mood::Breaks);
    let mut body = request(messages(2));
    body["stream"] = json!(true);
    let answer = bench.post("/v1/messages", "k1", body.to_string()).await;
    let mut pieces = answer.bytes_stream();
    assert!(pieces.next().await.unwrap().is_ok());
    bench.upstream.goes_on.notify_one();
    let rest: Vec<_> = pieces.collect().await;
    assert!(rest.last().unwrap().is_err(), "{rest:?}");
    bench.upstream.is(Mood::Garbage);
    let answer = bench
        .post("/v1/messages", "k1", request(messages(2)).to_string())
        .await;
    assert_eq!(answer.text().await.unwrap(), "<html>");
    let entries = bench.stop().await.entries(None).unwrap();
    assert_eq!(
        entries.iter().map(|entry| entry.whole).collect::<Vec<_>>(),
        [false, true]
    );
    assert_eq!(entries[1].usage, None);
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_request_of_the_provider() {
    let mut bench = Bench::start(Policy::Append).await;
    bench.upstream.is(Mood::Waits);
    let mut body = request(messages(2));
    body["stream"] = json!(true);
    let answer = bench.post("/v1/messages", "k1", body.to_string()).await;
    drop(answer);
    // When the gateway ends, it waits only for answers under way. This answer has broken off already.
    let entries = bench.stop().await.entries(None).unwrap();
    assert_eq!((entries.len(), entries[0].whole), (1, false));
}

#[tokio::test]
async fn nobody_at_the_other_end_is_an_error_in_the_provider_s_form() {
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let config = Config {
        openai: format!("http://{free}"),
        ..Config::default()
    };
    let mut bench = Bench::with(config).await;
    let chat = json!({"model": "gpt-m", "messages": [{"role": "user", "content": "Hi"}]});
    let answer = bench
        .post("/v1/chat/completions", "k1", chat.to_string())
        .await;
    assert_eq!(answer.status(), 502);
    let error: serde_json::Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
    let message = error["error"]["message"].as_str().unwrap();
    assert!(message.contains("cannot be reached"), "{message}");
    let entries = bench.stop().await.entries(None).unwrap();
    assert!(
        entries[0]
            .fault
            .as_ref()
            .unwrap()
            .contains("cannot be reached")
    );
}

#[tokio::test]
async fn what_cannot_be_read_passes_as_it_is() {
    let config = Config {
        body_bytes: 10_000,
        ..Config::default()
    };
    let mut bench = Bench::with(config).await;
    let large = request(messages(9)).to_string();
    let twice = r#"{"messages":[{"role":"user","role":"user","content":"x"}],"model":"claude-m"}"#;
    let lone = r#"{"messages":[{"role":"user","content":"\ud800"}],"model":"claude-m"}"#;
    for body in [
        "",
        "{",
        "[]",
        "{\"messages\":3}",
        "\u{1F35E}",
        twice,
        lone,
        &large,
    ] {
        let answer = bench.post("/v1/messages", "k1", body).await;
        answer.bytes().await.unwrap();
        assert_eq!(bench.upstream.last().body, body);
    }
    let ledger = bench.stop().await;
    let report = Report::of(&ledger, By::Model).unwrap();
    assert_eq!(report.faults.values().sum::<u64>(), 8);
    let text = report.to_text();
    for told in [
        "1  the body has more than 10000 bytes\n",
        "8 of 8 requests met a fault, which the lines below name.\n",
    ] {
        assert!(text.contains(told), "{text}");
    }
    let entries = ledger.entries(None).unwrap();
    assert_eq!(entries.len(), 8);
    let faults: Vec<_> = entries
        .iter()
        .map(|entry| entry.fault.as_deref().unwrap_or_default())
        .collect();
    assert!(
        faults[0].contains("not JSON") && faults[7].contains("more than 10000 bytes"),
        "{faults:?}"
    );
}

/// Renames the tables of the branches while a gateway runs, so that the gateway can write no branch.
fn rename(bench: &Bench, from: &str, to: &str) {
    let ledger = rusqlite::Connection::open(bench.ledger_file()).unwrap();
    for table in ["branch", "piece"] {
        let rename = format!("ALTER TABLE {table}{from} RENAME TO {table}{to}");
        ledger.execute_batch(&rename).unwrap();
    }
}

#[tokio::test]
async fn a_ledger_that_cannot_be_written_changes_no_list_that_was_sent() {
    let mut bench = Bench::start(Policy::Append).await;
    let mut before: Vec<Json> = Vec::new();
    // How many results have another form than the client gave them.
    let formed = async |bench: &Bench, before: &mut Vec<Json>, calls: u64| {
        let given = unmarked(request(messages(calls)));
        let sent = unmarked(bench.ask(&request(messages(calls))).await);
        assert!(sent.starts_with(before), "{calls}: the list goes on");
        let pairs = sent.iter().zip(&given);
        let formed = pairs.filter(|(sent, given)| sent != given).count();
        *before = sent;
        formed
    };
    let all = formed(&bench, &mut before, 2).await;
    assert!(all > 0);
    rename(&bench, "", "_away");
    // The request in which the gateway first fails to write goes out like any other.
    assert_eq!(formed(&bench, &mut before, 3).await, all + 1);
    assert_eq!(formed(&bench, &mut before, 4).await, all + 1);
    assert_eq!(formed(&bench, &mut before, 5).await, all + 1);
    rename(&bench, "_away", "");
    // This request keeps the branch again, and the next one has forms again.
    assert_eq!(formed(&bench, &mut before, 6).await, all + 1);
    assert_eq!(formed(&bench, &mut before, 7).await, all + 2);
    bench.restart().await;
    assert_eq!(formed(&bench, &mut before, 8).await, all + 3);
    assert_eq!(bench.upstream.got().len(), 7);
}

/// Returns the messages of a request without the marks for a cache, which move.
fn unmarked(mut request: Json) -> Vec<Json> {
    let messages = request["messages"].as_array_mut().unwrap();
    for message in messages.iter_mut() {
        let blocks = message["content"].as_array_mut().into_iter().flatten();
        for block in blocks {
            block.as_object_mut().unwrap().shift_remove("cache_control");
        }
    }
    std::mem::take(messages)
}
