//! Tasks of clients of A2A in a session (draft section 11.4).

use crate::support;

use a2a::{StreamResponse, TaskState};
use accp_client::Cx;
use accp_runtime::DynamicFrame;
use accp_runtime::profiles::{ChatDone, ChatReq, ErrorFail, ScheduleReq};
use accp_runtime::session::Outbound;

use crate::support::agents::TASK;
use crate::support::{TestServer, frames, in_task, request, states, texts, words};

#[tokio::test]
async fn a2a_01_accepts_a_frame_as_a_part_and_ends_the_task_with_done() {
    let (server, _dev) = TestServer::working().await;
    let task = server.send(frames([TASK])).await.unwrap();
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(task.context_id, "lunch");
    let artifacts = task.artifacts.unwrap();
    let [answer] = &artifacts[..] else {
        panic!("{artifacts:?}")
    };
    let [text] = texts(&answer.parts)[..] else {
        panic!("{answer:?}")
    };
    assert!(
        text.starts_with("@dev>done:schedule{task:impl_auth|stat:done|schema:TA}["),
        "{text}"
    );
    assert!(text.contains(&format!("cid:{}", task.id)), "{text}");
    // In the session, the request is a frame of the agent for which the client acts.
    let history = task.history.unwrap();
    let [asked] = texts(&history[0].parts)[..] else {
        panic!("{history:?}")
    };
    assert!(
        asked.starts_with("@guest>req:schedule{asgn:dev|task:impl_auth|schema:TA}["),
        "{asked}"
    );
}

#[tokio::test]
async fn words_become_a_request_of_a_conversation_and_the_answer_comes_with_its_words() {
    let server = TestServer::open("lunch").await;
    let cook = server.agent("cook");
    cook.serve(|chat: ChatReq, cx| async move {
        assert_eq!(chat.role, "user");
        cx.reply(ChatDone::new(chat.content.to_uppercase())).await
    });
    let task = server.send(words("What is for lunch?")).await.unwrap();
    assert_eq!(task.status.state, TaskState::Completed);
    let answer = &task.artifacts.unwrap()[0];
    assert_eq!(answer.parts.len(), 2, "{answer:?}");
    assert!(texts(&answer.parts)[0].starts_with("@cook>done:chat{content:WHAT_IS_FOR_LUNCH?|"));
    assert_eq!(answer.parts[1].as_text(), Some("WHAT IS FOR LUNCH?"));
    let history = task.history.unwrap();
    assert_eq!(history[0].parts[1].as_text(), Some("What is for lunch?"));
}

/// A text that does not fit into a frame goes by reference, which a client cannot read. So the client gets
/// the frame with the value in it.
#[tokio::test]
async fn a_long_answer_comes_with_its_words() {
    let server = TestServer::open("lunch").await;
    let cook = server.agent("cook");
    let long = "rye and spelt, ".repeat(5000);
    let answer = long.clone();
    cook.serve(move |_: ChatReq, cx: Cx| {
        let answer = Outbound::owned(ChatDone::new(answer.clone())).strict();
        async move { cx.reply_with(answer).await }
    });
    let task = server.send(words(&long)).await.unwrap();
    let answer = &task.artifacts.unwrap()[0];
    let text = texts(&answer.parts)[0];
    assert!(text.starts_with("@cook>done:chat{content:rye_and_spelt"));
    assert!(text.len() > 70_000, "{}", text.len());
    assert_eq!(answer.parts[1].as_text(), Some(&*long));
}

#[tokio::test]
async fn a_failure_ends_the_task_with_the_error_frame_as_the_message() {
    let server = TestServer::open("lunch").await;
    let dev = server.agent("dev");
    dev.serve(|_: ScheduleReq, cx: Cx| async move {
        cx.reply(ErrorFail::new("E4001", "no such tool", false))
            .await
    });
    let task = server.send(frames([TASK])).await.unwrap();
    assert_eq!(task.status.state, TaskState::Failed);
    let why = task.status.message.unwrap();
    let text = texts(&why.parts)[0];
    assert!(
        text.starts_with("@dev>fail:error{code:E4001|msg:no_such_tool|"),
        "{text}"
    );
    assert_eq!(why.parts[1].as_text(), Some("E4001: no such tool"));
    assert_eq!(task.artifacts, None);
    assert_eq!(
        server.get(&task.id).await.unwrap().status.message,
        Some(why)
    );
}

