//! Tests of the driver for asynchronous code.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};

use accp_runtime::session::{Options, Rules};

use super::*;
use accp_store::{AsyncDriver, Committer};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

async fn host(committer: &Committer, session: &str) -> AsyncDriver<Vec<Transmit>> {
    let options: Options = options(session, "hub");
    AsyncDriver::open_host(committer, Vec::new(), options, Rules::default(), START)
        .await
        .unwrap()
}

async fn member(committer: &Committer, session: &str) -> AsyncDriver<Vec<Transmit>> {
    AsyncDriver::open_member(committer, Vec::new(), options(session, "dev"), START)
        .await
        .unwrap()
}

/// Runs one session: the host asks ten times, and the member answers and is sometimes reopened.
async fn converse(committer: Committer, session: String) -> Vec<i64> {
    let mut hub = host(&committer, &session).await;
    let dev = AgentId::new("dev").unwrap();
    let dev = hub.join(&dev, START).unwrap();
    let mut worker = member(&committer, &session).await;
    let mut answers = Vec::new();
    for round in 0..40 {
        if round < 10 {
            let message = plan("hub").with("n", round);
            hub.send(&Outbound::message(&message), START).unwrap();
        }
        if round % 7 == 3 {
            worker = member(&committer, &session).await;
        }
        let now = START + Duration::from_millis(200 * round as u64);
        for inbound in hub.carry_out(now).await.unwrap().inbound {
            let message = inbound.message(&REGISTRY).unwrap();
            if let Some(Value::Integer(n)) = message.payload.get("n") {
                answers.push(*n);
            }
            hub.handled(&inbound, vec![], now).unwrap();
        }
        hub.carry_out(now).await.unwrap();
        for frame in std::mem::take(hub.link_mut()) {
            let text = frame.text.as_bytes();
            worker.receive(MemberId::HOST, text, now).unwrap();
        }
        for inbound in worker.carry_out(now).await.unwrap().inbound {
            let message = inbound.message(&REGISTRY).unwrap();
            let done = DynamicFrame::new("dev", "done", "plan").unwrap();
            let done = done.with("n", message.payload.get("n").unwrap().clone());
            worker
                .handled(&inbound, vec![Outbound::message(&done)], now)
                .unwrap();
        }
        worker.carry_out(now).await.unwrap();
        for frame in std::mem::take(worker.link_mut()) {
            hub.receive(dev, frame.text.as_bytes(), now).unwrap();
        }
    }
    assert!(hub.session().is_quiet() && worker.session().is_quiet());
    assert_eq!(hub.session().state(), worker.session().state());
    answers
}

#[test]
fn sessions_share_one_committer() {
    let store = Shared::default();
    let committer = Committer::new(Arc::clone(&store)).unwrap();
    let all = block_on(async {
        let sessions = (0..8).map(|number| {
            let session = format!("s{number}");
            tokio::spawn(converse(committer.clone(), session))
        });
        let mut all = Vec::new();
        for session in sessions.collect::<Vec<_>>() {
            all.push(session.await.unwrap());
        }
        all
    });
    for answers in all {
        assert_eq!(answers, (0..10).collect::<Vec<_>>());
    }
    drop(committer);
    let summaries = store.lock().unwrap().list().unwrap();
    assert_eq!(summaries.len(), 16);
    assert!(summaries.iter().all(|summary| summary.due == 0));
}

#[test]
fn what_a_driver_does_can_go_to_another_thread() {
    fn is_send<T: Send>(_: &T) {}
    let committer = Committer::new(MemoryStore::new()).unwrap();
    is_send(&converse(committer.clone(), "s".into()));
    block_on(async {
        let mut hub = host(&committer, "s").await;
        is_send(&hub.carry_out(START));
        is_send(&hub);
    });
}

#[test]
fn a_call_that_is_dropped_loses_nothing() {
    let committer = Committer::new(MemoryStore::new()).unwrap();
    block_on(async {
        let mut hub = host(&committer, "s").await;
        hub.carry_out(START).await.unwrap();
        let dev = AgentId::new("dev").unwrap();
        let dev = hub.session_mut().unwrap().join(&dev, START).unwrap();
        let mut worker = member(&committer, "s").await;
        worker.carry_out(START).await.unwrap();
        for frame in std::mem::take(worker.link_mut()) {
            hub.receive(dev, frame.text.as_bytes(), START).unwrap();
        }
        // The store is held up, and the waiting call is dropped.
        let (go, wait) = mpsc::channel::<()>();
        let held_up = committer.ask(move |_| Ok(wait.recv().is_err()));
        {
            let call = pin!(hub.carry_out(START));
            let mut context = Context::from_waker(Waker::noop());
            assert!(matches!(call.poll(&mut context), Poll::Pending));
        }
        assert_eq!(*hub.link_mut(), []);
        drop(go);
        held_up.await.unwrap();
        hub.carry_out(START).await.unwrap();
        assert!(!hub.link_mut().is_empty(), "the answer to the member");
    });
}

#[test]
fn when_the_store_fails_nothing_leaves_and_the_session_is_put_aside() {
    let committer = Committer::new(MemoryStore::new()).unwrap();
    block_on(async {
        let mut hub = host(&committer, "s").await;
        hub.carry_out(START).await.unwrap();
        // `other` is a second driver of the same session.
        let mut other = host(&committer, "s").await;
        let message = plan("hub");
        for driver in [&mut hub, &mut other] {
            let session = driver.session_mut().unwrap();
            session.send(&Outbound::message(&message), START).unwrap();
        }
        other.carry_out(START).await.unwrap();
        let error = hub.carry_out(START).await.unwrap_err();
        assert_snapshot!(error, @"side `s@hub`: the side was opened again: only the last opening may commit");
        let error = hub.carry_out(START).await.unwrap_err();
        assert_snapshot!(error, @"the session was put aside when its store failed (side `s@hub`: the side was opened again: only the last opening may commit): open it again from the store");
    });
}

/// References lead to the same values as with a blocking driver.
#[test]
fn references_are_read_through_the_committer() {
    let mut other = met("other");
    let long = "It is far too long for a frame, so that it goes to cold state.";
    dev_says(&mut other, &plan("dev").with("text", long));
    let at = other.host.inbox[0].position();
    let mut room = open("s", &other.host.store);
    run(&mut room, 8);
    let granted = room.host.driver.session_mut().unwrap();
    let grant = Input::Grant {
        session: "other",
        key: "*",
    };
    granted.handle(grant, START).unwrap();
    run(&mut room, 8);
    let committer = Committer::new(Arc::clone(&other.host.store)).unwrap();
    block_on(async {
        let (mut here, mut there) = (host(&committer, "s").await, host(&committer, "other").await);
        let keys = [
            format!("ext.other.p{at}.text"),
            "ext.other.p99".into(),
            "cold.p1".into(),
            "ext.nowhere.p1".into(),
        ];
        for key in keys {
            let found = here.read(&Reference::parse(&key).unwrap()).await;
            assert_eq!(shown(found), read_at_host(&mut room, &key), "{key}");
        }
        let own = there.read(&Reference::parse("cold.k101_1").unwrap()).await;
        assert_eq!(shown(own), Value::from(long).to_string());
    });
}
