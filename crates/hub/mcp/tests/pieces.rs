//! Streams as a model reads them (draft section 10.4).

use accp_client::{Agent, Hub};
use accp_runtime::profiles::{ChatDone, InferStream};
use accp_runtime::session::Outbound;
use serde_json::{Value as Json, json};

use crate::support::{Client, call, connect, hub, words, works};

async fn says(agent: &Agent, chain: &str, index: i64, data: &'static str, is_last: bool) {
    let piece = InferStream::new(index, data).is_final(is_last);
    let piece = Outbound::owned(piece).in_chain(chain.to_owned());
    agent.send_with(piece).await.unwrap();
}

/// Returns the frames that a model reads next.
async fn reads(client: &Client, timeout: u64) -> Vec<String> {
    let received = works(
        client,
        "accp_receive",
        json!({ "timeout": timeout, "limit": 50 }),
    )
    .await;
    let frames = received["frames"].as_array().unwrap().iter();
    let data = |frame: &Json| frame["params"]["data"].as_str().map(str::to_owned);
    frames.filter_map(data).collect()
}

async fn two(hub: &Hub) -> (Agent, Client) {
    let dev = hub.agent("dev").unwrap();
    (dev, connect(hub.agent("qa").unwrap()).await)
}

#[tokio::test]
async fn pieces_are_read_in_the_order_of_their_indexes() {
    let hub = hub().await;
    let (dev, qa) = two(&hub).await;
    says(&dev, "s1", 1, "world", false).await;
    assert_eq!(reads(&qa, 1).await, [""; 0]);
    let result = call(&qa, "accp_receive", json!({})).await;
    insta::assert_snapshot!(words(&result), @r"
    No new frames.
    Pieces of streams that wait for one before them: 1.
    ");
    says(&dev, "s1", 0, "Hello", false).await;
    // The reader gets a repeated piece once.
    says(&dev, "s1", 1, "world", false).await;
    says(&dev, "s1", 2, "!", true).await;
    assert_eq!(reads(&qa, 60).await, ["Hello", "world", "!"]);
    says(&dev, "s1", 0, "Hello", false).await;
    assert_eq!(reads(&qa, 1).await, [""; 0]);
}

/// Pieces after a gap are delivered when their chain ends, so that no piece stays unread.
#[tokio::test]
async fn a_stream_with_a_gap_is_read_at_its_end() {
    let hub = hub().await;
    let (dev, qa) = two(&hub).await;
    says(&dev, "s1", 2, "c", false).await;
    says(&dev, "s1", 1, "b", false).await;
    let done = Outbound::owned(ChatDone::new("abc")).in_chain("s1");
    dev.send_with(done).await.unwrap();
    assert_eq!(reads(&qa, 60).await, ["b", "c"]);
    // A stream that never gets its missing piece does not hold up other frames.
    for index in 1..100 {
        says(&dev, "s2", index, "x", false).await;
    }
    let mut read = 0;
    while read < 60 {
        let more = reads(&qa, 60).await.len();
        assert!(more > 0);
        read += more;
    }
}

/// An agent that is opened again goes on with a stream where the agent stopped before.
#[tokio::test]
async fn a_stream_goes_on_with_an_agent_that_is_opened_again() {
    let hub = hub().await;
    let (dev, qa) = two(&hub).await;
    says(&dev, "s1", 0, "a", false).await;
    says(&dev, "s1", 1, "b", false).await;
    assert_eq!(reads(&qa, 60).await, ["a", "b"]);
    // The next call marks the pieces as read.
    assert_eq!(reads(&qa, 0).await, [""; 0]);
    drop(qa);
    let qa = connect(hub.agent("qa").unwrap()).await;
    says(&dev, "s1", 3, "d", true).await;
    says(&dev, "s1", 2, "c", false).await;
    assert_eq!(reads(&qa, 60).await, ["c", "d"]);
}
