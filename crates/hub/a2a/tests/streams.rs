//! Streams, both ways, and tasks after a restart (draft section 11.4).

use a2a::{StreamResponse, TaskState};
use accp_client::{Cx, Error};
use accp_runtime::profiles::{ChatDone, ChatReq, InferStream, ScheduleReq};
use accp_runtime::session::Outbound;
use serde_json::json;

use crate::support::agents::{HeldRequest, TASK, by_hand, streams};
use crate::support::{TestServer, frames, in_task, request, states, texts, words};

#[tokio::test]
async fn a2a_01_accepts_pieces_of_a_stream_as_parts_of_an_artifact_one_to_one() {
    let (server, _dev, mut heard) = TestServer::by_hand().await;
    let updates = server
        .stream("SendStreamingMessage", &request(frames([TASK])))
        .await;
    let asked = heard.recv().await.unwrap();
    let id = asked.chain();
    streams(asked, &["Hello", " world", "!"]).await;
    let updates = updates.all().await;
    assert_eq!(
        states(&updates),
        [
            TaskState::Submitted,
            TaskState::Working,
            TaskState::Completed
        ]
    );
    let mut received = Vec::new();
    for update in &updates {
        let StreamResponse::ArtifactUpdate(update) = update else {
            continue;
        };
        assert_eq!(update.task_id, id);
        let id = update.artifact.artifact_id.clone();
        let [text] = texts(&update.artifact.parts)[..] else {
            panic!("{update:?}")
        };
        received.push((id, update.append, update.last_chunk, text.to_owned()));
    }
    let kinds: Vec<_> = received
        .iter()
        .map(|(id, append, last, _)| (&**id, *append, *last))
        .collect();
    let (yes, no) = (Some(true), Some(false));
    assert_eq!(
        kinds,
        [
            ("stream-dev", no, no),
            ("stream-dev", yes, no),
            ("stream-dev", yes, yes),
            ("answer", no, yes)
        ]
    );
    // The client gets the texts of the log, byte for byte and in the order of the log.
    let mut log = server.hub.frames(1);
    let mut stands = Vec::new();
    while let Some(entry) = log.next_ready().await.unwrap() {
        if entry.text.starts_with("@dev>stream:") || entry.text.starts_with("@dev>done:") {
            stands.push(entry.text.to_string());
        }
    }
    let received: Vec<String> = received.into_iter().map(|(.., text)| text).collect();
    assert_eq!(received, stands);
    // Afterwards the task has the same parts.
    let task = server.get(&id).await.unwrap();
    let parts: Vec<String> = task
        .artifacts
        .unwrap()
        .iter()
        .flat_map(|artifact| texts(&artifact.parts).into_iter().map(str::to_owned))
        .collect();
    assert_eq!(parts, stands);
}

#[tokio::test]
async fn frames_of_a_stream_that_a_client_sends_go_out_as_such() {
    let (server, _dev, mut heard) = TestServer::by_hand().await;
    let parts = [
        TASK,
        "@me>stream:infer{idx:0|d:first_|schema:ST}",
        "@me>stream:infer{idx:1|d:second|done:true|schema:ST}[mid:000000000001,seq:9,cid:mine]",
    ];
    let task = server.begin(frames(parts)).await.unwrap();
    let mut texts = Vec::new();
    let first = heard.recv().await.unwrap();
    for _ in 0..2 {
        let asked = heard.recv().await.unwrap();
        assert_eq!(asked.chain(), task.id);
        let text = asked.cx.inbound().text();
        texts.push(text.split('[').next().unwrap().to_owned());
    }
    assert_eq!(
        texts,
        [
            "@guest>stream:infer{idx:0|d:first_|schema:ST}",
            "@guest>stream:infer{idx:1|d:second|done:true|schema:ST}"
        ]
    );
    let more = in_task(
        frames(["@me>stream:infer{idx:2|d:late|schema:ST}"]),
        &task.id,
    );
    let error = server.send(more).await.unwrap_err();
    assert_eq!(error.code, a2a::error_code::INVALID_PARAMS, "{error:?}");
    first.done().await;
}

