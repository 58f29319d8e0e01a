//! Tests of A2A tasks: what reading a task costs, whether it opens an agent, and when the hub closes the agent again.

use serde_json::{Value as Json, json};

use super::client::{A2A, Answer, Client, Open, message};
use super::stored::content;
use super::{COOK, DEV, GUEST, TestHub, frame, write_tokens};

/// Returns the params for a message whose sender does not wait for the end of the task.
fn told(id: &str, text: &str) -> Json {
    let mut told = message(id, text);
    told["configuration"] = json!({ "returnImmediately": true });
    told
}

/// Lets an agent join that has not said which messages it takes.
fn lets_in(client: &Client) {
    client.posts("@lab>ping:link{}", "abc999000001", 0, "sid:lunch");
}

/// Returns the params for a message whose only part is a frame.
fn framed(text: &str) -> Json {
    let mut framed = told("m", text);
    framed["message"]["parts"][0]["mediaType"] = json!("application/accp");
    framed
}

/// Returns the id of the task in an answer.
fn task(answer: &Answer) -> String {
    let body: Json = serde_json::from_str(&answer.body).unwrap();
    let id = body["result"]["task"]["id"].as_str();
    id.ok_or(answer).unwrap().to_owned()
}

/// Calls a method of A2A, and leaves its answer open.
fn call(client: &Client, path: &str, method: &str, params: &Json) -> Open {
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    let mut headers = A2A.to_vec();
    headers.push(("connection", "close"));
    client.open("POST", path, &headers, call.to_string().as_bytes())
}

/// Returns the log of a session.
fn log(client: &Client) -> String {
    client.get("/accp/v1/sessions/lunch/frames").body
}

#[test]
fn an_answer_has_a_bound_for_values_in_the_place_of_references() {
    let (_hub, client) = TestHub::open("--memory");
    lets_in(&client);
    let long = "y".repeat(1_000_000);
    let said = client.a2a("/a2a/lunch/eve", "SendMessage", &told("v", &long));
    let value = log(&client);
    assert!(value.contains("$cold.k100_1"), "{said:?}");
    let lists = |mid: &str, seq, times: usize| {
        let list = vec!["$cold.k100_1"; times].join(",");
        let plan = format!("@dev>req:plan{{goal:x|list:[{list}]}}");
        let posted = client.post_frame(&frame(&plan, mid, seq, "sid:lunch"));
        assert_eq!(posted.status, 200, "{posted:?}");
    };
    lists("abc101000001", 1, 4_000);
    lists("abc101000002", 2, 3);
    let get = |id: &str| client.a2a("/a2a/lunch/dev", "GetTask", &json!({ "id": id }));
    let many = get("abc101000001");
    assert!(many.body.len() < 100_000, "{} bytes", many.body.len());
    assert_eq!(many.body.matches("$cold.k100_1").count(), 4_000);
    let few = get("abc101000002");
    assert_eq!(few.body.matches(&long).count(), 3);
    // All tasks in one answer to `ListTasks` share one limit for values. The limit is enough for three and a half
    // tasks.
    for number in 3..9 {
        lists(&format!("abc10100000{number}"), number, 2);
    }
    let listed = json!({ "historyLength": 1 });
    let listed = client.a2a("/a2a/lunch/dev", "ListTasks", &listed);
    let shown = listed.body.matches(&long).count();
    assert!((6..=8).contains(&shown), "{shown} values");
}

#[test]
fn the_largest_value_that_a_hub_takes_is_shown() {
    let (_hub, client) = TestHub::open("--memory");
    let length = 8 << 20;
    let value = format!("\"{}", "x".repeat(length - 1));
    let digest = accp_registry::Hash::of(value.as_bytes());
    let put = format!("@dev>sync:put{{keys:[[k101_1,{digest},{length}]]}}");
    let announced = client.post_frame(&frame(&put, "abc101000001", 1, "sid:lunch"));
    assert_eq!(announced.status, 200, "{announced:?}");
    let path = "/accp/v1/sessions/lunch/values/k101_1?agent=dev";
    assert_eq!(client.ask("PUT", path, &[], &value).status, 201);
    client.posts(
        "@dev>req:plan{goal:$cold.k101_1}",
        "abc101000002",
        2,
        "sid:lunch",
    );
    let shown = json!({ "id": "abc101000002" });
    let shown = client.a2a("/a2a/lunch/dev", "GetTask", &shown);
    assert!(shown.body.len() > length, "{} bytes", shown.body.len());
}

