//! Chains of requests, according to an observer that forgets nothing (draft section 3.7, item 4).

use std::collections::{BTreeMap, BTreeSet};

use accp_runtime::session::{MemberId, Mid};
use accp_session::Entry;

use super::addresses::Addresses;
use super::text::{intent, maker, mid_in};

/// The chains of a log.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    /// The chain of each frame, and whether the chain was open after the frame.
    of: BTreeMap<Mid, (Mid, bool)>,
    /// For each chain whose first frame had a cause, this cause.
    above: BTreeMap<Mid, Cause>,
    /// For each frame with a cause, the cause as it was known when the frame came.
    causes: BTreeMap<Mid, Cause>,
    /// The positions of the first frames of chains.
    begun: BTreeMap<Mid, u64>,
    /// The frames of chains that wait for an answer or were cancelled, except for the frame whose id names the
    /// chain. For each frame, its chain and its position.
    known: BTreeMap<Mid, (Mid, u64)>,
    /// The chains that wait for an answer.
    open: BTreeSet<Mid>,
    /// The chains that were answered.
    answered: BTreeSet<Mid>,
    /// The position at which each cancelled chain was cancelled.
    cancelled: BTreeMap<Mid, u64>,
    pub(super) addresses: Addresses,
}

/// The cause of a frame.
#[derive(Debug, Clone)]
struct Cause {
    aid: Mid,
    /// The chain of the causing frame.
    chain: Mid,
    /// Whether every side must know the cause. A side may forget the frames of a chain that nobody waits for. Then
    /// the side may take the `aid` for the id of a chain.
    is_known: bool,
}

impl Cause {
    fn both(&self) -> [&Mid; 2] {
        [&self.chain, &self.aid]
    }
}

/// Returns the chain of a frame: the frame's `cid`, else its own id.
pub(crate) fn chain_of(text: &str) -> Option<Mid> {
    mid_in(text, "cid").or_else(|| mid_in(text, "mid"))
}

impl Chains {
    pub(crate) fn apply(&mut self, entry: &Entry) {
        let (text, position, sender) = (&*entry.text, entry.position, entry.sender);
        let (Some(chain), Some(mid)) = (chain_of(text), mid_in(text, "mid")) else {
            return;
        };
        if let Some(cause) = self.cause(text) {
            self.causes.insert(mid.clone(), cause);
        }
        let is_open = self.open.contains(&chain);
        let ended = self.addresses.answered_in(text);
        let ended = ended.unwrap_or_else(|| chain.clone());
        self.addresses.apply(entry, &chain, is_open);
        match intent(text) {
            "cancel" => {
                self.open.remove(&chain);
                self.cancelled.entry(chain).or_insert(position);
                // The cancellation does not count as a frame of its chain. So a frame that names the cancellation as
                // its cause may still be sent.
                return;
            }
            // A chain stays open until all its requests for one agent are answered.
            "done" | "fail" | "end" if self.addresses.asks_in(&ended) => {}
            "done" | "fail" | "end" => {
                self.open.remove(&ended);
                self.known.retain(|_, (of, _)| *of != ended);
                self.answered.insert(ended);
            }
            "req" | "qry" | "stream" if self.open.insert(chain.clone()) => {
                self.above.remove(&chain);
                self.begun.insert(chain.clone(), position);
                // A member cannot put the chain of another member below a chain.
                let is_own = maker(&chain).is_none_or(|maker| maker == sender);
                if let Some(above) = self.cause(text).filter(|_| is_own) {
                    self.above.insert(chain.clone(), above);
                }
            }
            _ => {}
        }
        let is_open = self.open.contains(&chain);
        if is_open && mid != chain {
            self.known.insert(mid.clone(), (chain.clone(), position));
        }
        self.of.insert(mid, (chain, is_open));
    }

