//! Splits frames into parts, and joins the parts again.

use proptest::prelude::*;

use super::reference::any_value;
use accp_frame::{
    DecodeOptions, Envelope, ErrorCode, FrameTokenLimits, Limits, TokenCounter, Value,
};
use accp_frame::{DynamicFrame, EncodeOptions, TokenLimit};
use accp_registry::Registry;
use accp_session::*;

/// A counter of one token for four bytes.
pub(crate) struct Quarters;
impl TokenCounter for Quarters {
    fn name(&self) -> &'static str {
        "quarters"
    }

    fn count(&self, text: &str) -> usize {
        text.len().div_ceil(4)
    }
}

pub(crate) fn limits(body: usize, total: usize) -> FrameTokenLimits {
    FrameTokenLimits {
        body: TokenLimit {
            soft: 0,
            hard: body,
        },
        total: TokenLimit {
            soft: 0,
            hard: total,
        },
        ..FrameTokenLimits::DRAFT
    }
}

const UNBOUNDED: DecodeOptions = DecodeOptions {
    limits: Limits::NONE,
    marks: true,
};

fn encode(message: &DynamicFrame<'_>) -> String {
    let options = EncodeOptions {
        inline: true,
        limits: Limits::NONE,
        ..EncodeOptions::default()
    };
    message.encode_with(&Registry::standard(), options).unwrap()
}

/// Generates frames of many params, some of them large.
fn any_frame() -> impl Strategy<Value = String> {
    let value = prop_oneof![3 => any_value(), 1 => "x{0,120}".prop_map(Value::from)];
    let params = prop::collection::vec(("[a-f]{1,3}|[ -~]{1,4}", value), 1..12);
    (params, any::<bool>()).prop_map(|(params, task)| {
        let mut message = DynamicFrame::new("a", "req", "schedule").unwrap();
        for (name, value) in params.into_iter().filter(|(name, _)| name != "schema") {
            message = message.with(name, value);
        }
        if task {
            message = message
                .under("TA")
                .with("task", "impl_auth")
                .with("assignee", "dev");
        }
        encode(&message)
    })
}

fn fits(frame: &str, limits: &FrameTokenLimits, metadata: usize) -> bool {
    let body = frame.find(':').map(|at| Quarters.count(&frame[at..]));
    body.is_some_and(|body| body <= limits.body.hard)
        && Quarters.count(frame) + metadata <= limits.total.hard
}

proptest! {
    #[test]
    fn parts_fit_and_say_the_same(frame in any_frame(), body in 10_usize..40, total in 30_usize..60) {
        let registry = Registry::standard();
        let limits = limits(body, total);
        match split(&frame, &registry, &limits, &Quarters, 5) {
            Ok(Split::Whole) => prop_assert!(fits(&frame, &limits, 5)),
            Ok(Split::Parts(parts)) => {
                prop_assert!(!fits(&frame, &limits, 5));
                prop_assert!(parts.len() > 1);
                for part in &parts {
                    let read = accp_frame::Frame::parse_with(part, &UNBOUNDED);
                    prop_assert!(read.is_ok());
                    prop_assert!(fits(part, &limits, 5 + 7), "{}", part);
                }
                prop_assert_eq!(join(&parts), Ok(frame));
            }
            Ok(Split::TooLarge(names)) => {
                prop_assert!(!names.is_empty());
                let message = DynamicFrame::decode_with(&frame, &registry, &UNBOUNDED).unwrap();
                for name in names {
                    prop_assert!(message.payload.get(&name).is_some(), "{} in {}", name, frame);
                }
            }
            Err(error) => prop_assert_eq!(error.code(), ErrorCode::BUDGET_EXCEEDED),
        }
    }

    #[test]
    fn what_is_too_large_fits_by_reference(frame in any_frame()) {
        let registry = Registry::standard();
        let limits = limits(30, 40);
        let mut text = frame.clone();
        // Each round takes out at least one param.
        for _ in 0..16 {
            match split(&text, &registry, &limits, &Quarters, 5) {
                Ok(Split::TooLarge(names)) => {
                    let mut message =
                        DynamicFrame::decode_with(&text, &registry, &UNBOUNDED).unwrap().into_owned();
                    for name in names {
                        message.payload.insert(name, Value::Ref("cold.k101_1".into()));
                    }
                    text = encode(&message);
                }
                // All keys that do not fit the grammar travel in one param, which cannot be
                // split.
                Err(error) => {
                    prop_assert_eq!(error.path(), "_");
                    return Ok(());
                }
                Ok(_) => return Ok(()),
            }
        }
        prop_assert!(false, "{}", text);
    }

    #[test]
    fn a_label_comes_back(index in 1_u16..=256, more in 0_u16..256, of in "[1-9][0-9]{11}|[0-9a-f]{12}|[ -~]{1,5}") {
        let total = (index + more).min(256);
        let part = Part { index, total, of: Mid::parse(&of) };
        let frame = format!("@a>req:plan{{}}[mid:x,{part}]");
        let envelope = accp_frame::Frame::parse(&frame).unwrap().envelope().unwrap();
        prop_assert_eq!(Part::read(&envelope, 13), Ok(Some(part)));
    }

    #[test]
    fn reads_any_label_or_refuses_it(pt in "[0-9/a-]{1,7}|[ -~]{0,4}", of in prop::option::of("[ -~]{0,4}")) {
        let mut envelope = Envelope::default();
        envelope.extra.insert("pt", Value::from(pt));
        if let Some(of) = of {
            envelope.extra.insert("of", Value::from(of));
        }
        if let Ok(part) = Part::read(&envelope, 0) {
            let part = part.unwrap();
            prop_assert!(1 <= part.index && part.index <= part.total && part.total <= 256);
        }
    }
}

