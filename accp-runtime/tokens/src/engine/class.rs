//! The classes of characters that the patterns of both encodings tell apart.

/// The class of a character, as the patterns tell characters apart. The table of classes has these numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Class {
    /// Any character that is in no other class.
    Other = 0,
    /// `\p{Ll}`
    Lower = 1,
    /// `\p{Lu}` and `\p{Lt}`
    Upper = 2,
    /// `\p{Lm}` and `\p{Lo}`: letters that can be in both halves of a word (`U` and `L` in the patterns of
    /// `split`).
    Letter = 3,
    /// `\p{M}`
    Mark = 4,
    /// `\p{N}`
    Number = 5,
    /// `\r` and `\n`
    Newline = 6,
    /// `\s` without `\r` and `\n`.
    Space = 7,
}

impl Class {
    /// Returns the class with this number in the table.
    pub(crate) const fn numbered(number: u8) -> Self {
        match number {
            1 => Self::Lower,
            2 => Self::Upper,
            3 => Self::Letter,
            4 => Self::Mark,
            5 => Self::Number,
            6 => Self::Newline,
            7 => Self::Space,
            _ => Self::Other,
        }
    }

    /// `\p{L}`
    #[inline]
    pub(crate) const fn is_letter(self) -> bool {
        matches!(self, Self::Lower | Self::Upper | Self::Letter)
    }

    /// `\s`
    #[inline]
    pub(crate) const fn is_space(self) -> bool {
        matches!(self, Self::Newline | Self::Space)
    }

    /// `[^\s\p{L}\p{N}]`
    #[inline]
    pub(crate) const fn is_symbol(self) -> bool {
        matches!(self, Self::Other | Self::Mark)
    }
}