    /// Returns the position of the parent of a frame: the frame that its `aid` names, or else the first frame of its
    /// chain, if the chain is open.
    pub(crate) fn parent(&self, text: &str) -> Option<u64> {
        let begin = |chain: Mid| {
            let is_open = self.open.contains(&chain);
            self.begun.get(&chain).copied().filter(|_| is_open)
        };
        let cause = mid_in(text, "aid").and_then(|aid| match self.known.get(&aid) {
            Some((_, position)) => Some(*position),
            None => begin(aid),
        });
        cause.or_else(|| begin(mid_in(text, "cid")?))
    }

    /// Returns whether a frame of a member that is not a supervisor is allowed, as an answer to requests.
    pub(super) fn may_answer(&self, text: &str, sender: MemberId) -> bool {
        self.addresses.may_answer(text, sender)
    }

    /// Checks that each request that is not cancelled has a taker.
    pub(super) fn judge_waiting(&self) -> Result<(), String> {
        let is_cancelled =
            |chain: &Mid| self.may_be_cancelled(&format!("@a>req:help{{}}[mid:0,cid:{chain}]"));
        self.addresses.judge_waiting(is_cancelled)
    }

    fn cause(&self, text: &str) -> Option<Cause> {
        let aid = mid_in(text, "aid")?;
        let alone = || (aid.clone(), true);
        let (chain, was_open) = self.of.get(&aid).cloned().unwrap_or_else(alone);
        let is_known = aid == chain || was_open && !self.answered.contains(&chain);
        Some(Cause {
            aid,
            chain,
            is_known,
        })
    }

    /// Returns whether a frame must be dropped because of a cancellation at `upto` or before. A frame must be
    /// dropped if it belongs to a cancelled chain, or to a chain that waits below a cancelled chain. If `now` is
    /// true, the cause of the frame is the one that the observer knows now, as for a side that has started again.
    /// Otherwise it is the cause that was known when the frame came.
    pub(crate) fn is_cancelled(&self, text: &str, upto: u64, now: bool) -> bool {
        if self.cancelled.is_empty() {
            return false;
        }
        let is_cancelled = |chain: &Mid| self.cancelled.get(chain).is_some_and(|at| *at <= upto);
        let kept = mid_in(text, "mid").filter(|_| !now);
        let kept = kept.and_then(|mid| self.causes.get(&mid).cloned());
        let cause = kept.or_else(|| self.cause(text));
        let cause = cause.filter(|cause| cause.is_known);
        let (cause, chain) = (cause.map(|cause| cause.chain), chain_of(text));
        let next = cause.iter().chain(&chain).collect();
        Self::any(next, |chain| {
            let above = self.above.get(chain).filter(|_| self.open.contains(chain));
            let above = above.filter(|above| above.is_known);
            (is_cancelled(chain), above.map(|above| &above.chain))
        })
    }

    /// Returns whether a frame may be dropped because of a cancellation. The conditions are those of
    /// [`Self::is_cancelled`], but chains that were answered count, too.
    pub(crate) fn may_be_cancelled(&self, text: &str) -> bool {
        if self.cancelled.is_empty() {
            return false;
        }
        let (cause, chain) = (self.cause(text), chain_of(text));
        let next = cause.iter().flat_map(Cause::both).chain(&chain).collect();
        Self::any(next, |chain| {
            let above = self.above.get(chain).into_iter().flat_map(Cause::both);
            (self.cancelled.contains_key(chain), above)
        })
    }

    /// Returns whether `look` is true for one of these chains, or for a chain above them.
    fn any<'c, M>(mut next: Vec<&'c Mid>, look: impl Fn(&'c Mid) -> (bool, M)) -> bool
    where
        M: IntoIterator<Item = &'c Mid>,
    {
        let mut seen = BTreeSet::new();
        while let Some(chain) = next.pop() {
            let (is_it, more) = look(chain);
            if is_it {
                return true;
            }
            if seen.insert(chain) {
                next.extend(more);
            }
        }
        false
    }
}
