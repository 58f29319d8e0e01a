//! Tests of models that use MCP: what their calls, MCP sessions and agents cost, and when each of these ends.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value as Json, json};

use super::client::{Answer, Client, MCP, Open};
use super::stored::content;
use super::{COOK, DEV, GUEST, TestHub, frame, write_tokens};

const PLACE: &str = "/mcp/lunch/dev";
/// The revision of MCP without sessions.
const STATELESS: &str = "2026-07-28";
const UPDATED: &str = "notifications/resources/updated";

fn plan(agent: &str, goal: &str, number: u64) -> String {
    let head = format!("@{agent}>req:plan{{goal:{goal}}}");
    frame(&head, &format!("abc1{number:08}"), number, "sid:lunch")
}

fn tool(name: &str, arguments: &Json) -> Json {
    json!({ "name": name, "arguments": arguments })
}

/// Calls a tool in a session of MCP, and leaves the call open.
fn open_tool(client: &Client, session: &str, id: u64, name: &str, arguments: &Json) -> Open {
    let call = json!({
        "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": tool(name, arguments),
    });
    let mut headers = MCP.to_vec();
    headers.push(("mcp-session-id", session));
    client.open("POST", PLACE, &headers, call.to_string().as_bytes())
}

/// Sends a request of the revision without sessions, and leaves it open.
fn open_stateless(client: &Client, path: &str, method: &str, params: &Json) -> Open {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let named = params.get("name").or(params.get("uri"));
    let named = named.and_then(Json::as_str).unwrap_or_default().to_owned();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let mut headers = MCP.to_vec();
    headers.extend([("mcp-protocol-version", STATELESS), ("mcp-method", method)]);
    headers.push(("connection", "close"));
    if !named.is_empty() {
        headers.push(("mcp-name", &named));
    }
    client.open("POST", path, &headers, call.to_string().as_bytes())
}

fn stateless(client: &Client, path: &str, method: &str, params: &Json) -> Answer {
    open_stateless(client, path, method, params).finish()
}

/// Asks again and again until an answer has this status.
fn until(status: u16, mut ask: impl FnMut() -> Answer) {
    let mut answers = (0..100_000).map(|_| ask().status);
    assert!(
        answers.any(|answered| answered == status),
        "{status} does not come"
    );
}

#[test]
fn an_answer_has_one_room_for_the_values_of_all_its_frames() {
    let (_hub, client) = TestHub::open("--memory");
    let value = format!("\"{}", "y".repeat(7_989));
    let digest = accp_registry::Hash::of(value.as_bytes());
    let put = format!("@cook>sync:put{{keys:[[k101_1,{digest},{}]]}}", value.len());
    let announced = client.post_frame(&frame(&put, "abc101000001", 1, "sid:lunch"));
    assert_eq!(announced.status, 200, "{announced:?}");
    let path = "/accp/v1/sessions/lunch/values/k101_1?agent=cook";
    assert_eq!(client.ask("PUT", path, &[], &value).status, 201);
    let session = client.begin(PLACE);
    let params: Vec<_> = (0..250).map(|at| format!("a{at}:$cold.k101_1")).collect();
    for number in 2..14 {
        let many = format!("@cook>req:plan{{{}}}", params.join("|"));
        let sent = client.post_frame(&frame(
            &many,
            &format!("abc1{number:08}"),
            number,
            "sid:lunch",
        ));
        assert_eq!(sent.status, 200, "{sent:?}");
    }
    let call = tool("accp_receive", &json!({ "limit": 50, "timeout": 30 }));
    let mut shown = 0;
    while shown < 12 {
        let received = client.mcp(PLACE, Some(&session), "tools/call", &call).body;
        assert!(received.len() < 2 << 20, "{} bytes", received.len());
        let told = received
            .lines()
            .find_map(|line| line.strip_prefix("data: {"));
        let told: Json = serde_json::from_str(&format!("{{{}", told.unwrap())).unwrap();
        let frames = told["result"]["structuredContent"]["frames"]
            .as_array()
            .unwrap();
        assert!(!frames.is_empty(), "{told}");
        let params = frames
            .iter()
            .filter_map(|frame| frame["params"].as_object());
        let values = params.flat_map(|params| params.values());
        let (whole, references): (Vec<_>, Vec<_>) = values.partition(|value| value.is_string());
        assert_eq!(whole.len(), 8, "64 KiB hold eight of the values");
        assert!(!references.is_empty(), "no reference stays");
        shown += frames.len();
    }
}

