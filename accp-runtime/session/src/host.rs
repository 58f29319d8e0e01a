//! The host of a session: it judges the frames, keeps the log, and relays the log to the members.
mod accept;
mod checkpoint;
mod draft;
mod guests;
mod lineage;
mod newcomer;
mod peer;
mod queue;
mod repeat;
mod schemas;
mod serve;
pub(crate) mod takers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Weak;

use accp_registry::ErrorCode;

use crate::delivery::cursor::Offer;
use crate::delivery::relay::Relays;
use crate::gate::Gate;
use crate::gate::content::{Checked, check};
use crate::gate::numbers::Numbers;
use crate::gate::transactions::Transactions;
use crate::host::checkpoint::CheckpointCauses;
use crate::host::guests::Guests;
use crate::host::lineage::Lost;
use crate::host::queue::Queue;
use crate::interface::event::Event;
use crate::interface::input::JoinError;
use crate::interface::outbound::SendError;
use crate::interface::output::{Cold, Read, Stored};
use crate::log::entry::Entry;
use crate::log::mid::{MemberId, Mid};
use crate::log::vouch::LogKey;
use crate::options::{Options, Rules};
use crate::send::encode::Composed;
use crate::side::Side;
use crate::side::fold::{RestoreError, with_kept};
use crate::state::effect::Effect;
use crate::state::seen::SeenSet;
use crate::wire::control::Control;
use crate::wire::link::Piece;
use crate::wire::refusal::Refusal;
use crate::wire::scan::Scanned;
use accp_context::CheckpointHooks;
use accp_context::Time;
use accp_frame::{AgentId, Envelope};

/// The host of a session.
pub(crate) struct Host {
    pub side: Side,
    pub rules: Rules,
    pub gate: Gate,
    pub relays: Relays,
    /// Members that want a value, by its key, while the store reads the value. Each member comes with the first byte
    /// that it wants.
    pub serving: BTreeMap<String, Vec<(MemberId, u64)>>,
    /// Members that want a value, by its key, while the host fetches the bytes. Each member comes with the first byte
    /// that it wants.
    pub awaiting: BTreeMap<String, BTreeMap<MemberId, u64>>,
    /// The newest fold that the host has offered to members, while at least one member still fetches it.
    pub offer: Option<Offer<Weak<[u8]>>>,
    /// Pieces that go out with the next batch.
    pub pieces: Vec<(MemberId, Piece)>,
    pub causes: CheckpointCauses,
    /// Members that wait for a number.
    pub queue: Queue,
    /// Positions of requests that the store reads, to hand them on.
    pub handing: BTreeSet<u64>,
    /// Whether a request that only the host takes waits until the host has handled others.
    pub lacks_room: bool,
    /// Members whose agents live in this process.
    pub guests: Guests,
    pub hooks: Box<dyn CheckpointHooks + Send>,
    /// The secret of the log.
    pub key: Option<LogKey>,
    /// The claim of a member that shows that this host was rolled back. Then the host stops until the
    /// caller decides how to go on.
    pub lost: Option<Box<Lost>>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host")
            .field("rules", &self.rules)
            .field("relays", &self.relays)
            .finish_non_exhaustive()
    }
}

impl Host {
    /// Opens a session.
    pub(crate) fn open(options: Options, rules: Rules, now: Time) -> Self {
        let side = Side::new(options, MemberId::HOST, 0, now);
        let key = rules.key.clone();
        let mut host = Self::of(side, rules, Gate::default(), key);
        host.side.hash = host.key.as_ref().map(LogKey::root);
        host.side.batch.get().key = host.key.clone();
        let counter = host.side.options.counter.as_deref();
        let open = Control::Open {
            agent: host.side.options.agent.to_string(),
            scope: host.rules.scope,
            tokenizer: counter.map(|counter| counter.name().into()),
        };
        host.control(open, now);
        host.announce_level(now);
        host.announce_schemas(now);
        host
    }

    fn of(side: Side, rules: Rules, gate: Gate, key: Option<LogKey>) -> Self {
        let relays = Relays::new(side.state.position, side.options.retry, key.clone());
        let (mut side, mut gate) = (side, gate);
        side.transfers.value_bytes = rules.values.bytes;
        gate.values = rules.values;
        gate.numbers.summary.take_if(|_| !rules.late_summaries);
        Self {
            side,
            rules,
            gate,
            relays,
            serving: BTreeMap::new(),
            awaiting: BTreeMap::new(),
            offer: None,
            pieces: Vec::new(),
            queue: Queue::default(),
            handing: BTreeSet::new(),
            lacks_room: false,
            guests: Guests::default(),
            causes: CheckpointCauses::default(),
            hooks: Box::new(()),
            key,
            lost: None,
        }
    }

