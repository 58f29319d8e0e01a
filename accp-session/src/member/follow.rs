//! Frames from the host, as a member takes them.
use std::sync::Arc;
use std::time::Duration;

use accp_registry::{Delta, ErrorCode, Hash};

use super::Member;
use crate::delivery::outbox::LATER;
use crate::delivery::transfer::{Progress, is_schemas};
use crate::gate::envelope::has_expired;
use crate::log::effect::Effect;
use crate::wire::control::{self, Control};
use crate::wire::link::{Hello, Link, PeerError, Piece};
use crate::wire::relay::Relay;
use crate::wire::scan::Scanned;
use crate::{
    Cold, Entry, EntryKind, Event, MemberId, Mid, OutboxChange, Outgoing, Read, RestoreError,
    Snapshot, Time,
};
use accp_frame::Intent;
impl Member {
    /// Takes an entry of the log.
    pub(crate) fn relayed(&mut self, relay: &Relay<'_>, now: Time) {
        // The host repeats an entry that is not taken now.
        let is_starting = self.fetching.is_some() || self.learning.is_some() || !self.joined;
        if self.side.is_busy() || is_starting {
            return;
        }
        // The host learns how far the log goes, even if this entry is not new.
        self.say.ack = true;
        let position = relay.position;
        if position <= self.side.position || relay.prev != self.side.position {
            return;
        }
        let text: Arc<str> = format!("{}]", relay.frame).into();
        let Ok(frame) = Scanned::of_entry(&text) else {
            return;
        };
        let Some(mid) = frame.mid().cloned() else {
            return;
        };
        let kind = if Control::is(&frame) {
            EntryKind::Control
        } else {
            EntryKind::Frame
        };
        let Ok(effect) = self.side.effect(position, kind, &frame) else {
            return;
        };
        let sequence = if Control::is_host_s(&frame) {
            0
        } else {
            frame.envelope.sequence.unwrap_or_default()
        };
        if let Effect::Control(control) = &effect {
            self.keep_puts(control);
        }
        let entry = Entry {
            position,
            at: now,
            kind,
            sender: relay.sender,
            mid: mid.clone(),
            sequence,
            tokens: relay.tokens,
            cut: relay.cut,
            due: self.side.is_due(kind, relay.sender),
            text: Arc::clone(&text),
        };
        let applied = self.side.append(entry, &frame, effect);
        if sequence > 0 {
            self.outbox.passed(sequence);
        }
        if relay.sender == self.side.me() {
            for frame in self.outbox.logged(&mid, sequence) {
                if frame.name() == mid {
                    self.forget(frame, Event::Acknowledged);
                } else {
                    self.dropped(frame);
                }
            }
        }
        self.conclude();
        if applied.cancelled {
            self.drop_cancelled();
        }
        if let Some(hash) = applied.schemas {
            self.learn(hash);
        }
    }

    /// Fetches the schemas in force, unless this side knows them.
    pub(crate) fn learn(&mut self, hash: Hash) {
        let key = self.key_of_schemas();
        self.side.transfers.forget(&key, MemberId::HOST);
        if self.side.schemas != hash {
            self.learning = Some(hash);
            self.side.transfers.want(&key, MemberId::HOST, None);
        }
    }

    /// Takes over the schemas of the host, if they are those in force. Otherwise this side goes on
    /// without them, and asks again later if the bytes answer an earlier request.
    pub(crate) fn learnt(&mut self, bytes: &[u8]) {
        self.learning = None;
        let in_force = self.side.state.schemas();
        let delta = std::str::from_utf8(bytes)
            .map_err(|error| error.to_string())
            .and_then(|text| Delta::from_json(text).map_err(|error| error.to_string()));
        let learnt = match delta {
            Ok(delta) if in_force != Some(delta.result()) => {
                let key = self.key_of_schemas();
                self.side
                    .transfers
                    .want_later(&key, MemberId::HOST, self.side.clock.timers());
                Err("the host has other schemas than the session".into())
            }
            Ok(delta) => {
                let options = &self.side.options;
                let result = delta.apply(&options.registry, options.schemas);
                result.map_err(|error| error.to_string())
            }
            Err(error) => Err(error),
        };
        match learnt {
            Ok(registry) => {
                let hash = registry.hash();
                let json = registry.to_json().to_string();
                self.side.batch.get().registries.push((hash, json));
                self.side.set_registry(registry);
                self.side.tell(Event::Schemas(hash));
            }
            Err(why) => self.side.tell(Event::SchemasUnavailable(why)),
        }
        self.say.ack = true;
    }

