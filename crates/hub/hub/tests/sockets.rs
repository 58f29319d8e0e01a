//! Agents over WebSocket.

use std::time::Duration;

use crate::common::database::Database;
use crate::common::{TestHub, frame};
use accp_client::{Agent, Error};
use accp_hub::Config;
use accp_runtime::AgentId;
use accp_runtime::profiles::{ChatReq, ScheduleDone, ScheduleReq};
use tokio::sync::mpsc;

fn task(number: usize) -> ScheduleReq<'static> {
    let dev = AgentId::new("dev").expect("a name");
    ScheduleReq::new(dev, format!("task_{number}"))
}

#[tokio::test]
async fn ws_02_refuses_a_silent_peer() {
    let config = Config {
        heartbeat: 1,
        ..Config::default()
    };
    let hub = TestHub::start(config).await;
    let mut silent = hub.socket("?session=lunch").await;
    silent
        .send_text("@dev>sync:registry{v:1|hash:abc123|pos:0|ext:[]}[mid:1,seq:0]")
        .await;
    let (mut pinged, mut closed) = (false, false);
    while let Some(reply) = silent.receive().await {
        pinged |= reply.contains(">ping:link{}");
        closed |= reply.starts_with("close 1000");
    }
    assert!(pinged && closed, "pinged {pinged}, closed {closed}");
    hub.stop().await;
}

#[tokio::test]
async fn ws_02_accepts_a_peer_that_answers_pings() {
    let config = Config {
        // The heartbeat is long, so that the hub does not drop the peer when a busy machine delays
        // its answer.
        heartbeat: 4,
        ..Config::default()
    };
    let hub = TestHub::start(config).await;
    let mut peer = hub.socket("?session=lunch").await;
    peer.send_text("@dev>sync:registry{v:1|hash:abc123|pos:0|ext:[]}[mid:1,seq:0]")
        .await;
    for answered in 0..3 {
        let reply = loop {
            let reply = peer.receive().await.expect("it is open");
            // The hub also asks for the registry of a peer, to compare it with its own.
            if !reply.contains(">sync:") && !reply.contains(">qry:bytes{") {
                break reply;
            }
        };
        assert!(
            reply.starts_with("@hub>ping:link{}"),
            "after {answered} pings: {reply}"
        );
        peer.send_text(&format!("@dev>pong:link{{}}[mid:{answered},seq:0]"))
            .await;
    }
    peer.send_text("@dev>ping:link{}[mid:9,seq:0]").await;
    while !peer
        .receive()
        .await
        .expect("it is open")
        .starts_with("@hub>pong:link{}")
    {}
    hub.stop().await;
}

#[tokio::test]
async fn a_second_connection_of_an_agent_ends_the_first() {
    let hub = TestHub::start(Config::default()).await;
    let _dev = hub.agent("dev").await;
    let first = hub.agent("cook").await;
    first.send(task(1)).await.expect("it is sent");
    let second = hub.agent("cook").await;
    second.send(task(2)).await.expect("it is sent");
    let mut log = first.frames(u64::MAX);
    assert!(
        log.next().await.expect("a store").is_none(),
        "the first has ended"
    );
    let reply = first.send(task(3)).await.expect_err("ended").to_string();
    assert!(reply.contains("another connection"), "{reply}");
    hub.stop().await;
}

#[tokio::test]
async fn an_agent_comes_back_whose_place_was_taken_once() {
    let hub = TestHub::start(Config::default()).await;
    let _dev = hub.agent("dev").await;
    let agent = hub.agent("cook").await;
    let mut other = hub.socket("?session=lunch&agent=cook").await;
    other
        .send_text("@cook>sync:registry{v:1|hash:abc123|pos:0}[mid:1,seq:0]")
        .await;
    let end = loop {
        let reply = other.receive().await.expect("a close");
        if reply.starts_with("close") {
            break reply;
        }
    };
    assert_eq!(
        end,
        "close 4000 another connection of this agent has opened"
    );
    let mut log = agent.frames(1);
    agent.send(task(1)).await.expect("it is sent");
    while !log
        .next()
        .await
        .expect("a store")
        .expect("it goes on")
        .text
        .contains("task:task_1")
    {}
    hub.stop().await;
}

