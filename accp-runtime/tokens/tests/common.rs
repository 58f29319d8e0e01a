//! Compares our encodings with those of the reference, tiktoken-rs.

use accp_tokens::{Bpe, TokenCounter};
use std::sync::LazyLock;
use tiktoken_rs::{CoreBPE, cl100k_base_singleton, o200k_base_singleton};

pub(crate) fn encodings() -> [(Bpe, &'static CoreBPE); 2] {
    [
        (Bpe::o200k_base(), o200k_base_singleton()),
        (Bpe::cl100k_base(), cl100k_base_singleton()),
    ]
}

/// Compares the tokens of a text, their number and their ends. The reference backtracks over long runs of one
/// class, so every compared text is short.
pub(crate) fn assert_same(text: &str) {
    for (ours, reference) in encodings() {
        let expected = reference.encode_ordinary(text);
        assert_eq!(ours.tokens(text), expected, "{}: {text:?}", ours.name());
        let count = expected.len();
        assert_eq!(ours.count(text), count, "{}: {text:?}", ours.name());
        assert_eq!(ours.count_to(text, count), Some(count), "{text:?}");
        if let Some(less) = count.checked_sub(1) {
            assert_eq!(ours.count_to(text, less), None, "{text:?}");
        }
        let ends = ours.ends(text);
        assert_eq!(ends.len(), count, "{text:?}");
        assert_eq!(ends.last().copied().unwrap_or(0), text.len(), "{text:?}");
    }
}

/// Every token of both encodings that is text by itself.
pub(crate) static VOCABULARY: LazyLock<Vec<String>> = LazyLock::new(|| {
    encodings()
        .iter()
        .flat_map(|(_, reference)| {
            (0..200_000).filter_map(|token| reference.decode_bytes(&[token]).ok())
        })
        .filter_map(|bytes| String::from_utf8(bytes).ok())
        .collect()
});