#[test]
fn a_call_that_its_client_has_left_counts_as_open() {
    let hub = TestHub::with("[limits]\nrequests = 3\n", &[DEV, COOK]);
    let [dev, cook] = [DEV, COOK].map(|token| hub.client_of(token));
    let session = dev.begin(PLACE);
    let waits = json!({ "timeout": 300 });
    let leave = |id| {
        let mut call = open_tool(&dev, &session, id, "accp_receive", &waits);
        call.until("\r\n");
        call.so_far().starts_with("HTTP/1.1 200")
    };
    let begun = (1..20).filter(|id| leave(*id)).count();
    assert!((1..=3).contains(&begun), "{begun} calls are open");
    // This frame ends the open calls, because they wait for a frame.
    assert_eq!(cook.post_frame(&plan("cook", "x", 1)).status, 200);
    until(200, || dev.get("/accp/v1/sessions/lunch/state"));
}

/// If a client was away when its question was answered, it gets the answer from `accp_receive` later.
#[test]
fn an_answer_whose_client_was_away_is_given_again() {
    let (_hub, client) = TestHub::open("--memory");
    assert_eq!(client.post_frame(&plan("cook", "x", 1)).status, 200);
    let session = client.begin(PLACE);
    let asks = json!({ "intent": "req", "operation": "plan", "params": { "goal": "soup" }, "timeout": 60 });
    let mut asked = open_tool(&client, &session, 7, "accp_ask", &asks);
    asked.until("200 OK");
    let frames = "/accp/v1/sessions/lunch/frames";
    let mut log = client.open("GET", &format!("{frames}?follow=true"), &[], b"");
    log.until("goal:soup");
    drop(asked);
    let frames = client.get(frames).body;
    let asked = frames.lines().find(|line| line.contains("goal:soup"));
    let chain = asked.unwrap().split("mid:").nth(1).unwrap();
    let chain = chain.split([',', ']']).next().unwrap();
    client.posts(
        "@cook>done:plan{dish:soup_with_rye}",
        "abc101000002",
        2,
        &format!("sid:lunch,cid:{chain}"),
    );
    let call = tool("accp_receive", &json!({ "again": true }));
    let receive = || client.mcp(PLACE, Some(&session), "tools/call", &call).body;
    let told = (0..10_000).map(|_| receive());
    let mut told = told.filter(|told| told.contains("soup_with_rye"));
    let told = told.next().expect("the answer comes again");
    assert!(told.contains("\"answers\":[{"), "{told}");
}

#[test]
fn nothing_is_sent_for_a_question_whose_right_is_over() {
    let hub = TestHub::with("", &[DEV, COOK, GUEST]);
    let [dev, cook, guest] = [DEV, COOK, GUEST].map(|token| hub.client_of(token));
    let session = dev.begin(PLACE);
    let asks = |goal: &str, seconds: u32| {
        json!({
            "intent": "req", "operation": "plan", "params": { "goal": goal },
            "timeout": seconds, "cancel": true,
        })
    };
    assert_eq!(guest.post_frame(&plan("guest", "x", 1)).status, 200);
    let frames = "/accp/v1/sessions/lunch/frames?follow=true";
    let mut log = guest.open("GET", frames, &[], b"");
    let with_session = open_tool(&dev, &session, 7, "accp_ask", &asks("one", 5));
    let call = tool("accp_ask", &asks("two", 5));
    let without = open_stateless(&dev, PLACE, "tools/call", &call);
    log.until("goal:one");
    log.until("goal:two");
    write_tokens(hub.folder.path(), &[COOK, GUEST]);
    for ended in [with_session.finish(), without.finish()] {
        assert!(ended.body.contains("E5001"), "{ended:?}");
    }
    // This question times out last. By then, the time of the first two questions is over, too.
    let call = tool("accp_ask", &asks("three", 6));
    let asked = stateless(&cook, "/mcp/lunch/cook", "tools/call", &call);
    assert!(asked.body.contains("E3001"), "{asked:?}");
    log.until("@cook>cancel:task");
    assert_eq!(guest.post_frame(&plan("guest", "last", 2)).status, 200);
    log.until("goal:last");
    let frames = guest.get("/accp/v1/sessions/lunch/frames").body;
    assert!(!frames.contains("@dev>cancel"), "{frames}");
}