/// No frame of the log says that a `ttl` is over, and nobody may ever answer.
#[tokio::test]
async fn a_task_whose_ttl_is_over_has_failed_unless_somebody_answers_late() {
    let (server, _dev, mut heard) = TestServer::by_hand().await;
    let short = frames([&*format!("{TASK}[ttl:1]")]);
    let mut updates = server
        .stream("SendStreamingMessage", &request(short.clone()))
        .await;
    let Some(StreamResponse::Task(task)) = updates.next().await else {
        panic!("no task")
    };
    assert_eq!(task.status.state, TaskState::Submitted);
    let asked = heard.recv().await.unwrap();
    let all = updates.all().await;
    let [StreamResponse::StatusUpdate(update)] = &all[..] else {
        panic!("{all:?}")
    };
    let failed = server.get(&task.id).await.unwrap();
    assert_eq!(update.status, failed.status);
    assert_eq!(failed.status.state, TaskState::Failed);
    let why = failed.status.message.clone().unwrap();
    let text = texts(&why.parts)[0];
    assert!(text.starts_with("@accp>fail:error{code:E3001|"), "{text}");
    let words = why.parts[1].as_text().unwrap();
    assert!(words.starts_with("E3001: nobody has answered"), "{words}");
    // A message that comes again, a list and a cancellation show the same.
    assert_eq!(server.send(short).await.unwrap(), failed);
    let listed = serde_json::json!({ "status": "TASK_STATE_FAILED" });
    let listed: a2a::ListTasksResponse = server.call("ListTasks", &listed).await.unwrap();
    assert_eq!(listed.tasks.len(), 1);
    let error = server.cancel(&task.id).await.unwrap_err();
    assert_eq!(
        error.code,
        a2a::error_code::TASK_NOT_CANCELABLE,
        "{error:?}"
    );
    // This agent has begun in time.
    asked.done().await;
    let ended = server.get(&task.id).await.unwrap();
    assert_eq!(ended.status.state, TaskState::Completed);
}

#[tokio::test]
async fn a_client_cancels_the_chain_of_its_task() {
    let (server, _dev, mut heard) = TestServer::by_hand().await;
    let task = server.begin(frames([TASK])).await.unwrap();
    assert_eq!(task.status.state, TaskState::Submitted);
    let asked = heard.recv().await.unwrap();
    let cancelled = server.cancel(&task.id).await.unwrap();
    assert_eq!(cancelled.status.state, TaskState::Canceled);
    asked.cx.inbound().cancel_token().cancelled().await;
    // A second cancellation is refused.
    let error = server.cancel(&task.id).await.unwrap_err();
    assert_eq!(
        error.code,
        a2a::error_code::TASK_NOT_CANCELABLE,
        "{error:?}"
    );
}

#[tokio::test]
async fn a_chain_that_the_session_cancels_is_a_cancelled_task() {
    let (server, _dev, mut heard) = TestServer::by_hand().await;
    let mut updates = server
        .stream("SendStreamingMessage", &request(frames([TASK])))
        .await;
    let asked = heard.recv().await.unwrap();
    // Only the agent that began the chain may cancel it, by a frame (as here) or by A2A.
    let cancel = DynamicFrame::new("guest", "cancel", "task").unwrap();
    let cancel = Outbound::owned_message(cancel).in_chain(asked.chain());
    server.guest.send_with(cancel).await.unwrap();
    assert!(matches!(
        updates.next().await,
        Some(StreamResponse::Task(_))
    ));
    let states = states(&updates.all().await);
    assert_eq!(states, [TaskState::Canceled]);
}

