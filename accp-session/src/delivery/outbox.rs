//! The outbox of a member, with the frames whose fate it does not know.

use std::collections::VecDeque;
use std::time::Duration;

use crate::delivery::clock::Clock;
use crate::options::Scope;
use crate::send::outbound::with_pair;
use crate::wire::link::mid_value;
use crate::wire::scan::Scanned;
use crate::{Mid, Outgoing, Part, Time};

/// Frames under way where each sender has its own numbers.
const WINDOW: usize = 32;
/// The position of a frame that the host has accepted, and whose entry is still to come.
pub(crate) const LATER: u64 = u64::MAX;
/// The number of times that the waiting time doubles.
const DOUBLINGS: u32 = 5;

/// Returns the time to wait after so many tries. It doubles each time, up to a limit.
pub(crate) fn waiting_time(first: Duration, tries: u32) -> Duration {
    first * (1 << tries.min(DOUBLINGS))
}

/// A waiting time that grows each time nothing is heard.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    first: Duration,
    tries: u32,
    at: Option<Time>,
}

impl Backoff {
    pub(crate) fn new(first: Duration) -> Self {
        Self {
            first,
            tries: 0,
            at: None,
        }
    }

    /// Returns the time of the next try.
    pub(crate) fn at(&self) -> Option<Time> {
        self.at
    }

    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.at.is_some_and(|at| at <= now)
    }

    /// Starts to wait, unless it waits already.
    pub(crate) fn arm(&mut self, now: Time) {
        if self.at.is_none() {
            self.wait(now);
        }
    }

    /// Waits again, twice as long as the last time.
    pub(crate) fn again(&mut self, now: Time) {
        self.tries += 1;
        self.wait(now);
    }

    fn wait(&mut self, now: Time) {
        self.at = Some(now + waiting_time(self.first, self.tries));
    }

    /// Stops waiting.
    pub(crate) fn rest(&mut self) {
        self.tries = 0;
        self.at = None;
    }

    pub(crate) fn tries(&self) -> u32 {
        self.tries
    }
}

/// The frames whose fate is unknown, in the order in which they were sent.
///
/// The first frame has the number [`sequence`](Self::sequence), and the others follow without a
/// gap. Frames that the host has consumed and not yet acknowledged come first, so the numbers stay
/// right even if something gets lost. Where each sender has its own numbers, a number changes only
/// when a frame before it was refused for good, and then it becomes smaller.
#[derive(Debug)]
pub(crate) struct Outbox {
    scope: Scope,
    /// Frames that the host has consumed, and that this side has not found in the log so far, each
    /// with the position by which it is there, unless the host dropped it.
    taken: VecDeque<(Outgoing, u64)>,
    frames: VecDeque<Outgoing>,
    /// The number of the first frame.
    sequence: u64,
    /// The number of frames, from the first on, that went out since the last timeout.
    sent: usize,
    /// The number of frames, from the first on, that may ever have gone out.
    ever_sent: usize,
    next_order: u64,
    /// The number that a refusal asked for and that the outbox has acted on.
    acted: Option<u64>,
    /// True while the first frame waits for the next timeout.
    waits: bool,
    pub retry: Backoff,
}

impl Outbox {
    pub(crate) fn new(frames: Vec<Outgoing>, sequence: u64, retry: Duration) -> Self {
        let next_order = frames.last().map_or(1, |last| last.order + 1);
        Self {
            scope: Scope::Shared,
            taken: VecDeque::new(),
            // Any of the frames that a store gave back may have gone out.
            ever_sent: frames.len(),
            frames: frames.into(),
            sequence: sequence.max(1),
            sent: 0,
            next_order,
            acted: None,
            waits: false,
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
        self.taken.len() + self.frames.len()
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
            order: self.next_order,
            mid,
            head,
            tail,
        };
        self.next_order += 1;
        self.frames.push_back(outgoing);
        let last = self.frames.len() - 1;
        &self.frames[last]
    }

    fn find(&self, mid: &Mid) -> Option<usize> {
        self.frames.iter().position(|frame| frame.mid == *mid)
    }

    /// Notes that the host has consumed a frame and all frames before it. `at` is the number that
    /// the frame took, if the host says so. The log has these frames by position `until`.
    pub(crate) fn acknowledged(&mut self, mid: &Mid, at: Option<u64>, until: u64) {
        let Some(index) = self.find(mid) else { return };
        let gone = index + 1;
        let taken = self.frames.drain(..gone).map(|frame| (frame, until));
        self.taken.extend(taken);
        self.sent = self.sent.saturating_sub(gone);
        self.ever_sent = self.ever_sent.saturating_sub(gone);
        self.sequence = match at {
            Some(at) => at.saturating_add(1),
            None => self.sequence + gone as u64,
        };
        self.acted = None;
        self.progress();
    }

    /// Takes an entry of this side from the log: a frame, or the whole of a frame in parts. The host
    /// has consumed all frames before it, too.
    pub(crate) fn logged(&mut self, mid: &Mid, sequence: u64) -> Vec<Outgoing> {
        let is_it = |frame: &Outgoing| frame.name() == *mid;
        if let Some(last) = self.frames.iter().rev().find(|frame| is_it(frame)) {
            let last = last.mid.clone();
            self.acknowledged(&last, Some(sequence), LATER);
        }
        let last = self.taken.iter().rposition(|(frame, _)| is_it(frame));
        self.take(last)
    }

