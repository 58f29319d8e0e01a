//! What an agent on another hub learns about its replies.

use accp_client::Error;
use accp_hub::Config;
use accp_runtime::profiles::{InferStream, ScheduleDone, ScheduleReq};
use accp_runtime::session::Outbound;
use accp_runtime::{AgentId, DynamicFrame, Value};
use tokio::sync::mpsc;

use crate::common::TestHub;

/// An agent stores its reply before the hub checks it, and the hub may refuse the reply.
#[tokio::test]
async fn a_reply_that_the_hub_refuses_is_an_error() {
    let hub = TestHub::start(Config::default()).await;
    let (dev, guest) = (hub.agent("dev").await, hub.agent("guest").await);
    let (sender, mut heard) = mpsc::unbounded_channel();
    dev.serve(move |task: ScheduleReq<'static>, cx| {
        let sender = sender.clone();
        async move {
            let reply = if task.task == "good" {
                Outbound::owned(ScheduleDone::new(task.task))
            } else {
                let mut wrong = DynamicFrame::new("dev", "done", "plan").expect("a frame");
                wrong
                    .payload
                    .insert("of", Value::Ref("ext.other.p1".into()));
                Outbound::owned_message(wrong)
            };
            let kept = cx.reply_kept(reply).await?;
            let _ = sender.send(kept.accepted().await);
            Ok::<(), Error>(())
        }
    });
    let ask = |task: &'static str| {
        let dev = AgentId::new("dev").expect("a name");
        guest.send(ScheduleReq::new(dev, task))
    };
    ask("good").await.expect("it is sent");
    let accepted = heard
        .recv()
        .await
        .expect("a reply")
        .expect("it is accepted");
    let at = accepted.position.expect("a place");
    let entry = dev
        .frames(at)
        .next_ready()
        .await
        .expect("a log")
        .expect("an entry");
    assert!(
        entry.text.starts_with("@dev>done:schedule{task:good"),
        "{}",
        entry.text
    );
    ask("bad").await.expect("it is sent");
    let refused = heard.recv().await.expect("a reply");
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    // Who asks learns what the hub expected of the reply.
    let dev = AgentId::new("dev").expect("a name");
    let failed = guest
        .ask::<ScheduleDone<'_>>(ScheduleReq::new(dev, "bad"))
        .await;
    let failed = failed.expect_err("a failure").to_string();
    let (_, code) = failed.split_once("was refused: ").expect(&failed);
    let (_, expected) = code.split_once(": ").expect(&failed);
    assert!(expected.starts_with("expected "), "{failed}");
    hub.stop().await;
}

/// The answer arrives when the agent that asked is about to drop its question, and has not taken the answer yet.
#[tokio::test]
async fn a_handler_gets_the_answer_that_its_asker_has_not_taken() {
    let hub = TestHub::start(Config::default()).await;
    let (dev, guest) = (hub.agent("dev").await, hub.agent("guest").await);
    dev.serve(|task: ScheduleReq<'static>, cx| async move {
        cx.reply(ScheduleDone::new(task.task)).await
    });
    let task = |task: &'static str| {
        let dev = AgentId::new("dev").expect("a name");
        ScheduleReq::new(dev, task)
    };
    let asked = guest
        .ask::<ScheduleDone<'static>>(task("bread"))
        .pieces::<InferStream<'static>>();
    let mut log = guest.frames(1);
    loop {
        let entry = log.next().await.expect("a log").expect("an entry");
        if entry.text.starts_with("@dev>done:schedule") {
            break;
        }
    }
    // An agent handles what has already arrived before it returns its registry, so the answer has been handled here.
    for _ in 0..3 {
        guest.registry().await.expect("a registry");
    }
    drop(asked);
    let (sender, mut heard) = mpsc::unbounded_channel();
    guest.serve(move |done: ScheduleDone<'static>, _| {
        let _ = sender.send(done.task.into_owned());
        async { Ok::<_, Error>(()) }
    });
    assert_eq!(heard.recv().await.as_deref(), Some("bread"));
    // An answer that the asking call has taken goes to no handler, neither now nor when the agent comes back.
    let soup = guest.ask::<ScheduleDone<'static>>(task("soup")).await;
    assert_eq!(soup.expect("an answer").task, "soup");
    guest.close().await.expect("it ends");
    assert!(heard.try_recv().is_err());
    hub.stop().await;
}
