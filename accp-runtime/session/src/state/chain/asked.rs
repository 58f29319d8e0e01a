//! Requests that are for one member, and the members that answer them.

use serde::{Deserialize, Serialize};

use super::{Chain, Chains, of};
use crate::log::by_member::ByMember;
use crate::log::mid::{MemberId, Mid};
use crate::wire::scan::Scanned;

/// A request that is for one member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) mid: Mid,
    pub(super) by: MemberId,
    /// The member; [`MemberId::NOBODY`] while the host knows nobody that takes the request.
    pub(super) to: MemberId,
    /// How the member got the request. `None` in a state that an earlier version of this crate has stored, if the
    /// request names the member.
    #[serde(default, rename = "chosen", skip_serializing_if = "Option::is_none")]
    pub(super) given: Option<Box<Given>>,
}

/// How a member got a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Given {
    /// The head of the request (`req:note:NOTE`), if the host chooses the member; `None` if the request names the
    /// member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) head: Option<String>,
    /// The position at which the member got the request.
    pub(super) position: u64,
    /// True if a member may have had the request before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) had: bool,
}

/// An open request that is for one member.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub chain: Mid,
    pub mid: Mid,
    pub by: MemberId,
    pub to: MemberId,
    /// The head of the request (`req:note:NOTE`), if the host chooses the member.
    pub head: Option<String>,
    pub position: u64,
}

/// The members that may send a frame, if the frame answers requests.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answerers {
    All,
    Only(Vec<MemberId>),
}

impl Answerers {
    /// Returns whether a member is one of them.
    pub(crate) fn has(&self, member: MemberId) -> bool {
        match self {
            Self::All => true,
            Self::Only(members) => members.contains(&member),
        }
    }
}

impl Asked {
    /// Updates the counter of the taker when this request ends.
    pub(super) fn ends(&self, taken: &mut ByMember<usize>) {
        if self.given.is_some() {
            uncount(taken, self.to);
        }
    }
}

pub(super) fn count(taken: &mut ByMember<usize>, member: MemberId, more: usize) {
    *taken.or_insert_with(member, || 0) += more;
}

fn uncount(taken: &mut ByMember<usize>, member: MemberId) {
    if let Some(open) = taken.get_mut(member) {
        *open = open.saturating_sub(1);
        if *open == 0 {
            taken.remove(member);
        }
    }
}

/// Returns who may answer these requests: anybody, if one of them has no taker yet.
pub(super) fn only<'a>(asked: impl Iterator<Item = &'a Asked>) -> Answerers {
    let members: Vec<_> = asked.map(|asked| asked.to).collect();
    if members.contains(&MemberId::NOBODY) {
        return Answerers::All;
    }
    Answerers::Only(members)
}

impl Chains {
    /// Returns the member that holds a request; `None` if the request is for all, or has ended.
    pub(crate) fn holder(&self, frame: &Scanned<'_>) -> Option<MemberId> {
        let chain = of(frame).and_then(|chain| self.open.get(chain))?;
        let mut asked = chain.asked.iter();
        let asked = asked.find(|asked| Some(&asked.mid) == frame.mid())?;
        Some(asked.to)
    }

    /// Returns whether a request was given to a member before its present holder got it. Also true for a request that has
    /// ended, because the state no longer knows its holders.
    pub(crate) fn was_had(&self, frame: &Scanned<'_>) -> bool {
        let chain = of(frame).and_then(|chain| self.open.get(chain));
        let mut asked = chain.into_iter().flat_map(|chain| &chain.asked);
        let asked = asked.find(|asked| Some(&asked.mid) == frame.mid());
        let given = asked.map(|asked| asked.given.as_deref());
        given.is_none_or(|given| given.is_some_and(|given| given.had))
    }

    /// Returns how many open requests a member has to answer.
    pub(crate) fn open_of(&self, member: MemberId) -> usize {
        self.taken.get(member).copied().unwrap_or_default()
    }

    /// Returns the open requests that are for one member, without those whose chain, or a chain above it, was
    /// cancelled.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = Waiting> {
        let asked = |(chain, open): (&Mid, &Chain)| {
            let waiting = open.asked.iter().filter_map(|asked| {
                let given = asked.given.as_deref()?;
                Some(Waiting {
                    chain: chain.clone(),
                    mid: asked.mid.clone(),
                    by: asked.by,
                    to: asked.to,
                    head: given.head.clone(),
                    position: given.position,
                })
            });
            waiting.collect::<Vec<_>>()
        };
        let is_empty = self.taken.is_empty();
        let open = self.open.iter();
        let open = open.filter(move |(chain, _)| !is_empty && !self.reaches(chain));
        open.flat_map(asked)
    }

    /// Gives a request to a member again, or to another one, unless the request has ended.
    pub(crate) fn hand_on(&mut self, frame: &Scanned<'_>, to: MemberId, position: u64) {
        let chain = of(frame).and_then(|chain| self.open.get_mut(chain));
        let mut asked = chain.into_iter().flat_map(|chain| &mut chain.asked);
        let Some(asked) = asked.find(|asked| Some(&asked.mid) == frame.mid()) else {
            return;
        };
        if let Some(given) = &mut asked.given {
            given.position = position;
            given.had |= asked.to != MemberId::NOBODY;
            count(&mut self.taken, to, 1);
            uncount(&mut self.taken, asked.to);
            asked.to = to;
        }
    }
}
