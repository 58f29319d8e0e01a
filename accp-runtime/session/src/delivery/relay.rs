//! Relay of the log to the members. Each member gets every relayed entry once and in order.

use std::collections::VecDeque;
use std::time::Duration;

use crate::delivery::cursor::Cursor;
use crate::delivery::cursors::Cursors;
use crate::delivery::draft::DraftMember;
use crate::interface::output::{Read, Transmit};
use crate::log::entry::Entry;
use crate::log::mid::{MemberId, Mid};
use crate::log::vouch::LogKey;
use crate::wire::relayed::Relayed;
use accp_context::Time;
use accp_registry::Hash;

/// The greatest number of entries under way to a member.
const WINDOW: usize = 64;
/// The greatest number of bytes under way to a member. One entry may be larger.
const WINDOW_BYTES: usize = 128 * 1024;
/// The number of hellos without progress after which the host stops sending the log again at each hello of the
/// member.
const HELLOS: u8 = 3;
/// The greatest number of entries kept in memory for members that lag behind; older entries are
/// read from the store.
const TAIL: usize = 1024;
/// The greatest number of bytes of these entries.
const TAIL_BYTES: usize = 1 << 20;

/// The progress of the members through the log.
#[derive(Debug)]
pub(crate) struct Relays {
    pub cursors: Cursors,
    /// The newest relayed entries, as far as some member needs them.
    tail: VecDeque<Relayed>,
    tail_bytes: usize,
    /// The last relayed position before the tail.
    before: u64,
    /// The last relayed position of the log.
    last: u64,
    retry: Duration,
    /// The secret of the log, if the host vouches for it. With a secret, a member has to prove which position it
    /// holds.
    key: Option<LogKey>,
    /// False if no member knows only the draft.
    has_drafts: bool,
}

impl Relayed {
    /// Queues the entry for a member to which the host has sent all entries before this one, and moves the member's
    /// cursor to this entry.
    fn to(
        &self,
        member: MemberId,
        cursor: &mut Cursor,
        key: Option<&LogKey>,
        sends: &mut Vec<Transmit>,
    ) {
        let prev = std::mem::replace(&mut cursor.sent, self.position);
        if let Some(draft) = cursor.draft() {
            return draft.waiting.push_back(self.clone());
        }
        let hash = self.hash.as_ref().filter(|_| cursor.is_vouched());
        let vouched = hash.and_then(|hash| Some(key?.pairs(self.position, hash)));
        let text = self.relay(prev, vouched).text();
        sends.push(Transmit { to: member, text });
    }
}

impl Relays {
    pub(crate) fn new(last: u64, retry: Duration, key: Option<LogKey>) -> Self {
        Self {
            cursors: Cursors::default(),
            tail: VecDeque::new(),
            tail_bytes: 0,
            before: last,
            last,
            retry,
            key,
            has_drafts: false,
        }
    }

    /// Sets another secret, with which the host vouches for the log from now on.
    pub(crate) fn set_key(&mut self, key: LogKey) {
        self.key = Some(key);
    }

    /// Returns the cursor of a member.
    pub(crate) fn cursor(&mut self, member: MemberId) -> &mut Cursor {
        let retry = self.retry;
        self.cursors.or_insert_with(member, || Cursor::new(retry))
    }

    /// Returns the position that a member last acknowledged, or 0.
    pub(crate) fn held(&self, member: MemberId) -> u64 {
        let cursor = self.cursors.get(member);
        cursor.and_then(|cursor| cursor.acked).unwrap_or_default()
    }

    /// Returns the greatest position that a member has acknowledged since the start of this host.
    pub(crate) fn furthest(&self, member: MemberId) -> u64 {
        self.cursors.get(member).map_or(0, |cursor| cursor.furthest)
    }

    /// Returns the running hash at a position, if the entry is in memory.
    pub(crate) fn hash_at(&self, position: u64) -> Option<Hash> {
        let found = self
            .tail
            .binary_search_by_key(&position, |entry| entry.position);
        found.ok().and_then(|at| self.tail[at].hash)
    }

