//! Answers that stop before their end, and what a hub that is in trouble says.

use std::fs;

use serde_json::json;

use super::super::hub::Running;
use super::{Client, frame};

/// Fills the log of the session `lunch` with frames that do not fit between two sockets.
fn fill(client: &Client) {
    let dish = "x".repeat(40_000);
    for n in 1..=200 {
        let frame = frame(
            &format!("@dev>req:plan{{dish:{dish}}}"),
            &format!("dea101{n:06}"),
            n,
            "sid:lunch",
        );
        let posted = client.post_frame(&frame);
        assert_eq!(posted.status, 200, "{posted:?}");
    }
}

/// Reads the log until it has this text, and returns it.
fn until_the_log_has(client: &Client, text: &str) -> String {
    let read = |_| client.get("/accp/v1/sessions/lunch/frames").body;
    let mut logs = (0..100_000).map(read);
    logs.find(|log| log.contains(text))
        .expect("it is there in time")
}

#[test]
fn a_log_that_is_read_while_its_hub_ends_is_not_whole() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("hub.toml"), "[limits]\nframe = 100000\n").unwrap();
    for kind in ["application/accp", "application/x-ndjson"] {
        let (hub, url) = Running::hub(&["--memory", "--config", "hub.toml"], folder.path());
        let client = Client::new(&url, None);
        fill(&client);
        let path = "/accp/v1/sessions/lunch/frames";
        let mut reading = client.open("GET", path, &[("accept", kind)], b"");
        reading.until("req:plan");
        // Nobody reads on until the hub has begun to end.
        let ending = std::thread::spawn(move || hub.stop());
        let host = url.trim_start_matches("http://");
        let mut tries = (0..1_000_000).map(|_| std::net::TcpStream::connect(host));
        assert!(tries.any(|tried| tried.is_err()), "it ends in time");
        let read = reading.finish();
        assert!(!read.is_whole, "{kind}: {} bytes", read.body.len());
        assert_eq!(ending.join().unwrap().0, Some(0));
    }
}

#[test]
fn an_answer_in_pieces_without_its_end_is_not_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (_hub, url) = Running::hub(&["--memory"], folder.path());
    let client = Client::new(&url, None);
    let asked = frame("@dev>req:plan{}", "dea101000001", 1, "sid:lunch");
    let kind = ("content-type", "application/accp");
    let headers = [kind, ("prefer", "wait=2"), ("connection", "close")];
    let mut asking = client.open("POST", "/accp/v1/frames", &headers, asked.as_bytes());
    until_the_log_has(&client, "req:plan");
    let piece = frame(
        "@cook>stream:infer{idx:0|d:rye|schema:ST}",
        "c00102000001",
        1,
        "sid:lunch,cid:dea101000001",
    );
    assert_eq!(client.post_frame(&piece).status, 200);
    asking.until("d:rye");
    let answer = asking.finish();
    assert!(!answer.is_whole, "{answer:?}");
    assert!(answer.body.contains("fail:error{code:E3001"), "{answer:?}");
}

#[test]
fn who_waits_for_an_answer_waits_beyond_an_erasure() {
    let folder = tempfile::tempdir().unwrap();
    super::write_tokens(folder.path(), &[("any", "*", "*")]);
    let tokens = fs::read_to_string(folder.path().join("tokens.toml")).unwrap();
    fs::write(folder.path().join("tokens.toml"), tokens + "admin = true\n").unwrap();
    let (_hub, url) = Running::hub(&["--tokens", "tokens.toml"], folder.path());
    let client = Client::new(&url, Some("any"));
    let plan = |head: &str, mid: &str, seq, more: &str| {
        client.post_frame(&frame(head, mid, seq, &format!("sid:lunch{more}")))
    };
    assert_eq!(
        plan("@cook>sync:note{a:b}", "c00102000001", 1, "").status,
        200
    );
    let asked = frame("@dev>req:plan{}", "dea101000001", 1, "sid:lunch");
    let kind = ("content-type", "application/accp");
    let headers = [kind, ("prefer", "wait=30"), ("connection", "close")];
    let asking = client.open("POST", "/accp/v1/frames", &headers, asked.as_bytes());
    until_the_log_has(&client, "req:plan");
    let log = client.get("/accp/v1/sessions/lunch/frames").body;
    let at = 1 + log
        .lines()
        .position(|line| line.contains("sync:note"))
        .unwrap();
    let body = json!({ "positions": [[at, at]], "lapse": true }).to_string();
    let json = [("content-type", "application/json")];
    let erased = client.ask("POST", "/accp/v1/sessions/lunch/erase", &json, &body);
    assert_eq!(erased.status, 200, "{erased:?}");
    let done = plan(
        "@cook>done:plan{a:b}",
        "c00102000002",
        2,
        ",cid:dea101000001",
    );
    assert_eq!(done.status, 200, "{done:?}");
    let answer = asking.finish();
    assert!(
        answer.body.starts_with("@cook>done:plan{a:b}"),
        "{answer:?}"
    );
}

