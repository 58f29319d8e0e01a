//! Hot state at a checkpoint, divided into the frames that leave and those that stay.

use crate::checkpoint::{Kept, Trigger};
use crate::hot::Hot;
use crate::hot::Item;
use crate::limits::ContextLimits;
use crate::time::Time;
use crate::warm::Warm;
use accp_frame::TokenCounter;

/// The most frames that stay hot. With this limit a checkpoint fits in a frame, whatever its
/// budget.
const KEPT: usize = 128;

/// The reasons for a checkpoint, and the session's knowledge of the frames in hot state.
///
/// Positions that are not in hot state are ignored.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'t> {
    /// The frame that triggers the checkpoint; `None` at a phase boundary.
    pub current: Option<u64>,
    /// The parent of the current frame: the frame that its `aid` names, or else the request that it
    /// answers.
    pub parent: Option<u64>,
    /// The requests that nobody has answered, ascending.
    pub in_flight: &'t [u64],
    /// All triggers of this turn, which lead to one checkpoint.
    pub triggers: &'t [Trigger],
    /// The current time.
    pub at: Time,
    /// The version of the state that the agents share; 0 when they share none.
    pub version: u64,
    /// A summary of the previous checkpoint that came after that checkpoint was taken, and the number of that
    /// checkpoint. The next checkpoint carries the summary.
    pub late: Option<(u64, &'t str)>,
}

/// Hot state, frozen for a checkpoint (draft section 5.3, item 1). Freezing changes nothing.
#[derive(Debug)]
pub struct Frozen<'f> {
    pub(crate) hot: &'f Hot,
    pub(crate) warm: &'f Warm,
    pub(crate) turn: Turn<'f>,
    /// Ascending by position.
    pub(crate) kept: Vec<Kept>,
}

impl<'f> Frozen<'f> {
    /// Decides which frames stay. The current frame stays, whole if it fits. Its parent stays if the parent fits. The
    /// requests of chains in flight stay, newest first, until a request does not fit: a fifth of the budget is for
    /// these requests. A parent or a request is cut if it takes more than a quarter of the budget.
    pub(crate) fn new(
        hot: &'f Hot,
        warm: &'f Warm,
        turn: Turn<'f>,
        counter: &dyn TokenCounter,
        limits: &ContextLimits,
    ) -> Self {
        let mut kept = Vec::new();
        let mut room = limits.hot;
        // Leaves room for the next frames. Without this room, each of them would trigger a
        // checkpoint.
        let ahead = limits.hot
            - limits
                .trigger
                .saturating_sub(limits.quarter())
                .min(limits.hot);
        let mut keep = |item: &Item, whole_room: u32, room: u32, is_current: bool| {
            let whole_room = whole_room.min(room);
            let shown = item.fit(whole_room, room, is_current, counter, limits);
            let fits = shown.tokens > 0 || is_current;
            if fits {
                kept.push(Kept {
                    position: item.position,
                    tokens: shown.tokens,
                    cut: shown.cut,
                });
            }
            fits.then_some(shown.tokens)
        };
        let find = |position: u64| hot.items().iter().find(|item| item.position == position);
        let quarter = limits.quarter();
        let parent = turn.parent.filter(|_| turn.parent != turn.current);
        if let Some(item) = parent.and_then(find) {
            room -= keep(item, quarter, room, false).unwrap_or(0);
        }
        if let Some(item) = turn.current.and_then(find) {
            room -= keep(item, room, room, true).unwrap_or(0);
        }
        room = room.saturating_sub(ahead).min(limits.others());
        let is_other = |item: &&Item| {
            let position = Some(item.position);
            position != turn.current
                && position != turn.parent
                && turn.in_flight.binary_search(&item.position).is_ok()
        };
        for item in hot.items().iter().rev().filter(is_other).take(KEPT - 2) {
            let Some(tokens) = keep(item, quarter, room, false) else {
                break;
            };
            room -= tokens;
        }
        kept.sort_by_key(|kept| kept.position);
        Self {
            hot,
            warm,
            turn,
            kept,
        }
    }

    /// Returns the number that the checkpoint will have.
    pub fn id(&self) -> u64 {
        self.warm.last().saturating_add(1)
    }

    /// Returns the last position before the frame that triggers the checkpoint.
    pub fn covers(&self) -> u64 {
        match self.turn.current {
            Some(current) => current.saturating_sub(1),
            None => self.hot.last().unwrap_or(self.hot.reset_at()),
        }
    }

    /// Returns the current time.
    pub fn at(&self) -> Time {
        self.turn.at
    }

    /// Returns the triggers.
    pub fn triggers(&self) -> &[Trigger] {
        self.turn.triggers
    }

    /// Returns the frames that stay, ascending by position.
    pub fn kept(&self) -> &[Kept] {
        &self.kept
    }

    /// Returns the frames that leave the context, in order, each with its position and without its
    /// metadata.
    pub fn leaving(&self) -> impl Iterator<Item = (u64, &'f str)> {
        let items = self.items().filter(|(_, kept)| kept.is_none());
        items.map(|(item, _)| (item.position, &*item.text))
    }

    /// Returns the tokens of the frames that leave.
    pub(crate) fn tokens_leaving(&self) -> usize {
        let items = self.items().filter(|(_, kept)| kept.is_none());
        items.map(|(item, _)| item.tokens as usize).sum()
    }

    /// Returns the frames that leave the context now, whole or in part. The flag says whether the frame leaves whole.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&'f Item, bool)> {
        self.items().filter_map(|(item, kept)| {
            let was_cut = item.cut && item.position <= self.hot.reset_at();
            match kept {
                None => Some((item, true)),
                Some(kept) => (kept.cut && !was_cut).then_some((item, false)),
            }
        })
    }

    /// Returns the ranges of positions that leave. A range may include positions that are not hot.
    pub(crate) fn manifest(&self) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        let mut is_open = false;
        for (item, kept) in self.items() {
            match ranges.last_mut() {
                _ if kept.is_some() => {}
                Some(range) if is_open => range.1 = item.position,
                _ => ranges.push((item.position, item.position)),
            }
            is_open = kept.is_none();
        }
        ranges
    }

    fn items(&self) -> impl Iterator<Item = (&'f Item, Option<&Kept>)> {
        self.hot.items().iter().map(|item| {
            let found = self
                .kept
                .binary_search_by_key(&item.position, |kept| kept.position);
            (item, found.ok().and_then(|at| self.kept.get(at)))
        })
    }
}
