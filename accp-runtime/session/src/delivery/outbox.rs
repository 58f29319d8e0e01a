//! The outbox of a member: the frames that the host may not have taken yet.

mod numbers;
mod settle;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::delivery::backoff::Backoff;
use crate::delivery::clock::Clock;
use crate::delivery::parts::Part;
use crate::interface::output::Outgoing;
use crate::log::mid::Mid;
use crate::options::Scope;
use crate::wire::link::mid_value;
use crate::wire::scan::Scanned;
use accp_context::Time;

/// The greatest number of frames under way where each sender has its own numbers.
const WINDOW: usize = 32;
/// The value of [`Consumed::until`] while this side does not know by which position the log has the frame.
pub(crate) const LATER: u64 = u64::MAX;
/// The greatest number of ids in `renamed`, and of frames in `anew` that have left the outbox.
const KEPT: usize = 1024;
/// The frames that the host may not have taken yet, in the order in which they were sent.
///
/// The first frame has the number [`sequence`](Self::sequence), and the others follow without a gap. Frames that the
/// host has consumed and not yet acknowledged come first, so the numbers stay right even if a frame or an
/// acknowledgement gets lost. Where each sender has its own numbers, a number changes only when a frame before it was
/// refused for good, and then it becomes smaller.
#[derive(Debug)]
pub(crate) struct Outbox {
    scope: Scope,
    /// Frames that the host has consumed, and that this side has not found in the log so far.
    taken: VecDeque<Consumed>,
    /// Frames that the host has consumed, and whose entries this side may have missed. This side asks the host
    /// whether the log has them.
    to_ask: Vec<Outgoing>,
    /// The order of the first frame whose entry this side cannot have missed. For frames that the store gave back
    /// at a restart, this side may have missed the entries.
    sure_from: u64,
    /// Frames that the host has never taken, although it has consumed frames with later ids, by their order. They go
    /// out again. The value is true while this side cannot have missed the entry of the frame.
    anew: BTreeMap<u64, bool>,
    /// New ids of frames that are sent before frames with older ids.
    renamed: Vec<Mid>,
    frames: VecDeque<Outgoing>,
    /// The number of the first frame.
    sequence: u64,
    /// The number of frames, from the first on, that went out since the last timeout.
    sent: usize,
    /// True if frames went out since a reader last cleared this flag.
    pub went_out: bool,
    /// The number of frames, from the first on, that may ever have gone out.
    ever_sent: usize,
    next_order: u64,
    /// The number of frames, from the first on, that the host had consumed when it last answered a
    /// hello.
    consumed: usize,
    /// True while this side does not know the number of its first frame, because its store is an old copy. Only the
    /// first frame goes out then, so that the host takes no later frame before the first.
    number_unknown: bool,
    /// The number that the host expected in its last refusal, once the outbox has acted on that refusal.
    acted_on: Option<u64>,
    /// True while the first frame waits for the next timeout.
    waits: bool,
    pub retry: Backoff,
}

/// A frame that the host has consumed.
#[derive(Debug)]
pub(crate) struct Consumed {
    pub frame: Outgoing,
    /// The log up to this position has the frame, unless the host dropped the frame. [`LATER`] while this side does
    /// not know such a position.
    until: u64,
    /// True if the host has accepted the frame, by its own statement.
    pub accepted: bool,
    /// True if the host has dropped the frame, by its own statement.
    pub gone: bool,
}

impl Outbox {
    pub(crate) fn new(frames: Vec<Outgoing>, sequence: u64, retry: Duration) -> Self {
        let next_order = frames.last().map_or(1, |last| last.order + 1);
        Self {
            scope: Scope::Shared,
            taken: VecDeque::new(),
            to_ask: Vec::new(),
            sure_from: next_order,
            anew: BTreeMap::new(),
            renamed: Vec::new(),
            // Each frame that the store gave back may have gone out in an earlier run.
            ever_sent: frames.len(),
            sequence: sequence.max(1),
            sent: 0,
            went_out: false,
            next_order,
            consumed: 0,
            number_unknown: sequence == 0,
            acted_on: None,
            waits: false,
            frames: frames.into(),
            retry: Backoff::new(retry),
        }
    }

    pub(crate) fn set_scope(&mut self, scope: Scope) {
        self.scope = scope;
    }

