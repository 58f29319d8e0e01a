//! One side of a session.

pub(crate) mod codec;
mod guests;
pub(crate) mod resolve;
mod shorthands;
mod summaries;

use accp_context::{TokenBudget, view_context};
use accp_registry::Change;

use crate::host::Host;
use crate::interface::event::Event;
use crate::interface::input::{Answer, Input, InputError};
use crate::interface::outbound::SendError;
use crate::interface::output::{Output, Stored};
use crate::log::mid::{MemberId, Mid};
use crate::member::Member;
use crate::options::{Options, Rules};
use crate::send::encode::{Encoded, Peer, last_put_of};
use crate::side::Side;
use crate::side::fold::RestoreError;
use crate::state::State;
use crate::state::chain::Waiting;
use accp_context::Time;

/// One side of a session: the host or a member. The documentation of the crate has the contract.
#[derive(Debug)]
pub struct Session {
    role: Role,
}

#[derive(Debug)]
enum Role {
    Host(Box<Host>),
    Member(Box<Member>),
}

impl Session {
    /// Opens a session as its host.
    pub fn host(options: Options, rules: Rules, now: Time) -> Self {
        Self::of(Role::Host(Box::new(Host::open(options, rules, now))))
    }

    /// Joins a session as a member.
    pub fn member(options: Options, now: Time) -> Self {
        Self::of(Role::Member(Box::new(Member::open(options, now))))
    }

    /// Restores the host of a session from its store.
    ///
    /// # Errors
    /// When the stored data cannot be read.
    pub fn restore_host(
        options: Options,
        rules: Rules,
        stored: &Stored,
        now: Time,
    ) -> Result<Self, RestoreError> {
        let host = Host::restore(options, rules, stored, now)?;
        Ok(Self::of(Role::Host(Box::new(host))))
    }

    /// Restores a member of a session from its store.
    ///
    /// # Errors
    /// When the stored data cannot be read.
    pub fn restore_member(
        options: Options,
        stored: &Stored,
        now: Time,
    ) -> Result<Self, RestoreError> {
        let member = Member::restore(options, stored, now)?;
        Ok(Self::of(Role::Member(Box::new(member))))
    }

    fn of(role: Role) -> Self {
        Self { role }
    }

