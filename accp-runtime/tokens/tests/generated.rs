//! Texts from seeds. `.ci/long counts` compares ten million of them.

#[path = "../examples/counts/texts.rs"]
pub(crate) mod texts;

use crate::common::{VOCABULARY, assert_same};

#[test]
fn generated_texts_have_the_tokens_of_the_reference() {
    let count = std::env::var("TEXTS").map_or(6000, |count| count.parse().expect("a number"));
    for seed in 0..count {
        assert_same(&texts::text(seed, &VOCABULARY));
    }
}
