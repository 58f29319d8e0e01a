//! Conformance of streams: STR (draft sections 4.1 and 10.4).
//! `docs/conformance.md` lists the tests of each requirement.

use accp_runtime::profiles::InferStream;
use accp_runtime::session::{
    Chunk, Event, Inbound, MemberId, Outbound, Router, StreamLimits, Streams,
};
use accp_runtime::{DecodeError, DynamicFrame, ErrorCode};
use proptest::prelude::*;

use crate::sessions::room::Room;
use crate::sessions::sides::{self, NOW, Node, counting, envelope, frame, open_host, options};

fn chunk(index: i64, data: &str, is_final: bool) -> InferStream<'_> {
    InferStream {
        chunk_index: index,
        total_chunks: None,
        data: data.into(),
        is_final,
    }
}

/// A receiver: the chunks of each stream in order, and the streams that have ended.
struct Ear {
    streams: Streams,
    heard: Vec<(String, Chunk)>,
    ended: Vec<(String, bool)>,
    refused: Vec<ErrorCode>,
}

impl Ear {
    fn new(limits: StreamLimits) -> Self {
        Self {
            streams: Streams::new(limits),
            heard: Vec::new(),
            ended: Vec::new(),
            refused: Vec::new(),
        }
    }

    fn take(
        &mut self,
        sender: MemberId,
        cid: &str,
        chunk: &InferStream<'_>,
    ) -> Result<(), DecodeError> {
        let result = self.streams.push(sender, cid, chunk);
        let ready = self.streams.ready(sender, cid);
        self.heard
            .extend(ready.map(|chunk| (cid.to_owned(), chunk)));
        self.refused
            .extend(result.as_ref().err().map(DecodeError::code));
        result
    }

    /// Takes all delivered frames, as an application does.
    fn hear(&mut self, inbound: Vec<Inbound>) {
        let router = Router::<Self, ()>::new()
            .on::<InferStream<'_>>(|ear, typed, inbound| {
                let cid = typed.envelope.correlation_id.unwrap();
                let _ = ear.take(inbound.sender(), &cid, &typed.frame);
            })
            .otherwise(|ear, inbound| {
                let cid = envelope(inbound.text()).unwrap().correlation_id.unwrap();
                if let Some(ended) = ear.streams.end(inbound.sender(), &cid) {
                    ear.ended.push((cid.into_owned(), ended.is_complete()));
                }
            });
        for inbound in inbound {
            router.dispatch(self, &inbound).unwrap();
        }
    }

    fn data(&self, cid: &str) -> String {
        let of = self.heard.iter().filter(|(of, _)| of == cid);
        of.map(|(_, chunk)| chunk.data.as_str()).collect()
    }
}

fn streams_in(room: &mut Room, chunks: &[(&str, i64, &str, bool)]) {
    for (cid, index, data, is_final) in chunks {
        let chunk = chunk(*index, data, *is_final);
        room.say(0, &Outbound::frame(&chunk).in_chain(*cid));
    }
}

fn end(room: &mut Room, cid: &str) {
    let end = DynamicFrame::new("dev", "end", "infer").unwrap();
    room.say(0, &Outbound::message(&end).in_chain(cid));
}

// ---- STR-01 ------------------------------------------------------------------------

#[test]
fn str_01_accepts_stream_and_end_as_the_bounds_of_a_stream() {
    let mut room = Room::counting(&["dev", "qa"]);
    streams_in(
        &mut room,
        &[("a", 0, "Hello", false), ("a", 1, " world", true)],
    );
    // While the stream is open, the frame that opened it stays in the context.
    let first = room.host.frames()[0].position;
    room.host.phase(NOW).unwrap();
    room.settle();
    assert_eq!(
        room.host.state().hot().positions().collect::<Vec<_>>(),
        [first]
    );
    end(&mut room, "a");
    room.host.phase(NOW).unwrap();
    room.settle();
    assert_eq!(room.host.state().hot().positions().count(), 0);
    room.check_replicas();

    let mut ear = Ear::new(StreamLimits::default());
    ear.hear(std::mem::take(&mut room.members[1].inbox));
    assert_eq!(ear.data("a"), "Hello world");
    assert_eq!(ear.ended, [("a".to_owned(), true)]);
}

