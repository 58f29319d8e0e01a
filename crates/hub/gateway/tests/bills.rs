//! Tests of the bill in the ledger. They compare it with the bill of a twin whose requests are sent as they are.

use accp_gateway::{By, Config, Ledger, Policy, Prices, Provider, Report};
use serde_json::Value as Json;

use crate::client::{Api, reads, says};
use crate::conversation::{Bench, messages, request};
use crate::upstream::{Billed, Mood};

/// Sends a growing conversation, and returns the ledger.
async fn grown(policy: Policy, lists: &[Json]) -> Ledger {
    let config = Config {
        policy,
        predict: Policy::Append,
        ..Config::default()
    };
    grown_with(config, lists).await
}

/// Sends a growing conversation through a gateway with these settings, and returns the ledger.
async fn grown_with(config: Config, lists: &[Json]) -> Ledger {
    let mut bench = Bench::with(config).await;
    for list in lists {
        bench.ask(list).await;
    }
    bench.stop().await
}

#[tokio::test]
async fn the_plain_bill_is_that_of_the_plain_twin() {
    let lists: Vec<Json> = (0..12).map(|calls| request(messages(calls))).collect();
    let plain = Report::of(&grown(Policy::Off, &lists).await, By::Model)
        .unwrap()
        .all;
    let shadow = Report::of(&grown(Policy::Shadow, &lists).await, By::Model)
        .unwrap()
        .all;
    let append = Report::of(&grown(Policy::Append, &lists).await, By::Model)
        .unwrap()
        .all;
    assert_eq!(plain.requests, 12);
    assert!((plain.cost - shadow.cost).abs() < 1e-6);
    let near = |one: f64, other: f64| (one - other).abs() < other * 0.02;
    assert!(append.cost < plain.cost * 0.9, "{append:?} {plain:?}");
    assert!(near(append.plain, plain.cost), "{append:?} {plain:?}");
    assert!(near(shadow.changed, append.cost), "{shadow:?} {append:?}");
}

