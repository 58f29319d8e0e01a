//! Typed decode and encode, compared with other codecs in one run: `benches/page` runs it and writes its tables. With a part of a
//! title as argument, only such races run.
//!
//! The structs of the other codecs have the same fields under the same full names, and borrow from the input if the codec can.
//! prost, buffa and postcard have numbers or nothing in place of names. A dynamic frame is compared with a `serde_json::Value`.

mod shapes;

#[expect(dead_code, reason = "other benches use the rest")]
#[path = "../../src/race.rs"]
mod race;

use std::borrow::Cow;

use accp_runtime::{
    AgentId, DecodeFrame, DynamicFrame, EncodeFrame, EncodeOptions, Envelope, Registry, Typed,
};
use buffa::{Message as _, MessageView as _};
use prost::Message as _;
use race::{Contender, contender};
use serde_json::Value;
use shapes::generated::frames as owned;
use shapes::generated::frames::__buffa::view;
use shapes::{proto, *};

/// Compares the codecs on one message: its name, its frame, the type of the frame, the struct for serde, and the types of prost
/// and buffa with the value. `more` are further contenders of the decoding, `refused` a frame and a text of JSON that end too early.
macro_rules! compare {
    ($name:literal, $frame:expr, $typed:ty, $serde:ty, $proto:ty, $view:ty, $owned:ty, $value:expr, $more:expr) => {{
        let (frame, proto): (&str, $proto) = ($frame, $value);
        let typed = Typed::<$typed>::decode(frame).expect("the frame is valid");
        assert_eq!(typed.encode().as_deref(), Ok(frame), "{}", $name);
        let json = serde_json::to_string(&proto).expect("written");
        let peer: $serde = serde_json::from_str(&json).expect("read");
        assert_eq!(serde_json::to_string(&peer).ok().as_ref(), Some(&json));
        let msgpack = rmp_serde::to_vec_named(&peer).expect("written");
        let post = postcard::to_stdvec(&peer).expect("written");
        let mut cbor = Vec::new();
        ciborium::into_writer(&peer, &mut cbor).expect("written");
        let toon = toon_format::encode_default(&peer).expect("written");
        let protobuf = prost::Message::encode_to_vec(&proto);
        let buf = <$owned>::decode_from_slice(&protobuf).expect("read");
        assert_eq!(buffa::Message::encode_to_vec(&buf), protobuf);
        println!(
            "{}: bytes: ACCP {}, JSON {}, MessagePack {}, postcard {}, CBOR {}, protobuf {}, TOON {}\n",
            $name,
            frame.len(),
            json.len(),
            msgpack.len(),
            post.len(),
            cbor.len(),
            protobuf.len(),
            toon.len()
        );
        let mut copy = Vec::with_capacity(json.len());
        let mut all = vec![
            contender("serde_json", || {
                serde_json::from_str::<$serde>(&json).expect("valid")
            }),
            contender("accp", || Typed::<$typed>::decode(frame).expect("valid")),
            contender("sonic-rs", || {
                sonic_rs::from_str::<$serde>(&json).expect("valid")
            }),
            // It changes its input, so that it needs a copy each time.
            contender("simd-json", || {
                copy.clear();
                copy.extend_from_slice(json.as_bytes());
                let read: Result<$proto, _> = simd_json::from_slice(&mut copy);
                read.expect("valid")
            }),
            contender("rmp-serde", || {
                rmp_serde::from_slice::<$serde>(&msgpack).expect("valid")
            }),
            contender("postcard", || {
                postcard::from_bytes::<$serde>(&post).expect("valid")
            }),
            contender("ciborium, owned", || {
                ciborium::from_reader::<$proto, _>(cbor.as_slice()).expect("valid")
            }),
            contender("prost, owned", || {
                <$proto as prost::Message>::decode(protobuf.as_slice()).expect("valid")
            }),
            contender("buffa, view", || {
                <$view>::decode_view(&protobuf).expect("valid")
            }),
            contender("buffa, owned", || {
                <$owned>::decode_from_slice(&protobuf).expect("valid")
            }),
            contender("toon-format, owned", || {
                toon_format::decode_default::<$proto>(&toon).expect("valid")
            }),
            contender("pest, syntax tree", || accp_grammar::parse(frame).expect("valid")),
        ];
        all.extend($more);
        race(concat!($name, ", decode"), all);

        race(
            concat!($name, ", encode into a new buffer"),
            vec![
                contender("serde_json", || {
                    serde_json::to_string(&peer).expect("written")
                }),
                contender("accp", || typed.encode().expect("written")),
                contender("sonic-rs", || sonic_rs::to_string(&peer).expect("written")),
                contender("rmp-serde", || {
                    rmp_serde::to_vec_named(&peer).expect("written")
                }),
                contender("postcard", || postcard::to_stdvec(&peer).expect("written")),
                contender("ciborium", || {
                    let mut out = Vec::new();
                    ciborium::into_writer(&peer, &mut out).expect("written");
                    out
                }),
                contender("prost", || prost::Message::encode_to_vec(&proto)),
                contender("buffa", || buffa::Message::encode_to_vec(&buf)),
                contender("toon-format", || {
                    toon_format::encode_default(&peer).expect("written")
                }),
            ],
        );

        let mut text = String::with_capacity(2 * frame.len());
        let room = || Vec::with_capacity(2 * json.len());
        let (mut first, mut second, mut third) = (room(), room(), room());
        race(
            concat!($name, ", encode into the same buffer"),
            vec![
                contender("serde_json", || {
                    first.clear();
                    serde_json::to_writer(&mut first, &peer).expect("written");
                }),
                contender("accp", || {
                    text.clear();
                    typed
                        .encode_into(&mut text, EncodeOptions::default())
                        .expect("written");
                }),
                contender("prost", || {
                    second.clear();
                    proto.encode(&mut second).expect("written");
                }),
                contender("buffa", || {
                    third.clear();
                    buf.encode(&mut third);
                }),
            ],
        );

        // Whoever sends it makes a reader work for nothing.
        let (cut, short) = (&frame[..frame.len() - 1], &json[..json.len() - 1]);
        let (end, packed) = (&protobuf[..protobuf.len() - 1], &msgpack[..msgpack.len() - 1]);
        race(
            concat!($name, ", refuse what ends a byte too early"),
            vec![
                contender("serde_json", || {
                    serde_json::from_str::<$serde>(short).expect_err("short")
                }),
                contender("accp", || {
                    Typed::<$typed>::decode(cut).expect_err("short")
                }),
                contender("rmp-serde", || {
                    rmp_serde::from_slice::<$serde>(packed).expect_err("short")
                }),
                contender("prost, owned", || {
                    <$proto as prost::Message>::decode(end).expect_err("short")
                }),
                contender("buffa, view", || <$view>::decode_view(end).err().expect("short")),
            ],
        );
    }};
}

