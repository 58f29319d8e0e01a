//! Runs llguidance with one token for each byte: tests texts against a grammar, and samples texts.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use accp_testkit::Rng;
use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::ApproximateTokEnv;
use llguidance::{Matcher, ParserFactory};

/// A compiled grammar.
pub struct Machine {
    matcher: Matcher,
    /// The bytes to append when a text has to end; the first allowed byte is taken.
    ending: &'static [u8],
    /// Whether no order of the ending bytes leads every text to its end. Then one of the allowed ending bytes is drawn.
    is_mixed: bool,
}

impl Machine {
    /// Compiles a grammar in the form of Lark.
    ///
    /// # Panics
    /// If the text is not a Lark grammar.
    pub fn lark(text: String) -> Self {
        Self::new(TopLevelGrammar::from_lark(text), b"~}]|:,")
    }

    /// Compiles a grammar of the view form.
    ///
    /// # Panics
    /// If the text is not a Lark grammar.
    pub fn view(text: String) -> Self {
        let machine = Self::new(TopLevelGrammar::from_lark(text), b"\n)}],:\"");
        Self {
            is_mixed: true,
            ..machine
        }
    }

    /// Compiles a JSON Schema.
    ///
    /// # Panics
    /// If the text is not a JSON Schema.
    pub fn json_schema(text: &str) -> Self {
        let mut schema: serde_json::Value = serde_json::from_str(text).unwrap();
        // A message writes itself as compact JSON, so the schema allows no other whitespace.
        schema["x-guidance"] = serde_json::json!({ "whitespace_flexible": false });
        Self::new(TopLevelGrammar::from_json_schema(schema), b"\"}],:")
    }

    fn new(grammar: TopLevelGrammar, ending: &'static [u8]) -> Self {
        let mut factory = ParserFactory::new(
            &ApproximateTokEnv::single_byte_env(),
            llguidance::toktrie::InferenceCapabilities::default(),
            &[],
        )
        .unwrap();
        factory.quiet();
        let mut matcher = Matcher::new(factory.create_parser(grammar));
        assert_eq!(matcher.get_error(), None);
        assert_eq!(matcher.grammar_warnings(), Vec::<String>::new());
        Self {
            matcher,
            ending,
            is_mixed: false,
        }
    }

    /// Returns whether the grammar accepts the text.
    ///
    /// # Panics
    /// If the matcher fails.
    pub fn takes(&self, text: &str) -> bool {
        let mut matcher = self.matcher.clone();
        let bytes: Vec<u32> = text.bytes().map(u32::from).collect();
        let taken = matcher.try_consume_tokens(&bytes).unwrap();
        taken == bytes.len() && matcher.is_accepting().unwrap()
    }

    /// Returns a random text of the grammar: random allowed bytes, and after `length` bytes the bytes that lead to
    /// an end.
    ///
    /// # Panics
    /// If the sample has no end.
    pub fn sample(&self, seed: u64, length: usize) -> String {
        let mut rng = Rng::new(seed);
        let mut matcher = self.matcher.clone();
        let mut text = Vec::new();
        loop {
            let is_long = text.len() >= length;
            assert!(text.len() < length + 2000, "no end");
            let may_end = matcher.is_accepting().unwrap();
            if matcher.is_stopped() || may_end && (is_long || rng.below(4) == 0) {
                return String::from_utf8(text).unwrap();
            }
            let mask = matcher.compute_mask().unwrap();
            let allowed: Vec<u8> = (0..=u8::MAX)
                .filter(|byte| mask.is_allowed(u32::from(*byte)))
                .collect();
            let first = |bytes: &[u8]| bytes.iter().copied().find(|byte| allowed.contains(byte));
            let mut mixed = self.ending.to_vec();
            if self.is_mixed {
                mixed.retain(|byte| allowed.contains(byte));
                let last = mixed.len().saturating_sub(1);
                mixed.rotate_left((rng.below(last as u64 + 1) as usize).min(last));
            }
            // Few of the allowed bytes are structure. With an even choice, a sample would be one
            // long string.
            let chosen = match rng.below(6) {
                _ if is_long => first(&mixed),
                0 | 1 => first(&mixed),
                2 => first(b"[{("),
                _ => None,
            };
            let any = || allowed[rng.below(allowed.len() as u64) as usize];
            let byte = chosen.unwrap_or_else(any);
            matcher.consume_token(u32::from(byte)).unwrap();
            text.push(byte);
        }
    }
}