#[test]
fn takes_the_largest_first() {
    let frame = format!(
        "@a>req:schedule{{dead:{}|q:{}|x:1|_:[[a-b,1],[c-d,{}]]|schema:TA}}",
        "t".repeat(90),
        "q".repeat(200),
        "o".repeat(100),
    );
    let split = split(&frame, &Registry::standard(), &limits(20, 60), &Quarters, 0);
    let names = ["query", "c-d", "deadline"].map(String::from).into();
    assert_eq!(split, Ok(Split::TooLarge(names)));
}

#[test]
fn says_what_cannot_be_split() {
    let error = |frame: &str, body| {
        split(
            frame,
            &Registry::standard(),
            &limits(body, 60),
            &Quarters,
            0,
        )
        .unwrap_err()
        .to_string()
    };
    insta::assert_snapshot!(error("@a>req:schedule{x:1|schema:TA}", 3), @"the header and the schema alone are over the token limits of a frame; shorten the names of agent and operation, or raise the limits");
    let long = format!("@a>req:plan{{{}:1}}", "k".repeat(90));
    insta::assert_snapshot!(error(&long, 20).replace(&"k".repeat(90), "KEY"), @"KEY: does not fit in a frame, not even as a reference; shorten the name, or raise the token limits");
    insta::assert_snapshot!(error("@a>req:plan{", 20), @"E1001 at byte 12: expected a key or '}' after '{', found the end");
    let join = |second| join(&["@a>req:plan{x:1}", second]).unwrap_err();
    insta::assert_snapshot!(join("@a>req:plan{y:1|schema:TA}"), @"E1004 at byte 0: expected the sender, intent, operation and schema of the first part");
    insta::assert_snapshot!(join("@b>req:plan{y:1}"), @"E1004 at byte 0: expected the sender, intent, operation and schema of the first part");
    let read = |metadata: &str| {
        let frame = format!("@a>req:plan{{}}[{metadata}]");
        let envelope = accp_frame::Frame::parse(&frame)
            .unwrap()
            .envelope()
            .unwrap();
        Part::read(&envelope, 13)
    };
    insta::assert_snapshot!(read("pt:4/3,of:a").unwrap_err(), @"E1004 at byte 13: expected the part as pt:1/3, at most 256 of them, and the id of the first as of");
    for wrong in [
        "pt:1/3",
        "pt:0/3,of:a",
        "pt:1/257,of:a",
        "pt:1,of:a",
        "pt:1/3,of:true",
    ] {
        assert_eq!(read(wrong), read("pt:4/3,of:a"), "{wrong}");
    }
    assert_eq!(read("of:a"), Ok(None));
}