    /// Restores a session from its store.
    pub(crate) fn restore(
        options: Options,
        rules: Rules,
        stored: &Stored,
        now: Time,
    ) -> Result<Self, RestoreError> {
        let mut host = Self::folded(options, rules, stored, now)?;
        host.guests = Guests::new(&stored.inboxes);
        host.lost = host.unsettled(stored.voucher).map(Box::new);
        // Members learn that their host has started again, and answer which position they hold.
        host.greet_all();
        host.restore_schemas(&stored.registries)?;
        if host.lost.is_none() {
            host.announce_schemas(now);
            host.hand_on(now);
        }
        Ok(host)
    }

    /// Folds the log of a session as its store has it, and sends nothing.
    pub(crate) fn folded(
        options: Options,
        rules: Rules,
        stored: &Stored,
        now: Time,
    ) -> Result<Self, RestoreError> {
        let mut side = Side::new(options, MemberId::HOST, stored.epoch, now);
        // The host commits its new epoch with its first change, because a caller that only reads
        // a session commits nothing.
        side.owes_epoch = side.batch.get().epoch.take().is_some();
        let mut gate = Gate::default();
        if let Some(snapshot) = &stored.snapshot {
            let beside = side.restore(snapshot)?;
            gate.numbers = serde_json::from_value::<Numbers>(beside.judge)
                .map_err(|error| RestoreError::new(snapshot.position, &error))?;
            gate.seen = SeenSet::from_ids(beside.ids);
        }
        gate.seen.add_stored(&stored.seen);
        let registry = with_kept(&side.options.registry, &stored.registries);
        for entry in &stored.entries {
            side.replay(entry, |state, frame, effect| {
                match effect {
                    Effect::Void(_) => gate.fold_part(entry, frame, &rules),
                    Effect::Control(control) => {
                        gate.fold_control(entry.sender, control, state, &rules);
                    }
                    Effect::Frame | Effect::State(_) => {}
                }
                gate.fold(&registry, entry, frame);
            })?;
        }
        gate.numbers.transactions.want_all();
        // The bytes of these values may have arrived since the snapshot, so the host reads the
        // store.
        for key in gate.numbers.missing.keys() {
            side.reads.push_back(Read::Cold { key: key.clone() });
        }
        let late = stored.entries.iter().filter(|entry| entry.is_due());
        for entry in stored.due.iter().chain(late) {
            side.redeliver(entry)?;
        }
        side.last_put = stored.last_put;
        Ok(Self::of(side, rules, gate, stored.key.clone()))
    }

