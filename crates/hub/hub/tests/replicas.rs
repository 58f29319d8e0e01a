//! Several hubs on one store.

use std::time::Duration;

use crate::common::database::Database;
use crate::common::{TestHub, frame};
use accp_client::{Agent, Frames};
use accp_hub::{Config, Replica};
use accp_runtime::AgentId;
use accp_runtime::profiles::{ScheduleDone, ScheduleReq};
use reqwest::StatusCode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The time of a lease. It is so long that no hub renews a lease by itself while a test runs.
const LEASE: Duration = Duration::from_secs(600);

async fn hub(database: &Database) -> TestHub {
    let config = Config {
        replica: Some(Replica {
            lease: LEASE.as_secs(),
            ..Replica::default()
        }),
        drain: 1,
        ..Config::default()
    };
    let database = database.clone();
    TestHub::on(config, move || Ok(database.connect())).await
}

fn task(name: &str) -> ScheduleReq<'static> {
    ScheduleReq::new(AgentId::new("dev").expect("a name"), name.to_owned())
}

/// Lets an agent answer each request with the name of its task.
fn serve(dev: &Agent) {
    dev.serve(|task: ScheduleReq, cx| async move {
        cx.reply(ScheduleDone::new(task.task).status("done")).await
    });
}

async fn asks(planner: &Agent, name: &str) {
    let done: ScheduleDone = planner.ask(task(name)).await.expect("an answer");
    assert_eq!(done.task, name);
}

/// Returns the tasks that were requested, in the order of the log, up to the task `last`.
async fn requests(mut log: Frames, last: &str) -> Vec<String> {
    let mut all = Vec::new();
    while let Ok(Some(entry)) = log.next().await {
        if let Some((_, task)) = entry.text.split_once("|task:")
            && entry.text.starts_with("@planner>req:")
        {
            let task = task.split(['|', '}']).next().expect("a task").to_owned();
            let is_last = task == last;
            all.push(task);
            if is_last {
                break;
            }
        }
    }
    all
}

#[tokio::test]
async fn a_frame_that_one_hub_takes_reaches_agents_of_the_other() {
    let database = Database::default();
    let (a, b) = (hub(&database).await, hub(&database).await);
    let dev = a.agent("dev").await;
    serve(&dev);
    let planner = b.agent("planner").await;
    asks(&planner, "soup").await;
    asks(&planner, "bread").await;
    assert_eq!(database.holder("lunch"), Some(a.url("")));

    // This frame goes by POST, and only the frame itself names the session.
    let head = "@cook>req:schedule{agent:dev|task:salad}";
    let posted = frame(head, "abc101000001", 1, "sid:lunch");
    let (status, reply) = b.post(&posted).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert!(reply.contains("of:abc101000001"), "{reply}");
    let (status, reply) = a.post(&posted).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "it is there: {reply}");
    assert!(reply.contains("E3002"), "{reply}");

    // Both hubs give the same answers to reads.
    for path in ["frames", "state", "context", "registry"] {
        let path = format!("/accp/v1/sessions/lunch/{path}");
        let mut answers = Vec::new();
        for hub in [&a, &b] {
            let answer = hub.get(&path).await;
            assert_eq!(answer.status(), StatusCode::OK);
            let kind = answer.headers()["content-type"].clone();
            answers.push((kind, answer.text().await.expect("text")));
        }
        assert_eq!(answers[0], answers[1], "{path}");
        assert!(
            !answers[0].1.is_empty() || path.ends_with("context"),
            "{path}"
        );
    }
    let nowhere = b.get("/accp/v1/sessions/dinner/frames").await;
    assert_eq!(nowhere.status(), StatusCode::NOT_FOUND);
    assert_eq!(database.holder("dinner"), None, "reading begins no session");
    let metrics = b.get("/metrics").await;
    let metrics = metrics.text().await.expect("text");
    assert!(
        metrics.contains("accp_forwarded_requests_total 6\n"),
        "{metrics}"
    );
    a.stop().await;
    b.stop().await;
}

#[tokio::test]
async fn a_socket_that_names_its_session_in_a_frame_is_handed_on() {
    let database = Database::default();
    let (a, b) = (hub(&database).await, hub(&database).await);
    let hello = |agent: &str, sid: &str| {
        format!("@{agent}>sync:registry{{v:1|hash:abc123}}[mid:abc101000001,seq:0{sid}]")
    };
    let mut waiter = a.socket("").await;
    waiter.send_text(&hello("waiter", ",sid:lunch")).await;
    let greeted = waiter.receive().await.expect("a hello");
    let mut plain = b.socket("").await;
    plain.send_text(&hello("cook", ",sid:lunch")).await;
    let greeted_too = plain.receive().await.expect("a hello");
    for greeted in [greeted, greeted_too] {
        assert!(greeted.starts_with("@hub>sync:registry{"), "{greeted}");
    }
    let head = "@waiter>req:schedule{agent:cook|task:soup}";
    waiter
        .send_text(&frame(head, "abc101000002", 1, "sid:lunch"))
        .await;
    while !plain
        .receive()
        .await
        .expect("it is open")
        .contains("task:soup")
    {}
    // The client learns from the other hub why its socket was closed.
    let mut again = b.socket("?session=lunch&agent=cook").await;
    again.send_text(&hello("cook", "")).await;
    let end = loop {
        let reply = plain.receive().await.expect("a close");
        if reply.starts_with("close") {
            break reply;
        }
    };
    assert_eq!(
        end,
        "close 4000 another connection of this agent has opened"
    );
    a.stop().await;
    b.stop().await;
}

