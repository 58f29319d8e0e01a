//! Tests of a driver: alone, with peers, and with a failing store.

mod awaiting;
mod reading;
mod tracing;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use accp_runtime::session::{
    Event, Input, MemberId, Options, Outbound, Reference, Rules, Time, Transmit,
};
use accp_runtime::{AgentId, DynamicFrame, Registry, Value};
use accp_session::{Batch, Entry, EntryKind, Snapshot};
use accp_store::{Driver, DriverError, MemoryStore, Retention, SideId, Store};
use accp_testkit::{Faults, Rng, Room, Runner, Shared, Side, Wire};
use insta::assert_snapshot;
use proptest::prelude::*;

static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(|| Arc::new(Registry::standard()));
static HUB: LazyLock<SideId> = LazyLock::new(|| SideId::new("s", "hub"));
const START: Time = Time::from_secs(1_714_000_000);
const TURN: Duration = Duration::from_millis(200);

fn options(session: &str, agent: &'static str) -> Options {
    Options::new(session, AgentId::new(agent).unwrap(), Arc::clone(&REGISTRY))
}

fn plan(agent: &'static str) -> DynamicFrame<'static> {
    DynamicFrame::new(agent, "req", "plan").unwrap()
}

/// A host and a member on one store.
fn open(session: &str, store: &Shared) -> Room {
    let (rules, options) = (Rules::default(), |agent| options(session, agent));
    let mut room = Room::open(Arc::clone(store), options("hub"), rules, START).unwrap();
    room.enter(Arc::clone(store), options("dev")).unwrap();
    room
}

/// A host and a member after the member has joined.
fn met(session: &str) -> Room {
    let mut room = open(session, &Shared::default());
    run(&mut room, 8);
    let dev = &room.members[0];
    assert!(dev.events.contains(&Event::Joined(dev.id)));
    room
}

fn run(room: &mut Room, turns: usize) {
    for _ in 0..turns {
        room.step(TURN).unwrap();
    }
}

/// Handles all waiting frames, and answers requests.
fn handle(side: &mut Side, now: Time) {
    for inbound in std::mem::take(&mut side.inbox) {
        let done = DynamicFrame::new(side.options.agent.as_str(), "done", "plan").unwrap();
        let done = done.with("re", inbound.position() as i64);
        let mut replies = Vec::new();
        if inbound.text().contains(">req:") {
            replies.push(Outbound::message(&done).answering(&inbound).unwrap());
        }
        let session = side.driver.session_mut().unwrap();
        session.handled(inbound.position(), &replies, now).unwrap();
    }
}

/// Sends a message as the member, and lets all sides receive it.
fn dev_says(room: &mut Room, message: &DynamicFrame<'_>) {
    let dev = &mut room.members[0].driver;
    dev.send(&Outbound::message(message), START).unwrap();
    run(room, 8);
}

fn read_at_host(room: &mut Room, key: &str) -> String {
    shown(room.host.driver.read(&Reference::parse(key).unwrap()))
}

fn read_at_member(room: &mut Room, key: &str) -> String {
    let dev = &mut room.members[0].driver;
    shown(dev.read(&Reference::parse(key).unwrap()))
}

/// Opens another driver of the host's side.
fn open_host(store: &Shared) -> Driver<Shared, Vec<Transmit>> {
    let (store, options) = (Arc::clone(store), options("s", "hub"));
    Driver::open_host(store, Vec::new(), options, Rules::default(), START).unwrap()
}

fn shown(read: Result<Option<Value<'static>>, DriverError>) -> String {
    match read {
        Ok(Some(value)) => value.to_string(),
        Ok(None) => "under way".into(),
        Err(error) => error.to_string(),
    }
}

fn log(store: &Shared, side: &SideId) -> Vec<Entry> {
    store.lock().unwrap().entries(side, 0, usize::MAX).unwrap()
}

proptest! {
    #[test]
    fn a_pair_comes_to_rest_with_everything_handled_once(
        seed in any::<u64>(),
        loss in 0..300_u64,
        duplication in 0..300_u64,
        delay in 0..300_u64,
        restarts in 0..60_u64,
    ) {
        let faults = Faults {
            loss,
            duplication,
            delay,
            latency: Duration::from_millis(50),
            jitter: Duration::from_millis(100),
            delayed_by: Duration::from_secs(5),
        };
        let mut rng = Rng::new(seed);
        let store = Shared::default();
        let mut room = open("s", &store);
        room.wire = Wire::new(rng.next_u64(), faults);
        let ids = [MemberId::HOST, room.members[0].id];
        let mut counts = [0_i64; 2];
        for _ in 0..60 {
            for (count, id) in counts.iter_mut().zip(ids) {
                let now = room.now;
                let side = room.side(id).unwrap();
                if rng.per_mille(200) {
                    let message = DynamicFrame::new(side.options.agent.as_str(), "req", "plan").unwrap();
                    let message = message.with("n", *count + 1);
                    if side.driver.send(&Outbound::message(&message), now).is_ok() {
                        *count += 1;
                    }
                }
                if rng.per_mille(500) {
                    handle(side, now);
                }
            }
            room.step(TURN).unwrap();
            for id in ids {
                if rng.per_mille(restarts) {
                    room.restart(id).unwrap();
                }
            }
        }
        room.wire.set_faults(Faults::default());
        let is_quiet = |room: &Room| room.sides().all(Side::is_quiet) && room.wire.next_arrival().is_none();
        for _ in 0..2000 {
            room.step(TURN).unwrap();
            for id in ids {
                let now = room.now;
                handle(room.side(id).unwrap(), now);
            }
            if is_quiet(&room) {
                break;
            }
        }
        room.step(TURN).unwrap();
        prop_assert!(is_quiet(&room));
        prop_assert_eq!(room.host.session().state(), room.members[0].session().state());

        let log = log(&store, &HUB);
        let frames = || log.iter().filter(|entry| entry.kind == EntryKind::Frame);
        for (count, sender) in counts.into_iter().zip(ids) {
            let own = frames().filter(|entry| entry.sender == sender);
            let payload = |entry: &Entry, key: &str| {
                let message = DynamicFrame::decode(&entry.text, &REGISTRY).unwrap();
                match message.payload.get(key) {
                    Some(Value::Integer(n)) => Some(*n),
                    _ => None,
                }
            };
            let numbers: Vec<_> = own.clone().filter_map(|entry| payload(entry, "n")).collect();
            prop_assert_eq!(numbers, (1..=count).collect::<Vec<_>>());
            let mut replies = BTreeMap::new();
            for re in own.filter_map(|entry| payload(entry, "re")) {
                *replies.entry(re as u64).or_insert(0) += 1;
            }
            let requests = frames().filter(|entry| entry.sender != sender);
            let requests = requests.filter(|entry| entry.text.contains(">req:"));
            let once: BTreeMap<u64, i32> = requests.map(|entry| (entry.position, 1)).collect();
            prop_assert_eq!(replies, once);
        }
        let summaries = store.lock().unwrap().list().unwrap();
        let due: Vec<_> = summaries.iter().map(|s| (s.side.to_string(), s.host, s.due)).collect();
        prop_assert_eq!(due, [("s@dev".to_owned(), false, 0), ("s@hub".to_owned(), true, 0)]);
    }
}

#[test]
fn a_peer_far_behind_is_sent_the_log_bit_by_bit() {
    let mut room = met("s");
    let held = room.members[0].session().position();
    for _ in 0..3000 {
        let message = DynamicFrame::new("hub", "done", "plan").unwrap();
        room.host
            .driver
            .send(&Outbound::message(&message), START)
            .unwrap();
    }
    room.host.carry_out(START).unwrap();
    // After a restart the host has no entries in memory and must read them all.
    room.restart(MemberId::HOST).unwrap();
    for _ in 0..200 {
        let left = room.step(TURN).unwrap();
        let from_host = left.iter().filter(|frame| frame.from == MemberId::HOST);
        let most = from_host
            .clone()
            .count()
            .max(left.len() - from_host.count());
        assert!(most < 200, "{most} frames left at once");
        let now = room.now;
        handle(&mut room.members[0], now);
    }
    assert_eq!(room.members[0].session().position(), held + 3000);

    // The host reports a value that the store has freed as expired.
    let retention = Retention { log_before: 500 };
    room.host.store.retain(&HUB, retention).unwrap();
    assert_snapshot!(read_at_host(&mut room, "cold.p400"), @"`$cold.p400`: E2002: the value of this reference has expired");
}

#[test]
fn when_the_store_fails_nothing_leaves_and_the_session_is_put_aside() {
    let mut room = met("s");
    // `other` stands for another process that has the same session open.
    let mut other = open_host(&room.host.store);
    let message = plan("hub");
    let outbound = Outbound::message(&message);
    other.send(&outbound, room.now).unwrap();
    room.host.driver.send(&outbound, room.now).unwrap();
    room.host.carry_out(room.now).unwrap();
    let before = log(&room.host.store, &HUB);

    let error = other.carry_out(room.now).unwrap_err();
    assert_snapshot!(error, @"side `s@hub`: an entry at position 4, where the log stands at 4: probably a second process has this side of the session open; close one of the two, then restore the session from its store");
    let reference = Reference::parse("ctx.budget").unwrap();
    assert_snapshot!(other.carry_out(room.now).unwrap_err(), @"the session was put aside when its store failed (side `s@hub`: an entry at position 4, where the log stands at 4: probably a second process has this side of the session open; close one of the two, then restore the session from its store): open it again from the store");
    assert_snapshot!(other.session_mut().unwrap_err(), @"the session was put aside when its store failed (side `s@hub`: an entry at position 4, where the log stands at 4: probably a second process has this side of the session open; close one of the two, then restore the session from its store): open it again from the store");
    assert_snapshot!(other.read(&reference).unwrap_err(), @"the session was put aside when its store failed (side `s@hub`: an entry at position 4, where the log stands at 4: probably a second process has this side of the session open; close one of the two, then restore the session from its store): open it again from the store");
    let (store, link) = other.into_parts();
    assert_eq!(link, []);
    assert_eq!(log(&store, &HUB), before);

    let mut again = open_host(&store);
    again.carry_out(room.now).unwrap();
    assert_eq!(again.session().position(), room.host.session().position());
}

#[test]
fn a_driver_can_be_sent_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Driver<Shared, Vec<Transmit>>>();
    is_send::<Driver<Box<dyn Store + Send>, Vec<Transmit>>>();
}

