//! The events that a driver reports for its frames (draft section 9, item 1).

use std::cell::RefCell;
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use accp_runtime::session::{MemberId, Outbound, Rules};
use accp_store::{SideId, StoreError, StoreErrorKind};
use accp_testkit::{Delivery, Faults, Shared, Side, Tapped, Wire};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::driver::{START, log, open, options, plan};

/// An event: its `agent`, its `way` and its `frame`.
type TracedFrame = [String; 3];

thread_local! {
    /// The events of this thread while [`record`] runs.
    static EVENTS: RefCell<Option<Vec<TracedFrame>>> = const { RefCell::new(None) };
}

/// Returns the frames that the drivers of this thread report while `run` runs. Other threads run other tests at that
/// time.
fn record(run: impl FnOnce()) -> Vec<TracedFrame> {
    static START: Once = Once::new();
    START.call_once(|| {
        tracing::subscriber::set_global_default(Recorder).unwrap();
        // Another test may have used the callsites before, and tracing remembers that nobody
        // listened to them.
        tracing::callsite::rebuild_interest_cache();
    });
    EVENTS.set(Some(Vec::new()));
    run();
    EVENTS.take().unwrap()
}

/// Returns the frames of an agent that were reported in this way, in order.
fn frames(events: &[TracedFrame], agent: &str, way: &str) -> Vec<String> {
    let is_it = |event: &&TracedFrame| event[0] == agent && event[1] == way;
    events
        .iter()
        .filter(is_it)
        .map(|event| event[2].clone())
        .collect()
}

/// Keeps the events of a thread.
struct Recorder;

/// Takes the fields of an event.
struct Fields<'a>(&'a mut TracedFrame);

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        let at = ["agent", "way", "frame"]
            .iter()
            .position(|name| *name == field.name());
        if let Some(place) = at.and_then(|at| self.0.get_mut(at)) {
            value.clone_into(place);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "accp::frames"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut frame = TracedFrame::default();
        event.record(&mut Fields(&mut frame));
        EVENTS.with_borrow_mut(|events| events.as_mut().map(|events| events.push(frame)));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Each frame is reported once as sent, arrived or kept, although the link repeats and loses frames, the host
/// refuses some, and every process is killed.
#[test]
fn each_frame_is_reported_whoever_is_killed() {
    let (mut sent, mut arrived) = (Vec::new(), Vec::new());
    let store = Shared::default();
    let events = record(|| {
        let mut room = open("s", &store);
        let faults = Faults {
            loss: 200,
            duplication: 200,
            latency: Duration::from_millis(50),
            ..Faults::default()
        };
        room.wire = Wire::new(7, faults);
        let ids = [MemberId::HOST, room.members[0].id];
        for turn in 0..60 {
            if turn % 10 == 5 {
                let now = room.now;
                for (id, agent) in ids.into_iter().zip(["hub", "dev"]) {
                    let driver = &mut room.side(id).unwrap().driver;
                    // A side that was just opened waits for its host, so this may fail.
                    drop(driver.send(&Outbound::message(&plan(agent)), now));
                }
                let refused = format!("@boss>req:plan{{}}[mid:1010000090{turn},seq:1]");
                room.wire.send(now, ids[1], ids[0], refused);
                room.wire.send(now, ids[1], ids[0], "no frame");
            }
            if turn % 20 == 19 {
                room.restart(ids[0]).unwrap();
                room.restart(ids[1]).unwrap();
            }
            room.now = room.now + Duration::from_secs(1);
            arrived.extend(room.arrive().unwrap());
            sent.extend(room.step(Duration::ZERO).unwrap());
        }
        assert!(room.wire.faulted().lost > 0 && room.wire.faulted().duplicated > 0);
    });
    let texts = |frames: &[Delivery], is_it: &dyn Fn(&Delivery) -> bool| -> Vec<String> {
        frames
            .iter()
            .filter(|frame| is_it(frame))
            .map(|frame| frame.text.clone())
            .collect()
    };
    for (agent, is_host) in [("hub", true), ("dev", false)] {
        let is_mine = |id: MemberId| (id == MemberId::HOST) == is_host;
        assert_eq!(
            frames(&events, agent, "sends"),
            texts(&sent, &|frame| is_mine(frame.from))
        );
        assert_eq!(
            frames(&events, agent, "receives"),
            texts(&arrived, &|frame| is_mine(frame.to))
        );
        let side = SideId::new("s", agent);
        let entries = log(&store, &side);
        let kept: Vec<String> = entries.iter().map(|entry| entry.text.to_string()).collect();
        assert_eq!(frames(&events, agent, "keeps"), kept);
        let has_refused = kept.iter().any(|text| text.starts_with("@boss>"));
        assert_eq!((kept.len() > 6, has_refused), (true, is_host), "{kept:?}");
    }
}

/// If the store refuses a frame, no report says that the frame was kept or sent.
#[test]
fn what_is_not_durable_is_not_reported() {
    let (options, rules) = (options("s", "hub"), Rules::default());
    let events = record(|| {
        let full = Tapped::new(Shared::default(), |_, _| {
            let what = "the disk is full";
            Err(StoreError::new(StoreErrorKind::Full, what))
        });
        let store = Arc::new(Mutex::new(full));
        let id = MemberId::HOST;
        let mut host = Side::open(id, store, vec![], options, Some(rules), START).unwrap();
        host.carry_out(START).unwrap_err();
    });
    assert_eq!(events, Vec::<TracedFrame>::new());
}