    /// Returns the key under which the host sends what it knows beyond the schemas of this side.
    pub(crate) fn key_of_schemas(&self) -> String {
        format!("reg_{}", self.side.schemas)
    }

    /// Notes the values that others put and the keys that expired. The bytes of a value come when
    /// they are wanted.
    fn keep_puts(&mut self, control: &Control) {
        match control {
            Control::Put { values } => {
                for (key, digest, length) in values.iter().cloned() {
                    if control::put_key(&key).is_some_and(|(owner, _)| owner == self.side.me()) {
                        continue;
                    }
                    self.side.batch.get().cold.push(Cold {
                        key,
                        digest,
                        length,
                        bytes: None,
                    });
                }
            }
            Control::Expire { keys } => self.side.batch.get().expired.extend(keys.iter().cloned()),
            _ => {}
        }
    }

    pub(crate) fn link(&mut self, link: Link, now: Time) {
        match link {
            Link::Ack {
                of: Some(mid),
                at,
                up,
                held,
            } => match up {
                // Otherwise this side would wait for an entry that does not come.
                Some(up) if up > held => {}
                Some(up) => {
                    self.outbox.acknowledged(&mid, at, up);
                    self.conclude();
                }
                None => {
                    self.outbox.acknowledged(&mid, at, 0);
                    for frame in self.outbox.passed_by(0) {
                        self.forget(frame, Event::Acknowledged);
                    }
                }
            },
            Link::Ack { of: None, .. } | Link::Pong { .. } => {}
            Link::Ping => {
                let pong = self.side.stamp(now).beat(Intent::PONG);
                self.side.send(MemberId::HOST, pong);
            }
            Link::Hello(hello) => self.greeted(&hello),
            Link::Error(error) => self.refused(error),
            Link::Want { key, at } => self.serve(key, at, now),
            Link::Bytes(piece) => self.take_piece(piece),
        }
    }

    /// Takes a hello of the host, which answers or is back.
    pub(crate) fn greeted(&mut self, hello: &Hello) {
        let Some(member) = hello.member else {
            return;
        };
        self.outbox.set_scope(hello.scope());
        self.side.mids.set_member(member);
        self.parts = hello.extensions.iter().any(|name| name == "parts");
        let Some(from) = hello.from else {
            // The host was away and does not know how far this log goes.
            self.say.hello = true;
            return;
        };
        self.hello.rest();
        self.met(hello.epoch);
        match hello.snapshot {
            // The log of the host does not have the entries any more that this side lacks.
            Some(fold) if self.side.position == 0 || from > self.side.position => {
                if let Some((before, _)) = self.fetching.replace((fold, from))
                    && before != fold
                {
                    let key = format!("snap_{before}");
                    self.side.transfers.forget(&key, MemberId::HOST);
                }
                let key = format!("snap_{fold}");
                self.side.transfers.want(&key, MemberId::HOST, None);
            }
            // Only the answer to the last hello tells where to go on; older answers do not count.
            None if from == self.side.position => {
                self.outbox.take_back();
                self.now_joined();
                // The schemas in force may have been tampered with on their way.
                if let Some(hash) = self.side.state.schemas() {
                    self.learn(hash);
                }
            }
            _ => self.say.hello = true,
        }
    }

