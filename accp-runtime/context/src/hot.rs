//! Hot state: the frames in the context.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::checkpoint::Checkpoint;
use crate::limits::ContextLimits;
use crate::limits::line_tokens;
use crate::preview::{UNBOUNDED, preview};
use accp_frame::{DecodeError, DynamicFrame, Reader, Registry, TokenCounter};

/// If a frame has more bytes than this number times the tokens of the budget, the frame cannot fit. So it is cut, and
/// its tokens are not counted.
const BYTES_PER_TOKEN: usize = 16;

/// Hot state (draft section 5.1, tier 1): the current frame, its parent, the requests of chains in
/// flight, and all frames since the last checkpoint.
///
/// Hot state keeps frames without their metadata. A frame that does not fit is cut to a preview
/// that refers to the whole frame; if even the preview does not fit, the context does not show the
/// frame. So the tokens never exceed the budget, and hot state holds every frame of the log since
/// the last checkpoint.
///
/// The host calls [`push`](Self::push), which counts tokens and decides how to show the frame.
/// Members call [`insert`](Self::insert) with the host's decision, and need no tokenizer.
///
/// ```
/// use accp_context::Hot;
/// use accp_runtime::context::ContextLimits;
/// # struct Bytes;
/// # impl accp_runtime::TokenCounter for Bytes {
/// #     fn name(&self) -> &str { "bytes" }
/// #     fn count(&self, text: &str) -> usize { text.len() }
/// # }
///
/// let text = "@a>qry:lookup{q:revenue}[mid:m1,seq:1,ts:0]";
/// let mut host = Hot::default();
/// let shown = host.push(1, text, &Bytes, &ContextLimits::DRAFT)?;
/// assert_eq!((shown.tokens, shown.cut), (25, false)); // the line and its end
///
/// let mut member = Hot::default();
/// member.insert(1, text, shown.tokens, shown.cut)?;
/// assert_eq!(member, host);
/// # Ok::<(), accp_runtime::DecodeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Hot {
    /// Ascending by position.
    items: Vec<Item>,
    #[serde(skip_serializing)]
    tokens: u32,
    /// Whether a frame was cut for lack of room since the last checkpoint.
    squeezed: bool,
    /// The last checkpoint; 0 when there is none.
    checkpoint: u64,
    /// The last position in hot state when the last checkpoint was applied.
    reset: u64,
}

/// A frame in hot state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Item {
    pub(crate) position: u64,
    pub(crate) tokens: u32,
    pub(crate) cut: bool,
    /// The frame without its metadata.
    pub(crate) text: Box<str>,
}

/// How the context shows a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// Tokens of the frame's line; 0 when the context does not show the frame.
    pub tokens: u32,
    /// Whether the line is a preview.
    pub cut: bool,
}

impl Hot {
    /// Adds an accepted frame as the host does: whole if it fits in the budget, otherwise cut.
    ///
    /// # Errors
    /// E1001 when the text is not a frame. Then nothing has changed.
    pub fn push(
        &mut self,
        position: u64,
        text: &str,
        counter: &dyn TokenCounter,
        limits: &ContextLimits,
    ) -> Result<Shown, DecodeError> {
        let head = head(text)?;
        let shown = self.shown(position, head, counter, limits);
        self.place(position, head, shown);
        Ok(shown)
    }

    /// Decides how to show the frame `head`, given without its metadata, as [`push`](Self::push)
    /// does.
    pub fn shown(
        &self,
        position: u64,
        head: &str,
        counter: &dyn TokenCounter,
        limits: &ContextLimits,
    ) -> Shown {
        let room = limits.hot.saturating_sub(self.tokens);
        let whole = whole_tokens(head, counter, limits);
        fit(position, head, whole, room, room, counter)
    }

    /// Adds a frame in the way that the host has decided to show it.
    ///
    /// # Errors
    /// E1001 when the text is not a frame. Then nothing has changed.
    pub fn insert(
        &mut self,
        position: u64,
        text: &str,
        tokens: u32,
        cut: bool,
    ) -> Result<(), DecodeError> {
        self.place(position, head(text)?, Shown { tokens, cut });
        Ok(())
    }