#[test]
fn str_01_refuses_to_take_a_stream_for_complete_that_is_not() {
    let mut room = Room::new(&["dev", "qa"]);
    streams_in(
        &mut room,
        &[
            ("a", 0, "x", false),
            ("b", 1, "y", true),
            ("c", 0, "z", false),
        ],
    );
    for cid in ["a", "b", "none"] {
        end(&mut room, cid);
    }
    let mut ear = Ear::new(StreamLimits::default());
    ear.hear(std::mem::take(&mut room.members[1].inbox));
    // The first stream has no last chunk, so the host refuses its end. The second stream has no first chunk. A
    // stream that was not opened does not end, and one that was not ended stays open.
    assert_eq!(ear.ended, [("b".to_owned(), false)]);
    let refused = room.members[0]
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Refused(_, error) => Some((error.code, error.message.as_str())),
            _ => None,
        });
    let expected = "the last piece of the stream before its end";
    assert_eq!(
        refused.collect::<Vec<_>>(),
        [(ErrorCode::INVALID_TYPE, expected)]
    );
    let left = ear.streams.end(sides::member(101), "c").unwrap();
    assert!(!left.is_complete() && !left.has_final);
    assert!(ear.streams.end(sides::member(101), "c").is_none());
}

// ---- STR-02 ------------------------------------------------------------------------

#[test]
fn str_02_accepts_chunks_of_several_streams_by_their_cid() {
    let mut room = Room::new(&["dev", "qa"]);
    streams_in(
        &mut room,
        &[
            ("a", 0, "1", false),
            ("b", 0, "x", false),
            ("a", 1, "2", false),
            ("b", 1, "y", true),
            ("a", 2, "3", true),
        ],
    );
    for text in room
        .passed(101, 100)
        .filter(|text| text.contains(">stream:"))
    {
        let envelope = envelope(text).unwrap();
        assert!(envelope.correlation_id.is_some(), "{text}");
    }
    let mut ear = Ear::new(StreamLimits::default());
    ear.hear(std::mem::take(&mut room.members[1].inbox));
    assert_eq!(
        (ear.data("a"), ear.data("b")),
        ("123".to_owned(), "xy".to_owned())
    );
    for cid in ["a", "b"] {
        let of = ear.heard.iter().filter(|(of, _)| of == cid);
        let finals: Vec<bool> = of.map(|(_, chunk)| chunk.is_final).collect();
        assert_eq!(finals.iter().filter(|is_final| **is_final).count(), 1);
        assert_eq!(finals.last(), Some(&true));
    }
    // The same cid of another sender is another stream.
    ear.take(sides::member(102), "a", &chunk(0, "other", true))
        .unwrap();
    assert_eq!(ear.data("a"), "123other");
}

#[test]
fn str_02_refuses_chunks_without_a_cid_and_those_that_contradict() {
    let mut host = open_host(options("hub"), accp_runtime::session::Rules::default());
    let bare = "@dev>stream:infer{idx:0|d:x|schema:ST}";
    assert_eq!(
        host.refuses(101, &frame(bare, 1, 1, "")).code,
        ErrorCode::INVALID_TYPE
    );
    host.takes(101, &frame(bare, 2, 1, ",cid:a"));

    let of = |total: Option<i64>, index: i64, data: &'static str, is_final| InferStream {
        total_chunks: total,
        ..chunk(index, data, is_final)
    };
    for (before, after) in [
        // Two last chunks, a chunk after the last one, or a last chunk before another one.
        (of(None, 1, "x", true), of(None, 2, "y", true)),
        (of(None, 1, "x", true), of(None, 2, "y", false)),
        (of(None, 3, "x", false), of(None, 1, "y", true)),
        // Other data under the same index, while the first data still waits.
        (of(None, 1, "x", false), of(None, 1, "y", false)),
        // Another number of chunks than before, or a last chunk that is not marked as last.
        (of(Some(3), 1, "x", false), of(Some(4), 2, "y", false)),
        (of(Some(3), 1, "x", false), of(None, 2, "y", false)),
        (of(Some(3), 1, "x", false), of(None, 3, "y", true)),
    ] {
        let mut ear = Ear::new(StreamLimits::default());
        let sender = sides::member(101);
        ear.take(sender, "a", &before).unwrap();
        let streams = ear.streams.clone();
        let error = ear.take(sender, "a", &after).unwrap_err();
        assert_eq!(
            error.code(),
            ErrorCode::INVALID_TYPE,
            "{before:?} {after:?}"
        );
        assert_eq!(ear.streams, streams, "nothing has changed");
    }
}

