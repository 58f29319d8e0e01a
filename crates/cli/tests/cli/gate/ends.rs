//! Tests of answers that end early, and of a hub that cannot use its store, has little memory, or whose stderr nobody
//! reads.

use std::fs;
#[cfg(target_os = "linux")]
use std::process::Command;

use accp_store::{SideId, SqliteStore, Store as _};
use serde_json::{Value as Json, json};

use super::super::hub::{Running, run};
use super::client::Open;
use super::{A2A, COOK, Client, DEV, MCP, TestHub, frame, message, write_tokens};

/// Fills the log of the session `lunch` with more bytes than the buffers of two sockets hold.
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

/// Reads the log again and again until it contains this text, and returns the log.
fn until_the_log_has(client: &Client, text: &str) -> String {
    let read = |_| client.get("/accp/v1/sessions/lunch/frames").body;
    let mut logs = (0..100_000).map(read);
    logs.find(|log| log.contains(text))
        .expect("it is there in time")
}

#[test]
fn a_log_that_is_read_while_its_hub_ends_is_not_whole() {
    for kind in ["application/accp", "application/x-ndjson"] {
        let hub = TestHub::with("[limits]\nframe = 100000\n", &[]);
        let client = hub.client();
        fill(&client);
        let path = "/accp/v1/sessions/lunch/frames";
        let mut reading = client.open("GET", path, &[("accept", kind)], b"");
        reading.until("req:plan");
        // The client reads the rest only after the hub has begun to end.
        let (process, url) = (hub.process, hub.url);
        let ending = std::thread::spawn(move || process.stop());
        let host = url.trim_start_matches("http://");
        let mut tries = (0..1_000_000).map(|_| std::net::TcpStream::connect(host));
        assert!(tries.any(|tried| tried.is_err()), "it ends in time");
        let read = reading.finish();
        assert!(!read.is_whole, "{kind}: {} bytes", read.body.len());
        assert_eq!(ending.join().unwrap().0, Some(0));
    }
}

/// The token still exists, but its rights have changed.
#[test]
fn what_a_token_has_open_ends_when_its_rights_change() {
    for (agent, sessions) in [("dev", "dinner"), ("eve", "lunch")] {
        let hub = TestHub::with("", &[DEV]);
        let dev = hub.client_of(DEV);
        dev.posts("@dev>req:plan{goal:x}", "abc101000001", 1, "sid:lunch");
        let path = "/accp/v1/sessions/lunch/frames?follow=true";
        let mut followed = dev.open("GET", path, &[], b"");
        followed.until("goal:x");
        write_tokens(hub.folder.path(), &[(DEV.0, agent, sessions)]);
        let ended = followed.finish();
        assert!(!ended.is_whole, "{ended:?}");
        let why = "E5001|msg:a_token_whose_rights_have_not_changed";
        assert!(ended.body.contains(why), "{ended:?}");
    }
}

/// Clients of MCP read no event with a name, so the reason is in an answer to the call, too.
#[test]
fn a_call_of_mcp_whose_right_ends_is_answered_with_the_reason() {
    let hub = TestHub::with("", &[DEV, COOK]);
    let (dev, cook) = (hub.client_of(DEV), hub.client_of(COOK));
    cook.posts("@cook>sync:note{}", "c00101000001", 1, "sid:lunch");
    let session = dev.begin("/mcp/lunch/dev");
    let call = json!({ "jsonrpc": "2.0", "id": "ask-7", "method": "tools/call", "params": {
        "name": "accp_ask",
        "arguments": { "intent": "req", "operation": "plan", "params": { "goal": "x" }, "timeout": 300 },
    } });
    let mut headers = MCP.to_vec();
    headers.push(("mcp-session-id", &*session));
    let call = call.to_string();
    let mut asked = dev.open("POST", "/mcp/lunch/dev", &headers, call.as_bytes());
    asked.until("200 OK");
    until_the_log_has(&cook, "goal:x");
    write_tokens(hub.folder.path(), &[COOK]);
    let ended = asked.finish();
    assert!(!ended.is_whole, "{ended:?}");
    let events = ended.body.lines();
    let events = events.filter_map(|line| line.strip_prefix("data: "));
    let messages: Vec<Json> = events
        .filter(|data| data.starts_with('{'))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let answer = messages.iter().find(|message| message["id"] == "ask-7");
    let error = &answer.expect("an answer")["error"];
    assert_eq!(error["data"]["code"], "E5001", "{error}");
    let why = error["message"].as_str().unwrap();
    assert!(why.contains("a token that the hub knows"), "{why}");
}

