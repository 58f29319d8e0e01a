//! Tests of the limits for a caller, which hold for all protocols together (`docs/limits.md`).

use serde_json::{Value as Json, json};

use super::client::{Client, message};
use super::{COOK, DEV, TestHub, frame, write_tokens};

#[test]
fn one_rate_holds_for_all_protocols() {
    let hub = TestHub::with("[limits]\nframes_per_second = 1\n", &[]);
    let client = hub.client();
    let (mut fine, mut many) = (0, 0);
    for number in 0..40 {
        let (id, seq) = (format!("abc1{number:08}"), 1);
        let answers = [
            client.a2a("/a2a/lunch/dev", "GetTask", &json!({ "id": id })),
            client.initialize("/mcp/lunch/dev"),
            client.post_frame(&frame("@dev>req:plan{}", &id, seq, "sid:lunch")),
        ];
        for answer in answers {
            match answer.status {
                429 => many += 1,
                _ => fine += 1,
            }
        }
    }
    assert!(
        many > 40 && fine > 0,
        "{fine} came through, {many} were too many"
    );
    // The limit counts each agent separately, also an agent with the same name in another session.
    assert_ne!(client.initialize("/mcp/lunch/cook").status, 429);
    assert_ne!(client.initialize("/mcp/dinner/dev").status, 429);
}

#[test]
fn a_message_of_a2a_counts_each_of_its_frames() {
    let hub = TestHub::with("[limits]\nframes_per_second = 5\n", &[]);
    let parts = vec![json!({ "text": "@dev>req:plan{}", "mediaType": "application/accp" }); 20];
    let many = json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": parts } });
    let client = hub.client();
    let refused = client.a2a("/a2a/lunch/dev", "SendMessage", &many);
    assert_eq!(refused.status, 429, "{refused:?}");
    assert_eq!(
        client.get("/accp/v1/sessions").body,
        "[]",
        "nothing was sent"
    );
}

#[test]
fn an_agent_has_a_bounded_number_of_sessions_of_mcp() {
    let (_hub, client) = TestHub::open("--memory");
    let first = client.begin("/mcp/lunch/dev");
    let list = |session: &str| {
        let listed = client.mcp("/mcp/lunch/dev", Some(session), "tools/list", &json!({}));
        listed.status
    };
    assert_eq!(list(&first), 200);
    let later: Vec<_> = (0..20).map(|_| client.begin("/mcp/lunch/dev")).collect();
    assert_eq!((list(&first), list(&later[19])), (404, 200));
}

#[test]
fn the_session_of_mcp_that_was_used_longest_ago_ends_first() {
    let (_hub, client) = TestHub::open("--memory");
    let used = client.begin("/mcp/lunch/dev");
    let list = |session: &str| {
        let listed = client.mcp("/mcp/lunch/dev", Some(session), "tools/list", &json!({}));
        listed.status
    };
    let mut left = Vec::new();
    for _ in 0..20 {
        left.push(client.begin("/mcp/lunch/dev"));
        assert_eq!(list(&used), 200);
    }
    assert_eq!(list(&left[0]), 404);
}

#[test]
fn bytes_are_counted_for_all_protocols() {
    let hub = TestHub::with("[limits]\nbytes_per_second = 1000\n", &[]);
    let client = hub.client();
    let long = "x".repeat(9_000);
    let answers: Vec<_> = (0..60)
        .map(|number| {
            let plan = format!("@dev>req:plan{{goal:{long}}}");
            match number % 3 {
                0 => client.post_frame(&frame(&plan, &format!("abc1{number:08}"), 1, "sid:lunch")),
                1 => client.mcp("/mcp/lunch/dev", None, &long, &json!({})),
                _ => client.a2a("/a2a/lunch/dev", &long, &json!({})),
            }
        })
        .collect();
    // The hub accepts a request that is larger than the whole limit only once, and this request uses up the limit.
    assert_ne!(answers[0].status, 429, "{:?}", answers[0]);
    let many = answers.iter().filter(|answer| answer.status == 429);
    assert!(many.clone().count() > 10);
    for refused in many {
        assert!(refused.body.contains("fewer_bytes_a_second"), "{refused:?}");
    }
}

#[test]
fn a_request_for_mcp_or_a2a_has_a_bound() {
    let (_hub, client) = TestHub::open("--memory");
    let long = "x".repeat((1 << 20) + 1);
    assert_eq!(
        client.mcp("/mcp/lunch/dev", None, &long, &json!({})).status,
        413
    );
    assert_eq!(client.a2a("/a2a/lunch/dev", &long, &json!({})).status, 413);
    assert_eq!(client.get("/accp/v1/sessions").body, "[]");
}

