//! Requirements of the draft where a user meets them: in a frame of a session, and after frames were
//! lost and sides were killed. `docs/conformance.md` (Layers) lists the tests of each layer.

mod context;
mod delivery;
mod frames;
mod profiles;
mod spelling;
mod state;

use std::time::Duration;

use accp_runtime::session::MemberId;
use accp_runtime::{DynamicFrame, ErrorCode};
use accp_tests::judges::agree;

use crate::sessions::room::{Passed, Room};
use crate::sessions::sides::{Node as _, STANDARD, Side};

/// Longer than the longest wait before a resend.
pub(crate) const LONG: Duration = Duration::from_secs(32);

/// Returns the verdict of the codec on a text: of both parsers, then of the types of the registry.
fn verdict(text: &str) -> Result<(), ErrorCode> {
    if !agree(text.as_bytes()) {
        return Err(ErrorCode::PARSE_ERROR);
    }
    let message = DynamicFrame::decode(text, &STANDARD);
    message.map(drop).map_err(|error| error.code())
}

/// From now on the link loses two of seven frames, repeats one, and holds one back until after the next frame from
/// the same sender to the same receiver.
pub(crate) fn spoil_link(room: &mut Room) {
    let mut count = 0;
    let mut late: Vec<Passed> = Vec::new();
    room.on_the_way(move |passed| {
        count += 1;
        let mut texts = match count % 7 {
            0 | 3 => vec![],
            1 => vec![passed.text.clone(); 2],
            5 => {
                late.push(passed.clone());
                return vec![];
            }
            _ => vec![passed.text.clone()],
        };
        let way = (passed.from, passed.to);
        let due = late.extract_if(.., |late| (late.from, late.to) == way);
        texts.extend(due.map(|late| late.text));
        texts
    });
}

/// Kills every side, and opens it again from its store. After the first kill a side reads its log.
/// From then on it keeps snapshots of its state, so after the next kill it reads a snapshot.
fn kill_all(room: &mut Room) {
    let sides: Vec<MemberId> = room.sides().map(|side| side.id).collect();
    for side in sides {
        room.side(side).unwrap().options.snapshot_entries = 1;
        room.restart(side).unwrap();
    }
}

/// Kills a host whose members the test plays by hand, and opens it again: from its log, and then from a snapshot.
fn kill(host: &mut Side) {
    let mut options = host.options.clone();
    options.snapshot_entries = 1;
    for _ in 0..2 {
        host.restart_as(options.clone());
    }
    assert!(host.stored().snapshot.is_some());
}

/// Heals the link, lets time pass until everything that can arrive has arrived, and checks that all sides have the
/// same state. Checks that each frame that a side has written keeps to the grammar, link frames too.
fn calm(room: &mut Room) {
    room.heal();
    room.pass_often(40, LONG);
    room.check_replicas();
    for passed in &room.passed {
        assert!(agree(passed.text.as_bytes()), "{}", passed.text);
    }
}

/// Kills every side while frames get lost, and lets the sides come to rest.
fn kill_all_and_calm(room: &mut Room) {
    spoil_link(room);
    kill_all(room);
    room.pass_often(4, LONG);
    kill_all(room);
    calm(room);
}
