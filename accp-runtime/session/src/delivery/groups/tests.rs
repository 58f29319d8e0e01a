//! Assembly of frames from their parts.

use std::time::Duration;

use accp_registry::Registry;
use proptest::prelude::*;

use super::*;
use crate::delivery::parts::{Split, split};
use accp_frame::{FrameTokenLimits, TokenCounter, TokenLimit};

const NOW: Time = Time::from_secs(1000);
const LIMITS: GroupLimits = GroupLimits {
    groups: 2,
    bytes: 100,
    age: Duration::from_secs(60),
};

/// A counter of one token for four bytes.
struct Quarters;

impl TokenCounter for Quarters {
    fn name(&self) -> &'static str {
        "quarters"
    }

    fn count(&self, text: &str) -> usize {
        text.len().div_ceil(4)
    }
}

fn limits(body: usize, total: usize) -> FrameTokenLimits {
    let limit = |hard| TokenLimit { soft: 0, hard };
    FrameTokenLimits {
        body: limit(body),
        total: limit(total),
        ..FrameTokenLimits::DRAFT
    }
}

fn member(number: u16) -> MemberId {
    MemberId::new(number).unwrap()
}

fn part(of: &str, index: u16, total: u16) -> Part {
    Part {
        index,
        total,
        of: Mid::parse(of),
    }
}

fn accept(groups: &mut Groups, part: &Part, frame: &str) -> Result<Progress, DecodeError> {
    groups.accept(member(101), part, frame, NOW, &LIMITS)
}

/// Generates frames in parts, of several senders, with the parts in any order.
fn any_arrival() -> impl Strategy<Value = Vec<(u16, Part, String, String)>> {
    let parts = prop::collection::vec(1_usize..60, 6..12).prop_map(|lengths| {
        let params = lengths.iter().enumerate();
        let params = params.map(|(at, length)| format!("p{at}:{}", "x".repeat(*length)));
        let params: Vec<String> = params.collect();
        let frame = format!("@a>req:plan{{{}}}", params.join("|"));
        match split(&frame, &Registry::empty(), &limits(20, 60), &Quarters, 0) {
            Ok(Split::Parts(parts)) => (frame, parts),
            _ => (frame.clone(), vec![frame]),
        }
    });
    let frames = prop::collection::vec((101_u16..104, parts), 1..4);
    let all = frames.prop_map(|frames| {
        let each = frames
            .into_iter()
            .enumerate()
            .flat_map(|(at, (sender, (frame, parts)))| {
                let total = parts.len() as u16;
                parts.into_iter().enumerate().map(move |(index, text)| {
                    let label = part(&format!("m{at}"), index as u16 + 1, total);
                    (sender, label, text, frame.clone())
                })
            });
        each.collect::<Vec<_>>()
    });
    all.prop_shuffle()
}

proptest! {
    #[test]
    fn any_order_of_arrival_gives_the_frames(arrival in any_arrival()) {
        let limits = GroupLimits::default();
        let mut groups = Groups::default();
        let mut missing: BTreeMap<Mid, u16> = BTreeMap::new();
        for (sender, label, text, frame) in &arrival {
            // A snapshot keeps all parts.
            let snapshot = serde_json::to_string(&groups).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Groups>(&snapshot).unwrap(), &groups);

            let left = missing.entry(label.of.clone()).or_insert(label.total);
            *left -= 1;
            let sent = format!("{text}[mid:x,{label}]");
            let progress = groups.accept(member(*sender), label, &sent, NOW, &limits).unwrap();
            if *left == 0 {
                prop_assert_eq!(progress, Progress::Whole(frame.clone()));
                continue;
            }
            prop_assert_eq!(progress, Progress::Waiting);
            let before = groups.clone();
            prop_assert!(groups.accept(member(*sender), label, &sent, NOW, &limits).is_err());
            prop_assert_eq!(&groups, &before);
        }
        prop_assert!(groups.is_empty());
    }

    #[test]
    fn no_sender_keeps_more_than_its_bound(
        parts in prop::collection::vec(("[a-d]", 1_u16..6, 1_u16..6, 0_usize..60), 0..40),
    ) {
        let mut groups = Groups::default();
        for (of, index, total, length) in parts {
            let label = part(&of, index.min(total), total);
            let frame = format!("@a>req:plan{{x:1{}}}", "x".repeat(length));
            let before = groups.clone();
            match accept(&mut groups, &label, &frame) {
                Ok(Progress::Waiting) => prop_assert_ne!(&groups, &before),
                Ok(Progress::Whole(_)) => {}
                Err(_) => prop_assert_eq!(&groups, &before),
            }
            for groups in groups.senders.values() {
                prop_assert!(groups.len() <= LIMITS.groups);
                for group in groups.values() {
                    prop_assert!(group.parts.values().map(String::len).sum::<usize>() <= LIMITS.bytes);
                }
            }
        }
    }
}