#[test]
fn the_settings_raise_the_bound_of_a_request_for_mcp_and_a2a() {
    let hub = TestHub::with("[limits]\nrequest = 4_000_000\n", &[]);
    let client = hub.client();
    client.posts("@cook>sync:note{}", "abc101000001", 1, "sid:lunch");
    let long = "x".repeat(3_000_000);
    let session = client.begin("/mcp/lunch/model");
    let call = json!({ "name": "accp_send", "arguments": {
        "intent": "req", "operation": "plan", "params": { "goal": long },
    } });
    let sent = client.mcp("/mcp/lunch/model", Some(&session), "tools/call", &call);
    assert_eq!(sent.status, 200, "{sent:?}");
    assert!(sent.body.contains("Sent as p"), "{sent:?}");
    let mut told = message("m", &long);
    told["configuration"] = json!({ "returnImmediately": true });
    let sent = client.a2a("/a2a/lunch/dev", "SendMessage", &told);
    assert_eq!(sent.status, 200);
    assert!(sent.body.contains("TASK_STATE_SUBMITTED"));
}

#[test]
fn open_requests_are_counted_for_each_token() {
    let hub = TestHub::with("[limits]\nrequests = 3\n", &[DEV, COOK]);
    let (dev, cook) = (hub.client_of(DEV), hub.client_of(COOK));
    let plan = frame("@dev>req:plan{goal:x}", "abc101000001", 1, "sid:lunch");
    assert_eq!(dev.post_frame(&plan).status, 200);
    let follow = || {
        let mut followed = dev.open(
            "GET",
            "/accp/v1/sessions/lunch/frames?follow=true",
            &[],
            b"",
        );
        followed.until("goal:x");
        followed
    };
    let mut open = vec![follow(), follow(), follow()];
    let refused = dev.get("/accp/v1/sessions/lunch/state");
    assert_eq!(refused.status, 429, "{refused:?}");
    assert_eq!(cook.get("/accp/v1/sessions/lunch/state").status, 200);
    drop(open.pop());
    // The hub notices that a reader has gone only when it sends a frame to this reader.
    let mut seq = 2;
    loop {
        cook.posts(
            "@cook>req:plan{}",
            &format!("abc1020{seq:05}"),
            seq - 1,
            "sid:lunch",
        );
        seq += 1;
        match dev.get("/accp/v1/sessions/lunch/state").status {
            200 => break,
            status => assert!(status == 429 && seq < 10_000, "{status}"),
        }
    }
}

/// Returns the params for an A2A message that begins a session, because its request is for all agents.
fn for_all() -> Json {
    let mut params = message("m", "@dev>req:plan{}[to:~]");
    params["message"]["parts"][0]["mediaType"] = json!("application/accp");
    params
}

#[test]
fn new_sessions_are_counted_for_each_token() {
    let any = [("secret-1", "dev", "*"), ("secret-2", "cook", "*")];
    let hub = TestHub::with("[limits]\nsessions_per_minute = 6\n", &any);
    let (dev, cook) = (
        Client::new(&hub.url, Some("secret-1")),
        Client::new(&hub.url, Some("secret-2")),
    );
    let begin = |number: usize| match number % 3 {
        0 => dev.post_frame(&frame(
            "@dev>req:plan{}",
            "abc101000001",
            1,
            &format!("sid:s{number}"),
        )),
        1 => dev.initialize(&format!("/mcp/s{number}/dev")),
        _ => {
            let mut params = for_all();
            params["configuration"] = json!({ "returnImmediately": true });
            dev.a2a(&format!("/a2a/s{number}/dev"), "SendMessage", &params)
        }
    };
    let told: Vec<_> = (0..30).map(|number| begin(number).status).collect();
    let sessions = dev.get("/accp/v1/sessions").body;
    let count = sessions.matches("\"session\"").count();
    assert!((6..20).contains(&count), "{count} have begun: {told:?}");
    // The limit does not affect a session that has already begun, and another token can still begin a session.
    dev.posts("@dev>req:plan{}", "abc101000002", 2, "sid:s0");
    cook.posts("@cook>req:plan{}", "abc102000001", 1, "sid:other");
}

