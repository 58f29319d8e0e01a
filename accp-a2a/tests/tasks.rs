//! Tasks of clients of A2A in a session (draft section 11.4).
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]
#![allow(elided_lifetimes_in_paths, reason = "as a program writes it")]

mod support;

use a2a::{StreamResponse, TaskState};
use accp_client::{Agent, Cx, Error};
use accp_runtime::profiles::{
    ChatDone, ChatReq, ErrorFail, InferStream, ScheduleDone, ScheduleReq,
};
use accp_runtime::session::Outbound;
use accp_runtime::{Message as Dynamic, Registry};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

use support::{House, frames, in_task, request, states, texts, words};

const TASK: &str = "@me>req:schedule{asgn:dev|task:impl_auth|schema:TA}";

/// Answers each task with its own name.
fn works(agent: &Agent) {
    agent.serve(|task: ScheduleReq, cx| async move {
        cx.reply(ScheduleDone::new(task.task).status("done")).await
    });
}

/// A frame that a test handles.
struct Asked {
    cx: Cx,
    /// A handler that ended would mark the frame.
    _open: oneshot::Sender<()>,
}

impl Asked {
    fn chain(&self) -> String {
        let registry = Registry::standard();
        let message = self.cx.inbound().message(&registry).unwrap();
        message.envelope.correlation_id.unwrap().into_owned()
    }

    /// Says something in the chain of the frame.
    async fn say(&self, outbound: Outbound<'static>) {
        let agent = self.cx.agent().unwrap();
        agent
            .send_with(outbound.in_chain(self.chain()))
            .await
            .unwrap();
    }

    async fn done(self) {
        self.cx.reply(ScheduleDone::new("impl_auth")).await.unwrap();
    }
}

/// Hands out the frames that come to an agent, so that a test answers when it wants.
fn by_hand(agent: &Agent) -> mpsc::UnboundedReceiver<Asked> {
    let (given, taken) = mpsc::unbounded_channel();
    agent.serve_others(move |cx| {
        let ((open, ends), given) = (oneshot::channel(), given.clone());
        async move {
            let _ = given.send(Asked { cx, _open: open });
            let _ = ends.await;
            Ok::<_, Error>(())
        }
    });
    taken
}

#[tokio::test]
async fn a2a_01_accepts_a_frame_as_a_part_and_ends_the_task_with_done() {
    let house = House::open("lunch").await;
    let dev = house.agent("dev");
    works(&dev);
    let task = house.send(frames([TASK])).await.unwrap();
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
    // The request stands in the session as one of the agent for whom the client speaks.
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
    let house = House::open("lunch").await;
    let cook = house.agent("cook");
    cook.serve(|said: ChatReq, cx| async move {
        assert_eq!(said.role, "user");
        cx.reply(ChatDone::new(said.content.to_uppercase())).await
    });
    let task = house.send(words("What is for lunch?")).await.unwrap();
    assert_eq!(task.status.state, TaskState::Completed);
    let answer = &task.artifacts.unwrap()[0];
    assert_eq!(answer.parts.len(), 2, "{answer:?}");
    assert!(texts(&answer.parts)[0].starts_with("@cook>done:chat{content:WHAT_IS_FOR_LUNCH?|"));
    assert_eq!(answer.parts[1].as_text(), Some("WHAT IS FOR LUNCH?"));
    let history = task.history.unwrap();
    assert_eq!(history[0].parts[1].as_text(), Some("What is for lunch?"));
}

/// A text that does not fit into a frame goes by reference, which a client cannot read. So the value stands
/// in the frame that it gets.
#[tokio::test]
async fn a_long_answer_comes_with_its_words() {
    let house = House::open("lunch").await;
    let cook = house.agent("cook");
    let long = "rye and spelt, ".repeat(5000);
    let answer = long.clone();
    cook.serve(move |_: ChatReq, cx: Cx| {
        let answer = Outbound::owned(ChatDone::new(answer.clone())).strict();
        async move { cx.reply_with(answer).await }
    });
    let task = house.send(words(&long)).await.unwrap();
    let answer = &task.artifacts.unwrap()[0];
    let text = texts(&answer.parts)[0];
    assert!(text.starts_with("@cook>done:chat{content:rye_and_spelt"));
    assert!(text.len() > 70_000, "{}", text.len());
    assert_eq!(answer.parts[1].as_text(), Some(&*long));
}

