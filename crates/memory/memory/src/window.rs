//! The window of a model: its size, its use, and the limits at which tiers act.

use std::fmt;

use accp_frame::TokenCounter;
use accp_tokens::MediaPrices;

use crate::form::Form;
use crate::list::MessageList;
use crate::media::{self, Found};
use crate::message::ListMessage;

/// The window of a model, in tokens, and the limits at which something happens (CTX-05 to CTX-11).
///
/// ```
/// use accp_memory::{State, Window};
///
/// let window = Window::of(8_192)?.with_reserve(192)?;
/// assert_eq!(window.room(), 8_000);
/// assert_eq!(window.state(3_999), State::Yellow);
/// assert_eq!(window.state(4_000), State::Orange);
/// assert_eq!(window.large_result(), 2_000);
/// # Ok::<(), accp_memory::WindowError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    size: u64,
    reserve: u64,
    per_message: u64,
    media: Option<MediaPrices>,
    limits: Limits,
    stress: bool,
}

/// The limits of a window: four shares in percent, and the tokens of a large result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The share from which use is watched: 25 %.
    pub watch: u64,
    /// The share from which tiers 1 and 2 act: 50 %.
    pub act: u64,
    /// The share from which tier 3 acts, if tiers 1 and 2 were not enough: 75 %.
    pub summarise: u64,
    /// The share from which a fresh session is advised: 85 %.
    pub fresh: u64,
    /// A result with more tokens than this is moved out at once: 15,000, but never more than a quarter of the window.
    pub large_result: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            watch: 25,
            act: 50,
            summarise: 75,
            fresh: 85,
            large_result: 15_000,
        }
    }
}

/// Why a window is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WindowError {
    /// The window has no tokens for a list.
    #[error(
        "a window of {size} tokens with {reserve} kept for the answer has no room; give a larger window"
    )]
    NoRoom {
        /// The tokens of the window.
        size: u64,
        /// The tokens kept for the answer.
        reserve: u64,
    },
    /// The limits do not ascend, or are over 100 %.
    #[error(
        "the limits {0}, {1}, {2} and {3} do not ascend from 1 to 100; give four percentages, each at least the \
         one before it"
    )]
    Limits(u64, u64, u64, u64),
    /// The limit of a large result is 0.
    #[error(
        "a large result has at least 1 token; give the number of tokens from which results leave at once"
    )]
    LargeResult,
}

/// How full a window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Under 25 %: nothing happens.
    Green,
    /// From 25 %: use is watched.
    Yellow,
    /// From 50 %: tiers 1 and 2 act.
    Orange,
    /// From 75 %: tier 3 acts.
    Red,
    /// From 85 %: a checkpoint, and the advice to begin a fresh session.
    Critical,
}

impl State {
    /// Returns the name of the state, in capitals.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Green => "GREEN",
            Self::Yellow => "YELLOW",
            Self::Orange => "ORANGE",
            Self::Red => "RED",
            Self::Critical => "CRITICAL",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Window {
    /// Makes a window of this size, with the limits of the specification.
    ///
    /// # Errors
    /// When the size is 0.
    pub fn of(size: u64) -> Result<Self, WindowError> {
        Self {
            size,
            reserve: 0,
            per_message: 0,
            media: None,
            limits: Limits::default(),
            stress: false,
        }
        .checked()
    }

    /// Keeps tokens free for the answer.
    ///
    /// # Errors
    /// When nothing is left.
    pub fn with_reserve(self, reserve: u64) -> Result<Self, WindowError> {
        Self { reserve, ..self }.checked()
    }

    /// Sets other limits.
    ///
    /// # Errors
    /// When the shares do not ascend from 1 to 100, or a large result has no tokens.
    pub fn with_limits(self, limits: Limits) -> Result<Self, WindowError> {
        let Limits {
            watch,
            act,
            summarise,
            fresh,
            large_result,
        } = limits;
        let all = [1, watch, act, summarise, fresh, 100];
        if !all.is_sorted() {
            return Err(WindowError::Limits(watch, act, summarise, fresh));
        }
        if large_result == 0 {
            return Err(WindowError::LargeResult);
        }
        Ok(Self { limits, ..self })
    }

    /// Adds tokens for each message: what a provider puts around it.
    #[must_use]
    pub fn with_per_message(self, per_message: u64) -> Self {
        Self {
            per_message,
            ..self
        }
    }

    /// Counts pictures, documents and sounds by the prices of a model, such as those that
    /// [`Bpe::for_model`](accp_tokens::Bpe::for_model) returns. Without such prices, the form of a list decides:
    /// [`MediaPrices::openai`] or [`MediaPrices::anthropic`].
    ///
    /// ```
    /// use accp_memory::{MessageList, Window};
    /// use accp_tokens::Bpe;
    ///
    /// let list = MessageList::read(
    ///     r#"[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a.example/rye.png"}}]}]"#,
    ///     None,
    /// )?;
    /// let mini = Bpe::for_model("gpt-4o-mini")?;
    /// let window = Window::of(128_000)?;
    /// let counted = |window: &Window| window.count(&list, &mini);
    /// // A picture whose size nobody knows counts as one of 1,024 x 1,024: 765, and 25,501 for the small model.
    /// let more = counted(&window.clone().with_media(mini.media)) - counted(&window);
    /// assert_eq!(more, 25_501 - 765);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_media(self, media: Option<MediaPrices>) -> Self {
        Self { media, ..self }
    }

