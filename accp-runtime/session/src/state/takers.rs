//! The requests that members say they take, and the choice of a taker.

use crate::log::mid::MemberId;
use crate::state::{Party, State};
use crate::wire::scan::Scanned;
use accp_frame::Intent;

/// The head that stands for all requests that no other head of a member names.
pub(crate) const OTHERS: &str = "*";
/// The greatest number of heads of a member, and the greatest length of one.
const HEADS: usize = 64;
const HEAD_BYTES: usize = 256;

/// How well a member fits a request, the best fit first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Named,
    Others,
}

/// Returns the head of a request, by which members say that they take it: `req:note:NOTE`, or `req:note` without a schema.
pub(crate) fn head_of(frame: &Scanned<'_>) -> String {
    head(frame.intent, frame.header.operation, frame.schema)
}

pub(crate) fn head(intent: Intent, operation: &str, schema: Option<&str>) -> String {
    match schema {
        Some(schema) => format!("{intent}:{operation}:{schema}"),
        None => format!("{intent}:{operation}"),
    }
}

/// Returns the error text for a request that no member takes.
pub(crate) fn nobody_takes(head: &str) -> String {
    format!(
        "an agent of the session that takes {head}, and none that has joined does: start one, or name an agent"
    )
}

/// Returns heads as the log has them: each once, in order. If a member names too many heads, or a very long one, the
/// log says that it takes all other requests (`*`) instead.
pub(crate) fn in_order(heads: &[String]) -> Vec<String> {
    let mut heads = heads.to_vec();
    heads.sort_unstable();
    heads.dedup();
    let is_short = |head: &String| head.len() <= HEAD_BYTES;
    if heads.len() > HEADS || !heads.iter().all(is_short) {
        heads.retain(|head| is_short(head) && head != OTHERS);
        heads.truncate(HEADS - 1);
        heads.insert(0, OTHERS.to_owned());
    }
    heads
}

impl Party {
    fn fits(&self, head: &str) -> Option<Fit> {
        let takes = |name: &str| self.takes.iter().flatten().any(|taken| taken == name);
        if takes(head) {
            return Some(Fit::Named);
        }
        takes(OTHERS).then_some(Fit::Others)
    }
}

impl State {
    /// Returns whether a member other than the asker takes a request with this head, or may still say so. A member
    /// may still say so if it is in the session and has not said yet what it takes.
    pub(crate) fn may_be_taken(&self, asker: MemberId, head: &str) -> bool {
        let mut others = self.members().filter(|(member, _)| *member != asker);
        others.any(|(member, party)| {
            let may_say = party.present && party.takes.is_none() && member != MemberId::HOST;
            may_say || party.fits(head).is_some()
        })
    }

    /// Returns the member that a request with this head goes to. Among several, these come first, in this order:
    /// members that have not left the session, members that name the head, members that are here, members with fewer
    /// open requests. A member that has left is a possible choice, because it may come back.
    pub(crate) fn taker(
        &self,
        asker: MemberId,
        head: &str,
        is_here: impl Fn(MemberId) -> bool,
    ) -> Option<MemberId> {
        let others = self.members().filter(|(member, _)| *member != asker);
        let takers = others.filter_map(|(member, party)| {
            let fit = party.fits(head)?;
            let open = self.chains.open_of(member);
            Some((!party.present, fit, !is_here(member), open, member))
        });
        takers.min().map(|(.., member)| member)
    }

    /// Returns whether a request at this position that was given to a member is without a taker: nobody has taken it yet, or
    /// the member has left the session since.
    pub(crate) fn is_without_taker(&self, member: MemberId, position: u64) -> bool {
        let party = self.members.get(member);
        party.is_none_or(|party| !party.present || party.joined > position)
    }
}