    /// Sends nothing to the members until they are greeted again.
    pub(crate) fn stop(&mut self) {
        let members: Vec<_> = self.cursors.iter().map(|(member, _)| member).collect();
        for member in members {
            self.disconnected(member);
        }
    }

    /// Takes an entry that goes to every member.
    pub(crate) fn push(&mut self, entry: &Entry) {
        self.last = entry.position;
        self.cursors.stir();
        if self.cursors.least().is_some() {
            self.tail_bytes += entry.text.len();
            self.tail.push_back(Relayed::of(entry));
            self.trim();
        } else {
            self.tail.clear();
            self.tail_bytes = 0;
            self.before = self.last;
        }
    }

    /// Returns the last relayed position.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Drops the entries that every member has, and those that are too many to keep.
    fn trim(&mut self) {
        let needed = self.cursors.least();
        while let Some(first) = self.tail.front() {
            let is_over = self.tail.len() > TAIL || self.tail_bytes > TAIL_BYTES;
            if !is_over && needed.is_none_or(|needed| first.position > needed) {
                break;
            }
            self.tail_bytes -= first.text.len();
            self.before = first.position;
            self.tail.pop_front();
        }
    }

    /// Takes the position that a member holds, from its hello. The entries after it go out at once, or
    /// at the next retry if the member repeats its hello without progress.
    pub(crate) fn greeted(&mut self, member: MemberId, held: u64) {
        let last = self.last;
        let cursor = self.cursor(member);
        cursor.greeting = false;
        cursor.acked = Some(held);
        if held > cursor.furthest {
            cursor.furthest = held;
            cursor.hellos = 0;
        }
        if cursor.hellos < HELLOS {
            cursor.hellos += 1;
            cursor.rewind(held);
            cursor.retry.rest();
        } else {
            cursor.sent = cursor.sent.max(held);
        }
        if held == last {
            cursor.retry.rest();
        }
        self.trim();
    }

    /// Greets a member that holds nothing yet, until it has the fold to start from. The hello of the member may also
    /// be an old one, so the host cannot rely on the position in it.
    pub(crate) fn starting(&mut self, member: MemberId, now: Time) {
        let cursor = self.cursor(member);
        cursor.acked = None;
        cursor.greeting = true;
        cursor.retry.arm(now);
    }

    /// Serves a member from now on as one that knows only the draft. The member has everything up to this position.
    pub(crate) fn serve_draft_from(
        &mut self,
        member: MemberId,
        position: u64,
        draft: DraftMember,
        now: Time,
    ) {
        self.has_drafts = true;
        let cursor = self.cursor(member);
        cursor.greeting = false;
        cursor.greeted = Some(now);
        cursor.vouched = Some(false);
        cursor.draft = Some(Box::new(draft));
        self.go_back(member, position);
    }

    /// Sends the entries after this position again.
    pub(crate) fn go_back(&mut self, member: MemberId, position: u64) {
        let cursor = self.cursor(member);
        cursor.acked = Some(position);
        cursor.rewind(position);
        cursor.retry.rest();
        self.trim();
    }

    /// Returns the members that know only the draft.
    pub(crate) fn draft_members(&mut self) -> Vec<MemberId> {
        if !self.has_drafts {
            return Vec::new();
        }
        let drafts = self.cursors.iter().filter(|(_, cursor)| cursor.is_draft());
        let drafts: Vec<_> = drafts.map(|(member, _)| member).collect();
        self.has_drafts = !drafts.is_empty();
        drafts
    }

    /// Notes that an entry was sent to a member that knows only the draft. The host pings the member
    /// until it has acknowledged everything.
    pub(crate) fn draft_entry_sent(&mut self, member: MemberId, position: u64, now: Time) {
        let cursor = self.cursor(member);
        cursor.acked = Some(position);
        cursor.retry.rest();
        cursor.retry.arm(now);
        self.trim();
    }

