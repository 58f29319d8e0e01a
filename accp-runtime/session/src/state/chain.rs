//! Request chains: their frames and their cancellation.

mod asked;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hint::black_box;

use serde::{Deserialize, Serialize};

pub(crate) use self::asked::{Answerers, Waiting};
use self::asked::{Asked, Given, count, only};
use crate::interface::outbound::wants_taker;
use crate::log::by_member::ByMember;
use crate::log::entry::Entry;
use crate::log::mid::{MemberId, Mid};
use crate::state::names::Names;
use crate::state::takers::head_of;
use crate::wire::control::Control;
use crate::wire::scan::Scanned;
use accp_frame::Intent;

/// The greatest number of open chains of a member; beyond it, its oldest chain counts as finished.
const OPEN: usize = 256;
/// The greatest number of open chains of the host.
const OPEN_OF_HOST: usize = 4096;
/// The greatest number of cancelled chains that a session remembers of each member.
const CANCELLED: usize = 1024;
/// The greatest number of frames of each member that an `aid` can name. The first frames of open
/// chains do not count.
const FRAMES: usize = 1024;
/// The greatest number of frames of cancelled chains that a later `aid` may name, for each member that cancelled such
/// chains.
const CUT: usize = 4096;
/// The greatest number of requests of a chain that are for one member and have no answer.
pub(crate) const ASKED: usize = 64;
/// The greatest number of chains above a chain.
const DEPTH: usize = 64;

/// The request chains of a session (draft section 3.7, item 4).
///
/// The chain of a frame is its `cid`, or else its own `mid`. An `aid` puts a chain below the chain
/// of the message that caused it. A cancellation of the upper chain also reaches the lower one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Chains {
    open: BTreeMap<Mid, Chain>,
    /// The open chains, by the member that started them and the position of their first frame.
    order: ByMember<BTreeMap<u64, Mid>>,
    /// The cancelled chains, by the member that cancelled them.
    cancelled: Names,
    /// The known frames: those of open and of cancelled chains that an `aid` can name.
    frames: BTreeMap<Mid, Known>,
    /// The number of known frames of open chains, by the member that made their ids.
    known: ByMember<usize>,
    /// The frames of each cancelled chain, by the member that cancelled it, the oldest chain first.
    cut: ByMember<VecDeque<(Mid, Vec<Mid>)>>,
    /// The number of open requests that each member has to answer.
    #[serde(default, skip_serializing_if = "ByMember::is_empty")]
    taken: ByMember<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Chain {
    starter: MemberId,
    /// The position of the first frame.
    position: u64,
    above: Option<Mid>,
    /// The known frames of the chain, without the first one.
    frames: Vec<Mid>,
    /// The requests of the chain that are for one member and have no answer yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    asked: Vec<Asked>,
}

/// A frame that an `aid` can name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    chain: Mid,
    position: u64,
}

/// Returns the chain of a frame.
pub(crate) fn of<'f>(frame: &'f Scanned<'_>) -> Option<&'f Mid> {
    frame.cid().or(frame.mid())
}

impl Chains {
    /// Returns whether the frame of an application belongs to a cancelled chain, or to a chain below a cancelled one.
    pub(crate) fn is_cancelled(&self, frame: &Scanned<'_>) -> bool {
        self.look_up(frame).0
    }

    /// As [`is_cancelled`](Self::is_cancelled). Also returns the number of chains that it looked up.
    pub(crate) fn look_up(&self, frame: &Scanned<'_>) -> (bool, usize) {
        let mut looks = 0;
        let is_cancelled = !self.cancelled.is_empty()
            && !Control::is(frame)
            && (of(frame).is_some_and(|chain| self.climb(chain, &mut looks))
                || frame
                    .aid()
                    .is_some_and(|aid| self.climb(self.chain_of(&aid), &mut looks)));
        (is_cancelled, looks)
    }

    /// Looks up more chains, up to the same number for every frame. So the time that the host takes to
    /// drop a frame does not reveal the reason (draft section 3.7).
    pub(crate) fn look_on(&self, frame: &Scanned<'_>, looks: usize) {
        // Looking up one key repeatedly would be faster than looking up many, and unrelated keys
        // would be faster than a climb from chain to chain. So this loop takes many keys and
        // climbs.
        let others = self.open.keys().rev().cycle();
        let mut begins = others.chain(of(frame).into_iter().cycle());
        let mut above = None;
        for _ in looks..2 * DEPTH {
            let Some(any) = above.or_else(|| begins.next()) else {
                return;
            };
            black_box(self.cancelled.owner(black_box(any)));
            let chain = black_box(self.open.get(black_box(any)));
            above = chain.and_then(|chain| chain.above.as_ref());
        }
    }

