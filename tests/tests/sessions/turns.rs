//! Turns of the members where all share one numbering.

use std::time::Duration;

use accp_runtime::profiles::ErrorFail;
use accp_runtime::session::{Mid, Outbound, Scope, Time, Transmit};
use accp_runtime::{ErrorCode, Typed};
use accp_session::EntryKind;

use crate::sessions::returns::are_acknowledged;
use crate::sessions::room::Room;
use crate::sessions::sides::{
    Heard, NOW, Node, Side, is_relay, member, mid_of, of, open_host, options, plan, rules,
};

const SECOND: Duration = Duration::from_secs(1);
/// The time that a member has for its turn: the retry time of the host.
const PATIENCE: Duration = Duration::from_secs(3);

/// Opens a host whose members share one numbering: `@dev`, `@qa` and `@ops`, 101 to 103.
fn host_of_three() -> Side {
    let mut hub = options("hub");
    hub.retry = PATIENCE;
    let mut host = open_host(hub, rules(Scope::Shared));
    host.join_as(&["ops"], false, NOW).unwrap();
    host.carries_out(NOW);
    host.greets(NOW);
    host
}

/// Returns a frame of a member with its n-th id, under this number.
fn numbered(from: u16, n: u32, seq: u64) -> String {
    let agent = ["dev", "qa", "ops"][usize::from(from) - 101];
    format!(
        "@{agent}>req:plan{{}}[mid:{from}000001{n:03},seq:{seq},ts:{}]",
        NOW.as_secs()
    )
}

/// Returns the members that the host called, each with the frame that it was called for and the number for the frame.
fn called(heard: &Heard) -> Vec<(u16, u32, i64)> {
    let call = |send: &Transmit| {
        let error = Typed::<ErrorFail<'_>>::decode(&send.text).unwrap().frame;
        assert_eq!(error.code, "E3003", "{}", send.text);
        let mid = of(&send.text).unwrap().to_string();
        let n = mid[9..].parse().unwrap();
        assert!(mid.starts_with(&send.to.to_string()), "{}", send.text);
        (send.to.number(), n, error.expected_sequence.unwrap())
    };
    let others = heard.others.iter();
    others
        .filter(|send| !is_relay(&send.text))
        .map(call)
        .collect()
}

/// Checks that the host accepts the frame at this time, and returns whom it calls then.
fn accepts(host: &mut Side, (from, n, seq): (u16, u32, u64), at: Time) -> Vec<(u16, u32, i64)> {
    let text = numbered(from, n, seq);
    let heard = host.hears(from, &text, at);
    let [entry] = &heard.entries[..] else {
        panic!("{text}: {heard:?}");
    };
    assert_eq!((entry.kind, entry.sequence), (EntryKind::Frame, seq));
    assert_eq!(Some(&entry.mid), mid_of(&text).as_ref());
    assert!(heard.sends[0].starts_with("@hub>ack:frame{}["), "{text}");
    called(&heard)
}

/// Checks that the host lets the frame wait, without an answer: its number is right, and it is the turn of another
/// member.
fn lets_wait(host: &mut Side, (from, n, seq): (u16, u32, u64), at: Time) {
    let heard = host.ignores(from, &numbered(from, n, seq), at);
    assert_eq!(heard.entries, []);
}

/// Checks that the host answers the frame with the number that is due.
fn is_told(host: &mut Side, (from, n, seq): (u16, u32, u64), due: i64) {
    let refused = host.refuses(from, &numbered(from, n, seq));
    let told = (refused.code, refused.expected_sequence);
    assert_eq!(told, (ErrorCode::SEQUENCE_GAP, Some(due)));
}

fn just_before(time: Time) -> Time {
    Time::from_millis(time.as_millis() - 1)
}

/// Members that could not take a number are called in the order in which they asked, each once.
#[test]
fn members_are_called_in_the_order_in_which_they_asked() {
    let mut host = host_of_three();
    assert_eq!(accepts(&mut host, (101, 1, 1), NOW), []);
    // No member had a turn, so the first member that learns the due number gets the turn.
    is_told(&mut host, (102, 1, 1), 2);
    lets_wait(&mut host, (103, 1, 2), NOW);
    is_told(&mut host, (101, 2, 1), 2);
    lets_wait(&mut host, (101, 2, 2), NOW);
    lets_wait(&mut host, (103, 1, 2), NOW);
    assert_eq!(accepts(&mut host, (102, 1, 2), NOW), [(103, 1, 3)]);
    is_told(&mut host, (102, 2, 2), 3);
    lets_wait(&mut host, (101, 2, 3), NOW);
    assert_eq!(accepts(&mut host, (103, 1, 3), NOW), [(101, 2, 4)]);
    assert_eq!(accepts(&mut host, (101, 2, 4), NOW), [(102, 2, 5)]);
    assert_eq!(accepts(&mut host, (102, 2, 5), NOW), []);
    // No member waits any more, so any member may go on.
    assert_eq!(accepts(&mut host, (103, 2, 6), NOW), []);
    let senders: Vec<_> = host.frames().iter().map(|e| e.sender.number()).collect();
    assert_eq!(senders, [101, 102, 103, 101, 102, 103]);
}