    /// Takes the position that a member acknowledges.
    pub(crate) fn acknowledged(&mut self, member: MemberId, held: u64) {
        let last = self.last;
        let cursor = self.cursor(member);
        if held > last {
            return;
        }
        match cursor.acked {
            // An acknowledgement does not count before the member has answered the greeting: the
            // member may hold another log, or other schemas.
            None if cursor.greeting => {}
            Some(acked) if held < acked => {}
            Some(acked) if held == acked => {
                // A repeated acknowledgement means that the member misses an entry. For each
                // position, the host sends the entries again only once.
                if cursor.sent > held && cursor.rewound != Some(held) {
                    cursor.rewind(held);
                    cursor.rewound = Some(held);
                }
            }
            _ => {
                cursor.acked = Some(held);
                cursor.greeting = false;
                cursor.offer = None;
                cursor.furthest = cursor.furthest.max(held);
                cursor.sent = cursor.sent.max(held);
                cursor.rewound = None;
                cursor.retry.rest();
                self.trim();
            }
        }
    }

    /// Takes a sign of life from a member. If the member was gone, the host asks which position the member holds,
    /// because the member may take an earlier answer for the answer to its last hello.
    pub(crate) fn note_alive(&mut self, member: MemberId, now: Time) {
        let cursor = self.cursor(member);
        if std::mem::take(&mut cursor.gone) && cursor.acked.is_none() {
            self.starting(member, now);
        }
    }

    /// Forgets the progress of a member. The host relays nothing to it from now on.
    pub(crate) fn forget(&mut self, member: MemberId) {
        self.cursors.remove(member);
        self.trim();
    }

    pub(crate) fn disconnected(&mut self, member: MemberId) {
        let cursor = self.cursor(member);
        cursor.draft = None;
        (cursor.greeting, cursor.greeted) = (false, None);
        cursor.gone = true;
        cursor.acked = None;
        cursor.claim = None;
        cursor.retry.rest();
        self.trim();
    }

    /// Returns whether every member that can be reached has everything.
    pub(crate) fn is_quiet(&self) -> bool {
        self.cursors.iter().all(|(_, cursor)| {
            !cursor.greeting
                && cursor.claim.is_none()
                && cursor.acked.is_none_or(|acked| acked == self.last)
                && (!cursor.is_draft() || cursor.retry.at().is_none())
        })
    }

    /// Returns the frames that go out to the members now, and the entries to read from the store for members that lag
    /// behind.
    pub(crate) fn take_due(&mut self, now: Time) -> (Vec<Transmit>, Vec<Read>) {
        let (mut sends, mut reads) = (Vec::new(), Vec::new());
        let Self {
            cursors,
            tail,
            before,
            last,
            key,
            ..
        } = self;
        cursors.each_busy(now, |member, cursor| {
            let Some(acked) = cursor.acked else {
                return;
            };
            if acked < *last {
                cursor.retry.arm(now);
            }
            if cursor.sent < *before {
                // The host reads at most `WINDOW` entries for a member. It reads the next ones only
                // after the member has acknowledged these.
                if cursor.reading.is_none() && cursor.sent == acked {
                    let from = cursor.sent.max(cursor.read) + 1;
                    cursor.reading = Some(from);
                    reads.push(Read::Entries {
                        from,
                        limit: WINDOW,
                    });
                }
                return;
            }
            // Entries that were read from the store are still under way, and are no longer in the tail. The member
            // must acknowledge them before it gets entries of the tail.
            if acked < *before && cursor.sent > acked {
                return;
            }
            let place = |position| tail.partition_point(|entry| entry.position <= position);
            let start = place(cursor.sent);
            if start == tail.len() {
                return;
            }
            let first = place(acked).min(start);
            let under_way = tail.range(first..start);
            let mut bytes: usize = under_way.map(|entry| entry.text.len()).sum();
            let room = WINDOW.saturating_sub(start - first);
            for entry in tail.range(start..).take(room) {
                if bytes > 0 && bytes + entry.text.len() > WINDOW_BYTES {
                    break;
                }
                bytes += entry.text.len();
                entry.to(member, cursor, key.as_ref(), &mut sends);
            }
        });
        cursors.end_turn();
        (sends, reads)
    }