#[tokio::test]
async fn a_frame_that_waits_asks_the_client_for_input() {
    let (server, _dev, mut heard) = TestServer::by_hand().await;
    let mut updates = server
        .stream("SendStreamingMessage", &request(frames([TASK])))
        .await;
    let asked = heard.recv().await.unwrap();
    let Some(StreamResponse::Task(task)) = updates.next().await else {
        panic!("no task")
    };
    let wait = DynamicFrame::new("dev", "wait", "task")
        .unwrap()
        .with("reason", "which branch?");
    asked.say(Outbound::owned_message(wait)).await;
    let Some(StreamResponse::StatusUpdate(update)) = updates.next().await else {
        panic!("no update")
    };
    assert_eq!(update.status.state, TaskState::InputRequired);
    let why = update.status.message.unwrap();
    assert!(
        texts(&why.parts)[0].starts_with("@dev>wait:task{reason:"),
        "{why:?}"
    );
    let stands = server.get(&task.id).await.unwrap();
    assert_eq!(stands.status.state, TaskState::InputRequired);
    assert_eq!(stands.status.message, Some(why));
    // A message to the task goes into the task's chain. The answer to the first request ends the
    // task.
    let more = in_task(words("the branch main"), &task.id);
    let going = server.begin(more).await.unwrap();
    assert_eq!(
        (going.id, going.status.state),
        (task.id, TaskState::Working)
    );
    let held = heard.recv().await.unwrap();
    assert!(held.cx.inbound().text().contains("content:the_branch_main"));
    asked.done().await;
    let states = states(&updates.all().await);
    assert_eq!(states, [TaskState::Working, TaskState::Completed]);
}

#[tokio::test]
async fn a_message_that_comes_again_is_one_task() {
    let (server, _dev) = TestServer::working().await;
    let message = frames([TASK]);
    let first = server.send(message.clone()).await.unwrap();
    let again = server.send(message.clone()).await.unwrap();
    assert_eq!(first, again);
    // Another text under the same id counts as another message.
    let mut other = message;
    other.parts = vec![support::frame(
        "@me>req:schedule{asgn:dev|task:b|schema:TA}",
    )];
    assert_ne!(server.send(other).await.unwrap().id, first.id);
}

/// A client that has lost an answer sends its message again. The agents of the session hear it once.
#[tokio::test]
async fn a_message_that_comes_again_into_its_task_is_sent_once() {
    let (server, _dev, mut heard) = TestServer::by_hand().await;
    let began = frames([TASK]);
    let task = server.begin(began.clone()).await.unwrap();
    let asked = heard.recv().await.unwrap();
    let more = in_task(words("the branch main"), &task.id);
    server.begin(more.clone()).await.unwrap();
    let again = server.begin(more.clone()).await.unwrap();
    assert_eq!(again.id, task.id);
    let again = server.begin(in_task(began, &task.id)).await.unwrap();
    assert_eq!(again.id, task.id);
    // Another message needs another id.
    let mut other = in_task(words("the branch next"), &task.id);
    other.message_id.clone_from(&more.message_id);
    let error = server.begin(other.clone()).await.unwrap_err();
    assert_eq!(error.code, a2a::error_code::INVALID_PARAMS, "{error:?}");
    assert!(error.message.contains("message.messageId"), "{error:?}");
    other.message_id += "2";
    server.begin(other).await.unwrap();
    // The same words under another id are another message.
    let mut same = more.clone();
    same.message_id += "3";
    server.begin(same).await.unwrap();
    asked.done().await;
    // The message came before the end of the task, so it is not refused after the end.
    let ended = server.send(more).await.unwrap();
    assert_eq!(ended.status.state, TaskState::Completed);
    let history = ended.history.unwrap();
    let sent = history.iter().flat_map(|message| texts(&message.parts));
    let sent: Vec<&str> = sent.collect();
    let count = |part: &str| sent.iter().filter(|text| text.contains(part)).count();
    assert_eq!(count("req:schedule"), 1, "{sent:?}");
    assert_eq!(count("the_branch_main"), 2, "{sent:?}");
    assert_eq!(count("the_branch_next"), 1, "{sent:?}");
}