#[test]
fn a_task_goes_on_when_its_session_ends_and_those_who_follow_it_hear_so() {
    let hub = TestHub::with_admin(&[GUEST, COOK]);
    let [client, cook] = [GUEST, COOK].map(|token| hub.client_of(token));
    cook.posts("@cook>req:plan{goal:x}", "abc101000001", 1, "sid:lunch");
    let path = "/a2a/lunch/guest";
    let mut streamed = call(&client, path, "SendStreamingMessage", &message("m1", "one"));
    streamed.until("\"task\"");
    let waits = call(&client, path, "SendMessage", &message("m2", "two"));
    let follow = "/accp/v1/sessions/lunch/frames?follow=true";
    client.open("GET", follow, &[], b"").until("content:two");
    let id = task(&client.a2a(path, "SendMessage", &told("m1", "one")));

    let erase = json!({ "from": "cook" }).to_string();
    let kind = [("content-type", "application/json")];
    let erased = cook.ask("POST", "/accp/v1/sessions/lunch/erase", &kind, &erase);
    assert_eq!(erased.status, 200, "{erased:?}");
    for (what, ended) in [("a stream", streamed.finish()), ("a call", waits.finish())] {
        assert!(ended.is_whole, "{what}: {ended:?}");
        let says = ended.body.contains("\"error\"") && ended.body.contains("SubscribeToTask");
        assert!(says, "{what}: {ended:?}");
    }
    // The task itself has not ended, so the client can subscribe to the task again.
    let mut again = call(&client, path, "SubscribeToTask", &json!({ "id": id }));
    again.until("\"task\"");
    // Opening the agent elsewhere does not interrupt the clients that follow its tasks.
    let model = client.begin("/mcp/lunch/guest");
    let params = json!({ "name": "accp_receive", "arguments": { "timeout": 0 } });
    let opened = client.mcp("/mcp/lunch/guest", Some(&model), "tools/call", &params);
    assert_eq!(opened.status, 200, "{opened:?}");
    let done = "@cook>done:chat{role:assistant|content:soup|schema:CH}";
    cook.posts(done, "abc101000002", 2, &format!("sid:lunch,cid:{id}"));
    let ended = again.finish();
    assert!(ended.body.contains("TASK_STATE_COMPLETED"), "{ended:?}");
}

#[test]
fn two_agents_that_say_the_same_have_a_task_each() {
    let (_hub, client) = TestHub::open("--memory");
    lets_in(&client);
    let says = |agent: &str| {
        let path = format!("/a2a/lunch/{agent}");
        task(&client.a2a(&path, "SendMessage", &told("1", "hello")))
    };
    let (dev, eve) = (says("dev"), says("eve"));
    assert_ne!(dev, eve);
    assert_eq!((says("dev"), says("eve")), (dev.clone(), eve.clone()));
    let done = "@cook>done:chat{role:assistant|content:for_dev|schema:CH}";
    client.posts(done, "abc101000001", 1, &format!("sid:lunch,cid:{dev}"));
    let get = |agent: &str, id: &str| {
        let path = format!("/a2a/lunch/{agent}");
        client.a2a(&path, "GetTask", &json!({ "id": id })).body
    };
    assert!(get("dev", &dev).contains("TASK_STATE_COMPLETED"));
    assert!(get("eve", &eve).contains("TASK_STATE_SUBMITTED"));
    assert!(get("eve", &dev).contains("\"error\""));
}

