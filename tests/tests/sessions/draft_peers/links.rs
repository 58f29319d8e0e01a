//! Peers that know only the draft, over a link that fails.

use std::collections::BTreeMap;
use std::time::Duration;

use accp_runtime::session::{Event, Mid, Options, Outbound, Scope, SendError};
use proptest::prelude::*;

use crate::sessions::layers::{LONG, spoil_link};
use crate::sessions::room::Room;
use crate::sessions::sides::{Node as _, member, options, plan, rules};

/// Returns the options of an agent that speaks only the draft.
fn plain(agent: &'static str) -> Options {
    Options {
        extensions: false,
        ..options(agent)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The link fails, and sides are killed at any time. Each frame of a peer that knows only the
    /// draft is in the log once. Each frame of the others reaches the peer's handlers once and in
    /// order.
    #[test]
    fn everything_arrives_over_a_link_that_fails(
        kills in prop::collection::vec(prop::collection::vec(0..4_u16, 0..2), 8),
    ) {
        let mut room = Room::with(options("hub"), rules(Scope::Shared), &["dev"]);
        room.enter(plain("qa"));
        room.enter(plain("pm"));
        spoil_link(&mut room);
        let mut handled: [Vec<String>; 4] = Default::default();
        let handle = |room: &mut Room, handled: &mut [Vec<String>; 4]| {
            let now = room.now;
            handled[0].extend(room.host.handle_all(now));
            for (side, texts) in room.members.iter_mut().zip(&mut handled[1..]) {
                texts.extend(side.handle_all(now));
            }
            room.settle();
        };
        let mut said = BTreeMap::new();
        for (n, kills) in (1..).zip(kills) {
            for (index, agent) in [(0, "dev"), (1, "qa"), (2, "pm")] {
                let now = room.now;
                let session = room.members[index].session_mut();
                let sent: Result<Mid, SendError> = session.send(&Outbound::message(&plan(agent, n)), now);
                if sent.is_ok() {
                    said.insert((agent, n), 0);
                }
            }
            room.settle();
            for kill in kills {
                room.restart(member(100 + kill)).unwrap();
            }
            room.pass(Duration::from_secs(2));
            handle(&mut room, &mut handled);
        }
        room.heal();
        for _ in 0..40 {
            room.pass(LONG);
            handle(&mut room, &mut handled);
        }
        let mut log: Vec<String> = room.host.frames().iter().map(|entry| entry.text.to_string()).collect();
        log.retain(|text| text.contains(">req:plan{"));
        prop_assert_eq!(log.len(), said.len());
        for side in &room.members {
            prop_assert!(side.session().is_quiet(), "{:?}", side.id);
            let missed = side.events.iter().filter(|event| matches!(event, Event::Missed(_)));
            prop_assert_eq!(missed.count(), 0);
        }
        for (agent, handled) in ["dev", "qa", "pm"].into_iter().zip(&handled[1..]) {
            let is_anothers = |text: &&String| !text.starts_with(&format!("@{agent}>"));
            let expected: Vec<_> = log.iter().filter(is_anothers).collect();
            prop_assert_eq!(handled.iter().collect::<Vec<_>>(), expected, "{}", agent);
        }
        prop_assert!(room.host.session().is_quiet());
    }
}
