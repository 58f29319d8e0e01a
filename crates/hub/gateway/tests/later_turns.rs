//! Tests of later turns that fail in a stream: what the client is told, and what the ledger keeps of it.

use accp_gateway::{By, Config, Policy, Report};
use serde_json::Value as Json;

use crate::client::{APIS, Api, reads, says};
use crate::conversation::Bench;
use crate::upstream::Mood;

/// A key as clients have it.
const KEY: &str = "sk-proj-0123456789";

/// Starts a gateway whose window is so small that results lose their middles.
async fn bench() -> Bench {
    let config = Config {
        policy: Policy::Save,
        window: Some(6_000),
        ..Config::default()
    };
    Bench::with(config).await
}

/// Asks for a stream whose second turn gets an answer in this mood. Returns the events, as JSON.
async fn fails(bench: &Bench, api: Api, mood: Mood) -> Vec<Json> {
    bench
        .upstream
        .says([vec![says("I look."), reads("c0", 20, 20)]]);
    bench.upstream.is_first([Mood::Well, mood]);
    let body = api.body(&api.list(6), true).to_string();
    let answer = bench.post(api.path(), KEY, body).await;
    assert_eq!(answer.status(), 200, "{api:?}");
    let text = answer.text().await.unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Json> = data
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    assert!(events.len() > 1, "{api:?}: {text}");
    events
}

/// The packages of the providers see an error where an event has the member `error`, and show the message in it.
#[tokio::test]
async fn an_error_in_a_stream_is_an_error_for_the_packages_of_the_providers() {
    for api in APIS {
        let bench = bench().await;
        for (mood, told) in [
            (Mood::Busy, "slow down"),
            (Mood::Repeats, "nobody knows the key"),
        ] {
            let events = fails(&bench, api, mood).await;
            let error = events.last().unwrap();
            let message = error["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains(told), "{api:?}: {error}");
            if api != Api::Chat {
                assert_eq!(error["type"], "error", "{api:?}: {error}");
            }
            if api == Api::Responses {
                assert_eq!(error["message"], message, "{error}");
                assert_eq!(error["sequence_number"], events.len() - 1, "{error}");
            }
        }
    }
}

#[tokio::test]
async fn a_key_that_the_provider_repeats_is_not_in_the_ledger() {
    for api in APIS {
        let mut bench = bench().await;
        let events = fails(&bench, api, Mood::Repeats).await;
        let told = events.last().unwrap().to_string();
        assert!(told.contains(KEY), "the words of the provider pass: {told}");
        let ledger = bench.stop().await;
        let report = Report::of(&ledger, By::Session).unwrap();
        let fault = report.faults.keys().next().unwrap();
        assert!(
            fault.starts_with("a later turn failed: ") && fault.contains("the key [key]"),
            "{fault}"
        );
        let text = report.to_text();
        let told = "1 of 1 requests met a fault, which the lines below name.";
        assert!(text.contains(told) && !text.contains(KEY), "{text}");
    }
}
