//! Guests of a host: members whose agents live in its process.

use accp_frame::AgentId;

use super::{Role, Session, host_only};
use crate::host::Host;
use crate::interface::inbound::Inbound;
use crate::interface::input::{InputError, Posted};
use crate::interface::outbound::{Outbound, SendError};
use crate::interface::output::Outgoing;
use crate::log::entry::Entry;
use crate::log::mid::{MemberId, Mid};
use accp_context::Time;

/// A guest is a member whose agent lives in the process of the host. It has no session of its own: it reads
/// the log of the host, and sends through the session of the host.
///
/// ```
/// # use std::sync::Arc;
/// use accp_runtime::profiles::{ChatDone, ChatReq};
/// # use accp_runtime::session::{Options, Outbound, Rules, Session, Time};
/// # use accp_runtime::{AgentId, Registry};
/// # use accp_session::Output;
/// # let now = Time::from_secs(1_714_000_000);
/// # let options = Options::new("lunch", AgentId::new("hub")?, Arc::new(Registry::standard()));
/// # let mut host = Session::host(options, Rules::default(), now);
/// let cook = host.join_guest(&AgentId::new("cook")?, now)?;
/// let diner = host.join_guest(&AgentId::new("diner")?, now)?;
/// host.send_as(diner, &Outbound::owned(ChatReq::new("soup?")), now)?;
/// let mut log = Vec::new(); // in a real program: the store
/// while let Some(Output::Batch(batch)) = host.poll() {
///     log.extend(batch.entries);
/// }
/// let asked = log.iter().find_map(|entry| host.inbound_for(cook, entry, false)).ok_or("no frame")?;
/// let answer = Outbound::owned(ChatDone::new("rye soup")).answering(&asked)?;
/// let inbox = asked.position().to_string(); // any text that tells what was handled
/// host.handled_as(cook, &inbox, Some(&answer), now)?;
/// if let Some(Output::Batch(batch)) = host.poll() {
///     // The reply and the mark are kept together, or neither is.
///     assert_eq!(batch.inboxes, [(cook, inbox)]);
///     assert!(batch.entries[0].text.starts_with("@cook>done:chat{"));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Session {
    /// Host: lets an agent in that lives in the process of the host, and returns the number of its member. The host
    /// relays nothing to this member from now on, until the member says hello on a link. An agent that is a guest
    /// already continues under new message ids.
    ///
    /// # Errors
    /// [`InputError::Join`], [`InputError::Send`] on a host that was rolled back, and
    /// [`InputError::HostOnly`] on a member.
    pub fn join_guest(
        &mut self,
        agent: &AgentId<'static>,
        now: Time,
    ) -> Result<MemberId, InputError> {
        self.side_mut().clock.set(now);
        self.check_ready()?;
        match &mut self.role {
            Role::Host(host) => Ok(host.join_guest(agent, now)?),
            Role::Member(_) => Err(host_only("let a guest in")),
        }
    }

    /// Host: judges the frame with which an agent would become a guest, before the agent
    /// [joins](Self::join_guest). Nothing changes. An agent that is in the session already is not judged.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use accp_runtime::profiles::ChatReq;
    /// # use accp_runtime::session::{Options, Outbound, Rules, Session, Time};
    /// # use accp_runtime::{AgentId, Registry};
    /// # let now = Time::from_secs(1_714_000_000);
    /// # let options = Options::new("lunch", AgentId::new("hub")?, Arc::new(Registry::standard()));
    /// # let mut host = Session::host(options, Rules::default(), now);
    /// let (diner, soup) = (AgentId::new("diner")?, Outbound::owned(ChatReq::new("soup?")));
    /// assert!(host.check_first_as(&diner, &soup, now).is_ok());
    /// let error = host.check_first_as(&diner, &soup.to("cook"), now).unwrap_err();
    /// assert_eq!(error.code().to_string(), "E2001", "no cook has joined");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`InputError::Join`] and [`InputError::Send`], as the agent and the frame would get them, and
    /// [`InputError::HostOnly`] on a member.
    pub fn check_first_as(
        &mut self,
        agent: &AgentId<'static>,
        outbound: &Outbound<'_>,
        now: Time,
    ) -> Result<(), InputError> {
        self.side_mut().clock.set(now);
        self.check_ready()?;
        match &mut self.role {
            Role::Host(host) => host.check_first_as(agent, outbound, now),
            Role::Member(_) => Err(host_only("judge a guest")),
        }
    }

    /// Host: a guest takes these requests from now on; see [`Input::Takes`](crate::Input::Takes).
    ///
    /// # Errors
    /// [`InputError::Send`] on a host that was rolled back, and on a member.
    pub fn takes_as(
        &mut self,
        member: MemberId,
        heads: &[String],
        now: Time,
    ) -> Result<(), InputError> {
        self.of_host(now)?.takes(member, heads, now);
        Ok(())
    }

    /// Host: notes that the agent of a member no longer lives in this process. The member stays in the session.
    pub fn end_guest(&mut self, member: MemberId) {
        if let Role::Host(host) = &mut self.role {
            host.end_guest(member);
        }
    }

    /// Host: returns the text that [`handled_as`](Self::handled_as) has kept last for a member; `None` on a
    /// member.
    pub fn inbox_of(&self, member: MemberId) -> Option<&str> {
        match &self.role {
            Role::Host(host) => host.guests.inbox(member),
            Role::Member(_) => None,
        }
    }

    /// Host: sends a frame of a guest, and returns its message id. The host judges the frame as any frame of
    /// a member, and accepts it at once. Long values leave the frame for cold state, under keys of the
    /// host, and their bytes are in the same batch.
    ///
    /// # Errors
    /// As [`SendError`] says; then nothing has changed. [`SendError::Denied`] has the error that a member would
    /// get. [`SendError::NotJoined`] when the member is not a guest, and on a member.
    pub fn send_as(
        &mut self,
        member: MemberId,
        outbound: &Outbound<'_>,
        now: Time,
    ) -> Result<Mid, SendError> {
        self.of_host(now)?.send_as(member, outbound, now)
    }

    /// Host: keeps how far a guest has handled the log, as one text, and sends the reply of the guest. The text
    /// replaces the last one; an empty text removes it. The text and the reply are in one batch, or neither is.
    /// Returns the message id of the reply. Returns `None` without a reply, or if the chain of the reply was
    /// cancelled meanwhile: then the reply is left out.
    ///
    /// # Errors
    /// As [`send_as`](Self::send_as); then the text is not kept.
    pub fn handled_as(
        &mut self,
        member: MemberId,
        inbox: &str,
        reply: Option<&Outbound<'_>>,
        now: Time,
    ) -> Result<Option<Mid>, SendError> {
        self.of_host(now)?.handled_as(member, inbox, reply, now)
    }

    /// Host: returns an entry of the log as a handler of this guest gets it; `None` if the entry is not for the
    /// guest. `again` says whether a handler may have had the entry before.
    pub fn inbound_for(&mut self, member: MemberId, entry: &Entry, again: bool) -> Option<Inbound> {
        match &mut self.role {
            Role::Host(host) => host.inbound_for(member, entry, again),
            Role::Member(_) => None,
        }
    }

    /// Returns whether the `ttl` of a frame is over at this time, so that no handler may get it (draft
    /// section 3.5).
    pub fn has_lapsed(&self, inbound: &Inbound, now: Time) -> bool {
        inbound.has_expired(self.options().skew, now)
    }

    /// Host: takes a frame that an agent left in its outbox when it still had a side of its own, before it became a
    /// guest. The frame goes the way of [`post`](Self::post), under the next number.
    ///
    /// # Errors
    /// [`InputError::HostOnly`] on a member.
    pub fn post_outgoing(
        &mut self,
        from: MemberId,
        frame: &Outgoing,
        now: Time,
    ) -> Result<Posted, InputError> {
        let sequence = match &self.role {
            Role::Host(host) => host.gate.numbers.next(host.side.state.scope, from),
            Role::Member(_) => return Err(host_only("take a frame outside of a link")),
        };
        let (head, mid, tail) = (&frame.head, &frame.mid, &frame.tail);
        let text = format!("{head}[mid:{mid},seq:{sequence}{tail}]");
        self.post(from, text.as_bytes(), now)
    }

    fn of_host(&mut self, now: Time) -> Result<&mut Host, SendError> {
        self.side_mut().clock.set(now);
        self.check_running()?;
        match &mut self.role {
            Role::Host(host) => Ok(host),
            Role::Member(_) => Err(SendError::NotJoined),
        }
    }
}
