//! A hostile member, which may send any well-formed frame, harms nobody else.

use accp_runtime::ErrorCode;
use accp_runtime::session::{Event, Mid, Outbound, Scope};

use crate::room::Room;
use crate::sides::{NOW, Node, Side, frame, member, open_desk, options, plan, rules};

fn desk() -> Side {
    open_desk(options("hub"), rules(Scope::Sender))
}

/// Returns a frame of `@qa`, member 102, with its n-th id.
fn of_qa(head: &str, n: u32, seq: u64, more: &str) -> String {
    frame(head, n, seq, more).replace("[mid:101", "[mid:102")
}

/// The whole frame takes the id of its first part, so a part that names the frame of another would
/// give all stores two frames with one id.
#[test]
fn a_part_that_names_the_frame_of_another() {
    let mut desk = desk();
    desk.takes(101, &frame("@dev>req:plan{a:1}", 1, 1, ""));
    for (n, place) in [(1, "1/1"), (2, "1/2"), (3, "2/2")] {
        let more = format!(",pt:{place},of:101000001001");
        let refused = desk.refuses(102, &of_qa("@qa>req:plan{a:1}", n, 1, &more));
        assert_eq!(refused.code, ErrorCode::INVALID_TYPE, "{place}");
    }
    assert_eq!(desk.frames().len(), 1);
    let own = of_qa("@qa>req:plan{a:1}", 4, 1, ",pt:1/2,of:102000001004");
    desk.takes(102, &own);
}

/// An expired frame under the next id of another member does not mute that member.
#[test]
fn an_expired_frame_under_the_next_id_of_another() {
    for seq in [1, 2] {
        let mut desk = desk();
        let ts = NOW.as_secs() - 1000;
        let squat = format!("@qa>req:plan{{}}[mid:101000001001,seq:{seq},ts:{ts},ttl:1]");
        let refused = desk.refuses(102, &squat);
        assert_eq!(
            (refused.code, refused.holder),
            (ErrorCode::DUPLICATE, Some(101))
        );
        assert_eq!(desk.stored().seen.len(), 0);
        desk.takes(101, &frame("@dev>req:plan{}", 1, 1, ""));
    }
}

/// The chain of a frame belongs to the maker of its id, whatever others did in it, after a restart
/// too.
#[test]
fn the_chain_of_another_is_answered_reopened_and_cancelled() {
    for (cid, more) in [("101000001001", ""), ("lunch", ",cid:lunch")] {
        for restarts in [false, true] {
            let mut desk = desk();
            desk.takes(101, &frame("@dev>req:plan{}", 1, 1, more));
            let of_chain = format!(",cid:{cid}");
            desk.takes(102, &of_qa("@qa>done:plan{}", 1, 1, &of_chain));
            desk.takes(102, &of_qa("@qa>req:plan{}", 2, 2, &of_chain));
            if restarts {
                desk.restart_as(options("hub"));
            }
            let refused = desk.refuses(102, &of_qa("@qa>cancel:task{}", 3, 3, &of_chain));
            assert_eq!(refused.code, ErrorCode::POLICY_DENIED, "{cid}");
            desk.takes(101, &frame("@dev>wait:plan{}", 2, 2, &of_chain));
            desk.takes(101, &frame("@dev>cancel:task{}", 3, 3, &of_chain));
            assert!(desk.state().is_cancelled(&Mid::parse(cid)));
        }
    }
}

/// Chains under ids that were not used yet cannot be cancelled, and all frames under them arrive.
#[test]
fn chains_that_have_not_begun_are_cancelled() {
    let mut room = Room::with(options("hub"), rules(Scope::Sender), &["dev", "qa"]);
    let qa = member(102);
    for n in 1..=20 {
        let squat = format!("@qa>cancel:task{{}}[mid:102000001{n:03},seq:1,cid:101000001{n:03}]");
        room.host.session_mut().receive(qa, squat.as_bytes(), NOW);
    }
    for n in 0..20 {
        room.say(0, &Outbound::message(&plan("dev", n)));
    }
    assert_eq!(room.host.frames().len(), 20);
    room.check_replicas();
}

