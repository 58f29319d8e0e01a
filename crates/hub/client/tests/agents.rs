//! Agents of one process, as a program uses them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use accp_client::{Agent, Cx, Error, Hub};
use accp_runtime::profiles::{
    ChatDone, ChatReq, ErrorFail, InferStream, ScheduleDone, ScheduleReq,
};
use accp_runtime::session::{Options, Outbound};
use accp_runtime::{AgentId, DynamicFrame, ErrorCode, Registry};
use accp_store::{MemoryStore, SqliteStore};
use tokio::sync::mpsc;

fn task(number: usize) -> ScheduleReq<'static> {
    let dev = AgentId::new("dev").expect("a name");
    ScheduleReq::new(dev, format!("task_{number}"))
}

/// Answers each request with the name of its task.
async fn work(task: ScheduleReq<'static>, cx: Cx) -> Result<(), Error> {
    cx.reply(ScheduleDone::new(task.task).status("done")).await
}

async fn pair() -> (Agent, Agent) {
    let hub = Hub::open("lunch", MemoryStore::new()).await.expect("a hub");
    let agent = |name| hub.agent(name).expect("an agent");
    (agent("planner"), agent("dev"))
}

#[tokio::test]
async fn a_question_gets_the_answer_to_it() {
    let (planner, dev) = pair().await;
    dev.serve(work);
    let asked = (0..50).map(|number| {
        let planner = planner.clone();
        tokio::spawn(async move {
            let done: ScheduleDone = planner.ask(task(number)).await?;
            Ok::<_, Error>((number, done.task.into_owned()))
        })
    });
    for asked in asked.collect::<Vec<_>>() {
        let (number, answer) = asked.await.expect("it ends").expect("an answer");
        assert_eq!(answer, format!("task_{number}"));
    }
}

#[tokio::test]
async fn handlers_begin_in_the_order_of_the_session_and_frames_wait_for_one() {
    let (planner, dev) = pair().await;
    for number in 0..200 {
        planner.send(task(number)).await.expect("it is sent");
    }
    let (tx, mut rx) = mpsc::unbounded_channel();
    dev.serve(move |task: ScheduleReq, _| {
        // The closure itself runs before its future starts, so it sees the frames in the order of
        // the session.
        tx.send(task.task.into_owned()).expect("the test listens");
        async { Ok::<_, Error>(()) }
    });
    for number in 0..200 {
        assert_eq!(rx.recv().await, Some(format!("task_{number}")));
    }
}

#[tokio::test]
async fn a_long_value_is_here_when_its_handler_begins() {
    let (planner, dev) = pair().await;
    dev.serve(|question: ChatReq, cx| async move {
        cx.reply(ChatDone::new(question.content.to_uppercase()))
            .await
    });
    let long = "rye and spelt, ".repeat(400);
    let done: ChatDone = planner
        .ask(ChatReq::new(long.clone()))
        .await
        .expect("an answer");
    assert_eq!(done.content, long.to_uppercase());
}

#[tokio::test]
async fn a_handler_that_fails_or_panics_answers_with_its_reason() {
    let (planner, dev) = pair().await;
    dev.serve(|task: ScheduleReq, cx: Cx| async move {
        match &*task.task {
            "task_0" => Err("no flour".into()),
            "task_1" => panic!("as the test wants"),
            "task_2" => {
                let (code, text) = ("E4001", "no such tool");
                cx.reply(ErrorFail::new(code, text, false)).await?;
                Ok(())
            }
            _ => cx
                .reply(ScheduleDone::new(task.task))
                .await
                .map_err(Box::<dyn std::error::Error + Send + Sync>::from),
        }
    });
    let expected = [
        (ErrorCode::INTERNAL_ERROR, "no flour"),
        (
            ErrorCode::INTERNAL_ERROR,
            "the handler of the frame panicked",
        ),
        (ErrorCode::TOOL_NOT_FOUND, "no such tool"),
    ];
    for (number, (code, text)) in expected.into_iter().enumerate() {
        let failed = planner.ask::<ScheduleDone>(task(number)).await.unwrap_err();
        assert_eq!(failed.code(), Some(code), "{failed}");
        assert!(failed.to_string().ends_with(text), "{failed}");
    }
    // The agent still answers.
    planner
        .ask::<ScheduleDone>(task(3))
        .await
        .expect("an answer");
}

