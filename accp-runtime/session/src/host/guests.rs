//! Guests: members whose agents live in the process of the host.
//!
//! A guest shares the log and the state of the host. It has no replica, so the host relays nothing to it: there is no
//! cursor, no greeting and no timer for it. The frames of a guest go through the same checks as frames that arrive
//! without a link.

use super::Host;
use crate::gate::Ruling;
use crate::gate::content::{Checked, check};
use crate::interface::inbound::Inbound;
use crate::interface::input::{InputError, JoinError};
use crate::interface::outbound::{Outbound, SendError, wants_taker};
use crate::log::by_member::ByMember;
use crate::log::entry::{Entry, is_for};
use crate::log::mid::{MemberId, Mid, MidSource};
use crate::options::Scope;
use crate::send::encode::{Encoded, Peer, last_put_of};
use crate::wire::refusal::Refusal;
use crate::wire::scan::Scanned;
use accp_context::Time;
use accp_frame::{AgentId, Intent};

/// The guests of a host.
#[derive(Debug, Default)]
pub(crate) struct Guests {
    open: ByMember<Guest>,
    /// How far each guest has handled the log, as a text of the caller. Guests of earlier runs are included.
    inboxes: ByMember<Box<str>>,
}

#[derive(Debug)]
struct Guest {
    agent: AgentId<'static>,
    mids: MidSource,
}

impl Guests {
    pub(crate) fn new(inboxes: &[(MemberId, String)]) -> Self {
        let mut guests = Self::default();
        for (member, inbox) in inboxes {
            guests.inboxes.insert(*member, inbox.as_str().into());
        }
        guests
    }

    /// Returns whether the agent of a member lives in the process of the host, or did in an earlier run. Such a
    /// member has no log of its own, and the host does not wait for it, unless the member has a link by now.
    pub(crate) fn has(&self, member: MemberId) -> bool {
        self.is_open(member) || self.inboxes.get(member).is_some()
    }

    pub(crate) fn is_open(&self, member: MemberId) -> bool {
        self.open.get(member).is_some()
    }

    /// Returns whether no guest is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(crate) fn inbox(&self, member: MemberId) -> Option<&str> {
        self.inboxes.get(member).map(|inbox| &**inbox)
    }
}

/// A frame of a guest that has passed the checks of the host.
struct Judged {
    mid: Mid,
    mids: MidSource,
    encoded: Encoded,
    /// The number of the last value that the frame puts.
    last_put: u64,
    checked: Checked,
}

impl Host {
    /// Lets an agent in that lives in the process of the host, and returns the number of its member.
    pub(crate) fn join_guest(
        &mut self,
        agent: &AgentId<'static>,
        now: Time,
    ) -> Result<MemberId, JoinError> {
        let member = self.join(std::slice::from_ref(agent), false, now)?;
        self.relays.forget(member);
        let last = self.gate.last_epoch(member).unwrap_or_default();
        let guest = Guest {
            agent: agent.clone(),
            mids: MidSource::new(member, last),
        };
        self.guests.open.insert(member, guest);
        Ok(member)
    }