/// No agent answers these requests. When the hub ends, it sends each client an answer.
#[test]
fn requests_that_wait_are_answered_when_their_hub_ends() {
    let (hub, client) = TestHub::open("--memory");
    // This agent is in the session, and may answer.
    client.posts("@cook>sync:note{}", "c00101000001", 1, "sid:lunch");
    let asked = frame("@dev>req:plan{goal:one}", "dea102000001", 1, "sid:lunch");
    let kind = ("content-type", "application/accp");
    let headers = [kind, ("prefer", "wait=60")];
    let posted = client.open("POST", "/accp/v1/frames", &headers, asked.as_bytes());
    let path = "/mcp/lunch/model";
    let session = client.begin(path);
    let session = ("mcp-session-id", &*session);
    let call = |method: &str, params: &serde_json::Value| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
    };
    let asks = json!({ "name": "accp_ask", "arguments": {
        "intent": "req", "operation": "plan", "params": { "goal": "two" }, "timeout": 60,
    } });
    let mut headers = MCP.to_vec();
    headers.push(session);
    let asks = call("tools/call", &asks);
    let tool = client.open("POST", path, &headers, asks.as_bytes());
    let headers = [("accept", "text/event-stream"), session];
    let mut listens = client.open("GET", path, &headers, b"");
    listens.until("200 OK");
    let sends = call("SendMessage", &message("m1", "three"));
    let task = client.open("POST", "/a2a/lunch/guest", &A2A, sends.as_bytes());
    let url = hub.url.clone();
    let asks = std::thread::spawn(move || {
        let question = "@guide>req:plan{goal:four}";
        run(["ask", "--hub", &url, "--session", "lunch", question])
    });
    for waits in ["goal:one", "goal:two", "content:three", "goal:four"] {
        until_the_log_has(&client, waits);
    }
    assert_eq!(hub.process.stop(), (Some(0), String::new()));
    let posted = posted.finish();
    assert_eq!(posted.status, 200, "{posted:?}");
    assert!(posted.body.starts_with("@hub>ack:frame{}["), "{posted:?}");
    assert!(posted.body.contains("of:dea102000001"), "{posted:?}");
    let tool = tool.finish();
    assert!(tool.is_whole && tool.body.contains("E3001"), "{tool:?}");
    assert!(tool.body.contains("it stands"), "{tool:?}");
    let task = task.finish();
    assert!(task.body.contains("TASK_STATE_SUBMITTED"), "{task:?}");
    let asked = asks.join().unwrap();
    asked.code_is(1).stderr_has("the question stands");
    let listens = listens.finish();
    assert!(listens.is_whole, "{listens:?}");
}

/// Another client opens the agent that has asked. The question stands, so a model must not ask it again.
#[test]
fn a_question_whose_agent_ends_stands() {
    let (_hub, client) = TestHub::open("--memory");
    // This agent is in the session, and may answer.
    client.posts("@cook>sync:note{}", "c00101000001", 1, "sid:lunch");
    let path = "/mcp/lunch/model";
    let session = client.begin(path);
    let asks = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "accp_ask", "arguments": {
            "intent": "req", "operation": "plan", "params": { "goal": "soup" }, "timeout": 60,
        },
    } });
    let mut headers = MCP.to_vec();
    headers.extend([("mcp-session-id", &*session), ("connection", "close")]);
    let tool = client.open("POST", path, &headers, asks.to_string().as_bytes());
    until_the_log_has(&client, "goal:soup");
    let mut sends = message("m1", "hello");
    sends["configuration"] = json!({ "returnImmediately": true });
    let begun = client.a2a("/a2a/lunch/model", "SendMessage", &sends);
    assert!(begun.body.contains("TASK_STATE_SUBMITTED"), "{begun:?}");
    let tool = tool.finish();
    assert!(tool.body.contains("the agent was opened again"), "{tool:?}");
    assert!(tool.body.contains("E3001"), "{tool:?}");
    assert!(tool.body.contains("it stands"), "{tool:?}");
    assert!(!tool.body.contains("call again"), "{tool:?}");
}

