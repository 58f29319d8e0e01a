//! A hub, as clients of HTTP and WebSocket meet it.

#![allow(elided_lifetimes_in_paths, reason = "as a program writes it")]

mod common;

use std::future::IntoFuture as _;
use std::time::Duration;

use accp_client::Agent;
use accp_hub::{Config, Tokens};
use accp_runtime::AgentId;
use accp_runtime::profiles::{ScheduleDone, ScheduleReq};
use common::{Running, frame};
use reqwest::StatusCode;
use tokio::sync::mpsc;

fn task(number: usize) -> ScheduleReq<'static> {
    let dev = AgentId::new("dev").expect("a name");
    ScheduleReq::new(dev, format!("task_{number}"))
}

#[tokio::test]
async fn two_agents_talk_over_websockets_and_go_on_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hub.accp");
    let first = Running::on_file(&file, Config::default()).await;
    let planner = Agent::connect(first.ws(), "lunch", "planner")
        .await
        .expect("a hub");
    let dev = Agent::connect(first.ws(), "lunch", "dev")
        .await
        .expect("a hub");
    dev.serve(|task: ScheduleReq, cx| async move {
        cx.reply(ScheduleDone::new(task.task).status("done")).await
    });
    let done: ScheduleDone = planner.ask(task(1)).await.expect("an answer");
    assert_eq!(done.task, "task_1");
    let address = first.address;
    first.stop().await;
    // Both come back by themselves, and what was sent meanwhile is not lost.
    let asked = tokio::spawn({
        let planner = planner.clone();
        async move { planner.ask::<ScheduleDone>(task(2)).await }
    });
    let config = Config {
        listen: address,
        ..Config::default()
    };
    let second = Running::on_file(&file, config).await;
    let done = asked.await.expect("it ends").expect("an answer");
    assert_eq!(done.task, "task_2");
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_join_at_one_instant_and_all_are_heard() {
    let hub = Running::start(Config::default()).await;
    let mut asked = Vec::new();
    for number in 0..20 {
        let url = hub.ws();
        asked.push(tokio::spawn(async move {
            let session = format!("s{number}");
            let planner = Agent::connect(&url, &session, "planner")
                .await
                .expect("a hub");
            let dev = Agent::connect(&url, &session, "dev").await.expect("a hub");
            dev.serve(|task: ScheduleReq, cx| async move {
                cx.reply(ScheduleDone::new(task.task).status("done")).await
            });
            let done = planner
                .ask::<ScheduleDone>(task(number))
                .within(Duration::from_secs(10));
            (number, done.await.map(|done| done.task.into_owned()))
        }));
    }
    for asked in asked {
        let (number, answer) = asked.await.expect("it ends");
        assert_eq!(answer.expect("an answer"), format!("task_{number}"));
    }
    hub.stop().await;
}

#[tokio::test]
async fn an_agent_that_has_lost_everything_gets_what_it_has_not_answered() {
    let hub = Running::start(Config::default()).await;
    let planner = Agent::connect(hub.ws(), "lunch", "planner")
        .await
        .expect("a hub");
    let dev = Agent::connect(hub.ws(), "lunch", "dev")
        .await
        .expect("a hub");
    let (told, mut heard) = mpsc::unbounded_channel();
    dev.serve({
        let told = told.clone();
        move |task: ScheduleReq, cx| {
            told.send(task.task.to_string()).expect("the test listens");
            async move {
                if task.task == "task_1" {
                    // It never answers this one.
                    std::future::pending::<()>().await;
                }
                cx.reply(ScheduleDone::new(task.task)).await
            }
        }
    });
    let first = tokio::spawn({
        let planner = planner.clone();
        async move { planner.ask::<ScheduleDone>(task(1)).await }
    });
    for number in [2, 3] {
        planner
            .ask::<ScheduleDone>(task(number))
            .await
            .expect("an answer");
    }
    while heard.recv().await.as_deref() != Some("task_3") {}
    drop(dev);
    let dev = Agent::connect(hub.ws(), "lunch", "dev")
        .await
        .expect("a hub");
    dev.serve(move |task: ScheduleReq, cx| {
        told.send(task.task.to_string()).expect("the test listens");
        async move { cx.reply(ScheduleDone::new(task.task)).await }
    });
    let done = first.await.expect("it ends").expect("an answer");
    assert_eq!(done.task, "task_1");
    planner
        .ask::<ScheduleDone>(task(4))
        .await
        .expect("an answer");
    assert_eq!(heard.recv().await.as_deref(), Some("task_1"));
    assert_eq!(heard.recv().await.as_deref(), Some("task_4"));
    hub.stop().await;
}