#[test]
fn a_store_that_a_panic_has_left_is_used_no_more() {
    let mut room = met("s");
    let store = Arc::clone(&room.host.store);
    let holder = std::thread::spawn(move || {
        let _held = store.lock().unwrap();
        panic!("while it is held");
    });
    holder.join().unwrap_err();
    room.host
        .driver
        .session_mut()
        .unwrap()
        .handle(
            Input::Grant {
                session: "other",
                key: "*",
            },
            room.now,
        )
        .unwrap();
    assert_snapshot!(room.host.driver.carry_out(room.now).unwrap_err(), @"another thread panicked while it used the store: open the store anew");
    assert_snapshot!(room.host.driver.carry_out(room.now).unwrap_err(), @"the session was put aside when its store failed (another thread panicked while it used the store: open the store anew): open it again from the store");
}

#[test]
fn what_was_kept_and_cannot_be_read_is_refused() {
    let mut store = MemoryStore::new();
    let snapshot = Some(Snapshot {
        position: 7,
        text: "{".into(),
    });
    let batch = Batch::new(false).with(|batch| batch.snapshot = snapshot);
    let of_host = batch.clone().with(|batch| batch.host = true);
    let dev = SideId::new("s", "dev");
    store.commit(&[(&HUB, &of_host), (&dev, &batch)]).unwrap();
    let link = Vec::<Transmit>::new;
    let rules = Rules::default();
    let host = Driver::open_host(&mut store, link(), options("s", "hub"), rules, START);
    assert_snapshot!(host.unwrap_err(), @"side `s@hub`: position 7 of the log cannot be read: EOF while parsing an object at line 1 column 1: take a copy of the store back from a backup");
    let mut boxed = Box::new(store);
    let member = Driver::open_member(&mut boxed, link(), options("s", "dev"), START);
    assert_snapshot!(member.unwrap_err(), @"side `s@dev`: position 7 of the log cannot be read: EOF while parsing an object at line 1 column 1: take a copy of the store back from a backup");
}