#[tokio::test]
async fn a_failure_ends_the_task_with_the_error_frame_as_the_message() {
    let house = House::open("lunch").await;
    let dev = house.agent("dev");
    dev.serve(|_: ScheduleReq, cx: Cx| async move {
        cx.reply(ErrorFail::new("E4001", "no such tool", false))
            .await
    });
    let task = house.send(frames([TASK])).await.unwrap();
    assert_eq!(task.status.state, TaskState::Failed);
    let why = task.status.message.unwrap();
    let text = texts(&why.parts)[0];
    assert!(
        text.starts_with("@dev>fail:error{code:E4001|msg:no_such_tool|"),
        "{text}"
    );
    assert_eq!(why.parts[1].as_text(), Some("E4001: no such tool"));
    assert_eq!(task.artifacts, None);
    assert_eq!(house.get(&task.id).await.unwrap().status.message, Some(why));
}

#[tokio::test]
async fn a_client_cancels_the_chain_of_its_task() {
    let house = House::open("lunch").await;
    let dev = house.agent("dev");
    let mut heard = by_hand(&dev);
    let task = house.begin(frames([TASK])).await.unwrap();
    assert_eq!(task.status.state, TaskState::Submitted);
    let asked = heard.recv().await.unwrap();
    let cancelled = house.cancel(&task.id).await.unwrap();
    assert_eq!(cancelled.status.state, TaskState::Canceled);
    asked.cx.inbound().cancel_token().cancelled().await;
    // It does not end twice.
    let error = house.cancel(&task.id).await.unwrap_err();
    assert_eq!(
        error.code,
        a2a::error_code::TASK_NOT_CANCELABLE,
        "{error:?}"
    );
}

#[tokio::test]
async fn a_chain_that_the_session_cancels_is_a_cancelled_task() {
    let house = House::open("lunch").await;
    let dev = house.agent("dev");
    let mut heard = by_hand(&dev);
    let mut updates = house
        .stream("SendStreamingMessage", &request(frames([TASK])))
        .await;
    let asked = heard.recv().await.unwrap();
    // Only who began the chain may cancel it, here or by A2A.
    let cancel = Dynamic::new("guest", "cancel", "task").unwrap();
    let cancel = Outbound::owned_message(cancel).in_chain(asked.chain());
    house.guest.send_with(cancel).await.unwrap();
    assert!(matches!(
        updates.next().await,
        Some(StreamResponse::Task(_))
    ));
    let states = states(&updates.all().await);
    assert_eq!(states, [TaskState::Canceled]);
}

#[tokio::test]
async fn a_frame_that_waits_asks_the_client_for_input() {
    let house = House::open("lunch").await;
    let dev = house.agent("dev");
    let mut heard = by_hand(&dev);
    let mut updates = house
        .stream("SendStreamingMessage", &request(frames([TASK])))
        .await;
    let asked = heard.recv().await.unwrap();
    let Some(StreamResponse::Task(task)) = updates.next().await else {
        panic!("no task")
    };
    let wait = Dynamic::new("dev", "wait", "task")
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
    let stands = house.get(&task.id).await.unwrap();
    assert_eq!(stands.status.state, TaskState::InputRequired);
    assert_eq!(stands.status.message, Some(why));
    // A message in the task goes into its chain, and the answer to the first request ends it.
    let more = in_task(words("the branch main"), &task.id);
    let going = house.begin(more).await.unwrap();
    assert_eq!(
        (going.id, going.status.state),
        (task.id, TaskState::Working)
    );
    let said = heard.recv().await.unwrap();
    assert!(said.cx.inbound().text().contains("content:the_branch_main"));
    asked.done().await;
    let states = states(&updates.all().await);
    assert_eq!(states, [TaskState::Working, TaskState::Completed]);
}