    /// Lets frames out, once the host has answered this run. If the session has consumed ids of this
    /// side that this run would make again, because the store of this side is an old copy, the
    /// frames of this run get later ids.
    fn met(&mut self, epoch: Option<u64>) {
        if std::mem::replace(&mut self.met, true) {
            return;
        }
        let last = epoch.and_then(|epoch| u32::try_from(epoch).ok());
        let Some(last) = last.filter(|last| *last >= self.side.mids.epoch()) else {
            return;
        };
        self.side.mids.raise(last);
        self.side.batch.get().epoch = Some(self.side.mids.epoch());
        let new = self
            .outbox
            .frames()
            .filter(|frame| frame.order >= self.first);
        let new: Vec<_> = new.map(|frame| frame.mid.clone()).collect();
        for mid in new {
            self.retry(&mid, ErrorCode::DUPLICATE);
        }
    }

    pub(crate) fn now_joined(&mut self) {
        if !self.joined {
            self.joined = true;
            let me = self.side.me();
            self.side.tell(Event::Joined(me));
        }
    }

    /// Tells the caller about the frames that the host has dropped: they would be in the log by now.
    fn conclude(&mut self) {
        for frame in self.outbox.passed_by(self.side.position) {
            self.dropped(frame);
        }
    }

    /// Tells the caller about the frames whose entries this side has missed. The host has accepted
    /// them, unless they say themselves why it dropped them.
    fn conclude_missed(&mut self) {
        let now = self.side.clock.now;
        for frame in self.outbox.missed(self.side.position) {
            let chains = &self.side.state.chains;
            let is_dropped = frame.scan(|scanned| {
                has_expired(Duration::ZERO, scanned, now) || chains.is_cancelled(scanned)
            });
            if is_dropped == Some(true) {
                self.dropped(frame);
            } else {
                self.forget(frame, Event::Acknowledged);
            }
        }
    }

    /// Tells the caller about a frame that the host has consumed and that is not in the log.
    fn dropped(&mut self, frame: Outgoing) {
        let chains = &self.side.state.chains;
        let is_cancelled = frame.scan(|scanned| chains.is_cancelled(scanned));
        if is_cancelled == Some(true) {
            self.forget(frame, Event::Cancelled);
        } else {
            self.forget(frame, Event::Expired);
        }
    }

    /// Notes that a frame has left the outbox for good. The caller hears of a frame in parts once,
    /// under the id of its first part: when its last part was taken, or when one part was not.
    pub(crate) fn forget(&mut self, frame: Outgoing, event: impl FnOnce(Mid) -> Event) {
        let batch = self.side.batch.get();
        batch.outbox.push(OutboxChange::Remove(frame.mid.clone()));
        batch.outbox_sequence = Some(self.outbox.first_sequence());
        let Some(part) = frame.part() else {
            return self.side.tell(event(frame.mid));
        };
        if self.ended.as_ref() == Some(&part.of) {
            return;
        }
        let event = event(part.of.clone());
        if part.index == part.total || !matches!(event, Event::Acknowledged(_)) {
            self.ended = Some(part.of);
            self.side.tell(event);
        }
    }

    pub(crate) fn refused(&mut self, error: PeerError) {
        let Some(mid) = error.of.clone() else {
            self.side.tell(Event::PeerError(MemberId::HOST, error));
            return;
        };
        match error.code {
            ErrorCode::SEQUENCE_GAP => {
                if let Some(expected) = error.expected_sequence {
                    self.outbox.expected(&mid, expected);
                }
            }
            ErrorCode::DUPLICATE if error.holder == Some(self.side.me()) => {
                self.outbox.acknowledged(&mid, error.sequence, LATER);
            }
            // Another member has used this id, or the host could not take the frame for now.
            code if code == ErrorCode::DUPLICATE || code.is_retryable() == Some(true) => {
                self.retry(&mid, code);
            }
            // The host consumed nothing, so the same frame goes out again.
            code if error.retry => {
                if self.outbox.refused_for_now(&mid, &self.side.clock) {
                    let (old, new) = (mid.clone(), mid);
                    self.side.tell(Event::Retried { old, new, code });
                }
            }
            _ => {
                if let Some(frame) = self.outbox.refused(&mid) {
                    let others = self.outbox.others_of(&frame.name());
                    for frame in others.into_iter().chain([frame]) {
                        let error = error.clone();
                        self.forget(frame, |mid| Event::Refused(mid, error));
                    }
                } else {
                    self.side.tell(Event::PeerError(MemberId::HOST, error));
                }
            }
        }
    }

