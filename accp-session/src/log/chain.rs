//! Request chains: their frames, their starters and their cancellation.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::wire::scan::Scanned;
use crate::{MemberId, Mid};
use accp_frame::Intent;

/// Open chains that a session remembers; the oldest chain beyond that counts as finished.
const OPEN: usize = 4096;
/// Frames of a chain, beside its first, that an `aid` can name.
const FRAMES: usize = 16;
/// The greatest number of chains above a chain.
const DEPTH: usize = 64;

/// The request chains of a session (draft section 3.7, item 4).
///
/// The chain of a frame is its `cid`, or else its own `mid`. An `aid` puts a chain below the chain
/// of the message that caused it. A cancellation of the upper chain also reaches the lower one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Chains {
    open: BTreeMap<Mid, Chain>,
    /// The open chains by the position of their first frame.
    order: BTreeMap<u64, Mid>,
    cancelled: BTreeSet<Mid>,
    /// The chain of each frame in a cancelled chain.
    cut: BTreeMap<Mid, Mid>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Chain {
    starter: MemberId,
    /// The position of the first frame.
    position: u64,
    above: Option<Mid>,
    /// The next frames of the chain.
    frames: Vec<Mid>,
}

/// Returns the chain of a frame.
pub(crate) fn of<'f>(frame: &'f Scanned<'_>) -> Option<&'f Mid> {
    frame.cid().or(frame.mid())
}

impl Chains {
    /// Returns whether the frame belongs to a cancelled chain, or to a chain below one.
    pub(crate) fn is_cancelled(&self, frame: &Scanned<'_>) -> bool {
        !self.cancelled.is_empty()
            && (of(frame).is_some_and(|chain| self.reaches(chain))
                || frame
                    .aid()
                    .is_some_and(|aid| self.reaches(self.chain_of(&aid))))
    }

    /// Returns the chain of the frame with this id; an unknown frame is its own chain.
    pub(crate) fn chain_of<'m>(&'m self, mid: &'m Mid) -> &'m Mid {
        if self.open.contains_key(mid) {
            return mid;
        }
        let holds = |chain: &&Mid| {
            let open = self.open.get(chain);
            open.is_some_and(|open| open.frames.contains(mid))
        };
        let cut = || self.cut.get(mid);
        self.order
            .values()
            .rev()
            .find(holds)
            .or_else(cut)
            .unwrap_or(mid)
    }

    /// Returns whether this chain, or a chain above it, is cancelled.
    pub(crate) fn reaches(&self, chain: &Mid) -> bool {
        let mut at = chain;
        for _ in 0..DEPTH {
            if self.cancelled.contains(at) {
                return true;
            }
            match self.open.get(at).and_then(|chain| chain.above.as_ref()) {
                Some(above) => at = above,
                None => return false,
            }
        }
        false
    }

    /// Returns the member that started the chain, if the chain is open.
    pub(crate) fn starter(&self, chain: &Mid) -> Option<MemberId> {
        self.open.get(chain).map(|chain| chain.starter)
    }

    /// Returns the position of the request that this frame answers.
    pub(crate) fn request(&self, frame: &Scanned<'_>) -> Option<u64> {
        Some(self.open.get(frame.cid()?)?.position)
    }

    /// Returns the positions of the requests without an answer, ascending.
    pub(crate) fn in_flight(&self) -> impl Iterator<Item = u64> {
        self.order.keys().copied()
    }

    /// Takes an accepted frame into account.
    pub(crate) fn apply(&mut self, frame: &Scanned<'_>, sender: MemberId, position: u64) {
        let Some(chain) = of(frame) else { return };
        let open = self.open.get_mut(chain);
        if let (Some(open), Some(mid)) = (open, frame.mid())
            && open.frames.len() < FRAMES
            && mid != chain
            && frame.intent != Intent::CANCEL
        {
            open.frames.push(mid.clone());
        }
        match frame.intent {
            Intent::CANCEL => {
                // A later `aid` may name any frame of this chain.
                let frames = self.close(chain).map(|chain| chain.frames);
                let frames = frames.into_iter().flatten();
                self.cut.extend(frames.map(|frame| (frame, chain.clone())));
                self.cancelled.insert(chain.clone());
            }
            Intent::DONE | Intent::FAIL | Intent::END => {
                self.close(chain);
            }
            Intent::REQ | Intent::QRY | Intent::STREAM => {
                if self.open.contains_key(chain) {
                    return;
                }
                if self.order.len() >= OPEN
                    && let Some(oldest) = self.order.values().next().cloned()
                {
                    self.close(&oldest);
                }
                self.order.insert(position, chain.clone());
                let above = frame.aid().map(|aid| self.chain_of(&aid).clone());
                let opened = Chain {
                    starter: sender,
                    position,
                    above: above.filter(|above| above != chain),
                    frames: frame
                        .mid()
                        .filter(|mid| *mid != chain)
                        .cloned()
                        .into_iter()
                        .collect(),
                };
                self.open.insert(chain.clone(), opened);
            }
            _ => {}
        }
    }

    /// Gives back the room of closed chains.
    pub(crate) fn rest(&mut self) {
        if self.open.is_empty() {
            self.open = BTreeMap::new();
            self.order = BTreeMap::new();
        }
    }

    fn close(&mut self, chain: &Mid) -> Option<Chain> {
        let chain = self.open.remove(chain)?;
        self.order.remove(&chain.position);
        Some(chain)
    }
}