    /// Takes an input at this time.
    ///
    /// # Errors
    /// As [`InputError`] says; then nothing has changed.
    pub fn handle(&mut self, input: Input<'_>, now: Time) -> Result<Answer, InputError> {
        self.side_mut().clock.set(now);
        if matches!(
            input,
            Input::Leave(_)
                | Input::Takes(_)
                | Input::Grant { .. }
                | Input::Expire(_)
                | Input::Register(_)
                | Input::Phase
        ) {
            self.check_ready()?;
        }
        match (&mut self.role, input) {
            (_, Input::Frame { from, bytes }) => self.receive(from, bytes, now),
            (_, Input::Send(outbound)) => return Ok(Answer::Sent(self.send(outbound, now)?)),
            (_, Input::Handled { position, replies }) => self.handled(position, replies, now)?,
            (_, Input::Join { agents, supervisor }) => {
                return Ok(Answer::Joined(self.join_as(agents, supervisor, now)?));
            }
            (Role::Host(_), Input::Connected(_) | Input::Fetch { .. }) => {}
            (Role::Member(member), Input::Connected(_)) => member.connected(),
            (Role::Host(host), Input::Disconnected(member)) => host.disconnected(member),
            (Role::Member(_), Input::Disconnected(_)) => {}
            (Role::Host(host), Input::Ping(member)) => host.ping(member, now),
            (Role::Member(_), Input::Ping(_)) => return Err(host_only("ping a member")),
            (Role::Member(member), Input::Fetch { key, announced }) => member.fetch(key, announced),
            (Role::Host(host), Input::Entries { from, entries }) => {
                host.entries(from, entries, now);
            }
            (Role::Member(member), Input::Entries { from, entries }) => {
                member.entries(from, entries, now);
            }
            (Role::Host(host), Input::Entry { at, entry }) => {
                host.repeat_answer(at, entry.as_ref(), now);
                host.hand_on_read(at, entry.as_ref(), now);
                host.answer_claims(at, entry, now);
            }
            (Role::Member(_), Input::Entry { .. }) => {}
            (Role::Host(host), Input::Cold { key, value }) => host.cold(key, value, now),
            (Role::Member(member), Input::Cold { key, value }) => member.cold(key, value, now),
            (Role::Host(host), Input::DamagedCold { key }) => host.damaged(key, now),
            (Role::Member(member), Input::DamagedCold { key }) => member.cold(key, None, now),
            (_, Input::Timeout) => self.timeout(),
            (Role::Host(host), Input::Leave(member)) => host.leave(member, now),
            (Role::Host(host), Input::Takes(heads)) => host.takes(MemberId::HOST, heads, now),
            (Role::Member(member), Input::Takes(heads)) => member.say_takes(heads),
            (Role::Member(member), Input::Bye) => member.say_bye(),
            (Role::Host(_), Input::Bye) => {}
            (Role::Host(host), Input::Grant { session, key }) => host.grant(session, key, now),
            (Role::Host(host), Input::Expire(keys)) => host.expire(keys, now),
            (Role::Host(host), Input::Register(schema)) => host.register_schema(*schema, now)?,
            (Role::Host(host), Input::Phase) => {
                let checkpoint = host.phase_boundary(now);
                return Ok(Answer::Checkpoint(checkpoint.map(Box::new)));
            }
            (Role::Host(host), Input::Hooks(hooks)) => host.hooks = hooks.0,
            (
                Role::Host(host),
                Input::Summary {
                    checkpoint,
                    text,
                    values,
                },
            ) => host.supply_summary(checkpoint, text, values)?,
            (Role::Host(host), Input::Recover) => host.recover()?,
            (Role::Host(host), Input::Fork(key)) => host.fork(key, now),
            (Role::Member(_), Input::Recover | Input::Fork(_)) => {
                return Err(host_only("decide about the log"));
            }
            (Role::Member(_), Input::Leave(_)) => return Err(host_only("remove a member")),
            (Role::Member(_), Input::Grant { .. }) => return Err(host_only("grant a key")),
            (Role::Member(_), Input::Expire(_)) => return Err(host_only("let bytes expire")),
            (Role::Member(_), Input::Register(_)) => return Err(host_only("register a schema")),
            (Role::Member(_), Input::Phase) => return Err(host_only("take a checkpoint")),
            (Role::Member(_), Input::Summary { .. }) => return Err(host_only("take a summary")),
            (Role::Member(_), Input::Hooks(_)) => return Err(host_only("set checkpoint hooks")),
        }
        Ok(Answer::Done)
    }

    /// Returns the next output to carry out, or `None` when there is nothing to do until the next
    /// input.
    ///
    /// A batch covers all inputs since the last batch, so several inputs can be committed together.
    pub fn poll(&mut self) -> Option<Output> {
        let now = self.now();
        match &mut self.role {
            Role::Host(host) => host.flush(now),
            Role::Member(member) => member.flush(now),
        }
        let is_host = self.is_host();
        let side = self.side_mut();
        side.ask(now);
        if let Some(mut batch) = side.batch.take() {
            batch.host = is_host;
            return Some(Output::Batch(batch));
        }
        if let Some(read) = side.reads.pop_front() {
            return Some(Output::Read(read));
        }
        match &mut self.role {
            Role::Host(host) => host.rest(),
            Role::Member(member) => member.rest(),
        }
        None
    }

    /// Returns when [`Input::Timeout`] is due, or `None` while there is nothing to wait for.
    pub fn next_timeout(&self) -> Option<Time> {
        let role = match &self.role {
            Role::Host(host) => host.next_timeout(),
            Role::Member(member) => member.next_timeout(),
        };
        let side = self.side();
        let transfers = side.transfers.next_timeout();
        let next = [role, transfers].into_iter().flatten().min()?;
        Some(side.clock.of_caller(next))
    }

    fn timeout(&mut self) {
        match &mut self.role {
            Role::Host(host) => host.timeout(),
            Role::Member(member) => member.timeout(),
        }
        let side = self.side_mut();
        let now = side.clock.now;
        for key in side.transfers.timeout(side.clock.timers()) {
            let is_fold = match &mut self.role {
                Role::Host(host) => {
                    host.gone(&key, now);
                    false
                }
                Role::Member(member) => member.asks_anew(&key),
            };
            if !is_fold {
                self.side_mut().emit(Event::Unavailable(key));
            }
        }
    }