#[tokio::test]
async fn an_agent_that_has_seen_another_log_ends_with_the_reason() {
    let first = TestHub::start(Config::default()).await;
    let dev = first.agent("dev").await;
    dev.send(ChatReq::new("hello")).await.expect("it is sent");
    let address = first.address;
    first.stop().await;
    let config = Config {
        listen: address,
        ..Config::default()
    };
    // The store of this hub is new.
    let second = TestHub::start(config).await;
    let mut log = dev.frames(u64::MAX);
    while log.next().await.expect("a store").is_some() {}
    let why = dev.joined().await.expect_err("it has ended");
    assert!(matches!(why, Error::Removed(_)), "{why}");
    let again = second.agent("dev").await;
    again.send(ChatReq::new("hello")).await.expect("it is sent");
    second.stop().await;
}

/// A connection that takes the place of another begins with a hello of its own.
#[tokio::test]
async fn a_peer_of_the_draft_is_greeted_on_each_connection() {
    let hub = TestHub::start(Config::default()).await;
    let mut sockets = Vec::new();
    for mid in ["f00000000001", "f00000000002", "f00000000003"] {
        let mut socket = hub.socket("?session=lunch&agent=qa").await;
        let hello = format!("@qa>sync:registry{{v:1|hash:abc123}}[mid:{mid},seq:0]");
        socket.send_text(&hello).await;
        let reply = socket.receive().await.expect("a hello");
        assert!(reply.starts_with("@hub>sync:registry{"), "{mid}: {reply}");
        // The earlier sockets are not closed by the peer.
        sockets.push(socket);
    }
    drop(sockets);
    hub.stop().await;
}

#[tokio::test]
async fn a_peer_that_is_gone_before_its_session_is_open_does_not_join() {
    let database = Database::default();
    let store = database.clone();
    let config = Config {
        heartbeat: 1,
        ..Config::default()
    };
    let hub = TestHub::on(config, move || Ok(store.connect_apart())).await;
    database.is_slow(true);
    let hello = |agent: &str| format!("@{agent}>sync:registry{{v:1|hash:abc123}}[mid:1,seq:0]");
    let (mut gone, mut cook) = (
        hub.socket("?session=lunch&agent=waiter").await,
        hub.socket("?session=lunch&agent=cook").await,
    );
    gone.send_text(&hello("waiter")).await;
    cook.send_text(&hello("cook")).await;
    let task = "@cook>req:schedule{agent:dev|task:soup}";
    cook.send_text(&frame(task, "abc101000001", 1, "sid:lunch"))
        .await;
    // The hub pings clients that wait for their session to open.
    gone.is_pinged().await;
    cook.is_pinged().await;
    drop(gone);
    cook.is_pinged().await;
    database.is_slow(false);
    let taken = loop {
        let reply = cook.receive().await.expect("it is open");
        if reply.contains("of:abc101000001") {
            break reply;
        }
    };
    assert!(taken.starts_with("@hub>ack:frame{}"), "{taken}");
    let state = hub.get("/accp/v1/sessions/lunch/state").await;
    let state = state.text().await.expect("text");
    assert!(
        state.contains("cook") && !state.contains("waiter"),
        "{state}"
    );
    hub.stop().await;
}

