//! A hub, as clients of HTTP and WebSocket meet it.

use std::sync::Arc;

use crate::common::{TestHub, frame};
use accp_hub::Config;
use accp_runtime::profiles::{ScheduleDone, ScheduleReq};
use accp_runtime::session::{Options, Rules, Scope};
use accp_runtime::{AgentId, Registry};
use accp_store::{Committer, MemoryStore};
use reqwest::StatusCode;

#[tokio::test]
async fn http_01_accepts_one_frame_a_request() {
    let hub = TestHub::start(Config::default()).await;
    let first = frame("@dev>req:plan{goal:lunch}", "abc101000001", 1, "sid:lunch");
    let (status, body) = hub.post(&first).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    assert!(
        body.starts_with("@hub>ack:frame{}[") && body.contains("of:abc101000001"),
        "{body}"
    );

    // The hub refuses a frame that it already has.
    let (status, body) = hub.post(&first).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
    assert!(
        body.contains("E3002") && body.contains("schema:ER"),
        "{body}"
    );

    // A frame after a gap uses up no number. The error names the number that is due.
    let gap = frame("@dev>req:plan{goal:lunch}", "abc101000003", 3, "sid:lunch");
    let (status, body) = hub.post(&gap).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
    assert!(body.contains("E3003") && body.contains("exp:2"), "{body}");

    // An expired frame, and a frame of a cancelled chain, get an empty answer.
    let old = "@dev>req:plan{goal:x}[mid:abc101000002,seq:2,ts:1000,ttl:5,sid:lunch]";
    // The first answer may be lost, so the client may send the frame again.
    for _ in 0..2 {
        let (status, body) = hub.post(old).await;
        assert_eq!((status, body.as_str()), (StatusCode::ACCEPTED, ""));
    }
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

    // The hub itself answers a link frame.
    let (status, body) = hub
        .post(&frame("@dev>ping:link{}", "abc101000006", 0, "sid:lunch"))
        .await;
    assert_eq!(status, StatusCode::OK);
    assert!(body.starts_with("@hub>pong:link{}"), "{body}");
    hub.stop().await;
}

#[tokio::test]
async fn http_01_refuses_what_is_no_frame_with_an_error_frame() {
    let hub = TestHub::start(Config::default()).await;
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
        let (found, reply) = hub.post(body).await;
        assert_eq!(found, status, "{reply}");
        assert!(
            reply.contains(part) && reply.contains("schema:ER"),
            "{reply}"
        );
    }
    let invalid = hub.raw(vec![b'@', 0xff, b'>']).await;
    assert_eq!(invalid.0, StatusCode::BAD_REQUEST, "{}", invalid.1);
    hub.stop().await;
}

#[tokio::test]
async fn a_post_that_waits_ends_when_its_chain_is_cancelled() {
    let hub = TestHub::start(Config::default()).await;
    // This agent is in the session, and may answer.
    let dev = frame("@dev>sync:note{}", "abd101000001", 1, "sid:lunch");
    assert_eq!(hub.post(&dev).await.0, StatusCode::OK);
    let ask = frame("@curl>req:plan{}", "abc109000001", 1, "sid:lunch");
    let request = hub.posting().header("prefer", "wait=60").body(ask);
    let asked = tokio::spawn(request.send());
    let cancel = frame(
        "@curl>cancel:task{}",
        "abc109000002",
        2,
        "sid:lunch,cid:abc109000001",
    );
    // The cancellation is refused until the question is in the log.
    while hub.post(&cancel).await.0 != StatusCode::OK {}
    let answer = asked.await.expect("it ends").expect("an answer");
    assert_eq!(answer.status(), StatusCode::ACCEPTED);
    assert_eq!(answer.text().await.expect("text"), "");
    hub.stop().await;
}

