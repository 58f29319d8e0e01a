//! Sessions that lose nothing (draft sections 3.5 to 3.7, 5 and 6.4): delivery, context
//! state, checkpoints and budgets, without IO.
//!
//! # Host and members
//!
//! Each session has one *host*, and the others are *members*. Only the host judges: it
//! checks each frame, gives the accepted ones their position in the log, and relays the log.
//! A member's frames are proposals that wait in its outbox until the host acknowledges them;
//! what the host relays it copies. What a side knows of the session, its [`State`], is a
//! fold of the log and of nothing else, so that replicas cannot disagree.
//!
//! # The contract
//!
//! A [`Session`] has no clock, no socket, no disk and no random source. Whoever drives it
//!
//! - hands in what arrives: `receive`, and the results of reads
//!   ([`Session::supply_entries`], [`Session::supply_cold`]);
//! - hands in what is wanted: [`Session::send`], [`Session::handled`], on a host `join`,
//!   `leave`, `grant`, `expire`;
//! - hands in the time: with each of these, and [`Session::handle_timeout`] once
//!   [`Session::next_timeout`] has come. Time may stand still but must not run backwards by
//!   more than the host's skew;
//! - takes out, after any of these, [`Session::poll_batch`] until there is none, and carries
//!   each batch out as [`Batch`] says: commit, then send and deliver. Inputs may be
//!   collected before the batch is taken, so that they are committed together;
//! - takes out [`Session::poll_read`] and [`Session::poll_event`] likewise.
//!
//! A crash at any instant loses nothing that was acknowledged: the session is restored from
//! what was committed ([`Session::restore_host`], [`Session::restore_member`]), frames that
//! were not marked handled are delivered again, and frames whose fate is unknown go out
//! again under their own message id, so that they can be accepted once only.
//!
//! ```
//! use std::sync::Arc;
//!
//! use accp_runtime::profiles::ScheduleReq;
//! use accp_runtime::session::{Options, Outbound, Rules, Session, Time};
//! use accp_runtime::{AgentId, Registry};
//!
//! let now = Time::from_secs(1_714_000_000);
//! let registry = Arc::new(Registry::standard());
//! let options = |agent| Ok::<_, accp_runtime::EncodeError>(Options::new(
//!     "lunch", AgentId::new(agent)?, Arc::clone(&registry)));
//! let mut host = Session::host(options("planner")?, Rules::default(), now);
//! let mut member = Session::member(options("dev")?);
//! let dev = host.join(&AgentId::new("dev")?, now)?;
//!
//! let task = ScheduleReq {
//!     assignee: AgentId::new("dev")?,
//!     task: "impl_auth".into(),
//!     priority: "high".into(),
//!     deadline: None,
//!     deps: vec![],
//!     status: None,
//!     progress: None,
//! };
//!
//! // A link that loses nothing, and a store that keeps nothing.
//! let mut tasks = Vec::new();
//! for round in 0..8 {
//!     if round == 4 {
//!         host.send(&Outbound::frame(&task), now)?; // the member has joined by now
//!     }
//!     while let Some(batch) = host.poll_batch(now) {
//!         for send in batch.sends {
//!             assert_eq!(send.to, dev);
//!             member.receive(send.text.as_bytes(), now);
//!         }
//!     }
//!     while let Some(batch) = member.poll_batch(now) {
//!         for send in batch.sends {
//!             host.receive(dev, send.text.as_bytes(), now);
//!         }
//!         for inbound in batch.inbound {
//!             let request = inbound.decode::<ScheduleReq>()?;
//!             tasks.push(request.frame.task.to_string());
//!             member.handled(inbound.position(), &[], now)?;
//!         }
//!     }
//! }
//! assert_eq!(tasks, ["impl_auth"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod delivery;
mod event;
mod gate;
mod handler;
mod host;
mod log;
mod member;
mod options;
mod output;
mod refs;
mod role;
mod send;
mod side;
#[cfg(feature = "testing")]
pub mod testing;
mod wire;

