//! Compares the log of a host with those of its members, to find out whether the host has lost entries, or a member
//! follows another log.

use accp_registry::{ErrorCode, Hash};

use super::Host;
use crate::delivery::transfer::log_key_of;
use crate::interface::event::Event;
use crate::interface::input::InputError;
use crate::interface::outbound::SendError;
use crate::interface::output::Read;
use crate::log::entry::{Entry, EntryKind};
use crate::log::mid::MemberId;
use crate::log::vouch::{LogKey, Voucher};
use crate::options::Scope;
use crate::side::ALL_SCHEMAS;
use crate::state::effect::Effect;
use crate::wire::control::{self, Control};
use crate::wire::link::Hello;
use crate::wire::refusal::Refusal;
use crate::wire::relay::Relay;
use crate::wire::relayed::Relayed;
use crate::wire::scan::Scanned;
use accp_context::Time;

/// The number of false claims in a row after which the host removes a member. The link may have damaged one claim.
const DOUBTS: u8 = 3;

/// The evidence that this host was rolled back.
#[derive(Debug)]
pub(crate) struct Lost {
    /// The voucher of this host for a log that it does not have.
    claim: Voucher,
    /// The member that has sent the voucher to the host since the start of the host.
    from: Option<MemberId>,
    /// The entries that the member has sent so far.
    taken: Vec<Relayed>,
}

impl Host {
    /// Fails if this host has stopped because it was rolled back.
    pub(crate) fn check_running(&self) -> Result<(), SendError> {
        match &self.lost {
            Some(lost) => Err(SendError::Stopped(lost.claim.position)),
            None => Ok(()),
        }
    }

    /// Returns the evidence that stopped an earlier run, unless the caller has decided since how to go on.
    pub(crate) fn unsettled(&self, claim: Option<Voucher>) -> Option<Lost> {
        let claim =
            claim.filter(|claim| self.key.as_ref().is_some_and(|key| key.vouched(claim)))?;
        Some(Lost {
            claim,
            from: None,
            taken: Vec::new(),
        })
    }

    /// Vouches for the log up to a position, where the log has this hash.
    pub(crate) fn vouch(&self, position: u64, hash: Option<Hash>) -> Option<Voucher> {
        Some(self.key.as_ref()?.vouch(position, hash?))
    }

    /// Takes the hello of a member. The host answers once it knows that the member holds the log of this host, or the
    /// beginning of this log.
    pub(crate) fn hello(&mut self, member: MemberId, hello: &Hello, now: Time) {
        let (last, claim) = (self.relays.last(), hello.voucher);
        // The state of a member may be ahead of its log, because the member started from a fold. So
        // the position in its claim counts.
        let held = claim.map_or_else(|| self.held(member, hello), |claim| claim.position);
        if let Some(claim) = claim.filter(|_| self.key.is_some() && held > last) {
            return self.contradicted(member, claim, now);
        }
        let is_vouched = self.key.is_some() && self.relays.cursor(member).is_vouched();
        let known = if held == last {
            self.side.hash
        } else {
            self.relays.hash_at(held)
        };
        let known = known.filter(|_| is_vouched);
        if known.is_some() || !is_vouched {
            return self.compare(member, hello, (held, known), now);
        }
        self.relays.cursor(member).claim = Some(Box::new((held, hello.clone())));
        self.side.reads.push_back(Read::Entry { at: held });
    }

    /// Returns the position after which a member gets the log.
    fn held(&self, member: MemberId, hello: &Hello) -> u64 {
        let held = match hello.position {
            0 => self.joined(member).unwrap_or_default(),
            held => held,
        };
        held.min(self.relays.last())
    }

    /// Returns the position at which a member has joined.
    pub(crate) fn joined(&self, member: MemberId) -> Option<u64> {
        let party = self.side.state.members.get(member)?;
        Some(party.joined)
    }

    /// Takes an entry that the store has read because hellos wait for the hash at its position. The store keeps the
    /// hash even if it has deleted the text.
    pub(crate) fn answer_claims(&mut self, at: u64, entry: Option<Entry>, now: Time) {
        let cursors = self.relays.cursors.iter_mut();
        let waiting = cursors.filter_map(|(member, cursor)| {
            let claim = cursor.claim.take_if(|claim| claim.0 == at)?;
            Some((member, claim.1))
        });
        let waiting: Vec<_> = waiting.collect();
        let entry = entry.filter(|entry| entry.position == at);
        let hash = entry.as_ref().and_then(|entry| entry.hash);
        // A member holds only entries that were relayed to it, so its claim about another entry
        // is false.
        let is_void = entry.is_some_and(|entry| !entry.kind.is_relayed());
        for (member, hello) in waiting {
            if let Some(claim) = hello.voucher.filter(|_| is_void) {
                self.contradicted(member, claim, now);
                continue;
            }
            self.compare(member, &hello, (at, hash), now);
        }
    }

