//! Tests of [`PiecesInOrder`] with pieces that come in any order.

use std::collections::BTreeMap;
use std::sync::Arc;

use accp_frame::Registry;
use accp_session::{CancelToken, Inbound, MemberId, Mid, PiecesInOrder};
use proptest::prelude::*;

fn piece(sender: MemberId, chain: &str, index: i64, data: &str) -> Inbound {
    let text = format!(
        "@s>stream:infer{{idx:{index}|d:{data}|schema:ST}}[mid:101000001001,seq:1,cid:{chain}]"
    );
    Inbound::new(1, sender, Arc::from(text), CancelToken::new())
}

fn take<T>(order: &mut PiecesInOrder<T>, index: i64, item: T) -> Result<Vec<T>, T> {
    let inbound = piece(MemberId::HOST, "abc", index, "x");
    order.take(Registry::shared(), &inbound, item)
}

proptest! {
    /// However the pieces arrive, each is read once and in order, and the first one with an index counts.
    #[test]
    fn pieces_are_read_in_order(came in proptest::collection::vec(0..12_i64, 0..40)) {
        let mut order = PiecesInOrder::new();
        let (mut read, mut first) = (Vec::new(), BTreeMap::new());
        for (at, index) in came.iter().enumerate() {
            match take(&mut order, *index, (*index, at)) {
                Ok(ready) => {
                    prop_assert!(first.insert(*index, at).is_none());
                    read.extend(ready);
                }
                Err(_) => prop_assert!(first.contains_key(index)),
            }
        }
        let whole = (0..12).take_while(|index| first.contains_key(index)).count();
        prop_assert_eq!(read.len(), whole);
        read.extend(order.rest());
        prop_assert_eq!(read, first.into_iter().collect::<Vec<_>>());
        prop_assert_eq!(order.waiting(), 0);
    }
}

#[test]
fn streams_of_other_senders_and_chains_are_others() {
    let mut order = PiecesInOrder::new();
    let registry = Registry::shared();
    let mut read = |sender, chain, index| {
        let inbound = piece(sender, chain, index, "x");
        order.take(registry, &inbound, (sender, chain, index))
    };
    let other = MemberId::LAST;
    assert_eq!(read(MemberId::HOST, "abc", 1), Ok(vec![]));
    assert_eq!(read(other, "abc", 0), Ok(vec![(other, "abc", 0)]));
    assert_eq!(read(other, "def", 1), Ok(vec![]));
    assert_eq!(order.rest_of(MemberId::HOST, &Mid::parse("abc")).len(), 1);
    // A piece that comes after the end of its stream is too late.
    assert!(
        order
            .take(
                registry,
                &piece(MemberId::HOST, "abc", 0, "x"),
                (other, "", 9)
            )
            .is_err()
    );
    assert_eq!(order.drop_if(|(_, chain, _)| *chain == "abc").len(), 0);
    assert_eq!(order.rest(), [(other, "def", 1)]);
}

#[test]
fn a_stream_with_too_much_that_waits_goes_on_without_what_it_lacks() {
    let mut order = PiecesInOrder::holding(2);
    assert_eq!(take(&mut order, 2, 2), Ok(vec![]));
    assert_eq!(take(&mut order, 4, 4), Ok(vec![]));
    assert_eq!(take(&mut order, 3, 3), Ok(vec![2, 3, 4]));
    assert_eq!(take(&mut order, 1, 1), Err(1));
    let long = "x".repeat(1 << 19);
    let mut order = PiecesInOrder::new();
    let registry = Registry::shared();
    let mut read = |index| order.take(registry, &piece(MemberId::HOST, "abc", index, &long), index);
    assert_eq!(read(5), Ok(vec![]));
    assert_eq!(read(7), Ok(vec![5]));
}

#[test]
fn what_has_no_place_in_a_stream_is_read_at_once() {
    let mut order = PiecesInOrder::new();
    let text = "@s>stream:words{d:x}[mid:101000001001,seq:1,cid:abc]";
    let inbound = Inbound::new(1, MemberId::HOST, Arc::from(text), CancelToken::new());
    assert_eq!(order.take(Registry::shared(), &inbound, 1), Ok(vec![1]));
    assert_eq!(order.take(Registry::shared(), &inbound, 2), Ok(vec![2]));
    assert!(!order.may_go_on(Registry::shared(), &inbound));
    assert!(order.may_go_on(Registry::shared(), &piece(MemberId::HOST, "abc", 3, "x")));
}

#[test]
fn many_streams_are_not_all_remembered() {
    let mut order = PiecesInOrder::new();
    let registry = Registry::shared();
    let mut read = |chain: usize, index| {
        let inbound = piece(MemberId::HOST, &format!("c{chain}"), index, "x");
        order.take(registry, &inbound, index)
    };
    assert_eq!(read(0, 1), Ok(vec![]));
    for chain in 1..=1000 {
        assert_eq!(read(chain, 0), Ok(vec![0]));
    }
    // Streams with waiting pieces are remembered, and so are the last streams. The state of
    // stream 1 is forgotten.
    assert_eq!(read(0, 0), Ok(vec![0, 1]));
    assert_eq!(read(1000, 0), Err(0));
    assert_eq!(read(1, 0), Ok(vec![0]));
}