/// The body of the closure, before its future, runs on the task of the agent. A panic there must not end the
/// agent.
/// The rules of a schema say which field has the code of a failure.
#[tokio::test]
async fn a_failure_under_a_schema_of_the_program_has_its_code() {
    let registry = r#"{"schemas":{"kitchen_error":{"code":"KE","fields":["reason"],"types":{"reason":"string"},
        "rules":{"error_code":"reason"},"frames":[{"intent":"fail","operation":"schedule"}]}}}"#;
    let registry = Registry::from_json(registry).expect("a registry");
    let name = AgentId::new("hub").expect("a name");
    let options = Options::new("lunch", name, Arc::new(registry.with_profiles()));
    let hub = Hub::open_with(options, MemoryStore::new()).await;
    let hub = hub.expect("a hub");
    let agent = |name| hub.agent(name).expect("an agent");
    let (planner, dev) = (agent("planner"), agent("dev"));
    dev.serve(|_: ScheduleReq, cx: Cx| async move {
        let failure = DynamicFrame::new("dev", "fail", "schedule").expect("a frame");
        let mut failure = failure.with("reason", "E4001");
        failure.schema = Some("KE".into());
        cx.reply_with(Outbound::owned_message(failure)).await
    });
    let failed = planner.ask::<ScheduleDone>(task(1)).await.unwrap_err();
    assert_eq!(failed.code(), Some(ErrorCode::TOOL_NOT_FOUND), "{failed}");
}

#[tokio::test]
async fn a_handler_that_panics_before_it_begins_does_no_more_harm() {
    let (planner, dev) = pair().await;
    dev.serve(|task: ScheduleReq, cx: Cx| {
        assert_ne!(task.task, "task_0", "as the test wants");
        work(task, cx)
    });
    let failed = planner.ask::<ScheduleDone>(task(0)).await.unwrap_err();
    assert_eq!(failed.code(), Some(ErrorCode::INTERNAL_ERROR), "{failed}");
    planner
        .ask::<ScheduleDone>(task(1))
        .await
        .expect("an answer");
}

/// All agents get all frames. Frames without a handler must not hold back answers.
#[tokio::test]
async fn frames_that_nobody_takes_hold_up_no_answer() {
    let hub = Hub::open("lunch", MemoryStore::new()).await.expect("a hub");
    let agent = |name| hub.agent(name).expect("an agent");
    let (planner, dev, other) = (agent("planner"), agent("dev"), agent("other"));
    dev.serve(work);
    // This frame brings the other agent into the session before the questions begin.
    other.send(task(9999)).await.expect("it is sent");
    let asked = (0..1100).map(|number| {
        let planner = planner.clone();
        tokio::spawn(async move { planner.ask::<ScheduleDone>(task(number)).await.map(drop) })
    });
    for asked in asked.collect::<Vec<_>>() {
        asked.await.expect("it ends").expect("an answer");
    }
    let done: ScheduleDone = other.ask(task(1)).await.expect("an answer");
    assert_eq!(done.task, "task_1");
}

/// A handler replies while its agent sends more than its outbox holds.
#[tokio::test]
async fn replies_are_not_lost_when_the_outbox_is_full() {
    let (planner, dev) = pair().await;
    dev.serve(work);
    let sender = dev.clone();
    let sending = tokio::spawn(async move {
        let sends = (0..2000).map(|number| {
            let sender = sender.clone();
            tokio::spawn(async move { sender.send(task(number)).await })
        });
        for sent in sends.collect::<Vec<_>>() {
            sent.await.expect("it ends").expect("it is sent");
        }
    });
    let asked = (0..200).map(|number| {
        let planner = planner.clone();
        tokio::spawn(async move { planner.ask::<ScheduleDone>(task(number)).await })
    });
    for (number, asked) in asked.collect::<Vec<_>>().into_iter().enumerate() {
        let done = asked.await.expect("it ends").expect("an answer");
        assert_eq!(done.task, format!("task_{number}"));
    }
    sending.await.expect("it ends");
}

