//! Bytes that this side fetches from its peers, piece by piece.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use accp_registry::{Delta, Hash};

use crate::delivery::backoff::waiting_time;
use crate::log::by_member::ByMember;
use crate::log::mid::MemberId;
use crate::wire::link::Piece;
use accp_context::Time;

/// The greatest number of values that are fetched from a peer at a time.
const AT_ONCE: usize = 8;
/// The number of tries without an answer after which this side reports the key as unavailable.
const TRIES: u32 = 8;

/// The values that this side fetches.
///
/// Each peer has its own places, so a peer that does not answer holds up only itself. A value whose
/// peer does not answer gives its place to the next value, and is asked for again later. A fold and
/// schemas need no place, because this side takes no entries until it has them.
#[derive(Debug)]
pub(crate) struct Transfers {
    peers: ByMember<Peer>,
    /// The number of keys that were wanted so far.
    count: u64,
    retry: Duration,
    /// The greatest number of bytes of one value of a member, and of all values that the member is sending.
    pub value_bytes: u64,
}

/// The values that are fetched from one peer.
#[derive(Debug, Default)]
struct Peer {
    pulls: BTreeMap<String, Pull>,
    /// The keys without a place, by the time at which they may be asked for.
    waiting: BTreeSet<(Time, u64, String)>,
}

#[derive(Debug)]
struct Pull {
    /// True if the digest and the length were known before the first piece.
    announced: bool,
    digest: Option<Hash>,
    length: Option<u64>,
    /// The most bytes that this side accepts for the value.
    limit: u64,
    got: Vec<u8>,
    /// The number of requests without an answer.
    tries: u32,
    state: RequestState,
}

/// Whether a value has a place among those that are fetched, and when its request goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestState {
    /// The value has no place yet.
    Waits,
    /// The request goes out now.
    Due,
    /// The request went out. The peer is expected to answer until this time.
    Asked(Time),
}

/// The result of a piece.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TransferProgress {
    /// Nobody asked for the piece, or it came before.
    Ignored,
    /// More pieces are to come.
    More,
    /// The piece was the last one: the bytes of the value.
    Whole(Vec<u8>),
    /// The bytes are not those that were announced; they are thrown away.
    Tampered,
}

/// The number of tries after which the wait for the answer about a value stops growing. The wait is then eight
/// times the retry time.
const SLOW: u32 = 3;

/// Returns whether this side takes no entries until it has the bytes under this key.
fn is_urgent(key: &str) -> bool {
    is_schemas(key) || key.starts_with("snap_")
}

/// Returns whether the bytes under this key are schemas.
pub(crate) fn is_schemas(key: &str) -> bool {
    key.starts_with("reg_")
}

/// Returns the key of the entries of a member from a position on.
pub(crate) fn log_key_of(position: u64) -> String {
    format!("log_{position}")
}

/// Returns the position in a key of [`log_key_of`].
pub(crate) fn log_key(key: &str) -> Option<u64> {
    key.strip_prefix("log_")?.parse().ok()
}

impl Pull {
    /// Throws away the bytes so far. They are asked for again when the time for an answer is over.
    fn begin_again(&mut self) {
        self.got.clear();
        if !self.announced {
            self.digest = None;
            self.length = None;
        }
    }
}

impl Peer {
    /// Returns the lengths of the values that have a place.
    fn placed(&self) -> impl Iterator<Item = u64> {
        let placed =
            |(key, pull): &(&String, &Pull)| pull.state != RequestState::Waits && !is_urgent(key);
        let placed = self.pulls.iter().filter(placed);
        placed.map(|(_, pull)| pull.length.unwrap_or_default())
    }

    /// Returns the next key that may take a free place, with the time from which it may take it.
    /// `None` if no key waits or no place is free.
    fn next(&self, bytes: u64) -> Option<&(Time, u64, String)> {
        let first = self.waiting.first()?;
        let length = self.pulls.get(&first.2).and_then(|pull| pull.length);
        let (count, sum) = self.placed().fold((0, 0_u64), |(count, sum), length| {
            (count + 1, sum.saturating_add(length))
        });
        let has_room = sum.saturating_add(length.unwrap_or_default()) <= bytes;
        (count == 0 || count < AT_ONCE && has_room).then_some(first)
    }
}

impl Transfers {
    pub(crate) fn new(retry: Duration) -> Self {
        Self {
            peers: ByMember::default(),
            count: 0,
            retry,
            value_bytes: u64::MAX,
        }
    }