#[test]
fn a_message_that_comes_many_times_at_once_is_one_request() {
    let (_hub, client) = TestHub::open("--memory");
    lets_in(&client);
    for round in 0..8 {
        let told = told(&format!("m{round}"), &format!("hello{round}"));
        let path = format!("/a2a/lunch/agent{round}");
        // All requests are sent before the first answer is read.
        let calls: Vec<Open> = (0..10)
            .map(|_| call(&client, &path, "SendMessage", &told))
            .collect();
        let answers: Vec<Answer> = calls.into_iter().map(Open::finish).collect();
        let first = task(&answers[0]);
        assert!(answers.iter().all(|answer| task(answer) == first));
        let requests = log(&client)
            .matches(&format!("content:hello{round}"))
            .count();
        assert_eq!(requests, 1, "round {round}");
    }
}

/// Returns calls that must not write anything: the hub refuses them, or they only read.
fn harmless() -> Vec<(&'static str, Json)> {
    let mut elsewhere = told("m", "hello");
    elsewhere["message"]["contextId"] = json!("dinner");
    let mut more = told("m", "hello");
    more["message"]["taskId"] = json!("nope");
    let mut less = told("m", "hello");
    less["configuration"]["historyLength"] = json!(-1);
    let unknown = json!({ "id": "nope" });
    vec![
        ("SendMessage", elsewhere),
        ("SendMessage", more),
        ("SendMessage", less),
        ("SendMessage", framed("@x>req:plan{goal")),
        ("SendMessage", framed("@x>req:schedule{asgn:dev|schema:TA}")),
        ("SendMessage", framed("@x>cancel:plan{}")),
        ("SendMessage", framed("@x>done:plan{goal:x}")),
        ("SendStreamingMessage", framed("@x>done:plan{goal:x}")),
        ("GetTask", unknown.clone()),
        ("CancelTask", unknown.clone()),
        ("SubscribeToTask", unknown),
        ("ListTasks", json!({})),
        ("ListTasks", json!({ "pageSize": 0 })),
        ("CreateTaskPushNotificationConfig", json!({})),
    ]
}

#[test]
fn who_is_refused_or_only_looks_opens_no_agent() {
    let hub = TestHub::start("");
    let file = hub.folder.path().join("hub.accp");
    let client = hub.client();
    client.posts("@eve>req:plan{goal:x}", "abc101000001", 1, "sid:lunch");
    let before = content(&file);
    // The three paths are for an agent that no client has used, an agent that joined by POST, and an agent of a
    // session that does not exist yet.
    for path in ["/a2a/lunch/new", "/a2a/lunch/eve", "/a2a/nowhere/new"] {
        for (method, params) in harmless() {
            let answer = client.a2a(path, method, &params);
            assert_eq!(answer.status, 200, "{path} {method}: {answer:?}");
            assert!(content(&file) == before, "{path} {method} {params} writes");
        }
    }
    let listed = client.a2a("/a2a/lunch/eve", "ListTasks", &json!({}));
    assert!(listed.body.contains("abc101000001"), "{listed:?}");
    // The calls do not close the WebSocket of an agent.
    let mut socket = greet(&client);
    for (method, params) in harmless() {
        client.a2a("/a2a/lunch/dev", method, &params);
    }
    say(&mut socket, "@dev>ping:link{}[mid:2,seq:0]");
    socket.until("@hub>pong:link{}");
}

