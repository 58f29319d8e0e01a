//! The encodings that only tiktoken-rs knows.

use accp_tokens::{Bpe, Tiktoken, TokenCounter};

#[test]
fn each_encoding_answers_to_its_name_and_counts() {
    for name in Tiktoken::ENCODINGS {
        let counter = Tiktoken::for_encoding(name).expect("a known encoding");
        assert_eq!(counter.name(), name);
        assert_eq!(counter.count("two words"), 2);
        assert!(Bpe::for_encoding(name).is_none());
        assert_eq!(format!("{counter:?}"), format!("Tiktoken({name:?})"));
    }
}