#[test]
fn a_session_of_mcp_ends_with_the_right_that_used_it() {
    let again = ("another-secret-of-dev", "dev", "lunch");
    let hub = TestHub::with("", &[DEV, again]);
    let [first, second] = [DEV, again].map(|token| hub.client_of(token));
    let (of_first, of_second) = (first.begin(PLACE), second.begin(PLACE));
    let list = |session: &str| second.mcp(PLACE, Some(session), "tools/list", &json!({}));
    write_tokens(hub.folder.path(), &[again]);
    until(401, || first.get("/accp/v1/sessions"));
    until(404, || {
        // An MCP session belongs to the token that used it last. When that token is withdrawn, the session ends.
        second.ask("DELETE", PLACE, &[("mcp-session-id", &of_first)], "")
    });
    assert_eq!(list(&of_second).status, 200);
}

#[test]
fn places_give_their_sessions_back_once_the_right_is_over() {
    let any = ("secret-of-any", "dev", "s-*");
    let settings = "idle = 1\n[limits]\nsessions = 3\n";
    let hub = TestHub::with(settings, &[any, COOK]);
    let [dev, cook] = [any, COOK].map(|token| hub.client_of(token));
    for number in 0..3 {
        let place = format!("/mcp/s-{number}/dev");
        let begun = match number {
            0 => dev.initialize(&place),
            _ => stateless(&dev, &place, "server/discover", &json!({})),
        };
        assert_eq!(begun.status, 200, "{begun:?}");
    }
    let refused = cook.post_frame(&plan("cook", "x", 1));
    assert_eq!(refused.status, 503, "{refused:?}");
    write_tokens(hub.folder.path(), &[COOK]);
    until(200, || cook.post_frame(&plan("cook", "x", 1)));
}

#[test]
fn what_mcp_refuses_or_only_lists_writes_nothing() {
    let (hub, client) = TestHub::open("");
    assert_eq!(client.post_frame(&plan("cook", "x", 1)).status, 200);
    let file = hub.folder.path().join("hub.accp");
    let before = content(&file);
    let nothing = json!({});
    let calls = [
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": "accp://nope" })),
        ("resources/read", json!({ "uri": "accp://registry" })),
        (
            "resources/read",
            json!({ "uri": "accp://session/dinner/hot" }),
        ),
        ("tools/call", tool("nope", &nothing)),
        ("tools/call", tool("accp_send", &nothing)),
        ("tools/call", tool("accp_send", &json!({ "itent": "req" }))),
        (
            "tools/call",
            tool("accp_send", &json!({ "frame": "@eve>req:plan{" })),
        ),
        (
            "tools/call",
            tool(
                "accp_ask",
                &json!({ "intent": "done", "operation": "plan" }),
            ),
        ),
        (
            "tools/call",
            tool("accp_receive", &json!({ "limit": "ten" })),
        ),
        (
            "tools/call",
            tool("accp_receive", &json!({ "again": "yes" })),
        ),
        ("tools/call", tool("accp_reply", &json!({ "id": "p2" }))),
        ("tools/call", tool("accp_done", &json!({ "ids": ["p2"] }))),
        ("tools/call", tool("accp_query", &nothing)),
        (
            "tools/call",
            tool("accp_query", &json!({ "about": "weather" })),
        ),
        (
            "tools/call",
            tool("accp_expand", &json!({ "reference": "yesterday" })),
        ),
    ];
    for (number, (method, params)) in calls.iter().enumerate() {
        for session in ["lunch", "nowhere"] {
            let answer = stateless(
                &client,
                &format!("/mcp/{session}/g{number}"),
                method,
                params,
            );
            assert!(
                answer.body.contains("\"jsonrpc\""),
                "{method} {params}: {answer:?}"
            );
            assert!(
                content(&file) == before,
                "{method} {params} writes: {answer:?}"
            );
        }
    }
    let sent = tool(
        "accp_send",
        &json!({ "intent": "req", "operation": "plan" }),
    );
    stateless(&client, "/mcp/lunch/eve", "tools/call", &sent);
    assert!(content(&file) != before, "a call that is fine has not come");
}