    /// Answers a hello, unless the member holds another log than this one.
    fn compare(
        &mut self,
        member: MemberId,
        hello: &Hello,
        (at, hash): (u64, Option<Hash>),
        now: Time,
    ) {
        let claim = hello.voucher.filter(|claim| claim.position == at);
        if let (Some(claim), Some(hash)) = (claim, hash)
            && claim.hash != hash
        {
            return self.contradicted(member, claim, now);
        }
        if self.lost.is_some() {
            return;
        }
        self.relays.cursor(member).doubts = 0;
        if let (Scope::Sender, Some(next)) = (self.side.state.scope, hello.next) {
            self.gate.numbers.jump(member, next);
        }
        let held = self.held(member, hello);
        let hash = hash.filter(|_| held == at);
        self.greet(member, Some((hello, held, hash)), now);
    }

    /// Takes a claim that contradicts the log of this host. If this host once vouched for the claim, its store is
    /// an old copy, so the host stops. Any other claim is false.
    fn contradicted(&mut self, member: MemberId, claim: Voucher, now: Time) {
        if self.key.as_ref().is_some_and(|key| key.vouched(&claim)) {
            return self.lose(member, claim);
        }
        let cursor = self.relays.cursor(member);
        cursor.doubts = cursor.doubts.saturating_add(1);
        if cursor.doubts < DOUBTS {
            self.greet(member, None, now);
        } else if self.lost.is_none() {
            cursor.doubts = 0;
            let expected = "the log of this session; this side holds another log, so open it anew";
            let refusal = Refusal::new(ErrorCode::POLICY_DENIED, expected);
            self.send_refusal(member, None, refusal, now);
            self.leave(member, now);
            self.side.emit(Event::Removed(member));
        }
    }

    fn lose(&mut self, member: MemberId, claim: Voucher) {
        let position = claim.position;
        let before = self.lost.as_deref();
        let is_news = before.is_none_or(|lost| {
            lost.claim.position < position || lost.from.is_none() && lost.claim == claim
        });
        if !is_news {
            return;
        }
        if before.is_none_or(|lost| lost.claim != claim) {
            self.side.batch.get().voucher = Some(claim);
        }
        self.lost = Some(Box::new(Lost {
            claim,
            from: Some(member),
            taken: Vec::new(),
        }));
        self.relays.stop();
        self.side.emit(Event::RolledBack { member, position });
    }

    /// Begins to fetch the lost entries of this host. They come from the member whose claim has shown the loss.
    pub(crate) fn recover(&mut self) -> Result<(), InputError> {
        let Some(lost) = &mut self.lost else {
            return Err(InputError::Recover("this host has lost no entries"));
        };
        let Some(from) = lost.from else {
            let why = "no member that is ahead of this host has come back yet";
            return Err(InputError::Recover(why));
        };
        lost.taken.clear();
        let key = log_key_of(self.relays.last() + 1);
        self.side.transfers.want(&key, from, None);
        Ok(())
    }

    /// Goes on without the entries that were lost. The log has the identity of this key from now on,
    /// so members that are ahead have to join again with an empty store.
    pub(crate) fn fork(&mut self, key: LogKey, now: Time) {
        let hash = self.side.hash.unwrap_or_else(|| key.root());
        self.side.hash = Some(hash);
        self.side.batch.get().key = Some(key.clone());
        self.relays.set_key(key.clone());
        self.key = Some(key);
        self.resume();
        self.hand_on(now);
    }

    fn resume(&mut self) {
        self.lost = None;
        self.gate.numbers.transactions.want_all();
        self.greet_all();
    }

    /// Greets every member, and asks which position it holds.
    pub(crate) fn greet_all(&mut self) {
        for (member, party) in self.side.state.members() {
            if party.present && member != MemberId::HOST && !self.guests.has(member) {
                self.relays.cursor(member).greeting = true;
            }
        }
    }

    /// Takes entries of the log from the member that has them. Once all of them have arrived, and their hashes lead
    /// from the end of this log to the claim, the host appends them together.
    pub(crate) fn recovered(&mut self, from: MemberId, bytes: &[u8], now: Time) {
        let own_end = self.relays.last();
        let Some(lost) = self.lost.as_mut().filter(|lost| lost.from == Some(from)) else {
            return;
        };
        let texts: Vec<String> = serde_json::from_slice(bytes).unwrap_or_default();
        let before = lost.taken.len();
        for relay in texts.iter().filter_map(|text| Relay::read(text)) {
            let after = lost.taken.last().map_or(own_end, |taken| taken.position);
            if relay.position > after && relay.position <= lost.claim.position {
                lost.taken.push(Relayed::by(&relay));
            }
        }
        let reached = lost.taken.last().map_or(own_end, |taken| taken.position);
        if reached < lost.claim.position && lost.taken.len() > before {
            let key = log_key_of(reached + 1);
            return self.side.transfers.want(&key, from, None);
        }
        let (claim, taken) = (lost.claim, std::mem::take(&mut lost.taken));
        let own = self.side.hash.filter(|_| reached == claim.position);
        let then = |hash, taken: &Relayed| taken.hash_after(&hash);
        let hash = own.map(|own| taken.iter().fold(own, then));
        // The host's log may have grown meanwhile, by entries that are not relayed. The recovered
        // entries need positions after these.
        let first = taken.first().map_or(0, |taken| taken.position);
        let has_place = first > self.side.position;
        if !has_place || hash != Some(claim.hash) || !self.take_over(from, &taken, now) {
            return self.side.emit(Event::NotRecovered(from));
        }
        // The claim is settled. A voucher without a proof replaces it in the store.
        self.side.batch.get().voucher = Some(Voucher {
            proof: [0; 16],
            ..claim
        });
        self.resume();
        self.side
            .emit(Event::Recovered(own_end + 1..=claim.position));
        self.announce_schemas(now);
        self.hand_on(now);
        self.causes.current = Some(claim.position);
        self.take_due_checkpoint(now);
        // Only the snapshot lists the bytes that are missing for this host's own values, so the
        // host takes a snapshot now.
        let ids = self.gate.seen.to_ids();
        self.side.take_snapshot(&self.gate.numbers, ids);
        self.side.transfers.want(ALL_SCHEMAS, from, None);
    }