pub use accp_context::{
    Checkpoint, CheckpointHooks, Checkpointer, ContextLimits, Digest, Fact, Frozen, Headers, Hot,
    Kept, Paying, Shown, Summarizer, Time, TokenBudget, Trigger, Turn, Used, Verdict, Warm,
    render_context,
};
pub use delivery::groups::{GroupLimits, Groups, Progress};
pub use delivery::parts::{Part, Split, join, split};
pub use event::Event;
pub use handler::cancel::{CancelToken, Cancelled};
pub use handler::inbound::Inbound;
pub use handler::router::Router;
pub use handler::stream::{Chunk, Ended, StreamLimits, Streams};
pub use host::{Host, JoinError};
pub use log::mid::{MemberId, Mid};
pub use log::shared::{SharedState, StateError, StateUpdate};
pub use log::state::{Party, State};
pub use member::Member;
pub use options::{Options, Rules, Scope};
pub use output::{
    Batch, Cold, Entry, EntryKind, OutboxChange, Outgoing, Read, Seen, Snapshot, Stored, Transmit,
};
pub use refs::locate::{Located, ReadError};
pub use refs::reference::{ColdKey, Reference, Target, Walk, read_value, references};
pub use role::Role;
pub use send::codec::{Codec, EncodedFrames};
pub use send::outbound::{Outbound, SendError};
pub use side::RestoreError;
pub use wire::link::PeerError;

use accp_context::view_context;
use role::Frames;
use send::encode::Encoded;
use side::Side;

/// One side of a session: `Session<Host>` or `Session<Member>`. The module's documentation
/// has the contract.
#[derive(Debug)]
pub struct Session<R> {
    side: Side,
    role: R,
}

impl<R: Role> Session<R> {
    /// The name of the session.
    pub fn id(&self) -> &str {
        &self.side.options.session
    }

    /// What this side was told at its start.
    pub fn options(&self) -> &Options {
        &self.side.options
    }

    /// The member that this side is; before a member has joined it means nothing.
    pub fn me(&self) -> MemberId {
        self.side.me()
    }

    /// What the log folds to on this side.
    pub fn state(&self) -> &State {
        &self.side.state
    }

    /// What a model is to read, as a [view](accp_context::view): the primer, the checkpoints, each with
    /// where its frames are, then what was said since.
    ///
    /// Between checkpoints it only grows at its end. The budgets are about the frames
    /// ([`render_context`]), which take more tokens as a rule.
    pub fn context(&self) -> String {
        let state = self.state();
        view_context(&self.side.options.registry, state.warm(), state.hot())
    }

    /// What the context takes of its budget (`GetBudget`, draft section 7.1); nothing, where
    /// nothing is counted.
    pub fn budget(&self) -> TokenBudget {
        let state = self.state();
        TokenBudget::of(state.hot(), state.warm(), &self.side.options.context)
    }

    /// The conformance level of the draft (section 8) that the session keeps to: 3, or 1 when
    /// its host counts no tokens, because then there are no checkpoints and no budgets.
    pub fn level(&self) -> u8 {
        if self.state().tokenizer().is_some() {
            3
        } else {
            1
        }
    }

    /// The last position of the log on this side.
    pub fn position(&self) -> u64 {
        self.side.position
    }

    /// The positions of the frames that were delivered and not yet handled.
    pub fn due(&self) -> impl Iterator<Item = u64> {
        self.side.due()
    }

    /// Sends a frame, and gives the id it goes by. A host's frame is accepted at once; a
    /// member's waits in the outbox until its fate is known.
    ///
    /// # Errors
    /// As [`SendError`] says; nothing is changed then.
    pub fn send(&mut self, outbound: &Outbound<'_>, now: Time) -> Result<Mid, SendError> {
        let encoded = self.encode_all(std::slice::from_ref(outbound), now)?;
        self.submit(encoded, now)
    }