#[tokio::test]
async fn an_answer_of_another_type_and_a_name_that_is_none_are_told() {
    let (planner, dev) = pair().await;
    dev.serve(|_: ScheduleReq, cx| async move { cx.reply(ChatDone::new("Later.")).await });
    let other = planner.ask::<ScheduleDone>(task(0)).await.unwrap_err();
    assert!(matches!(other, Error::Answer(..)), "{other}");
    let text = other.to_string();
    let parts = [
        "`@dev>done:chat{",
        "Later.",
        "came, which is not a frame of the expected type",
        "done:schedule",
    ];
    for part in parts {
        assert!(text.contains(part), "{text}");
    }
    let hub = Hub::open("lunch", MemoryStore::new()).await.expect("a hub");
    assert!(matches!(hub.agent("a b").unwrap_err(), Error::Name(..)));
}

#[tokio::test]
async fn a_question_that_nobody_answers_ends() {
    let (planner, dev) = pair().await;
    planner.send(task(0)).await.expect("it is sent");
    let late = planner.ask::<ScheduleDone>(task(1)).within(Duration::ZERO);
    let late = late.await.unwrap_err();
    assert_eq!(late.code(), Some(ErrorCode::TIMEOUT), "{late}");
    // The asker no longer waits, but the chain is still open, so the answer goes to a handler.
    let (tx, mut rx) = mpsc::unbounded_channel();
    planner.serve(move |done: ScheduleDone, _| {
        tx.send(done.task.into_owned()).expect("the test listens");
        async { Ok::<_, Error>(()) }
    });
    dev.serve(work);
    assert_eq!(rx.recv().await.as_deref(), Some("task_0"));
    assert_eq!(rx.recv().await.as_deref(), Some("task_1"));
}

/// The answer arrives before its asker stops waiting, but the asker has not taken it yet.
#[tokio::test]
async fn a_handler_gets_the_answer_that_its_asker_has_not_taken() {
    let (planner, dev) = pair().await;
    dev.serve(work);
    let asked = planner.ask::<ScheduleDone>(task(0)).pieces::<InferStream>();
    let mut log = planner.frames(1);
    loop {
        let entry = log.next().await.expect("a log").expect("an entry");
        if entry.text.starts_with("@dev>done:schedule") {
            break;
        }
    }
    // Before the agent answers this call, it hands out the frames that have arrived. So the answer has reached the
    // asker by now.
    for _ in 0..3 {
        planner.registry().await.expect("a registry");
    }
    drop(asked);
    let (tx, mut rx) = mpsc::unbounded_channel();
    planner.serve(move |done: ScheduleDone, _| {
        tx.send(done.task.into_owned()).expect("the test listens");
        async { Ok::<_, Error>(()) }
    });
    assert_eq!(rx.recv().await.as_deref(), Some("task_0"));
    // An answer that its asker has taken goes to no handler.
    planner
        .ask::<ScheduleDone>(task(1))
        .await
        .expect("an answer");
    planner.close().await.expect("it ends");
    assert_eq!(rx.recv().await, None);
}

/// After a restart, the session still has the frames that nobody has answered and those that nobody
/// has handled.
#[test]
fn a_session_goes_on_where_its_store_stands() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("lunch.accp");
    let open = || async {
        let store = SqliteStore::open(&file).expect("a store");
        Hub::open("lunch", store).await.expect("a hub")
    };
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime")
    };
    // The first run ends in the middle: the handler of the second task never ends.
    let first = std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            let runtime = runtime();
            let done = runtime.block_on(async {
                let hub = open().await;
                let (planner, dev) = (hub.agent("planner").unwrap(), hub.agent("dev").unwrap());
                let (tx, mut rx) = mpsc::unbounded_channel();
                dev.serve(move |task: ScheduleReq, cx| {
                    let tx = tx.clone();
                    async move {
                        if task.task == "task_1" {
                            tx.send(()).expect("the test listens");
                            std::future::pending::<()>().await;
                        }
                        work(task, cx).await
                    }
                });
                let done: ScheduleDone = planner.ask(task(0)).await.expect("an answer");
                planner.send(task(1)).await.expect("it is sent");
                rx.recv().await.expect("the handler has begun");
                done.task.into_owned()
            });
            runtime.shutdown_background();
            done
        });
        run.join().expect("the first run")
    });
    assert_eq!(first, "task_0");
    runtime().block_on(async {
        let hub = open().await;
        let (planner, dev) = (hub.agent("planner").unwrap(), hub.agent("dev").unwrap());
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        dev.serve(move |task: ScheduleReq, cx: Cx| {
            counted.fetch_add(1, Ordering::SeqCst);
            assert_eq!(cx.inbound().redelivered(), task.task == "task_1");
            work(task, cx)
        });
        let (tx, mut rx) = mpsc::unbounded_channel();
        planner.serve(move |done: ScheduleDone, _| {
            tx.send(done.task.into_owned()).expect("the test listens");
            async { Ok::<_, Error>(()) }
        });
        assert_eq!(rx.recv().await.as_deref(), Some("task_1"));
        let done: ScheduleDone = planner.ask(task(2)).await.expect("an answer");
        assert_eq!(done.task, "task_2");
        assert_eq!(calls.load(Ordering::SeqCst), 2);
    });
}