/// Sends pieces, and then the answer.
async fn streams(asked: Asked, pieces: &[&str]) {
    for (index, piece) in pieces.iter().enumerate() {
        let is_last = index + 1 == pieces.len();
        let piece = InferStream::new(index as i64, (*piece).to_owned()).is_final(is_last);
        asked.say(Outbound::owned(piece)).await;
    }
    asked.done().await;
}

#[tokio::test]
async fn a2a_01_accepts_pieces_of_a_stream_as_parts_of_an_artifact_one_to_one() {
    let house = House::open("lunch").await;
    let dev = house.agent("dev");
    let mut heard = by_hand(&dev);
    let updates = house
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
    let mut told = Vec::new();
    for update in &updates {
        let StreamResponse::ArtifactUpdate(update) = update else {
            continue;
        };
        assert_eq!(update.task_id, id);
        let id = update.artifact.artifact_id.clone();
        let [text] = texts(&update.artifact.parts)[..] else {
            panic!("{update:?}")
        };
        told.push((id, update.append, update.last_chunk, text.to_owned()));
    }
    let kinds: Vec<_> = told
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
    // The texts are those of the log, byte for byte and in its order.
    let mut log = house.hub.frames(1);
    let mut stands = Vec::new();
    while let Some(entry) = log.next_ready().await.unwrap() {
        if entry.text.starts_with("@dev>stream:") || entry.text.starts_with("@dev>done:") {
            stands.push(entry.text.to_string());
        }
    }
    let told: Vec<String> = told.into_iter().map(|(.., text)| text).collect();
    assert_eq!(told, stands);
    // Afterwards the same parts stand in the task.
    let task = house.get(&id).await.unwrap();
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
    let house = House::open("lunch").await;
    let dev = house.agent("dev");
    let mut heard = by_hand(&dev);
    let parts = [
        TASK,
        "@me>stream:infer{idx:0|d:first_|schema:ST}",
        "@me>stream:infer{idx:1|d:second|done:true|schema:ST}[mid:000000000001,seq:9,cid:mine]",
    ];
    let task = house.begin(frames(parts)).await.unwrap();
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
    let error = house.send(more).await.unwrap_err();
    assert_eq!(error.code, a2a::error_code::INVALID_PARAMS, "{error:?}");
    first.done().await;
}

#[tokio::test]
async fn a_client_that_comes_back_gets_the_task_and_then_what_follows() {
    let house = House::open("lunch").await;
    let dev = house.agent("dev");
    let mut heard = by_hand(&dev);
    let task = house.begin(frames([TASK])).await.unwrap();
    let asked = heard.recv().await.unwrap();
    let mut log = house.guest.frames(1);
    asked
        .say(Outbound::owned(InferStream::new(0, "early")))
        .await;
    while !log.next().await.unwrap().unwrap().text.contains("early") {}
    let mut updates = house
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
    let error = house.raw("SubscribeToTask", &json!({"id": task.id})).await;
    assert_eq!(
        error["error"]["code"],
        a2a::error_code::UNSUPPORTED_OPERATION,
        "{error}"
    );
}

#[tokio::test]
async fn a2a_01_accepts_that_the_log_has_the_tasks_after_a_restart() {
    let house = House::open("lunch").await;
    let dev = house.agent("dev");
    dev.serve(|_: ScheduleReq, cx: Cx| async move {
        let (_open, _) = oneshot::channel();
        streams(Asked { cx, _open }, &["one", "two"]).await;
        Ok::<_, Error>(())
    });
    let id = house.send(frames([TASK])).await.unwrap().id;
    let open = house.begin(words("and tomorrow?")).await.unwrap();
    let before = (
        house.get(&id).await.unwrap(),
        house.get(&open.id).await.unwrap(),
    );
    drop(dev);
    let house = house.reopen().await;
    let after = (
        house.get(&id).await.unwrap(),
        house.get(&open.id).await.unwrap(),
    );
    assert_eq!(before, after);
    assert_eq!(after.0.status.state, TaskState::Completed);
    // The task that was open goes on.
    let mut updates = house
        .stream("SubscribeToTask", &json!({"id": open.id}))
        .await;
    let first = updates.next().await.unwrap();
    let dev = house.agent("dev");
    dev.serve(|_: ChatReq, cx| async move { cx.reply(ChatDone::new("soup")).await });
    let mut all = vec![first];
    all.extend(updates.all().await);
    assert_eq!(states(&all).last(), Some(&TaskState::Completed));
}

