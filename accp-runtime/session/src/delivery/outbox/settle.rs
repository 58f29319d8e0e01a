//! Settles consumed frames: they are in the log, were dropped, or go out again.

use std::collections::BTreeSet;

use super::{Consumed, KEPT, LATER, Outbox};
use crate::delivery::parts::Part;
use crate::interface::output::Outgoing;
use crate::log::mid::Mid;
use crate::reference::references;
use crate::wire::control::Control;

/// The greatest number of frames that a member asks about at a time.
const ASKED: usize = 32;
/// The number of times that the first frame goes out without an answer, before the member asks about it.
const SILENT: u32 = 5;

impl Outbox {
    /// Returns whether the outbox has a frame with this id that differs from the frame in the log. If so, the store
    /// of this side was an old copy, and an earlier run has used the id.
    pub(crate) fn contradicts(&self, mid: &Mid, text: &str) -> bool {
        let frame = self
            .all()
            .find(|frame| frame.mid == *mid && frame.part().is_none());
        frame.is_some_and(|frame| {
            let tail = text.strip_prefix(&*frame.head);
            tail.is_none_or(|tail| !tail.starts_with('['))
        })
    }

    /// Makes a frame the last of the outbox, so that it goes out again. The host may have taken later frames already.
    pub(crate) fn make_last(&mut self, mid: &Mid) {
        let at = self.taken.iter().position(|taken| taken.frame.mid == *mid);
        let taken = at.and_then(|at| self.taken.remove(at));
        self.number_unknown |= taken.is_none();
        let frame = taken.map_or_else(|| self.refused(mid), |taken| Some(taken.frame));
        if let Some(mut frame) = frame {
            frame.order = self.order();
            self.frames.push_back(frame);
        }
    }

    /// Takes an entry of this side from this position of the log: a frame, or the whole of a frame in parts. The host
    /// has also consumed the frames that this side sent earlier. If the log does not have one of these, the host has
    /// dropped it, provided that `may_be_dropped` sees a reason. Without a reason, the store of this side is an older
    /// copy, and the host has refused the frame in an earlier run. Then the frame goes out again. Returns the frames
    /// that are settled now.
    pub(crate) fn logged(
        &mut self,
        mid: &Mid,
        (sequence, position): (u64, u64),
        may_be_dropped: impl Fn(&Outgoing) -> bool,
    ) -> Vec<Consumed> {
        let is_it = |frame: &Outgoing| frame.name() == *mid;
        if let Some(last) = self.frames.iter().rev().find(|frame| is_it(frame)) {
            let last = last.mid.clone();
            self.consumed_before(&last, Some(sequence), LATER);
        }
        // The host logs the frames of this side in order. So a consumed frame before this one is
        // in the log by now, unless the host dropped or refused it.
        let last = self.taken.iter().rposition(|taken| is_it(&taken.frame));
        for at in (0..last.unwrap_or(0)).rev() {
            let taken = &mut self.taken[at];
            if is_it(&taken.frame) || taken.until != LATER {
                continue;
            }
            if may_be_dropped(&taken.frame) {
                taken.until = position;
            } else if let Some(taken) = self.taken.remove(at) {
                self.send_again(taken.frame);
            }
        }
        self.settle(|taken| is_it(&taken.frame) || taken.until <= position)
    }

    /// Returns the frames that the host has consumed, and that would be in the log up to this
    /// position if the host had not dropped them.
    pub(crate) fn passed_by(&mut self, position: u64) -> Vec<Consumed> {
        self.settle(|taken| taken.until <= position)
    }

    /// Notes that the host has accepted a frame. For a frame in parts, only the last part shows that the host has
    /// accepted the whole frame.
    pub(crate) fn accepted(&mut self, mid: &Mid) {
        let taken = self.taken.iter_mut().find(|taken| taken.frame.mid == *mid);
        if let Some(taken) = taken {
            let part = taken.frame.part();
            taken.accepted = part.is_none_or(|part| part.index == part.total);
        }
    }

    fn all(&self) -> impl Iterator<Item = &Outgoing> {
        let taken = self.taken.iter().map(|taken| &taken.frame);
        taken.chain(&self.frames)
    }

    /// Removes and returns consumed frames. A part is never in the log by itself, so the last part decides for all
    /// parts of its frame.
    fn settle(&mut self, is_settled: impl Fn(&Consumed) -> bool) -> Vec<Consumed> {
        // The sender may have given up the last part. So the last part that the outbox still has decides.
        let ends = |frame: &Outgoing| {
            frame.part().is_none_or(|part| {
                let later = |other: Part| other.of == part.of && other.index > part.index;
                !self.all().filter_map(Outgoing::part).any(later)
            })
        };
        let settled = self.taken.iter();
        let settled = settled.filter(|taken| is_settled(taken) && ends(&taken.frame));
        let names: BTreeSet<Mid> = settled.map(|taken| taken.frame.name()).collect();
        if names.is_empty() {
            return Vec::new();
        }
        self.extract(|taken| names.contains(&taken.frame.name()))
    }

