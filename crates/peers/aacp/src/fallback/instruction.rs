//! Instructions in English, normalised, and their ids.

use std::fmt;

use accp_registry::Hash;
use unicode_normalization::UnicodeNormalization as _;

/// An instruction in its normal form, with the id of that form (draft section 6.3).
///
/// Two spellings of one instruction that differ in white space, or in how Unicode composes a letter,
/// have one id. Case is kept, because identifiers differ by it.
///
/// ```
/// use accp_aacp::fallback::Instruction;
///
/// let one = Instruction::new("Fetch  the café list\n")?;
/// let other = Instruction::new(" Fetch the cafe\u{301} list")?;
/// assert_eq!(one.text(), "Fetch the café list");
/// assert_eq!(one.id(), other.id());
/// assert_eq!(one.id().to_string().len(), 64);
/// assert_ne!(one.id(), Instruction::new("fetch the café list")?.id());
/// # Ok::<(), accp_aacp::fallback::InstructionError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    text: String,
    id: Hash,
}

impl Instruction {
    /// The most bytes of an instruction, before and after it is normalised.
    pub const LIMIT: usize = 16 * 1024;

    /// Normalises an instruction: Unicode's form NFC, without white space at both ends, one space for
    /// each run of white space.
    ///
    /// # Errors
    /// A text without words, and a text over [`LIMIT`](Self::LIMIT).
    pub fn new(english: &str) -> Result<Self, InstructionError> {
        if english.len() > Self::LIMIT {
            return Err(InstructionError::TooLong);
        }
        let composed: String = english.nfc().collect();
        let mut text = String::with_capacity(composed.len());
        for word in composed.split_whitespace() {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
        }
        if text.is_empty() {
            return Err(InstructionError::Empty);
        }
        if text.len() > Self::LIMIT {
            return Err(InstructionError::TooLong);
        }
        let id = Hash::of(text.as_bytes());
        Ok(Self { text, id })
    }

    /// Returns the normal form.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the id: SHA-256 of the normal form.
    pub fn id(&self) -> Hash {
        self.id
    }
}

/// A text that is not an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstructionError {
    /// There are no words.
    Empty,
    /// The text is over the limit.
    TooLong,
}

impl fmt::Display for InstructionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the instruction is empty; say in English what to do"),
            Self::TooLong => write!(
                f,
                "the instruction is longer than {} bytes; split it, or point to the data",
                Instruction::LIMIT
            ),
        }
    }
}

impl std::error::Error for InstructionError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_normal_form_is_its_own_normal_form(text in "\\PC{0,40}[ \t\n\u{a0}\u{301}a-z]{0,9}") {
            if let Ok(one) = Instruction::new(&text) {
                prop_assert_eq!(Instruction::new(one.text()), Ok(one.clone()));
                prop_assert!(!one.text().contains("  ") && one.text().trim() == one.text());
            }
        }

        #[test]
        fn white_space_does_not_count_and_all_else_does(
            words in proptest::collection::vec("[a-zA-Z0-9é|:_-]{1,6}", 1..6),
            spaces in proptest::collection::vec("[ \t\r\n\u{a0}\u{2003}]{1,3}", 6),
            other in "[a-zA-Z0-9é|:_-]{1,6}",
            at in 0..6_usize,
        ) {
            let one = Instruction::new(&words.join(" ")).unwrap();
            let spaced = words.iter().zip(&spaces).map(|(word, space)| format!("{space}{word}"));
            let spaced = Instruction::new(&(spaced.collect::<String>() + &spaces[5])).unwrap();
            prop_assert_eq!(&spaced, &one);
            let mut changed = words.clone();
            let at = at % words.len();
            changed[at].clone_from(&other);
            let changed = Instruction::new(&changed.join(" ")).unwrap();
            prop_assert_eq!(changed.id() == one.id(), words[at] == other);
        }
    }

    #[test]
    fn what_has_no_words_or_too_many_is_refused() {
        assert_eq!(
            Instruction::new(" \n\t\u{a0} "),
            Err(InstructionError::Empty)
        );
        let limit = "x".repeat(Instruction::LIMIT);
        assert!(Instruction::new(&limit).is_ok());
        assert_eq!(
            Instruction::new(&(limit + "x")),
            Err(InstructionError::TooLong)
        );
    }
}