/// A turn that is not used is over after the retry time of the host, and not before. Nobody gets two
/// turns for asking twice.
#[test]
fn a_turn_that_is_not_used_passes_on() {
    let mut host = host_of_three();
    accepts(&mut host, (101, 1, 1), NOW);
    is_told(&mut host, (102, 1, 1), 2);
    lets_wait(&mut host, (103, 1, 2), NOW);
    lets_wait(&mut host, (103, 1, 2), NOW);
    let end = NOW + PATIENCE;
    lets_wait(&mut host, (101, 2, 2), just_before(end));
    // The member that comes first goes on, and the host calls the member that waits.
    assert_eq!(accepts(&mut host, (101, 2, 2), end), [(103, 1, 3)]);
    // The next turn has its own time. Member 103 does not use that turn either.
    let end = end + PATIENCE;
    lets_wait(&mut host, (102, 1, 3), just_before(end));
    lets_wait(&mut host, (101, 3, 3), just_before(end));
    assert_eq!(accepts(&mut host, (102, 1, 3), end), [(101, 3, 4)]);
    assert_eq!(accepts(&mut host, (101, 3, 4), end), []);
    assert_eq!(accepts(&mut host, (103, 1, 5), end), []);
}

/// A member that knows only the draft would conclude from the silence of the host that its frame was dropped. So
/// such a member waits for one turn at most, and then takes the number that is due.
#[test]
fn a_member_that_knows_the_draft_alone_waits_for_one_turn() {
    for is_plain in [false, true] {
        let mut host = host_of_three();
        let later = NOW + PATIENCE * 2;
        let end = later + PATIENCE;
        if is_plain {
            host.hears(103, "@ops>sync:registry{v:1|hash:a32838}", later);
        }
        // Returns how many entries a frame makes.
        let mut entries = |(from, n, seq), at| {
            let heard = host.hears(from, &numbered(from, n, seq), at);
            heard.entries.len()
        };
        assert_eq!(entries((101, 1, 1), later), 1);
        // It is the turn of member 102, and then of member 101. Member 103 has the right number,
        // but waits.
        assert_eq!(entries((102, 1, 1), later), 0);
        assert_eq!(entries((101, 2, 2), later), 0);
        assert_eq!(entries((103, 1, 2), later), 0);
        assert_eq!(entries((103, 1, 2), just_before(end)), 0);
        assert_eq!(entries((102, 1, 2), end), 1);
        assert_eq!(entries((103, 1, 3), end), usize::from(is_plain));
        let next = if is_plain { 4 } else { 3 };
        assert_eq!(entries((101, 2, next), end), 1);
    }
}

/// A frame that the host drops takes its number, so the turn of its sender is over.
#[test]
fn a_dropped_frame_ends_the_turn() {
    let mut host = host_of_three();
    accepts(&mut host, (101, 1, 1), NOW);
    is_told(&mut host, (102, 1, 1), 2);
    lets_wait(&mut host, (103, 1, 2), NOW);
    let expired = numbered(102, 1, 2).replace(&NOW.as_secs().to_string(), "1713999000,ttl:5");
    let heard = host.hears(102, &expired, NOW);
    assert_eq!(heard.entries[0].kind, EntryKind::Dropped);
    assert_eq!((heard.sends.len(), called(&heard)), (0, vec![(103, 1, 3)]));
}

/// Opens a room whose members share one numbering.
fn room_of_three() -> Room {
    Room::with(options("hub"), rules(Scope::Shared), &["dev", "qa", "ops"])
}

/// Lets each member send its frames `1` to `count` at the same time. Returns their ids.
fn send_at_once(room: &mut Room, count: i64) -> Vec<Vec<Mid>> {
    let now = room.now;
    let agents = ["dev", "qa", "ops"].into_iter().zip(&mut room.members);
    let sent = agents.map(|(agent, side)| {
        let mut send = |n| {
            side.session_mut()
                .send(&Outbound::message(&plan(agent, n)), now)
        };
        (1..=count).map(|n| send(n).unwrap()).collect()
    });
    sent.collect()
}

/// Returns the numbers of the senders in the log of the host, in order.
fn senders(room: &mut Room) -> Vec<u16> {
    let frames = room.host.frames();
    frames.iter().map(|entry| entry.sender.number()).collect()
}

/// Members that all want to send take turns, and no time has to pass.
#[test]
fn all_members_send_at_once() {
    let mut room = room_of_three();
    let sent = send_at_once(&mut room, 12);
    room.settle();
    assert_eq!(senders(&mut room), [101, 102, 103].repeat(12));
    let numbers: Vec<_> = room.host.frames().iter().map(|e| e.sequence).collect();
    assert_eq!(numbers, (1..=36).collect::<Vec<_>>());
    are_acknowledged(&room, &sent);
    room.check_replicas();
}

/// A member that falls silent in its turn holds up the others for the time of the turn only.
#[test]
fn a_member_falls_silent_in_its_turn() {
    let mut room = room_of_three();
    // The host gets the first frame of `@qa`, and no later one.
    let mut heard = 0;
    room.on_the_way(move |passed| {
        let is_lost = passed.from == member(102) && passed.text.contains(">req:plan{");
        heard += u32::from(is_lost);
        if is_lost && heard > 1 {
            return Vec::new();
        }
        vec![passed.text.clone()]
    });
    let sent = send_at_once(&mut room, 4);
    room.settle();
    assert_eq!(senders(&mut room), [101]);
    room.pass(SECOND);
    assert_eq!(senders(&mut room), [101, 101, 103, 101, 103, 101, 103, 103]);
    room.heal();
    room.pass_often(4, 40 * SECOND);
    assert_eq!(senders(&mut room)[8..], [102; 4]);
    are_acknowledged(&room, &sent);
    room.check_replicas();
}
