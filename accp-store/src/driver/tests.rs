mod awaiting;
mod reading;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use accp_runtime::session::{
    Batch, Entry, EntryKind, Event, Inbound, Input, MemberId, Options, Outbound, Reference, Rules,
    Snapshot, Time, Transmit,
};
use accp_runtime::testing::{Faults, Link as Wire, Rng};
use accp_runtime::{AgentId, Message, Registry, Value};
use insta::assert_snapshot;
use proptest::prelude::*;

use crate::{Driver, DriverError, MemoryStore, Retention, SideId, Store};

static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(|| Arc::new(Registry::standard()));
static HUB: LazyLock<SideId> = LazyLock::new(|| SideId::new("s", "hub"));
const START: Time = Time::from_secs(1_714_000_000);

type Shared = Arc<Mutex<MemoryStore>>;
type Side = Driver<Shared, Vec<Transmit>>;

fn options(session: &str, agent: &'static str) -> Options {
    Options::new(session, AgentId::new(agent).unwrap(), Arc::clone(&REGISTRY))
}

fn plan(agent: &'static str) -> Message<'static> {
    Message::new(agent, "req", "plan").unwrap()
}

/// A host and a member on one store.
struct Pair {
    store: Shared,
    host: Side,
    member: Side,
    dev: MemberId,
    wire: Wire,
    now: Time,
    /// The most frames that left in one step.
    most: usize,
    /// What waits to be handled: the host's, the member's.
    inbox: [Vec<Inbound>; 2],
    events: [Vec<Event>; 2],
}

impl Pair {
    fn new(session: &str, store: Shared, wire: Wire) -> Self {
        let (host, dev) = open_host(session, &store, START);
        let member = open_member(session, &store);
        Self {
            store,
            host,
            member,
            dev,
            wire,
            now: START,
            most: 0,
            inbox: [const { Vec::new() }; 2],
            events: [const { Vec::new() }; 2],
        }
    }

    /// A pair that has met, on a link without faults.
    fn met(session: &str) -> Self {
        let store = Shared::default();
        let mut pair = Self::new(session, store, Wire::new(0, Faults::default()));
        pair.run(8);
        assert!(pair.events[1].contains(&Event::Joined(pair.dev)));
        pair
    }

    fn run(&mut self, steps: usize) {
        for _ in 0..steps {
            self.step();
        }
    }

    /// Time passes, frames arrive, both sides are carried out.
    fn step(&mut self) {
        self.now = self.now + Duration::from_millis(200);
        let now = self.now;
        while let Some(frame) = self.wire.deliver(now) {
            let text = frame.text.as_bytes();
            if frame.to == MemberId::HOST {
                self.host.receive(frame.from, text, now).unwrap();
            } else {
                self.member.receive(MemberId::HOST, text, now).unwrap();
            }
        }
        let ours = self.host.carry_out(now).unwrap();
        let theirs = self.member.carry_out(now).unwrap();
        for (at, outcome) in [ours, theirs].into_iter().enumerate() {
            self.inbox[at].extend(outcome.inbound);
            self.events[at].extend(outcome.events);
        }
        for (from, link) in [
            (MemberId::HOST, self.host.link_mut()),
            (self.dev, self.member.link_mut()),
        ] {
            self.most = self.most.max(link.len());
            for frame in link.drain(..) {
                self.wire.send(now, from, frame.to, frame.text);
            }
        }
    }

    /// Handles what waits, and answers requests.
    fn handle(&mut self, at: usize) {
        for inbound in std::mem::take(&mut self.inbox[at]) {
            let agent = ["hub", "dev"][at];
            let done = Message::new(agent, "done", "plan").unwrap();
            let done = done.with("re", inbound.position() as i64);
            let mut replies = Vec::new();
            if inbound.text().contains(">req:") {
                replies.push(Outbound::message(&done).answering(&inbound).unwrap());
            }
            let position = inbound.position();
            if at == 0 {
                let host = self.host.session_mut().unwrap();
                host.handled(position, &replies, self.now).unwrap();
            } else {
                let member = self.member.session_mut().unwrap();
                member.handled(position, &replies, self.now).unwrap();
            }
        }
    }

    /// The member says something, and everybody hears it.
    fn dev_says(&mut self, message: &Message<'_>) {
        let member = self.member.session_mut().unwrap();
        member.send(&Outbound::message(message), START).unwrap();
        self.run(8);
    }

    fn is_quiet(&self) -> bool {
        self.host.session().is_quiet()
            && self.member.session().is_quiet()
            && self.inbox.iter().all(Vec::is_empty)
            && self.wire.next_arrival().is_none()
    }

    fn read_at_host(&mut self, key: &str) -> String {
        shown(self.host.read(&Reference::parse(key).unwrap()))
    }

    fn read_at_member(&mut self, key: &str) -> String {
        shown(self.member.read(&Reference::parse(key).unwrap()))
    }
}

fn open_host(session: &str, store: &Shared, now: Time) -> (Side, MemberId) {
    let (store, options) = (Arc::clone(store), options(session, "hub"));
    let mut host = Driver::open_host(store, Vec::new(), options, Rules::default(), now).unwrap();
    let dev = AgentId::new("dev").unwrap();
    let dev = host.session_mut().unwrap().join(&dev, now).unwrap();
    (host, dev)
}

fn open_member(session: &str, store: &Shared) -> Side {
    let options = options(session, "dev");
    Driver::open_member(Arc::clone(store), Vec::new(), options, START).unwrap()
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
        let mut pair = Pair::new("s", Shared::default(), Wire::new(rng.next_u64(), faults));
        let mut said = [0_i64; 2];
        for _ in 0..60 {
            for at in 0..2 {
                if rng.per_mille(200) {
                    let message = plan(["hub", "dev"][at]).with("n", said[at] + 1);
                    let outbound = Outbound::message(&message);
                    let sent = match at {
                        0 => pair.host.session_mut().unwrap().send(&outbound, pair.now),
                        _ => pair.member.session_mut().unwrap().send(&outbound, pair.now),
                    };
                    if sent.is_ok() {
                        said[at] += 1;
                    }
                }
                if rng.per_mille(500) {
                    pair.handle(at);
                }
            }
            pair.step();
            if rng.per_mille(restarts) {
                (pair.host, _) = open_host("s", &pair.store, pair.now);
                pair.inbox[0].clear();
            }
            if rng.per_mille(restarts) {
                pair.member = open_member("s", &pair.store);
                pair.inbox[1].clear();
            }
        }
        pair.wire.set_faults(Faults::default());
        for _ in 0..2000 {
            pair.step();
            pair.handle(0);
            pair.handle(1);
            if pair.is_quiet() {
                break;
            }
        }
        pair.step();
        prop_assert!(pair.is_quiet());
        prop_assert_eq!(pair.host.session().state(), pair.member.session().state());

        let log = log(&pair.store, &HUB);
        let frames = || log.iter().filter(|entry| entry.kind == EntryKind::Frame);
        for (at, sender) in [MemberId::HOST, pair.dev].into_iter().enumerate() {
            let own = frames().filter(|entry| entry.sender == sender);
            let payload = |entry: &Entry, key: &str| {
                let message = Message::decode(&entry.text, &REGISTRY).unwrap();
                match message.payload.get(key) {
                    Some(Value::Integer(n)) => Some(*n),
                    _ => None,
                }
            };
            let numbers: Vec<_> = own.clone().filter_map(|entry| payload(entry, "n")).collect();
            prop_assert_eq!(numbers, (1..=said[at]).collect::<Vec<_>>());
            let mut replies = BTreeMap::new();
            for re in own.filter_map(|entry| payload(entry, "re")) {
                *replies.entry(re as u64).or_insert(0) += 1;
            }
            let requests = frames().filter(|entry| entry.sender != sender);
            let requests = requests.filter(|entry| entry.text.contains(">req:"));
            let once: BTreeMap<u64, i32> = requests.map(|entry| (entry.position, 1)).collect();
            prop_assert_eq!(replies, once);
        }
        let summaries = pair.store.lock().unwrap().list().unwrap();
        let due: Vec<_> = summaries.iter().map(|s| (s.side.to_string(), s.host, s.due)).collect();
        prop_assert_eq!(due, [("s@dev".to_owned(), false, 0), ("s@hub".to_owned(), true, 0)]);
    }
}