#[tokio::test]
async fn ws_01_refuses_a_first_frame_that_is_no_hello() {
    let hub = TestHub::start(Config::default()).await;
    for (query, first, close) in [
        (
            "",
            "@dev>req:plan{}[mid:abc101000001,seq:1,sid:lunch]",
            "close 1008 E1001",
        ),
        (
            "",
            "@dev>sync:registry{v:1|hash:abc}[mid:1,seq:0]",
            "close 1008 E1001",
        ),
        (
            "?session=lunch&agent=eve",
            "@dev>sync:registry{v:1|hash:abc}[mid:1,seq:0]",
            "close 1008 E5001",
        ),
        ("?session=lunch", "rubbish", "close 1008 E1001"),
    ] {
        let mut socket = hub.socket(query).await;
        socket.send_text(first).await;
        let error = socket.receive().await.expect("an error");
        assert!(error.starts_with("@hub>fail:error{"), "{error}");
        let end = socket.receive().await.expect("a close");
        assert!(end.starts_with(close), "{end}");
    }
    // A peer that follows only the draft begins a session in which all agents share one sequence of
    // numbers.
    let mut plain = hub.socket("").await;
    plain
        .send_text("@dev>sync:registry{v:1|hash:abc123}[mid:abc101000001,seq:0,sid:draft]")
        .await;
    let hello = plain.receive().await.expect("a hello");
    assert!(
        hello.starts_with("@hub>sync:registry{") && !hello.contains("pos:"),
        "{hello}"
    );
    hub.stop().await;
}

#[tokio::test]
async fn ws_01_accepts_frames_after_the_hello_whoever_is_restarted() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hub.accp");
    let first = TestHub::on_file(&file, Config::default()).await;
    let planner = first.agent("planner").await;
    let dev = first.agent("dev").await;
    dev.serve(|task: ScheduleReq, cx| async move {
        cx.reply(ScheduleDone::new(task.task).status("done")).await
    });
    let done: ScheduleDone = planner.ask(task(1)).await.expect("an answer");
    assert_eq!(done.task, "task_1");
    let address = first.address;
    first.stop().await;
    // Both agents reconnect by themselves, and the frame that is sent meanwhile is not lost.
    let asked = tokio::spawn({
        let planner = planner.clone();
        async move { planner.ask::<ScheduleDone>(task(2)).await }
    });
    let config = Config {
        listen: address,
        ..Config::default()
    };
    let second = TestHub::on_file(&file, config).await;
    let done = asked.await.expect("it ends").expect("an answer");
    assert_eq!(done.task, "task_2");
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_join_at_one_instant_and_all_are_heard() {
    let hub = TestHub::start(Config::default()).await;
    let mut asked = Vec::new();
    for number in 0..20 {
        let url = hub.ws();
        asked.push(tokio::spawn(async move {
            let session = format!("s{number}");
            let planner = Agent::connect(&url, &session, "planner")
                .await
                .expect("a hub");
            let dev = Agent::connect(&url, &session, "dev").await.expect("a hub");
            dev.serve(|task: ScheduleReq, cx| async move {
                cx.reply(ScheduleDone::new(task.task).status("done")).await
            });
            let done = planner
                .ask::<ScheduleDone>(task(number))
                .within(Duration::from_secs(10));
            (number, done.await.map(|done| done.task.into_owned()))
        }));
    }
    for asked in asked {
        let (number, answer) = asked.await.expect("it ends");
        assert_eq!(answer.expect("an answer"), format!("task_{number}"));
    }
    hub.stop().await;
}

