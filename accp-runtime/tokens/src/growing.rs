//! Counts of a text that grows.

use std::fmt;

use crate::bpe::Bpe;
use crate::engine::last_cut;

/// Counts the tokens of a text to which more is appended, such as a list or a prompt.
///
/// The count is exactly the count of the whole text, although token counts do not add up. An append counts only the
/// new text and the last piece of the old text, such as a word or a run of signs, because the new text may continue
/// this piece. Only the text from this piece on is kept. A text that is a single piece is counted from its start each
/// time.
///
/// ```
/// use accp_tokens::{Bpe, GrowingCount, TokenCounter};
///
/// let bpe = Bpe::o200k_base();
/// let mut prompt = GrowingCount::new(bpe);
/// assert_eq!(prompt.append("What are Q3 find"), 5);
/// assert_eq!(prompt.append("ings?"), bpe.count("What are Q3 findings?"));
/// assert_eq!(prompt.count(), 6);
/// ```
#[derive(Clone)]
pub struct GrowingCount {
    bpe: Bpe,
    /// The number of tokens before `open`. Later text does not change this number.
    settled: usize,
    open: String,
    /// The number of tokens in `open`.
    unsettled: usize,
}

impl GrowingCount {
    /// Returns the count of an empty text.
    pub fn new(bpe: Bpe) -> Self {
        Self {
            bpe,
            settled: 0,
            open: String::new(),
            unsettled: 0,
        }
    }

    /// Appends to the text, and returns the count of the whole text.
    ///
    /// ```
    /// use accp_tokens::{Bpe, GrowingCount};
    ///
    /// let mut list = GrowingCount::new(Bpe::o200k_base());
    /// list.append("@a>req:plan{d:q3}\n");
    /// // The base may be kept, and continued in two ways.
    /// let mut other = list.clone();
    /// assert_eq!(list.append("@b>done:plan{}"), list.count());
    /// assert!(other.append("@b>fail:plan{e:\"no such plan\"}") > list.count());
    /// ```
    pub fn append(&mut self, text: &str) -> usize {
        if text.is_empty() {
            return self.count();
        }
        let before = self.open.len();
        self.open.push_str(text);
        let encoding = self.bpe.encoding();
        if let Some(cut) = last_cut(&self.open, before) {
            self.settled += encoding.count(&self.open[..cut], usize::MAX);
            self.open.drain(..cut);
        }
        self.unsettled = encoding.count(&self.open, usize::MAX);
        self.count()
    }

    /// Returns the count of the text so far.
    ///
    /// ```
    /// use accp_tokens::{Bpe, GrowingCount};
    ///
    /// assert_eq!(GrowingCount::new(Bpe::default()).count(), 0);
    /// ```
    pub fn count(&self) -> usize {
        self.settled + self.unsettled
    }
}

impl fmt::Debug for GrowingCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrowingCount")
            .field("bpe", &self.bpe)
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}