#[test]
fn bodies_on_their_way_have_a_bound() {
    let folder = tempfile::tempdir().unwrap();
    super::write_tokens(folder.path(), &[super::DEV, super::COOK]);
    fs::write(folder.path().join("hub.toml"), "[limits]\nbodies = 5000\n").unwrap();
    let args = [
        "--memory",
        "--tokens",
        "tokens.toml",
        "--config",
        "hub.toml",
    ];
    let (_hub, url) = Running::hub(&args, folder.path());
    let (dev, cook) = (
        Client::new(&url, Some(super::DEV.0)),
        Client::new(&url, Some(super::COOK.0)),
    );
    let kind = ("content-type", "application/accp");
    let mut held = Vec::new();
    // Half of a body, of which the hub has taken note once a request behind it is refused.
    for _ in 0..2 {
        let headers = [kind, ("content-length", "4000")];
        held.push(dev.open("POST", "/accp/v1/frames", &headers, &[b'x'; 2400]));
    }
    let body = frame(
        &format!("@dev>req:plan{{dish:{}}}", "x".repeat(1000)),
        "dea101000001",
        1,
        "sid:lunch",
    );
    let mut posted = (0..10_000).map(|_| dev.post_frame(&body));
    let refused = posted
        .find(|posted| posted.status == 429)
        .expect("no room in time");
    assert!(
        refused.body.contains("fewer_bytes_of_bodies"),
        "{refused:?}"
    );
    let other = frame("@cook>req:plan{}", "c00101000001", 1, "sid:lunch");
    assert_eq!(
        cook.post_frame(&other).status,
        200,
        "each has room of its own"
    );
    drop(held);
    let mut posted = (0..10_000).map(|_| dev.post_frame(&body));
    assert!(
        posted.any(|posted| posted.status != 429),
        "the room is free again"
    );
}

#[test]
fn a_hub_whose_log_nobody_reads_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (hub, url) = Running::hub(&["--memory", "--log-level", "debug"], folder.path());
    let client = Client::new(&url, None);
    // Each is a line of the log at least, and a pipe holds 64 KiB.
    for n in 1..=1_000 {
        let plan = frame("@dev>req:plan{}", &format!("dea101{n:06}"), n, "sid:lunch");
        let posted = client.post_frame(&plan);
        assert_eq!(posted.status, 200, "{posted:?}");
    }
    assert_eq!(client.get("/readyz").status, 200);
    assert_eq!(hub.stop().0, Some(0));
}

#[test]
fn a_hub_that_has_lost_its_write_ahead_log_takes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (hub, url) = Running::hub(&["hub.accp"], folder.path());
    let client = Client::new(&url, None);
    let plan = |n: u64| {
        client.post_frame(&frame(
            "@dev>req:plan{}",
            &format!("dea101{n:06}"),
            n,
            "sid:lunch",
        ))
    };
    for n in 1..=5 {
        assert_eq!(plan(n).status, 200);
    }
    fs::remove_file(folder.path().join("hub.accp-wal")).unwrap();
    let refused = plan(6);
    assert_eq!(refused.status, 503, "{refused:?}");
    super::until_ready_is(&client, 503);
    drop(hub);
    let (_hub, url) = Running::hub(&["hub.accp"], folder.path());
    let log = Client::new(&url, None)
        .get("/accp/v1/sessions/lunch/frames")
        .body;
    let count = log.lines().filter(|line| line.contains("req:plan")).count();
    assert_eq!(count, 5, "what was acknowledged is there: {log}");
}

#[test]
fn a_file_of_tokens_says_which_agent_each_is() {
    let folder = tempfile::tempdir().unwrap();
    for (entry, why) in [
        ("sessions = [\"*\"]\n", "missing field `agent`"),
        (
            "agent = \"\"\nsessions = [\"*\"]\n",
            "neither `*` nor the name of an agent",
        ),
        (
            "agent = \"dev \"\nsessions = [\"*\"]\n",
            "neither `*` nor the name of an agent",
        ),
    ] {
        let digest = accp_hub::Tokens::digest("secret");
        let text = format!("[[token]]\nsha256 = \"{digest}\"\n{entry}");
        fs::write(folder.path().join("tokens.toml"), text).unwrap();
        let args = [
            "serve",
            "--memory",
            "--listen",
            "127.0.0.1:0",
            "--tokens",
            "tokens.toml",
        ];
        let mut hub = Running::start_with(&args, folder.path(), &[]);
        let said: String = (0..8).map(|_| hub.line() + "\n").collect();
        assert!(said.contains(why), "{said}");
    }
}