    /// Appends entries that this host once made. Returns false, and appends nothing, if one of them
    /// cannot be read or has the id of an entry that is there.
    fn take_over(&mut self, from: MemberId, taken: &[Relayed], now: Time) -> bool {
        let frames = taken.iter().map(|taken| Scanned::of_entry(&taken.text));
        let Ok(frames) = frames.collect::<Result<Vec<_>, _>>() else {
            return false;
        };
        let mids = frames.iter().filter_map(|frame| frame.mid());
        // The host may have dropped one of these frames since it made them. Then the id of that
        // frame is already consumed, and the host takes over none of the frames.
        if mids.clone().any(|mid| self.gate.seen.get(mid).is_some()) {
            return false;
        }
        if let Some(epoch) = mids.filter_map(|mid| mid.epoch_by(MemberId::HOST)).max()
            && epoch >= self.side.mids.epoch()
        {
            self.side.raise_epoch(epoch);
        }
        let end = taken.last().map_or(0, |taken| taken.position);
        if !self.side.mids.has(end.saturating_sub(self.side.position)) {
            return false;
        }
        self.side.again = end;
        for (taken, frame) in taken.iter().zip(&frames) {
            if self.side.position + 1 < taken.position {
                // The last part of a frame is directly before the whole frame in the log, and is
                // not relayed.
                self.gate.numbers.wholes.extend(frame.mid().cloned());
            }
            while self.side.position + 1 < taken.position && self.fill(now).is_ok() {}
            self.take_entry(from, taken, frame, now);
        }
        true
    }

    /// Appends an entry that stands for a lost entry which was never relayed.
    fn fill(&mut self, now: Time) -> Result<(), SendError> {
        let mid = self.side.next_control_mid()?;
        let text = format!("@{}>sync:lost{{}}[mid:{mid}]", self.side.options.agent);
        let frame = Scanned::of_entry(&text)?;
        let effect = Effect::Void(EntryKind::Lost);
        self.append(MemberId::HOST, &frame, effect.into(), mid, 0, now);
        Ok(())
    }

    /// Lets a value of this host expire, because no side has its bytes: the store of the host was an old copy.
    pub(crate) fn gone(&mut self, key: &str, now: Time) {
        let is_own = control::put_key(key).is_some_and(|(owner, _)| owner == MemberId::HOST);
        if is_own && self.lost.is_none() {
            self.expire(&[key], now);
        }
    }

    fn take_entry(&mut self, from: MemberId, taken: &Relayed, frame: &Scanned<'_>, now: Time) {
        let mut relayed = taken.clone();
        relayed.hash = self.side.hash.map(|before| taken.hash_after(&before));
        let Some((entry, effect)) = self.side.entry_of(relayed, frame, now) else {
            return;
        };
        if let Effect::Control(control) = &effect {
            self.take_control(from, entry.sender, control);
        }
        if entry.kind == EntryKind::Frame {
            self.causes.parent = self.side.state.chains.parent(frame);
        }
        self.gate.see(&entry);
        let registry = &self.side.options.registry;
        self.gate.fold(registry, &entry, frame);
        self.relays.push(&entry);
        self.side.append(entry, frame, effect);
    }

    /// Applies a control entry that this host once made. If any side has the bytes of the host's own values, it is
    /// this member.
    fn take_control(&mut self, from: MemberId, sender: MemberId, control: &Control) {
        if let Control::Expire { keys } = control {
            self.forget_values(keys);
        }
        let state = &self.side.state;
        self.gate.fold_control(sender, control, state, &self.rules);
        match control {
            Control::Put { values } if sender == MemberId::HOST => {
                self.fetch_puts(from, values);
                let numbers = values
                    .iter()
                    .filter_map(|(key, _, _)| control::put_key(key));
                if let Some(last) = numbers.map(|(_, number)| number).max() {
                    self.side.last_put = self.side.last_put.max(last);
                    self.side.batch.get().last_put = Some(self.side.last_put);
                }
            }
            Control::Put { values } => self.fetch_puts(sender, values),
            _ => {}
        }
    }
}
