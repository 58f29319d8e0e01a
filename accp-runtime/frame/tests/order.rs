//! A reader first asks for the keys in the order of the writer, and then looks up the keys that remain. Both ways must
//! give the same values and the same errors.
//!
//! An unknown key before all other keys makes the reader look up every key. So the test reads each frame without such a
//! key and with it.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use accp_runtime::profiles::ScheduleReq;
use accp_runtime::{DecodeOptions, Typed, Value};
use proptest::prelude::*;

const HEADER: &str = "@planner>req:schedule{";
/// The keys of the fields and of the envelope under both names, in the order of a writer.
const FIELDS: [[&str; 2]; 6] = [
    ["asgn", "assignee"],
    ["task", "task"],
    ["pri", "priority"],
    ["dead", "deadline"],
    ["deps", "deps"],
    ["schema", "schema"],
];
const ENVELOPE: [[&str; 2]; 8] = [
    ["mid", "msg_id"],
    ["seq", "sequence"],
    ["ts", "timestamp"],
    ["cid", "correlation_id"],
    ["aid", "causation_id"],
    ["sid", "session_id"],
    ["ttl", "ttl"],
    ["more", "colour"],
];
/// For each of the `FIELDS`, a value that fits. `OTHERS` has values of all forms.
const FITTING: [&str; 6] = ["dev", "a", "high", "x_y", "[a,b]", "TA"];
const OTHERS: [&str; 16] = [
    "~",
    "$a.b",
    "7",
    "-7",
    "007",
    "1.5",
    "true",
    "\"a_b",
    r"a\:b",
    r"\@dev",
    "[~]",
    "[]",
    "{a:1}",
    "999999999999999999999",
    "x%20y",
    "",
];
const INSERTED: [&str; 14] = [
    "|", ",", ":", "{", "}", "[", "]", "~", "$", "\\", "\"", " ", "é", "0",
];

/// A param or a pair: the index of its field, the index of its name, whether its value fits the field, and a value of
/// any form, which is used if not.
type Pair = (usize, usize, bool, &'static str);

fn pairs(keys: usize) -> impl Strategy<Value = Vec<Pair>> {
    let pair = |at| {
        let other = prop::sample::select(&OTHERS[..]);
        (Just(at), 0..2_usize, prop::bool::weighted(0.9), other)
    };
    let all: Vec<_> = (0..keys).map(pair).collect();
    (all, any::<bool>(), 1..=keys).prop_flat_map(|(all, is_ordered, taken)| {
        let all = Just(all);
        let all = if is_ordered {
            all.boxed()
        } else {
            all.prop_shuffle().boxed()
        };
        all.prop_map(move |mut all| {
            all.truncate(taken);
            all
        })
    })
}

fn text_of(pairs: &[Pair], keys: &[[&str; 2]], fitting: &[&str], separator: &str) -> String {
    let text = pairs.iter().map(|&(at, name, fits, other)| {
        let value = fitting.get(at).filter(|_| fits).unwrap_or(&other);
        format!("{}:{value}", keys[at][name])
    });
    text.collect::<Vec<_>>().join(separator)
}

/// Inserts a text after this share of `text`, from 0 to 1.
fn insert(text: &mut String, (share, inserted): (f64, &str)) {
    let mut at = (text.len() as f64 * share) as usize;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    text.insert_str(at, inserted);
}

fn at_most(params: u32) -> DecodeOptions {
    let mut options = DecodeOptions::default();
    // A value from eight on stands for a limit that no frame of this test reaches.
    options.limits.params = if params < 8 { params } else { 256 };
    options
}

fn begins_with_key(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn keys_in_order_and_keys_that_are_looked_up_read_alike(
        fields in pairs(FIELDS.len()),
        envelope in pairs(ENVELOPE.len()),
        into_payload in prop::option::weighted(0.3, (0.0..1.0, prop::sample::select(&INSERTED[..]))),
        into_pairs in prop::option::weighted(0.3, (0.0..1.0, prop::sample::select(&INSERTED[..]))),
        cut in prop::option::weighted(0.3, 0.0..1.0),
        params in prop_oneof![2..7_u32, Just(9)],
    ) {
        let mut payload = text_of(&fields, &FIELDS, &FITTING, "|");
        let fitting = ["100001000008", "8", "1714000000", "100001000001", "a", "s", "300", "x"];
        let mut pairs = text_of(&envelope, &ENVELOPE, &fitting, ",");
        if let Some(into) = into_payload {
            insert(&mut payload, into);
        }
        if let Some(into) = into_pairs {
            insert(&mut pairs, into);
        }
        prop_assume!(begins_with_key(&payload) && begins_with_key(&pairs));

        // The text in the order that was generated, and the same text with further keys.
        let (body, metadata) = (HEADER.len(), HEADER.len() + payload.len() + 2);
        let mut text = format!("{HEADER}{payload}}}[{pairs}]");
        let mut other = format!("{HEADER}zz:0|{payload}}}[zz:0,{pairs}]");
        let moved = |at: usize| {
            at + 5 * (usize::from(at >= body) + usize::from(at >= metadata))
        };
        if let Some(share) = cut {
            let at = (text.len() as f64 * share) as usize;
            prop_assume!(at > body && at != metadata && text.is_char_boundary(at));
            other.truncate(moved(at));
            text.truncate(at);
        }
        // Few of these texts are so long that params are counted under the default limits.
        let read = Typed::<ScheduleReq<'_>>::decode_with(&text, &at_most(params));
        match (read, Typed::<ScheduleReq<'_>>::decode_with(&other, &at_most(params + 1))) {
            (Ok(read), Ok(looked_up)) => {
                prop_assert_eq!(&read.frame, &looked_up.frame);
                prop_assert_eq!(read.dropped(), &looked_up.dropped()[1..]);
                let mut envelope = read.envelope;
                if text.len() > metadata {
                    envelope.extra.insert("zz", Value::Integer(0));
                }
                prop_assert_eq!(envelope, looked_up.envelope);
            }
            (Err(read), Err(looked_up)) => {
                let limit = |params: u32| format!("at most {params} params");
                let expected = looked_up.expected().replace(&limit(params + 1), &limit(params));
                prop_assert_eq!(read.expected(), expected, "{}", text);
                prop_assert_eq!((read.code(), read.path()), (looked_up.code(), looked_up.path()));
                prop_assert_eq!(moved(read.at()), looked_up.at(), "{}", text);
            }
            (read, looked_up) => prop_assert!(false, "{text}: {read:?} {looked_up:?}"),
        }
    }
}