#[tokio::test]
async fn a_message_that_comes_again_is_one_task() {
    let house = House::open("lunch").await;
    let dev = house.agent("dev");
    works(&dev);
    let message = frames([TASK]);
    let first = house.send(message.clone()).await.unwrap();
    let again = house.send(message.clone()).await.unwrap();
    assert_eq!(first, again);
    // Another text under the same id is another message.
    let mut other = message;
    other.parts = vec![support::frame(
        "@me>req:schedule{asgn:dev|task:b|schema:TA}",
    )];
    assert_ne!(house.send(other).await.unwrap().id, first.id);
}

#[tokio::test]
async fn tasks_are_listed_the_latest_first_in_pages() {
    let house = House::open("lunch").await;
    let dev = house.agent("dev");
    works(&dev);
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.insert(0, house.send(frames([TASK])).await.unwrap().id);
    }
    drop(dev);
    let dev = house.agent("dev");
    let _asked = by_hand(&dev);
    ids.insert(0, house.begin(words("one that is open")).await.unwrap().id);
    let (mut listed, mut token) = (Vec::new(), String::new());
    loop {
        let params = json!({"pageSize": 4, "pageToken": token, "contextId": "lunch"});
        let page: a2a::ListTasksResponse = house.call("ListTasks", &params).await.unwrap();
        assert_eq!(page.total_size, 6);
        assert!(
            page.tasks
                .iter()
                .all(|task| task.history.is_none() && task.artifacts.is_none())
        );
        listed.extend(page.tasks.into_iter().map(|task| task.id));
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(listed, ids);
    let params = json!({"status": "TASK_STATE_COMPLETED", "includeArtifacts": true});
    let done: a2a::ListTasksResponse = house.call("ListTasks", &params).await.unwrap();
    assert_eq!(done.total_size, 5);
    assert!(done.tasks.iter().all(|task| task.artifacts.is_some()));
    let params = json!({"contextId": "breakfast"});
    let none: a2a::ListTasksResponse = house.call("ListTasks", &params).await.unwrap();
    assert_eq!(none.total_size, 0);
}

#[tokio::test]
async fn a2a_01_refuses_what_is_no_frame_with_code_byte_and_cure() {
    let house = House::open("lunch").await;
    let dev = house.agent("dev");
    works(&dev);
    for (text, expected) in [
        (
            "@me:plan{}",
            "E1001 at byte 3: expected '>' after the agent id",
        ),
        (
            "@me>req:schedule{asgn:dev|schema:TA}",
            "E1004 at byte 35: expected the field `task`",
        ),
        ("@me>ask:plan{}", "E1002 at byte 4: expected an intent: req"),
        ("@me>req:plan{schema:ZZ}", "E1003 at byte 20: expected"),
        (
            "@me>done:plan{}",
            "E1002 at byte 4: expected a frame with the intent req",
        ),
    ] {
        let error = house.send(frames([text])).await.unwrap_err();
        assert_eq!(error.code, a2a::error_code::INVALID_PARAMS);
        let expected = format!("message.parts[0]: {expected}");
        assert!(
            error.message.starts_with(&expected),
            "{}: {error:?}",
            error.message
        );
        let data = error.data.unwrap();
        assert_eq!(data[0]["fieldViolations"][0]["field"], "message.parts[0]");
        assert!(
            data[1]["metadata"]["code"]
                .as_str()
                .unwrap()
                .starts_with("E100"),
            "{data}"
        );
        assert!(data[1]["metadata"]["byte"].is_string(), "{data}");
    }
    // Nothing of that is in the session.
    let tasks: a2a::ListTasksResponse = house.call("ListTasks", &json!({})).await.unwrap();
    assert_eq!(tasks.total_size, 0);
}