    /// Fetches the value under this key, unless it is being fetched.
    pub(crate) fn want(&mut self, key: &str, from: MemberId, announced: Option<(Hash, u64)>) {
        let peer = self.peers.or_insert_with(from, Peer::default);
        if peer.pulls.contains_key(key) {
            return;
        }
        let state = if is_urgent(key) {
            RequestState::Due
        } else {
            self.count += 1;
            let place = (Time::default(), self.count, key.to_owned());
            peer.waiting.insert(place);
            RequestState::Waits
        };
        let pull = Pull {
            announced: announced.is_some(),
            digest: announced.map(|(digest, _)| digest),
            length: announced.map(|(_, length)| length),
            limit: if is_schemas(key) {
                Delta::MAX_BYTES as u64
            } else if from == MemberId::HOST {
                u64::MAX
            } else {
                self.value_bytes
            },
            got: Vec::new(),
            tries: 0,
            state,
        };
        peer.pulls.insert(key.into(), pull);
    }

    /// Fetches the schemas under this key, after the longest waiting time.
    pub(crate) fn want_later(&mut self, key: &str, from: MemberId, now: Time) {
        self.want(key, from, None);
        let at = now + waiting_time(self.retry, u32::MAX);
        if let Some(pull) = self.pull(key, from) {
            pull.state = RequestState::Asked(at);
        }
    }

    fn pull(&mut self, key: &str, from: MemberId) -> Option<&mut Pull> {
        self.peers.get_mut(from)?.pulls.get_mut(key)
    }

    /// Returns whether this side fetches the value under this key.
    pub(crate) fn wants(&self, key: &str, from: MemberId) -> bool {
        let peer = self.peers.get(from);
        peer.is_some_and(|peer| peer.pulls.contains_key(key))
    }

    pub(crate) fn forget(&mut self, key: &str, from: MemberId) {
        if let Some(peer) = self.peers.get_mut(from) {
            if let Some(pull) = peer.pulls.remove(key)
                && pull.state == RequestState::Waits
            {
                peer.waiting.retain(|(_, _, waiting)| waiting != key);
            }
            if peer.pulls.is_empty() {
                self.peers.remove(from);
            }
        }
    }

    /// Asks a peer, which is back, again for all values that it has not sent.
    pub(crate) fn returned(&mut self, from: MemberId) {
        if let Some(peer) = self.peers.get_mut(from) {
            let waiting = std::mem::take(&mut peer.waiting).into_iter();
            let soon = waiting.map(|(_, number, key)| (Time::default(), number, key));
            peer.waiting = soon.collect();
            for pull in peer.pulls.values_mut() {
                pull.tries = 0;
                if let RequestState::Asked(_) = pull.state {
                    pull.state = RequestState::Due;
                }
            }
        }
    }

    /// Takes a piece from the peer that was asked.
    pub(crate) fn take(&mut self, from: MemberId, piece: Piece) -> TransferProgress {
        let Some(pull) = self.pull(&piece.key, from) else {
            return TransferProgress::Ignored;
        };
        if pull.state == RequestState::Waits || piece.at != pull.got.len() as u64 {
            return TransferProgress::Ignored;
        }
        let digest = *pull.digest.get_or_insert(piece.digest);
        let length = *pull.length.get_or_insert(piece.length);
        let is_end = piece.data.is_empty() && piece.at < length;
        let is_long = length > pull.limit || piece.at + piece.data.len() as u64 > length;
        if digest != piece.digest || length != piece.length || is_long || is_end {
            pull.begin_again();
            return TransferProgress::Tampered;
        }
        pull.got.extend(piece.data);
        pull.tries = 0;
        if (pull.got.len() as u64) < length {
            pull.state = RequestState::Due;
            return TransferProgress::More;
        }
        if Hash::of(&pull.got) != digest {
            pull.begin_again();
            return TransferProgress::Tampered;
        }
        let got = std::mem::take(&mut pull.got);
        self.forget(&piece.key, from);
        TransferProgress::Whole(got)
    }

    /// Returns the requests to send now: the peer, the key and the first byte.
    pub(crate) fn take_due(&mut self, now: Time) -> Vec<(MemberId, String, u64)> {
        let (retry, bytes) = (self.retry, self.value_bytes);
        let mut due = Vec::new();
        for (from, peer) in self.peers.iter_mut() {
            while let Some(next) = peer.next(bytes).filter(|(at, _, _)| *at <= now).cloned() {
                peer.waiting.remove(&next);
                if let Some(pull) = peer.pulls.get_mut(&next.2) {
                    pull.state = RequestState::Due;
                }
            }
            for (key, pull) in &mut peer.pulls {
                if pull.state == RequestState::Due {
                    // Only a few values can be requested at a time. So the wait for one value is
                    // limited to what a slow link needs for an answer. Schemas and folds do not
                    // count among these values.
                    let most = if is_urgent(key) { u32::MAX } else { SLOW };
                    let tries = pull.tries.min(most);
                    pull.state = RequestState::Asked(now + waiting_time(retry, tries));
                    due.push((from, key.clone(), pull.got.len() as u64));
                }
            }
        }
        due
    }