// ---- STR-03 ------------------------------------------------------------------------

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Chunks come in any order and several times. Each is processed once, and only after all
    /// chunks before it.
    #[test]
    fn str_03_accepts_chunks_in_any_order_and_puts_them_in_theirs(
        (order, data) in (1..10_usize).prop_flat_map(|length| (
            Just((0..length).collect::<Vec<_>>()).prop_shuffle(), prop::collection::vec("\\PC{0,12}", length),
        )),
        again in prop::collection::vec(any::<prop::sample::Index>(), 0..5), total: bool,
    ) {
        let mut room = Room::new(&["dev", "qa"]);
        let mut ear = Ear::new(StreamLimits::default());
        let mut sent = order.clone();
        for index in again {
            sent.push(order[index.index(order.len())]);
        }
        let mut came = vec![false; order.len()];
        for index in sent {
            let chunk = InferStream {
                total_chunks: total.then_some(order.len() as i64),
                ..chunk(index as i64, &data[index], index + 1 == order.len())
            };
            room.say(0, &Outbound::frame(&chunk).in_chain("a"));
            ear.hear(std::mem::take(&mut room.members[1].inbox));
            came[index] = true;
            let ready = came.iter().take_while(|came| **came).count();
            prop_assert_eq!(ear.heard.len(), ready);
        }
        prop_assert_eq!(&ear.refused, &[]);
        for (at, (_, chunk)) in ear.heard.iter().enumerate() {
            prop_assert_eq!((chunk.index, &chunk.data), (at as u64, &data[at]));
        }
        end(&mut room, "a");
        ear.hear(std::mem::take(&mut room.members[1].inbox));
        prop_assert_eq!(&ear.ended, &[("a".to_owned(), true)]);
        room.check_replicas();
    }
}

#[test]
fn str_03_refuses_more_than_may_wait_and_loses_nothing() {
    let limits = StreamLimits {
        streams: 2,
        chunks: 3,
        bytes: 40,
    };
    let sender = sides::member(101);
    let mut ear = Ear::new(limits);
    for index in 1..4 {
        ear.take(sender, "a", &chunk(index, "later", false))
            .unwrap();
    }
    let code = |result: Result<(), DecodeError>| result.unwrap_err().code();
    assert_eq!(
        code(ear.take(sender, "a", &chunk(9, "x", false))),
        ErrorCode::BUDGET_EXCEEDED
    );
    assert_eq!(
        code(ear.take(sender, "a", &chunk(-1, "x", false))),
        ErrorCode::INVALID_TYPE
    );
    let long = "x".repeat(41);
    assert_eq!(
        code(ear.take(sender, "b", &chunk(1, &long, false))),
        ErrorCode::BUDGET_EXCEEDED
    );
    ear.take(sender, "b", &chunk(1, "x", false)).unwrap();
    assert_eq!(
        code(ear.take(sender, "c", &chunk(0, "x", false))),
        ErrorCode::BUDGET_EXCEEDED
    );
    // The chunk that all others wait for is still accepted, and makes room.
    ear.take(sender, "a", &chunk(0, &long, false)).unwrap();
    assert_eq!(ear.heard.len(), 4);
    ear.take(sender, "a", &chunk(4, "", true)).unwrap();
    ear.take(sender, "c", &chunk(0, "x", false)).unwrap();
    assert_eq!(ear.data("a"), format!("{long}laterlaterlater"));
}

/// A chunk that is too large for a frame is sent as a reference, and its place is kept.
#[test]
fn str_03_accepts_a_chunk_that_is_too_large_for_a_frame_as_a_reference() {
    let mut room = Room::open(counting("hub"), accp_runtime::session::Rules::default());
    room.enter(counting("dev"));
    let data = "so ".repeat(400);
    room.say(0, &Outbound::frame(&chunk(0, &data, true)).in_chain("a"));
    let entry = room.host.frames().pop().unwrap();
    let read = DynamicFrame::decode(&entry.text, &sides::STANDARD).unwrap();
    let accp_runtime::Value::Ref(key) = read.payload.get("data").unwrap() else {
        panic!("{}", entry.text);
    };
    assert_eq!(read.payload.get("chunk_index"), Some(&0.into()));
    assert!(
        room.host
            .cold_text(key.strip_prefix("cold.").unwrap())
            .is_some()
    );
    room.check_replicas();
}
