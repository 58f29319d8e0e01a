//! Tests of what requests leave behind in a hub: memory, entries, and bytes in its file.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::client::{MCP, message};
use super::{TestHub, frame};

/// Returns the bytes of memory that the process of a hub has.
fn memory(hub: &TestHub) -> u64 {
    let status = format!("/proc/{}/status", hub.process.id());
    let status = std::fs::read_to_string(status).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = resident.unwrap().trim().trim_end_matches(" kB");
    kilobytes.parse::<u64>().unwrap() * 1024
}

/// Makes a few requests, then many, and checks that the many leave less memory behind than this.
fn leaves_at_most(hub: &TestHub, bytes: u64, many: usize, request: impl Fn(usize)) {
    (0..8).for_each(&request);
    let before = memory(hub);
    (8..8 + many).for_each(&request);
    let more = memory(hub).saturating_sub(before);
    assert!(more < bytes, "{} MiB more", more >> 20);
}

#[test]
fn refused_agents_with_long_names_leave_no_names_behind() {
    let (hub, client) = TestHub::open("--memory");
    let plan = frame("@dev>req:plan{}", "abc101000001", 1, "sid:lunch");
    assert_eq!(client.post_frame(&plan).status, 200);
    leaves_at_most(&hub, 16 << 20, 400, |number| {
        let head = format!("@a{number}{}>req:plan{{}}", "x".repeat(60_000));
        let refused = client.post_frame(&frame(&head, "abc102000001", 7, "sid:lunch"));
        assert_eq!(refused.status, 400, "{refused:?}");
    });
}

#[test]
fn ids_of_messages_into_a_task_are_not_kept() {
    let (hub, client) = TestHub::open("--memory");
    client.posts("@cook>req:plan{}", "abc101000001", 1, "sid:lunch");
    let send = |id: &str, task: Option<&str>| {
        let mut params = message(id, "soup");
        params["configuration"] = json!({ "returnImmediately": true, "historyLength": 0 });
        if let Some(task) = task {
            params["message"]["taskId"] = json!(task);
        }
        let sent = client.a2a("/a2a/lunch/dev", "SendMessage", &params);
        assert_eq!(sent.status, 200, "{sent:?}");
        let answer: Json = serde_json::from_str(&sent.body).unwrap();
        let task = answer.pointer("/result/task/id").and_then(Json::as_str);
        task.unwrap_or_else(|| panic!("{sent:?}")).to_owned()
    };
    let task = send("first", None);
    let id = |number: usize| format!("{number}{}", "i".repeat(900_000));
    leaves_at_most(&hub, 16 << 20, 40, |number| {
        assert_eq!(send(&id(number), Some(&task)), task);
        // The hub takes 16 MiB a second.
        std::thread::sleep(Duration::from_millis(70));
    });
    // A message that comes again is still known.
    let entries = || client.get("/accp/v1/sessions/lunch/frames").body.len();
    let before = entries();
    send(&id(47), Some(&task));
    assert_eq!(entries(), before);
}

#[test]
fn a_client_of_mcp_says_little_of_itself() {
    let (_hub, client) = TestHub::open("--memory");
    let begin = |bytes: usize| {
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "n".repeat(bytes), "version": "0" },
        });
        client.mcp("/mcp/lunch/dev", None, "initialize", &params)
    };
    assert_eq!(begin(30_000).status, 200);
    let refused = begin(40_000);
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(
        refused.body.contains("expected at most 32768"),
        "{refused:?}"
    );
}

#[test]
fn calls_without_an_answer_have_a_bound_in_bytes() {
    let hub = TestHub::with("[limits]\nbodies = 100000\n", &[]);
    let client = hub.client();
    let session = client.begin("/mcp/lunch/dev");
    let call = |seconds: u64| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "accp_receive", "arguments": { "timeout": seconds },
            "_meta": { "note": "n".repeat(60_000) },
        } })
        .to_string()
    };
    let mut headers = MCP.to_vec();
    headers.push(("mcp-session-id", &session));
    let mut waits = client.open("POST", "/mcp/lunch/dev", &headers, call(3).as_bytes());
    waits.until("data:");
    let second = client.ask("POST", "/mcp/lunch/dev", &headers, &call(0));
    assert_eq!(second.status, 429, "{second:?}");
    assert!(second.body.contains("fewer_bytes_of_bodies"), "{second:?}");
    waits.until("\"result\"");
    // The call ends soon after its answer.
    let since = Instant::now();
    loop {
        let third = client.ask("POST", "/mcp/lunch/dev", &headers, &call(0));
        match third.status {
            200 => break,
            status => assert!(
                status == 429 && since.elapsed() < Duration::from_secs(20),
                "{third:?}"
            ),
        }
    }
}

#[test]
fn many_schemas_are_registered_at_once() {
    let (_hub, client) = TestHub::open("--memory");
    client.posts("@dev>req:plan{}", "abc101000001", 1, "sid:lunch");
    let schemas = |range: std::ops::Range<usize>| {
        let schemas = range.map(|n| {
            let frames = json!([{ "intent": "req", "operation": format!("op{n}") }]);
            let schema = json!({ "code": format!("C{n}"), "fields": ["dish"], "frames": frames });
            (format!("schema{n}"), schema)
        });
        let schemas: serde_json::Map<String, Json> = schemas.collect();
        json!({ "schemas": schemas }).to_string()
    };
    let register = |text: &str| {
        let place = "/accp/v1/sessions/lunch/registry?agent=dev";
        client.ask("POST", place, &[], text)
    };
    let announced = || {
        let log = client.get("/accp/v1/sessions/lunch/frames").body;
        log.matches("sync:schemas").count()
    };
    let before = announced();
    let since = Instant::now();
    let registered = register(&schemas(0..1_000));
    assert_eq!(registered.status, 200, "{registered:?}");
    assert!(
        since.elapsed() < Duration::from_secs(15),
        "{:?}",
        since.elapsed()
    );
    assert_eq!(announced(), before + 1, "one entry for all of them");
    // The same schemas again change nothing.
    assert_eq!(register(&schemas(0..1_000)).status, 200);
    assert_eq!(announced(), before + 1);
    // No member could fetch that many schemas.
    let refused = register(&schemas(1_000..6_000));
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(refused.body.contains("262144"), "{refused:?}");
    assert_eq!(announced(), before + 1);
}
