//! Request chains: what answers what, who started it, and what was cancelled.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::wire::scan::Scanned;
use crate::{MemberId, Mid};
use accp_frame::Intent;

/// Open chains that are remembered; the oldest beyond are taken for finished.
const OPEN: usize = 4096;
/// Frames of a chain, beside its first, that an `aid` finds.
const FRAMES: usize = 16;
/// Chains that a chain may hang below.
const DEPTH: usize = 64;

/// The request chains of a session (draft section 3.7, item 4).
///
/// The chain of a frame is its `cid`, else its own `mid`; an `aid` hangs a chain of its own
/// below the chain of the message that caused it, so that cancelling the upper one reaches
/// it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Chains {
    open: BTreeMap<Mid, Chain>,
    /// The open chains by the position of their first frame.
    order: BTreeMap<u64, Mid>,
    cancelled: BTreeSet<Mid>,
    /// The chain of each frame of the cancelled ones.
    cut: BTreeMap<Mid, Mid>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Chain {
    starter: MemberId,
    /// The position of its first frame.
    position: u64,
    above: Option<Mid>,
    /// Its next frames.
    frames: Vec<Mid>,
}

/// The chain of a frame.
pub(crate) fn of<'f>(frame: &'f Scanned<'_>) -> Option<&'f Mid> {
    frame.cid().or(frame.mid())
}

impl Chains {
    /// Whether the frame is of a cancelled chain, or of one below.
    pub(crate) fn is_cancelled(&self, frame: &Scanned<'_>) -> bool {
        !self.cancelled.is_empty()
            && (of(frame).is_some_and(|chain| self.reaches(chain))
                || frame
                    .aid()
                    .is_some_and(|aid| self.reaches(self.chain_of(&aid))))
    }

    /// The chain of the frame with this id; a frame that is not known is its own.
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

    /// Whether this chain, or one that it hangs below, is cancelled.
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

    /// Who started the chain, as far as it is open.
    pub(crate) fn starter(&self, chain: &Mid) -> Option<MemberId> {
        self.open.get(chain).map(|chain| chain.starter)
    }

    /// The position of the request that this frame answers.
    pub(crate) fn request(&self, frame: &Scanned<'_>) -> Option<u64> {
        Some(self.open.get(frame.cid()?)?.position)
    }

    /// The positions of the requests that nobody has answered, ascending.
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
                // An `aid` may name any of its frames.
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

    /// Gives back the room of what is closed.
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