    /// Returns the number of frames that the host has not consumed, as far as this side knows.
    pub(crate) fn waiting(&self) -> usize {
        self.frames.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.to_ask.len() + self.taken.len() + self.frames.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn frames(&self) -> impl Iterator<Item = &Outgoing> {
        self.frames.iter()
    }

    /// Returns the number of the first frame that the host has not consumed.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns the number of the first frame that the store keeps.
    pub(crate) fn first_sequence(&self) -> u64 {
        self.sequence.saturating_sub(self.taken.len() as u64).max(1)
    }

    pub(crate) fn push(&mut self, mid: Mid, head: String, tail: String) -> &Outgoing {
        let outgoing = Outgoing {
            order: self.order(),
            mid,
            head,
            tail,
        };
        self.frames.push_back(outgoing);
        let last = self.frames.len() - 1;
        &self.frames[last]
    }

    /// Returns the order of a frame that goes out behind all others.
    fn order(&mut self) -> u64 {
        self.next_order += 1;
        self.next_order - 1
    }

    /// Returns whether a frame of the outbox has this id.
    pub(crate) fn contains(&self, mid: &Mid) -> bool {
        self.find(mid).is_some() || self.taken.iter().any(|taken| taken.frame.mid == *mid)
    }

    /// Returns whether the first frame that the host has not consumed has this id.
    pub(crate) fn is_first(&self, mid: &Mid) -> bool {
        self.find(mid) == Some(0)
    }

    fn find(&self, mid: &Mid) -> Option<usize> {
        self.frames.iter().position(|frame| frame.mid == *mid)
    }

    /// Notes that the host has consumed a frame and all frames before it. `at` is the number that the frame took, if
    /// the host names it. The log up to position `until` has these frames.
    ///
    /// Where each sender has its own numbers, frames may have left the outbox from between this frame and the next one.
    /// So the next frame may have a greater number than `at` plus 1, and keeps it.
    pub(crate) fn acknowledged(&mut self, mid: &Mid, at: Option<u64>, until: u64) {
        let expected = self.number_unknown.then_some(self.sequence);
        if !self.consumed_before(mid, at, until) {
            return;
        }
        if let Some(at) = at {
            let is_shared = self.scope == Scope::Shared;
            if !is_shared && expected.is_some_and(|expected| at < expected) {
                return; // an answer from before the host said which number it expects
            }
            let next = at.saturating_add(1);
            self.sequence = if is_shared {
                next
            } else {
                self.sequence.max(next)
            };
        }
        self.number_unknown = false;
    }

    /// As [`Outbox::acknowledged`], for a frame that the host has consumed before. If each sender has
    /// its own numbers, `at` may be from another run, so it is ignored.
    pub(crate) fn consumed_before(&mut self, mid: &Mid, at: Option<u64>, until: u64) -> bool {
        let Some(index) = self.find(mid) else {
            return false;
        };
        let gone = index + 1;
        let taken = self.frames.drain(..gone).map(|frame| Consumed {
            frame,
            until,
            accepted: false,
            gone: false,
        });
        self.taken.extend(taken);
        self.sent = self.sent.saturating_sub(gone);
        self.ever_sent = self.ever_sent.saturating_sub(gone);
        self.consumed = self.consumed.saturating_sub(gone);
        match at {
            Some(at) if self.scope == Scope::Shared => self.sequence = at.saturating_add(1),
            _ if self.number_unknown => {}
            _ => self.sequence += gone as u64,
        }
        self.acted_on = None;
        self.progress();
        true
    }

    /// Removes a frame that the host will never take. The frames behind it move up.
    pub(crate) fn refused(&mut self, mid: &Mid) -> Option<Outgoing> {
        let index = self.find(mid)?;
        let gone = self.frames.remove(index);
        // The frames behind the removed one usually get lower numbers, so they go out again. They
        // keep their numbers only if the host consumed the removed frame in an earlier run.
        self.sent = self.sent.min(index);
        if index < self.consumed {
            self.consumed -= 1;
            self.sequence += u64::from(!self.number_unknown);
        }
        if index < self.ever_sent {
            self.ever_sent -= 1;
        }
        self.acted_on = None;
        self.progress();
        gone
    }

    /// Gives a frame another id, at the same place. If the frame is the first part of a split frame, the other
    /// parts get the new id in their labels. Returns the frames that have changed.
    pub(crate) fn rename(&mut self, mid: &Mid, new: &Mid, aid: Option<&str>) -> Vec<Outgoing> {
        let Some(index) = self.find(mid) else {
            return Vec::new();
        };
        self.sent = self.sent.min(index);
        if index + 1 < self.frames.len() {
            let too_many = self.renamed.len() == KEPT;
            self.renamed.drain(..usize::from(too_many));
            self.renamed.push(new.clone());
        }
        let mut changed = Vec::new();
        for (at, frame) in self.frames.iter_mut().enumerate().skip(index) {
            let is_part = frame.part().is_some_and(|part| part.of == *mid);
            if at == index {
                frame.mid = new.clone();
                if let Some(aid) = aid {
                    frame.tail = with_pair(&frame.tail, "aid", aid);
                }
            }
            if is_part {
                frame.tail = with_pair(&frame.tail, "of", &mid_value(new).to_string());
            }
            if is_part || at == index {
                changed.push(frame.clone());
            }
        }
        changed
    }

    /// Makes a frame wait until the next timeout, because the host could not take it now.
    pub(crate) fn refused_for_now(&mut self, mid: &Mid, clock: &Clock) -> bool {
        let Some(index) = self.find(mid) else {
            return false;
        };
        self.sent = self.sent.min(index);
        self.waits = true;
        self.retry.again(clock.timers());
        self.correct_times(clock);
        true
    }

    /// Replaces every time stamp in the future by the present time. Such a stamp came from a clock that was ahead.
    fn correct_times(&mut self, clock: &Clock) {
        let now = clock.now.as_secs();
        for frame in &mut self.frames {
            let ts = frame.scan(|scanned| scanned.envelope.timestamp);
            if ts.flatten().is_some_and(|ts| ts > now) {
                frame.tail = with_pair(&frame.tail, "ts", &now.to_string());
            }
        }
    }

    /// Removes and returns unwanted frames that have never gone out.
    pub(crate) fn take_unsent(
        &mut self,
        mut unwanted: impl FnMut(&Outgoing) -> bool,
    ) -> Vec<Outgoing> {
        let mut gone = Vec::new();
        let mut index = self.ever_sent;
        while index < self.frames.len() {
            if unwanted(&self.frames[index]) {
                gone.extend(self.frames.remove(index));
            } else {
                index += 1;
            }
        }
        gone
    }

    /// Frees the memory of an empty outbox, and stops its timer.
    pub(crate) fn rest(&mut self) {
        if self.frames.is_empty() && self.taken.iter().all(|taken| taken.until != LATER) {
            self.progress();
        }
        if self.taken.is_empty() {
            self.taken = VecDeque::new();
        }
        if self.frames.is_empty() {
            self.frames = VecDeque::new();
            (self.anew, self.renamed) = (BTreeMap::new(), Vec::new());
        }
    }

    fn progress(&mut self) {
        (self.waits, self.went_out) = (false, false);
        self.retry.rest();
    }

    /// Makes all frames go out again, because the host has not answered.
    pub(crate) fn timeout(&mut self, clock: &Clock) {
        if std::mem::take(&mut self.waits) {
            self.correct_times(clock);
        }
        self.sent = 0;
        self.acted_on = None;
        self.retry.again(clock.timers());
    }

    /// Returns the texts that are to go out now.
    pub(crate) fn take_due(&mut self, now: Time) -> Vec<String> {
        let window = match self.scope {
            Scope::Sender if !self.number_unknown => WINDOW,
            _ => 1,
        };
        let end = self.frames.len().min(window);
        // Without this timeout, this side might never learn that the log has the consumed frames.
        if end > 0 || self.taken.iter().any(|taken| taken.until == LATER) {
            self.retry.arm(now);
        }
        if self.waits || self.sent >= end {
            return Vec::new();
        }
        let texts = self.frames.range(self.sent..end).enumerate();
        let first = self.sequence + self.sent as u64;
        let texts = texts
            .map(|(offset, frame)| frame.text(first + offset as u64))
            .collect();
        (self.sent, self.went_out) = (end, true);
        self.ever_sent = self.ever_sent.max(end);
        texts
    }
}

impl Outgoing {
    /// Returns what `look` reads in the frame; `None` if the frame breaks the grammar.
    pub(crate) fn scan<T>(&self, look: impl FnOnce(&Scanned<'_>) -> T) -> Option<T> {
        let text = self.text(0);
        Scanned::of_entry(&text).ok().map(|frame| look(&frame))
    }

    /// Returns the label of the frame if it is a part of a split frame.
    pub(crate) fn part(&self) -> Option<Part> {
        // Most frames are not parts, so this test saves the scan.
        if !self.tail.contains(",pt:") {
            return None;
        }
        let part = self.scan(|frame| Part::of(frame).ok().flatten());
        part.flatten()
    }

    /// Returns the id under which the frame is in the log: that of its first part, if it is a part.
    pub(crate) fn name(&self) -> Mid {
        self.part().map_or_else(|| self.mid.clone(), |part| part.of)
    }

    /// Returns the text of the frame under this number.
    pub fn text(&self, sequence: u64) -> String {
        format!(
            "{}[mid:{},seq:{sequence}{}]",
            self.head, self.mid, self.tail
        )
    }
}

/// Returns the pairs of `tail`, with this value under `key` in place of any other.
fn with_pair(tail: &str, key: &str, value: &str) -> String {
    let mut out = String::new();
    let mut escaped = false;
    // A comma after a backslash belongs to a value.
    let pairs = tail.split(|c| {
        let separates = c == ',' && !escaped;
        escaped = c == '\\' && !escaped;
        separates
    });
    let is_other = |pair: &&str| pair.split(':').next() != Some(key);
    for pair in pairs.filter(|pair| !pair.is_empty()).filter(is_other) {
        out.push(',');
        out.push_str(pair);
    }
    out + &format!(",{key}:{value}")
}