    /// Marks a delivered frame handled and sends the replies to it: both are kept, or
    /// neither. A reply in a chain that was cancelled meanwhile is left out.
    ///
    /// # Errors
    /// As [`SendError`] says, of the first reply that cannot be sent; then the frame is not
    /// marked. A frame that does not wait is [`SendError::NotDue`].
    pub fn handled(
        &mut self,
        position: u64,
        replies: &[Outbound<'_>],
        now: Time,
    ) -> Result<(), SendError> {
        if !self.side.waits(position) {
            return Err(SendError::NotDue(position));
        }
        let wanted = |reply: &&Outbound<'_>| !self.side.is_cancelled(reply);
        let replies: Vec<_> = replies.iter().filter(wanted).cloned().collect();
        let encoded = self.encode_all(&replies, now)?;
        if !encoded.is_empty() {
            self.submit(encoded, now)?;
        }
        self.side.mark_handled(position);
        Ok(())
    }

    fn encode_all(&self, outbound: &[Outbound<'_>], now: Time) -> Result<Vec<Encoded>, SendError> {
        let mut all = Vec::new();
        for outbound in outbound {
            let last = Side::last_put_of(&all, self.side.last_put);
            let parts = R::takes_parts(self);
            all.push(self.side.encode(outbound, last, parts, now)?);
        }
        Ok(all)
    }

    fn submit(&mut self, encoded: Vec<Encoded>, now: Time) -> Result<Mid, SendError> {
        let mut frames = Frames {
            frames: Vec::new(),
            last_put: Side::last_put_of(&encoded, self.side.last_put),
        };
        for encoded in &encoded {
            frames.frames.extend(encoded.frames.iter().cloned());
        }
        R::check(self, &frames)?;
        if frames.last_put > self.side.last_put {
            self.side.last_put = frames.last_put;
            self.side.batch.get().last_put = Some(frames.last_put);
        }
        let mut over = Vec::new();
        for encoded in encoded {
            self.side.batch.get().cold.extend(encoded.values);
            over.extend(encoded.over_soft);
        }
        let mid = R::submit(self, frames, now)?;
        for (part, tokens, limit) in over {
            let mid = mid.clone();
            self.side.events.push_back(Event::OverSoftLimit {
                mid,
                part,
                tokens,
                limit,
            });
        }
        Ok(mid)
    }

    /// What is to be committed and then sent and delivered, if anything.
    pub fn poll_batch(&mut self, now: Time) -> Option<Batch> {
        R::flush(self, now);
        self.side.ask(now);
        let batch = self.side.batch.take();
        if batch.is_none() {
            self.side.rest();
            R::rest(self);
        }
        batch
    }

    /// What is to be read from the store, if anything.
    pub fn poll_read(&mut self) -> Option<Read> {
        self.side.reads.pop_front()
    }

    /// What happened, if anything.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.side.events.pop_front()
    }

    /// Answers [`Read::Entries`] with what the log has there.
    pub fn supply_entries(&mut self, from: u64, entries: &[Entry]) {
        R::entries(self, from, entries);
    }

    /// Answers [`Read::Cold`]; `None` when the key is not known or its bytes are not here.
    pub fn supply_cold(&mut self, key: &str, cold: Option<Cold>, now: Time) {
        R::cold(self, key, cold, now);
    }

    /// When [`Session::handle_timeout`] is due; `None` while there is nothing to wait for.
    pub fn next_timeout(&self) -> Option<Time> {
        let transfers = self.side.transfers.next_timeout();
        [R::next_timeout(self), transfers]
            .into_iter()
            .flatten()
            .min()
    }

    /// Lets time pass.
    pub fn handle_timeout(&mut self, now: Time) {
        R::timeout(self, now);
        self.side.transfers.timeout(now);
    }
}
