//! A wait ends in its time, whatever holds up the agent that waits.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use accp_client::{Error, Hub};
use accp_runtime::profiles::{InferStream, ScheduleDone, ScheduleReq};
use accp_runtime::session::{Options, Rules, Scope};
use accp_runtime::{AgentId, Registry};
use accp_store::{Committer, MemoryStore, Pending};
use tokio::time::{Instant, timeout};

const SECOND: Duration = Duration::from_secs(1);

fn task(name: &'static str) -> ScheduleReq<'static> {
    ScheduleReq::new(AgentId::new("dev").expect("a name"), name)
}

async fn hub_on(committer: &Committer) -> Hub {
    let options = Options::new(
        "lunch",
        AgentId::new("hub").expect("a name"),
        Arc::new(Registry::standard()),
    );
    let rules = Rules {
        scope: Scope::Sender,
        ..Rules::default()
    };
    let hub = Hub::open_on(committer, options, rules).await;
    hub.expect("a hub")
}

/// Keeps a store from all work until the sender is dropped.
fn hold_up(committer: &Committer) -> (std::sync::mpsc::Sender<()>, Pending<()>) {
    let (open, gate) = std::sync::mpsc::channel();
    let held = committer.ask(move |_| {
        // `recv` fails when the sender is dropped, and that ends the wait.
        gate.recv().unwrap_or_default();
        Ok(())
    });
    (open, held)
}

/// Returns how a wait ends, and after how many seconds. The clock of the test advances only while all tasks wait for
/// the clock.
async fn timed<T>(wait: impl Future<Output = T>) -> (u64, T) {
    let began = Instant::now();
    let ended = timeout(3600 * SECOND, wait).await;
    let ended = ended.expect("it ends before the store is free");
    (began.elapsed().as_secs(), ended)
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_held_up_holds_up_no_end_of_a_wait() {
    let committer = Committer::new(MemoryStore::new()).expect("a store");
    let hub = hub_on(&committer).await;
    let guest = hub.agent("guest").expect("an agent");
    let _dev = hub.agent("dev").expect("an agent");
    // After this the store has the beginning of the session, and the task of the hub waits for input.
    let first = hub.frames(1).next().await.expect("a store");
    assert!(first.is_some());
    hub.look(|_| ()).await.expect("a hub");
    let (open, held) = hold_up(&committer);

    // The session takes the first frame. From then on the task of the hub waits for the store.
    let soup = timed(guest.send(task("soup")).within(SECOND).into_future()).await;
    let (1, Err(Error::Pending(soup))) = soup else {
        panic!("{soup:?}");
    };
    let cake = timed(guest.send(task("cake")).within(2 * SECOND).into_future()).await;
    assert!(matches!(cake, (2, Err(Error::Unsent(_)))), "{cake:?}");
    let wine = timed(guest.send(task("wine")).within(SECOND).queued()).await;
    assert!(matches!(wine, (1, Err(Error::Unsent(_)))), "{wine:?}");
    let bread = guest.ask::<ScheduleDone>(task("bread")).within(3 * SECOND);
    let bread = timed(bread.into_future()).await;
    assert!(matches!(bread, (3, Err(Error::Timeout(_)))), "{bread:?}");
    let spelt = guest.ask::<ScheduleDone>(task("spelt")).within(2 * SECOND);
    let mut spelt = spelt.pieces::<InferStream>();
    assert!(matches!(timed(spelt.next()).await, (2, None)));
    let spelt = timed(spelt.answer()).await;
    assert!(matches!(spelt, (0, Err(Error::Timeout(_)))), "{spelt:?}");
    let rice = guest.ask::<ScheduleDone>(task("rice")).cancelling();
    let rice = timed(rice.within(SECOND).into_future()).await;
    assert!(matches!(rice, (1, Err(Error::Timeout(_)))), "{rice:?}");

    // The log has the questions and the frames that were reported as pending. It does not have the frames that were
    // reported as unsent. The question that was to be cancelled is cancelled.
    drop(open);
    held.await.expect("the store goes on");
    let mut log = hub.frames(1);
    let mut sent = Vec::new();
    let cancelled = loop {
        let entry = log.next().await.expect("a store").expect("a hub");
        if entry.text.starts_with("@guest>req:schedule{") {
            sent.push((entry.mid.clone(), entry.text.to_string()));
        }
        if entry.text.starts_with("@guest>cancel:task{") {
            break entry.text;
        }
    };
    let names = ["soup", "bread", "spelt", "rice"];
    assert_eq!(sent.len(), names.len(), "{sent:?}");
    for ((_, text), name) in sent.iter().zip(names) {
        assert!(text.contains(&format!("task:{name}|")), "{sent:?}");
    }
    assert_eq!(sent[0].0, soup);
    assert!(
        cancelled.contains(&format!("cid:{}", sent[3].0)),
        "{cancelled}"
    );
}

/// Until its first `await`, a handler runs on the task of its agent, and blocks that task.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_holds_up_no_end_of_a_wait() {
    let hub = Hub::open("lunch", MemoryStore::new()).await.expect("a hub");
    let (guest, dev) = (hub.agent("guest").unwrap(), hub.agent("dev").unwrap());
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let (tx, begun) = std::sync::mpsc::channel();
    let gate = std::sync::Mutex::new(gate);
    dev.serve(move |_: ScheduleReq<'static>, _| {
        tx.send(()).expect("the test listens");
        gate.lock().unwrap().recv().unwrap_or_default();
        async { Ok::<_, Error>(()) }
    });
    let first = guest.send(task("soup")).await.expect("it is sent");
    tokio::task::spawn_blocking(move || begun.recv())
        .await
        .expect("it ends")
        .expect("the handler has begun");

    let briefly = Duration::from_millis(20);
    let guard = 30 * SECOND;
    let bread = guest.ask::<ScheduleDone>(task("bread")).within(briefly);
    let bread = timeout(guard, bread.into_future()).await;
    assert!(matches!(bread, Ok(Err(Error::Timeout(_)))), "{bread:?}");
    let cake = guest.send(task("cake")).within(briefly).into_future();
    let cake = timeout(guard, cake).await;
    assert!(matches!(cake, Ok(Err(Error::Unsent(_)))), "{cake:?}");

    drop(open);
    let last = guest.send(task("wine")).await.expect("it is sent");
    let mut log = hub.frames(first.position.expect("a position"));
    let mut sent = String::new();
    while log.position() <= last.position.expect("a position") {
        sent += &log.next().await.expect("a store").expect("a hub").text;
    }
    let has = ["soup", "bread", "cake", "wine"].map(|name| sent.contains(&format!("task:{name}|")));
    assert_eq!(has, [true, true, false, true], "{sent}");
}
