//! Frames in parts whose parts come late, out of order, or not at all.

use std::time::Duration;

use accp_runtime::ErrorCode;
use accp_runtime::session::{Event, MemberId, Outbound, Rules};
use accp_session::Outgoing;

use crate::sessions::room::Room;
use crate::sessions::sides::{Node, counting, frame, numbers, open_host, options, plan};

const LONG: Duration = Duration::from_secs(40);

/// Acknowledged parts wait for the other parts without a time limit.
#[test]
fn a_frame_whose_parts_are_far_apart() {
    let mut room = Room::pair();
    let message = plan("dev", 1)
        .with("a", numbers(60))
        .with("b", numbers(60))
        .with("c", numbers(60));
    room.on_the_way(|passed| {
        if passed.text.contains(",pt:2/") {
            vec![]
        } else {
            vec![passed.text.clone()]
        }
    });
    room.say(0, &Outbound::message(&message));
    room.pass_often(10, LONG);
    room.heal();
    room.pass_often(10, LONG);
    assert_eq!(room.host.frames().len(), 1);
    assert_eq!(room.members[0].session().outbox_len(), 0);
}

/// A frame in parts is accepted or refused as a whole. Between two parts of this frame, the host may refuse parts
/// of other frames.
#[test]
fn frames_in_parts_that_are_refused_in_turn() {
    let mut room = Room::with(counting("hub"), Rules::default(), &[]);
    room.enter(counting("dev"));
    let now = room.now;
    let dev = room.members[0].session_mut();
    let mut names = Vec::new();
    for n in 1..3 {
        let message = plan("dev", n).with("a", numbers(60)).with("b", numbers(60));
        names.push(dev.send(&Outbound::message(&message), now).unwrap());
    }
    room.on_the_way(|_| vec![]);
    room.settle();
    let parts = room.members[0].stored().outbox;
    let [first, second] = [0, 1].map(|at| {
        let is_of = |frame: &&Outgoing| frame.tail.contains(&format!(",of:{}", names[at]));
        let parts = parts.iter().filter(is_of);
        parts.map(|frame| frame.mid.clone()).collect::<Vec<_>>()
    });
    assert!(first.len() > 1 && second.len() > 1);
    let in_turn = first
        .iter()
        .zip(&second)
        .flat_map(|(one, other)| [one, other]);
    let dev = room.members[0].session_mut();
    for of in in_turn {
        let refusal = format!(
            "@hub>fail:error{{code:E5001|msg:no|retry:false|schema:ER}}[mid:910000009999,seq:4,of:{of}]"
        );
        dev.receive(MemberId::HOST, refusal.as_bytes(), now);
    }
    room.settle();
    let told = room.members[0]
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Refused(mid, _) => Some(mid.clone()),
            _ => None,
        });
    assert_eq!(told.collect::<Vec<_>>(), names);
}

/// The events about a frame in parts report the tokens of the parts, not those of the whole.
#[test]
fn the_tokens_of_a_frame_in_parts() {
    let mut room = Room::pair();
    let message = plan("dev", 1)
        .with("a", numbers(60))
        .with("b", numbers(60))
        .with("c", numbers(60));
    room.say(0, &Outbound::message(&message));
    for event in &room.members[0].events {
        if let Event::OverSoftLimit {
            part: "body",
            tokens,
            limit,
            ..
        } = event
        {
            assert!(
                *tokens <= limit.hard,
                "{tokens} tokens, and no frame of so many was sent"
            );
        }
    }
}

/// A refused part ends its frame: its sender gives up the other parts, and the host refuses those that are still on the
/// way. A restarted host does the same.
#[test]
fn a_refused_part_ends_its_frame() {
    for restarts in [false, true] {
        let mut host = open_host(options("hub"), Rules::default());
        let part = |n, seq, head: &str, place: &str, of| {
            frame(head, n, seq, &format!(",pt:{place},of:10100000100{of}"))
        };
        host.takes(101, &part(1, 1, "@dev>req:plan{a:1}", "1/2", 1));
        let refused = host.refuses(101, &part(2, 2, "@dev>req:plan{b:1}", "1/2", 1));
        assert_eq!(refused.code, ErrorCode::PARSE_ERROR);
        if restarts {
            host.restart_as(options("hub"));
        }
        let last = host.refuses(101, &part(3, 2, "@dev>req:plan{b:2}", "2/2", 1));
        assert_eq!(last.code, ErrorCode::INVALID_TYPE, "restarted {restarts}");
    }
}

/// A later part can arrive first, under the number of an earlier frame. The host does not know yet which frame the part
/// belongs to, so it asks for the first part, and takes both in order.
#[test]
fn a_later_part_waits_for_the_first() {
    for restarts in [false, true] {
        let mut host = open_host(options("hub"), Rules::default());
        let part = |n, seq, pair: &str, at: &str| {
            let tail = format!(",pt:{at},of:101000001001");
            frame(&format!("@dev>req:plan{{{pair}}}"), n, seq, &tail)
        };
        let early = host.refuses(101, &part(2, 1, "b:2", "2/2"));
        assert_eq!(early.code, ErrorCode::TIMEOUT);
        assert!(early.message.contains("first part"), "{}", early.message);
        if restarts {
            host.restart_as(options("hub"));
        }
        host.takes(101, &part(1, 1, "a:1", "1/2"));
        host.takes(101, &part(2, 2, "b:2", "2/2"));
    }
}

/// If the last part completes a frame that is refused, the host discards the other parts, also if it has been restarted
/// in between.
#[test]
fn a_refused_whole_before_a_restart() {
    for restarts in [false, true] {
        let mut host = open_host(options("hub"), Rules::default());
        let part = |n, seq, head: &str, place: &str| {
            frame(head, n, seq, &format!(",pt:{place},of:101000001001"))
        };
        host.takes(101, &part(1, 1, "@dev>req:plan{a:1}", "1/2"));
        let refused = host.refuses(101, &part(2, 2, "@dev>req:plan{a:2}", "2/2"));
        assert_eq!(refused.code, ErrorCode::PARSE_ERROR);
        if restarts {
            host.restart_as(options("hub"));
        }
        let again = frame("@dev>req:plan{a:1}", 3, 2, ",pt:1/2,of:101000001003");
        host.takes(101, &again);
    }
}
