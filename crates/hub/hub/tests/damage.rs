//! A store with a damaged row. A reader must not take the rows before the damaged row for the whole log, and a reader
//! of a damaged value has to learn that the value is damaged.

use std::path::Path;
use std::sync::Arc;

use crate::common::{TestHub, frame};
use crate::values::{VALUE, announce, put};
use accp_client::{Error, Hub};
use accp_hub::Config;
use accp_runtime::profiles::ScheduleReq;
use accp_runtime::session::{Options, Rules};
use accp_runtime::{AgentId, Registry};
use accp_store::{Committer, SqliteStore};
use futures_util::StreamExt as _;
use reqwest::StatusCode;
use tokio::sync::mpsc;

/// Frames of the log: enough for a snapshot, so that the hub opens without the early rows.
const FRAMES: usize = 1_300;

/// Reads a log. Returns the text, and whether the body ended without an error.
async fn read(hub: &TestHub, query: &str, accept: &str) -> (String, bool) {
    let url = hub.url(&format!("/accp/v1/sessions/lunch/frames?{query}"));
    let answer = hub.http.get(url).header("accept", accept).send().await;
    let answer = answer.expect("an answer");
    assert_eq!(answer.status(), StatusCode::OK);
    let (mut text, mut body) = (Vec::new(), answer.bytes_stream());
    while let Some(piece) = body.next().await {
        match piece {
            Ok(piece) => text.extend_from_slice(&piece),
            Err(_) => return (String::from_utf8(text).expect("text"), false),
        }
    }
    (String::from_utf8(text).expect("text"), true)
}

#[tokio::test]
async fn a_damaged_log_never_reads_as_a_whole_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hub.accp");
    let hub = TestHub::on_file(&file, Config::default()).await;
    let planner = hub.agent("planner").await;
    let _dev = hub.agent("dev").await;
    let dev = AgentId::new("dev").expect("a name");
    for number in 0..FRAMES {
        let task = ScheduleReq::new(dev.clone(), format!("task_{number:05}"));
        planner.send(task).await.expect("it is sent");
    }
    let last = format!("task_{:05}", FRAMES - 1);
    let mut log = planner.frames(1);
    while !log
        .next()
        .await
        .expect("a log")
        .expect("an entry")
        .text
        .contains(&last)
    {}
    drop((planner, log));
    let (whole, is_whole) = read(&hub, "after=0", "*/*").await;
    assert!(is_whole && whole.contains("task_00012") && whole.contains(&last));
    hub.stop().await;

    // The test changes one letter of an early row.
    let mut bytes = std::fs::read(&file).expect("a file");
    let sought = b">req:schedule{asgn:dev|task:task_00012";
    let at = bytes
        .windows(sought.len())
        .position(|window| window == sought);
    let at = at.expect("the row") + sought.len() - 1;
    bytes[at] = b'3';
    std::fs::write(&file, bytes).expect("a file");

    let hub = TestHub::on_file(&file, Config::default()).await;
    for (accept, expected) in [
        ("*/*", "fail:error{code:E9999"),
        ("application/x-ndjson", "\"error\""),
    ] {
        for query in ["after=0", "after=0&follow=true", "after=3&limit=500"] {
            let (text, is_whole) = read(&hub, query, accept).await;
            assert!(!is_whole, "{query}: {text}");
            let last = text.lines().last().unwrap_or_default();
            assert!(last.contains(expected), "{query} says why: {last}");
        }
    }
    // The rows after the damaged row can be read, and the session continues.
    let (text, is_whole) = read(&hub, "after=600", "*/*").await;
    assert!(is_whole && text.contains(&last));
    let plan = frame("@dev>req:plan{}", "abc101000001", 1, "sid:lunch");
    assert_eq!(hub.post(&plan).await.0, StatusCode::OK);
    let counted = hub.get("/metrics").await;
    let counted = counted.text().await.expect("text");
    assert!(counted.contains("accp_cut_answers_total 6"), "{counted}");
    hub.stop().await;
}

/// The hub opens the session from a snapshot, without reading the value.
#[tokio::test]
async fn a_damaged_value_is_told_as_damage_and_the_session_goes_on() {
    damaged_value(FRAMES).await;
}

