//! Request chains: their frames and their cancellation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::log::by_member::ByMember;
use crate::log::names::Names;
use crate::wire::control::Control;
use crate::wire::scan::Scanned;
use crate::{MemberId, Mid};
use accp_frame::Intent;

/// Open chains that a member may have started; its oldest chain beyond that counts as finished.
const OPEN: usize = 256;
/// Open chains that the host may have started.
const OPEN_OF_HOST: usize = 4096;
/// Cancelled chains that a session remembers of each member that cancelled them.
const CANCELLED: usize = 1024;
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
    /// The open chains by who started them and by the position of their first frame.
    order: ByMember<BTreeMap<u64, Mid>>,
    /// The cancelled chains, by who cancelled them.
    cancelled: Names,
    /// The chain of each frame that an open chain knows.
    frames: BTreeMap<Mid, Mid>,
    /// The frames of each cancelled chain, which a later `aid` may name.
    cut: BTreeMap<Mid, Vec<Mid>>,
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
    /// Returns whether the frame of an application belongs to a cancelled chain, or one below it.
    pub(crate) fn is_cancelled(&self, frame: &Scanned<'_>) -> bool {
        !self.cancelled.is_empty()
            && !Control::is(frame)
            && (of(frame).is_some_and(|chain| self.reaches(chain))
                || frame
                    .aid()
                    .is_some_and(|aid| self.reaches(self.chain_of(&aid))))
    }

    /// Returns the chain of the frame with this id; an unknown frame is its own chain.
    pub(crate) fn chain_of<'m>(&'m self, mid: &'m Mid) -> &'m Mid {
        self.frames.get(mid).unwrap_or(mid)
    }

    /// Returns whether this chain, or a chain above it, is cancelled.
    pub(crate) fn reaches(&self, chain: &Mid) -> bool {
        let mut at = chain;
        for _ in 0..DEPTH {
            if self.cancelled.owner(at).is_some() {
                return true;
            }
            match self.open.get(at).and_then(|chain| chain.above.as_ref()) {
                Some(above) => at = above,
                None => return false,
            }
        }
        false
    }

    /// Returns the position of the request that this frame answers.
    pub(crate) fn request(&self, frame: &Scanned<'_>) -> Option<u64> {
        Some(self.open.get(frame.cid()?)?.position)
    }

    /// Returns the positions of the requests without an answer, ascending.
    pub(crate) fn in_flight(&self) -> Vec<u64> {
        let of_members = self.order.iter().flat_map(|(_, order)| order.keys());
        let mut positions: Vec<_> = of_members.copied().collect();
        positions.sort_unstable();
        positions
    }

    /// Takes an accepted frame into account.
    pub(crate) fn apply(&mut self, frame: &Scanned<'_>, sender: MemberId, position: u64) {
        let Some(chain) = of(frame) else { return };
        if let (Some(open), Some(mid)) = (self.open.get_mut(chain), frame.mid())
            && open.frames.len() < FRAMES
            && mid != chain
            && frame.intent != Intent::CANCEL
        {
            open.frames.push(mid.clone());
            self.frames.insert(mid.clone(), chain.clone());
        }
        match frame.intent {
            Intent::CANCEL => self.cancel(chain, sender),
            Intent::DONE | Intent::FAIL | Intent::END => self.close(chain),
            Intent::REQ | Intent::QRY | Intent::STREAM => {
                self.begin(frame, chain, sender, position);
            }
            _ => {}
        }
    }

    fn begin(&mut self, frame: &Scanned<'_>, chain: &Mid, starter: MemberId, position: u64) {
        if self.open.contains_key(chain) {
            return;
        }
        // Nobody puts the chain of another below a chain.
        let is_own = chain.maker().is_none_or(|maker| maker == starter);
        let above = frame.aid().filter(|_| is_own);
        let above = above.map(|aid| self.chain_of(&aid).clone());
        let most = if starter == MemberId::HOST {
            OPEN_OF_HOST
        } else {
            OPEN
        };
        let order = self.order.or_insert_with(starter, BTreeMap::new);
        order.insert(position, chain.clone());
        if order.len() > most
            && let Some((_, oldest)) = order.pop_first()
        {
            self.close(&oldest);
        }
        let frames: Vec<_> = frame
            .mid()
            .filter(|mid| *mid != chain)
            .cloned()
            .into_iter()
            .collect();
        for mid in &frames {
            self.frames.insert(mid.clone(), chain.clone());
        }
        let opened = Chain {
            starter,
            position,
            above: above.filter(|above| above != chain),
            frames,
        };
        self.open.insert(chain.clone(), opened);
    }

    /// Closes a chain for good. A later `aid` may name any of its frames.
    fn cancel(&mut self, chain: &Mid, by: MemberId) {
        if let Some(cancelled) = self.take(chain) {
            let cut = self.cut.entry(chain.clone()).or_default();
            cut.extend(cancelled.frames);
        }
        if let Some(forgotten) = self.cancelled.bind(chain, by, CANCELLED) {
            for frame in self.cut.remove(&forgotten).into_iter().flatten() {
                self.frames.remove(&frame);
            }
        }
    }

    fn close(&mut self, chain: &Mid) {
        let closed = self.take(chain);
        for frame in closed.into_iter().flat_map(|chain| chain.frames) {
            self.frames.remove(&frame);
        }
    }

    fn take(&mut self, chain: &Mid) -> Option<Chain> {
        let chain = self.open.remove(chain)?;
        if let Some(order) = self.order.get_mut(chain.starter) {
            order.remove(&chain.position);
            if order.is_empty() {
                self.order.remove(chain.starter);
            }
        }
        Some(chain)
    }

    /// Gives back the room of closed chains.
    pub(crate) fn rest(&mut self) {
        if self.open.is_empty() {
            self.open = BTreeMap::new();
            self.order = ByMember::default();
        }
        if self.frames.is_empty() {
            self.frames = BTreeMap::new();
        }
    }
}