    /// Lets all tiers act from the first limit on, for a stress test (CTX-62).
    #[must_use]
    pub fn with_stress(self, stress: bool) -> Self {
        Self { stress, ..self }
    }

    /// Returns the share, in percent, from which tiers 1 and 2 act.
    pub(crate) fn acts_at(&self) -> u64 {
        if self.stress {
            self.limits.watch
        } else {
            self.limits.act
        }
    }

    /// Returns the share, in percent, from which tier 3 acts.
    pub(crate) fn summarises_at(&self) -> u64 {
        if self.stress {
            self.limits.watch
        } else {
            self.limits.summarise
        }
    }

    fn checked(self) -> Result<Self, WindowError> {
        let Self { size, reserve, .. } = self;
        match self.room() {
            0 => Err(WindowError::NoRoom { size, reserve }),
            _ => Ok(self),
        }
    }

    /// Returns the tokens of the whole window.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the tokens that a list may have: the window without the reserve. All shares are shares of this room.
    pub fn room(&self) -> u64 {
        self.size.saturating_sub(self.reserve)
    }

    /// Returns the tokens of this share of the room, rounded up. A list with this many tokens has reached the limit.
    pub(crate) fn tokens_at(&self, percent: u64) -> u64 {
        (self.room().saturating_mul(percent)).div_ceil(100)
    }

    /// Returns the tokens over which a result leaves at once.
    pub fn large_result(&self) -> u64 {
        self.limits.large_result.min(self.room() / 4).max(1)
    }

    /// Returns how full the window is with this many tokens.
    pub fn state(&self, tokens: u64) -> State {
        let limits = &self.limits;
        let reached = |percent| tokens >= self.tokens_at(percent);
        if reached(limits.fresh) {
            State::Critical
        } else if reached(limits.summarise) {
            State::Red
        } else if reached(limits.act) {
            State::Orange
        } else if reached(limits.watch) {
            State::Yellow
        } else {
            State::Green
        }
    }

    /// Returns the share of the room, rounded to hundredths.
    pub fn share(&self, tokens: u64) -> f64 {
        let hundredths =
            (u128::from(tokens) * 100 + u128::from(self.room()) / 2) / u128::from(self.room());
        // A share of hundredths is far below 2^53, so the conversion is exact.
        #[allow(clippy::cast_precision_loss, reason = "the number is small")]
        let share = hundredths as f64 / 100.0;
        share
    }

    /// Returns in words how much of the room these tokens use.
    ///
    /// ```
    /// let window = accp_memory::Window::of(8_000)?;
    /// assert_eq!(window.used(4_000), "4000 of 8000 tokens, 50 %, ORANGE");
    /// # Ok::<(), accp_memory::WindowError>(())
    /// ```
    pub fn used(&self, tokens: u64) -> String {
        let percent = self.share(tokens) * 100.0;
        format!(
            "{tokens} of {} tokens, {percent:.0} %, {}",
            self.room(),
            self.state(tokens)
        )
    }

    /// Returns the tokens of a message as it is sent: one line of compact JSON, and what a provider bills for
    /// pictures, documents and sounds.
    pub(crate) fn tokens(&self, message: &ListMessage, counter: &dyn TokenCounter) -> u64 {
        let text = counter.count(&message.line()) as u64;
        text + message.media_tokens(self.media) + self.per_message
    }

    /// Returns the tokens of a picture, a document or a sound in a message.
    pub(crate) fn media_tokens(&self, found: &Found, form: Form) -> u64 {
        let prices = self.media.unwrap_or_else(|| media::prices(form));
        prices.tokens(&found.medium)
    }

    /// Returns the tokens of a list as it is sent, and of what a model reads outside the list.
    ///
    /// No token of `o200k_base` or `cl100k_base` joins a line feed to the `{` behind it, so that the lines count
    /// the same alone and together.
    pub fn count(&self, list: &MessageList, counter: &dyn TokenCounter) -> u64 {
        let messages = list.messages().iter();
        messages
            .map(|message| self.tokens(message, counter))
            .sum::<u64>()
            + list.beside(counter)
    }
}
