//! Comparison of our tokens with those of the reference.

use accp_tokens::{Bpe, TokenCounter};
use proptest::prelude::*;

use crate::common::{VOCABULARY, assert_same};
use crate::generated::texts::BORDERS;

fn from_vocabulary() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&VOCABULARY[..]), 1..12).prop_map(|v| v.concat())
}

fn frame_like() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        "[a-z_]{1,12}",
        "-?[0-9]{1,7}(\\.[0-9]{1,6})?",
        "[!-~]{1,16}",
        "(%[0-9A-F]{2}){1,6}",
        "\\$(hot|warm|cold)\\.[a-z_]{1,10}",
        "\\[[a-z]{1,6}(,[a-z0-9+%.-]{1,8}){0,4}\\]",
        "\\{[a-z]{1,4}:[a-z0-9]{1,8}(,[a-z]{1,4}:[0-9.]{1,8}){0,3}\\}",
    ];
    let param = ("[a-z]{1,8}", value).prop_map(|(key, value)| format!("{key}:{value}"));
    (
        "@[a-z_]{1,12}>(req|done|fail|sync|ack|wait):[a-z_]{1,12}",
        prop::collection::vec(param, 0..8),
        prop::option::of("mid:[0-9a-f]{12},seq:[0-9]{1,5},ts:1[0-9]{9},sid:[a-z0-9]{1,8}"),
    )
        .prop_map(|(header, params, envelope)| {
            let body = params.join("|");
            let envelope = envelope.map_or(String::new(), |pairs| format!("[{pairs}]"));
            format!("{header}{{{body}}}{envelope}")
        })
}

fn code_like() -> impl Strategy<Value = String> {
    let line = (
        "[ \t]{0,12}",
        prop_oneof![
            "(if|for|while) \\([a-z]{1,8} [<>=!]{1,2} [0-9]{1,4}\\) \\{",
            "(let|const|var) [a-zA-Z_]{1,12} = \"[ -~]{0,20}\";",
            "[a-zA-Z]{1,8}(\\.[a-zA-Z]{1,8}){0,3}\\([a-z0-9, ]{0,16}\\);?",
            "// [A-Za-z',. ]{0,30}",
            "[{}()\\[\\];/*+=-]{1,12}",
            "https?://[a-z]{1,8}\\.[a-z]{2,3}/[a-z0-9/?&=%]{0,20}",
        ],
        "[ \t]{0,4}(\n|\r\n|\r|\n\n)?",
    )
        .prop_map(|(indent, code, end)| format!("{indent}{code}{end}"));
    prop::collection::vec(line, 0..10).prop_map(|lines| lines.concat())
}

/// Returns texts with few classes of characters, so that every border between two classes occurs:
/// white space of all kinds, letters by case, marks, digits, contractions.
fn class_borders() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(&BORDERS[..]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_unicode_text(text in any::<String>()) {
        assert_same(&text);
    }

    #[test]
    fn text_made_of_tokens(text in from_vocabulary()) {
        assert_same(&text);
    }

    #[test]
    fn frames(text in frame_like()) {
        assert_same(&text);
    }

    #[test]
    fn code(text in code_like()) {
        assert_same(&text);
    }

    #[test]
    fn borders_between_classes_of_characters(text in class_borders()) {
        assert_same(&text);
    }

    #[test]
    fn white_space(text in "([ \t]{0,20}(\n|\r\n|\r|\u{a0}|\u{3000}|x)?){0,12}") {
        assert_same(&text);
    }

    #[test]
    fn runs_of_one_character(
        before in "[a \n]{0,2}",
        c in any::<char>(),
        length in 1usize..600,
        after in "[a \n]{0,2}",
    ) {
        assert_same(&format!("{before}{}{after}", c.to_string().repeat(length)));
    }
}

#[test]
fn every_token_by_itself() {
    assert!(VOCABULARY.len() > 290_000, "{}", VOCABULARY.len());
    for token in VOCABULARY.iter() {
        assert_same(token);
    }
}

#[test]
fn known_counts() {
    for (o200k, cl100k, text) in [
        (0, 0, ""),
        (6, 6, "What are Q3 findings?"),
        // Special tokens count as text. As a special token, this text would count 1.
        (7, 7, "<|endoftext|>"),
        // This is one letter in two encodings. After normalisation, both would count the same.
        (1, 1, "é"),
        (2, 2, "e\u{301}"),
        (
            41,
            42,
            "@research>done:analyze{d:q3_sales|f:[rev:-12%QoQ,ent_seg:decline,churn:+3.2%]\
             |nx:@strategy:plan}",
        ),
    ] {
        assert_same(text);
        assert_eq!(Bpe::o200k_base().count(text), o200k, "{text:?}");
        assert_eq!(Bpe::cl100k_base().count(text), cl100k, "{text:?}");
    }
}