#[tokio::test]
async fn an_agent_that_has_lost_everything_gets_what_it_has_not_answered() {
    let hub = TestHub::start(Config::default()).await;
    let planner = hub.agent("planner").await;
    let dev = hub.agent("dev").await;
    let (sender, mut heard) = mpsc::unbounded_channel();
    dev.serve({
        let sender = sender.clone();
        move |task: ScheduleReq, cx| {
            sender
                .send(task.task.to_string())
                .expect("the test listens");
            async move {
                if task.task == "task_1" {
                    // The handler never answers this task.
                    std::future::pending::<()>().await;
                }
                cx.reply(ScheduleDone::new(task.task)).await
            }
        }
    });
    let first = tokio::spawn({
        let planner = planner.clone();
        async move { planner.ask::<ScheduleDone>(task(1)).await }
    });
    for number in [2, 3] {
        planner
            .ask::<ScheduleDone>(task(number))
            .await
            .expect("an answer");
    }
    while heard.recv().await.as_deref() != Some("task_3") {}
    drop(dev);
    let dev = hub.agent("dev").await;
    dev.serve(move |task: ScheduleReq, cx| {
        sender
            .send(task.task.to_string())
            .expect("the test listens");
        async move { cx.reply(ScheduleDone::new(task.task)).await }
    });
    let done = first.await.expect("it ends").expect("an answer");
    assert_eq!(done.task, "task_1");
    planner
        .ask::<ScheduleDone>(task(4))
        .await
        .expect("an answer");
    assert_eq!(heard.recv().await.as_deref(), Some("task_1"));
    assert_eq!(heard.recv().await.as_deref(), Some("task_4"));
    hub.stop().await;
}

/// A peer hears why its socket ends, and what to do, before and after it has said hello.
#[tokio::test]
async fn a_frame_over_the_limit_ends_its_socket_with_the_reason() {
    let hub = TestHub::start(Config::default()).await;
    for greets in [false, true] {
        let mut socket = hub.socket("?session=lunch&agent=qa").await;
        if greets {
            socket
                .send_text("@qa>sync:registry{v:1|hash:abc123}[mid:f00000000001,seq:0]")
                .await;
            let reply = socket.receive().await.expect("a hello");
            assert!(reply.starts_with("@hub>sync:registry{"), "{reply}");
        }
        let long = format!("@qa>req:plan{{goal:{}}}", "x".repeat(70_000));
        socket.send_text(&long).await;
        let end = loop {
            let reply = socket.receive().await.expect("a close");
            if reply.starts_with("close") {
                break reply;
            }
        };
        assert!(
            end.starts_with("close 1009 a frame has 65536 bytes at most: "),
            "{end}"
        );
        assert!(end.ends_with("send long values by `sync:put`"), "{end}");
    }
    hub.stop().await;
}

#[tokio::test]
async fn an_agent_that_is_taken_out_hears_so_on_its_socket() {
    let hub = TestHub::start(Config::default()).await;
    let mut socket = hub.socket("?session=lunch&agent=cook").await;
    socket
        .send_text("@cook>sync:registry{v:1|hash:abc123}[mid:f00000000001,seq:0]")
        .await;
    let reply = socket.receive().await.expect("a hello");
    assert!(reply.starts_with("@hub>sync:registry{"), "{reply}");
    let out = hub.url("/accp/v1/sessions/lunch/agents/cook?agent=cook");
    let out = hub.http.delete(out).send().await.expect("an answer");
    let out = out.text().await.expect("text");
    assert!(out.contains("\"removed\":true"), "{out}");
    let end = loop {
        let reply = socket.receive().await.expect("a close");
        if reply.starts_with("close") {
            break reply;
        }
    };
    assert_eq!(
        end,
        "close 4001 the agent was taken out of the session; it may connect again"
    );
    hub.stop().await;
}

#[tokio::test]
async fn the_least_and_the_largest_frame_of_the_settings_leave_sockets_usable() {
    for frames in [1_024, i64::MAX] {
        let settings = &format!("[limits]\nframe = {frames}\n");
        let config = Config::from_toml(settings).expect("settings");
        let hub = TestHub::start(config).await;
        let first = frame("@me>sync:note{}", "abc101000001", 1, "sid:lunch");
        let (status, reply) = hub.post(&first).await;
        assert_eq!(status, 200, "{settings}: {reply}");
        let mut socket = hub.socket("?session=lunch").await;
        socket
            .send_text("@dev>sync:registry{v:1|hash:abc123}[mid:1,seq:0]")
            .await;
        let reply = socket.receive().await.expect("an answer");
        assert!(reply.starts_with("@hub>"), "{settings}: {reply}");
        hub.stop().await;
    }
}
