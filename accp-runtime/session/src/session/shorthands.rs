//! Shorthands for the most common inputs of a session.

use accp_frame::AgentId;

use super::{Role, Session, host_only};
use crate::interface::event::Event;
use crate::interface::inbound::Inbound;
use crate::interface::input::{InputError, Posted, Supplied};
use crate::interface::outbound::{Outbound, SendError};
use crate::log::mid::{MemberId, Mid};
use crate::wire::link::PeerError;
use crate::wire::scan::Scanned;
use accp_context::Time;

impl Session {
    /// Takes a frame that has arrived: [`Input::Frame`](crate::Input::Frame).
    pub fn receive(&mut self, from: MemberId, bytes: &[u8], now: Time) {
        self.side_mut().clock.set(now);
        match &mut self.role {
            Role::Host(host) => host.receive(from, bytes, now),
            Role::Member(member) if from == MemberId::HOST => member.receive(bytes, now),
            Role::Member(_) => {}
        }
    }

    /// Host: takes a frame that a member sends outside of its link, as a POST of HTTP brings it (draft
    /// section 11.1), and returns the answer, to be sent to the member once the next batch is
    /// committed. The member need not have said hello, and the log is not relayed to it. The caller
    /// has made sure that this member sent the frame.
    ///
    /// # Errors
    /// [`InputError::HostOnly`] on a member.
    pub fn post(&mut self, from: MemberId, bytes: &[u8], now: Time) -> Result<Posted, InputError> {
        self.side_mut().clock.set(now);
        match &mut self.role {
            Role::Host(host) => Ok(host.post(from, bytes, now)),
            Role::Member(_) => Err(host_only("take a frame outside of a link")),
        }
    }

    /// Host: takes a frame that an agent sends outside of a link, as [`post`](Self::post) does for a member. An agent
    /// that is not in the session joins with the frame. If the host refuses the frame, or takes none now, the agent
    /// does not join, and nothing changes.
    ///
    /// # Errors
    /// [`InputError::Join`], [`InputError::Send`] on a host that was rolled back, and
    /// [`InputError::HostOnly`] on a member.
    pub fn post_by(
        &mut self,
        agent: &AgentId<'_>,
        bytes: &[u8],
        now: Time,
    ) -> Result<Posted, InputError> {
        self.side_mut().clock.set(now);
        self.check_ready()?;
        match &mut self.role {
            Role::Host(host) => Ok(host.post_by(agent, bytes, now)?),
            Role::Member(_) => Err(host_only("take a frame outside of a link")),
        }
    }