/// In each protocol, the error says that this is a limit, with the code for it and the time to wait before a new
/// session.
#[test]
fn the_limit_on_new_sessions_is_told_as_a_limit() {
    let any = [("secret-1", "dev", "*")];
    let hub = TestHub::with("[limits]\nsessions_per_minute = 1\n", &any);
    let dev = Client::new(&hub.url, Some("secret-1"));
    let post = |session: &str| {
        let session = format!("sid:{session}");
        dev.post_frame(&frame("@dev>req:plan{}", "abc101000001", 1, &session))
    };
    let seconds = |told: Option<&str>| told.and_then(|told| told.parse::<u64>().ok());
    let is_time = |told: Option<u64>| told.is_some_and(|told| (2..=61).contains(&told));
    assert_eq!(post("first").status, 200);
    let posted = post("second");
    assert_eq!(posted.status, 429, "{posted:?}");
    assert!(is_time(seconds(posted.header("retry-after"))), "{posted:?}");

    let told = dev.a2a("/a2a/second/dev", "SendMessage", &for_all());
    assert_eq!(told.status, 429, "{told:?}");
    assert!(is_time(seconds(told.header("retry-after"))), "{told:?}");
    let answer: serde_json::Value = serde_json::from_str(&told.body).unwrap();
    let error = &answer["error"];
    assert_eq!(error["code"], -32000, "{told:?}");
    let words = error["message"].as_str().unwrap();
    let begins = "E3001: expected fewer new sessions a minute; try again in ";
    assert!(words.starts_with(begins), "{told:?}");
    assert!(error["data"][0]["retryDelay"].is_string(), "{told:?}");
    let info = &error["data"][1];
    assert_eq!(info["reason"], "RATE_LIMITED", "{told:?}");
    assert_eq!(info["metadata"]["code"], "E3001", "{told:?}");
    let again = seconds(info["metadata"]["retryAfter"].as_str());
    assert!(is_time(again), "{told:?}");

    let begun = dev.initialize("/mcp/second/dev").body;
    let lines = begun.lines().filter_map(|line| line.strip_prefix("data: "));
    let mut answers = lines.filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let is_error = |answer: &serde_json::Value| answer["error"].is_object();
    let answer = answers.find(is_error).unwrap_or_else(|| panic!("{begun}"));
    let error = &answer["error"];
    assert_eq!(error["code"], -32000, "{begun}");
    assert_eq!(error["data"]["code"], "E3001", "{begun}");
    assert!(is_time(error["data"]["retryAfter"].as_u64()), "{begun}");
    assert!(error["data"]["cure"].is_string(), "{begun}");
}

/// If no frame may begin a session, every protocol says that there is no such session.
#[test]
fn a_session_that_nobody_may_begin_is_unknown_in_all_protocols() {
    let hub = TestHub::with("create = false\n", &[DEV]);
    let dev = hub.client_of(DEV);
    let plan = frame("@dev>req:plan{}", "abc101000001", 1, "sid:lunch");
    let posted = dev.post_frame(&plan);
    let called = dev.a2a("/a2a/lunch/dev", "SendMessage", &message("m", "hello"));
    let begun = dev.initialize("/mcp/lunch/dev");
    assert_eq!((posted.status, called.status), (404, 404), "{called:?}");
    for told in [&posted, &called, &begun] {
        assert!(told.body.contains("E2001"), "{told:?}");
        assert!(!told.body.contains("E5001"), "{told:?}");
    }
    let error: serde_json::Value = serde_json::from_str(&called.body).unwrap();
    assert_eq!(error["error"]["code"], -32600, "{called:?}");
    assert_eq!(dev.get("/accp/v1/sessions").body, "[]");
}

#[test]
fn agents_of_a_session_are_counted_for_all_protocols() {
    let hub = TestHub::with("[limits]\nagents = 3\n", &[]);
    let client = hub.client();
    let mut told = message("m", "hello");
    told["configuration"] = json!({ "returnImmediately": true });
    let post = |agent: &str, mid: &str, session: &str| {
        let more = format!("sid:{session}");
        client.post_frame(&frame(&format!("@{agent}>req:plan{{}}"), mid, 1, &more))
    };
    assert_eq!(post("a", "abc101000001", "lunch").status, 200);
    assert_eq!(client.initialize("/mcp/lunch/b").status, 200);
    let third = client.a2a("/a2a/lunch/c", "SendMessage", &told);
    assert!(third.body.contains("\"task\""), "{third:?}");
    let refused = post("d", "abc101000002", "lunch");
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(refused.body.contains("as_many_members"), "{refused:?}");
    for refused in [
        client.initialize("/mcp/lunch/e"),
        client.a2a("/a2a/lunch/f", "SendMessage", &told),
    ] {
        assert!(refused.body.contains("as many members"), "{refused:?}");
    }
    // The members of the full session can go on, and another session still has room.
    assert!(
        client
            .initialize("/mcp/lunch/b")
            .body
            .contains("serverInfo")
    );
    assert_eq!(post("d", "abc101000003", "dinner").status, 200);
    let state = client.get("/accp/v1/sessions/lunch/state");
    assert_eq!(state.body.matches("\"number\"").count(), 4, "{state:?}");
}

