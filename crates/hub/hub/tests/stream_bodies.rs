//! Answers in pieces for clients that wait for them (draft section 10.4).

use std::sync::Arc;
use std::time::Duration;

use accp_client::Error;
use accp_hub::Config;
use accp_runtime::profiles::{ChatDone, ChatReq, InferStream, ScheduleDone, ScheduleReq};
use futures_util::{StreamExt as _, stream};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::common::{TestHub, frame};

/// The pieces in the order in which they are sent: out of order, and one of them twice.
const SENT: [(i64, &str, bool); 5] = [
    (1, "b", false),
    (0, "a", false),
    (1, "b", false),
    (3, "d", true),
    (2, "c", false),
];

fn pieces() -> impl futures_util::Stream<Item = InferStream<'static>> {
    let pieces = SENT.map(|(index, data, is_last)| InferStream::new(index, data).is_final(is_last));
    stream::iter(pieces)
}

#[tokio::test]
async fn a_post_that_waits_gets_pieces_in_the_order_of_their_indexes() {
    let hub = TestHub::start(Config::default()).await;
    let dev = hub.agent("dev").await;
    dev.serve(|task: ScheduleReq, cx| async move {
        cx.stream(pieces()).await?;
        cx.reply(ScheduleDone::new(task.task)).await
    });
    let head = "@curl>req:schedule{asgn:dev|task:soup|schema:TA}";
    let post =
        hub.posting()
            .header("prefer", "wait=20")
            .body(frame(head, "abc109000001", 1, "sid:lunch"));
    let answer = post.send().await.expect("an answer");
    let body = answer.text().await.expect("text");
    let reply: Vec<&str> = body
        .lines()
        .map(|line| line.split('[').next().expect("a head"))
        .collect();
    assert_eq!(
        reply,
        [
            "@dev>stream:infer{idx:0|d:a|schema:ST}",
            "@dev>stream:infer{idx:1|d:b|schema:ST}",
            "@dev>stream:infer{idx:2|d:c|schema:ST}",
            "@dev>stream:infer{idx:3|d:d|done:true|schema:ST}",
            "@dev>done:schedule{task:soup|schema:TA}",
        ]
    );
    // The log has all pieces that were sent.
    let log = hub.get("/accp/v1/sessions/lunch/frames?after=0").await;
    let log = log.text().await.expect("text");
    assert_eq!(log.matches(">stream:").count(), SENT.len(), "{log}");
    hub.stop().await;
}

/// A client gets a piece when the piece comes, and not when the next one does.
#[tokio::test]
async fn a_piece_does_not_wait_for_the_next_one() {
    let hub = TestHub::start(Config::default()).await;
    let dev = hub.agent("dev").await;
    let seen = Arc::new(Notify::new());
    let goes_on = Arc::clone(&seen);
    dev.serve(move |task: ScheduleReq, cx| {
        let goes_on = Arc::clone(&goes_on);
        async move {
            let first = stream::iter([InferStream::new(0, "a")]);
            let last = async move {
                goes_on.notified().await;
                InferStream::new(1, "b").is_final(true)
            };
            cx.stream(first.chain(stream::once(last))).await?;
            cx.reply(ScheduleDone::new(task.task)).await
        }
    });
    let head = "@curl>req:schedule{asgn:dev|task:soup|schema:TA}";
    let post =
        hub.posting()
            .header("prefer", "wait=50")
            .body(frame(head, "abc109000001", 1, "sid:lunch"));
    let mut answer = post.send().await.expect("an answer");
    let first = timeout(Duration::from_secs(30), answer.chunk()).await;
    let first = first.expect("a piece before the next").expect("a chunk");
    let first = first.expect("a piece");
    assert!(
        first.starts_with(b"@dev>stream:infer{idx:0|d:a|"),
        "{first:?}"
    );
    seen.notify_one();
    let rest = answer.text().await.expect("text");
    let others: Vec<_> = rest
        .lines()
        .filter_map(|line| line.split('[').next())
        .collect();
    let last = "@dev>stream:infer{idx:1|d:b|done:true|schema:ST}";
    assert_eq!(others, [last, "@dev>done:schedule{task:soup|schema:TA}"]);
    hub.stop().await;
}

#[tokio::test]
async fn who_asks_over_a_socket_reads_pieces_in_order() {
    let hub = TestHub::start(Config::default()).await;
    let dev = hub.agent("dev").await;
    dev.serve(|_: ChatReq, cx| async move {
        cx.stream(pieces()).await?;
        cx.reply(ChatDone::new("abcd")).await
    });
    let guest = hub.agent("guest").await;
    let mut answer = guest
        .ask::<ChatDone>(ChatReq::new("what is there?"))
        .pieces::<InferStream>();
    let mut words = Vec::new();
    while let Some(piece) = answer.next().await {
        words.push(piece.expect("a piece").data.into_owned());
    }
    assert_eq!(words, ["a", "b", "c", "d"]);
    let done: Result<ChatDone, Error> = answer.answer().await;
    assert_eq!(done.expect("an answer").content, "abcd");
    hub.stop().await;
}