#[test]
fn a_peer_far_behind_is_sent_the_log_bit_by_bit() {
    let mut pair = Pair::met("s");
    let held = pair.member.session().position();
    for _ in 0..3000 {
        let message = Message::new("hub", "done", "plan").unwrap();
        let host = pair.host.session_mut().unwrap();
        host.send(&Outbound::message(&message), START).unwrap();
    }
    pair.host.carry_out(START).unwrap();
    // After a restart nothing is at hand, and all has to be read.
    (pair.host, _) = open_host("s", &pair.store, pair.now);
    pair.most = 0;
    for _ in 0..200 {
        pair.step();
        pair.handle(1);
    }
    assert_eq!(pair.member.session().position(), held + 3000);
    assert!(pair.most < 200, "{} frames left at once", pair.most);

    // What was let go of has expired.
    let retention = Retention { log_before: 500 };
    pair.store.lock().unwrap().retain(&HUB, retention).unwrap();
    assert_snapshot!(pair.read_at_host("cold.p400"), @"`$cold.p400`: E2002: the value of this reference has expired");
}

#[test]
fn when_the_store_fails_nothing_leaves_and_the_session_is_put_aside() {
    let mut pair = Pair::met("s");
    // Another process has the same session open.
    let (mut other, _) = open_host("s", &pair.store, pair.now);
    let message = plan("hub");
    let sent = other
        .session_mut()
        .unwrap()
        .send(&Outbound::message(&message), pair.now);
    sent.unwrap();
    pair.host
        .session_mut()
        .unwrap()
        .send(&Outbound::message(&message), pair.now)
        .unwrap();
    pair.host.carry_out(pair.now).unwrap();
    let before = log(&pair.store, &HUB);

    let error = other.carry_out(pair.now).unwrap_err();
    assert_snapshot!(error, @"side `s@hub`: an entry at position 4, where the log stands at 4: restore the session from its store");
    let reference = Reference::parse("ctx.budget").unwrap();
    assert_snapshot!(other.carry_out(pair.now).unwrap_err(), @"the session was put aside when its store failed (side `s@hub`: an entry at position 4, where the log stands at 4: restore the session from its store): open it again from the store");
    assert_snapshot!(other.session_mut().unwrap_err(), @"the session was put aside when its store failed (side `s@hub`: an entry at position 4, where the log stands at 4: restore the session from its store): open it again from the store");
    assert_snapshot!(other.read(&reference).unwrap_err(), @"the session was put aside when its store failed (side `s@hub`: an entry at position 4, where the log stands at 4: restore the session from its store): open it again from the store");
    let (store, link) = other.into_parts();
    assert_eq!(link, []);
    assert_eq!(log(&store, &HUB), before);

    let (mut again, _) = open_host("s", &store, pair.now);
    again.carry_out(pair.now).unwrap();
    assert_eq!(again.session().position(), pair.host.session().position());
}

