//! An agent of A2A in a session, through this crate's own server.

use accp_a2a::{Remote, RemoteError};
use accp_client::{Agent, Cx, Error, Hub};
use accp_runtime::profiles::{
    ChatDone, ChatReq, ErrorFail, InferStream, ScheduleDone, ScheduleReq,
};
use accp_runtime::session::{CancelToken, Outbound};
use accp_runtime::{AgentId, DynamicFrame, ErrorCode, Registry};
use accp_store::MemoryStore;
use tokio::sync::mpsc;

use crate::support::TestServer;
use crate::support::agents::by_hand;

/// A session whose agent `cook` stands for an agent of another session, on another server.
struct Here {
    hub: Hub,
    planner: Agent,
    _cook: Remote,
    there: TestServer,
}

impl Here {
    async fn open() -> Self {
        let there = TestServer::open("kitchen").await;
        let hub = Hub::open("lunch", MemoryStore::new()).await.unwrap();
        let planner = hub.agent("planner").unwrap();
        let cook = hub.agent("cook").unwrap();
        let cook = Remote::connect(cook, &there.url).await.unwrap();
        assert_eq!(cook.name(), "guest in kitchen");
        Self {
            hub,
            planner,
            _cook: cook,
            there,
        }
    }
}

fn task(name: &str) -> ScheduleReq<'static> {
    ScheduleReq::new(AgentId::new("cook").unwrap(), name.to_owned())
}

#[tokio::test]
async fn a_request_is_answered_from_elsewhere() {
    let here = Here::open().await;
    let chef = here.there.agent("chef");
    chef.serve(|task: ScheduleReq, cx| async move {
        cx.reply(ScheduleDone::new(task.task).status("done")).await
    });
    let done: ScheduleDone = here.planner.ask(task("soup")).await.unwrap();
    assert_eq!(
        (&*done.task, done.status.as_deref()),
        ("soup", Some("done"))
    );
    // The first text fits into a frame, and the second does not.
    chef.serve(|chat: ChatReq, cx: Cx| async move {
        let answer = Outbound::owned(ChatDone::new(chat.content.to_uppercase()));
        cx.reply_with(answer.strict()).await
    });
    for words in ["soup, please", &"soup & ".repeat(8000)] {
        let chat = Outbound::owned(ChatReq::new(words.to_owned()));
        let done: ChatDone = here.planner.ask_with(chat.strict()).await.unwrap();
        assert_eq!(done.content, words.to_uppercase());
    }
}

#[tokio::test]
async fn a_failure_elsewhere_is_a_failure_here() {
    let here = Here::open().await;
    let chef = here.there.agent("chef");
    chef.serve(|_: ScheduleReq, cx: Cx| async move {
        cx.reply(ErrorFail::new("E4001", "no pumpkin", false)).await
    });
    let failed = here.planner.ask::<ScheduleDone>(task("soup")).await;
    let failed = failed.unwrap_err();
    assert_eq!(failed.code(), Some(ErrorCode::TOOL_NOT_FOUND), "{failed}");
    assert!(failed.to_string().ends_with("no pumpkin"), "{failed}");
}

#[tokio::test]
async fn pieces_of_a_stream_come_through_as_they_were() {
    let here = Here::open().await;
    let chef = here.there.agent("chef");
    chef.serve(|task: ScheduleReq, cx: Cx| async move {
        let message = cx.inbound().message(&Registry::standard())?.into_owned();
        let chain = message.envelope.correlation_id.unwrap_or_default();
        for (index, data) in ["wash", "cut", "cook"].into_iter().enumerate() {
            let piece = InferStream::new(index as i64, data).is_final(index == 2);
            let piece = Outbound::owned(piece).in_chain(chain.clone());
            cx.agent()?.send_with(piece).await?;
        }
        cx.reply(ScheduleDone::new(task.task)).await?;
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    });
    here.planner
        .ask::<ScheduleDone>(task("soup"))
        .await
        .unwrap();
    let mut log = here.planner.frames(1);
    let (mut pieces, mut chains) = (Vec::new(), Vec::new());
    while let Some(entry) = log.next_ready().await.unwrap() {
        let read = DynamicFrame::decode(&entry.text, &Registry::standard());
        let Ok(frame) = read else { continue };
        if frame.agent.as_str() == "cook" {
            pieces.push(entry.text.split('[').next().unwrap().to_owned());
            chains.push(frame.envelope.correlation_id.clone().unwrap().into_owned());
        } else if frame.agent.as_str() == "planner" {
            chains.push(entry.mid.to_string());
        }
    }
    assert_eq!(
        pieces,
        [
            "@cook>stream:infer{idx:0|d:wash|schema:ST}",
            "@cook>stream:infer{idx:1|d:cut|schema:ST}",
            "@cook>stream:infer{idx:2|d:cook|done:true|schema:ST}",
            "@cook>done:schedule{task:soup|schema:TA}",
        ]
    );
    chains.dedup();
    assert_eq!(chains.len(), 1, "{chains:?}");
}