#[tokio::test]
async fn a_post_that_prefers_to_wait_gets_the_answer() {
    let hub = TestHub::start(Config::default()).await;
    let dev = hub.agent("dev").await;
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
    // Nobody answers an answer, so the client does not wait.
    let answer = hub
        .http
        .post(hub.url("/accp/v1/frames"))
        .header("content-type", "application/accp")
        .header("prefer", "wait=60")
        .body(frame("@curl>done:task{}", "abc109000002", 2, "sid:lunch"))
        .send()
        .await
        .expect("an answer");
    assert!(!answer.headers().contains_key("preference-applied"));
    let body = answer.text().await.expect("text");
    assert!(body.starts_with("@hub>ack:frame{}"), "{body}");
    hub.stop().await;
}

#[tokio::test]
async fn http_02_accepts_one_frame_a_chunk_both_ways() {
    let hub = TestHub::start(Config::default()).await;
    let dev = hub.agent("dev").await;
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
    let chunks = reqwest::Body::wrap_stream(futures_util::stream::iter(chunks));
    let answer = hub.posting().body(chunks).send().await;
    let answer = answer.expect("an answer");
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
    // A read of the log gives the same pieces.
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
async fn sessions_leave_memory_and_come_back() {
    let config = Config {
        idle: 1,
        ..Config::default()
    };
    let hub = TestHub::start(config).await;
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
        let text = hub.get("/metrics").await;
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
async fn http_01_accepts_a_frame_once_whoever_is_restarted() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hub.accp");
    let text = frame("@dev>req:plan{goal:lunch}", "abc101000001", 1, "sid:lunch");
    let first = TestHub::on_file(&file, Config::default()).await;
    assert_eq!(first.post(&text).await.0, StatusCode::OK);
    first.stop().await;
    let second = TestHub::on_file(&file, Config::default()).await;
    let (status, body) = second.post(&text).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
    assert!(body.contains("E3002"), "{body}");
    let next = frame("@dev>req:plan{goal:tea}", "abc101000002", 2, "sid:lunch");
    assert_eq!(second.post(&next).await.0, StatusCode::OK);
    second.stop().await;
}

#[tokio::test]
async fn http_02_refuses_two_frames_that_are_no_stream() {
    let hub = TestHub::start(Config::default()).await;
    let first = frame("@dev>req:plan{}", "abc101000001", 1, "sid:lunch");
    let second = frame("@dev>req:plan{}", "abc101000002", 2, "sid:lunch");
    let (status, body) = hub.post(&format!("{first}\n{second}")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
    assert!(body.contains("E1001"), "{body}");
    // In a stream, the hub answers an invalid frame with an error. The log has the frames around it.
    let piece = "@s>stream:infer{idx:0|d:w|schema:ST}";
    let piece = frame(piece, "abc101000003", 1, "sid:lunch,cid:abc");
    let (status, body) = hub
        .post(&format!("{piece}\n@s>stream:infer{{idx\n{first}"))
        .await;
    let answers: Vec<_> = body.lines().collect();
    assert_eq!(status, StatusCode::OK, "{body}");
    assert!(answers[0].starts_with("@hub>ack:frame{}"), "{body}");
    assert!(
        answers[1].starts_with("@hub>fail:error{code:E1001"),
        "{body}"
    );
    assert!(answers[2].starts_with("@hub>ack:frame{}"), "{body}");
    assert_eq!(answers.len(), 3, "{body}");
    // The session has taken none of the refused frames, so number 2 is still due.
    let (status, body) = hub.post(&second).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    hub.stop().await;
}

#[tokio::test]
async fn http_03_accepts_the_media_type_with_parameters() {
    let hub = TestHub::start(Config::default()).await;
    for (number, kind) in ["application/accp", "Application/ACCP; charset=utf-8"]
        .iter()
        .enumerate()
    {
        let mid = format!("abc10100000{number}");
        let text = frame("@dev>req:plan{}", &mid, number as u64 + 1, "sid:lunch");
        let request = hub
            .http
            .post(hub.url("/accp/v1/frames"))
            .header("content-type", *kind);
        let answer = request.body(text).send().await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["content-type"], "application/accp");
    }
    hub.stop().await;
}

#[tokio::test]
async fn http_03_refuses_another_media_type() {
    let hub = TestHub::start(Config::default()).await;
    let text = frame("@dev>req:plan{}", "abc101000001", 1, "sid:lunch");
    for kind in [
        None,
        Some("text/plain"),
        Some("application/accp+json"),
        Some("application/json"),
    ] {
        let mut request = hub.http.post(hub.url("/accp/v1/frames"));
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        let answer = request.body(text.clone()).send().await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
        let reply = answer.text().await.expect("text");
        assert!(reply.contains("schema:ER"), "{reply}");
    }
    assert_eq!(
        hub.post(&text).await.0,
        StatusCode::OK,
        "nothing of it has come in"
    );
    hub.stop().await;
}

/// A program that uses this library keeps other hubs out of its file, as the command does.
#[test]
fn two_hubs_do_not_have_one_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hub.accp");
    let config = accp_hub::Config::default();
    let first = accp_hub::Sessions::in_file(&config, &file).expect("the file");
    let second = accp_hub::Sessions::in_file(&config, &file).expect_err("the first has it");
    assert_eq!(second.kind(), accp_store::StoreErrorKind::Busy);
    assert!(second.to_string().contains("at 127.0.0.1:7337"), "{second}");
    drop(first);
    accp_hub::Sessions::in_file(&config, &file).expect("the file");
}