    /// Host: judges the first frame on a link, which has to be a hello, before its agent [joins](crate::Input::Join). Returns
    /// the refusal, if the host cannot read the hello, or has no link for an agent that knows only the draft. `None` on
    /// a member.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use accp_runtime::session::{Options, Rules, Scope, Session, Time};
    /// # use accp_runtime::{AgentId, Registry};
    /// # let options = Options::new("lunch", AgentId::new("hub")?, Arc::new(Registry::standard()));
    /// let rules = Rules { scope: Scope::Sender, ..Rules::default() };
    /// let host = Session::host(options, rules, Time::from_secs(1_714_000_000));
    /// let hello = "@cook>sync:registry{v:1|hash:abc123}[mid:abc101000001,seq:0]";
    /// let refusal = host.refusal_of_hello(hello).ok_or("here each agent numbers its own frames")?;
    /// assert_eq!(refusal.code.to_string(), "E5001");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refusal_of_hello(&self, hello: &str) -> Option<PeerError> {
        match &self.role {
            Role::Host(host) => Some(host.refusal_of_hello(hello)?.about(None)),
            Role::Member(_) => None,
        }
    }

    /// Host: takes the bytes of a value that a member has announced by `sync:put`, outside of its link, as a PUT of
    /// HTTP brings them. The caller has made sure that this member sent the bytes. The bytes are kept once the next
    /// batch is committed.
    ///
    /// # Errors
    /// [`InputError::HostOnly`] on a member.
    pub fn supply(
        &mut self,
        from: MemberId,
        key: &str,
        bytes: &[u8],
        now: Time,
    ) -> Result<Supplied, InputError> {
        self.side_mut().clock.set(now);
        match &mut self.role {
            Role::Host(host) => Ok(host.supply(from, key, bytes, now)),
            Role::Member(_) => Err(host_only("take a value outside of a link")),
        }
    }

    /// Sends a frame and returns its message id: [`Input::Send`](crate::Input::Send).
    ///
    /// An application may not send the frames that the session itself sends (E5001; for frames about the session,
    /// the error names what to call instead). About the link, these are `ack`, `ping` and `pong` with any
    /// operation, `sync:registry`, `sync:bytes`, `sync:serves`, `sync:bye` and `qry:bytes`. About the session,
    /// these are `sync:open`, `sync:join`, `sync:leave`, `sync:grant`, `sync:expire`, `sync:put`, `sync:takes`,
    /// `sync:schemas`, `sync:level`, `sync:veto` and `sync:checkpoint`.
    ///
    /// # Errors
    /// As [`SendError`] says; then nothing has changed.
    pub fn send(&mut self, outbound: &Outbound<'_>, now: Time) -> Result<Mid, SendError> {
        self.side_mut().clock.set(now);
        self.check_running()?;
        let encoded = self.side().encode_all([outbound], self.peer(), now)?;
        self.submit(encoded, false)
    }

    /// Marks a delivered frame handled and sends the replies to it: [`Input::Handled`](crate::Input::Handled).
    ///
    /// # Errors
    /// The [`SendError`] of the first reply that cannot be sent; then the frame is not marked.
    /// [`SendError::NotDue`] when the frame does not wait to be handled.
    pub fn handled(
        &mut self,
        position: u64,
        replies: &[Outbound<'_>],
        now: Time,
    ) -> Result<(), SendError> {
        self.replied(position, replies, now).map(drop)
    }

    /// As [`handled`](Self::handled). Returns the message id of the last reply. Returns `None` without a reply, or
    /// if the chain of the reply was cancelled: then the reply is left out.
    ///
    /// # Errors
    /// See [`handled`](Self::handled).
    pub fn replied(
        &mut self,
        position: u64,
        replies: &[Outbound<'_>],
        now: Time,
    ) -> Result<Option<Mid>, SendError> {
        self.side_mut().clock.set(now);
        self.check_running()?;
        let side = self.side();
        if !side.waits(position) {
            return Err(SendError::NotDue(position));
        }
        let wanted = replies.iter().filter(|reply| !side.is_cancelled(reply));
        let encoded = side.encode_all(wanted, self.peer(), now)?;
        let mid = if encoded.is_empty() {
            None
        } else {
            Some(self.submit(encoded, true)?)
        };
        self.side_mut().mark_handled(position);
        Ok(mid)
    }

    /// Returns whether a member still owes an answer to this request: the request is for that member alone, and no
    /// answer is in the log or waits here to go out. On a host, the member is the host or one of its guests. On a
    /// member, it is the member itself.
    pub fn is_owed(&self, member: MemberId, inbound: &Inbound) -> bool {
        let Ok(frame) = Scanned::of_entry(inbound.text()) else {
            return false;
        };
        let is_asked = self.side().state.chains.is_asked(member, &frame);
        is_asked && !matches!(&self.role, Role::Member(own) if own.has_answered(&frame))
    }

    /// Marks a frame as lapsed if its `ttl` is over (draft section 3.5), and returns whether the `ttl` is over. If
    /// so, the handler must not get the frame. The `ttl` is over by the sender's `ts`, with the tolerance of
    /// [`Options::skew`](crate::Options::skew), or once it has passed on this side's clock since this side took the
    /// frame. A frame may wait for its handler long after the host has accepted the frame: on a slow link, or in the
    /// store of a side that starts again. A store keeps this mark apart from the mark of a handled frame
    /// ([`Due::Lapsed`](crate::Due::Lapsed)).
    pub fn lapse(&mut self, inbound: &Inbound, now: Time) -> bool {
        let side = self.side_mut();
        let is_over = inbound.has_expired(side.options.skew, now);
        if is_over && side.mark_lapsed(inbound.position()) {
            side.clock.set(now);
            if let Ok(mid) = inbound.mid() {
                side.emit(Event::Lapsed(mid));
            }
        }
        is_over
    }

    /// Host: lets an agent in, and returns the number of its member: [`Input::Join`](crate::Input::Join).
    ///
    /// # Errors
    /// [`InputError::Join`], and [`InputError::HostOnly`] on a member.
    pub fn join(&mut self, agent: &AgentId<'_>, now: Time) -> Result<MemberId, InputError> {
        self.join_as(std::slice::from_ref(agent), false, now)
    }

    pub(super) fn join_as(
        &mut self,
        agents: &[AgentId<'_>],
        supervisor: bool,
        now: Time,
    ) -> Result<MemberId, InputError> {
        self.side_mut().clock.set(now);
        self.check_ready()?;
        match &mut self.role {
            Role::Host(host) => Ok(host.join(agents, supervisor, now)?),
            Role::Member(_) => Err(host_only("let an agent in")),
        }
    }
}
