//! Bytes that this side fetches from a peer, piece by piece.

use std::collections::BTreeMap;
use std::time::Duration;

use accp_registry::Hash;

use crate::delivery::outbox::Backoff;
use crate::wire::link::Piece;
use crate::{MemberId, Time};

/// Values that are fetched at a time.
const AT_ONCE: usize = 8;

/// The values that this side fetches.
#[derive(Debug)]
pub(crate) struct Transfers {
    wanted: BTreeMap<String, Pull>,
    retry: Duration,
}

#[derive(Debug)]
struct Pull {
    from: MemberId,
    /// True if the digest and the length were known before the first piece.
    announced: bool,
    digest: Option<Hash>,
    length: Option<u64>,
    got: Vec<u8>,
    asked: bool,
    retry: Backoff,
}

impl Pull {
    /// Throws away the bytes so far. They are asked for again at the next retry.
    fn begin_again(&mut self) {
        self.got.clear();
        self.asked = self.retry.at().is_some();
        if !self.announced {
            self.digest = None;
            self.length = None;
        }
    }
}

/// The result of a piece.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nobody asked for the piece, or it came before.
    Ignored,
    /// More pieces are to come.
    More,
    /// The piece was the last one: the bytes of the value.
    Whole(Vec<u8>),
    /// The bytes are not those that were announced; they are thrown away.
    Tampered,
}

impl Transfers {
    pub(crate) fn new(retry: Duration) -> Self {
        Self {
            wanted: BTreeMap::new(),
            retry,
        }
    }

    /// Fetches the value under this key, unless it is being fetched.
    pub(crate) fn want(&mut self, key: &str, from: MemberId, announced: Option<(Hash, u64)>) {
        self.wanted.entry(key.into()).or_insert_with(|| Pull {
            from,
            announced: announced.is_some(),
            digest: announced.map(|(digest, _)| digest),
            length: announced.map(|(_, length)| length),
            got: Vec::new(),
            asked: false,
            retry: Backoff::new(self.retry),
        });
    }

    /// Fetches the value under this key, after the longest waiting time.
    pub(crate) fn want_later(&mut self, key: &str, from: MemberId, now: Time) {
        self.want(key, from, None);
        if let Some(pull) = self.wanted.get_mut(key) {
            pull.asked = true;
            pull.retry.wait_longest(now);
        }
    }

    /// Returns whether this side fetches the value under this key.
    pub(crate) fn wants(&self, key: &str) -> bool {
        self.wanted.contains_key(key)
    }

    pub(crate) fn forget(&mut self, key: &str) {
        self.wanted.remove(key);
    }

    /// Takes a piece from the peer that was asked.
    pub(crate) fn take(&mut self, from: MemberId, piece: Piece) -> Progress {
        let Some(pull) = self.wanted.get_mut(&piece.key) else {
            return Progress::Ignored;
        };
        if pull.from != from || piece.at != pull.got.len() as u64 {
            return Progress::Ignored;
        }
        let digest = *pull.digest.get_or_insert(piece.digest);
        let length = *pull.length.get_or_insert(piece.length);
        let is_end = piece.data.is_empty() && piece.at < length;
        pull.got.extend(piece.data);
        if digest != piece.digest
            || length != piece.length
            || pull.got.len() as u64 > length
            || is_end
        {
            pull.begin_again();
            return Progress::Tampered;
        }
        if (pull.got.len() as u64) < length {
            pull.asked = false;
            pull.retry.rest();
            return Progress::More;
        }
        if Hash::of(&pull.got) != digest {
            pull.begin_again();
            return Progress::Tampered;
        }
        let got = std::mem::take(&mut pull.got);
        self.wanted.remove(&piece.key);
        Progress::Whole(got)
    }

    /// Returns the requests to send now: the peer, the key and the first byte.
    pub(crate) fn take_due(&mut self, now: Time) -> Vec<(MemberId, String, u64)> {
        let mut due = Vec::new();
        for (key, pull) in self.wanted.iter_mut().take(AT_ONCE) {
            if !pull.asked {
                pull.asked = true;
                pull.retry.arm(now);
                due.push((pull.from, key.clone(), pull.got.len() as u64));
            }
        }
        due
    }

    /// Gives back the room of finished transfers.
    pub(crate) fn rest(&mut self) {
        if self.wanted.is_empty() {
            self.wanted = BTreeMap::new();
        }
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.wanted
            .values()
            .filter_map(|pull| pull.retry.at())
            .min()
    }

    pub(crate) fn timeout(&mut self, now: Time) {
        for pull in self.wanted.values_mut() {
            if pull.retry.is_due(now) {
                pull.asked = false;
                pull.retry.again(now);
            }
        }
    }
}
