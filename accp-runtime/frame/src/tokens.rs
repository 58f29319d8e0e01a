//! Token costs of a frame, part by part.

use core::fmt;

use crate::frame::Frame;

/// Counts tokens exactly, as a model's tokenizer does.
///
/// The count of a text must be the same at every call. It may differ from the sum of the counts of the text's pieces.
/// The crate `accp-tokens` has implementations.
///
/// ```
/// use accp_runtime::TokenCounter;
///
/// struct Bytes;
/// impl TokenCounter for Bytes {
///     fn name(&self) -> &str { "bytes" }
///     fn count(&self, text: &str) -> usize { text.len() }
/// }
/// assert_eq!(Bytes.count("@a>ping:link{}"), 14);
/// ```
pub trait TokenCounter {
    /// Returns the name of the encoding, such as `o200k_base`.
    fn name(&self) -> &str;

    /// Returns the number of tokens in `text`.
    fn count(&self, text: &str) -> usize;

    /// Returns the number of tokens in `text` if it is at most `limit`; `None` if there are more.
    ///
    /// A counter that can stop at the limit does so, instead of counting the rest.
    ///
    /// ```
    /// # use accp_runtime::TokenCounter;
    /// # struct Bytes;
    /// # impl TokenCounter for Bytes {
    /// #     fn name(&self) -> &str { "bytes" }
    /// #     fn count(&self, text: &str) -> usize { text.len() }
    /// # }
    /// assert_eq!(Bytes.count_to("@a>ping:link{}", 14), Some(14));
    /// assert_eq!(Bytes.count_to("@a>ping:link{}", 13), None);
    /// ```
    fn count_to(&self, text: &str, limit: usize) -> Option<usize> {
        let count = self.count(text);
        (count <= limit).then_some(count)
    }
}

impl<C: TokenCounter + ?Sized> TokenCounter for &C {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn count(&self, text: &str) -> usize {
        (**self).count(text)
    }

    fn count_to(&self, text: &str, limit: usize) -> Option<usize> {
        (**self).count_to(text, limit)
    }
}

/// Tokens of a frame by part (draft section 3.4).
///
/// A tokenizer merges characters across the borders of the parts, so `total` is not their sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameTokens {
    /// `@agent>intent`
    pub header: usize,
    /// `:operation{payload}`
    pub body: usize,
    /// `[mid:..,seq:..]`, 0 without metadata.
    pub metadata: usize,
    /// The frame as one text.
    pub total: usize,
}

/// The relation of the tokens of a part to its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Within {
    /// Within the soft limit.
    Soft,
    /// Over the soft limit, but within the hard limit.
    Hard,
    /// Over the hard limit: the frame must be split, or reference external state.
    Over,
}

/// A soft and a hard limit in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenLimit {
    /// Over this limit the part is reported.
    pub soft: usize,
    /// Over this limit the frame is split or its values are externalised.
    pub hard: usize,
}

impl TokenLimit {
    /// Compares a number of tokens with the limits.
    pub const fn check(self, tokens: usize) -> Within {
        if tokens <= self.soft {
            Within::Soft
        } else if tokens <= self.hard {
            Within::Hard
        } else {
            Within::Over
        }
    }
}

/// The limits of each part (draft section 3.4, table 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameTokenLimits {
    /// Soft 5, hard 10.
    pub header: TokenLimit,
    /// Soft 50, hard 200.
    pub body: TokenLimit,
    /// Soft 10, hard 30.
    pub metadata: TokenLimit,
    /// Soft 65, hard 240.
    pub total: TokenLimit,
}

impl FrameTokenLimits {
    /// The table of the draft.
    pub const DRAFT: Self = Self {
        header: TokenLimit { soft: 5, hard: 10 },
        body: TokenLimit {
            soft: 50,
            hard: 200,
        },
        metadata: TokenLimit { soft: 10, hard: 30 },
        total: TokenLimit {
            soft: 65,
            hard: 240,
        },
    };

    /// Returns whether none of these limits is higher than the same limit in `others`.
    pub fn is_within(&self, others: &Self) -> bool {
        let parts = |limits: &Self| [limits.header, limits.body, limits.metadata, limits.total];
        let mut both = parts(self).into_iter().zip(parts(others));
        both.all(|(own, other)| own.soft <= other.soft && own.hard <= other.hard)
    }
}

impl FrameTokens {
    /// Counts the tokens of a frame in its canonical text.
    pub fn count(frame: &Frame<'_>, counter: &(impl TokenCounter + ?Sized)) -> Self {
        let [header, body, metadata] = frame.parts();
        let whole = [header.as_str(), &body, &metadata].concat();
        Self {
            header: counter.count(&header),
            body: counter.count(&body),
            metadata: counter.count(&metadata),
            total: counter.count(&whole),
        }
    }

    /// Returns each part with its name, its tokens, its limit and the result of the check.
    pub fn against(
        &self,
        limits: &FrameTokenLimits,
    ) -> [(&'static str, usize, TokenLimit, Within); 4] {
        [
            ("header", self.header, limits.header),
            ("body", self.body, limits.body),
            ("metadata", self.metadata, limits.metadata),
            ("total", self.total, limits.total),
        ]
        .map(|(part, tokens, limit)| (part, tokens, limit, limit.check(tokens)))
    }
}

impl fmt::Display for Within {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Within::Soft => "within the soft limit",
            Within::Hard => "over the soft limit",
            Within::Over => "over the hard limit",
        })
    }
}