#[tokio::test]
async fn a_client_that_comes_back_gets_the_task_and_then_what_follows() {
    let (server, _dev, mut heard) = TestServer::by_hand().await;
    let task = server.begin(frames([TASK])).await.unwrap();
    let asked = heard.recv().await.unwrap();
    let mut log = server.guest.frames(1);
    asked
        .say(Outbound::owned(InferStream::new(0, "early")))
        .await;
    while !log.next().await.unwrap().unwrap().text.contains("early") {}
    let mut updates = server
        .stream("SubscribeToTask", &json!({"id": task.id}))
        .await;
    let Some(StreamResponse::Task(stands)) = updates.next().await else {
        panic!("no task")
    };
    assert_eq!(stands.status.state, TaskState::Working);
    assert_eq!(stands.artifacts.unwrap()[0].parts.len(), 1);
    let late = InferStream::new(1, "late").is_final(true);
    asked.say(Outbound::owned(late)).await;
    let Some(StreamResponse::ArtifactUpdate(update)) = updates.next().await else {
        panic!("no piece")
    };
    assert_eq!((update.append, update.last_chunk), (Some(true), Some(true)));
    asked.done().await;
    assert_eq!(states(&updates.all().await), [TaskState::Completed]);
    let error = server.raw("SubscribeToTask", &json!({"id": task.id})).await;
    assert_eq!(
        error["error"]["code"],
        a2a::error_code::UNSUPPORTED_OPERATION,
        "{error}"
    );
}

#[tokio::test]
async fn a2a_01_accepts_that_the_log_has_the_tasks_after_a_restart() {
    let server = TestServer::open("lunch").await;
    let dev = server.agent("dev");
    dev.serve(|_: ScheduleReq, cx: Cx| async move {
        streams(HeldRequest::of(cx), &["one", "two"]).await;
        Ok::<_, Error>(())
    });
    // This agent does not answer before the restart.
    dev.serve(|_: ChatReq, _cx: Cx| std::future::pending::<Result<(), Error>>());
    let id = server.send(frames([TASK])).await.unwrap().id;
    let open = server.begin(words("and tomorrow?")).await.unwrap();
    let before = (
        server.get(&id).await.unwrap(),
        server.get(&open.id).await.unwrap(),
    );
    drop(dev);
    let server = server.reopen().await;
    let after = (
        server.get(&id).await.unwrap(),
        server.get(&open.id).await.unwrap(),
    );
    assert_eq!(before, after);
    assert_eq!(after.0.status.state, TaskState::Completed);
    // The task that was open can still be followed.
    let mut updates = server
        .stream("SubscribeToTask", &json!({"id": open.id}))
        .await;
    let first = updates.next().await.unwrap();
    let dev = server.agent("dev");
    dev.serve(|_: ChatReq, cx| async move { cx.reply(ChatDone::new("soup")).await });
    let mut all = vec![first];
    all.extend(updates.all().await);
    assert_eq!(states(&all).last(), Some(&TaskState::Completed));
}

/// A stream begins with the request, even if the task has gone on or has ended.
#[tokio::test]
async fn a_stream_has_each_frame_that_follows_also_when_the_task_has_ended() {
    let (server, _dev, mut heard) = TestServer::by_hand().await;
    let asks = request(frames([TASK]));
    let updates = server.stream("SendStreamingMessage", &asks).await;
    streams(heard.recv().await.unwrap(), &["one", "two"]).await;
    let updates = updates.all().await;
    assert_eq!(updates.len(), 6, "{updates:?}");
    // The same message gives the same task again.
    let again = server.stream("SendStreamingMessage", &asks).await;
    assert_eq!(again.all().await, updates);
}

#[tokio::test]
async fn a_stream_that_ends_before_its_task_ends_with_an_error() {
    let mut server = TestServer::open("lunch").await;
    // `dev` joins the session and is closed, so nobody answers the request.
    drop(server.agent("dev"));
    let asks = request(frames([TASK]));
    let mut updates = server.stream("SendStreamingMessage", &asks).await;
    let Some(StreamResponse::Task(task)) = updates.next().await else {
        panic!("no task")
    };
    server.open_anew().await;
    let error = updates.next_answer().await.unwrap().error.unwrap();
    assert!(error.message.contains(&task.id), "{error:?}");
    assert!(error.message.contains("SubscribeToTask"), "{error:?}");
    assert!(updates.next_answer().await.is_none());
    // Only the stream has ended. The task is still open, and the client can follow it again.
    let mut updates = server
        .stream("SubscribeToTask", &json!({"id": task.id}))
        .await;
    updates.next().await.unwrap();
    let dev = server.agent("dev");
    by_hand(&dev).recv().await.unwrap().done().await;
    assert_eq!(states(&updates.all().await), [TaskState::Completed]);
}

