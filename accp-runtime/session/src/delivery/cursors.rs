//! The cursors of all members, with notes about which of them may have something to do. With many members, the host
//! looks only at the cursors that have changed or are due, and not at all cursors whenever anything happens.

use std::collections::BTreeSet;

use crate::delivery::cursor::Cursor;
use crate::log::by_member::ByMember;
use crate::log::mid::MemberId;
use accp_context::Time;

/// Up to this number of members, looking at all cursors costs less than keeping notes about each.
const FEW: usize = 3;

/// The cursors by member.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    all: ByMember<Cursor>,
    /// Notes about the cursors, in a session of more than [`FEW`] members.
    notes: Option<Box<Notes>>,
}

/// Notes about the cursors of many members.
#[derive(Debug, Default)]
struct Notes {
    /// The members whose cursors were lent for changes since the notes were last brought up to date.
    lent: Vec<MemberId>,
    /// The members that the next turn looks at.
    busy: Vec<MemberId>,
    /// The length of `busy` when the turn began.
    began: usize,
    /// True if the next turn looks at all members.
    is_all_busy: bool,
    /// The state of each cursor when the notes were last brought up to date.
    noted: ByMember<Note>,
    /// The times at which cursors are due.
    alarms: BTreeSet<(Time, MemberId)>,
    /// The lowest position among those that the members last acknowledged, and the number of members at this
    /// position.
    least: Option<(u64, usize)>,
}

/// The noted state of a cursor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Note {
    alarm: Option<Time>,
    acked: Option<u64>,
}

impl Note {
    fn of(cursor: &Cursor) -> Self {
        Self {
            alarm: cursor.retry.at(),
            acked: cursor.acked,
        }
    }
}

impl Notes {
    /// Begins with members about which nothing is known.
    fn new(members: Vec<MemberId>) -> Self {
        Self {
            lent: members,
            is_all_busy: true,
            ..Self::default()
        }
    }

    fn lend(&mut self, member: MemberId) {
        if self.lent.last() != Some(&member) {
            self.lent.push(member);
        }
    }

    /// Brings the notes up to date.
    fn settle(&mut self, all: &ByMember<Cursor>) {
        let mut lent = std::mem::take(&mut self.lent);
        for member in lent.drain(..) {
            if let Some(cursor) = all.get(member) {
                self.write(member, Note::of(cursor));
                self.busy.push(member);
            }
        }
        // The emptied list goes back, so that its memory is used again.
        self.lent = lent;
    }

    fn write(&mut self, member: MemberId, note: Note) {
        let noted = self.noted.or_insert_with(member, Note::default);
        let before = std::mem::replace(noted, note);
        if before.alarm != note.alarm {
            if let Some(at) = before.alarm {
                self.alarms.remove(&(at, member));
            }
            self.alarms.extend(note.alarm.map(|at| (at, member)));
        }
        if before.acked != note.acked {
            self.count(before.acked, note.acked);
        }
    }

    /// Updates `least` for a member whose acknowledged position changes from `before` to `now`.
    fn count(&mut self, before: Option<u64>, now: Option<u64>) {
        if let Some((least, count)) = &mut self.least
            && before == Some(*least)
        {
            *count -= 1;
        }
        self.least = match (self.least, now) {
            (None, Some(now)) => Some((now, 1)),
            (Some((least, _)), Some(now)) if now < least => Some((now, 1)),
            (Some((least, count)), Some(now)) if now == least => Some((least, count + 1)),
            (Some((_, 0)), _) => self.lowest(),
            (kept, _) => kept,
        };
    }

    /// Finds the lowest acknowledged position in the notes, and counts the members at this position.
    fn lowest(&self) -> Option<(u64, usize)> {
        let mut found: Option<(u64, usize)> = None;
        for acked in self.noted.iter().filter_map(|(_, note)| note.acked) {
            found = match found {
                Some((least, count)) if least == acked => Some((least, count + 1)),
                Some((least, count)) if least < acked => Some((least, count)),
                _ => Some((acked, 1)),
            };
        }
        found
    }

