//! Frames with long values that are sent separately, as a typed handler gets them: complete and in
//! order. If nobody has a value, the error names its field.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use accp_runtime::profiles::{ScheduleDone, ScheduleReq, TransactionReq};
use accp_runtime::session::{Event, Inbound, MemberId, Outbound, Rules, Time, Transmit};
use accp_runtime::{AgentId, Decimal, DecodeError, ErrorCode, Value};
use accp_store::{Driver, DriverError, MemoryStore};

use crate::sessions::sides::{NOW, dynamic, options, plan};

type Store = Arc<Mutex<MemoryStore>>;
type Node = Driver<Store, Vec<Transmit>>;

/// A host and a member, each with a store of its own, so that values have to travel.
pub(crate) struct Pair {
    pub(crate) host: Node,
    member: Node,
    stores: [Store; 2],
    pub(crate) now: Time,
    /// The time that a frame takes on the link.
    step: Duration,
    /// Whether the link loses the bytes of values.
    loses_values: bool,
    /// The events of the member.
    events: Vec<Event>,
}

impl Pair {
    pub(crate) fn new() -> Self {
        Self::with(Duration::from_millis(200))
    }

    fn with(step: Duration) -> Self {
        let stores = [(); 2].map(|()| Arc::new(Mutex::new(MemoryStore::new())));
        let mut host = Driver::open_host(
            stores[0].clone(),
            vec![],
            options("hub"),
            Rules::default(),
            NOW,
        )
        .unwrap();
        host.join(&AgentId::new("dev").unwrap(), NOW).unwrap();
        let member = Driver::open_member(stores[1].clone(), vec![], options("dev"), NOW).unwrap();
        let mut pair = Self {
            host,
            member,
            stores,
            now: NOW,
            step,
            loses_values: false,
            events: Vec::new(),
        };
        pair.pass(20);
        pair
    }

    /// Delivers the frames on the link, and lets the sides do their own work. The handlers fail each time.
    pub(crate) fn pass(&mut self, rounds: usize) {
        for _ in 0..rounds {
            self.now = self.now + self.step;
            let hub = self.host.serve(self.now, |_| Err("not yet".into()));
            let dev = self.member.serve(self.now, |_| Err("not yet".into()));
            for served in [hub, dev] {
                assert!(
                    matches!(served, Ok(_) | Err(DriverError::Handler(_))),
                    "{served:?}"
                );
            }
            self.deliver();
        }
    }

    fn deliver(&mut self) {
        let lost = self.loses_values;
        let passes = |frame: &Transmit| !(lost && frame.text.contains("|key:k"));
        let up: Vec<_> = self.member.link_mut().drain(..).filter(passes).collect();
        let down: Vec<_> = self.host.link_mut().drain(..).filter(passes).collect();
        let dev = MemberId::new(101).unwrap();
        self.host.receive_all(dev, up, self.now).unwrap();
        self.member
            .receive_all(MemberId::HOST, down, self.now)
            .unwrap();
    }

    /// Kills the member, and opens it again.
    pub(crate) fn restart(&mut self) {
        let store = self.stores[1].clone();
        self.member = Driver::open_member(store, vec![], options("dev"), self.now).unwrap();
    }

    /// Lets the member handle its frames for some rounds. Returns what it read, and the errors of
    /// its handler.
    pub(crate) fn member_serves<R>(
        &mut self,
        rounds: usize,
        read: impl Fn(&Inbound) -> Result<R, DecodeError>,
    ) -> (Vec<R>, Vec<String>) {
        let (mut got, mut faults) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            self.now = self.now + self.step;
            let served = self.member.serve(self.now, |inbound| {
                got.push(read(inbound)?);
                Ok(vec![])
            });
            match served {
                Ok(events) => self.events.extend(events),
                Err(DriverError::Handler(error)) => faults.push(error.to_string()),
                Err(error) => panic!("{error}"),
            }
            self.host.serve(self.now, |_| Ok(vec![])).unwrap();
            self.deliver();
        }
        (got, faults)
    }
}

fn schedule(task: String) -> ScheduleReq<'static> {
    ScheduleReq::new(AgentId::new("dev").unwrap(), task).priority("high")
}

