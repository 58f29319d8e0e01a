//! Tests of [`Streams`]: the order of chunks, repeated chunks, the bounds, and the report at the end.

use proptest::prelude::*;

use super::*;

const S: MemberId = MemberId::HOST;

fn chunk(index: i64, total: Option<i64>, data: &str, is_final: bool) -> InferStream<'_> {
    InferStream {
        chunk_index: index,
        total_chunks: total,
        data: Cow::Borrowed(data),
        is_final,
    }
}

/// Generates chunks in any order, each of them twice. Each arrival has a flag to take chunks out after it.
fn any_arrival() -> impl Strategy<Value = (Vec<String>, Vec<(usize, bool)>)> {
    prop::collection::vec("[a-z]{0,4}", 1..12).prop_flat_map(|texts| {
        let order: Vec<usize> = (0..texts.len()).chain(0..texts.len()).collect();
        let again = prop::collection::vec(any::<bool>(), order.len());
        let order = Just(order).prop_shuffle();
        let order = (order, again).prop_map(|(order, take)| order.into_iter().zip(take).collect());
        (Just(texts), order)
    })
}

proptest! {
    #[test]
    fn any_order_gives_the_text(
        (texts, arrival) in any_arrival(), has_total: bool, other in "[a-z]{0,2}",
    ) {
        let mut streams = Streams::new(StreamLimits::default());
        let mut read: Vec<String> = Vec::new();
        let mut came: Vec<usize> = Vec::new();
        for (index, takes) in arrival {
            let total = has_total.then_some(texts.len() as i64);
            let chunk = chunk(index as i64, total, &texts[index], index + 1 == texts.len());
            prop_assert_eq!(streams.push(S, "c", &chunk), Ok(()));
            let before = streams.clone();
            // Repeating the same data changes nothing. Other data is refused unless the chunk has been read.
            prop_assert_eq!(streams.push(S, "c", &chunk), Ok(()));
            let clash = InferStream { data: Cow::Borrowed(&other), ..chunk };
            let is_clash = other != texts[index] && index >= read.len();
            prop_assert_eq!(streams.push(S, "c", &clash).is_err(), is_clash);
            prop_assert_eq!(&streams, &before);
            came.push(index);
            if takes {
                for chunk in streams.ready(S, "c") {
                    prop_assert_eq!(chunk.index as usize, read.len());
                    prop_assert_eq!(chunk.is_final, read.len() + 1 == texts.len());
                    read.push(chunk.data);
                }
                let expected = (0..texts.len()).find(|index| !came.contains(index));
                prop_assert_eq!(read.len(), expected.unwrap_or(texts.len()));
            }
        }
        let ended = streams.end(S, "c").unwrap();
        prop_assert!(ended.is_complete());
        read.extend(ended.chunks.into_iter().map(|chunk| chunk.data));
        prop_assert_eq!(read, texts);
        prop_assert_eq!(streams.end(S, "c"), None);
    }

    #[test]
    fn no_stream_keeps_more_than_its_bounds(
        pushes in prop::collection::vec(("[a-d]", -1_i64..9, prop::option::of(0_i64..9), "x{0,6}", 0..8_u8), 0..60),
    ) {
        let limits = StreamLimits { streams: 2, chunks: 3, bytes: 8 };
        let mut streams = Streams::new(limits);
        for (cid, index, total, data, what) in pushes {
            let before = streams.clone();
            if streams.push(S, &cid, &chunk(index, total, &data, what == 0)).is_err() {
                prop_assert_eq!(&streams, &before);
            }
            if what < 3 {
                streams.ready(S, &cid).for_each(drop);
            }
            if what == 7 {
                streams.end(S, &cid);
            }
            prop_assert!(streams.senders.values().all(|streams| streams.len() <= limits.streams));
            for stream in streams.senders.values().flat_map(BTreeMap::values) {
                let bytes: usize = stream.chunks.values().map(String::len).sum();
                prop_assert_eq!(stream.bytes, bytes);
                // One chunk beyond the bound may wait: the chunk that the others waited for.
                prop_assert!(bytes <= limits.bytes + 6 && stream.chunks.len() <= limits.chunks + 1);
            }
        }
    }

    #[test]
    fn the_end_lists_what_is_missing(
        came in prop::collection::btree_set(0_u64..12, 1..10), taken in any::<bool>(), total in prop::option::of(13_i64..15),
    ) {
        let mut streams = Streams::new(StreamLimits::default());
        for &index in &came {
            streams.push(S, "c", &chunk(index as i64, total, "x", false)).unwrap();
        }
        let taken: Vec<u64> = if taken {
            streams.ready(S, "c").map(|chunk| chunk.index).collect()
        } else {
            Vec::new()
        };
        let ended = streams.end(S, "c").unwrap();
        let left = ended.chunks.iter().map(|chunk| chunk.index);
        prop_assert!(came.iter().copied().eq(taken.into_iter().chain(left)));
        let end = total.map_or_else(|| came.last().unwrap() + 1, |total| total as u64);
        let missing = ended.missing.iter().cloned().flatten();
        prop_assert!(missing.eq((0..end).filter(|index| !came.contains(index))));
        prop_assert!(!ended.is_complete());
    }
}