    fn due(&self, now: Time) -> impl Iterator<Item = MemberId> {
        let due = self.alarms.range(..=(now, MemberId::LAST));
        due.map(|(_, member)| *member)
    }
}

impl Cursors {
    pub(crate) fn get(&self, member: MemberId) -> Option<&Cursor> {
        self.all.get(member)
    }

    pub(crate) fn get_mut(&mut self, member: MemberId) -> Option<&mut Cursor> {
        if let Some(notes) = &mut self.notes {
            notes.lend(member);
        }
        self.all.get_mut(member)
    }

    pub(crate) fn or_insert_with(
        &mut self,
        member: MemberId,
        new: impl FnOnce() -> Cursor,
    ) -> &mut Cursor {
        if let Some(notes) = &mut self.notes {
            notes.lend(member);
        } else if self.all.len() == FEW && self.all.get(member).is_none() {
            // With this member, the session has enough members for notes.
            let members = self.all.iter().map(|(member, _)| member);
            let members = members.chain([member]).collect();
            self.notes = Some(Box::new(Notes::new(members)));
        }
        self.all.or_insert_with(member, new)
    }

    pub(crate) fn remove(&mut self, member: MemberId) {
        if let Some(notes) = &mut self.notes {
            notes.settle(&self.all);
            notes.write(member, Note::default());
            notes.noted.remove(member);
        }
        self.all.remove(member);
        if self.all.len() <= FEW {
            self.notes = None;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (MemberId, &Cursor)> {
        self.all.iter()
    }

    /// Lends all cursors. The next turn looks at all.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (MemberId, &mut Cursor)> {
        if let Some(notes) = &mut self.notes {
            notes.is_all_busy = true;
            notes.lent = self.all.iter().map(|(member, _)| member).collect();
        }
        self.all.iter_mut()
    }

    /// Makes the next turn look at all members.
    pub(crate) fn stir(&mut self) {
        if let Some(notes) = &mut self.notes {
            notes.is_all_busy = true;
        }
    }

    /// Returns the lowest of the positions that the members last acknowledged.
    pub(crate) fn least(&mut self) -> Option<u64> {
        let Some(notes) = &mut self.notes else {
            return self.all.iter().filter_map(|(_, cursor)| cursor.acked).min();
        };
        notes.settle(&self.all);
        notes.least.map(|(least, _)| least)
    }

    /// Returns the time at which the first cursor is due.
    pub(crate) fn next_alarm(&self) -> Option<Time> {
        let Some(notes) = &self.notes else {
            return self.all.iter().filter_map(|(_, c)| c.retry.at()).min();
        };
        let is_known = |(_, member): &&(Time, MemberId)| !notes.lent.contains(member);
        let first = notes.alarms.iter().find(is_known).map(|(at, _)| *at);
        let lent = notes.lent.iter().filter_map(|member| self.all.get(*member));
        lent.filter_map(|cursor| cursor.retry.at())
            .chain(first)
            .min()
    }

    /// Calls `look` with each cursor that may have something to do: a cursor that was lent since the previous turn,
    /// or is due.
    pub(crate) fn each_busy(&mut self, now: Time, mut look: impl FnMut(MemberId, &mut Cursor)) {
        let Self { all, notes } = self;
        let Some(notes) = notes else {
            all.iter_mut()
                .for_each(|(member, cursor)| look(member, cursor));
            return;
        };
        notes.settle(all);
        let mut members: Vec<MemberId> = if notes.is_all_busy {
            all.iter().map(|(member, _)| member).collect()
        } else {
            notes.busy.iter().copied().chain(notes.due(now)).collect()
        };
        members.sort_unstable();
        members.dedup();
        for member in members {
            if let Some(cursor) = all.get_mut(member) {
                look(member, cursor);
                notes.write(member, Note::of(cursor));
            }
        }
    }

    /// Calls `look` with each cursor that is due.
    pub(crate) fn each_due(&mut self, now: Time, mut look: impl FnMut(MemberId, &mut Cursor)) {
        let due: Vec<MemberId> = match &mut self.notes {
            None => self.all.iter().map(|(member, _)| member).collect(),
            Some(notes) => {
                notes.settle(&self.all);
                notes.due(now).collect()
            }
        };
        for member in due {
            let cursor = self.get_mut(member);
            if let Some(cursor) = cursor.filter(|cursor| cursor.retry.is_due(now)) {
                look(member, cursor);
            }
        }
    }

    /// Begins a turn. Cursors that are lent from now on are busy in the next turn, too.
    pub(crate) fn begin_turn(&mut self) {
        if let Some(notes) = &mut self.notes {
            notes.settle(&self.all);
            notes.began = notes.busy.len();
        }
    }

    /// Ends a turn.
    pub(crate) fn end_turn(&mut self) {
        if let Some(notes) = &mut self.notes {
            notes.settle(&self.all);
            notes.busy.drain(..notes.began);
            (notes.began, notes.is_all_busy) = (0, false);
        }
    }

    /// Frees memory that is not used.
    pub(crate) fn rest(&mut self) {
        if let Some(notes) = &mut self.notes {
            if notes.alarms.is_empty() {
                notes.alarms = BTreeSet::new();
            }
            notes.lent.shrink_to_fit();
            notes.busy.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn member(number: u16) -> MemberId {
        MemberId::new(101 + number).unwrap()
    }

    /// A change of one cursor, as a host makes it.
    #[derive(Debug, Clone)]
    enum Change {
        Acked(u16, Option<u64>),
        Arm(u16, i64),
        Rest(u16),
        Remove(u16),
        Turn(i64),
    }

    fn changes() -> impl Strategy<Value = Vec<Change>> {
        let change = prop_oneof![
            4 => (0..8_u16, proptest::option::of(0..6_u64)).prop_map(|(who, at)| Change::Acked(who, at)),
            3 => (0..8_u16, 0..100_i64).prop_map(|(who, at)| Change::Arm(who, at)),
            1 => (0..8_u16).prop_map(Change::Rest),
            1 => (0..8_u16).prop_map(Change::Remove),
            2 => (0..100_i64).prop_map(Change::Turn),
        ];
        proptest::collection::vec(change, 0..60)
    }

    proptest! {
        #[test]
        fn the_notes_say_what_a_look_at_all_says(changes in changes()) {
            let mut cursors = Cursors::default();
            let mut touched = BTreeSet::new();
            let new = || Cursor::new(Duration::from_millis(10));
            for change in changes {
                match change {
                    Change::Acked(who, at) => {
                        cursors.or_insert_with(member(who), new).acked = at;
                        touched.insert(member(who));
                    }
                    Change::Arm(who, at) => {
                        let cursor = cursors.or_insert_with(member(who), new);
                        cursor.retry.arm(Time::from_millis(at));
                        touched.insert(member(who));
                    }
                    Change::Rest(who) => {
                        if let Some(cursor) = cursors.get_mut(member(who)) {
                            cursor.retry.rest();
                            touched.insert(member(who));
                        }
                    }
                    Change::Remove(who) => {
                        cursors.remove(member(who));
                        touched.remove(&member(who));
                    }
                    Change::Turn(now) => {
                        let now = Time::from_millis(now);
                        cursors.begin_turn();
                        let mut seen = BTreeSet::new();
                        cursors.each_busy(now, |member, _| {
                            seen.insert(member);
                        });
                        cursors.end_turn();
                        let due = cursors.iter().filter(|(_, cursor)| cursor.retry.is_due(now));
                        touched.extend(due.map(|(member, _)| member));
                        prop_assert!(touched.is_subset(&seen), "{touched:?} {seen:?}");
                        touched.clear();
                    }
                }
                let alarm = cursors.iter().filter_map(|(_, cursor)| cursor.retry.at()).min();
                prop_assert_eq!(cursors.next_alarm(), alarm);
                let least = cursors.iter().filter_map(|(_, cursor)| cursor.acked).min();
                prop_assert_eq!(cursors.least(), least);
            }
        }
    }
}
