//! [`Bpe`], the public handle to an encoding.

use accp_frame::TokenCounter;
use std::fmt;

use crate::engine::{CL100K_BASE, Encoding, O200K_BASE};

/// A BPE encoding that counts tokens exactly as `tiktoken` does (its `encode_ordinary`).
///
/// A `Bpe` is a handle to tables that the process shares: copy it freely. The tables are ready in the binary. Only an
/// index of pairs is built at run time, for the first word that is not a token. This takes some milliseconds and
/// megabytes. [`load`](Self::load) builds the index earlier.
///
/// ```
/// use accp_tokens::{Bpe, TokenCounter};
///
/// let bpe = Bpe::default();
/// assert_eq!(bpe.name(), "o200k_base");
/// assert_eq!(bpe.count("<|endoftext|>"), 7);
/// ```
#[derive(Clone, Copy)]
pub struct Bpe {
    encoding: &'static Encoding,
}

impl Bpe {
    /// The names that [`Bpe::for_encoding`] accepts, the default first.
    ///
    /// ```
    /// use accp_tokens::Bpe;
    ///
    /// assert_eq!(Bpe::ENCODINGS, ["o200k_base", "cl100k_base"]);
    /// ```
    pub const ENCODINGS: [&str; 2] = ["o200k_base", "cl100k_base"];

    /// Returns `o200k_base`, the default: 200,000 tokens, used by GPT-4o and all later models of
    /// its vendor.
    ///
    /// ```
    /// use accp_tokens::{Bpe, TokenCounter};
    ///
    /// assert_eq!(Bpe::o200k_base().count("@research>done:analyze{d:q3_sales}"), 13);
    /// ```
    pub fn o200k_base() -> Self {
        Self {
            encoding: &O200K_BASE,
        }
    }

    /// Returns `cl100k_base`: 100,000 tokens, used by GPT-4, GPT-3.5 and the embedding models.
    ///
    /// ```
    /// use accp_tokens::{Bpe, TokenCounter};
    ///
    /// assert_eq!(Bpe::cl100k_base().count("@research>done:analyze{d:q3_sales}"), 13);
    /// ```
    pub fn cl100k_base() -> Self {
        Self {
            encoding: &CL100K_BASE,
        }
    }

    /// Returns the encoding with this name, exactly as in [`Bpe::ENCODINGS`].
    ///
    /// ```
    /// use accp_tokens::{Bpe, TokenCounter};
    ///
    /// let bpe = Bpe::for_encoding("cl100k_base").expect("a known encoding");
    /// assert_eq!(bpe.name(), "cl100k_base");
    /// assert!(Bpe::for_encoding("p50k_base").is_none());
    /// ```
    pub fn for_encoding(name: &str) -> Option<Self> {
        match name {
            "o200k_base" => Some(Self::o200k_base()),
            "cl100k_base" => Some(Self::cl100k_base()),
            _ => None,
        }
    }

    pub(crate) fn encoding(self) -> &'static Encoding {
        self.encoding
    }

    /// Builds the index of pairs now, unless it exists already. Otherwise the first word that is not a token has to
    /// wait for the index.
    ///
    /// ```
    /// use accp_tokens::Bpe;
    ///
    /// // While the program does something else.
    /// std::thread::spawn(|| Bpe::o200k_base().load());
    /// ```
    pub fn load(&self) {
        self.encoding.load();
    }

    /// Returns the tokens of a text, as many as [`count`](TokenCounter::count) counts.
    ///
    /// ```
    /// use accp_tokens::{Bpe, TokenCounter};
    ///
    /// let bpe = Bpe::o200k_base();
    /// assert_eq!(bpe.tokens("two words").len(), bpe.count("two words"));
    /// ```
    pub fn tokens(&self, text: &str) -> Vec<u32> {
        self.encoding.tokens(text)
    }

    /// Returns the byte at which each token of a text ends. A token may end within a character.
    ///
    /// ```
    /// use accp_tokens::Bpe;
    ///
    /// assert_eq!(Bpe::o200k_base().ends("two words"), [3, 9]);
    /// ```
    pub fn ends(&self, text: &str) -> Vec<usize> {
        self.encoding.ends(text)
    }
}

impl Default for Bpe {
    fn default() -> Self {
        Self::o200k_base()
    }
}

impl TokenCounter for Bpe {
    fn name(&self) -> &str {
        self.encoding.name
    }

    fn count(&self, text: &str) -> usize {
        self.encoding.count(text, usize::MAX)
    }

    fn count_to(&self, text: &str, limit: usize) -> Option<usize> {
        let count = self.encoding.count(text, limit);
        (count <= limit).then_some(count)
    }
}

impl fmt::Debug for Bpe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Bpe").field(&self.encoding.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoding_answers_to_its_own_name_only() {
        for name in Bpe::ENCODINGS {
            assert_eq!(
                Bpe::for_encoding(name).map(|bpe| bpe.encoding.name),
                Some(name)
            );
        }
        for name in ["", "O200K_BASE", "o200k", " o200k_base", "voyage3_base"] {
            assert!(Bpe::for_encoding(name).is_none(), "{name:?}");
        }
    }

    #[test]
    fn a_counter_crosses_threads() {
        fn shared<T: Send + Sync>(_: T) {}
        shared(Bpe::default());
    }

    #[test]
    fn debug_shows_the_name_and_no_table() {
        assert_eq!(format!("{:?}", Bpe::cl100k_base()), r#"Bpe("cl100k_base")"#);
    }
}