/// Pieces come in any order, and some of them twice. A client gets each piece once, in order, and the final piece
/// last.
#[tokio::test]
async fn a2a_01_accepts_pieces_in_any_order_and_tells_them_in_theirs() {
    let (server, _dev, mut heard) = TestServer::by_hand().await;
    let asks = request(frames([TASK]));
    let updates = server.stream("SendStreamingMessage", &asks).await;
    let asked = heard.recv().await.unwrap();
    let id = asked.chain();
    for (index, data, is_last) in [
        (1, "b", false),
        (0, "a", false),
        (1, "b", false),
        (3, "d", true),
        (3, "d", true),
        (2, "c", false),
        (0, "a", false),
    ] {
        let piece = InferStream::new(index, data).is_final(is_last);
        asked.say(Outbound::owned(piece)).await;
    }
    // A client that subscribes now gets the pieces so far, and no piece twice.
    let mut late = server.stream("SubscribeToTask", &json!({"id": id})).await;
    let Some(StreamResponse::Task(stands)) = late.next().await else {
        panic!("no task")
    };
    let says = |parts: &[a2a::Part]| -> Vec<String> {
        let data = |text: &str| {
            text.split("d:")
                .nth(1)
                .unwrap()
                .split('|')
                .next()
                .map(str::to_owned)
        };
        texts(parts).into_iter().filter_map(data).collect()
    };
    assert_eq!(
        says(&stands.artifacts.unwrap()[0].parts),
        ["a", "b", "c", "d"]
    );
    asked.done().await;
    let mut received = Vec::new();
    for update in updates.all().await {
        if let StreamResponse::ArtifactUpdate(update) = update
            && update.artifact.artifact_id == "stream-dev"
        {
            let is_last = update.last_chunk == Some(true);
            received.push((
                says(&update.artifact.parts).concat(),
                update.append == Some(true),
                is_last,
            ));
        }
    }
    let received: Vec<_> = received
        .iter()
        .map(|(data, appends, last)| (&**data, *appends, *last))
        .collect();
    assert_eq!(
        received,
        [
            ("a", false, false),
            ("b", true, false),
            ("c", true, false),
            ("d", true, true)
        ]
    );
    assert!(late.all().await.iter().all(|update| match update {
        StreamResponse::ArtifactUpdate(update) => update.artifact.artifact_id == "answer",
        _ => true,
    }));
    let task = server.get(&id).await.unwrap();
    assert_eq!(
        says(&task.artifacts.unwrap()[0].parts),
        ["a", "b", "c", "d"]
    );
}

/// A client subscribes while a piece is missing. It gets the later pieces once the missing piece has come.
#[tokio::test]
async fn a_client_that_comes_in_the_middle_of_a_stream_gets_its_rest_in_order() {
    let (server, _dev, mut heard) = TestServer::by_hand().await;
    let task = server.begin(frames([TASK])).await.unwrap();
    let asked = heard.recv().await.unwrap();
    for index in [0, 3, 2] {
        let piece = InferStream::new(index, "x");
        asked.say(Outbound::owned(piece)).await;
    }
    let mut updates = server
        .stream("SubscribeToTask", &json!({"id": task.id}))
        .await;
    let Some(StreamResponse::Task(stands)) = updates.next().await else {
        panic!("no task")
    };
    assert_eq!(stands.artifacts.unwrap()[0].parts.len(), 1);
    asked.say(Outbound::owned(InferStream::new(1, "x"))).await;
    // Piece 4 is never sent, so the hub holds piece 5 back until the answer arrives.
    asked
        .say(Outbound::owned(InferStream::new(5, "x").is_final(true)))
        .await;
    asked.done().await;
    let mut received = Vec::new();
    for update in updates.all().await {
        if let StreamResponse::ArtifactUpdate(update) = update {
            let text = texts(&update.artifact.parts)[0].to_owned();
            let index = text
                .split("idx:")
                .nth(1)
                .map_or("answer", |rest| &rest[..1]);
            let (append, last) = (update.append.unwrap(), update.last_chunk.unwrap());
            received.push(format!("{index} {append} {last}"));
        }
    }
    let all = [
        "1 true false",
        "2 true false",
        "3 true false",
        "5 true true",
        "answer false true",
    ];
    assert_eq!(received, all);
}
