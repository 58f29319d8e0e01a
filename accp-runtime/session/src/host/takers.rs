//! Requests that are for one member, and that the host hands on.

use super::Host;
use crate::delivery::cursor::Cursor;
use crate::gate::content::Checked;
use crate::interface::event::Event;
use crate::interface::outbound::{Outbound, SendError};
use crate::interface::output::Read;
use crate::log::entry::{Entry, EntryKind};
use crate::log::mid::MemberId;
use crate::send::encode::{Peer, last_put_of};
use crate::state::chain::Waiting;
use crate::state::effect::Effect;
use crate::state::takers::{head_of, in_order, nobody_takes};
use crate::wire::control::Control;
use crate::wire::frames::ByeSync;
use crate::wire::scan::Scanned;
use accp_context::Time;
use accp_registry::ErrorCode;

impl Host {
    /// Records which requests a member says that it takes.
    pub(crate) fn takes(&mut self, member: MemberId, heads: &[String], now: Time) {
        let heads = in_order(heads);
        let party = self.side.state.members.get(member);
        let is_news = party.is_some_and(|party| party.takes.as_ref() != Some(&heads));
        if is_news {
            self.control(Control::Takes { member, heads }, now);
            self.hand_on(now);
        }
    }

    /// Returns whether a member can be reached now.
    fn is_here(&self, member: MemberId) -> bool {
        let is_linked = |cursor: &Cursor| !cursor.gone && cursor.acked.is_some();
        member == MemberId::HOST
            || self.guests.is_open(member)
            || self.relays.cursors.get(member).is_some_and(is_linked)
    }

    /// Returns the member that a request goes to, or [`MemberId::NOBODY`] while there is none.
    pub(super) fn taker_of(&self, asker: MemberId, frame: &Scanned<'_>) -> MemberId {
        let head = head_of(frame);
        let taker = self
            .side
            .state
            .taker(asker, &head, |member| self.is_here(member));
        taker.unwrap_or(MemberId::NOBODY)
    }

    /// Finds takers for the requests whose takers have left, and for those that have had none so far. A request that
    /// names its member waits for that member to come back. Any other request that nobody can take any more ends with
    /// E2001.
    pub(crate) fn hand_on(&mut self, now: Time) {
        if self.lost.is_some() {
            return;
        }
        let state = &self.side.state;
        let waiting = state.chains.waiting();
        let waiting = waiting.filter(|one| state.is_without_taker(one.to, one.position));
        let waiting: Vec<Waiting> = waiting.collect();
        for one in waiting {
            let state = &self.side.state;
            let taker = self.present_taker_of(&one);
            if taker.is_some_and(|taker| self.has_no_room(taker)) {
                self.lacks_room = true;
            } else if taker.is_some() {
                // The text of the request may be only in the store.
                if self.handing.insert(one.position) {
                    let at = one.position;
                    self.side.reads.push_back(Read::Entry { at });
                }
            } else if let Some(head) = &one.head
                && !state.may_be_taken(one.by, head)
            {
                let why = nobody_takes(head);
                self.fail(&one, ErrorCode::REF_NOT_FOUND, why, now);
            }
        }
    }

    /// Returns whether the member is the host, and as many frames wait for its handlers as may.
    fn has_no_room(&self, taker: MemberId) -> bool {
        taker == MemberId::HOST && self.side.is_busy()
    }

    /// Takes requests that had to wait because too many frames waited for the handlers of this host.
    pub(super) fn hand_on_to_itself(&mut self, now: Time) {
        if self.lacks_room && !self.side.is_busy() {
            self.lacks_room = false;
            self.hand_on(now);
        }
    }

    /// Returns the member that a waiting request can be handed to now.
    fn present_taker_of(&self, one: &Waiting) -> Option<MemberId> {
        let state = &self.side.state;
        let taker = match &one.head {
            Some(head) => state.taker(one.by, head, |member| self.is_here(member)),
            None => Some(one.to),
        };
        taker.filter(|taker| state.is_in(*taker))
    }

    /// Hands on a request that the store has read.
    pub(crate) fn hand_on_read(&mut self, at: u64, entry: Option<&Entry>, now: Time) {
        if !self.handing.remove(&at) || self.lost.is_some() {
            return;
        }
        let state = &self.side.state;
        let one = state.chains.waiting().find(|one| one.position == at);
        let one = one.filter(|one| state.is_without_taker(one.to, at));
        let entry = entry.filter(|entry| entry.position == at && !entry.text.is_empty());
        let Some(one) = one else {
            return;
        };
        let Some(entry) = entry else {
            let code = ErrorCode::REF_EXPIRED;
            let why = "the text of the request was discarded before an agent could take it".into();
            return self.fail(&one, code, why, now);
        };
        let taker = self.present_taker_of(&one);
        let (Some(taker), Ok(frame)) = (taker, Scanned::of_entry(&entry.text)) else {
            return;
        };
        if self.has_no_room(taker) {
            self.lacks_room = true;
            return;
        }
        let checked = Checked {
            effect: Effect::Void(EntryKind::Repeat),
            to: Some(taker),
        };
        let mid = entry.mid.clone();
        self.append(entry.sender, &frame, checked, mid, 0, now);
    }

    /// Tells a member that asked to leave that it has left the session.
    pub(super) fn say_bye(&mut self, member: MemberId, now: Time) {
        self.side.send_frame(member, ByeSync {}, now);
    }

    /// Ends a request with an error of the host.
    fn fail(&mut self, one: &Waiting, code: ErrorCode, why: String, now: Time) {
        let error = Outbound::error(code, why);
        let error = error.in_chain(one.chain.to_string()).caused_by(&one.mid);
        if let Err(error) = self.say(&error, now) {
            self.side.emit(Event::NotWritten(error.to_string()));
        }
    }

    fn say(&mut self, outbound: &Outbound<'_>, now: Time) -> Result<(), SendError> {
        let encoded = self.side.encode_all([outbound], Peer::References, now)?;
        let last_put = last_put_of(&encoded, self.side.last_put);
        let frames = encoded.iter().flat_map(|encoded| &encoded.frames);
        let effects = self.check(frames.clone(), last_put)?;
        let mid = self.submit(frames.zip(effects), now)?;
        self.side.keep(encoded, last_put, &mid);
        Ok(())
    }
}