/// At the limit for files a write fails, as on a full disk. The hub goes on, and its log can be read.
#[cfg(target_os = "linux")]
#[test]
fn a_hub_outlives_the_limit_for_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut limited = Command::new("sh");
    limited.current_dir(folder.path());
    // `ulimit` limits the size of files to this number of 512-byte blocks.
    let script = r#"ulimit -f 2000; exec "$0" serve --listen 127.0.0.1:0"#;
    limited.args(["-c", script, env!("CARGO_BIN_EXE_accp")]);
    let mut process = Running::spawn(&mut limited);
    let client = Client::new(&process.url(), None);
    let dish = "x".repeat(40_000);
    let posted = (1..=200).map(|n| {
        let head = format!("@dev>req:plan{{dish:{dish}}}");
        let frame = frame(&head, &format!("dea101{n:06}"), n, "sid:lunch");
        client.post_frame(&frame).status
    });
    let taken = posted.take_while(|status| *status == 200).count();
    assert!((1..200).contains(&taken), "{taken}");
    // The hub opens its store again before it reads.
    let read = |_| client.get("/accp/v1/sessions/lunch/frames");
    let mut tries = (0..100_000).map(read);
    let log = tries.find(|log| log.status == 200);
    let log = log.expect("the log is read in time");
    assert!(log.is_whole, "{}", log.head);
    assert_eq!(log.body.matches("req:plan").count(), taken);
    assert_eq!(client.get("/healthz").status, 200);
}

/// A body that stops is refused after `body_seconds`, and the refusal names that time.
#[test]
fn a_body_that_stops_is_refused_with_the_time_that_is_over() {
    let hub = TestHub::with("[limits]\nbody_seconds = 1\n", &[DEV]);
    let dev = hub.client_of(DEV);
    let half = |path: &str, headers: &[(&str, &str)], body: &str| {
        let mut headers = headers.to_vec();
        headers.push(("content-length", "400"));
        dev.open("POST", path, &headers, body.as_bytes())
    };
    let frames = [("content-type", "application/accp")];
    for (half, expected) in [
        (
            half("/accp/v1/frames", &frames, "@dev>req:plan{"),
            "a_whole_frame_within_1_seconds",
        ),
        (
            half("/a2a/lunch/dev", &A2A, "{"),
            "more_of_the_body_within_1_seconds",
        ),
        (
            half("/mcp/lunch/dev", &MCP, "{"),
            "more_of_the_body_within_1_seconds",
        ),
    ] {
        let refused = half.finish();
        assert_eq!(refused.status, 408, "{refused:?}");
        assert!(refused.body.contains(expected), "{refused:?}");
    }
}

#[test]
fn an_answer_in_pieces_without_its_end_is_not_whole() {
    let (_hub, client) = TestHub::open("--memory");
    // This agent is in the session, and may answer.
    let cook = frame("@cook>sync:note{}", "c00101000001", 1, "sid:lunch");
    assert_eq!(client.post_frame(&cook).status, 200);
    let asked = frame("@dev>req:plan{}", "dea102000001", 1, "sid:lunch");
    let kind = ("content-type", "application/accp");
    let headers = [kind, ("prefer", "wait=2"), ("connection", "close")];
    let mut asking = client.open("POST", "/accp/v1/frames", &headers, asked.as_bytes());
    until_the_log_has(&client, "req:plan");
    client.posts(
        "@cook>stream:infer{idx:0|d:rye|schema:ST}",
        "c00101000002",
        2,
        "sid:lunch,cid:dea102000001",
    );
    asking.until("d:rye");
    let answer = asking.finish();
    assert!(!answer.is_whole, "{answer:?}");
    assert!(answer.body.contains("fail:error{code:E3001"), "{answer:?}");
}