    /// Returns whether this side is the host.
    pub fn is_host(&self) -> bool {
        matches!(self.role, Role::Host(_))
    }

    /// Returns the time of the last input.
    pub fn now(&self) -> Time {
        self.side().clock.now
    }

    /// Returns the name of the session.
    pub fn id(&self) -> &str {
        &self.side().options.session
    }

    /// Returns the options of this side, with the schemas that it knows now.
    pub fn options(&self) -> &Options {
        &self.side().options
    }

    /// Returns the number of this side. On a member it means nothing before the member has joined.
    pub fn me(&self) -> MemberId {
        self.side().me()
    }

    /// Returns whether the host has let this side in, in this run or in an earlier one. Always true on a host.
    pub fn has_joined(&self) -> bool {
        match &self.role {
            Role::Host(_) => true,
            Role::Member(member) => member.joined,
        }
    }

    /// Returns whether this side is still fetching the schemas of the session. After that, it has them
    /// ([`Event::Schemas`]), or goes on with its own ([`Event::SchemasUnavailable`]).
    pub fn awaits_schemas(&self) -> bool {
        match &self.role {
            Role::Host(_) => false,
            Role::Member(member) => member.learning.is_some(),
        }
    }

    /// Returns the state that the log folds to on this side.
    pub fn state(&self) -> &State {
        &self.side().state
    }

    /// Returns the context for a model, as a [view](accp_context::view): the primer, then each checkpoint with the
    /// positions of its frames, then the later frames.
    ///
    /// Between checkpoints the view only grows at its end. The budgets do not count the tokens of this view. They
    /// count those of the frames themselves, which are usually more
    /// ([`render_context`](accp_context::render_context)). The view is empty if the session has no token counter.
    pub fn context(&self) -> String {
        let state = self.state();
        view_context(&self.options().registry, state.warm(), state.hot())
    }

    /// Returns how much of its budget the context takes (`GetBudget`, draft section 7.1): nothing if the session has
    /// no token counter.
    pub fn budget(&self) -> TokenBudget {
        let state = self.state();
        TokenBudget::of(state.hot(), state.warm(), &self.options().context)
    }

    /// Returns the conformance level of the draft (section 8) that the session keeps to, as its log
    /// says ([`State::level`]). A member that has not joined claims level 1.
    pub fn level(&self) -> u8 {
        self.state().level()
    }

    /// Returns the position up to which a member holds the log, if this host was rolled back and the caller has not
    /// decided how to go on; see [`Event::RolledBack`]. Until the caller decides, the host takes and sends nothing.
    pub fn rolled_back(&self) -> Option<u64> {
        match self.check_running() {
            Err(SendError::Stopped(position)) => Some(position),
            _ => None,
        }
    }

    /// Returns the last position of the log on this side.
    pub fn position(&self) -> u64 {
        self.side().position
    }

    /// Returns the last position of the log that this side knows of. On a host, this is the end of the log. On a
    /// member, it is the last position that the host has named; if the member does not hold it yet, it is catching
    /// up.
    pub fn known(&self) -> u64 {
        match &self.role {
            Role::Host(_) => self.position(),
            Role::Member(member) => member.log_end.max(self.position()),
        }
    }

    /// Returns whether this side has the log as far as its host had it when it answered the last hello. After a new
    /// link, requests that were given to this side may belong to another member by now, until this returns true.
    /// Always true on a host.
    pub fn is_up_to_date(&self) -> bool {
        match &self.role {
            Role::Host(_) => true,
            Role::Member(member) => member.is_up_to_date(),
        }
    }

    /// Returns whether a request of another agent waits for a taker, and this member has not said what it takes
    /// ([`Input::Takes`]).
    pub fn is_asked_what_takes(&self, member: MemberId) -> bool {
        let state = self.state();
        let party = state.members.get(member);
        let is_silent = party.is_some_and(|party| party.takes.is_none());
        let waits = is_silent && state.chains.open_of(MemberId::NOBODY) > 0;
        let is_open = |one: Waiting| one.to == MemberId::NOBODY && one.by != member;
        waits && state.chains.waiting().any(is_open)
    }