#[tokio::test]
async fn a_post_is_acknowledged_refused_or_silent() {
    let hub = Running::start(Config::default()).await;
    let first = frame("@dev>req:plan{goal:lunch}", "abc101000001", 1, "sid:lunch");
    let (status, body) = hub.post(&first).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    assert!(
        body.starts_with("@hub>ack:frame{}[") && body.contains("of:abc101000001"),
        "{body}"
    );

    // The same again is known; the answer says where it stands.
    let (status, body) = hub.post(&first).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
    assert!(
        body.contains("E3002") && body.contains("schema:ER"),
        "{body}"
    );

    // A gap consumes nothing and names the number that is due.
    let gap = frame("@dev>req:plan{goal:lunch}", "abc101000003", 3, "sid:lunch");
    let (status, body) = hub.post(&gap).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
    assert!(body.contains("E3003") && body.contains("exp:2"), "{body}");

    // Expired, and of a cancelled chain: the same silence.
    let old = "@dev>req:plan{goal:x}[mid:abc101000002,seq:2,ts:1000,ttl:5,sid:lunch]";
    let (status, body) = hub.post(old).await;
    assert_eq!((status, body.as_str()), (StatusCode::ACCEPTED, ""));
    let cancel = frame(
        "@dev>cancel:task{}",
        "abc101000004",
        3,
        "sid:lunch,cid:abc101000001",
    );
    assert_eq!(hub.post(&cancel).await.0, StatusCode::OK);
    let late = frame(
        "@dev>req:more{}",
        "abc101000005",
        4,
        "sid:lunch,cid:abc101000001",
    );
    let (status, body) = hub.post(&late).await;
    assert_eq!((status, body.as_str()), (StatusCode::ACCEPTED, ""));

    // A link frame.
    let (status, body) = hub
        .post(&frame("@dev>ping:link{}", "abc101000006", 0, "sid:lunch"))
        .await;
    assert_eq!(status, StatusCode::OK);
    assert!(body.starts_with("@hub>pong:link{}"), "{body}");
    hub.stop().await;
}

#[tokio::test]
async fn what_is_no_frame_is_refused_with_its_place() {
    let hub = Running::start(Config::default()).await;
    for (body, status, part) in [
        ("", StatusCode::BAD_REQUEST, "E1001"),
        (
            "@dev>req:plan{goal}[sid:lunch]",
            StatusCode::BAD_REQUEST,
            "at:18",
        ),
        (
            "@dev>req:plan{}[mid:abc101000001,seq:1]",
            StatusCode::BAD_REQUEST,
            "session",
        ),
        (
            "@dev>req:plan{}[mid:1,seq:1,sid:a/b]",
            StatusCode::BAD_REQUEST,
            "E1001",
        ),
        (
            "@dev>hop:plan{}[mid:abc101000001,seq:1,sid:lunch]",
            StatusCode::BAD_REQUEST,
            "E1002",
        ),
        (&"x".repeat(70_000), StatusCode::PAYLOAD_TOO_LARGE, "65536"),
    ] {
        let (found, said) = hub.post(body).await;
        assert_eq!(found, status, "{said}");
        assert!(said.contains(part) && said.contains("schema:ER"), "{said}");
    }
    let plain = hub
        .http
        .post(hub.url("/accp/v1/frames"))
        .body("@a>req:x{}")
        .send()
        .await;
    assert_eq!(
        plain.expect("an answer").status(),
        StatusCode::UNSUPPORTED_MEDIA_TYPE
    );
    let invalid = hub.raw(vec![b'@', 0xff, b'>']).await;
    assert_eq!(invalid.0, StatusCode::BAD_REQUEST, "{}", invalid.1);
    hub.stop().await;
}