    /// Returns the frames that the host has consumed, and that would be in the log up to this
    /// position if the host had not dropped them.
    pub(crate) fn passed_by(&mut self, position: u64) -> Vec<Outgoing> {
        let is_due = |(frame, until): &(Outgoing, u64)| {
            // A part is never in the log by itself.
            *until <= position && frame.part().is_none_or(|part| part.index == part.total)
        };
        let last = self.taken.iter().rposition(is_due);
        self.take(last)
    }

    /// As [`Outbox::passed_by`], for entries that this side has not seen.
    pub(crate) fn missed(&mut self, position: u64) -> Vec<Outgoing> {
        for (_, until) in self.taken.iter_mut().filter(|(_, until)| *until == LATER) {
            *until = position;
        }
        self.passed_by(position)
    }

    fn take(&mut self, last: Option<usize>) -> Vec<Outgoing> {
        let count = last.map_or(0, |last| last + 1);
        self.taken.drain(..count).map(|(frame, _)| frame).collect()
    }

    /// Returns the other parts of a frame of which the host refused one.
    pub(crate) fn others_of(&mut self, of: &Mid) -> Vec<Outgoing> {
        let taken = std::mem::take(&mut self.taken);
        let (gone, left) = taken
            .into_iter()
            .partition(|(frame, _)| frame.part().is_some_and(|part| part.of == *of));
        self.taken = left;
        let gone: VecDeque<(Outgoing, u64)> = gone;
        gone.into_iter().map(|(frame, _)| frame).collect()
    }

    /// Makes the frames that this side has not found in the log go out again. The host that has
    /// consumed them may have lost them.
    pub(crate) fn take_back(&mut self) {
        self.sequence = self.first_sequence();
        for (frame, _) in self.taken.drain(..).rev() {
            self.frames.push_front(frame);
            self.ever_sent += 1;
            self.sent = 0;
        }
    }

    /// Removes a frame that the host will never take. The frames behind it move up.
    pub(crate) fn refused(&mut self, mid: &Mid) -> Option<Outgoing> {
        let index = self.find(mid)?;
        let gone = self.frames.remove(index);
        // The frames behind it have other numbers now.
        self.sent = self.sent.min(index);
        if index < self.ever_sent {
            self.ever_sent -= 1;
        }
        self.acted = None;
        self.progress();
        gone
    }

    /// Gives a frame another id, at the same place. If the frame is the first part of another, the
    /// other parts name it by its new id. Returns the frames that have changed.
    pub(crate) fn rename(&mut self, mid: &Mid, new: &Mid, aid: Option<&str>) -> Vec<Outgoing> {
        let Some(index) = self.find(mid) else {
            return Vec::new();
        };
        self.sent = self.sent.min(index);
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

    /// Makes every time stamp in the future of this side the time. Such a stamp came from a clock
    /// that was ahead.
    fn correct_times(&mut self, clock: &Clock) {
        let now = clock.now.as_secs();
        for frame in &mut self.frames {
            let ts = frame.scan(|scanned| scanned.envelope.timestamp);
            if ts.flatten().is_some_and(|ts| ts > now) {
                frame.tail = with_pair(&frame.tail, "ts", &now.to_string());
            }
        }
    }

    /// Takes the number that the host waits for.
    ///
    /// With shared numbering, that is the number to use. Where each sender has its own numbers, it
    /// only means that something was lost on the way, unless the number is beyond that of the frame.
    /// Then other frames of this member have taken the numbers between: its store is an old copy.
    pub(crate) fn expected(&mut self, mid: &Mid, expected: u64) {
        let Some(index) = self.find(mid).filter(|_| self.acted != Some(expected)) else {
            return;
        };
        self.acted = Some(expected);
        self.sent = 0;
        let index = index as u64;
        match self.scope {
            Scope::Shared => self.sequence = expected,
            Scope::Sender if expected > self.sequence + index => self.sequence = expected - index,
            Scope::Sender => {}
        }
    }

    /// Notes that another frame has taken the number `taken`, with shared numbering.
    pub(crate) fn passed(&mut self, taken: u64) {
        if self.scope == Scope::Shared && taken >= self.sequence {
            self.sequence = taken + 1;
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

    /// Gives back the room of an empty outbox.
    pub(crate) fn rest(&mut self) {
        if self.taken.is_empty() {
            self.taken = VecDeque::new();
        }
        if self.frames.is_empty() {
            self.frames = VecDeque::new();
        }
    }

    fn progress(&mut self) {
        self.waits = false;
        self.retry.rest();
    }

    /// Makes all frames go out again, because nothing was heard.
    pub(crate) fn timeout(&mut self, clock: &Clock) {
        if std::mem::take(&mut self.waits) {
            self.correct_times(clock);
        }
        self.sent = 0;
        self.acted = None;
        self.retry.again(clock.timers());
    }

    /// Returns the texts that are to go out now.
    pub(crate) fn take_due(&mut self, now: Time) -> Vec<String> {
        let window = match self.scope {
            Scope::Shared => 1,
            Scope::Sender => WINDOW,
        };
        let end = self.frames.len().min(window);
        if end > 0 {
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
        self.sent = end;
        self.ever_sent = self.ever_sent.max(end);
        texts
    }
}

impl Outgoing {
    /// Returns what the scanned frame tells.
    pub(crate) fn scan<T>(&self, look: impl FnOnce(&Scanned<'_>) -> T) -> Option<T> {
        let text = self.text(0);
        Scanned::of_entry(&text).ok().map(|frame| look(&frame))
    }

    /// Returns the label of the frame, if it is a part of another.
    pub(crate) fn part(&self) -> Option<Part> {
        // Most frames are not parts.
        if !self.tail.contains(",pt:") {
            return None;
        }
        let part = self.scan(|frame| Part::read(&frame.envelope, frame.end).ok().flatten());
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