/// Opens a WebSocket as `dev`, and waits until the agent is in the session.
fn greet(client: &Client) -> Open {
    let upgrade = [
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let path = "/accp/v1/ws?session=lunch&agent=dev";
    let mut socket = client.open("GET", path, &upgrade, b"");
    socket.until("101 Switching Protocols");
    say(
        &mut socket,
        "@dev>sync:registry{v:1|hash:abc123|pos:0|ext:[]}[mid:1,seq:0]",
    );
    socket.until("@hub>sync:registry");
    socket
}

/// Sends a short text over a WebSocket, with a mask of zeros.
fn say(socket: &mut Open, text: &str) {
    let length = u8::try_from(text.len()).unwrap();
    let head = [0x81, 0x80 | length, 0, 0, 0, 0];
    socket.write(&[&head[..], text.as_bytes()].concat());
}

#[test]
fn a_withdrawn_token_gives_its_sessions_back() {
    let any = ("secret-of-any", "any", "a-*");
    let settings = "idle = 1\n[limits]\nsessions = 3\n";
    let hub = TestHub::with(settings, &[COOK, any]);
    let (cook, any) = (hub.client_of(COOK), hub.client_of(any));
    for number in 0..3 {
        let path = format!("/a2a/a-{number}/any");
        let own = "@any>req:schedule{asgn:any|task:boil|schema:TA}";
        let begun = any.a2a(&path, "SendMessage", &framed(own));
        assert!(begun.body.contains("\"task\""), "{begun:?}");
    }
    let plan = frame("@cook>req:plan{}", "abc101000001", 1, "sid:lunch");
    assert_eq!(cook.post_frame(&plan).status, 503);
    write_tokens(hub.folder.path(), &[COOK]);
    let comes_in = || cook.post_frame(&plan).status == 200;
    assert!((0..100_000).any(|_| comes_in()), "the sessions stay");
}

/// `idle` is for sessions that nobody uses. A client may think for longer between two calls, so its agent stays.
#[test]
fn an_agent_stays_for_longer_than_a_session_that_nobody_uses() {
    let hub = TestHub::with("idle = 1\n", &[]);
    let client = hub.client();
    let posted = frame("@cook>req:plan{}", "abc101000001", 1, "sid:dinner");
    assert_eq!(client.post_frame(&posted).status, 200);
    let own = "@dev>req:schedule{asgn:dev|task:boil|schema:TA}";
    let begun = client.a2a("/a2a/lunch/dev", "SendMessage", &framed(own));
    assert!(begun.body.contains("\"task\""), "{begun:?}");
    // One of the two sessions leaves memory. The hub looks every 1.25 seconds.
    let sessions = |count: &str| client.get("/metrics").body.contains(count);
    assert!((0..100_000).any(|_| !sessions("accp_sessions 2")));
    std::thread::sleep(std::time::Duration::from_secs(4));
    assert!(sessions("accp_sessions 1"));
}

#[test]
fn a_name_that_no_client_may_have_is_the_fault_of_the_client() {
    let hub = TestHub::with("", &[DEV, GUEST, ("secret-of-hub", "hub", "*")]);
    let dev = hub.client_of(DEV);
    dev.posts("@dev>req:plan{}", "abc101000001", 1, "sid:lunch");
    let hub = Client::new(&hub.url, Some("secret-of-hub"));
    let said = hub.a2a("/a2a/lunch/hub", "SendMessage", &told("m", "hello"));
    assert_eq!(said.status, 400, "{said:?}");
    assert!(said.body.contains("E5001"), "{said:?}");
    let said = hub.a2a("/a2a/lunch/the%20hub", "SendMessage", &told("m", "hello"));
    assert_eq!(said.status, 400, "{said:?}");
}

#[test]
fn another_address_or_method_is_refused_with_those_that_there_are() {
    let (_hub, client) = TestHub::open("--memory");
    for (method, path, status, allow) in [
        ("GET", "", 405, Some("POST")),
        ("DELETE", "", 405, Some("POST")),
        (
            "POST",
            "/.well-known/agent-card.json",
            405,
            Some("GET,HEAD"),
        ),
        ("GET", "/.well-known/agent.json", 404, None),
    ] {
        let refused = client.ask(method, &format!("/a2a/lunch/dev{path}"), &[], "");
        assert_eq!(refused.status, status, "{method} {path}: {refused:?}");
        assert_eq!(refused.header("allow"), allow, "{method} {path}");
        let expected = "GET of .well-known/agent-card.json below it";
        assert!(
            refused.body.contains(expected),
            "{method} {path}: {refused:?}"
        );
    }
}