    /// Removes and returns the consumed frames that are wanted.
    fn extract(&mut self, is_wanted: impl Fn(&Consumed) -> bool) -> Vec<Consumed> {
        let taken = std::mem::take(&mut self.taken).into_iter();
        let (wanted, left): (Vec<_>, Vec<_>) = taken.partition(is_wanted);
        self.taken = left.into();
        wanted
    }

    /// Keeps a frame to ask the host about, if its entry may be among those that this side has
    /// missed. Otherwise it returns the frame.
    pub(crate) fn ask(&mut self, frame: Outgoing) -> Option<Outgoing> {
        if frame.order >= self.sure_from || self.anew.get(&frame.order) == Some(&true) {
            return Some(frame);
        }
        self.to_ask.push(frame);
        None
    }

    /// Returns whether this side may have missed the entry of a frame.
    pub(crate) fn has_to_ask(&self) -> bool {
        !self.to_ask.is_empty()
    }

    /// Returns the ids of the frames to ask about next. If there are none and the host has not answered the first
    /// frame of the outbox for a long time, this side asks about that frame. If the store of this side is an older
    /// copy, the host may have dropped that frame in an earlier run.
    pub(crate) fn asks(&self) -> Vec<Mid> {
        let is_silent = !self.has_to_ask() && self.retry.tries() >= SILENT;
        let first = self.frames.iter().take(usize::from(is_silent));
        let frames = self.to_ask.iter().take(ASKED).chain(first);
        frames.map(|frame| frame.mid.clone()).collect()
    }

    /// Takes the answer of the host about these frames, and returns those whose entries this side may
    /// have missed. The host has dropped those in `gone`. The log up to `until` shows the reason.
    pub(crate) fn answered(&mut self, asked: &[Mid], gone: &[Mid], until: u64) -> Vec<Outgoing> {
        let first = self.frames.front().map(|frame| frame.mid.clone());
        if let Some(mid) = first.filter(|mid| asked.contains(mid) && gone.contains(mid)) {
            self.number_unknown = true;
            self.consumed_before(&mid, None, until);
            // If this frame is a part, it may wait here for the other parts. It must not go out again meanwhile.
            if let Some(taken) = self.taken.back_mut() {
                taken.gone = true;
            }
        }
        let is_asked = |frame: &mut Outgoing| asked.contains(&frame.mid);
        self.to_ask.extract_if(.., is_asked).collect()
    }

    /// Keeps a frame, which the host has dropped, until this side has the log up to this position. The log then shows
    /// the reason.
    pub(crate) fn gone(&mut self, frame: Outgoing, until: u64) {
        let before = |taken: &&Consumed| taken.frame.order < frame.order;
        let place = self.taken.iter().take_while(before).count();
        let taken = Consumed {
            frame,
            until,
            accepted: false,
            gone: true,
        };
        self.taken.insert(place, taken);
    }

    /// Notes that the log of the host ends at this position. If the log was longer when the host said
    /// that it had dropped frames, the host has lost that log since, and may not know these frames:
    /// this side asks about them again. Returns whether there are such frames.
    pub(crate) fn log_ends_at(&mut self, position: u64) -> bool {
        let lost = self.extract(|taken| taken.gone && taken.until > position);
        let asks = !lost.is_empty();
        self.to_ask
            .extend(lost.into_iter().map(|taken| taken.frame));
        asks
    }

    /// Makes a frame go out again that the host has not consumed after all.
    fn send_again(&mut self, frame: Outgoing) {
        self.put_back(frame);
        self.number_unknown = true;
    }

    /// Puts a consumed frame back among the frames to send, in the order of the outbox. Returns its index.
    fn put_back(&mut self, frame: Outgoing) -> usize {
        let frames = self.frames.iter();
        let place = frames.take_while(|other| other.order < frame.order).count();
        self.frames.insert(place, frame);
        self.ever_sent += 1;
        place
    }

    /// Puts back a frame that the host has never taken, although the host has taken the frames up to `last`. The frame
    /// goes out again behind these frames, as if it was sent later.
    pub(crate) fn never_taken(&mut self, frame: Outgoing, last: Option<&Mid>) {
        let place = last.and_then(|last| self.find(last)).map_or(0, |at| at + 1);
        self.anew.insert(frame.order, true);
        self.frames.insert(place, frame);
        if self.anew.len() > KEPT {
            let here: BTreeSet<u64> = self.all().map(|frame| frame.order).collect();
            self.anew.retain(|order, _| here.contains(order));
        }
        self.sent = self.sent.min(place);
        self.ever_sent = self.ever_sent.max(place) + 1;
        self.number_unknown = true;
    }

    /// As [`Outbox::passed_by`], but for entries that this side did not get.
    pub(crate) fn missed(&mut self, position: u64) -> Vec<Consumed> {
        self.sure_from = self.next_order;
        self.anew.values_mut().for_each(|is_sure| *is_sure = false);
        for taken in &mut self.taken {
            if taken.until == LATER {
                taken.until = position;
            }
        }
        self.passed_by(position)
    }