    /// Sends a frame again under a new id. The old id is its cause, except for a duplicate.
    pub(crate) fn retry(&mut self, old: &Mid, code: ErrorCode) {
        if !self.outbox.frames().any(|frame| frame.mid == *old) {
            return;
        }
        let new = self.side.next_mid();
        let cause = (code != ErrorCode::DUPLICATE).then(|| old.to_string());
        let changed = self.outbox.rename(old, &new, cause.as_deref());
        let outbox = &mut self.side.batch.get().outbox;
        for frame in changed {
            let before = if frame.mid == new { old } else { &frame.mid };
            outbox.push(OutboxChange::Remove(before.clone()));
            outbox.push(OutboxChange::Put(frame));
        }
        let old = old.clone();
        self.side.tell(Event::Retried { old, new, code });
    }

    /// Drops the frames of cancelled chains that never went out.
    pub(crate) fn drop_cancelled(&mut self) {
        let chains = &self.side.state.chains;
        let gone = self.outbox.take_unsent(|frame| {
            Scanned::of_entry(&frame.text(0))
                .is_ok_and(|frame| frame.intent != Intent::CANCEL && chains.is_cancelled(&frame))
        });
        for frame in gone {
            self.forget(frame, Event::Cancelled);
        }
    }

    pub(crate) fn serve(&mut self, key: String, at: u64, now: Time) {
        if let Some(piece) = self.side.schemas_piece(&key, at) {
            return self.side.say_piece(MemberId::HOST, &piece, now);
        }
        if self.wanted.iter().all(|(wanted, _)| *wanted != key) {
            self.side.reads.push_back(Read::Cold { key: key.clone() });
        }
        self.wanted.push((key, at));
    }

    pub(crate) fn take_piece(&mut self, piece: Piece) {
        let key = piece.key.clone();
        let length = piece.length;
        match self.side.transfers.take(MemberId::HOST, piece) {
            Progress::Whole(bytes) if is_schemas(&key) => self.learnt(&bytes),
            Progress::Whole(bytes) => match self.fetching.take() {
                Some((fold, from)) if key == format!("snap_{fold}") => {
                    if self.adopt(fold, from, bytes).is_err() {
                        self.side.tell(Event::Tampered(key));
                        self.say.hello = true;
                    }
                }
                fetching => {
                    self.fetching = fetching;
                    self.side.batch.get().cold.push(Cold {
                        key: key.clone(),
                        digest: Hash::of(&bytes),
                        length,
                        bytes: Some(bytes.into()),
                    });
                    self.side.tell(Event::Supplied(key));
                }
            },
            Progress::Tampered => {
                if is_schemas(&key) {
                    // This side goes on meanwhile, and asks again at the next retry.
                    self.learning = None;
                } else if self.fetching.take().is_some() {
                    self.say.hello = true;
                }
                self.side.tell(Event::Tampered(key));
            }
            Progress::More | Progress::Ignored => {}
        }
    }

    /// Starts from the host's fold; the log begins after `from`.
    pub(crate) fn adopt(
        &mut self,
        fold: u64,
        from: u64,
        bytes: Vec<u8>,
    ) -> Result<(), RestoreError> {
        let text = String::from_utf8(bytes)
            .map_err(|error| RestoreError::new(fold, &error.utf8_error()))?;
        let snapshot = Snapshot {
            position: fold,
            text,
        };
        let held = self.side.position;
        self.side.restore(&snapshot)?;
        self.side.position = from;
        if held > 0 {
            self.side.tell(Event::Missed(held + 1..=from));
        }
        self.conclude_missed();
        self.side.take_snapshot(&());
        self.now_joined();
        if let Some(hash) = self.side.state.schemas() {
            self.learn(hash);
        }
        // The hello is repeated until the host answers, so that the host knows where to go on.
        self.say.hello = true;
        Ok(())
    }
}