#[test]
fn a_side_is_opened_as_what_it_is() {
    let room = met("s");
    let (rules, link) = (Rules::default(), Vec::<Transmit>::new);
    let store = || Arc::clone(&room.host.store);
    let host = Driver::open_host(store(), link(), options("s", "dev"), rules, START);
    assert_snapshot!(host.unwrap_err(), @"side `s@dev`: a batch of the host, where the side of a member is kept: open the session as what it is, or under another agent");
    let member = Driver::open_member(store(), link(), options("s", "hub"), START);
    assert_snapshot!(member.unwrap_err(), @"side `s@hub`: a batch of a member, where the side of the host is kept: open the session as what it is, or under another agent");
}

#[test]
fn a_frame_whose_handler_fails_is_handed_out_again() {
    let mut room = met("s");
    let message = plan("hub");
    room.host
        .driver
        .send(&Outbound::message(&message), START)
        .unwrap();
    room.host.driver.carry_out(START).unwrap();
    for frame in std::mem::take(room.host.driver.link_mut()) {
        let text = frame.text.as_bytes();
        room.members[0]
            .driver
            .receive(MemberId::HOST, text, START)
            .unwrap();
    }
    // A call that succeeds also returns the events of the failed calls.
    let error =
        b"@hub>fail:error{code:E1001|msg:x|retry:false|schema:ER}[mid:910000000001,seq:4,of:~]";
    room.members[0]
        .driver
        .receive(MemberId::HOST, error, START)
        .unwrap();
    let (mut handled, mut events) = (Vec::new(), Vec::new());
    for is_ready in [false, true, true] {
        let Runner::Blocking(driver) = &mut room.members[0].driver else {
            panic!("another driver");
        };
        let served = driver.serve(START, |inbound| {
            handled.push(inbound.position());
            if is_ready {
                Ok(vec![])
            } else {
                Err("not now".into())
            }
        });
        assert_eq!(served.is_ok(), is_ready);
        events.push(served.unwrap_or_default().len());
    }
    assert_eq!((handled, events), (vec![4, 4], vec![0, 1, 0]));
    let summary = room.host.store.summary(room.members[0].driver.side());
    assert_eq!(summary.unwrap().unwrap().due, 0);
}