/// A page of a log, with lines that no other page has. Each fifth one is large.
fn page(call: u64) -> String {
    let lines = if call.is_multiple_of(5) { 400 } else { 90 };
    let lines = (0..lines).map(|n| {
        let n = call * 1_000 + n;
        format!(
            "{n} host-{} took {} ms for order {}, with {} rows and no error",
            n % 7,
            n * 31 % 997,
            n * 7_919,
            n % 53
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The prediction is close to the bill, even when messages leave the list that a cache has, and when the definition
/// of the tool is added.
#[tokio::test]
async fn shadow_predicts_what_each_policy_costs() {
    let lists: Vec<Json> = (0..40)
        .map(|calls| {
            let mut list = messages(calls);
            for (call, message) in list.iter_mut().skip(2).step_by(2).enumerate() {
                message["content"][0]["content"] = page(call as u64).into();
            }
            request(list)
        })
        .collect();
    for (policy, window) in [
        (Policy::Save, None),
        (Policy::Save, Some(24_000)),
        (Policy::Window, Some(24_000)),
    ] {
        let config = Config {
            policy,
            window,
            ..Config::default()
        };
        let shadow = Config {
            policy: Policy::Shadow,
            predict: policy,
            ..config.clone()
        };
        let through = grown_with(config, &lists).await;
        let entries = through.entries(None).unwrap();
        let steps = entries.iter().filter(|entry| entry.note.is_some());
        assert!(steps.count() > 0, "{policy} {window:?}");
        let through = Report::of(&through, By::Model).unwrap().all;
        let shadow = grown_with(shadow, &lists).await;
        let notes = shadow.entries(None).unwrap().into_iter();
        let notes: Vec<_> = notes.filter_map(|entry| entry.note).collect();
        assert!(
            notes.iter().all(|note| note.starts_with("it would be ")),
            "{notes:?}"
        );
        let shadow = Report::of(&shadow, By::Model).unwrap().all;
        let apart = shadow.changed / through.cost - 1.0;
        assert!(
            apart.abs() < 0.02,
            "{policy} {window:?}: {apart:+.4}, {shadow:?} {through:?}"
        );
    }
}

#[tokio::test]
async fn a_report_is_read_by_people_programs_and_the_page() {
    let bench = Bench::start(Policy::Append).await;
    for calls in 0..3 {
        bench.ask(&request(messages(calls))).await;
    }
    let get = async |path: &str| {
        let answer = bench.client.get(bench.url(path)).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    // Rows are written one by one, some time after the answers.
    let (_, mut text) = get("/accp/v1/gateway/report?by=day").await;
    while serde_json::from_str::<Json>(&text).unwrap()["all"]["requests"] != 3 {
        text = get("/accp/v1/gateway/report?by=day").await.1;
    }
    let report: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(report["rows"].as_array().unwrap().len(), 1);
    assert!(report["all"]["cost"].as_f64() < report["all"]["plain"].as_f64());
    let (status, text) = get("/accp/v1/gateway/report?by=moon").await;
    assert_eq!(status, 400);
    assert!(
        text.contains("expected session, day or model, found \\\"moon\\\""),
        "{text}"
    );
    let (status, page) = get("/ui/gateway").await;
    assert_eq!(status, 200);
    assert!(page.contains("<td>claude-m<td>3<td>"), "{page}");
    let of_a_site = bench
        .client
        .get(bench.url("/ui/gateway"))
        .header("host", "evil.example:7338");
    assert_eq!(of_a_site.send().await.unwrap().status(), 403);
    // The provider has seen none of these.
    assert_eq!(bench.upstream.got().len(), 3);
}

#[tokio::test]
async fn a_table_for_people_has_a_line_for_each_row() {
    let lists = [request(messages(2)), request(messages(3))];
    let ledger = grown(Policy::Append, &lists).await;
    let text = Report::of(&ledger, By::Model).unwrap().to_text();
    let lines: Vec<_> = text.lines().collect();
    assert!(
        lines[0].starts_with("model") && lines[0].ends_with("saved"),
        "{text}"
    );
    assert!(
        lines[1].starts_with("claude-m") && lines[1].ends_with(" %"),
        "{text}"
    );
    assert!(text.contains("tokens of plain input"), "{text}");
}

/// A turn in which the model has read lines brings nothing if the next turn fails. Then the plain bill is that of the
/// original request, if the gateway sends the original. Otherwise the client has to ask again, and the plain bill is
/// nothing.
#[tokio::test]
async fn turns_before_a_failed_one_save_nothing() {
    let prices = Prices::of(Provider::Anthropic, "claude-m");
    let cost = |billed: &Billed| {
        let written = (billed.written - billed.hourly) as f64 * prices.write;
        let hourly = billed.hourly as f64 * prices.hour.unwrap();
        let read = billed.read as f64 * prices.read;
        billed.input as f64 + written + hourly + read + billed.output as f64 * prices.output
    };
    for (mood, status, turns) in [(Mood::Refuses(0), 200, 2), (Mood::Busy, 429, 1)] {
        let config = Config {
            policy: Policy::Save,
            window: Some(6_000),
            ..Config::default()
        };
        let mut bench = Bench::with(config).await;
        bench
            .upstream
            .says([vec![reads("c0", 20, 20)], vec![says("It is free.")]]);
        bench.upstream.is_first([Mood::Well, mood]);
        let body = Api::Messages
            .body(&Api::Messages.list(6), false)
            .to_string();
        let answer = bench.post("/v1/messages", "k1", body).await;
        assert_eq!(answer.status(), status);
        answer.bytes().await.unwrap();
        let billed = bench
            .upstream
            .got()
            .iter()
            .filter_map(|got| got.billed)
            .collect::<Vec<_>>();
        assert_eq!(billed.len(), turns, "{billed:?}");
        let entry = bench.stop().await.entries(None).unwrap().remove(0);
        let bill = entry.bill.unwrap();
        let whole: f64 = billed.iter().map(cost).sum();
        let plain = billed.get(1).map_or(0.0, cost);
        assert!((bill.cost - whole).abs() < 1e-6, "{bill:?} {billed:?}");
        assert!((bill.plain - plain).abs() < 1e-6, "{bill:?} {billed:?}");
        // The counts are those of all turns.
        let output: u64 = billed.iter().map(|billed| billed.output).sum();
        assert_eq!(entry.usage.unwrap().output, output);
        assert_eq!((entry.turns, entry.repeated), (1, turns == 2));
    }
}
