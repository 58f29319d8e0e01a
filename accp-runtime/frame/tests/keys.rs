//! A reader is fastest for keys in the order of the writer, but it must accept the keys of a frame in any order.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use accp_runtime::{AccpFrame, ErrorCode, Typed};
use proptest::prelude::*;

/// A reader compares the first eight bytes of a key. So some keys here are a little shorter or longer, some begin with
/// another key, and some have the same first bytes.
#[derive(AccpFrame, Debug, PartialEq)]
#[accp(intent = "req", operation = "measure")]
struct Measure {
    a: Option<i64>,
    seven_7: Option<i64>,
    #[accp(alias = "seven")]
    seven_7s: Option<i64>,
    seven_7st: Option<i64>,
    measured_in_metres: Option<i64>,
    measured_in_miles: Option<i64>,
    measured: Option<i64>,
    priority: Option<i64>,
}

/// The keys of each field: the full name, the short name and the aliases.
const KEYS: [&[&str]; 8] = [
    &["a"],
    &["seven_7"],
    &["seven_7s", "seven"],
    &["seven_7st"],
    &["measured_in_metres"],
    &["measured_in_miles"],
    &["measured"],
    &["priority", "pri"],
];
const UNKNOWN: [&str; 7] = [
    "b",
    "seven_",
    "seven_7s_",
    "seven_8s",
    "measured_in_me",
    "measured_in_metres_",
    "prioritys",
];
const ENVELOPE: [[&str; 2]; 7] = [
    ["mid", "msg_id"],
    ["seq", "sequence"],
    ["ts", "timestamp"],
    ["cid", "correlation_id"],
    ["aid", "causation_id"],
    ["sid", "session_id"],
    ["ttl", "ttl"],
];

proptest! {
    #[test]
    fn keys_stand_in_any_order_under_any_name(
        fields in Just((0..KEYS.len()).collect::<Vec<_>>()).prop_shuffle(),
        taken in 0..=KEYS.len(),
        names in prop::collection::vec(0..2_usize, KEYS.len()),
        unknown in prop::collection::vec(prop::sample::select(&UNKNOWN[..]), 0..3),
        pairs in Just((0..ENVELOPE.len()).collect::<Vec<_>>()).prop_shuffle(),
        pairs_taken in 0..=ENVELOPE.len(),
    ) {
        let fields = &fields[..taken];
        let mut params: Vec<String> = fields.iter().map(|&field| {
            let keys = KEYS[field];
            format!("{}:{field}", keys[names[field] % keys.len()])
        }).collect();
        for (at, key) in unknown.iter().enumerate() {
            params.insert((at * 3).min(params.len()), format!("{key}:x"));
        }
        let pairs = &pairs[..pairs_taken];
        let metadata: Vec<String> = pairs.iter().map(|&pair| {
            format!("{}:{}", ENVELOPE[pair][names[pair]], pair + 1)
        }).collect();
        let mut text = format!("@a>req:measure{{{}}}", params.join("|"));
        if !metadata.is_empty() {
            text = format!("{text}[{}]", metadata.join(","));
        }

        let read = Typed::<Measure>::decode(&text).unwrap();
        let of = |field: usize| fields.contains(&field).then_some(field as i64);
        prop_assert_eq!(&read.frame, &Measure {
            a: of(0),
            seven_7: of(1),
            seven_7s: of(2),
            seven_7st: of(3),
            measured_in_metres: of(4),
            measured_in_miles: of(5),
            measured: of(6),
            priority: of(7),
        });
        prop_assert_eq!(read.dropped(), &unknown[..]);
        let envelope = &read.envelope;
        let text_of = |pair: usize| pairs.contains(&pair).then(|| (pair + 1).to_string().into());
        prop_assert_eq!(&envelope.msg_id, &text_of(0));
        prop_assert_eq!(envelope.sequence, pairs.contains(&1).then_some(2));
        prop_assert_eq!(envelope.timestamp, pairs.contains(&2).then_some(3));
        prop_assert_eq!(&envelope.correlation_id, &text_of(3));
        prop_assert_eq!(&envelope.causation_id, &text_of(4));
        prop_assert_eq!(&envelope.session_id, &text_of(5));
        prop_assert_eq!(envelope.ttl, pairs.contains(&6).then_some(7));
    }

    /// If a field occurs twice, under one of its names or under two, the reader refuses the second value.
    #[test]
    fn a_key_stands_once(field in 0..KEYS.len(), first in 0..2_usize, second in 0..2_usize) {
        let keys = KEYS[field];
        let start = format!("@a>req:measure{{{}:1|{}:", keys[first % keys.len()], keys[second % keys.len()]);
        let text = format!("{start}2}}");
        let error = Typed::<Measure>::decode(&text).unwrap_err();
        prop_assert_eq!((error.code(), error.at()), (ErrorCode::PARSE_ERROR, start.len()));
    }
}