    /// Takes entries that were read for members that lag behind. Returns the frames to send, and the
    /// members that lack entries which the log does not have any more.
    pub(crate) fn supply(
        &mut self,
        from: u64,
        entries: &[Entry],
    ) -> (Vec<Transmit>, Vec<MemberId>) {
        let (mut sends, mut behind) = (Vec::new(), Vec::new());
        for (member, cursor) in self.cursors.iter_mut() {
            if cursor.reading != Some(from) {
                continue;
            }
            // If the log lacks the first entry, the host reads the log again at the next retry,
            // unless the member holds the entries by then.
            let is_whole = entries.first().is_some_and(|entry| entry.position == from);
            if !is_whole {
                behind.push(member);
                continue;
            }
            cursor.reading = None;
            if cursor.acked.is_none() {
                continue;
            }
            let mut bytes = 0;
            for (next, entry) in (from..).zip(entries) {
                // A log has no gaps, so the text of a missing entry has been erased. The member
                // gets the fold when it asks for that entry.
                let is_gone = entry.position != next;
                if is_gone || bytes > 0 && bytes + entry.text.len() > WINDOW_BYTES {
                    break;
                }
                cursor.read = entry.position;
                if !entry.kind.is_relayed() {
                    continue;
                }
                bytes += entry.text.len();
                // The member may have acknowledged the entry while the log was read. Then the host
                // does not send it again.
                if entry.position <= cursor.sent {
                    continue;
                }
                let entry = Relayed::of(entry);
                entry.to(member, cursor, self.key.as_ref(), &mut sends);
            }
        }
        (sends, behind)
    }

    /// Frees the memory of an empty tail.
    pub(crate) fn rest(&mut self) {
        self.cursors.rest();
        if self.tail.is_empty() {
            self.tail = VecDeque::new();
        }
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.cursors.next_alarm()
    }

    /// Begins a turn, and returns the acknowledgements that are due: the member, its frame, and the frame's `seq`. The turn
    /// ends with [`take_due`](Self::take_due).
    pub(crate) fn take_acks(&mut self, now: Time) -> Vec<(MemberId, Mid, u64)> {
        let mut due = Vec::new();
        self.cursors.begin_turn();
        self.cursors.each_busy(now, |member, cursor| {
            // For a member that speaks only the draft, the acknowledgement goes out in the order of
            // the relayed entries, where the member's own frame stands.
            let ack = cursor.ack.take().filter(|_| !cursor.is_draft());
            due.extend(ack.map(|(mid, at)| (member, mid, at)));
        });
        due
    }

    /// Returns the members to which the host says hello now, because they have not answered an earlier hello or no
    /// hello went out yet.
    pub(crate) fn take_greetings(&mut self, now: Time) -> Vec<MemberId> {
        let mut members = Vec::new();
        self.cursors.each_busy(now, |member, cursor| {
            if cursor.greeting && cursor.retry.at().is_none_or(|at| at <= now) {
                cursor.retry.again(now);
                members.push(member);
            }
        });
        members
    }

    pub(crate) fn timeout(&mut self, now: Time) {
        let last = self.last;
        self.cursors.each_due(now, |_, cursor| {
            if cursor.greeting {
                return;
            }
            if let Some(draft) = &mut cursor.draft {
                return draft.timeout(&mut cursor.retry, now);
            }
            match cursor.acked {
                Some(acked) if acked < last => {
                    cursor.rewind(acked);
                    cursor.retry.again(now);
                }
                _ => cursor.retry.rest(),
            }
        });
    }
}