    /// Returns the id of the first part of a frame, if this frame is another part and the first one is not here any more.
    pub(crate) fn lacks_first(&self, mid: &Mid) -> Option<Mid> {
        let part = self.frames[self.find(mid)?].part()?;
        let mut here = self.all().chain(&self.to_ask);
        let is_here = here.any(|frame| frame.mid == part.of);
        (!is_here).then_some(part.of)
    }

    /// Removes and returns the other parts of a frame, because the host has refused one part.
    pub(crate) fn others_of(&mut self, of: &Mid) -> Vec<Outgoing> {
        let is_other = |taken: &Consumed| taken.frame.part().is_some_and(|part| part.of == *of);
        let gone = self.extract(is_other).into_iter();
        gone.map(|taken| taken.frame).collect()
    }

    /// Returns whether a part of this frame is still here.
    pub(crate) fn has_parts_of(&self, of: &Mid) -> bool {
        let mut here = self.all().chain(&self.to_ask).filter_map(Outgoing::part);
        here.any(|part| part.of == *of)
    }

    /// Makes all frames go out again that this side has not found in the log. The host may have consumed these frames
    /// and then lost them.
    pub(crate) fn go_again(&mut self) {
        self.sent = 0;
        self.sequence = self.first_sequence();
        for taken in self.extract(|taken| !taken.gone).into_iter().rev() {
            self.consumed = self.put_back(taken.frame).max(self.consumed) + 1;
        }
    }

    /// Removes and returns the frames that refer to values of a refused announcement, with all parts of such frames. If
    /// the session already has values under the same keys, these references would lead to those other values. The host
    /// has taken none of the frames: their numbers come after that of the announcement.
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
        let readers = self.frames.iter().filter(|frame| reads(frame));
        let readers: BTreeSet<_> = readers.map(Outgoing::name).collect();
        let is_of_one = |frame: &&Outgoing| readers.contains(&frame.name());
        let mids = self.frames.iter().filter(is_of_one);
        let mids: Vec<_> = mids.map(|frame| frame.mid.clone()).collect();
        mids.iter().filter_map(|mid| self.refused(mid)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use accp_context::Time;

    use super::*;
    use crate::options::Scope;

    #[test]
    fn what_was_dropped_in_a_log_that_is_lost_is_asked_about_again() {
        let mid = Mid::parse("101000001134");
        let frame = Outgoing {
            order: 7,
            mid: mid.clone(),
            head: "@a1>req:plan{n:1}".to_owned(),
            tail: String::new(),
        };
        let mut outbox = Outbox::new(Vec::new(), 1, Duration::from_secs(1));
        outbox.gone(frame, 941);
        // The log reaches to position 941, where the entry with the reason is. So this side will
        // still get that entry.
        assert!(!outbox.log_ends_at(941));
        assert_eq!(outbox.asks(), []);
        // A host that was restored from an older copy will never have this entry at position 941.
        assert!(outbox.log_ends_at(802));
        assert_eq!(outbox.asks(), [mid]);
        assert!(outbox.passed_by(2_000).is_empty());
    }

    #[test]
    fn an_old_acknowledgement_lowers_no_number() {
        let frame = |n: u64| Outgoing {
            order: n,
            mid: Mid::parse(&format!("10100000100{n}")),
            head: format!("@a1>req:plan{{n:{n}}}"),
            tail: String::new(),
        };
        // The host has taken the first three frames. Two of them have left the outbox, and the host answers a hello.
        let mut outbox = Outbox::new(vec![frame(1), frame(4)], 1, Duration::from_secs(1));
        outbox.set_scope(Scope::Sender);
        outbox.greeted(4, Some(&frame(3).mid));
        let now = Time::from_secs(1_714_000_000);
        assert_eq!(outbox.take_due(now), [frame(1).text(4)]);
        // The acknowledgement of the first frame was under way for long.
        outbox.acknowledged(&frame(1).mid, Some(1), 9);
        assert_eq!(outbox.take_due(now), [frame(4).text(4)]);
    }

    #[test]
    fn a_dropped_part_does_not_go_out_again_while_it_waits_for_the_other_part() {
        let mids = [1, 2].map(|n| Mid::parse(&format!("10100000100{n}")));
        let part = |n: usize| Outgoing {
            order: n as u64,
            mid: mids[n - 1].clone(),
            head: "@a1>req:plan{n:1}".to_owned(),
            tail: format!(",ts:1714000000,pt:{n}/2,of:{}", mids[0]),
        };
        let mut outbox = Outbox::new(vec![part(1), part(2)], 1, Duration::from_secs(1));
        for mid in &mids {
            assert!(outbox.passed_by(9).is_empty());
            assert_eq!(outbox.frames().next().map(|frame| &frame.mid), Some(mid));
            let asked = std::slice::from_ref(mid);
            assert!(outbox.answered(asked, asked, 9).is_empty());
            outbox.go_again();
        }
        let settled = outbox.passed_by(9);
        assert!(settled.iter().all(|taken| taken.gone));
        assert!(settled.iter().map(|taken| &taken.frame.mid).eq(&mids));
    }
}