#[test]
fn a_watch_and_a_call_hear_that_the_session_was_opened_anew() {
    let any = ("secret-of-any", "*", "lunch");
    let hub = TestHub::with_admin(&[any]);
    let client = hub.client_of(any);
    let session = client.begin(PLACE);
    let hot = json!({ "uri": "accp://session/lunch/hot" });
    let headers = [
        ("accept", "text/event-stream"),
        ("mcp-session-id", &*session),
    ];
    let mut events = client.open("GET", PLACE, &headers, b"");
    events.until("200 OK");
    let subscribed = client.mcp(PLACE, Some(&session), "resources/subscribe", &hot);
    assert!(subscribed.body.contains("\"result\""), "{subscribed:?}");
    let erase = || {
        let kind = [("content-type", "application/json")];
        let what = r#"{ "from": "cook", "lapse": true }"#;
        let erased = client.ask("POST", "/accp/v1/sessions/lunch/erase", &kind, what);
        assert_eq!(erased.status, 200, "{erased:?}");
    };
    let read = || client.mcp(PLACE, Some(&session), "resources/read", &hot);
    assert_eq!(client.post_frame(&plan("cook", "x", 1)).status, 200);
    until_updates(&mut events, 1);
    for number in 1..4 {
        // In each round, the model gets an update for the erasure, reads the resource, and gets
        // another update for the next frame.
        erase();
        until_updates(&mut events, 2 * number);
        assert!(read().body.contains("\"result\""));
        assert_eq!(
            client
                .post_frame(&plan("cook", "x", number as u64 + 1))
                .status,
            200
        );
        until_updates(&mut events, 2 * number + 1);
    }
    let cleared = tool("accp_receive", &json!({ "limit": 50 }));
    client.mcp(PLACE, Some(&session), "tools/call", &cleared);
    client.mcp(PLACE, Some(&session), "tools/call", &cleared);
    let mut waits = open_tool(
        &client,
        &session,
        9,
        "accp_receive",
        &json!({ "timeout": 300 }),
    );
    waits.until("id: ");
    erase();
    let told = waits.finish();
    assert!(told.body.contains("opened anew"), "{told:?}");
}

/// Waits until `count` notifications of a change have arrived.
fn until_updates(events: &mut Open, count: usize) {
    events.until_all(UPDATED, count);
}

#[test]
fn sessions_of_mcp_that_have_ended_are_not_counted() {
    let (_hub, client) = TestHub::open("--memory");
    let stays = client.begin(PLACE);
    for _ in 0..40 {
        let session = client.begin(PLACE);
        let named = [("mcp-session-id", &*session)];
        assert_eq!(client.ask("DELETE", PLACE, &named, "").status, 204);
        assert_eq!(client.ask("DELETE", PLACE, &named, "").status, 404);
    }
    let listed = client.mcp(PLACE, Some(&stays), "tools/list", &json!({}));
    assert_eq!(listed.status, 200, "{listed:?}");
}

