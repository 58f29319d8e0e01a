//! Frames that wait for their handler while their time passes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use accp_runtime::AgentId;
use accp_runtime::session::{Event, Inbound, MemberId, Options, Outbound, Rules, Transmit};
use accp_session::Due;
use accp_store::{Driver, Handled, MemoryStore, Store as _};

use crate::sessions::sides::{NOW, options, plan};

fn fails(_: &Inbound) -> Handled<'_> {
    Err("not now".into())
}

/// A side with a frame of the other side, which expires after a minute. The handler of the frame has failed.
fn waiting(is_host: bool) -> (Driver<Arc<Mutex<MemoryStore>>, Vec<Transmit>>, Options) {
    let store = || Arc::new(Mutex::new(MemoryStore::new()));
    let (hub, dev) = (options("hub"), options("dev"));
    let mut host = Driver::open_host(store(), vec![], hub, Rules::default(), NOW).unwrap();
    let id = host.join(&AgentId::new("dev").unwrap(), NOW).unwrap();
    let mut member = Driver::open_member(store(), vec![], dev, NOW).unwrap();
    for round in 0..6 {
        let plan = plan(if is_host { "dev" } else { "hub" }, 1);
        let ask = Outbound::message(&plan).expiring(60);
        if round == 4 && is_host {
            member.send(&ask, NOW).unwrap();
        } else if round == 4 {
            host.send(&ask, NOW).unwrap();
        }
        drop(host.serve(NOW, fails));
        let down = host.link_mut().drain(..);
        member.receive_all(MemberId::HOST, down, NOW).unwrap();
        drop(member.serve(NOW, fails));
        let up = member.link_mut().drain(..);
        host.receive_all(id, up, NOW).unwrap();
    }
    let side = if is_host { host } else { member };
    let options = side.session().options().clone();
    (side, options)
}

/// A frame may wait for its handler until its ttl has elapsed, on each side, and across a restart.
#[test]
fn env_05_refuses_to_hand_out_a_frame_that_has_expired_since() {
    for case in 0..8 {
        let [is_host, restarts, is_in_time] = [1, 2, 4].map(|bit| case & bit > 0);
        let seconds = if is_in_time { 60 } else { 61 };
        let (mut side, options) = waiting(is_host);
        let now = NOW + Duration::from_secs(seconds);
        if restarts {
            let (store, link) = side.into_parts();
            side = if is_host {
                Driver::open_host(store, link, options, Rules::default(), now).unwrap()
            } else {
                Driver::open_member(store, link, options, now).unwrap()
            };
        }
        let mut left = Vec::new();
        let events = side.serve(now, |inbound| {
            left.push(inbound.time_left(now));
            Ok(vec![])
        });
        // The side measures the time by its own clock, from the instant at which it took the frame. The tolerance for
        // the clocks of others does not count, because the frame was made before.
        let expected = is_in_time.then_some(Some(Duration::ZERO));
        assert_eq!(left, Vec::from_iter(expected), "{is_host} {restarts}");
        let is_lapsed = |event: &Event| matches!(event, Event::Lapsed(_));
        assert_eq!(events.unwrap().iter().any(is_lapsed), !is_in_time);
        // The frame was folded like any other frame, and has its mark.
        assert!(side.session().state().position() >= 3);
        let name = side.side().clone();
        let mut store = side.into_parts().0;
        assert_eq!(store.summary(&name).unwrap().unwrap().due, 0);
        // The mark distinguishes a frame that no handler got from one that a handler had.
        let log = store.entries(&name, 1, usize::MAX).unwrap();
        let marks = log.iter().filter(|entry| entry.due == Due::Lapsed);
        let lapsed: Vec<_> = marks.map(|entry| entry.text.contains("ttl:60")).collect();
        assert_eq!(lapsed, Vec::from_iter((!is_in_time).then_some(true)));
    }
}