#[test]
fn a_stream_that_is_done_makes_room() {
    let mut streams = Streams::new(StreamLimits {
        streams: 2,
        ..StreamLimits::default()
    });
    for cid in ["b", "a"] {
        streams.push(S, cid, &chunk(0, None, "x", true)).unwrap();
    }
    let before = streams.clone();
    let error = streams
        .push(S, "c", &chunk(0, None, "x", false))
        .unwrap_err();
    insta::assert_snapshot!(error, @"E2003 at byte 0: expected at most 2 open streams of a sender");
    assert_eq!(streams, before);
    // Another sender has its own bound.
    let other = MemberId::new(101).unwrap();
    streams
        .push(other, "c", &chunk(0, None, "x", false))
        .unwrap();
    for cid in ["a", "b"] {
        assert_eq!(streams.ready(S, cid).count(), 1);
    }
    streams.push(S, "c", &chunk(0, None, "x", false)).unwrap();
    assert_eq!(streams.end(S, "b"), None);
    assert!(streams.end(S, "a").is_some_and(|ended| ended.is_complete()));
}

#[test]
fn the_chunk_that_all_wait_for_is_taken_over_the_bound() {
    let limits = StreamLimits {
        chunks: 2,
        ..StreamLimits::default()
    };
    let mut streams = Streams::new(limits);
    for index in [0, 2] {
        streams
            .push(S, "c", &chunk(index, None, "x", false))
            .unwrap();
    }
    let error = streams
        .push(S, "c", &chunk(1, None, "x", false))
        .unwrap_err();
    insta::assert_snapshot!(error, @"E2003 at byte 0: expected at most 2 chunks and 262144 bytes waiting in a stream");
    assert_eq!(streams.ready(S, "c").count(), 1);
    streams.push(S, "c", &chunk(3, None, "x", false)).unwrap();
    assert!(streams.push(S, "c", &chunk(4, None, "x", false)).is_err());
    streams.push(S, "c", &chunk(1, None, "x", false)).unwrap();
    assert_eq!(streams.ready(S, "c").count(), 3);
}

#[test]
fn says_what_contradicts() {
    let mut streams = Streams::new(StreamLimits::default());
    streams.push(S, "c", &chunk(0, None, "x", false)).unwrap();
    streams.push(S, "c", &chunk(3, None, "x", false)).unwrap();
    let error = |streams: &mut Streams, chunk: InferStream<'_>| {
        let before = streams.clone();
        let error = streams.push(S, "c", &chunk).unwrap_err().to_string();
        assert_eq!(*streams, before);
        error
    };
    insta::assert_snapshot!(error(&mut streams, chunk(-1, None, "x", false)), @"E1004 at byte 0 in chunk_index: expected an index from 0");
    insta::assert_snapshot!(error(&mut streams, chunk(3, None, "y", false)), @"E1004 at byte 0 in data: expected what came before under this index");
    insta::assert_snapshot!(error(&mut streams, chunk(1, Some(3), "x", false)), @"E1004 at byte 0 in total_chunks: expected as many chunks as the others say or tell");
    insta::assert_snapshot!(error(&mut streams, chunk(1, Some(-3), "x", false)), @"E1004 at byte 0 in total_chunks: expected as many chunks as the others say or tell");
    insta::assert_snapshot!(error(&mut streams, chunk(2, None, "x", true)), @"E1004 at byte 0 in is_final: expected the final chunk at the last index");
    insta::assert_snapshot!(error(&mut streams, chunk(4, Some(5), "x", false)), @"E1004 at byte 0 in is_final: expected true at the last index");
    streams.push(S, "c", &chunk(4, Some(5), "x", true)).unwrap();
    insta::assert_snapshot!(error(&mut streams, chunk(5, None, "x", false)), @"E1004 at byte 0 in chunk_index: expected an index up to the final one");
    insta::assert_snapshot!(error(&mut streams, chunk(2, Some(6), "x", false)), @"E1004 at byte 0 in total_chunks: expected as many chunks as the others say or tell");
    insta::assert_snapshot!(error(&mut streams, chunk(3, None, "x", true)), @"E1004 at byte 0 in is_final: expected the final chunk at the last index");
}
