//! Tests how much of a task an answer shows: as much as the client wants, and as much as the router allows.

use a2a::{StreamResponse, Task};
use accp_store::{Committer, MemoryStore};
use serde_json::json;

use crate::support::agents::{TASK, by_hand, streams};
use crate::support::{TestServer, frames, request, texts, words};

/// How many pieces the stream of a task has.
const PIECES: usize = 20;

/// Serves a router whose answers show frames of this many bytes.
async fn serve(answer: usize) -> TestServer {
    let committer = Committer::new(MemoryStore::new()).unwrap();
    TestServer::open_with(committer, "lunch", |config| config.answer = answer).await
}

/// Lets an agent answer a message with a stream and an answer. Returns the id of the task, which has ended.
async fn task(server: &TestServer) -> String {
    let dev = server.agent("dev");
    let mut asked = by_hand(&dev);
    let pieces: Vec<String> = (0..PIECES).map(|piece| format!("dish{piece:02}")).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let answers = async { streams(asked.recv().await.unwrap(), &pieces).await };
    let (task, ()) = tokio::join!(server.send(frames([TASK])), answers);
    task.unwrap().id
}

/// Returns the texts of the stream in a task.
fn stream(task: &Task) -> Vec<&str> {
    let artifacts = task.artifacts.iter().flatten();
    let streams = artifacts.filter(|artifact| artifact.artifact_id == "stream-dev");
    streams
        .flat_map(|artifact| texts(&artifact.parts))
        .collect()
}

#[tokio::test]
async fn an_answer_has_a_bound_for_frames_and_says_what_it_leaves_out() {
    let server = serve(8 << 20).await;
    let id = task(&server).await;
    let whole = server.get(&id).await.unwrap();
    assert_eq!(stream(&whole).len(), PIECES);
    assert_eq!(whole.history.as_ref().map(Vec::len), Some(1));
    assert_eq!(whole.metadata, None);

    let server = serve(1_000).await;
    let id = task(&server).await;
    let part = server.get(&id).await.unwrap();
    let shown = stream(&part);
    let left_out = PIECES - shown.len();
    assert!((1..PIECES).contains(&left_out), "{shown:?}");
    let bytes: usize = shown.iter().map(|frame| frame.len()).sum();
    assert!(bytes <= 1_000, "{bytes} bytes");
    // The newest pieces and the answer are there.
    for (at, frame) in shown.iter().enumerate() {
        let piece = format!("dish{:02}", left_out + at);
        assert!(frame.contains(&piece), "{frame} is not {piece}");
    }
    let mut artifacts = part.artifacts.iter().flatten();
    assert!(artifacts.any(|artifact| artifact.artifact_id == "answer"));
    let told = &part.metadata.as_ref().unwrap()["accp.leftOut"];
    assert_eq!(
        (&told["messages"], &told["parts"]),
        (&json!(1), &json!(left_out))
    );
    let mut artifacts = part.artifacts.iter().flatten();
    let of_dev = artifacts.find(|artifact| artifact.artifact_id == "stream-dev");
    let told = &of_dev.unwrap().metadata.as_ref().unwrap()["accp.leftOut"];
    assert_eq!(told, &json!(left_out));
    // Messages that the client does not want are not left out.
    let none = json!({ "id": id, "historyLength": 0 });
    let none: Task = server.call("GetTask", &none).await.unwrap();
    assert_eq!(none.metadata.unwrap()["accp.leftOut"]["messages"], 0);

    // All tasks of a list share the bound.
    let list = json!({ "includeArtifacts": true, "historyLength": 1 });
    let list: a2a::ListTasksResponse = server.call("ListTasks", &list).await.unwrap();
    assert_eq!(list.tasks[0].metadata, part.metadata);
}

#[tokio::test]
async fn a_stream_begins_with_as_many_messages_as_its_client_wants() {
    let server = serve(8 << 20).await;
    let _dev = server.agent("dev");
    for (length, expected) in [(None, Some(1)), (Some(0), None), (Some(5), Some(1))] {
        let mut asks = request(words(&format!("what is there? {length:?}")));
        let configuration = json!({ "historyLength": length });
        asks.configuration = serde_json::from_value(configuration).unwrap();
        let mut updates = server.stream("SendStreamingMessage", &asks).await;
        let Some(StreamResponse::Task(task)) = updates.next().await else {
            panic!("no task")
        };
        let count = task.history.as_ref().map(Vec::len);
        assert_eq!(count, expected, "{length:?}");
    }
}