#[tokio::test]
async fn a_post_that_prefers_to_wait_gets_the_answer() {
    let hub = Running::start(Config::default()).await;
    let dev = Agent::connect(hub.ws(), "lunch", "dev")
        .await
        .expect("a hub");
    dev.serve(|task: ScheduleReq, cx| async move {
        cx.reply(ScheduleDone::new(task.task).status("done")).await
    });
    let ask = frame(
        "@curl>req:schedule{asgn:dev|task:soup|schema:TA}",
        "abc109000001",
        1,
        "sid:lunch",
    );
    let answer = hub
        .http
        .post(hub.url("/accp/v1/frames"))
        .header("content-type", "application/accp; charset=utf-8")
        .header("prefer", "respond-async, wait=20")
        .body(ask)
        .send()
        .await
        .expect("an answer");
    assert_eq!(answer.headers()["preference-applied"], "wait=20");
    let body = answer.text().await.expect("text");
    assert!(body.starts_with("@dev>done:schedule{task:soup"), "{body}");
    hub.stop().await;
}

#[tokio::test]
async fn streams_go_up_and_down_one_frame_a_chunk() {
    let hub = Running::start(Config::default()).await;
    let dev = Agent::connect(hub.ws(), "lunch", "dev")
        .await
        .expect("a hub");
    let mut log = dev.frames(1);
    let piece = |index: u64, more: &str| {
        let head = format!("@s>stream:infer{{idx:{index}|d:w{index}{more}|schema:ST}}");
        frame(
            &head,
            &format!("abc10900000{index}"),
            index + 1,
            "sid:lunch,cid:abc",
        )
    };
    let sent = [piece(0, ""), piece(1, ""), piece(2, "|done:true")];
    let chunks = sent.clone().map(Ok::<_, std::io::Error>);
    let answer = hub
        .http
        .post(hub.url("/accp/v1/frames"))
        .header("content-type", "application/accp")
        .body(reqwest::Body::wrap_stream(futures_util::stream::iter(
            chunks,
        )))
        .send()
        .await
        .expect("an answer");
    let body = answer.text().await.expect("text");
    let acks: Vec<_> = body.lines().collect();
    assert_eq!(acks.len(), 3, "{body}");
    assert!(
        acks.iter().all(|ack| ack.starts_with("@hub>ack:frame{}")),
        "{body}"
    );
    let mut heard = Vec::new();
    while heard.len() < 3 {
        let entry = log.next().await.expect("a store").expect("a session");
        if entry.text.contains(">stream:") {
            heard.push(entry.text.to_string());
        }
    }
    assert_eq!(heard, sent);
    // And down, as the log has them.
    let url = hub.url("/accp/v1/sessions/lunch/frames?after=0");
    let body = hub
        .http
        .get(url)
        .send()
        .await
        .expect("an answer")
        .text()
        .await
        .expect("text");
    let streamed: Vec<_> = body
        .lines()
        .filter(|line| line.contains(">stream:"))
        .collect();
    assert_eq!(streamed, sent);
    hub.stop().await;
}