    /// Returns the differences between the schemas of a member and those of this host that break a reader: at most
    /// 16 changes, from the last [`Event::SchemasDiffer`] about the member. Empty if there are none, if the member
    /// speaks only HTTP, and on the side of a member.
    pub fn schema_clashes(&self, member: MemberId) -> &[Change] {
        let Role::Host(host) = &self.role else {
            return &[];
        };
        let cursor = host.relays.cursors.get(member);
        let clashes = cursor.and_then(|cursor| cursor.clashes.as_deref());
        clashes.unwrap_or_default()
    }

    /// Returns whether the frame at this position was delivered and is not yet handled.
    pub fn waits(&self, position: u64) -> bool {
        self.side().waits(position)
    }

    /// Returns whether nothing is under way. On a host: every member that can be reached has all
    /// accepted frames, and the host has the bytes of all values put. On a member: the host has
    /// acknowledged every frame sent.
    pub fn is_quiet(&self) -> bool {
        match &self.role {
            Role::Host(host) => host.is_quiet(),
            Role::Member(member) => member.is_quiet(),
        }
    }

    /// Returns how many frames wait to be acknowledged; always 0 on a host.
    pub fn outbox_len(&self) -> usize {
        match &self.role {
            Role::Host(_) => 0,
            Role::Member(member) => member.outbox.len(),
        }
    }

    /// Returns the last position up to which the log may be discarded. On a host, this is the position that every
    /// member has acknowledged since the start of the host; 0 while a member has acknowledged nothing. On a member,
    /// it is the end of the log.
    pub fn replicated(&self) -> u64 {
        match &self.role {
            Role::Host(host) => host.replicated(),
            Role::Member(_) => self.position(),
        }
    }

    pub(crate) fn side(&self) -> &Side {
        match &self.role {
            Role::Host(host) => &host.side,
            Role::Member(member) => &member.side,
        }
    }

    fn side_mut(&mut self) -> &mut Side {
        match &mut self.role {
            Role::Host(host) => &mut host.side,
            Role::Member(member) => &mut member.side,
        }
    }

    /// Returns the `seq` that the next frame of this side is expected to have.
    pub(crate) fn next_sequence(&self) -> u64 {
        match &self.role {
            Role::Host(host) => host.next_sequence(),
            Role::Member(member) => member.next_sequence(),
        }
    }

    /// Returns the forms in which the other side can take a message that is too large for one frame.
    pub(crate) fn peer(&self) -> Peer {
        match &self.role {
            Role::Member(member) => member.takes(),
            // A host logs its frames as they are; values that are too large go by reference.
            Role::Host(_) => Peer::References,
        }
    }

    /// Fails on a host that was rolled back.
    fn check_running(&self) -> Result<(), SendError> {
        match &self.role {
            Role::Host(host) => host.check_running(),
            Role::Member(_) => Ok(()),
        }
    }

    /// Fails on a host that was rolled back, and on a side without ids for further entries.
    fn check_ready(&self) -> Result<(), SendError> {
        self.check_running()?;
        self.side().check_ids()
    }

    fn submit(&mut self, encoded: Vec<Encoded>, are_replies: bool) -> Result<Mid, SendError> {
        self.side().check_ids()?;
        let now = self.now();
        let last_put = last_put_of(&encoded, self.side().last_put);
        let frames = encoded.iter().flat_map(|encoded| &encoded.frames);
        let mid = match &mut self.role {
            Role::Host(host) => {
                let effects = host.check(frames.clone(), last_put)?;
                host.submit(frames.zip(effects), now)?
            }
            Role::Member(member) => {
                let has_values = encoded.iter().any(|encoded| !encoded.values.is_empty());
                member.check(frames.clone().count(), has_values, are_replies)?;
                member.submit(frames)?
            }
        };
        self.side_mut().keep(encoded, last_put, &mid);
        Ok(mid)
    }
}

#[cold]
fn host_only(input: &'static str) -> InputError {
    InputError::HostOnly(input)
}