    /// Returns the chain of the frame with this id; an unknown frame is its own chain.
    pub(crate) fn chain_of<'m>(&'m self, mid: &'m Mid) -> &'m Mid {
        self.frames.get(mid).map_or(mid, |known| &known.chain)
    }

    /// Returns whether the chain that the frame itself names was cancelled. A side whose log has gaps cannot know
    /// more for certain.
    pub(crate) fn is_named(&self, frame: &Scanned<'_>) -> bool {
        of(frame).is_some_and(|chain| self.cancelled.owner(chain).is_some())
    }

    /// Returns whether this chain, or a chain above it, is cancelled.
    pub(crate) fn reaches(&self, chain: &Mid) -> bool {
        self.climb(chain, &mut 0)
    }

    fn climb(&self, chain: &Mid, looks: &mut usize) -> bool {
        let mut at = chain;
        for _ in 0..DEPTH {
            *looks += 1;
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

    /// Returns the position of the parent of this frame: the frame that its `aid` names, or else the
    /// request that began its chain.
    pub(crate) fn parent(&self, frame: &Scanned<'_>) -> Option<u64> {
        let begin = |chain: &Mid| self.open.get(chain).map(|chain| chain.position);
        let cause = frame.aid().and_then(|aid| match self.frames.get(&aid) {
            Some(known) => Some(known.position),
            None => begin(&aid),
        });
        cause.or_else(|| begin(frame.cid()?))
    }

    /// Returns the positions of the requests without an answer, ascending.
    pub(crate) fn in_flight(&self) -> Vec<u64> {
        let of_members = self.order.iter().flat_map(|(_, order)| order.keys());
        let mut positions: Vec<_> = of_members.copied().collect();
        positions.sort_unstable();
        positions
    }

    /// Returns the members that may send this frame, besides the host and supervisors. The rule is the one by which
    /// askers recognise answers ([`Scanned::answers`]). If the `aid` of the frame names an open request for one
    /// member, in any chain, only this member may send the frame. A frame without an `aid` answers all requests of
    /// its chain, and so does each piece of a stream. For each other asker whose requests in the chain are for one
    /// member each, the frame has to come from one of these members. The member that began the chain may also stream
    /// into it and end it.
    pub(crate) fn answerers(&self, frame: &Scanned<'_>, from: MemberId) -> Answerers {
        let streams = frame.intent == Intent::STREAM;
        if !frame.ends() && !streams {
            return Answerers::All;
        }
        let aid = frame.aid();
        if let Some((_, asked)) = aid.as_ref().and_then(|aid| self.asked_by_id(aid)) {
            return only(std::iter::once(asked));
        }
        let chain = frame.cid().filter(|_| streams || aid.is_none());
        let Some(chain) = chain.and_then(|chain| self.open.get(chain)) else {
            return Answerers::All;
        };
        let is_starter = chain.starter == from;
        if is_starter && (streams || frame.intent == Intent::END) {
            return Answerers::All;
        }
        let askers = chain.asked.iter().map(|asked| asked.by);
        let askers: BTreeSet<_> = askers.filter(|by| is_starter || *by != from).collect();
        let of = |by| only(chain.asked.iter().filter(move |asked| asked.by == by));
        let mut needed = askers.into_iter().map(of);
        needed
            .find(|needed| !needed.has(from))
            .unwrap_or(Answerers::All)
    }

    /// Returns the open request for one member that has this id, with its chain.
    fn asked_by_id(&self, mid: &Mid) -> Option<(&Mid, &Asked)> {
        let near = self.open.get_key_value(self.chain_of(mid));
        // The state knows the chains of most frames. If a member has made too many frames for that, all open chains
        // are searched.
        let others = near.is_none().then_some(&self.open);
        let mut chains = near.into_iter().chain(others.into_iter().flatten());
        chains.find_map(|(chain, open)| {
            let mut asked = open.asked.iter();
            Some((chain, asked.find(|asked| asked.mid == *mid)?))
        })
    }

    /// Returns whether this frame is an open request that this member alone has to answer.
    pub(crate) fn is_asked(&self, member: MemberId, frame: &Scanned<'_>) -> bool {
        self.holder(frame) == Some(member)
    }

    /// Returns whether the chain of a request has room for one more request that is for one member.
    pub(crate) fn has_room(&self, frame: &Scanned<'_>) -> bool {
        let chain = of(frame).and_then(|chain| self.open.get(chain));
        chain.is_none_or(|chain| chain.asked.len() < ASKED)
    }

    /// Takes an accepted frame into account.
    pub(crate) fn apply(&mut self, frame: &Scanned<'_>, entry: &Entry) {
        let Some(chain) = of(frame) else { return };
        let (sender, position) = (entry.sender, entry.position);
        if frame.intent != Intent::CANCEL {
            self.know(frame, chain, position);
        }
        match frame.intent {
            Intent::CANCEL => self.cancel(chain, sender),
            Intent::DONE | Intent::FAIL | Intent::END => self.end(frame, chain, sender),
            Intent::REQ | Intent::QRY | Intent::STREAM => {
                self.begin(frame, chain, sender, position);
                if let (Some(to), Some(mid)) = (entry.to, frame.mid())
                    && let Some(open) = self.open.get_mut(chain)
                {
                    let (mid, by) = (mid.clone(), sender);
                    count(&mut self.taken, to, 1);
                    let given = Given {
                        head: wants_taker(&frame.envelope.extra).then(|| head_of(frame)),
                        position,
                        had: false,
                    };
                    let given = Some(Box::new(given));
                    open.asked.push(Asked { mid, by, to, given });
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, frame: &Scanned<'_>, chain: &Mid, starter: MemberId, position: u64) {
        if self.open.contains_key(chain) {
            return;
        }
        // A member cannot put the chain of another member below a chain.
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
        let opened = Chain {
            starter,
            position,
            above: above.filter(|above| above != chain),
            frames: Vec::new(),
            asked: Vec::new(),
        };
        self.open.insert(chain.clone(), opened);
        self.know(frame, chain, position);
    }

    /// Remembers a frame of an open chain, unless the maker of the frame has reached its limit.
    fn know(&mut self, frame: &Scanned<'_>, chain: &Mid, position: u64) {
        if let (Some(open), Some(mid)) = (self.open.get_mut(chain), frame.mid())
            && mid != chain
        {
            let maker = mid.maker().unwrap_or(open.starter);
            let known = self.known.or_insert_with(maker, || 0);
            if *known < FRAMES {
                *known += 1;
                open.frames.push(mid.clone());
                let chain = chain.clone();
                self.frames.insert(mid.clone(), Known { chain, position });
            }
        }
    }

    /// Closes a chain for good. A later `aid` may name any of its frames.
    fn cancel(&mut self, chain: &Mid, by: MemberId) {
        let forgotten = self.cancelled.bind(chain, by, CANCELLED);
        let cancelled = self.take(chain);
        if let Some(cancelled) = cancelled.filter(|chain| !chain.frames.is_empty()) {
            let cut = self.cut.or_insert_with(by, VecDeque::new);
            cut.push_back((chain.clone(), cancelled.frames));
        }
        let Some(cut) = self.cut.get_mut(by) else {
            return;
        };
        let mut frames: usize = cut.iter().map(|(_, frames)| frames.len()).sum();
        while let Some((oldest, _)) = cut.front()
            && (frames > CUT || forgotten.as_ref() == Some(oldest))
            && let Some((_, forgotten)) = cut.pop_front()
        {
            frames -= forgotten.len();
            for frame in forgotten {
                self.frames.remove(&frame);
            }
        }
    }

    /// Ends the requests that a frame answers by the rule of [`Scanned::answers`]. Also ends their chain, unless the
    /// chain still has open requests for one member.
    fn end(&mut self, frame: &Scanned<'_>, chain: &Mid, sender: MemberId) {
        let aid = frame.aid();
        let named = aid.as_ref().and_then(|aid| self.asked_by_id(aid));
        let chain = named.map_or(chain, |(chain, _)| chain).clone();
        let taken = &mut self.taken;
        let is_left = |open: &mut Chain| {
            let is_starter = open.starter == sender;
            open.asked.retain(|asked| {
                let stays = match &aid {
                    Some(aid) => asked.mid != *aid,
                    None => asked.by == sender && !is_starter,
                };
                if !stays {
                    asked.ends(taken);
                }
                stays
            });
            !open.asked.is_empty()
        };
        if !self.open.get_mut(&chain).is_some_and(is_left) {
            self.close(&chain);
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
        for asked in &chain.asked {
            asked.ends(&mut self.taken);
        }
        for frame in &chain.frames {
            let maker = frame.maker().unwrap_or(chain.starter);
            if let Some(known) = self.known.get_mut(maker) {
                *known = known.saturating_sub(1);
            }
        }
        if let Some(order) = self.order.get_mut(chain.starter) {
            order.remove(&chain.position);
            if order.is_empty() {
                self.order.remove(chain.starter);
            }
        }
        Some(chain)
    }

    /// Frees the memory of closed chains.
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