#[tokio::test]
async fn participants_read_a_session_and_nobody_else_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tokens.toml");
    let token = |secret: &str, agent: &str, session: &str| {
        let digest = Tokens::digest(secret);
        format!(
            "[[token]]\nsha256 = \"{digest}\"\nagent = \"{agent}\"\nsessions = [\"{session}\"]\n"
        )
    };
    std::fs::write(
        &file,
        token("s1", "dev", "lunch") + &token("s2", "eve", "other"),
    )
    .expect("a file");
    let hub = Running::with_tokens(Config::default(), Tokens::read(&file).expect("tokens")).await;
    let connect = |agent: &'static str, session: &'static str, token: &'static str| {
        Agent::connect(hub.ws(), session, agent)
            .token(token)
            .into_future()
    };
    let dev = connect("dev", "lunch", "s1").await.expect("dev may enter");
    dev.send(task(1)).await.expect("it is sent");
    for (agent, session, token, code) in [
        ("dev", "lunch", "guess", "E5001"),
        ("dev", "lunch", "s2", "E5002"),
        ("planner", "lunch", "s1", "E5001"),
        ("eve", "lunch", "s2", "E5002"),
    ] {
        let denied = connect(agent, session, token)
            .await
            .expect_err("denied")
            .to_string();
        assert!(denied.contains(code), "{denied}");
    }
    let get = async |path: &str, token: &str| {
        let request = hub.http.get(hub.url(path)).bearer_auth(token);
        let answer = request.send().await.expect("an answer");
        (answer.status(), answer.text().await.expect("text"))
    };
    let (status, body) = get("/accp/v1/sessions/lunch/frames", "s1").await;
    assert_eq!(status, StatusCode::OK);
    assert!(body.contains("task_1"), "{body}");
    for path in ["frames", "context", "state", "registry", "values/hot.p1"] {
        let path = format!("/accp/v1/sessions/lunch/{path}");
        let (status, body) = get(&path, "s2").await;
        assert_eq!(status, StatusCode::FORBIDDEN);
        assert!(body.contains("E5002") && !body.contains("task_1"), "{body}");
        assert_eq!(get(&path, "guess").await.0, StatusCode::UNAUTHORIZED);
        let (status, body) = get(&path, "s1").await;
        assert!(
            status == StatusCode::OK || status == StatusCode::NOT_FOUND,
            "{path}: {body}"
        );
    }
    let (_, body) = get("/accp/v1/sessions", "s2").await;
    assert_eq!(body, "[]");
    let (status, _) = get("/accp/v1/sessions/other/state", "s2").await;
    assert_eq!(status, StatusCode::NOT_FOUND, "reading begins no session");

    // A frame under the name of another is refused, over HTTP and over the socket.
    let foreign = frame("@planner>req:plan{}", "abc101000001", 1, "sid:lunch");
    let request = hub.http.post(hub.url("/accp/v1/frames")).bearer_auth("s1");
    let answer = request
        .header("content-type", "application/accp")
        .body(foreign)
        .send()
        .await;
    assert_eq!(answer.expect("an answer").status(), StatusCode::FORBIDDEN);
    hub.stop().await;
}

#[tokio::test]
async fn pages_of_other_origins_are_refused() {
    let hub = Running::start(Config::default()).await;
    let get = async |origin: &str| {
        let request = hub
            .http
            .get(hub.url("/accp/v1/sessions"))
            .header("origin", origin);
        request.send().await.expect("an answer").status()
    };
    assert_eq!(get("https://evil.example").await, StatusCode::FORBIDDEN);
    assert_eq!(get("null").await, StatusCode::FORBIDDEN);
    assert_eq!(
        get(&format!("http://{}", hub.address)).await,
        StatusCode::OK
    );
    hub.stop().await;
}

#[tokio::test]
async fn a_silent_peer_is_pinged_and_dropped_and_a_second_connection_ends_the_first() {
    let config = Config {
        heartbeat: 1,
        ..Config::default()
    };
    let hub = Running::start(config).await;
    let mut silent = hub.socket("?session=lunch").await;
    silent
        .say("@dev>sync:registry{v:1|hash:abc123|pos:0|ext:[]}[mid:1,seq:0]")
        .await;
    let (mut pinged, mut closed) = (false, false);
    while let Some(said) = silent.hear().await {
        pinged |= said.contains(">ping:link{}");
        closed |= said.starts_with("close 1000");
    }
    assert!(pinged && closed, "pinged {pinged}, closed {closed}");

    let first = Agent::connect(hub.ws(), "lunch", "cook")
        .await
        .expect("a hub");
    first.send(task(1)).await.expect("it is sent");
    let second = Agent::connect(hub.ws(), "lunch", "cook")
        .await
        .expect("a hub");
    second.send(task(2)).await.expect("it is sent");
    let mut log = first.frames(u64::MAX);
    assert!(
        log.next().await.expect("a store").is_none(),
        "the first has ended"
    );
    let said = first.send(task(3)).await.expect_err("ended").to_string();
    assert!(said.contains("another connection"), "{said}");
    hub.stop().await;
}