fn task(inbound: &Inbound) -> Result<String, DecodeError> {
    Ok(inbound.decode::<ScheduleReq<'_>>()?.frame.task.into_owned())
}

/// A long text is sent by reference, and a handler gets the text itself. The frame is due again after a kill.
#[test]
fn a_long_text_arrives_whole() {
    let mut pair = Pair::new();
    let long = "tests for: a|b, {c} and 007 % ".repeat(40);
    for text in [long.clone(), String::from("short"), "~".repeat(60)] {
        let frame = schedule(text);
        pair.host.send(&Outbound::frame(&frame), pair.now).unwrap();
    }
    pair.pass(6);
    pair.restart();
    let (got, faults) = pair.member_serves(20, task);
    assert_eq!(
        (got, faults),
        (vec![long.clone(), "short".into(), "~".repeat(60)], vec![])
    );
    // Now the frame goes from the member to the host.
    let mut frame = schedule(long.clone());
    frame.assignee = AgentId::new("hub").unwrap();
    pair.member
        .send(&Outbound::frame(&frame), pair.now)
        .unwrap();
    pair.pass(6);
    let mut got = Vec::new();
    let served = pair.host.serve(pair.now, |inbound| {
        assert!(inbound.text().contains("task:$cold."), "{}", inbound.text());
        got.push(task(inbound)?);
        Ok(vec![])
    });
    served.unwrap();
    assert_eq!(got, [long]);
}

/// A frame waits for its bytes, and the frames behind it wait, too.
#[test]
fn frames_wait_for_their_values_in_their_order() {
    let mut pair = Pair::new();
    pair.loses_values = true;
    let long = "x".repeat(300);
    for text in [long.clone(), String::from("short")] {
        let frame = schedule(text);
        pair.host.send(&Outbound::frame(&frame), pair.now).unwrap();
    }
    assert_eq!(pair.member_serves(10, task), (vec![], vec![]));
    pair.loses_values = false;
    assert_eq!(
        pair.member_serves(40, task),
        (vec![long, "short".into()], vec![])
    );
}

/// Frames that wait one behind the other ask for their values together.
#[test]
fn values_are_asked_for_together() {
    let mut pair = Pair::new();
    for n in 0..9 {
        let frame = schedule(format!("{n}").repeat(60));
        pair.host.send(&Outbound::frame(&frame), pair.now).unwrap();
    }
    // The frames go to the member, its questions to the host, and the values back. A session asks
    // for eight values at a time.
    let (got, _) = pair.member_serves(8, task);
    assert_eq!(got.len(), 9);
}

/// A round trip takes longer than the time after which a side asks again.
#[test]
fn values_come_over_a_slow_link() {
    let mut pair = Pair::with(Duration::from_secs(2));
    let long = "x".repeat(300);
    pair.host
        .send(&Outbound::frame(&schedule(long.clone())), pair.now)
        .unwrap();
    assert_eq!(pair.member_serves(60, task).0, [long]);
}

/// A value that nobody supplies is an error that names the field. The frame stays due until somebody
/// supplies the value.
#[test]
fn a_value_that_nobody_supplies() {
    let mut pair = Pair::new();
    pair.loses_values = true;
    let long = "x".repeat(300);
    pair.host
        .send(&Outbound::frame(&schedule(long.clone())), pair.now)
        .unwrap();
    let (got, faults) = pair.member_serves(2_000, task);
    assert_eq!(got, [""; 0]);
    let fault = faults.first().map(String::as_str).unwrap_or_default();
    assert!(
        fault.starts_with("E2001") && fault.contains("ScheduleReq.task"),
        "{fault}"
    );
    let is_given_up = |event: &Event| matches!(event, Event::Unavailable(_));
    assert!(pair.events.iter().any(is_given_up));
    pair.loses_values = false;
    assert_eq!(pair.member_serves(1_000, task).0, [long]);
}

/// A value is checked against the type of the field that has its reference.
#[test]
fn a_reference_to_a_value_of_another_type() {
    let mut pair = Pair::new();
    let text = plan("hub", 1).with("note", "x".repeat(60));
    pair.host.send(&Outbound::message(&text), pair.now).unwrap();
    let key = "cold.k100_1";
    let report = dynamic("hub", "done", "schedule")
        .under("TA")
        .with("task", "x")
        .with("progress", Value::Ref(key.into()));
    pair.host
        .send(&Outbound::message(&report).in_chain("s"), pair.now)
        .unwrap();
    let pay = dynamic("hub", "req", "transaction")
        .under("TX")
        .with("transaction_id", "t-1")
        .with("account", Value::Ref(key.into()))
        .with("amount", Decimal::from(7));
    pair.host.send(&Outbound::message(&pay), pair.now).unwrap();
    let read = |inbound: &Inbound| -> Result<String, DecodeError> {
        if inbound.text().contains(">done:") {
            let Err(error) = inbound.decode::<ScheduleDone<'_>>() else {
                panic!("{}", inbound.text())
            };
            assert_eq!(error.code(), ErrorCode::INVALID_TYPE);
            return Ok(error.to_string());
        }
        if inbound.text().contains(">req:plan{") {
            return Ok(String::new());
        }
        let pay = inbound.decode::<TransactionReq<'_>>()?;
        Ok(pay.frame.account.unwrap_or_default().into_owned())
    };
    let (got, faults) = pair.member_serves(20, read);
    assert_eq!(faults, [""; 0]);
    assert_eq!(got.len(), 3);
    assert!(got[1].contains("progress"), "{got:?}");
    assert_eq!(got[2], "x".repeat(60));
}