    /// Adds a frame as [`insert`](Self::insert) does, but without checking it. The text must be a
    /// frame without its metadata.
    pub fn place(&mut self, position: u64, head: &str, shown: Shown) {
        let item = Item {
            position,
            tokens: shown.tokens,
            cut: shown.cut,
            text: head.into(),
        };
        self.squeezed |= shown.cut;
        match self.find(position) {
            Ok(at) => self.items[at] = item,
            Err(at) => self.items.insert(at, item),
        }
        self.count();
    }

    /// Applies a checkpoint: keeps the frames that the checkpoint lists, each shown as the checkpoint says.
    pub fn apply(&mut self, checkpoint: &Checkpoint) {
        self.reset = self.last().unwrap_or(self.reset);
        self.items.retain_mut(|item| {
            let Some(kept) = checkpoint.kept_at(item.position) else {
                return false;
            };
            (item.tokens, item.cut) = (kept.tokens, kept.cut);
            true
        });
        self.squeezed = false;
        self.checkpoint = checkpoint.id();
        self.count();
    }

    /// Removes a frame whose text the store erases. Later checkpoints do not list the frame.
    pub fn erase(&mut self, position: u64) {
        if let Ok(at) = self.find(position) {
            self.items.remove(at);
            self.count();
        }
    }

    /// Returns the frames that leave when the checkpoint is applied, in order, each with its position
    /// and without its metadata.
    pub fn leaving(&self, checkpoint: &Checkpoint) -> impl Iterator<Item = (u64, &str)> {
        let leave = |item: &&Item| checkpoint.kept_at(item.position).is_none();
        let items = self.items.iter().filter(leave);
        items.map(|item| (item.position, &*item.text))
    }

    fn count(&mut self) {
        let tokens = self.items.iter().map(|item| item.tokens);
        self.tokens = tokens.fold(0, u32::saturating_add);
    }

    /// Returns the tokens of all lines.
    pub fn tokens(&self) -> u32 {
        self.tokens
    }

    /// Returns whether hot state exceeds [`ContextLimits::trigger`], which triggers a checkpoint
    /// (draft section 5.2, item 2). A frame that was cut for lack of room counts as excess.
    ///
    /// Ask this after each frame, not after a checkpoint. The frames that a checkpoint keeps may
    /// exceed the trigger already; they leave at the next checkpoint.
    pub fn is_over_trigger(&self, limits: &ContextLimits) -> bool {
        self.squeezed || self.tokens > limits.trigger
    }

    /// Returns whether a frame was cut for lack of room. Then the checkpoint cannot be put off.
    pub fn is_full(&self) -> bool {
        self.squeezed
    }

    /// Returns the reference to the last checkpoint, such as `warm.ckpt_3` (draft section 5.3, item
    /// 6); `None` when there is none.
    pub fn reference(&self) -> Option<String> {
        (self.checkpoint > 0).then(|| format!("warm.ckpt_{}", self.checkpoint))
    }

    /// Returns the frame at a position without its metadata. The text is whole even if the context
    /// shows a preview. `$hot.p12` refers to the frame at position 12.
    pub fn frame(&self, position: u64) -> Option<&str> {
        Some(&self.items[self.find(position).ok()?].text)
    }

    /// Returns the positions of the frames, ascending.
    pub fn positions(&self) -> impl DoubleEndedIterator<Item = u64> {
        self.items.iter().map(|item| item.position)
    }

    /// Returns the lines in the context, in the order of their positions.
    pub fn lines(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.items.iter().filter_map(Item::line)
    }

    /// Appends the lines.
    pub(crate) fn render(&self, out: &mut String) {
        for line in self.lines() {
            out.push_str(&line);
            out.push('\n');
        }
    }

    pub(crate) fn items(&self) -> &[Item] {
        &self.items
    }

    /// Returns the last position in hot state.
    pub(crate) fn last(&self) -> Option<u64> {
        self.positions().next_back()
    }

    /// Returns the last position in hot state when the last checkpoint was applied.
    pub(crate) fn reset_at(&self) -> u64 {
        self.reset
    }