#[tokio::test]
async fn a_hub_that_has_slept_through_its_lease_hands_on_what_it_had() {
    let database = Database::default();
    let (a, b) = (hub(&database).await, hub(&database).await);
    let (dev, planner) = (a.agent("dev").await, a.agent("planner").await);
    serve(&dev);
    asks(&planner, "one").await;
    // When the lease of hub `a` is over, hub `b` takes the session, although `a` believes that it still has the
    // lease.
    database.pass(LEASE + Duration::from_secs(1));
    let head = "@cook>req:schedule{agent:cook|task:salad}";
    let (status, reply) = b.post(&frame(head, "abc101000001", 1, "sid:lunch")).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(database.holder("lunch"), Some(b.url("")));
    // The agents reconnect. Each of their frames reaches hub `b` once and in order.
    for name in ["two", "three", "four"] {
        asks(&planner, name).await;
    }
    let all = requests(planner.frames(1), "four").await;
    assert_eq!(all, ["one", "two", "three", "four"]);
    a.stop().await;
    assert_eq!(database.holder("lunch"), Some(b.url("")));
    b.stop().await;
    assert_eq!(database.holder("lunch"), None);
}

#[tokio::test]
async fn a_hub_that_ends_gives_up_its_sessions_and_one_that_is_gone_loses_them() {
    let database = Database::default();
    let (a, b) = (hub(&database).await, hub(&database).await);
    let posted = |number: u64| {
        let head = format!("@cook>req:schedule{{agent:dev|task:t{number}}}");
        frame(&head, &format!("abc10100000{number}"), number, "sid:lunch")
    };
    assert_eq!(a.post(&posted(1)).await.0, StatusCode::OK);
    a.stop().await;
    assert_eq!(b.post(&posted(2)).await.0, StatusCode::OK);
    assert_eq!(database.holder("lunch"), Some(b.url("")));
    // A hub that is killed does not release its leases.
    let c = hub(&database).await;
    b.kill().await;
    let (status, reply) = c.post(&posted(3)).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{reply}");
    assert!(reply.contains("retry:true"), "{reply}");
    database.pass(LEASE + Duration::from_secs(1));
    let (status, reply) = c.post(&posted(3)).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(database.holder("lunch"), Some(c.url("")));
    c.stop().await;
}

#[tokio::test]
async fn a_request_is_handed_on_once() {
    let database = Database::default();
    let (a, b) = (hub(&database).await, hub(&database).await);
    let head = "@cook>req:schedule{agent:dev|task:soup}";
    let posted = frame(head, "abc101000001", 1, "sid:lunch");
    assert_eq!(a.post(&posted).await.0, StatusCode::OK);
    let requests = [
        b.http.get(b.url("/accp/v1/sessions/lunch/state")),
        b.posting().body(posted),
    ];
    for request in requests {
        let answer = request.header("accp-forwarded", "1").send().await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(answer.headers()["retry-after"], "1");
    }
    a.stop().await;
    b.stop().await;
}