    /// Lets an agent in, and returns the number of its member. An agent that is in the session
    /// already keeps its number.
    pub(crate) fn join(
        &mut self,
        agents: &[AgentId<'_>],
        supervisor: bool,
        now: Time,
    ) -> Result<MemberId, JoinError> {
        let member = self.place_of(agents)?;
        let agents: Vec<_> = agents.iter().map(AgentId::to_string).collect();
        let before = self.side.state.members.get(member);
        let is_in = self.side.state.is_in(member);
        let is_back = before.is_some() && !is_in;
        let is_news = !is_in
            || before.is_none_or(|party| party.agents != agents || party.supervisor != supervisor);
        if is_news {
            let join = Control::Join {
                member,
                agents,
                supervisor,
            };
            self.control(join, now);
            if !is_in {
                self.gate.numbers.joins(member);
            }
            self.hand_on(now);
        }
        if is_back {
            // The member does not know that it had left the session, so it may wait without sending
            // anything. The host greets it.
            self.relays.cursor(member).greeting = true;
        }
        Ok(member)
    }

    /// Returns the last position up to which every member has the log, so that the log may be
    /// discarded up to there. Only the reports of members since the start of this host count; 0
    /// while a report is missing. Guests have no log of their own.
    pub(crate) fn replicated(&self) -> u64 {
        let members = self.side.state.members();
        let others = members.filter(|(id, party)| {
            let is_linked = self.relays.cursors.get(*id).is_some();
            let is_guest = self.guests.is_open(*id) || self.guests.has(*id) && !is_linked;
            *id != MemberId::HOST && party.present && !is_guest
        });
        let held = others.map(|(id, _)| self.relays.held(id));
        held.min().unwrap_or(self.side.position)
    }

    /// Removes a member from the session.
    pub(crate) fn leave(&mut self, member: MemberId, now: Time) {
        if member != MemberId::HOST && self.side.state.members.get(member).is_some() {
            self.control(Control::Leave { member }, now);
            self.relays.disconnected(member);
            self.hand_on(now);
        }
    }

    /// Marks the link to a member as gone; the host sends nothing until a frame of the member arrives.
    pub(crate) fn disconnected(&mut self, member: MemberId) {
        self.relays.disconnected(member);
    }

    /// Allows references to a cold key of another session; `*` stands for all keys.
    pub(crate) fn grant(&mut self, session: &str, key: &str, now: Time) {
        let grant = Control::Grant {
            session: session.into(),
            key: key.into(),
        };
        self.control(grant, now);
    }

    /// Lets the bytes under these keys expire: references to them are E2002 from now on.
    pub(crate) fn expire(&mut self, keys: &[&str], now: Time) {
        let known = keys.iter().filter(|key| self.side.state.is_put(key));
        let keys: Vec<_> = known.map(|key| (*key).to_string()).collect();
        if !keys.is_empty() {
            self.forget_values(&keys);
            self.control(Control::Expire { keys }, now);
        }
    }

    /// Lets values expire at this side, and stops asking for their bytes.
    fn forget_values(&mut self, keys: &[String]) {
        self.side.batch.get().expired.extend(keys.iter().cloned());
        for key in keys {
            if let Some(missing) = self.gate.numbers.missing.remove(key) {
                self.side.transfers.forget(key, missing.from);
            }
        }
    }

    /// Announces the level of the session if it differs from the level in the log. A host that starts again waits
    /// for the next frame, because its log may be an old copy.
    pub(crate) fn announce_level(&mut self, now: Time) {
        let level = self.side.options.level();
        let logged = self.side.state.level.unwrap_or(3);
        if self.side.state.tokenizer.is_some() && level != logged {
            self.control(Control::Level { level }, now);
        }
    }

    /// Writes a control entry of the host.
    pub(crate) fn control(&mut self, control: Control, now: Time) {
        if let Err(error) = self.write_control(control, now) {
            self.side.emit(Event::NotWritten(error.to_string()));
        }
    }

    fn write_control(&mut self, control: Control, now: Time) -> Result<(), SendError> {
        let mid = self.side.next_control_mid()?;
        let envelope = Envelope::new(mid.to_string(), self.side.position).at(now.as_secs());
        let text = control.encode(&self.side.options.agent, envelope)?;
        let frame = Scanned::of_entry(&text)?;
        let effect = Effect::Control(control);
        self.append(MemberId::HOST, &frame, effect.into(), mid, 0, now);
        Ok(())
    }

    /// Returns whether every member that can be reached has all accepted frames, the host has the
    /// bytes of all values put, and nothing waits to be committed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.relays.is_quiet()
            && self.lost.is_none()
            && self.gate.numbers.missing.is_empty()
            && !self.side.batch.is_durable()
    }

    /// Returns the `seq` of the host's next frame.
    pub(crate) fn next_sequence(&self) -> u64 {
        let scope = self.side.state.scope;
        self.gate.numbers.next(scope, MemberId::HOST)
    }