#[test]
fn a_ttl_beyond_all_times_is_refused_in_all_protocols() {
    let (_hub, client) = TestHub::open("--memory");
    let cook = frame("@cook>sync:note{}", "c00101000001", 1, "sid:lunch");
    assert_eq!(client.post_frame(&cook).status, 200);
    let ttl = i64::MAX;
    let more = format!("ts:1714000000,sid:lunch,ttl:{ttl}");
    let posted = frame("@cook>req:plan{goal:one}", "c00101000002", 2, &more);
    let mut sends = message("m1", &format!("@dev>req:plan{{goal:two}}[ttl:{ttl}]"));
    sends["message"]["parts"][0]["mediaType"] = json!("application/accp");
    let session = client.begin("/mcp/lunch/model");
    let call = json!({ "name": "accp_send", "arguments": {
        "intent": "req", "operation": "plan", "params": { "goal": "three" }, "ttl": ttl,
    } });
    for refused in [
        client.post_frame(&posted),
        client.a2a("/a2a/lunch/dev", "SendMessage", &sends),
        client.mcp("/mcp/lunch/model", Some(&session), "tools/call", &call),
    ] {
        assert!(refused.body.contains("E1004"), "{refused:?}");
    }
    let log = client.get("/accp/v1/sessions/lunch/frames").body;
    assert!(!log.contains("goal:"), "{log}");
}

/// Puts a value of `length` bytes under the first key of the agent `dev`. Returns the path of the value.
fn put(client: &Client, length: usize) -> String {
    let value = format!("\"{}", "x".repeat(length - 1));
    let digest = accp_registry::Hash::of(value.as_bytes());
    let put = format!("@dev>sync:put{{keys:[[k101_1,{digest},{length}]]}}");
    let announced = client.post_frame(&frame(&put, "abc101000001", 1, "sid:lunch"));
    assert_eq!(announced.status, 200, "{announced:?}");
    let path = "/accp/v1/sessions/lunch/values/k101_1?agent=dev";
    assert_eq!(client.ask("PUT", path, &[], &value).status, 201);
    "/accp/v1/sessions/lunch/values/cold.k101_1".to_owned()
}

#[test]
fn an_answer_counts_as_open_until_it_has_gone_out() {
    let hub = TestHub::with("[limits]\nrequests = 3\n", &[DEV, COOK]);
    let dev = hub.client_of(DEV);
    let value = put(&dev, 7 << 20);
    // The client does not read these answers to their end, so they still count as open.
    let unread: Vec<_> = (0..3)
        .map(|_| {
            let mut answer = dev.open("GET", &value, &[], b"");
            answer.until("200 OK");
            answer
        })
        .collect();
    let refused = dev.get(&value);
    assert_eq!(refused.status, 429, "{}", refused.head);
    // When their token is withdrawn, the hub ends the open answers.
    write_tokens(hub.folder.path(), &[COOK]);
    let cook = hub.client_of(COOK);
    let is_over = || {
        cook.get("/metrics")
            .body
            .contains("accp_cut_answers_total 3")
    };
    assert!((0..100_000).any(|_| is_over()), "the answers stay open");
    for answer in unread {
        let ended = answer.finish();
        assert!(
            !ended.is_whole,
            "{} bytes: {}",
            ended.body.len(),
            ended.head
        );
    }
}

#[test]
fn a_model_that_rests_takes_none_of_the_open_requests() {
    let any = [("secret", "dev", "*")];
    let hub = TestHub::with("[limits]\nrequests = 2\n", &any);
    let client = Client::new(&hub.url, Some("secret"));
    for number in 0..6 {
        let begun = client.initialize(&format!("/mcp/s{number}/dev"));
        assert_eq!(begun.status, 200, "{number}: {begun:?}");
    }
    assert_eq!(client.get("/accp/v1/sessions").status, 200);
}

/// The hub closes the connection of a request that it answers before the body has come.
#[test]
fn a_refusal_before_the_body_says_that_its_connection_closes() {
    let hub = TestHub::with("", &[DEV]);
    let nobody = hub.client();
    let announced = [
        ("content-type", "application/json"),
        ("content-length", "2"),
    ];
    let paths = [
        "/accp/v1/frames?session=lunch",
        "/mcp/lunch/dev",
        "/a2a/lunch/dev",
    ];
    for path in paths {
        let refused = nobody.open("POST", path, &announced, b"").finish();
        assert_eq!(refused.status, 401, "{path}: {refused:?}");
        assert_eq!(
            refused.header("connection"),
            Some("close"),
            "{path}: {refused:?}"
        );
    }
    // A refusal of what the body says keeps the connection, and so does one of a request without a body.
    let dev = hub.client_of(DEV);
    let kind = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let wrong = dev.open("POST", "/mcp/lunch/dev", &kind, b"{}").finish();
    assert_eq!((wrong.status, wrong.header("connection")), (400, None));
    let unknown = nobody.open("GET", "/mcp/lunch/dev", &[], b"").finish();
    assert_eq!((unknown.status, unknown.header("connection")), (401, None));
}