#[tokio::test]
async fn a_name_under_which_nobody_reaches_the_hub_is_refused() {
    for (name, why) in [
        ("10.0.0.5:7337", "not http://"),
        ("ftp://10.0.0.5", "not http://"),
        ("http://0.0.0.0:7337", "no other hub reaches this one there"),
        ("http://10.0.0.5/hub", "not http://"),
        ("", "not a URL"),
    ] {
        let config = Config {
            listen: "127.0.0.1:0".parse().expect("an address"),
            replica: Some(Replica {
                advertise: Some(name.to_owned()),
                ..Replica::default()
            }),
            ..Config::default()
        };
        let database = Database::default();
        let sessions = accp_hub::Sessions::new(&config, move || Ok(database.connect()));
        let bound = accp_hub::Server::bind(config, sessions.expect("a store"), accp_hub::Open);
        let error = bound.await.expect_err(name).to_string();
        assert!(
            error.contains(why) && error.contains("--advertise"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_hub_that_ends_does_not_wait_for_an_answer_at_another_hub() {
    let database = Database::default();
    let patient = Config {
        replica: Some(Replica {
            lease: LEASE.as_secs(),
            ..Replica::default()
        }),
        drain: 600,
        ..Config::default()
    };
    let (a, store) = (hub(&database).await, database.clone());
    let b = TestHub::on(patient, move || Ok(store.connect())).await;
    // This agent is in the session and never answers.
    let _dev = a.agent("dev").await;
    assert_eq!(database.holder("lunch"), Some(a.url("")));
    let ask = frame("@curl>req:plan{}", "abc109000001", 1, "sid:lunch");
    let request = b.posting().header("prefer", "wait=60").body(ask);
    let asked = tokio::spawn(request.send());
    let mut log = b.get("/accp/v1/sessions/lunch/frames?follow=true").await;
    let mut text = String::new();
    while !text.contains("@curl>req:plan{}") {
        let piece = log.chunk().await.expect("a log").expect("it goes on");
        text += &String::from_utf8_lossy(&piece);
    }
    b.stop().await;
    let answer = asked.await.expect("it ends").expect("an answer");
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.headers().contains_key("retry-after"));
    let reply = answer.text().await.expect("text");
    assert!(reply.contains("this_hub_ends"), "{reply}");
    // Hub `b`, which ends, forwarded this log. The log says why it stops, and breaks off.
    let mut rest = String::new();
    while let Ok(Some(piece)) = log.chunk().await {
        rest += &String::from_utf8_lossy(&piece);
    }
    assert!(rest.contains("@hub>fail:error{code:E3001"), "{rest}");
    // The frame is in the log of the hub that runs the session.
    let (status, reply) = a
        .post(&frame("@curl>req:plan{}", "abc109000001", 1, "sid:lunch"))
        .await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
    assert!(reply.contains("E3002"), "{reply}");
    a.stop().await;
}

/// A client of MCP reads no event with a name, so it would not learn from the event `error` why its call has ended.
#[tokio::test]
async fn a_hub_that_ends_answers_calls_that_it_has_handed_on() {
    let database = Database::default();
    let (a, b) = (hub(&database).await, hub(&database).await);
    let _dev = a.agent("dev").await;
    assert_eq!(database.holder("lunch"), Some(a.url("")));
    let call = r#"{"jsonrpc":"2.0","id":"ask-7","method":"tools/call"}"#;
    let request = b.http.post(b.url("/waits/lunch/dev")).body(call);
    let mut answer = request.send().await.expect("an answer");
    let mut text = String::new();
    while !text.contains(": waits") {
        let piece = answer.chunk().await.expect("events").expect("they go on");
        text += &String::from_utf8_lossy(&piece);
    }
    b.stop().await;
    while let Ok(Some(piece)) = answer.chunk().await {
        text += &String::from_utf8_lossy(&piece);
    }
    let data = text.lines().find_map(|line| line.strip_prefix("data: {"));
    let data = format!("{{{}", data.expect("an answer to the call"));
    let told: serde_json::Value = serde_json::from_str(&data).expect("JSON");
    assert_eq!(told["id"], "ask-7", "{text}");
    assert_eq!(told["error"]["code"], -32603, "{text}");
    let message = told["error"]["message"].as_str().expect("a message");
    assert!(message.contains("this hub ends"), "{message}");
    a.stop().await;
}

/// Reads the head of an answer.
async fn head(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        read.push(stream.read_u8().await.expect("a head"));
    }
    String::from_utf8(read).expect("text")
}

/// A hub reads a call before it hands the call on. Meanwhile the session may come to this hub.
#[tokio::test]
async fn a_call_whose_session_comes_to_its_hub_is_served_there() {
    let database = Database::default();
    let (a, b) = (hub(&database).await, hub(&database).await);
    let posted = |number: u64| {
        let head = format!("@cook>req:schedule{{agent:dev|task:t{number}}}");
        frame(&head, &format!("abc10100000{number}"), number, "sid:lunch")
    };
    assert_eq!(a.post(&posted(1)).await.0, StatusCode::OK);
    let call = r#"{"jsonrpc":"2.0","id":"ask-7","method":"tools/call"}"#;
    let request = format!(
        "POST /waits/lunch/dev HTTP/1.1\r\nhost: {}\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        b.address,
        call.len()
    );
    let mut caller = TcpStream::connect(b.address).await.expect("a hub");
    caller
        .write_all(request.as_bytes())
        .await
        .expect("it is sent");
    // Hub `b` wants the body once it knows that hub `a` runs the session.
    assert!(head(&mut caller).await.starts_with("HTTP/1.1 100 "));
    a.stop().await;
    let (mut status, mut reply) = b.post(&posted(2)).await;
    if status == StatusCode::SERVICE_UNAVAILABLE {
        (status, reply) = b.post(&posted(2)).await;
    }
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(database.holder("lunch"), Some(b.url("")));
    caller.write_all(call.as_bytes()).await.expect("it is sent");
    let answer = head(&mut caller).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    b.stop().await;
}
