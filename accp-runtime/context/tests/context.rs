//! The context of a session. It must stay within its budget, and its lines must be frames. Every
//! member that copies the log must have the same context, and the manifest must list all frames
//! that leave.

mod cases;
mod pair;
mod strategies;
mod table;
mod texts;

use accp_context::{Hot, Warm, render_context};
use accp_frame::Reader;
use accp_runtime::context::{Checkpoint, ContextLimits, Trigger};
use accp_runtime::{
    DecodeOptions, DynamicFrame, EncodeOptions, Envelope, Frame, Limits, Param, Registry,
    TokenCounter, Value,
};
use pair::Pair;
use proptest::prelude::*;
use strategies::{Said, frame, limits, said, value};

const INLINE: EncodeOptions<'static> = EncodeOptions {
    limits: Limits::NONE,
    inline: true,
    strict: false,
    externals: None,
};

/// The most expensive counter: every byte is a token.
struct Bytes;

impl TokenCounter for Bytes {
    fn name(&self) -> &'static str {
        "bytes"
    }

    fn count(&self, text: &str) -> usize {
        text.len()
    }
}

/// A counter close to a tokenizer.
struct Quarters;

impl TokenCounter for Quarters {
    fn name(&self) -> &'static str {
        "quarters"
    }

    fn count(&self, text: &str) -> usize {
        text.len().div_ceil(4)
    }
}

/// A counter that counts every text as one token.
struct Ones;

impl TokenCounter for Ones {
    fn name(&self) -> &'static str {
        "ones"
    }

    fn count(&self, _: &str) -> usize {
        1
    }
}

fn counter(index: usize) -> &'static dyn TokenCounter {
    [&Bytes as &dyn TokenCounter, &Quarters, &Ones][index % 3]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_member_that_copies_has_the_same_context_within_its_budget(
        said in prop::collection::vec(said(), 1..40), counter_index in 0..3_usize, limits in limits(),
    ) {
        let mut pair = Pair::new(counter(counter_index), limits);
        for said in &said {
            pair.turn(said)?;
        }
        pair.check_copies()?;
    }

    /// A payload from a peer must decode to a checkpoint or to an error.
    #[test]
    fn any_payload_is_a_checkpoint_or_an_error(
        entries in prop::collection::vec((prop::sample::select(vec![
            "id", "covers", "at", "on", "left", "kept", "old", "tok", "cold", "sum", "facts", "from",
            "old_tok", "old_facts", "old_cold", "old_sum", "old_from",
        ]), prop_oneof![
            3 => prop::sample::select(vec![
                "ckpt_1", "ckpt_2", "ckpt_0", "1-2", "p1-p2", "p2-p1", "[1-2,7]", "[[7,1],[9,1,true]]", "[[7,1],[7,1]]",
                "[done,hot]", "1", "0", "[[a,{k:v}]]", "[[k,a]]", "[[k,a,[[b,c],[_,[1,2]]]]]", "[[a,{k:{}}]]", "99999999999",
            ]).prop_map(|text| Value::read(&mut Reader::new(text, DecodeOptions::default()).unwrap()).unwrap().into_owned()),
            1 => value(),
        ]), 0..17),
    ) {
        let mut message = DynamicFrame::new("h", "sync", "checkpoint").unwrap();
        message.payload = [("id", "ckpt_3".into()), ("covers", 7.into()), ("at", 0.into())].into_iter().collect();
        message.payload = message.payload.into_iter().chain(entries.into_iter().map(|(k, v)| (k.into(), v))).collect();
        let Ok(text) = message.encode_with(Registry::shared(), INLINE) else { return Ok(()) };
        let Ok(checkpoint) = Checkpoint::decode(&text) else { return Ok(()) };
        let again = checkpoint.encode(&message.agent, Envelope::default()).unwrap();
        let again = Checkpoint::decode(&again).unwrap();
        prop_assert_eq!(&again, &checkpoint);
        let (mut hot, mut warm) = (Hot::default(), Warm::default());
        hot.insert(7, "@a>qry:x{}", 5, false).unwrap();
        hot.apply(&checkpoint);
        warm.apply(&checkpoint);
        let lines = warm.digests().len() + hot.lines().count();
        prop_assert_eq!(render_context(&warm, &hot).lines().count(), lines);
        let restored: Warm = serde_json::from_str(&serde_json::to_string(&warm).unwrap()).unwrap();
        prop_assert_eq!(restored, warm);
    }

    #[test]
    fn a_preview_is_a_short_frame_of_the_same_header(frame in frame(), position in any::<u64>()) {
        let mut hot = Hot::default();
        hot.insert(position, &frame, 1, true).unwrap();
        let header = frame.find('{').unwrap_or(0);
        prop_assert_eq!(hot.lines().count(), usize::from(header < 160 - "{ref:$cold.p}".len() - position.to_string().len() + 1));
        let Some(preview) = hot.lines().next() else { return Ok(()) };
        prop_assert!(preview.len() <= 160);
        let options = DecodeOptions { limits: Limits::NONE, marks: true };
        let (short, whole) = (Frame::parse(&preview).unwrap(), Frame::parse_with(&frame, &options).unwrap());
        prop_assert_eq!(
            (&short.agent, &short.intent, &short.operation),
            (&whole.agent, &whole.intent, &whole.operation)
        );
        let cold = format!("$cold.p{position}");
        prop_assert_eq!(short.get("ref").unwrap().as_str(), cold);
        for param in short.payload.iter().filter(|param| param.key != "ref") {
            let is_whole = whole.payload.contains(param);
            let begins = |other: &Param<'_>| other.value.as_str().starts_with(param.value.as_str());
            prop_assert!(is_whole || param.key == "begins" && whole.payload.iter().any(begins), "{}", preview);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn hundreds_of_chains_in_flight_stay_within_the_budget(
        frames in prop::collection::vec(frame(), 1..4), chains in 100..250_usize, counter_index in 0..3_usize,
    ) {
        let mut pair = Pair::new(counter(counter_index), ContextLimits::DRAFT);
        for turn in 0..chains {
            let said = Said {
                frame: frames[turn % frames.len()].clone(),
                void: 0,
                opens_chain: true,
                answers: None,
                triggers: if turn % 50 == 49 { vec![Trigger::Done] } else { vec![] },
                vetoed: false,
                is_phase: false,
                late: None,
            };
            pair.turn(&said)?;
        }
    }
}