/// A hub that lets the system choose its port tells other hubs the port that it has.
#[tokio::test]
async fn the_file_of_a_hub_names_the_address_where_it_listens() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hub.accp");
    let config = Config {
        listen: "127.0.0.1:0".parse().expect("an address"),
        ..Config::default()
    };
    let sessions = accp_hub::Sessions::in_file(&config, &file).expect("the file");
    let server = accp_hub::Server::bind(config.clone(), sessions, accp_hub::Open);
    let server = server.await.expect("a port");
    let second = accp_hub::Sessions::in_file(&config, &file).expect_err("the first has it");
    let address = format!("at {};", server.address());
    assert!(second.to_string().contains(&address), "{second}");
}

/// No address leads to a session that is called `.` or `..`, like a step in a path. If an earlier version began a
/// session under such a name, that session goes on.
#[tokio::test]
async fn no_session_begins_under_a_name_that_addresses_lose() {
    let committer = Committer::inline(MemoryStore::new());
    let name = AgentId::new("hub").expect("a name");
    let options = Options::new("..", name, Arc::new(Registry::standard()));
    let rules = Rules {
        scope: Scope::Sender,
        ..Rules::default()
    };
    let before = accp_client::Hub::open_on(&committer, options, rules).await;
    let before = before.expect("a session");
    let cook = before.agent("cook").expect("an agent");
    cook.joined().await.expect("it joins");
    drop((cook, before));
    let hub = TestHub::on(Config::default(), move || Ok(committer.clone())).await;
    for (session, expected) in [
        (".", StatusCode::BAD_REQUEST),
        ("..", StatusCode::OK),
        ("...", StatusCode::OK),
    ] {
        let url = hub.url(&format!("/accp/v1/frames?session={session}"));
        let plan = frame("@dev>req:plan{}", "abc101000001", 1, "ttl:600");
        let posted = hub
            .http
            .post(url)
            .header("content-type", "application/accp");
        let answer = posted.body(plan).send().await.expect("an answer");
        let (status, body) = (answer.status(), answer.text().await.expect("text"));
        assert_eq!(status, expected, "{session}: {body}");
        let names = body.contains("another_name_than");
        assert_eq!(names, expected != StatusCode::OK, "{session}: {body}");
    }
    let listed = hub.http.get(hub.url("/accp/v1/sessions")).send().await;
    let listed = listed.expect("an answer").text().await.expect("text");
    assert!(!listed.contains("\".\""), "{listed}");
    hub.stop().await;
}
