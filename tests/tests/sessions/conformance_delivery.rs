//! Conformance of delivery: each message id once, DLV-01, and frames in the order of their numbers,
//! DLV-02 (draft section 3.7). `docs/conformance.md` lists the tests of each requirement.

use std::collections::BTreeMap;

use accp_runtime::ErrorCode;
use accp_runtime::session::{Event, MemberId, Outbound, Scope};
use proptest::prelude::*;

use crate::sessions::room::Room;
use crate::sessions::sides::{NOW, Node, Side, frame, open_host, options, plan, rules};

fn host(scope: Scope) -> Side {
    open_host(options("hub"), rules(scope))
}

// ---- DLV-01 ------------------------------------------------------------------------

proptest! {
    /// Each id is accepted once. The ids come in any order, one by one or in whole runs, and none is in the range
    /// of another member.
    #[test]
    fn dlv_01_accepts_each_message_id_once(
        mids in prop::collection::vec(prop_oneof![0..20_u64, any::<u64>().prop_map(|n| n >> 16 | 0xa << 44)], 1..40),
        restarts: bool,
    ) {
        let mut host = host(Scope::Shared);
        let mut taken: BTreeMap<u64, i64> = BTreeMap::new();
        for mid in mids {
            let next = taken.len() as u64 + 1;
            let text = format!("@dev>req:plan{{}}[mid:{mid:012x},seq:{next}]");
            if restarts && mid % 8 == 0 {
                host.restart_as(options("hub"));
            }
            if let Some(sequence) = taken.get(&mid) {
                let refused = host.refuses(101, &text);
                prop_assert_eq!(refused.code, ErrorCode::DUPLICATE);
                prop_assert_eq!((refused.holder, refused.sequence), (Some(101), Some(*sequence)));
            } else {
                host.takes(101, &text);
                taken.insert(mid, next as i64);
            }
        }
    }
}

#[test]
fn dlv_01_refuses_a_message_id_that_was_seen_before() {
    for scope in [Scope::Shared, Scope::Sender] {
        let mut host = host(scope);
        let text = "@dev>req:plan{}[mid:49679033e07c,seq:1]";
        host.takes(101, text);
        // The id decides the fate of a copy, even if the copy has another number or content.
        for copy in [
            text,
            "@dev>req:plan{}[mid:49679033E07C,seq:1]",
            "@dev>req:plan{}[mid:49679033e07c,seq:2]",
            "@dev>req:plan{goal:other}[mid:49679033e07c,seq:7]",
        ] {
            let refused = host.refuses(101, copy);
            assert_eq!(refused.code, ErrorCode::DUPLICATE);
            assert_eq!((refused.holder, refused.sequence), (Some(101), Some(1)));
        }
        // If another sender uses the id, the ids clash.
        let next = if scope == Scope::Shared { 2 } else { 1 };
        let clash = format!("@qa>req:plan{{}}[mid:49679033e07c,seq:{next}]");
        let refused = host.refuses(102, &clash);
        assert_eq!(
            (refused.code, refused.holder),
            (ErrorCode::DUPLICATE, Some(101))
        );
        host.restart_as(options("hub"));
        assert_eq!(host.refuses(101, text).code, ErrorCode::DUPLICATE);
        host.takes(102, &clash.replace("e07c", "e07d"));
    }
}

/// A sender whose id clashes sends the frame under a new id, reports it, and loses nothing.
#[test]
fn dlv_01_accepts_the_frame_whose_id_another_has_used_under_a_new_one() {
    let mut room = Room::with(options("hub"), rules(Scope::Sender), &["dev", "qa"]);
    let dev = plan("dev", 1);
    let next = room.members[0]
        .session_mut()
        .send(&Outbound::message(&dev), NOW)
        .unwrap();
    let clash = format!(
        "@hub>fail:error{{code:E3002|msg:taken|retry:false|holder:102|seq:7|schema:ER}}\
         [mid:910000009999,seq:4,of:{next}]"
    );
    let dev = room.members[0].session_mut();
    dev.receive(MemberId::HOST, clash.as_bytes(), NOW);
    room.settle();
    let frames = room.host.frames();
    assert_eq!(frames.len(), 1);
    let event = room.members[0].events.iter().find_map(|event| match event {
        Event::Retried { old, new, code } => Some((old.clone(), new.clone(), *code)),
        _ => None,
    });
    assert_eq!(
        event,
        Some((next, frames[0].mid.clone(), ErrorCode::DUPLICATE))
    );
    room.check_replicas();
}

// ---- DLV-02 ------------------------------------------------------------------------

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Frames of two senders come in any order and many times. The host accepts only the next frame
    /// of each sender. It gives every other frame the answer that the model predicts.
    #[test]
    fn dlv_02_accepts_frames_in_the_order_of_their_numbers(
        arrivals in prop::collection::vec((101..=102_u16, 1..8_u64), 1..80),
    ) {
        let mut host = host(Scope::Sender);
        let mut next: BTreeMap<u16, u64> = BTreeMap::new();
        for (from, n) in arrivals {
            let agent = if from == 101 { "dev" } else { "qa" };
            let text = format!("@{agent}>req:plan{{n:{n}}}[mid:{from}000001{n:03},seq:{n}]");
            let next = next.entry(from).or_insert(1);
            if n == *next {
                let heard = host.takes(from, &text);
                prop_assert_eq!(heard.inbound.len(), 1);
                prop_assert_eq!(heard.inbound[0].text(), text);
                *next += 1;
            } else {
                let refused = host.refuses(from, &text);
                let (code, expected) = if n < *next {
                    (ErrorCode::DUPLICATE, None)
                } else {
                    (ErrorCode::SEQUENCE_GAP, Some(*next as i64))
                };
                prop_assert_eq!((refused.code, refused.expected_sequence), (code, expected));
            }
        }
    }
}

#[test]
fn dlv_02_refuses_a_gap_and_says_what_is_next() {
    // With one counter for all, the host tells an overtaken sender the next number, and the sender sends the frame
    // again under this number.
    let mut host = host(Scope::Shared);
    host.takes(101, &frame("@dev>req:plan{}", 1, 1, ""));
    let text = "@qa>req:plan{}[mid:102000001001,seq:1]";
    let refused = host.refuses(102, text);
    assert_eq!(refused.code, ErrorCode::SEQUENCE_GAP);
    assert_eq!(refused.expected_sequence, Some(2));
    host.takes(102, &text.replace("seq:1", "seq:2"));
    let refused = host.refuses(101, &frame("@dev>req:plan{}", 2, 9, ""));
    assert_eq!(refused.expected_sequence, Some(3));

    let mut room = Room::new(&["dev", "qa"]);
    for (index, agent) in [(0, "dev"), (1, "qa"), (0, "dev"), (1, "qa")] {
        let message = plan(agent, 0);
        let session = room.members[index].session_mut();
        session.send(&Outbound::message(&message), NOW).unwrap();
    }
    room.settle();
    let numbers: Vec<u64> = room
        .host
        .frames()
        .iter()
        .map(|entry| entry.sequence)
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    room.check_replicas();
}