    /// Frees the memory of finished transfers.
    pub(crate) fn rest(&mut self) {
        if self.peers.is_empty() {
            self.peers = ByMember::default();
        }
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let bytes = self.value_bytes;
        let of_peer = |(_, peer): (MemberId, &Peer)| {
            let asked = peer.pulls.values().filter_map(|pull| match pull.state {
                RequestState::Asked(until) => Some(until),
                RequestState::Waits | RequestState::Due => None,
            });
            asked.chain(peer.next(bytes).map(|(at, _, _)| *at)).min()
        };
        self.peers.iter().filter_map(of_peer).min()
    }

    /// Repeats requests that were not answered in time. Returns the keys to report as unavailable. A
    /// member gives up what its host does not answer; a host goes on asking a member for its values.
    pub(crate) fn timeout(&mut self, now: Time) -> Vec<String> {
        let retry = self.retry;
        let mut unanswered = Vec::new();
        for (from, peer) in self.peers.iter_mut() {
            let Peer { pulls, waiting } = peer;
            pulls.retain(|key, pull| {
                match pull.state {
                    RequestState::Asked(until) if until <= now => {}
                    _ => return true,
                }
                pull.tries = pull.tries.saturating_add(1);
                if is_urgent(key) {
                    pull.state = RequestState::Due;
                    if pull.tries % TRIES == 0 && !is_schemas(key) {
                        unanswered.push(key.clone());
                    }
                    return true;
                }
                if pull.tries == TRIES {
                    unanswered.push(key.clone());
                    if from == MemberId::HOST {
                        return false;
                    }
                }
                pull.state = RequestState::Waits;
                let at = now + waiting_time(retry, pull.tries).saturating_sub(retry);
                waiting.insert((at, self.count, key.clone()));
                true
            });
        }
        unanswered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: MemberId = MemberId::HOST;

    fn piece(key: &str, at: u64, whole: &[u8], data: &[u8]) -> Piece {
        Piece {
            key: key.into(),
            at,
            length: whole.len() as u64,
            digest: Hash::of(whole),
            data: data.into(),
        }
    }

    fn keys(due: Vec<(MemberId, String, u64)>) -> Vec<String> {
        due.into_iter().map(|(_, key, _)| key).collect()
    }

    #[test]
    fn a_value_may_be_empty_but_a_piece_on_the_way_may_not() {
        let now = Time::default();
        let mut transfers = Transfers::new(Duration::from_secs(1));
        transfers.want("empty", OWNER, None);
        transfers.want("long", OWNER, None);
        assert_eq!(keys(transfers.take_due(now)), ["empty", "long"]);
        let taken = transfers.take(OWNER, piece("empty", 0, b"", b""));
        assert_eq!(taken, TransferProgress::Whole(Vec::new()));
        assert!(!transfers.wants("empty", OWNER));
        let taken = transfers.take(OWNER, piece("long", 0, b"ab", b"a"));
        assert_eq!(taken, TransferProgress::More);
        let taken = transfers.take(OWNER, piece("long", 1, b"ab", b""));
        assert_eq!(taken, TransferProgress::Tampered);
    }

    /// Eight values are fetched at a time, each in one place. Schemas are fetched without a place.
    #[test]
    fn a_value_gets_the_place_of_one_that_is_whole() {
        let now = Time::default();
        let mut transfers = Transfers::new(Duration::from_secs(1));
        for n in 0..10 {
            transfers.want(&format!("k{n}"), OWNER, None);
        }
        transfers.want("reg_all", OWNER, None);
        let mut due = keys(transfers.take_due(now));
        due.sort();
        let places = ["k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "reg_all"];
        assert_eq!(due, places);
        transfers.take(OWNER, piece("reg_all", 0, b"a", b"a"));
        assert!(transfers.take_due(now).is_empty());
        transfers.take(OWNER, piece("k3", 0, b"a", b"a"));
        assert_eq!(keys(transfers.take_due(now)), ["k8"]);
    }
}