/// A second agent of one name takes over, and the first says so.
#[tokio::test]
async fn an_agent_that_is_opened_again_ends_the_first() {
    let hub = Hub::open("lunch", MemoryStore::new()).await.expect("a hub");
    let _dev = hub.agent("dev").expect("an agent");
    let first = hub.agent("planner").expect("an agent");
    first.send(task(0)).await.expect("it is sent");
    let second = hub.agent("planner").expect("an agent");
    second.send(task(1)).await.expect("it is sent");
    let error = first.send(task(2)).await.unwrap_err();
    assert!(matches!(error, Error::Ended(_)), "{error}");
    assert!(error.to_string().contains("opened again"), "{error}");
    second.send(task(3)).await.expect("it is sent");
}

/// The end of a handler marks its frame, also when another task still has its `Cx`. The task hears that it is too late,
/// and not that the agent has ended.
#[tokio::test]
async fn a_reply_after_the_end_of_its_handler_says_so() {
    let (planner, dev) = pair().await;
    let (tx, mut rx) = mpsc::unbounded_channel();
    dev.serve(move |_: ScheduleReq, cx: Cx| {
        tx.send(cx).expect("the test listens");
        async { Ok::<_, Error>(()) }
    });
    let expected = "E5001: expected a reply or a mark before the handler ends, which marks its frame: let the handler \
                    wait for the task that has its `Cx`";
    for number in 0..2 {
        // The handler has ended without an answer: that is the answer.
        let answer = planner.ask::<ScheduleDone>(task(number)).await;
        assert!(matches!(answer, Err(Error::Answer(..))), "{answer:?}");
        let cx = rx.recv().await.expect("the handler began");
        let late = if number == 0 {
            cx.reply(ScheduleDone::new("late")).await
        } else {
            cx.handled().await
        };
        let error = late.unwrap_err();
        assert!(matches!(error, Error::Input(_)), "{error}");
        assert_eq!(error.to_string(), expected);
    }
    dev.send(ChatReq::new("still here"))
        .await
        .expect("it goes on");
}

/// An agent gets no frames of its own, so it would wait for its own answer until the end of the wait.
#[tokio::test]
async fn a_question_of_an_agent_to_itself_is_an_error_at_once() {
    let (planner, dev) = pair().await;
    dev.serve(work);
    let asked = dev.ask::<ScheduleDone>(task(0)).of("dev").await;
    let expected =
        "E2001: expected another agent than dev, which asks: it gets no answer of its own";
    assert_eq!(asked.unwrap_err().to_string(), expected);
    let done: ScheduleDone = planner.ask(task(1)).of("dev").await.expect("an answer");
    assert_eq!(done.task, "task_1");
}

#[tokio::test]
async fn a_close_that_a_handler_holds_up_names_handlers() {
    let (planner, dev) = pair().await;
    let (tx, mut rx) = mpsc::unbounded_channel();
    dev.serve(move |_: ScheduleReq, _| {
        tx.send(()).expect("the test listens");
        std::future::pending::<Result<(), Error>>()
    });
    planner.send(task(0)).await.expect("it is sent");
    assert_eq!(rx.recv().await, Some(()));
    // A clock that is paused jumps to the end of the wait.
    tokio::time::pause();
    let error = dev.close().await.unwrap_err();
    assert!(matches!(error, Error::Unsent(_)), "{error}");
    assert_eq!(
        error.to_string(),
        "E3001: the session has not taken all frames within 60s: is the hub there, does it let the agent in, \
         and have the handlers ended, if the agent is closed?"
    );
}