#[tokio::test]
async fn what_the_session_refuses_is_told() {
    let house = House::open("lunch").await;
    let text = "@me>req:chat{content:$cold.k9_9|schema:CH}";
    let error = house.send(frames([text])).await.unwrap_err();
    assert_eq!(error.code, a2a::error_code::INVALID_PARAMS, "{error:?}");
    assert!(error.message.contains("E2001"), "{error:?}");
}

#[tokio::test]
async fn calls_that_cannot_be_answered_get_the_error_of_a2a() {
    use a2a::error_code as code;
    let house = House::open("lunch").await;
    let dev = house.agent("dev");
    works(&dev);
    let done = house.send(frames([TASK])).await.unwrap();
    let message = |message: a2a::Message| serde_json::to_value(request(message)).unwrap();
    let part = |part: serde_json::Value| json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [part]}});
    let mut of_breakfast = words("hello");
    of_breakfast.context_id = Some("breakfast".into());
    let mut both = words("hello");
    both.parts.push(support::frame(TASK));
    let cases = [
        ("GetTask", json!({"id": "c123"}), code::TASK_NOT_FOUND),
        ("CancelTask", json!({"id": "c123"}), code::TASK_NOT_FOUND),
        (
            "SubscribeToTask",
            json!({"id": "c123"}),
            code::TASK_NOT_FOUND,
        ),
        ("GetTask", json!({}), code::INVALID_PARAMS),
        (
            "GetTask",
            json!({"id": done.id, "historyLength": -1}),
            code::INVALID_PARAMS,
        ),
        ("ListTasks", json!({"pageSize": 101}), code::INVALID_PARAMS),
        ("ListTasks", json!({"pageToken": "x"}), code::INVALID_PARAMS),
        (
            "SendMessage",
            message(in_task(words("more"), "c123")),
            code::TASK_NOT_FOUND,
        ),
        (
            "SendMessage",
            message(in_task(words("more"), &done.id)),
            code::UNSUPPORTED_OPERATION,
        ),
        ("SendMessage", message(of_breakfast), code::INVALID_PARAMS),
        ("SendMessage", message(both), code::INVALID_PARAMS),
        ("SendMessage", message(frames([])), code::INVALID_PARAMS),
        (
            "SendMessage",
            part(json!({"url": "http://x/y"})),
            code::CONTENT_TYPE_NOT_SUPPORTED,
        ),
        (
            "SendMessage",
            part(json!({"text": "{}", "mediaType": "application/json"})),
            code::CONTENT_TYPE_NOT_SUPPORTED,
        ),
        (
            "GetTaskPushNotificationConfig",
            json!({}),
            code::PUSH_NOTIFICATION_NOT_SUPPORTED,
        ),
        (
            "CreateTaskPushNotificationConfig",
            json!({}),
            code::PUSH_NOTIFICATION_NOT_SUPPORTED,
        ),
        (
            "GetExtendedAgentCard",
            json!({}),
            code::UNSUPPORTED_OPERATION,
        ),
        ("message/send", json!({}), code::METHOD_NOT_FOUND),
    ];
    for (method, params, code) in cases {
        let answer = house.raw(method, &params).await;
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
        assert_eq!(answer["id"], 7, "{answer}");
    }
    let mut asks = request(frames([TASK]));
    asks.configuration =
        serde_json::from_value(json!({"acceptedOutputModes": ["image/png"]})).unwrap();
    let answer = house.raw("SendMessage", &asks).await;
    assert_eq!(
        answer["error"]["code"],
        code::CONTENT_TYPE_NOT_SUPPORTED,
        "{answer}"
    );
    let push = json!({"taskPushNotificationConfig": {"url": "http://x"}});
    asks.configuration = serde_json::from_value(push).unwrap();
    let answer = house.raw("SendMessage", &asks).await;
    assert_eq!(
        answer["error"]["code"],
        code::PUSH_NOTIFICATION_NOT_SUPPORTED,
        "{answer}"
    );
}