    /// Judges the frame with which an agent would become a guest, as if the agent had joined. An agent that is in the
    /// session is not judged, and neither is any agent while the host takes no frames.
    pub(crate) fn check_first_as(
        &mut self,
        agent: &AgentId<'static>,
        outbound: &Outbound<'_>,
        now: Time,
    ) -> Result<(), InputError> {
        let member = self.place_of(std::slice::from_ref(agent))?;
        if self.side.state.is_in(member) || self.guests.is_open(member) {
            return Ok(());
        }
        let last = self.gate.last_epoch(member).unwrap_or_default();
        let guest = Guest {
            agent: agent.clone(),
            mids: MidSource::new(member, last),
        };
        let judged = self.as_newcomer(member, agent, |host| {
            host.guests.open.insert(member, guest);
            let judged = host.judge(member, outbound, now);
            host.end_guest(member);
            judged
        });
        match judged {
            Ok(_) | Err(SendError::Busy) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn end_guest(&mut self, member: MemberId) {
        self.guests.open.remove(member);
        self.queue.took(member);
    }

    /// Takes a frame of a guest. Its values are kept under keys of the host, which announces them.
    pub(crate) fn send_as(
        &mut self,
        member: MemberId,
        outbound: &Outbound<'_>,
        now: Time,
    ) -> Result<Mid, SendError> {
        let Judged {
            mid,
            mids,
            encoded,
            last_put,
            checked,
        } = self.judge(member, outbound, now)?;
        let Some((frame, puts)) = encoded.frames.split_last() else {
            return Err(SendError::NotJoined);
        };
        if !puts.is_empty() {
            let effects = self.check(puts.iter(), last_put)?;
            self.submit(puts.iter().zip(effects), now)?;
        }
        // If all members share one numbering, the announcements have taken numbers, too.
        let sequence = self.gate.numbers.next(self.side.state.scope, member);
        let text = frame.text(&mid, sequence, None);
        let scanned = Scanned::of_entry(&text)?;
        self.enter(member, &scanned, checked, mid.clone(), sequence, now);
        self.queue.took(member);
        if let Some(guest) = self.guests.open.get_mut(member) {
            guest.mids = mids;
        }
        if self.side.state.scope == Scope::Shared {
            self.call_next(now);
        }
        self.take_due_checkpoint(now);
        self.side.keep(vec![encoded], last_put, &mid);
        Ok(mid)
    }

    /// Judges a frame of a guest, before anything changes.
    fn judge(
        &mut self,
        member: MemberId,
        outbound: &Outbound<'_>,
        now: Time,
    ) -> Result<Judged, SendError> {
        let guest = self.guests.open.get(member).ok_or(SendError::NotJoined)?;
        if self.side.is_busy() {
            return Err(SendError::Busy);
        }
        let (side, last) = (&self.side, self.side.last_put);
        let encoded = side.encode_as(&guest.agent, outbound, last, Peer::References, now)?;
        let encoded_all = std::slice::from_ref(&encoded);
        let last_put = last_put_of(encoded_all, last);
        if encoded.frames.len() > 1 {
            side.check_ids()?;
        }
        let mut mids = guest.mids.clone();
        let mid = self.next_of(member, &mut mids)?;
        let shares = self.side.state.scope == Scope::Shared;
        if shares && self.queue.is_anothers(member, self.side.clock.timers()) {
            self.wait(member, &mid);
            return Err(SendError::Busy);
        }
        let frame = encoded.frames.last().ok_or(SendError::NotJoined)?;
        let number = self.gate.numbers.next(self.side.state.scope, member);
        let text = frame.text(&mid, number, None);
        let scanned = Scanned::new(&text, self.side.options.limits)?;
        let (gate, rules) = (&self.gate, &self.rules);
        let refused =
            |refusal: Refusal| SendError::Denied(Box::new(refusal.about(Some(mid.clone()))));
        match gate.first_checks(&self.side, rules, member, &scanned, now) {
            Ok(_) => {}
            Err(Ruling::Refuse(refusal)) => return Err(refused(refusal)),
            Err(Ruling::Drop) if scanned.has_expired(rules.skew, now) => {
                return Err(SendError::Expired);
            }
            Err(Ruling::Drop | Ruling::Again) => return Err(SendError::Cancelled),
            Err(Ruling::Ignore) => return Err(SendError::Busy),
        }
        let own = Some((MemberId::HOST, last_put));
        let checked = check(&self.side, gate, member, &scanned, own).map_err(refused)?;
        Ok(Judged {
            mid,
            mids,
            encoded,
            last_put,
            checked,
        })
    }

    /// Returns the next unused id of a member.
    fn next_of(&self, member: MemberId, mids: &mut MidSource) -> Result<Mid, SendError> {
        loop {
            let mid = mids.next().ok_or(SendError::IdsUsedUp)?;
            if !self.gate.knows(member, &mid) && !self.side.state.chains.reaches(&mid) {
                return Ok(mid);
            }
        }
    }

    /// Records how far a guest has handled the log, and sends its reply. A reply in a chain that was cancelled is
    /// left out.
    pub(crate) fn handled_as(
        &mut self,
        member: MemberId,
        inbox: &str,
        reply: Option<&Outbound<'_>>,
        now: Time,
    ) -> Result<Option<Mid>, SendError> {
        let reply = reply.filter(|reply| !self.side.is_cancelled(reply));
        let mid = match reply.map(|reply| self.send_as(member, reply, now)) {
            None | Some(Err(SendError::Cancelled)) => None,
            Some(sent) => Some(sent?),
        };
        let inboxes = &mut self.side.batch.get().inboxes;
        // A batch keeps only the last text of each inbox.
        match inboxes.iter_mut().find(|(other, _)| *other == member) {
            Some((_, kept)) => inbox.clone_into(kept),
            None => inboxes.push((member, inbox.to_owned())),
        }
        if inbox.is_empty() {
            self.guests.inboxes.remove(member);
        } else {
            self.guests.inboxes.insert(member, inbox.into());
        }
        Ok(mid)
    }

    /// Returns an entry as a handler of this guest gets it; `None` if the entry is not for the guest.
    pub(crate) fn inbound_for(
        &mut self,
        member: MemberId,
        entry: &Entry,
        again: bool,
    ) -> Option<Inbound> {
        // Most entries are not for this guest, so the text is read last.
        let may_be = is_for(member, entry.kind, entry.sender, entry.to, Intent::DONE);
        if entry.text.is_empty() || !may_be {
            return None;
        }
        let frame = Scanned::of_entry(&entry.text).ok()?;
        let is_for_it = is_for(member, entry.kind, entry.sender, entry.to, frame.intent);
        // If the host chose the taker, another member may hold the request by now.
        let chains = &self.side.state.chains;
        let is_taken = wants_taker(&frame.envelope.extra)
            && chains.holder(&frame).is_some_and(|holder| holder != member);
        let again = again || self.side.is_handed_on(entry, &frame);
        (is_for_it && !is_taken).then(|| self.side.inbound(entry, &frame, again))
    }

    /// Returns whether a guest may have to wait for its turn to take a number.
    pub(crate) fn has_turns_of_guests(&self) -> bool {
        !self.guests.is_empty() && self.side.state.scope == Scope::Shared
    }
}