/// The hub has no snapshot, so it looks whether the value has come.
#[tokio::test]
async fn a_damaged_value_that_no_snapshot_knows_does_not_keep_its_session_from_opening() {
    damaged_value(3).await;
}

/// Damages a value in the store of a session with this many frames.
async fn damaged_value(frames: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hub.accp");
    let hub = TestHub::on_file(&file, Config::default()).await;
    announce(&hub, 1, "k101_1", VALUE).await;
    assert_eq!(
        put(&hub, "k101_1", "?agent=me", VALUE).await.0,
        StatusCode::CREATED
    );
    let planner = hub.agent("planner").await;
    let me = AgentId::new("me").expect("a name");
    for number in 0..frames {
        let task = ScheduleReq::new(me.clone(), format!("task_{number:05}"));
        planner.send(task).await.expect("it is sent");
    }
    drop(planner);
    hub.stop().await;

    damage_value(&file);
    let hub = TestHub::on_file(&file, Config::default()).await;
    let mut socket = hub.socket("?session=lunch&agent=qa").await;
    socket
        .send_text("@qa>sync:registry{v:1|hash:abc123|pos:0|ext:[]}[mid:1,seq:0]")
        .await;
    assert!(
        socket
            .receive()
            .await
            .expect("a hello")
            .starts_with("@hub>")
    );
    for _ in 0..2 {
        let answer = hub.get("/accp/v1/sessions/lunch/values/k101_1").await;
        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let reply = answer.text().await.expect("text");
        assert!(
            reply.contains("E9999")
                && reply.contains("retry:false")
                && reply.contains("k101__1")
                && reply.contains("backup"),
            "{reply}"
        );
    }
    // The damaged value has not ended the socket or the session.
    socket.send_text("@qa>ping:link{}[mid:9,seq:0]").await;
    loop {
        let reply = socket.receive().await.expect("it is open");
        assert!(!reply.starts_with("close"), "{reply}");
        if reply.starts_with("@hub>pong:link{}") {
            break;
        }
    }
    hub.stop().await;
}

/// Changes one byte of the value in a file.
fn damage_value(file: &Path) {
    let mut bytes = std::fs::read(file).expect("a file");
    let sought = VALUE.as_bytes();
    let at = bytes
        .windows(sought.len())
        .position(|window| window == sought);
    bytes[at.expect("the value") + 3] = b'!';
    std::fs::write(file, bytes).expect("a file");
}

/// The handler of a frame gets the reference in the place of its damaged value, and then the frames behind it.
#[tokio::test]
async fn a_damaged_value_in_a_frame_for_an_agent_does_not_end_its_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hub.accp");
    let hub = TestHub::on_file(&file, Config::default()).await;
    announce(&hub, 1, "k101_1", VALUE).await;
    let (status, _) = put(&hub, "k101_1", "?agent=me", VALUE).await;
    assert_eq!(status, StatusCode::CREATED);
    for (head, mid, seq) in [
        ("@cook>sync:note{}", "abc102000001", 1),
        ("@me>req:plan{goal:$cold.k101_1}", "c00000000002", 2),
        ("@me>req:plan{goal:soup}", "c00000000003", 3),
    ] {
        let (status, reply) = hub.post(&frame(head, mid, seq, "sid:lunch")).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
    }
    hub.stop().await;

    damage_value(&file);
    let store = SqliteStore::open(&file).expect("a store");
    let committer = Committer::new(store).expect("a thread");
    let name = AgentId::new("hub").expect("a name");
    let options = Options::new("lunch", name, Arc::new(Registry::standard()));
    let hub = Hub::open_on(&committer, options, Rules::default()).await;
    let hub = hub.expect("a session that opens");
    let (given, mut taken) = mpsc::unbounded_channel();
    let cook = hub.agent("cook").expect("an agent");
    cook.serve_others(move |cx| {
        let _ = given.send(cx.inbound().text().to_owned());
        async { Ok::<_, Error>(()) }
    });
    for part in ["goal:$cold.k101_1", "goal:soup"] {
        let text = taken.recv().await.expect("the session goes on");
        assert!(text.contains(part), "{text}");
    }
    let read = hub.expand("cold.k101_1").await;
    assert!(matches!(read, Err(Error::Damaged(_))), "{read:?}");
    assert!(!hub.has_ended());
}