fn race(title: &str, contenders: Vec<Contender<'_>>) {
    let only = std::env::args().nth(1);
    if only.is_none_or(|only| title.contains(&only)) {
        race::race(title, contenders);
    }
}

/// Returns the frame of a message, in a session.
fn written<'a, T>(agent: &'a str, frame: T) -> String
where
    T: EncodeFrame + DecodeFrame<'a>,
{
    let envelope = Envelope {
        session_id: Some(Cow::Borrowed("abc-session")),
        ..Envelope::default()
    };
    let agent = AgentId::new(agent).expect("a name");
    Typed::new(agent, frame, envelope)
        .encode()
        .expect("written")
}

fn main() {
    compare!(
        "small",
        SMALL,
        Bread<'_>,
        Small<'_>,
        proto::Small,
        view::SmallView<'_>,
        owned::Small,
        small(),
        []
    );
    let same = Typed::<ScheduleTask<'_>>::decode(TYPICAL).expect("the frame is valid");
    for other in [SHUFFLED, FULL_NAMES, UNKNOWN] {
        let other = Typed::<ScheduleTask<'_>>::decode(other).expect("the frame is valid");
        assert_eq!(
            (other.frame, other.envelope),
            (same.frame.clone(), same.envelope.clone())
        );
    }
    let decode = |text| Typed::<ScheduleTask<'_>>::decode(text).expect("valid");
    compare!(
        "typical",
        TYPICAL,
        ScheduleTask<'_>,
        Typical<'_>,
        proto::Typical,
        view::TypicalView<'_>,
        owned::Typical,
        typical(),
        [
            contender("accp, in another order", || decode(SHUFFLED)),
            contender("accp, full names", || decode(FULL_NAMES)),
            contender("accp, unknown field", || decode(UNKNOWN)),
        ]
    );
    let value = serde_json::to_value(typical()).expect("written");
    let json = value.to_string();
    let registry = Registry::shared();
    let dynamic = DynamicFrame::decode(TYPICAL, registry).expect("the frame is valid");
    race(
        "dynamic, decode",
        vec![
            contender("serde_json::Value", || {
                serde_json::from_str::<Value>(&json).expect("valid")
            }),
            contender("accp, DynamicFrame", || {
                DynamicFrame::decode(TYPICAL, registry).expect("valid")
            }),
        ],
    );
    race(
        "dynamic, encode",
        vec![
            contender("serde_json::Value", || {
                serde_json::to_string(&value).expect("written")
            }),
            contender("accp, DynamicFrame", || {
                dynamic.encode(registry).expect("written")
            }),
        ],
    );
    let large = large();
    let frame = written(&large.agent, order(&large));
    compare!(
        "large",
        &frame,
        Order<'_>,
        Large<'_>,
        proto::Large,
        view::LargeView<'_>,
        owned::Large,
        large.clone(),
        []
    );
    let escaped = escaped();
    let note = Note {
        title: Cow::Borrowed(&escaped.title),
        text: Cow::Borrowed(&escaped.text),
    };
    let frame = written(&escaped.agent, note);
    compare!(
        "escaped",
        &frame,
        Note<'_>,
        Escaped<'_>,
        proto::Escaped,
        view::EscapedView<'_>,
        owned::Escaped,
        escaped.clone(),
        []
    );
}
