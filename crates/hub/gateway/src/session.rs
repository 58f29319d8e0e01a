//! A session of a gateway: the lists of one client, each with its branch, and the asides of its answers.

use std::collections::HashMap;
use std::sync::Arc;

use accp_memory::{Memory, Promise};

use crate::aside::Aside;
use crate::asides::Asides;
use crate::digest::{Digest, common, is_kept, is_same, places};
use crate::kept::Written;
use crate::prices::Prices;
use crate::read::Read;

/// The most branches of a session that rest on disk. If there are more, the oldest one is forgotten.
const RESTING: usize = 1_024;

/// A session: the lists of one client that begin alike.
pub(crate) struct Session {
    pub(crate) id: String,
    /// Whether new messages keep the text that they came with. Messages that were sent in another form keep that
    /// form, because a thought may be bound to it, and a cache has it.
    pub(crate) is_plain: bool,
    /// Whether the ledger could not be written at the last request. As long as it cannot, new messages keep the text that
    /// they came with, because nobody would know their forms after a restart.
    pub(crate) is_unkept: bool,
    pub(crate) branches: Vec<Branch>,
    /// The branches that rest on disk: the digests of their messages, by their numbers.
    pub(crate) resting: HashMap<i64, Vec<Digest>>,
    /// The highest number of a branch so far.
    pub(crate) highest: i64,
    /// The asides of its answers.
    pub(crate) asides: Asides,
    /// What the requests of this session have cost so far; `plain` is what they would have cost unchanged.
    pub(crate) cost: f64,
    pub(crate) plain: f64,
    pub(crate) uses: i64,
}

/// A list that grows from request to request.
pub(crate) struct Branch {
    pub(crate) number: i64,
    pub(crate) used: i64,
    pub(crate) digests: Vec<Digest>,
    pub(crate) memory: Memory,
    /// The last request, as the client sent it, and then with its asides put back, if there are any.
    pub(crate) held: Vec<Read>,
    /// What the ledger has of this branch.
    pub(crate) written: Option<Written>,
    pub(crate) promise: Promise,
    /// The time of the last request, in Unix seconds.
    pub(crate) last: i64,
    /// The tokens of the last list as the client gave it; 0 if no request has come since this process opened the
    /// branch.
    pub(crate) given: u64,
    /// Each answer under way holds a clone of this value.
    pub(crate) in_use: Arc<()>,
}

impl Session {
    /// Lets a branch rest. If too many branches rest, forgets the oldest one and returns its number.
    pub(crate) fn rest(&mut self, number: i64, digests: &[Digest]) -> Option<i64> {
        self.highest = self.highest.max(number);
        self.resting.insert(number, digests.to_vec());
        if self.resting.len() <= RESTING {
            return None;
        }
        let oldest = self.resting.keys().min().copied()?;
        self.resting.remove(&oldest);
        Some(oldest)
    }

    /// Returns the resting branch that has the longest beginning of a list, if it has more than `open` messages of the
    /// list. If several have as many, prefers a branch of which the list has all messages.
    pub(crate) fn resting_with(&self, digests: &[Digest], open: usize) -> Option<i64> {
        let resting = self.resting.iter().map(|(number, kept)| {
            let common = common(kept, digests);
            (common, common == kept.len(), *number)
        });
        let best = resting.max().filter(|(common, ..)| *common > open);
        best.map(|(.., number)| number)
    }

    /// Returns whether no cache has a list of this session any more.
    pub(crate) fn is_cold(&self, now: i64, prices: &Prices) -> bool {
        let last = self.branches.iter().map(|branch| branch.last).max();
        last.is_none_or(|last| now.saturating_sub(last) > i64::from(prices.seconds))
    }

    /// Returns lines that have left the list of a branch: the lines `from` to `to` of the result with this name.
    pub(crate) fn lines(&self, number: i64, name: &str, from: usize, to: usize) -> Option<String> {
        let mut branches = self.branches.iter();
        let branch = branches.find(|branch| branch.number == number)?;
        branch.memory.read(name, from, to)
    }

    /// Returns the asides of a list, each with the index of the message at which its answer begins. If all messages
    /// of a branch keep their text, its answers went to the provider without asides, so they get none now.
    pub(crate) fn asides(&self, digests: &[Digest]) -> Vec<(usize, Vec<&Aside>)> {
        let plain = self.branches.iter().filter(|branch| {
            let mut pairs = branch.digests.iter().zip(digests);
            branch.digests.len() <= digests.len()
                && pairs.all(|(kept, given)| is_kept(*kept) && is_same(*kept, *given))
        });
        let plain = plain.map(|branch| branch.digests.len()).max().unwrap_or(0);
        let places = places(digests);
        let places = places.iter().enumerate().skip(plain);
        // If a list got several answers, the newest one comes first.
        let found = places.filter_map(|(at, place)| Some((at, self.asides.at(place)?)));
        found.collect()
    }
}
