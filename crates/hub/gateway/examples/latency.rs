//! Measures the time that the gateway adds to a request, and the time of a bare proxy with the same libraries for
//! comparison: `latency [streams turns bytes]`. Without arguments it measures 1, 50 and 500 streams, and then opens
//! 10,000. A stream is a session whose list grows by one result each turn. A *way* is the bare proxy or the gateway.
//! The provider answers with one event at once and 19 more in four seconds, and does nothing else. The provider is a
//! process of its own, the client and the way are another process, and both processes share the cores. *Work* is the
//! CPU time of the second process for a request. Other work on the machine does not change it. Build the example with
//! `--release`.

#![allow(clippy::unwrap_used, reason = "a tool for measuring")]

#[path = "latency/ways.rs"]
mod ways;

use std::time::{Duration, Instant};

use accp_gateway::Policy;
use futures_util::StreamExt as _;
use serde_json::{Value as Json, json};

use ways::Way;

/// A load: the number of streams at once, the turns of each stream, and the bytes of a result.
#[derive(Debug, Clone, Copy)]
struct Load {
    streams: usize,
    turns: usize,
    bytes: usize,
}

/// The times of requests, in microseconds: to the first event, and to the last one.
#[derive(Debug, Default)]
struct Times {
    first: Vec<u64>,
    whole: Vec<u64>,
}

impl Times {
    fn add(&mut self, other: Self) {
        self.first.extend(other.first);
        self.whole.extend(other.whole);
    }

    fn quantiles(times: &mut [u64]) -> [u64; 2] {
        times.sort_unstable();
        [50, 99].map(|share| times[(times.len() - 1) * share / 100])
    }
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|mode| mode == "upstream") {
        println!("{}", ways::upstream().await);
        return std::future::pending().await;
    }
    let numbers: Vec<usize> = arguments
        .iter()
        .map(|number| number.parse().unwrap())
        .collect();
    let loads = match numbers[..] {
        [streams, turns, bytes] => vec![Load {
            streams,
            turns,
            bytes,
        }],
        _ => [(1, 10), (50, 5), (500, 5)]
            .map(|(streams, turns)| Load {
                streams,
                turns,
                bytes: 4_000,
            })
            .to_vec(),
    };
    println!(
        "| Streams | Requests | Way | First event: median | 99 % | Last event: median | 99 % | Own time: median | 99 % | Work |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let (mut provider, upstream) = ways::provider();
    for load in loads {
        let bare = ways::bare(&upstream).await;
        measure("bare proxy", &bare, load).await;
        for (name, policy) in [("off", Policy::Off), ("append", Policy::Append)] {
            let gateway = ways::gateway(&upstream, policy).await;
            measure(name, &gateway, load).await;
        }
    }
    if numbers.is_empty() {
        let gateway = ways::gateway(&upstream, Policy::Append).await;
        let before = ways::memory();
        let load = Load {
            streams: 10_000,
            turns: 1,
            bytes: 400,
        };
        measure("append", &gateway, load).await;
        println!(
            "\nMemory of the process: {before} KB before the 10,000 streams, {} KB behind them.",
            ways::memory()
        );
    }
    provider.kill().unwrap();
    provider.wait().unwrap();
}

/// Sends a load through a way, and prints the times.
async fn measure(name: &str, way: &Way, load: Load) {
    // A connection of HTTP/2 carries a hundred streams, so the process needs few file descriptors.
    let clients: Vec<_> = (0..=load.streams / 100).map(|_| ways::client()).collect();
    let begun = Instant::now();
    let worked = ways::worked();
    // The streams begin at times that are spread over one answer, as streams of real users are.
    let apart = ways::ANSWER / u32::try_from(load.streams).unwrap();
    let streams = (0..load.streams).map(|number| {
        let client = clients[number % clients.len()].clone();
        let url = way.url.clone();
        tokio::spawn(async move {
            let start = begun + apart * u32::try_from(number).unwrap();
            tokio::time::sleep_until(start.into()).await;
            let mut times = Times::default();
            for turn in 1..=load.turns {
                times.add(ask(&client, &url, number, body(number, turn, load.bytes)).await);
            }
            times
        })
    });
    let mut times = Times::default();
    for stream in streams.collect::<Vec<_>>() {
        times.add(stream.await.unwrap());
    }
    let requests = times.first.len();
    let ms = |us: u64| format!("{:.2} ms", us as f64 / 1_000.0);
    let first = Times::quantiles(&mut times.first).map(ms);
    let whole = Times::quantiles(&mut times.whole).map(ms);
    let own = way.own().await.map(|(half, most)| [ms(half), ms(most)]);
    let own = own.unwrap_or_default();
    let worked = (ways::worked() - worked) / requests as f64;
    println!(
        "| {} | {requests} | {name} | {} | {} | {} | {} | {} | {} | {worked:.2} ms |",
        load.streams, first[0], first[1], whole[0], whole[1], own[0], own[1]
    );
}

async fn ask(client: &reqwest::Client, url: &str, session: usize, body: String) -> Times {
    let begun = Instant::now();
    let request = client
        .post(format!("{url}/v1/messages"))
        .header("x-api-key", "k1")
        .header("x-session-id", session.to_string())
        .header("content-type", "application/json");
    let answer = request.body(body).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let mut pieces = answer.bytes_stream();
    pieces.next().await.unwrap().unwrap();
    let first = begun.elapsed();
    while let Some(piece) = pieces.next().await {
        piece.unwrap();
    }
    // The time that the provider takes on purpose does not count.
    let whole = begun.elapsed().saturating_sub(ways::ANSWER);
    let us = |time: Duration| u64::try_from(time.as_micros()).unwrap();
    Times {
        first: vec![us(first)],
        whole: vec![us(whole)],
    }
}

/// Returns the request of a session in a turn.
fn body(session: usize, turn: usize, bytes: usize) -> String {
    let mut messages = vec![
        json!({"role": "user", "content": format!("Which slots are free for guest {session}?")}),
    ];
    for call in 0..turn {
        let id = format!("c{call}");
        messages.push(json!({"role": "assistant", "content": [
            {"type": "text", "text": format!("I look at page {call}.")},
            {"type": "tool_use", "id": id, "name": "slots", "input": {"page": call}}]}));
        let rows = (0..bytes / 60).map(|n| {
            let n = session * 1_000 + call * 100 + n;
            json!({"slot": format!("K{n}"), "day": format!("2031-06-{:02}", n % 28 + 1), "free": n.is_multiple_of(3)})
        });
        let rows = Json::Array(rows.collect()).to_string();
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": rows}]}));
    }
    json!({"model": "claude-m", "max_tokens": 100, "stream": true, "system": "You book tables. ".repeat(400),
        "tools": [{"name": "slots", "description": "Lists slots.", "input_schema": {"type": "object"}}],
        "messages": messages})
    .to_string()
}