#[test]
fn who_waits_for_an_answer_waits_beyond_an_erasure() {
    let any = ("any", "*", "*");
    let hub = TestHub::with_admin(&[any]);
    let client = hub.client_of(any);
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
    let hub = TestHub::with(
        "[limits]
bodies = 5000
frames_per_second = 10000
",
        &[DEV, COOK],
    );
    let [dev, cook] = [DEV, COOK].map(|token| hub.client_of(token));
    let kind = ("content-type", "application/accp");
    // Each request sends only a part of its body. The hub has room for two of the bodies, so it refuses one of the
    // three requests.
    let headers = [kind, ("content-length", "4000")];
    let open = |_| dev.open("POST", "/accp/v1/frames", &headers, &[b'x'; 2400]);
    let mut held: Vec<_> = (0..3).map(open).collect();
    let refused = loop {
        if let Some(at) = held.iter().position(Open::is_answered) {
            break held.swap_remove(at).finish();
        }
    };
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!(
        refused.body.contains("fewer_bytes_of_bodies"),
        "{refused:?}"
    );
    let body = frame(
        &format!("@dev>req:plan{{dish:{}}}", "x".repeat(1000)),
        "dea101000001",
        1,
        "sid:lunch",
    );
    assert_eq!(dev.post_frame(&body).status, 429);
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
    let (hub, client) = TestHub::open("--memory --log-level debug");
    // For each frame the hub writes at least one line to its stderr. Nobody reads this pipe, and it holds only 64
    // KiB.
    for n in 1..=1_000 {
        let plan = frame("@dev>req:plan{}", &format!("dea101{n:06}"), n, "sid:lunch");
        let posted = client.post_frame(&plan);
        assert_eq!(posted.status, 200, "{posted:?}");
    }
    assert_eq!(client.get("/readyz").status, 200);
    assert_eq!(hub.process.stop().0, Some(0));
}

/// A hub that was killed starts again from its snapshot. The snapshot holds the ids of earlier frames, so the hub
/// recognises frames that are sent again.
#[test]
fn a_hub_that_was_killed_takes_no_frame_of_a_long_log_again() {
    const REGISTRY: &str = r#"{ "schemas": { "menu": { "code": "MN", "fields": ["dish"],
        "frames": [{ "intent": "req", "operation": "plan" }] } } }"#;
    let started = "hub.accp --registry menu.json";
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("menu.json"), REGISTRY).unwrap();
    let hub = TestHub::start_in(folder, started);
    let post = |client: &Client, agent: usize, n: u64| {
        let name = ["dev", "cook"][agent];
        let maker = ["dea101", "c00101"][agent];
        let head = format!("@{name}>req:plan{{dish:soup|schema:MN}}");
        let frame = frame(&head, &format!("{maker}{n:06}"), n, "sid:lunch");
        let posted = client.post_frame(&frame);
        let body = posted.body.split("|schema").next().unwrap_or_default();
        (posted.status, body.to_owned())
    };
    let again = |client: &Client| {
        let some = [1, 2, 300, 600].map(|n| [post(client, 0, n), post(client, 1, n)]);
        some.concat()
    };
    let client = hub.client();
    for n in 1..=600 {
        assert_eq!(post(&client, 0, n).0, 200);
        assert_eq!(post(&client, 1, n).0, 200);
    }
    let known = again(&client);
    let path = "/accp/v1/sessions/lunch/frames";
    let before = client.get(path).body;
    drop(hub.process);
    let mut store = SqliteStore::open(hub.folder.path().join("hub.accp")).unwrap();
    let stored = store.load(&SideId::new("lunch", "hub")).unwrap().unwrap();
    assert!(stored.snapshot.unwrap().holds_ids() && stored.seen.len() < 1_200);
    drop(store);

    let hub = TestHub::start_in(hub.folder, started);
    let client = hub.client();
    assert_eq!(again(&client), known);
    let requests = |log: &str| log.matches("req:plan").count();
    assert_eq!(requests(&before), 1_200);
    assert_eq!(requests(&client.get(path).body), 1_200);
}

#[test]
fn a_hub_that_has_lost_its_write_ahead_log_takes_nothing() {
    let (hub, client) = TestHub::open("hub.accp");
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
    fs::remove_file(hub.folder.path().join("hub.accp-wal")).unwrap();
    let refused = plan(6);
    assert_eq!(refused.status, 503, "{refused:?}");
    super::until_ready_is(&client, 503);
    drop(hub.process);
    let hub = TestHub::start_in(hub.folder, "hub.accp");
    let log = hub.client().get("/accp/v1/sessions/lunch/frames").body;
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
        let args = "serve --memory --listen 127.0.0.1:0 --tokens tokens.toml";
        let mut hub = Running::start_with(args, folder.path(), &[]);
        let said: String = (0..8).map(|_| hub.line() + "\n").collect();
        assert!(said.contains(why), "{said}");
    }
}
