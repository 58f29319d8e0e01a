//! The count of a text that grows must equal the count of the whole text.

use accp_tokens::GrowingCount;
use proptest::prelude::*;

use crate::common::{VOCABULARY, encodings};

fn assert_grows(parts: &[String]) {
    for (bpe, reference) in encodings() {
        let mut growing = GrowingCount::new(bpe);
        let mut whole = String::new();
        for part in parts {
            whole.push_str(part);
            let expected = reference.encode_ordinary(&whole).len();
            assert_eq!(growing.append(part), expected, "{bpe:?}: {parts:?}");
            assert_eq!(growing.count(), expected);
        }
    }
}

fn borders() -> impl Strategy<Value = String> {
    let pieces = [
        "", " ", "  ", "\n", "\r", "\t", "\u{a0}", "a", "A", "ǅ", "ʰ", "漢", "\u{301}", "'", "'s",
        "S", "ſ", "l", "ve", "7", "٣", "/", "!", "{", "👩", "\u{200d}",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 1..4)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn by_parts_that_end_anywhere(parts in prop::collection::vec(borders(), 1..16)) {
        assert_grows(&parts);
    }

    #[test]
    fn by_tokens(parts in prop::collection::vec(prop::sample::select(&VOCABULARY[..]), 1..12)) {
        assert_grows(&parts);
    }

    #[test]
    fn by_any_text(parts in prop::collection::vec(any::<String>(), 1..6)) {
        assert_grows(&parts);
    }
}

#[test]
fn by_single_characters() {
    let text = "@research>done:analyze{d:q3_sales|f:[rev:-12%QoQ,churn:+3.2%]}\r\n\r\n  It's HTTPServer's 漢字ABCd\u{301}  \n//!\n";
    let parts: Vec<_> = text.chars().map(String::from).collect();
    assert_grows(&parts);
}
