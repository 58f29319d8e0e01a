//! Texts on which the reference takes too long, or panics.

use accp_tokens::{Bpe, TokenCounter};

use crate::common::{assert_same, encodings};

const MILLION: usize = 1_000_000;

/// The longest token of each run (128 spaces, 8 letters, 3 digits, 16 marks) divides the run, and a repeated line
/// repeats its count.
#[test]
fn a_million_characters_are_no_trouble() {
    let bpe = Bpe::o200k_base();
    assert_eq!(bpe.count(&" ".repeat(MILLION)), 7_813);
    assert_eq!(bpe.count(&"a".repeat(MILLION)), MILLION / 8);
    assert_eq!(bpe.count(&"7".repeat(MILLION)), 333_334);
    assert_eq!(bpe.count(&"!".repeat(MILLION)), MILLION / 16);

    let frame = "@research>done:analyze{d:q3_sales}\n";
    assert_eq!(bpe.count(&frame.repeat(20_000)), 20_000 * bpe.count(frame));
}

/// Long pieces are joined a stretch at a time. The reference joins them as a whole.
#[test]
fn long_pieces_have_the_tokens_of_the_reference() {
    let mut state = 1_u64;
    let mut letter = |of: &[char]| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        of[(state >> 33) as usize % of.len()]
    };
    let letters: Vec<char> = ('a'..='z').collect();
    for alphabet in [
        &letters[..],
        &['a', 'b'],
        &['e'],
        &['漢', '字', '中', '国'],
        &['a', 'é', 'ß', 'ж'],
    ] {
        for length in [100, 1000, 3900, 4096, 5000, 20_000] {
            let piece: String = (0..length).map(|_| letter(alphabet)).collect();
            assert_same(&piece);
        }
    }
    for (ours, reference) in encodings() {
        let signs = "=-".repeat(9000);
        assert_eq!(ours.tokens(&signs), reference.encode_ordinary(&signs));
    }
}

#[test]
fn a_limit_stops_within_a_word() {
    let word = "incomprehensibilities".repeat(100_000);
    for (bpe, _) in encodings() {
        let count = bpe.count(&word);
        assert_eq!(bpe.count_to(&word, count), Some(count));
        assert_eq!(bpe.count_to(&word, count - 1), None);
        assert_eq!(bpe.count_to(&word, 0), None);
        assert_eq!(bpe.count_to("", 0), Some(0));
    }
}
