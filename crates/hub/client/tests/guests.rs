//! Tests of agents that share the log of their hub: over restarts, and beside agents that use links or POST.

use std::sync::Arc;
use std::time::Duration;

use accp_client::{Agent, Cx, Error, Hub, Link};
use accp_runtime::profiles::{ChatDone, ChatReq, InferStream, ScheduleDone, ScheduleReq};
use accp_runtime::session::{MemberId, Options, Outbound, Posted, Rules, Scope, Session, Time};
use accp_runtime::{AgentId, DynamicFrame, Registry, Value};
use accp_store::{AsyncDriver, Committer, ErasurePlan, ErasureRequest, MemoryStore, SideId};
use tokio::sync::mpsc;
use tokio::time::Instant;

const NOW: Time = Time::from_secs(1_714_000_000);

fn options(agent: &'static str) -> Options {
    let agent = AgentId::new(agent).expect("a name");
    Options::new("lunch", agent, Arc::new(Registry::standard()))
}

/// A store that does its work in the calling task, so that a test may stop the clock.
fn store() -> Committer {
    Committer::inline(MemoryStore::new())
}

async fn hub_on(committer: &Committer) -> Hub {
    let rules = Rules {
        scope: Scope::Sender,
        ..Rules::default()
    };
    let hub = Hub::open_on(committer, options("hub"), rules).await;
    hub.expect("a hub")
}

/// Returns the inboxes of the guests in the store.
async fn inboxes(committer: &Committer) -> Vec<(MemberId, String)> {
    let side = SideId::new("lunch", "hub");
    let stored = committer.ask(move |store| store.load(&side)).await;
    stored.expect("a store").expect("a side").inboxes
}

fn task(name: impl Into<String>) -> ScheduleReq<'static> {
    let dev = AgentId::new("dev").expect("a name");
    ScheduleReq::new(dev, name.into())
}

/// Returns the tasks that an agent gets, each with whether a handler may have had it before. The agent
/// answers the tasks in `answers`, and its handlers never end for the others.
fn listen(
    agent: &Agent,
    answers: &'static [&'static str],
) -> mpsc::UnboundedReceiver<(String, bool)> {
    let (tx, rx) = mpsc::unbounded_channel();
    agent.serve(move |task: ScheduleReq, cx: Cx| {
        let again = cx.inbound().redelivered();
        tx.send((task.task.to_string(), again))
            .expect("the test listens");
        async move {
            if answers.contains(&&*task.task) {
                return cx.reply(ScheduleDone::new(task.task)).await;
            }
            std::future::pending().await
        }
    });
    rx
}

#[tokio::test(start_paused = true)]
async fn a_value_of_a_megabyte_is_here_without_any_timer() {
    let hub = hub_on(&store()).await;
    let agent = |name| hub.agent(name).expect("an agent");
    let (guest, dev) = (agent("guest"), agent("dev"));
    dev.serve(|asked: ScheduleReq, cx| async move {
        cx.reply(ScheduleDone::new(asked.task.to_uppercase())).await
    });
    let began = Instant::now();
    let long = "rye and spelt, ".repeat(70_000);
    let done: ScheduleDone = guest.ask(task(long.clone())).await.expect("an answer");
    assert_eq!(done.task, long.to_uppercase());
    assert_eq!(began.elapsed(), Duration::ZERO);
}