/// The client ends its MCP session while its question has no answer yet. Then the next MCP session of the agent gets
/// the answer.
#[test]
fn an_answer_after_the_end_of_an_mcp_session_is_still_due() {
    let (_hub, client) = TestHub::open("--memory");
    // This agent is in the session, and may answer.
    let cook = frame("@cook>sync:note{}", "c00101000001", 1, "sid:lunch");
    assert_eq!(client.post_frame(&cook).status, 200);
    let session = client.begin(PLACE);
    let asks = json!({
        "intent": "req", "operation": "plan", "params": { "goal": "one" }, "timeout": 60,
    });
    let asking = open_tool(&client, &session, 7, "accp_ask", &asks);
    let frames = "/accp/v1/sessions/lunch/frames";
    let mut log = client.open("GET", &format!("{frames}?follow=true"), &[], b"");
    log.until("goal:one");
    let log = client.get(frames).body;
    let asked = log.lines().find(|line| line.contains("goal:one")).unwrap();
    let mid = asked.split("[mid:").nth(1).unwrap();
    let mid = mid.split(',').next().unwrap();
    let named = [("mcp-session-id", &*session)];
    assert_eq!(client.ask("DELETE", PLACE, &named, "").status, 204);
    let answer = frame(
        "@cook>done:plan{dish:soup}",
        "c00101000002",
        2,
        &format!("sid:lunch,cid:{mid}"),
    );
    let posted = client.post_frame(&answer);
    assert_eq!(posted.status, 200, "{posted:?}");
    drop(asking);
    let session = client.begin(PLACE);
    let waits = json!({ "timeout": 30 });
    let received = open_tool(&client, &session, 8, "accp_receive", &waits).finish();
    assert!(received.body.contains("soup"), "{received:?}");
}

/// Begins a session of MCP with another name of the hub in the header `host`. Returns the first line of the answer.
fn begin_at(url: &str, host: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "0" },
    } });
    let call = call.to_string();
    let head = format!(
        "POST {PLACE} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nconnection: close\r\n{headers}\
         content-length: {}\r\n\r\n",
        call.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(call.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn mcp_takes_the_hosts_and_origins_of_the_hub() {
    let settings = "origins = [\"https://app.example\"]\n";
    let token = format!("authorization: Bearer {}\r\n", DEV.0);
    let hub = TestHub::with(settings, &[DEV]);
    for (host, origin, status) in [
        ("hub.example", "https://app.example", "200"),
        ("hub.example", "http://hub.example", "200"),
        ("hub.example", "http://other.example", "403"),
        ("hub.example", "null", "403"),
    ] {
        let begun = begin_at(&hub.url, host, &format!("{token}origin: {origin}\r\n"));
        assert!(begun.contains(status), "{host} {origin}: {begun}");
    }
    let hub = TestHub::start("--memory --anybody-from-anywhere");
    let begun = begin_at(&hub.url, "10.0.0.5:7337", "");
    assert!(begun.contains("200"), "{begun}");
    let hub = TestHub::start("--memory");
    let begun = begin_at(&hub.url, "evil.example", "");
    assert!(begun.contains("403"), "{begun}");
}

#[test]
fn a_listener_hears_of_a_change_once_for_each_resource() {
    let hub = TestHub::with("", &[DEV, COOK]);
    let [dev, cook] = [DEV, COOK].map(|token| hub.client_of(token));
    let uris = vec!["accp://session/lunch/hot"; 5_000];
    let wanted = json!({ "notifications": { "resourceSubscriptions": uris } });
    let mut listens = open_stateless(&dev, PLACE, "subscriptions/listen", &wanted);
    listens.until("acknowledged");
    // First the hub opens the agent, and only then it follows the agent's log. The test waits for the first step
    // here.
    let joined = || {
        cook.get("/accp/v1/sessions/lunch/frames")
            .body
            .contains("[dev]")
    };
    assert!((0..100_000).any(|_| joined()), "the agent does not open");
    for number in 1..=20 {
        assert_eq!(cook.post_frame(&plan("cook", "x", number)).status, 200);
    }
    listens.until(UPDATED);
    write_tokens(hub.folder.path(), &[COOK]);
    let heard = listens.finish().body.matches(UPDATED).count();
    assert!(heard < 100, "{heard} notices of 20 frames");
}