    fn find(&self, position: u64) -> Result<usize, usize> {
        let last = self.items.last().map_or(0, |item| item.position);
        if last < position {
            return Err(self.items.len());
        }
        self.items
            .binary_search_by_key(&position, |item| item.position)
    }
}

impl Item {
    /// Returns the frame's line in the context.
    pub(crate) fn line(&self) -> Option<Cow<'_, str>> {
        match (self.tokens, self.cut) {
            (0, _) => None,
            (_, false) => Some(Cow::Borrowed(&self.text)),
            (_, true) => preview(&self.text, self.position).map(Cow::Owned),
        }
    }

    /// Decides how to show the frame: whole within `whole_room`, otherwise cut within `room`. Known
    /// token counts are not counted again. A frame that was cut may become whole only with `anew`.
    pub(crate) fn fit(
        &self,
        whole_room: u32,
        room: u32,
        anew: bool,
        counter: &dyn TokenCounter,
        limits: &ContextLimits,
    ) -> Shown {
        let whole = match (self.cut, anew) {
            (false, _) => Some(self.tokens),
            (true, true) => whole_tokens(&self.text, counter, limits),
            (true, false) if self.tokens > 0 => {
                let tokens = if self.tokens <= room { self.tokens } else { 0 };
                return Shown { tokens, cut: true };
            }
            (true, false) => None,
        };
        fit(self.position, &self.text, whole, whole_room, room, counter)
    }
}

/// Returns the tokens of the whole frame; `None` when it is far too long to be counted.
fn whole_tokens(head: &str, counter: &dyn TokenCounter, limits: &ContextLimits) -> Option<u32> {
    let may_fit = head.len() <= BYTES_PER_TOKEN.saturating_mul(limits.hot as usize);
    may_fit.then(|| line_tokens(head, counter))
}

fn fit(
    position: u64,
    head: &str,
    whole: Option<u32>,
    whole_room: u32,
    room: u32,
    counter: &dyn TokenCounter,
) -> Shown {
    if let Some(tokens) = whole.filter(|tokens| *tokens <= whole_room) {
        return Shown { tokens, cut: false };
    }
    let tokens = preview(head, position).map(|line| line_tokens(&line, counter));
    Shown {
        tokens: tokens.filter(|tokens| *tokens <= room).unwrap_or(0),
        cut: true,
    }
}

/// Metadata for reading frames of hot state, which have none. Some schemas require metadata, and
/// the frame had it when it was accepted.
const ENVELOPE: &str = "[mid:0,seq:0,ts:0,cid:0,aid:0,sid:0,ttl:0]";

/// Reads a frame of hot state.
///
/// # Errors
/// As [`DynamicFrame::decode_with`].
pub fn read_head(head: &str, registry: &Registry) -> Result<DynamicFrame<'static>, DecodeError> {
    let text = format!("{head}{ENVELOPE}");
    DynamicFrame::decode_with(&text, registry, &UNBOUNDED).map(DynamicFrame::into_owned)
}

/// Returns a frame without its metadata.
fn head(text: &str) -> Result<&str, DecodeError> {
    let mut r = Reader::new(text, UNBOUNDED)?;
    r.header()?;
    while r.param()?.is_some() {
        r.skip_value()?;
    }
    let end = r.at();
    while r.metadata()?.is_some() {
        r.skip_value()?;
    }
    r.finish()?;
    Ok(text.get(..end).unwrap_or_default())
}

/// Hot state in a snapshot. Reading checks that each text is a frame, because any program may have
/// written the snapshot.
#[derive(Deserialize)]
struct Stored {
    items: Vec<Item>,
    squeezed: bool,
    checkpoint: u64,
    reset: u64,
}

impl TryFrom<Stored> for Hot {
    type Error = DecodeError;

    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        let mut hot = Self {
            items: Vec::with_capacity(stored.items.len()),
            ..Self::default()
        };
        for item in stored.items {
            hot.insert(item.position, &item.text, item.tokens, item.cut)?;
        }
        hot.squeezed = stored.squeezed;
        hot.checkpoint = stored.checkpoint;
        hot.reset = stored.reset;
        Ok(hot)
    }
}