/// The number of a version never comes near its limit.
#[test]
fn the_last_version_of_the_shared_state() {
    let mut desk = desk();
    desk.takes(101, &frame("@dev>sync:state{state:{a:1}|v:1}", 1, 1, ""));
    for (n, version) in [(1, u64::MAX), (2, i64::MAX as u64), (3, 1_000_002)] {
        let head = format!("@qa>sync:state{{state:{{}}|v:#{version}}}");
        let head = if version > i64::MAX as u64 {
            head
        } else {
            head.replace("#", "")
        };
        let refused = desk.refuses(102, &of_qa(&head, n, 1, ""));
        assert_eq!(refused.code, ErrorCode::REF_NOT_FOUND, "{head}");
        assert_eq!(refused.version, Some(1));
    }
    desk.takes(
        102,
        &of_qa("@qa>sync:state{state:{b:1}|v:1000001}", 4, 1, ""),
    );
    desk.takes(
        101,
        &frame("@dev>sync:state{delta:{a:2}|v:1000002}", 2, 2, ""),
    );
}

/// A send needs one round trip, however many ids another member has tried to use up.
#[test]
fn squatted_ids() {
    let mut room = Room::with(options("hub"), rules(Scope::Sender), &["dev", "qa"]);
    let qa = member(102);
    for n in 1..=800 {
        let squat = format!("@qa>req:plan{{}}[mid:101000001{n:03},seq:{n}]");
        room.host.session_mut().receive(qa, squat.as_bytes(), NOW);
    }
    let mid = room.say(0, &Outbound::message(&plan("dev", 1)));
    let [accepted] = &room.host.frames()[..] else {
        panic!("more than one frame");
    };
    assert_eq!(accepted.mid, mid);
    let retried = |event: &Event| matches!(event, Event::Retried { .. });
    assert!(!room.members[0].events.iter().any(retried));
}

/// A member that joins later makes other ids than those that were used before it came.
#[test]
fn ids_that_were_squatted_before_a_member_joined() {
    let mut room = Room::with(options("hub"), rules(Scope::Sender), &["qa"]);
    let qa = member(101);
    for n in 1..=20 {
        let squat = format!("@qa>req:plan{{}}[mid:102000001{n:03},seq:{n}]");
        room.host.session_mut().receive(qa, squat.as_bytes(), NOW);
    }
    room.enter(options("dev"));
    let mid = room.say(1, &Outbound::message(&plan("dev", 1)));
    assert_eq!(mid, Mid::parse("102000002001"));
    assert_eq!(
        room.host.frames().last().map(|entry| entry.mid.clone()),
        Some(mid)
    );
}

/// A frame names a chain in at most 128 characters, because sessions remember names.
#[test]
fn the_name_of_a_chain_is_long() {
    let mut desk = desk();
    for (n, key) in [(1, "cid"), (2, "aid")] {
        let more = |length| format!(",{key}:{}", "x".repeat(length));
        let refused = desk.refuses(101, &frame("@dev>req:plan{}", n, u64::from(n), &more(129)));
        assert_eq!(refused.code, ErrorCode::PARSE_ERROR);
        desk.takes(
            101,
            &frame("@dev>req:plan{}", n + 2, u64::from(n), &more(128)),
        );
    }
}

/// The open chains and the names of one member do not push out those of another.
#[test]
fn one_member_opens_many_chains() {
    let mut hub = options("hub");
    hub.backlog = 10_000;
    let mut desk = open_desk(hub, rules(Scope::Sender));
    desk.takes(101, &frame("@dev>req:plan{}", 1, 1, ",cid:lunch"));
    for n in 0..5000 {
        let text = format!(
            "@qa>req:plan{{}}[mid:{:012},seq:{},cid:c{n}]",
            102_000_001_001_u64 + n,
            n + 1
        );
        desk.session_mut()
            .receive(member(102), text.as_bytes(), NOW);
    }
    desk.carries_out(NOW);
    assert_eq!(desk.state().position(), 3 + 5002);
    let cancel = "@qa>cancel:task{}[mid:102000009001,seq:5001,cid:lunch]";
    assert_eq!(desk.refuses(102, cancel).code, ErrorCode::POLICY_DENIED);
    // A frame below the chain of `@dev` is still told from one in a chain of its own.
    desk.takes(
        101,
        &frame("@dev>req:plan{}", 2, 2, ",cid:bread,aid:101000001001"),
    );
    desk.takes(101, &frame("@dev>cancel:task{}", 3, 3, ",cid:lunch"));
    assert!(desk.state().is_cancelled(&Mid::parse("bread")));
}

/// A time beyond all times is refused; it is not taken for the last one.
#[test]
fn a_ttl_beyond_all_times() {
    let mut desk = desk();
    let refused = desk.refuses(
        101,
        &frame("@dev>req:plan{}", 1, 1, &format!(",ttl:{}", i64::MAX)),
    );
    assert_eq!(refused.code, ErrorCode::INVALID_TYPE);
    desk.takes(101, &frame("@dev>req:plan{}", 2, 1, ",ttl:1000000000"));
}