#[test]
fn what_was_given_up_makes_room() {
    let mut groups = Groups::default();
    let mut accept = |of, index, secs: i64| {
        let part = part(of, index, 3);
        let frame = format!("@a>req:plan{{x{index}:1}}");
        let at = Time::from_secs(1000 + secs);
        groups.accept(member(101), &part, &frame, at, &LIMITS)
    };
    for (of, index, secs) in [("a", 1, 0), ("b", 2, 20), ("a", 3, 50)] {
        assert_eq!(accept(of, index, secs), Ok(Progress::Waiting));
    }
    assert!(accept("c", 1, 79).is_err());
    // No part of `b` has come for a minute, so `c` takes the room of `b`. `a` stays until another
    // frame needs room.
    assert_eq!(accept("c", 1, 80), Ok(Progress::Waiting));
    assert!(matches!(accept("a", 2, 500), Ok(Progress::Whole(_))));
}

#[test]
fn a_frame_is_forgotten_with_any_of_its_parts() {
    let mut groups = Groups::default();
    accept(&mut groups, &part("a", 1, 3), "@a>req:plan{x:1}").unwrap();
    groups.forget(member(102), &Mid::parse("a"));
    assert!(!groups.is_empty());
    groups.forget(member(101), &Mid::parse("a"));
    assert!(groups.is_empty());
}

#[test]
fn says_what_does_not_fit() {
    let mut groups = Groups::default();
    accept(&mut groups, &part("a", 1, 3), "@a>req:plan{x:1|schema:TA}").unwrap();
    accept(&mut groups, &part("b", 1, 3), "@a>req:plan{x:1}").unwrap();
    let before = groups.clone();
    let mut error = |part: &Part, frame: &str| {
        let error = accept(&mut groups, part, frame).unwrap_err().to_string();
        assert_eq!(groups, before);
        error
    };
    let same = "@a>req:plan{y:1|schema:TA}[mid:a]";
    insta::assert_snapshot!(error(&part("a", 2, 3), "@a>req:plan{y:1}"), @"E1004 at byte 0: expected the sender, intent, operation and schema of the first part");
    insta::assert_snapshot!(error(&part("a", 2, 3), "@a>done:plan{y:1|schema:TA}"), @"E1004 at byte 0: expected the sender, intent, operation and schema of the first part");
    insta::assert_snapshot!(error(&part("a", 2, 4), same), @"E1004 at byte 26: expected as many parts as the others say");
    insta::assert_snapshot!(error(&part("a", 1, 3), same), @"E1001 at byte 26: expected each part once");
    insta::assert_snapshot!(error(&part("c", 1, 3), same), @"E2003 at byte 26: expected at most 2 frames under way in parts");
    insta::assert_snapshot!(error(&part("a", 2, 3), "@a>req:plan{"), @"E1001 at byte 12: expected a key or '}' after '{', found the end");
    let long = format!("@a>req:plan{{y:{}|schema:TA}}", "x".repeat(60));
    insta::assert_snapshot!(error(&part("a", 2, 3), &long), @"E2003 at byte 85: expected at most 100 bytes in the parts of a frame");
}
