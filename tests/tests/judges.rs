//! The scanner and the reference parser agree on the verdict, the tree and the place of a fault. A
//! long run: `PROPTEST_CASES=1000000 cargo test --release -p accp-tests --test all judges`.

use accp_grammar::testing::{frame_text, mutated};
use accp_tests::judges::agree;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 5000, ..ProptestConfig::default() })]

    #[test]
    fn on_valid_frames(text in frame_text()) {
        prop_assert!(agree(text.as_bytes()));
    }

    #[test]
    fn on_mutated_frames(bytes in mutated()) {
        agree(bytes.as_ref());
    }

    #[test]
    fn on_bytes(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        agree(&bytes);
    }

    #[test]
    fn on_text_of_the_grammar_s_characters(text in r"@a>b:c\{[a1_@>:{}\[\]|$,~\\. -]{0,24}\}?(\[[a1:,~\[\]]{0,8}\])?") {
        agree(text.as_bytes());
    }

    #[test]
    fn on_every_prefix(text in frame_text()) {
        for end in 0..text.len() {
            agree(&text.as_bytes()[..end]);
        }
    }
}

/// Both judges have the same limits, counted in the same way.
#[test]
fn at_the_limits() {
    let params = |count: usize| {
        let params: Vec<String> = (0..count).map(|at| format!("k{at}:v")).collect();
        format!("@a>b:c{{{}}}", params.join("|"))
    };
    let elements = |count: usize| format!("@a>b:c{{k:[{}]}}", vec!["v"; count].join(","));
    let depth =
        |levels: usize| format!("@a>b:c{{k:{}v{}}}", "[".repeat(levels), "]".repeat(levels));
    let bytes = |count: usize| format!("@a>b:c{{k:{}}}", "x".repeat(count - 10));
    for (fits, over) in [
        (params(256), params(257)),
        (elements(4095), elements(4096)),
        (depth(5), depth(6)),
        (bytes(64 * 1024), bytes(64 * 1024 + 1)),
    ] {
        assert!(agree(fits.as_bytes()));
        assert!(!agree(over.as_bytes()));
    }
    for hostile in ["[", "{a:", "\\", "@", "$", "~", "a:"] {
        let text = format!("@a>b:c{{k:{}", hostile.repeat(64 * 1024 / hostile.len()));
        assert!(!agree(text.as_bytes()));
    }
}