#[tokio::test]
async fn the_first_frame_of_a_socket_is_a_hello() {
    let hub = Running::start(Config::default()).await;
    for (query, first, close) in [
        (
            "",
            "@dev>req:plan{}[mid:abc101000001,seq:1,sid:lunch]",
            "close 1008 E1001",
        ),
        (
            "",
            "@dev>sync:registry{v:1|hash:abc}[mid:1,seq:0]",
            "close 1008 E1001",
        ),
        (
            "?session=lunch&agent=eve",
            "@dev>sync:registry{v:1|hash:abc}[mid:1,seq:0]",
            "close 1008 E5001",
        ),
        ("?session=lunch", "rubbish", "close 1008 E1001"),
    ] {
        let mut socket = hub.socket(query).await;
        socket.say(first).await;
        let error = socket.hear().await.expect("an error");
        assert!(error.starts_with("@hub>fail:error{"), "{error}");
        let end = socket.hear().await.expect("a close");
        assert!(end.starts_with(close), "{end}");
    }
    // A peer of the draft alone begins a session whose numbers all share.
    let mut plain = hub.socket("").await;
    plain
        .say("@dev>sync:registry{v:1|hash:abc123}[mid:abc101000001,seq:0,sid:draft]")
        .await;
    let hello = plain.hear().await.expect("a hello");
    assert!(
        hello.starts_with("@hub>sync:registry{") && !hello.contains("pos:"),
        "{hello}"
    );
    hub.stop().await;
}

#[tokio::test]
async fn sessions_leave_memory_and_come_back() {
    let config = Config {
        idle: 1,
        ..Config::default()
    };
    let hub = Running::start(config).await;
    for number in 0..20 {
        let text = frame(
            "@dev>req:plan{}",
            "abc101000001",
            1,
            &format!("sid:s{number}"),
        );
        assert_eq!(hub.post(&text).await.0, StatusCode::OK);
    }
    let sessions = async || {
        let text = hub
            .http
            .get(hub.url("/metrics"))
            .send()
            .await
            .expect("an answer");
        let text = text.text().await.expect("text");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("accp_sessions "));
        line.expect("a gauge").parse::<u64>().expect("a number")
    };
    while sessions().await > 0 {}
    let next = frame("@dev>req:plan{}", "abc101000002", 2, "sid:s7");
    assert_eq!(hub.post(&next).await.0, StatusCode::OK);
    hub.stop().await;
}

#[tokio::test]
async fn the_description_names_the_routes_that_answer() {
    let hub = Running::start(Config::default()).await;
    let text = hub
        .http
        .get(hub.url("/openapi.json"))
        .send()
        .await
        .expect("an answer");
    let text: serde_json::Value =
        serde_json::from_str(&text.text().await.expect("text")).expect("JSON");
    let described = text["paths"].as_object().expect("paths");
    let source = include_str!("../src/routes.rs");
    let of = "/accp/v1/sessions/{session}/";
    let routed = source.split(".route(").skip(1).map(|route| {
        let path = route.split('"').nth(1).expect("a path");
        if route.starts_with("&of") {
            format!("{of}{path}")
        } else {
            path.to_owned()
        }
    });
    let mut routed: Vec<_> = routed.collect();
    routed.sort();
    let mut named: Vec<_> = described.keys().cloned().collect();
    named.sort();
    assert_eq!(named, routed);
    for (path, methods) in described {
        for method in methods.as_object().expect("methods").keys() {
            let url = hub.url(&path.replace("{session}", "lunch").replace("{key}", "ctx.x"));
            let method = method.to_uppercase().parse().expect("a method");
            let answer = hub
                .http
                .request(method, url)
                .send()
                .await
                .expect("an answer");
            let code = answer.status().as_u16().to_string();
            assert_ne!(code, "405", "{path}");
            let answers = &text["paths"][path][answer_method(&text, path)]["responses"];
            assert!(
                answers.get(&code).is_some(),
                "{path}: {code} is not described"
            );
        }
    }
    hub.stop().await;
}

fn answer_method(text: &serde_json::Value, path: &str) -> String {
    let methods = text["paths"][path].as_object().expect("methods");
    methods.keys().next().expect("a method").clone()
}