/// The clock of the test advances only when no task can run, so the test notices every wait.
#[tokio::test(start_paused = true)]
async fn an_agent_whose_post_was_refused_for_good_joins_at_once() {
    let hub = hub_on(&store()).await;
    let wrong = "@dev>req:plan{schema:ZZ}[mid:101000001001,seq:1]";
    let posted = hub.post("dev", wrong.into()).await.expect("it is judged");
    assert!(matches!(posted, Posted::Refused(_)), "{posted:?}");
    let began = Instant::now();
    let dev = hub.agent("dev").expect("an agent");
    dev.joined().await.expect("it has joined");
    dev.send(task("bread")).await.expect("it is sent");
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn what_was_not_answered_comes_again_and_what_came_meanwhile_comes_once() {
    let committer = store();
    let hub = hub_on(&committer).await;
    let planner = hub.agent("planner").expect("an agent");
    let dev = hub.agent("dev").expect("an agent");
    let mut rx = listen(&dev, &["bread", "cake"]);
    for name in ["bread", "soup", "cake"] {
        planner.send(task(name)).await.expect("it is sent");
        assert_eq!(rx.recv().await, Some((name.to_owned(), false)));
    }
    let done: ScheduleDone = planner.ask(task("bread")).await.expect("an answer");
    assert_eq!(done.task, "bread");
    assert_eq!(rx.recv().await, Some(("bread".to_owned(), false)));
    // `dev` is closed when this frame is sent. Then the hub ends.
    drop(dev);
    planner.send(task("rice")).await.expect("it is sent");
    hub.end("as if it were killed");
    let hub = hub_on(&committer).await;
    let planner = hub.agent("planner").expect("an agent");
    planner.send(task("wine")).await.expect("it is sent");
    let dev = hub.agent("dev").expect("an agent");
    let mut rx = listen(&dev, &["soup", "rice", "wine"]);
    // The inbox does not say which frames were handed out without being marked, so all unmarked frames come again
    // as redelivered.
    for name in ["soup", "rice", "wine"] {
        assert_eq!(rx.recv().await, Some((name.to_owned(), true)));
    }
    planner.send(task("tea")).await.expect("it is sent");
    assert_eq!(rx.recv().await, Some(("tea".to_owned(), false)));
    let (member, inbox) = inboxes(&committer).await.pop().expect("an inbox");
    assert_eq!(member.number(), 102);
    assert!(
        !inbox.contains(';'),
        "all is handled up to the end: {inbox}"
    );
}

/// A mark without an answer is in the store when its future ends, also if the handler goes on for ever.
#[tokio::test]
async fn what_is_marked_does_not_come_again() {
    let committer = store();
    let hub = hub_on(&committer).await;
    let planner = hub.agent("planner").expect("an agent");
    let dev = hub.agent("dev").expect("an agent");
    let (tx, mut kept) = mpsc::unbounded_channel();
    dev.serve(move |task: ScheduleReq, cx: Cx| {
        let tx = tx.clone();
        async move {
            if &*task.task == "bread" {
                let marked = cx.handled().await;
                tx.send(marked.is_ok()).expect("the test listens");
            }
            std::future::pending::<Result<(), Error>>().await
        }
    });
    for name in ["soup", "bread"] {
        planner.send(task(name)).await.expect("it is sent");
    }
    assert_eq!(kept.recv().await, Some(true));
    hub.end("as if it were killed");
    let hub = hub_on(&committer).await;
    let dev = hub.agent("dev").expect("an agent");
    let mut rx = listen(&dev, &["soup", "tea"]);
    let planner = hub.agent("planner").expect("an agent");
    planner.send(task("tea")).await.expect("it is sent");
    for name in ["soup", "tea"] {
        let (task, _) = rx.recv().await.expect("a task");
        assert_eq!(task, name);
    }
}

/// An agent that was in the session by POST gets the questions that it has not answered, and all later
/// frames.
#[tokio::test]
async fn an_agent_that_has_posted_before_gets_the_questions_that_are_open() {
    let committer = store();
    let hub = hub_on(&committer).await;
    let planner = hub.agent("planner").expect("an agent");
    let post = async |frame: &str| {
        let posted = hub.post("dev", frame.into()).await.expect("it is judged");
        assert!(matches!(posted, Posted::Accepted { .. }), "{posted:?}");
    };
    let early = Outbound::owned(task("early")).to_anybody();
    planner.send_with(early).await.expect("it is sent");
    post("@dev>sync:note{n:1}[mid:a00000000001,seq:1]").await;
    planner.send(task("bread")).await.expect("it is sent");
    planner
        .send(ScheduleDone::new("all"))
        .await
        .expect("it is sent");
    planner.send(task("soup")).await.expect("it is sent");
    let bread = planner.frames(1);
    let bread = find(bread, "task:bread").await;
    let answer =
        format!("@dev>done:schedule{{task:bread|schema:TA}}[mid:a00000000002,seq:2,cid:{bread}]");
    post(&answer).await;
    let dev = hub.agent("dev").expect("an agent");
    let mut rx = listen(&dev, &["soup", "wine"]);
    assert_eq!(rx.recv().await, Some(("soup".to_owned(), true)));
    planner.send(task("wine")).await.expect("it is sent");
    assert_eq!(rx.recv().await, Some(("wine".to_owned(), false)));
}

/// Returns the text of the first frame that contains `text`.
async fn find_text(mut log: accp_client::Frames, text: &str) -> String {
    loop {
        let entry = log.next().await.expect("a log").expect("an entry");
        if entry.text.contains(text) {
            return entry.text.to_string();
        }
    }
}

/// Returns the id of the first frame that contains `text`.
async fn find(log: accp_client::Frames, text: &str) -> String {
    let frame = find_text(log, text).await;
    let id = frame
        .split("[mid:")
        .nth(1)
        .and_then(|rest| rest.split(',').next());
    id.expect("an id").to_owned()
}

/// Lets frames go between a member on this store and the hub until the member has the whole log.
async fn exchange(
    hub: &Hub,
    link: &mut Link,
    driver: &mut AsyncDriver<Vec<accp_runtime::session::Transmit>>,
) {
    loop {
        driver.carry_out(NOW).await.expect("a store");
        let sends = std::mem::take(driver.link_mut());
        for frame in sends {
            assert!(link.send(frame.text).await);
        }
        while let Some(text) = link.try_recv() {
            driver
                .receive(MemberId::HOST, text.as_bytes(), NOW)
                .expect("a session");
        }
        let end = hub
            .look(accp_runtime::session::Session::position)
            .await
            .expect("a hub");
        if driver.session().position() == end {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Earlier versions kept a whole side for each agent of the hub's process.
#[tokio::test]
async fn a_side_of_an_earlier_version_becomes_an_inbox() {
    let committer = store();
    let hub = hub_on(&committer).await;
    let planner = hub.agent("planner").expect("an agent");
    let mut driver = AsyncDriver::open_member(&committer, Vec::new(), options("dev"), NOW)
        .await
        .expect("a side");
    let mut link = hub.link("dev").await.expect("a link");
    exchange(&hub, &mut link, &mut driver).await;
    for name in ["bread", "soup", "cake", "rice"] {
        planner.send(task(name)).await.expect("it is sent");
    }
    exchange(&hub, &mut link, &mut driver).await;
    driver.carry_out(NOW).await.expect("a store");
    let log = driver.entries(1, 100).await.expect("a store");
    let due: Vec<_> = log.iter().filter(|entry| entry.is_due()).collect();
    assert_eq!(due.len(), 4);
    for entry in [due[0], due[2]] {
        let session = driver.session_mut().expect("a session");
        session
            .handled(entry.position, &[], NOW)
            .expect("it is due");
    }
    // The member ends before this frame crosses the link, so only the member's store has it.
    let tea = task("x".repeat(5000));
    let tea = Outbound::owned(tea);
    driver.send(&tea, NOW).expect("it is sent");
    driver.carry_out(NOW).await.expect("a store");
    drop((driver, link));
    planner.send(task("wine")).await.expect("it is sent");
    let dev = hub.agent("dev").expect("an agent");
    let mut rx = listen(&dev, &[]);
    for name in ["soup", "rice", "wine"] {
        assert_eq!(rx.recv().await, Some((name.to_owned(), true)));
    }
    dev.send(task("tea")).await.expect("it is sent");
    let frame = find_text(dev.frames(1), "@dev>req:schedule{asgn:dev|task:$cold.").await;
    let key = frame
        .split('$')
        .nth(1)
        .and_then(|rest| rest.split('|').next());
    let value = dev
        .expand(key.expect("a reference"))
        .await
        .expect("a value");
    assert_eq!(value.as_str(), Some(&*"x".repeat(5000)));
    let sides = committer
        .ask(|store| store.sides("lunch"))
        .await
        .expect("a store");
    assert!(sides.iter().all(|side| side.host), "{sides:?}");
}

#[tokio::test]
async fn a_link_and_an_agent_of_one_name_end_each_other() {
    let hub = hub_on(&store()).await;
    let dev = hub.agent("dev").expect("an agent");
    dev.joined().await.expect("it has joined");
    let mut link = hub.link("dev").await.expect("a link");
    let error = dev.send(task("bread")).await.unwrap_err();
    assert!(
        matches!(&error, Error::Ended(why) if why.contains("link")),
        "{error}"
    );
    let dev = hub.agent("dev").expect("an agent");
    assert_eq!(link.recv().await, None);
    dev.send(task("soup")).await.expect("it is sent");
}

/// An agent without handlers reads nothing, and its inbox keeps only the position where it began.
#[tokio::test]
async fn an_agent_without_handlers_keeps_nothing_of_what_comes() {
    let committer = store();
    let hub = hub_on(&committer).await;
    let (dev, idle) = (
        hub.agent("dev").expect("an agent"),
        hub.agent("idle").expect("an agent"),
    );
    idle.joined().await.expect("it has joined");
    let before = inboxes(&committer).await;
    for number in 0..300 {
        let task = Outbound::owned(task(format!("task_{number}"))).to_anybody();
        dev.send_with(task).await.expect("it is sent");
    }
    assert_eq!(inboxes(&committer).await, before);
    // A handler that starts later still gets the frames.
    let mut rx = listen(&idle, &[]);
    for number in 0..64 {
        assert_eq!(rx.recv().await, Some((format!("task_{number}"), false)));
    }
}

#[tokio::test]
async fn a_frame_that_the_hub_refuses_says_why_and_is_not_there() {
    let hub = hub_on(&store()).await;
    let dev = hub.agent("dev").expect("an agent");
    let change = DynamicFrame::new("dev", "sync", "state").expect("a message");
    let delta = Value::Map([("oven", "hot".into())].into_iter().collect());
    let change = change.with("version", 7).with("delta", delta);
    let change = Outbound::owned_message(change);
    let refused = dev.send_with(change.clone()).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Refused(why) if why.version == Some(0)),
        "{refused:?}"
    );
    let refused = dev.ask_with::<()>(change).frame().await.unwrap_err();
    assert!(matches!(refused, Error::Refused(_)), "{refused:?}");
    dev.send(task("bread")).await.expect("it is sent");
    let last = dev
        .look(accp_runtime::session::Session::position)
        .await
        .expect("a hub");
    let mut log = dev.frames(last - 1);
    let entry = log.next().await.expect("a log").expect("an entry");
    assert!(
        entry.text.starts_with("@hub>"),
        "the entry before is no frame: {}",
        entry.text
    );
}

/// The hub keeps the values of an agent under its own keys, and erases them with the frames of the agent.
#[tokio::test]
async fn erasing_what_an_agent_has_said_erases_its_values() {
    let committer = store();
    let hub = hub_on(&committer).await;
    let agent = |name| hub.agent(name).expect("an agent");
    let (dev, planner) = (agent("dev"), agent("planner"));
    dev.send(task("x".repeat(5000))).await.expect("it is sent");
    planner
        .send(task("y".repeat(5000)))
        .await
        .expect("it is sent");
    let wanted = ErasureRequest {
        from: Some("dev".to_owned()),
        ..ErasureRequest::default()
    };
    let kept = committer.ask(move |store| {
        let plan = ErasurePlan::make(store, "lunch", &wanted, &options("hub"), &Rules::default());
        plan.expect("a plan").carry_out(store)?;
        let side = SideId::new("lunch", "hub");
        let keys = ["k100_1", "k100_2"].map(|key| store.cold(&side, key));
        Ok(keys.map(|kept| kept.expect("a store").map(|kept| kept.expired)))
    });
    assert_eq!(kept.await.expect("a store"), [Some(true), Some(false)]);
}

/// A caller that gives up cancels the chain, and the handler learns of that.
#[tokio::test]
async fn a_handler_hears_that_its_chain_is_cancelled() {
    let hub = hub_on(&store()).await;
    let agent = |name| hub.agent(name).expect("an agent");
    let (planner, dev) = (agent("planner"), agent("dev"));
    let (tx, mut rx) = mpsc::unbounded_channel();
    dev.serve(move |_: ScheduleReq, cx: Cx| {
        let tx = tx.clone();
        async move {
            tx.send("begun").expect("the test listens");
            cx.inbound().cancel_token().cancelled().await;
            tx.send("cancelled").expect("the test listens");
            Ok::<_, Error>(())
        }
    });
    let asked = planner.ask::<ScheduleDone>(task("bread")).cancelling();
    let asked = tokio::spawn(async move { asked.await.map(drop) });
    assert_eq!(rx.recv().await, Some("begun"));
    asked.abort();
    assert_eq!(rx.recv().await, Some("cancelled"));
}

/// Pieces come out of order, one of them twice, and one of them never.
#[tokio::test]
async fn pieces_are_read_in_the_order_of_their_indexes() {
    let hub = Hub::open("lunch", MemoryStore::new()).await.expect("a hub");
    let (guest, cook) = (
        hub.agent("guest").expect("a name"),
        hub.agent("cook").expect("a name"),
    );
    cook.serve(|_: ChatReq, cx| async move {
        let words = [(1, "b"), (0, "a"), (1, "b"), (5, "f"), (2, "c"), (4, "e")];
        let pieces = words.map(|(at, word)| InferStream::new(at, word));
        cx.stream(futures_util::stream::iter(pieces)).await?;
        cx.reply(ChatDone::new("abcef")).await
    });
    let mut answer = guest
        .ask::<ChatDone>(ChatReq::new("what is there?"))
        .pieces::<InferStream>();
    let mut words = Vec::new();
    while let Some(piece) = answer.next().await {
        words.push(piece.expect("a piece").data.into_owned());
    }
    assert_eq!(words, ["a", "b", "c", "e", "f"]);
    assert_eq!(answer.answer().await.expect("an answer").content, "abcef");
}

/// A reader takes the last position of a log from the session, and reads on until it is there.
#[tokio::test]
async fn the_log_reaches_the_position_that_the_session_tells() {
    // This store does its work in a thread of its own, so the side waits for each commit.
    let committer = Committer::new(MemoryStore::new()).expect("a store");
    let hub = hub_on(&committer).await;
    let guest = hub.agent("guest").expect("an agent");
    for _ in 0..20 {
        let sends = async { guest.send(ChatReq::new("soup")).await };
        let reads = async {
            let mut read = Vec::new();
            for by_guest in [false, true] {
                let looked = if by_guest {
                    guest.look(Session::position).await
                } else {
                    hub.look(Session::position).await
                };
                let mut frames = if by_guest {
                    guest.frames(1)
                } else {
                    hub.frames(1)
                };
                while frames.next_ready().await.expect("a log").is_some() {}
                read.push((looked.expect("a side"), frames.position()));
            }
            read
        };
        let (sent, read) = tokio::join!(sends, reads);
        sent.expect("a frame");
        for (told, next) in read {
            assert!(
                next > told,
                "{told} is told, and the reader waits at {next}"
            );
        }
    }
}
