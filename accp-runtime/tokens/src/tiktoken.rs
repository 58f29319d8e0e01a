//! Encodings that only tiktoken-rs knows.

use std::fmt;

use accp_frame::TokenCounter;
use tiktoken_rs::{
    CoreBPE, o200k_harmony_singleton, p50k_base_singleton, p50k_edit_singleton, r50k_base_singleton,
};

/// An encoding that [`Bpe`](crate::Bpe) does not have, counted by tiktoken-rs.
///
/// The tables of tiktoken-rs become part of the program, and the first count takes tenths of a second. A text with
/// a million white spaces in a row makes tiktoken-rs panic.
///
/// ```
/// use accp_tokens::{Tiktoken, TokenCounter};
///
/// let gpt2 = Tiktoken::for_encoding("r50k_base").expect("a known encoding");
/// assert_eq!(gpt2.count("two words"), 2);
/// assert!(Tiktoken::for_encoding("o200k_base").is_none());
/// ```
#[derive(Clone, Copy)]
pub struct Tiktoken {
    name: &'static str,
    core: fn() -> &'static CoreBPE,
}

impl Tiktoken {
    /// The names that [`Tiktoken::for_encoding`] accepts.
    ///
    /// ```
    /// use accp_tokens::Tiktoken;
    ///
    /// assert!(Tiktoken::ENCODINGS.contains(&"p50k_base"));
    /// ```
    pub const ENCODINGS: [&str; 4] = ["o200k_harmony", "p50k_base", "p50k_edit", "r50k_base"];

    /// Returns the encoding with this name, exactly as in [`Tiktoken::ENCODINGS`].
    ///
    /// ```
    /// use accp_tokens::Tiktoken;
    ///
    /// assert!(Tiktoken::for_encoding("p50k_edit").is_some());
    /// assert!(Tiktoken::for_encoding("P50K_EDIT").is_none());
    /// ```
    pub fn for_encoding(name: &str) -> Option<Self> {
        let name = Self::ENCODINGS.into_iter().find(|known| *known == name)?;
        let core: fn() -> &'static CoreBPE = match name {
            "o200k_harmony" => o200k_harmony_singleton,
            "p50k_base" => p50k_base_singleton,
            "p50k_edit" => p50k_edit_singleton,
            _ => r50k_base_singleton,
        };
        Some(Self { name, core })
    }
}

impl TokenCounter for Tiktoken {
    fn name(&self) -> &str {
        self.name
    }

    fn count(&self, text: &str) -> usize {
        (self.core)().encode_ordinary(text).len()
    }
}

impl fmt::Debug for Tiktoken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tiktoken").field(&self.name).finish()
    }
}
