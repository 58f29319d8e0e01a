//! The fate of consumed frames: in the log, dropped, or to be sent again.

use std::collections::{BTreeSet, VecDeque};

use super::{LATER, Outbox};
use crate::refs::reference::references;
use crate::wire::control::Control;
use crate::{Mid, Outgoing, Part};

impl Outbox {
    /// Returns whether a frame with this id has other words than this text of the log. The store of
    /// this side was an old copy, and an earlier run has used the id.
    pub(crate) fn contradicts(&self, mid: &Mid, text: &str) -> bool {
        let taken = self.taken.iter().map(|(frame, _)| frame);
        let mut all = taken.chain(&self.frames);
        let frame = all.find(|frame| frame.mid == *mid && frame.part().is_none());
        frame.is_some_and(|frame| {
            let tail = text.strip_prefix(&*frame.head);
            tail.is_none_or(|tail| !tail.starts_with('['))
        })
    }

    /// Gives a frame another id, and makes it the last of the outbox. The host may have taken frames
    /// behind it.
    pub(crate) fn begin_anew(&mut self, mid: &Mid, new: &Mid) -> Option<Outgoing> {
        let at = self.taken.iter().position(|(frame, _)| frame.mid == *mid);
        let taken = at.and_then(|at| self.taken.remove(at));
        let mut frame = if let Some((frame, _)) = taken {
            frame
        } else {
            self.careful = true;
            self.refused(mid)?
        };
        (frame.mid, frame.order) = (new.clone(), self.next_order);
        self.next_order += 1;
        self.frames.push_back(frame.clone());
        Some(frame)
    }

    /// Takes the entry of this side at this position of the log: a frame, or the whole of a frame in
    /// parts. The host has consumed the frames before it, too. One that is not in the log was dropped;
    /// if there was no reason to drop it, it was refused in an earlier run, of which this store is an
    /// older copy, and goes out again. Returns the frames whose fate is known now.
    pub(crate) fn logged(
        &mut self,
        mid: &Mid,
        (sequence, position): (u64, u64),
        may_be_dropped: impl Fn(&Outgoing) -> bool,
    ) -> Vec<Outgoing> {
        let is_it = |frame: &Outgoing| frame.name() == *mid;
        let first = self.taken.len();
        if let Some(last) = self.frames.iter().rev().find(|frame| is_it(frame)) {
            let last = last.mid.clone();
            self.was_there(&last, Some(sequence), position);
        }
        for at in (first..self.taken.len()).rev() {
            let (frame, _) = &self.taken[at];
            if !is_it(frame) && !may_be_dropped(frame) {
                if let Some((frame, _)) = self.taken.remove(at) {
                    self.frames.push_front(frame);
                }
                self.ever_sent += 1;
                self.careful = true;
            }
        }
        // The frames before it would be in the log by now.
        let last = self.taken.iter().rposition(|(frame, _)| is_it(frame));
        let before = self.taken.iter_mut().take(last.map_or(0, |last| last + 1));
        for (_, until) in before.filter(|(_, until)| *until == LATER) {
            *until = position;
        }
        self.settle(|frame, until| is_it(frame) || until <= position)
    }

    /// Returns the frames that the host has consumed, and that would be in the log up to this
    /// position if the host had not dropped them.
    pub(crate) fn passed_by(&mut self, position: u64) -> Vec<Outgoing> {
        self.settle(|_, until| until <= position)
    }

    /// Removes and returns consumed frames. A part is never in the log by itself, so the last part
    /// decides for all of its frame.
    fn settle(&mut self, is_settled: impl Fn(&Outgoing, u64) -> bool) -> Vec<Outgoing> {
        let all = || {
            self.taken
                .iter()
                .map(|(frame, _)| frame)
                .chain(&self.frames)
        };
        // The last part may have been withdrawn.
        let ends = |frame: &Outgoing| {
            frame.part().is_none_or(|part| {
                let later = |other: &Part| other.of == part.of && other.index > part.index;
                part.index == part.total
                    || !all().any(|other| other.part().as_ref().is_some_and(later))
            })
        };
        let settled = self.taken.iter();
        let settled = settled.filter(|(frame, until)| ends(frame) && is_settled(frame, *until));
        let names: BTreeSet<Mid> = settled.map(|(frame, _)| frame.name()).collect();
        if names.is_empty() {
            return Vec::new();
        }
        let taken = std::mem::take(&mut self.taken).into_iter();
        let (gone, left): (Vec<_>, Vec<_>) =
            taken.partition(|(frame, _)| names.contains(&frame.name()));
        self.taken = left.into();
        gone.into_iter().map(|(frame, _)| frame).collect()
    }

    /// As [`Outbox::passed_by`], for entries that this side has not seen.
    pub(crate) fn missed(&mut self, position: u64) -> Vec<Outgoing> {
        for (_, until) in self.taken.iter_mut().filter(|(_, until)| *until == LATER) {
            *until = position;
        }
        self.passed_by(position)
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

    /// Makes all frames go out again that this side has not found in the log. A host that has
    /// consumed them may have lost them.
    pub(crate) fn go_again(&mut self) {
        self.sent = 0;
        self.sequence = self.first_sequence();
        for (frame, _) in self.taken.drain(..).rev() {
            self.frames.push_front(frame);
            self.ever_sent += 1;
            self.consumed += 1;
        }
    }

    /// Removes and returns the frames that refer to values of a refused announcement. Without it the
    /// values would be others, if the session has their keys already. The host has taken none of
    /// these frames: their numbers come after that of the announcement.
    pub(crate) fn take_readers(&mut self, refused: &Outgoing) -> Vec<Outgoing> {
        let Some(Control::Put { values }) =
            refused.scan(|frame| Control::read(frame).ok()).flatten()
        else {
            return Vec::new();
        };
        let reads = |frame: &Outgoing| {
            let keys = references(&frame.head).filter_map(|key| key.strip_prefix("cold."));
            let mut keys = keys.filter_map(|key| key.split('.').next());
            keys.any(|key| values.iter().any(|(put, _, _)| put == key))
        };
        let mids = self.frames.iter().filter(|frame| reads(frame));
        let mids: Vec<_> = mids.map(|frame| frame.mid.clone()).collect();
        mids.iter().filter_map(|mid| self.refused(mid)).collect()
    }
}