/// Returns the cancel tokens of the tasks that arrive, and answers none of the tasks.
fn hears(chef: &Agent) -> mpsc::UnboundedReceiver<CancelToken> {
    let (sender, tokens) = mpsc::unbounded_channel();
    chef.serve(move |_: ScheduleReq, cx: Cx| {
        let token = cx.inbound().cancel_token().clone();
        let _ = sender.send(token.clone());
        async move {
            token.cancelled().await;
            Ok::<_, Error>(())
        }
    });
    tokens
}

#[tokio::test]
async fn a_cancelled_chain_cancels_the_task_elsewhere() {
    let here = Here::open().await;
    let chef = here.there.agent("chef");
    let mut tokens = hears(&chef);
    let planner = here.planner.clone();
    let asked = tokio::spawn(async move {
        let asked = planner.ask::<ScheduleDone>(task("soup"));
        asked.cancelling().await.map(drop)
    });
    let token = tokens.recv().await.unwrap();
    // Aborting drops the question, and that cancels its chain.
    asked.abort();
    token.cancelled().await;
}

#[tokio::test]
async fn what_waits_elsewhere_waits_here() {
    let here = Here::open().await;
    let chef = here.there.agent("chef");
    chef.serve(|task: ScheduleReq, cx: Cx| async move {
        let message = cx.inbound().message(&Registry::standard())?.into_owned();
        let chain = message.envelope.correlation_id.unwrap_or_default();
        let wait = DynamicFrame::new("chef", "wait", "task")?.with("for", "the delivery");
        let wait = Outbound::owned_message(wait).in_chain(chain);
        cx.agent()?.send_with(wait).await?;
        cx.reply(ScheduleDone::new(task.task)).await?;
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    });
    here.planner
        .ask::<ScheduleDone>(task("soup"))
        .await
        .unwrap();
    let mut log = here.planner.frames(1);
    let mut waits = 0;
    while let Some(entry) = log.next_ready().await.unwrap() {
        waits += usize::from(entry.text.starts_with("@cook>wait:task{"));
    }
    assert_eq!(waits, 1);
}

#[tokio::test]
async fn a_request_for_another_agent_is_left_to_it() {
    let here = Here::open().await;
    let dev = here.hub.agent("dev").unwrap();
    dev.serve(|task: ScheduleReq, cx| async move {
        cx.reply(ScheduleDone::new(task.task).status("by dev"))
            .await
    });
    let task = ScheduleReq::new(AgentId::new("dev").unwrap(), "impl_auth");
    let done: ScheduleDone = here.planner.ask(task).await.unwrap();
    assert_eq!(done.status.as_deref(), Some("by dev"));
    let tasks = here.there.raw("ListTasks", &serde_json::json!({})).await;
    assert_eq!(tasks["result"]["totalSize"], 0, "{tasks}");
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_told() {
    let here = Here::open().await;
    let wrong = here.there.url.replace("guest", "nobody");
    let refused = Remote::connect(here.planner.clone(), wrong)
        .await
        .unwrap_err();
    assert!(matches!(refused, RemoteError::Unreachable(..)), "{refused}");
    assert!(refused.to_string().contains("403"), "{refused}");
}

#[tokio::test]
async fn a_task_elsewhere_is_followed_when_its_session_was_opened_anew() {
    let mut here = Here::open().await;
    let chef = here.there.agent("chef");
    let mut heard = by_hand(&chef);
    let asked = here.planner.ask::<ScheduleDone>(task("soup"));
    let asked = tokio::spawn(async move { asked.await });
    let piece = Outbound::owned(InferStream::new(0, "peeled"));
    let held = heard.recv().await.unwrap();
    held.say(piece).await;
    // Once the piece arrives here, the task is being followed.
    let mut log = here.hub.frames(1);
    while !log.next().await.unwrap().unwrap().text.contains("peeled") {}
    here.there.open_anew().await;
    let chef = here.there.agent("chef");
    chef.serve(|task: ScheduleReq, cx| async move {
        cx.reply(ScheduleDone::new(task.task).status("done")).await
    });
    let done = asked.await.unwrap().unwrap();
    assert_eq!(done.task, "soup");
}