    /// Returns the effects of these frames, which are sent together with values up to `last_put`.
    /// Fails if one of the frames would be refused.
    pub(crate) fn check<'c>(
        &self,
        frames: impl Iterator<Item = &'c Composed>,
        last_put: u64,
    ) -> Result<Vec<Checked>, SendError> {
        let mut all: Vec<Checked> = Vec::new();
        let mut transactions = BTreeSet::new();
        for composed in frames {
            let text = composed.text(&Mid::parse("100000000001"), 1, None);
            let frame = Scanned::new(&text, self.side.options.limits)?;
            let checked = check(
                &self.side,
                &self.gate,
                MemberId::HOST,
                &frame,
                Some((MemberId::HOST, last_put)),
            )?;
            let changes = |checked: &Checked| matches!(checked.effect, Effect::State(_));
            if changes(&checked) && all.iter().any(changes) {
                let expected = "one change of the shared state at a time";
                return Err(Refusal::new(ErrorCode::POLICY_DENIED, expected).into());
            }
            let registry = &self.side.options.registry;
            if let Some(key) = Transactions::key_of(registry, MemberId::HOST, &frame)
                && !transactions.insert(key)
            {
                let expected = "one request of a transaction at a time";
                return Err(Refusal::new(ErrorCode::POLICY_DENIED, expected).into());
            }
            all.push(checked);
        }
        Ok(all)
    }

    /// Accepts frames that were checked, and returns the id of the last.
    pub(crate) fn submit<'c>(
        &mut self,
        frames: impl Iterator<Item = (&'c Composed, Checked)>,
        now: Time,
    ) -> Result<Mid, SendError> {
        // All ids are made first, so that nothing has changed if there are too few.
        let frames = frames.map(|frame| Ok((frame, self.next_mid()?)));
        let frames: Vec<_> = frames.collect::<Result<_, SendError>>()?;
        let mut last = None;
        for ((composed, checked), mid) in frames {
            let sequence = self.next_sequence();
            let text = composed.text(&mid, sequence, None);
            let frame = Scanned::of_entry(&text)?;
            self.enter(MemberId::HOST, &frame, checked, mid.clone(), sequence, now);
            last = Some(mid);
        }
        self.take_due_checkpoint(now);
        last.ok_or(SendError::NotJoined)
    }

    fn next_mid(&mut self) -> Result<Mid, SendError> {
        let mut mid = self.side.next_mid()?;
        // A member may have used this id, although the id is in the host's own range.
        while self.gate.seen.get(&mid).is_some() {
            mid = self.side.next_mid()?;
        }
        Ok(mid)
    }

    /// Puts everything that goes out now into the batch.
    pub(crate) fn flush(&mut self, now: Time) {
        self.hand_on_to_itself(now);
        for (member, mid, at) in self.relays.take_acks(self.side.clock.timers()) {
            let up = self.relays.last();
            let text = self.side.stamp(now).ack(Some((&mid, at, up)));
            self.side.send(member, text);
        }
        for member in self.relays.take_greetings(self.side.clock.timers()) {
            self.greet(member, None, now);
        }
        for (member, piece) in std::mem::take(&mut self.pieces) {
            self.send_piece(member, &piece, now);
        }
        let (sends, reads) = self.relays.take_due(self.side.clock.timers());
        if !sends.is_empty() {
            self.side.batch.get().sends.extend(sends);
        }
        self.side.reads.extend(reads);
        self.flush_draft(now);
        self.want_answers();
        self.want_summary();
        self.side
            .snapshot(&self.gate.numbers, || self.gate.seen.to_ids());
    }

    pub(crate) fn rest(&mut self) {
        // If nobody holds the fold any more, the weak reference goes, too, because it would keep
        // the memory.
        self.offer.take_if(|fold| fold.bytes.strong_count() == 0);
        self.relays.rest();
        self.side.rest(!self.guests.is_empty());
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let turn = self.queue.ends().filter(|_| self.has_turns_of_guests());
        self.relays.next_timeout().into_iter().chain(turn).min()
    }

    pub(crate) fn timeout(&mut self) {
        self.relays.timeout(self.side.clock.timers());
        if self.has_turns_of_guests() {
            self.call_next(self.side.clock.now);
        }
    }

    /// Takes entries of the log that the store read for members that lag behind.
    pub(crate) fn entries(&mut self, from: u64, entries: &[Entry], now: Time) {
        self.answer_frame(from, entries);
        let (sends, behind) = self.relays.supply(from, entries);
        for member in behind {
            self.restart_member(member, now);
        }
        if !sends.is_empty() {
            self.side.batch.get().sends.extend(sends);
        }
    }

    /// Notes that a value has come, and is damaged in the store. Those who wait for it do not get it.
    pub(crate) fn damaged(&mut self, key: &str, now: Time) {
        if let Some(missing) = self.gate.numbers.missing.remove(key) {
            self.side.transfers.forget(key, missing.from);
        }
        self.cold(key, None, now);
    }

    /// Takes a value that the store read.
    pub(crate) fn cold(&mut self, key: &str, cold: Option<Cold>, now: Time) {
        self.draft_value(key, cold.as_ref());
        let numbers = &mut self.gate.numbers;
        if let Some(cold) = cold.filter(|cold| cold.bytes.is_some()) {
            if let Some(missing) = numbers.missing.remove(key) {
                self.side.transfers.forget(key, missing.from);
            }
            self.answer_wants(&cold, now);
            return;
        }
        // The host does not have the bytes yet. It sends them to the waiting members when they
        // arrive. If they never arrive, the members ask again.
        let waiting = self.waiting_for(key);
        let missing = &self.gate.numbers.missing;
        self.awaiting.retain(|key, _| missing.contains_key(key));
        if let Some(missing) = missing.get(key) {
            let announced = Some((missing.digest, missing.length));
            self.side.transfers.want(key, missing.from, announced);
            self.awaiting.entry(key.into()).or_default().extend(waiting);
        }
    }
}