#[test]
fn a_driver_can_be_sent_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Side>();
    is_send::<Driver<Box<dyn Store + Send>, Vec<Transmit>>>();
}

#[test]
fn a_store_that_a_panic_has_left_is_used_no_more() {
    let mut pair = Pair::met("s");
    let store = Arc::clone(&pair.store);
    let holder = std::thread::spawn(move || {
        let _held = store.lock().unwrap();
        panic!("while it is held");
    });
    holder.join().unwrap_err();
    pair.host
        .session_mut()
        .unwrap()
        .handle(
            Input::Grant {
                session: "other",
                key: "*",
            },
            pair.now,
        )
        .unwrap();
    assert_snapshot!(pair.host.carry_out(pair.now).unwrap_err(), @"another thread panicked while it used the store: open the store anew");
    assert_snapshot!(pair.host.carry_out(pair.now).unwrap_err(), @"the session was put aside when its store failed (another thread panicked while it used the store: open the store anew): open it again from the store");
}

#[test]
fn what_was_kept_and_cannot_be_read_is_refused() {
    let mut store = MemoryStore::new();
    let snapshot = Some(Snapshot {
        position: 7,
        text: "{".into(),
    });
    let batch = Batch {
        snapshot,
        ..Batch::default()
    };
    let of_host = Batch {
        host: true,
        ..batch.clone()
    };
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
    let pair = Pair::met("s");
    let (rules, link) = (Rules::default(), Vec::<Transmit>::new);
    let store = || Arc::clone(&pair.store);
    let host = Driver::open_host(store(), link(), options("s", "dev"), rules, START);
    assert_snapshot!(host.unwrap_err(), @"side `s@dev`: a batch of the host, where the side of a member is kept: open the session as what it is, or under another agent");
    let member = Driver::open_member(store(), link(), options("s", "hub"), START);
    assert_snapshot!(member.unwrap_err(), @"side `s@hub`: a batch of a member, where the side of the host is kept: open the session as what it is, or under another agent");
}

#[test]
fn a_frame_whose_handler_fails_is_handed_out_again() {
    let mut pair = Pair::met("s");
    let message = plan("hub");
    pair.host.send(&Outbound::message(&message), START).unwrap();
    pair.host.carry_out(START).unwrap();
    for frame in std::mem::take(pair.host.link_mut()) {
        let text = frame.text.as_bytes();
        pair.member.receive(MemberId::HOST, text, START).unwrap();
    }
    // What happened beside it is told when a call succeeds.
    let error =
        b"@hub>fail:error{code:E1001|msg:x|retry:false|schema:ER}[mid:910000000001,seq:4,of:~]";
    pair.member.receive(MemberId::HOST, error, START).unwrap();
    let (mut told, mut events) = (Vec::new(), Vec::new());
    for is_ready in [false, true, true] {
        let served = pair.member.serve(START, |inbound| {
            told.push(inbound.position());
            if is_ready {
                Ok(vec![])
            } else {
                Err("not now".into())
            }
        });
        assert_eq!(served.is_ok(), is_ready);
        events.push(served.unwrap_or_default().len());
    }
    assert_eq!((told, events), (vec![4, 4], vec![0, 1, 0]));
    let summary = pair.store.lock().unwrap().summary(pair.member.side());
    assert_eq!(summary.unwrap().unwrap().due, 0);
}
