//! The copy of an answer, which a member gets if it asks for a transaction again.

use std::time::Duration;

use accp_runtime::DynamicFrame;
use accp_runtime::session::{MemberId, Outbound, Scope};
use accp_session::{Output, Read};
use accp_store::Store as _;

use crate::sessions::repeats::{BANK, asks, chain, heard, settled};
use crate::sessions::room::Room;
use crate::sessions::sides::{Node, member, options, rules};

/// The host is killed after it has committed the answer, and before it has read the answer's text to
/// make the copy.
#[test]
fn pro_tx_accepts_a_kill_between_an_answer_and_its_copy() {
    // The answer is in a fold, so that the host does not read it again from its log.
    let mut hub = options("hub");
    hub.snapshot_entries = 1;
    let mut room = Room::with(hub, rules(Scope::Sender), &["shop", "dev", "bank"]);
    asks(&mut room, 0, "t-1", 500);
    let second = asks(&mut room, 0, "t-1", 500);
    let (requests, _) = heard(&mut room);
    let (now, reply) = (room.now, settled("t-1").answering(&requests[0]).unwrap());
    let bank = &mut room.members[BANK];
    let handled = bank
        .session_mut()
        .handled(requests[0].position(), &[reply], now);
    handled.unwrap();
    let mut frames: Vec<_> = bank
        .carries_out(now)
        .into_iter()
        .map(|frame| (103, frame))
        .collect();
    let plan = DynamicFrame::new("dev", "req", "plan").unwrap();
    for _ in 0..40 {
        room.members[1]
            .session_mut()
            .send(&Outbound::message(&plan), now)
            .unwrap();
    }
    let more = room.members[1].carries_out(now);
    frames.extend(more.into_iter().map(|frame| (102, frame)));
    let id = room.host.driver.side().clone();
    let mut store = room.host.store.clone();
    let host = room.host.session_mut();
    for (from, frame) in frames {
        host.receive(member(from), frame.text.as_bytes(), now);
    }
    let (mut is_read, mut is_folded) = (false, false);
    while let Some(output) = host.poll() {
        match output {
            Output::Batch(batch) => {
                let fold = batch.snapshot.as_ref();
                is_folded |= fold.is_some_and(|fold| fold.text.contains("\"owed\":{\""));
                store.commit(&[(&id, &batch)]).unwrap();
            }
            Output::Read(Read::Entry { .. }) => {
                is_read = true;
                break;
            }
            output => panic!("{output:?}"),
        }
    }
    assert!(is_read && is_folded, "the copy waits for its text");
    room.restart(MemberId::HOST).unwrap();
    room.pass(Duration::from_secs(5));
    let (_, answers) = heard(&mut room);
    let copies = answers
        .iter()
        .filter(|(_, inbound)| chain(inbound) == second);
    let who: Vec<_> = copies.map(|(who, _)| *who).collect();
    assert_eq!(who, [member(101)]);
    room.check_replicas();
}
