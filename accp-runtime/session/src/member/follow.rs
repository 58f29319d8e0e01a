//! Frames from the host, as a member takes them.
use std::sync::Arc;

use accp_frame::Registry;
use accp_registry::{ErrorCode, Hash};

use super::outcome::may_be_dropped;
use super::{Fetching, Member};
use crate::delivery::transfer::{TransferProgress, is_schemas, log_key};
use crate::interface::event::Event;
use crate::interface::output::{Cold, Outgoing, Read, Snapshot};
use crate::log::mid::MemberId;
use crate::log::vouch::Voucher;
use crate::side::fold::RestoreError;
use crate::state::effect::Effect;
use crate::wire::control::Control;
use crate::wire::inline;
use crate::wire::link::{Hello, Link, Piece};
use crate::wire::relay::Relay;
use crate::wire::relayed::Relayed;
use crate::wire::scan::Scanned;
use accp_context::Time;
use accp_frame::Intent;

/// The greatest number of entries that this side sends at a time to a host that has lost them.
const LOST_ENTRIES: usize = 256;

impl Member {
    /// Takes an entry of the log.
    pub(crate) fn relayed(&mut self, relay: &Relay<'_>, now: Time) {
        // This side drops an entry that it cannot take now. The host sends the entry again.
        let is_starting = self.fetching.is_some() || self.learning.is_some() || !self.joined;
        if self.is_busy() || is_starting {
            return;
        }
        // The host learns which position this side holds, even if this entry is not new.
        self.to_send.ack = true;
        let position = relay.position;
        if position <= self.side.position || relay.prev != self.side.position {
            return;
        }
        let mut relayed = Relayed::by(relay);
        let text = Arc::clone(&relayed.text);
        let Ok(frame) = Scanned::of_entry(&text) else {
            return;
        };
        relayed.hash = self.side.hash.map(|before| relayed.hash_after(&before));
        let hash = relayed.hash;
        let Some((entry, effect)) = self.side.entry_of(relayed, &frame, now) else {
            return;
        };
        let (mid, sequence) = (entry.mid.clone(), entry.sequence);
        if let (Some(hash), Some(held)) = (hash, self.voucher) {
            let Some(vouched) = relay.vouched.filter(|vouched| vouched.is_of(&hash)) else {
                // The relay was damaged on its way, or this is another log. The host decides which.
                self.to_send.hello = true;
                return;
            };
            if position >= held.position {
                self.keep(held.followed_by(position, hash, &vouched));
            }
        }
        if let Effect::Control(control) = &effect {
            self.keep_puts(control, self.outbox.contains(&mid));
        }
        let applied = self.side.append(entry, &frame, effect);
        if sequence > 0 {
            self.outbox.passed(sequence);
        }
        if relay.sender == self.side.me() && self.outbox.contradicts(&mid, &text) {
            self.begin_anew(&mid);
        } else if relay.sender == self.side.me() {
            let chains = &self.side.state.chains;
            let may_be_dropped = |frame: &Outgoing| may_be_dropped(chains, frame);
            let place = (sequence, position);
            for taken in self.outbox.logged(&mid, place, may_be_dropped) {
                if taken.frame.name() == mid {
                    self.forget(taken.frame, Event::Acknowledged);
                } else {
                    self.settled(taken);
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

    /// Keeps the voucher of the host for the log up to the position that this side holds.
    fn keep(&mut self, voucher: Voucher) {
        self.voucher = Some(voucher);
        self.side.batch.get().voucher = Some(voucher);
    }

    /// Fetches the schemas in force, unless this side knows them.
    pub(crate) fn learn(&mut self, hash: Hash) {
        let key = self.key_of_schemas();
        self.side.transfers.forget(&key, MemberId::HOST);
        self.learning = (self.side.schemas != hash).then_some(hash);
        if self.learning.is_some() {
            self.side.transfers.want(&key, MemberId::HOST, None);
        }
    }

    /// Takes over the schemas of the host, if they are those in force. Otherwise this side goes on
    /// without them, and asks again later if the bytes answer an earlier request.
    pub(crate) fn learnt(&mut self, bytes: &[u8]) {
        self.learning = None;
        let in_force = self.side.state.schemas();
        let learnt = match inline::delta_of(bytes) {
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
                if result.is_err()
                    && let Ok(theirs) = inline::whole(&delta)
                {
                    self.side.compare_schemas(MemberId::HOST, &theirs);
                }
                result.map_err(|error| error.to_string())
            }
            Err(error) => Err(error),
        };
        match learnt {
            Ok(registry) => self.adopt_schemas(registry),
            Err(why) => self.side.emit(Event::SchemasUnavailable(why)),
        }
        self.to_send.ack = true;
    }

    /// Takes over schemas, and keeps them.
    pub(super) fn adopt_schemas(&mut self, registry: Registry) {
        self.side.keep_registry(&registry);
        self.side.set_registry(registry);
        self.side.emit(Event::Schemas(self.side.schemas));
    }

    /// Returns the key under which the host sends the schemas that this side lacks.
    pub(crate) fn key_of_schemas(&self) -> String {
        format!("reg_{}", self.side.schemas)
    }

    /// Keeps the keys that expired and the values that were announced. Skips values that this side has put itself,
    /// unless the store of this side is an older copy (`is_here` is false then). This side fetches the bytes of a
    /// value only when the caller wants them.
    fn keep_puts(&mut self, control: &Control, is_here: bool) {
        match control {
            Control::Put { values } if !is_here => {
                let values = values.iter().map(Cold::announced);
                self.side.batch.get().cold.extend(values);
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
                // Here `up` is beyond the end of the host's log, which cannot be right. This side
                // would wait for an entry that never comes, so it ignores the acknowledgement.
                Some(up) if up > held => {}
                // The acknowledgement is old, or the host was restored from an older copy.
                Some(_) if held < self.side.position => {}
                Some(up) => {
                    self.host_position = self.host_position.max(held);
                    if self.outbox.contains(&mid) {
                        self.outbox.acknowledged(&mid, at, up);
                    } else {
                        self.outbox.consumed_up_to(&mid, up);
                    }
                    self.outbox.logged_by(&mid, up);
                    self.log_end = self.log_end.max(up);
                    self.conclude();
                }
                None => {
                    self.outbox.acknowledged(&mid, at, 0);
                    for taken in self.outbox.passed_by(0) {
                        self.forget(taken.frame, Event::Acknowledged);
                    }
                }
            },
            Link::Ack { of: None, .. } => {}
            Link::Pong { held } => self.to_send.hello |= held < self.side.position,
            Link::Ping { .. } => {
                let pong = self.side.stamp(now).beat(Intent::PONG);
                self.side.send(MemberId::HOST, pong);
            }
            Link::Hello(hello) => self.greeted(&hello, now),
            // The host sent this error before another frame that has arrived already, so the error is out of date.
            Link::Error { error, held } if error.is_about_turn() && held < self.host_position => {}
            Link::Error { error, held } => {
                self.host_position = self.host_position.max(held);
                self.refused(error);
            }
            Link::Want { key, at } => self.serve(key, at, now),
            Link::Bytes(piece) => self.take_piece(piece),
            Link::Bye => self.take_bye(),
            // Only members send this frame.
            Link::Serves(_) => {}
        }
    }

    /// Takes a hello of a host that knows the log.
    pub(super) fn greeted_by_log(&mut self, hello: &Hello) {
        let Some(member) = hello.member else {
            return;
        };
        self.outbox.set_scope(hello.scope());
        self.side.mids.set_member(member);
        self.parts = hello.extensions.iter().any(|name| name == "parts");
        let Some(from) = hello.from else {
            // The host has started again and does not know which position this side holds.
            self.to_send.hello = true;
            return;
        };
        self.hello.rest();
        self.host_position = hello.position;
        self.log_end = hello.up.unwrap_or(hello.position);
        self.greeted_end = self.log_end;
        // A hello that offers a fold without `next` has no `epoch` either: it does not say which
        // ids of this side the host has seen. So it does not count as an answer. Frames of this run
        // may still need new ids.
        let is_behind = hello.snapshot.is_some() && hello.next.is_none();
        if !is_behind {
            self.host_has_answered(hello);
        }
        // Entries may have arrived between the hello and its answer, so the position at the time
        // of the hello counts, too.
        let needs_word = self.voucher.is_none() && hello.voucher.is_some();
        let is_answer = from == self.side.position || from == self.hello_position && !needs_word;
        if is_answer {
            self.outbox.go_again();
            self.take_answers(hello);
        }
        if let Some(next) = hello.next {
            self.outbox.greeted(next, hello.last.as_ref());
        }
        match hello.snapshot {
            // This side has no entries, or the log of the host no longer has the entries that this
            // side lacks. So this side fetches the fold.
            Some(fold) if self.side.position == 0 || from > self.side.position => {
                let fetching = Fetching {
                    fold,
                    from,
                    voucher: hello.voucher,
                };
                if let Some(before) = self.fetching.replace(fetching)
                    && before.fold != fold
                {
                    self.side.transfers.forget(&before.key(), MemberId::HOST);
                }
                self.side
                    .transfers
                    .want(&fetching.key(), MemberId::HOST, None);
            }
            // Only the answer to the last hello gives the position to continue from.
            None if is_answer => {
                if let Some(fetching) = self.fetching.take() {
                    self.side.transfers.forget(&fetching.key(), MemberId::HOST);
                }
                // The fold that this side started from may belong to a log that the host has lost
                // since. So the hash of the hello replaces the hash of that fold.
                if let Some(voucher) = hello.voucher.filter(|_| from == self.side.position) {
                    self.side.hash = Some(voucher.hash);
                    let is_news = self.voucher.is_none_or(|held| held.position <= from);
                    if is_news && self.voucher != Some(voucher) {
                        self.keep(voucher);
                    }
                }
                self.now_joined();
                // An earlier copy of the schemas in force may have been tampered with on its way,
                // so this side makes sure that it has them.
                if let Some(hash) = self.side.state.schemas() {
                    self.learn(hash);
                }
            }
            _ => self.to_send.hello = true,
        }
    }

    /// Allows frames to go out, because the host has answered a hello of this run. If the session has consumed ids
    /// that this run would make again, because the store of this side is an old copy, the frames of this run get
    /// later ids.
    ///
    /// Entries up to the last position that this side has acknowledged are marked as redelivered.
    fn host_has_answered(&mut self, hello: &Hello) {
        self.side.again = self.side.again.max(hello.seen.unwrap_or_default());
        if let Some(puts) = hello.puts.filter(|puts| *puts > self.side.last_put) {
            self.side.last_put = puts;
            self.side.batch.get().last_put = Some(puts);
        }
        if std::mem::replace(&mut self.host_answered, true) {
            return;
        }
        let last = hello.epoch.and_then(|epoch| u32::try_from(epoch).ok());
        let Some(last) = last.filter(|last| self.side.mids.may_follow(*last)) else {
            return;
        };
        self.side.again = self.side.again.max(hello.position);
        self.side.raise_epoch(last);
        let new = self
            .outbox
            .frames()
            .filter(|frame| frame.order >= self.first_of_run);
        let new: Vec<_> = new.map(|frame| frame.mid.clone()).collect();
        for mid in new {
            self.retry(&mid, ErrorCode::DUPLICATE);
        }
    }

    pub(crate) fn now_joined(&mut self) {
        if !self.joined {
            self.joined = true;
            let me = self.side.me();
            self.side.emit(Event::Joined(me));
        }
    }

    pub(crate) fn serve(&mut self, key: String, at: u64, now: Time) {
        if let Some(piece) = self.side.schemas_piece(&key, at) {
            return self.side.send_frame(MemberId::HOST, piece.frame(), now);
        }
        if self.wanted.iter().all(|(wanted, _)| *wanted != key) {
            self.side.reads.push_back(match log_key(&key) {
                Some(from) => Read::Entries {
                    from,
                    limit: LOST_ENTRIES,
                },
                None => Read::Cold { key: key.clone() },
            });
        }
        self.wanted.push((key, at));
    }

    pub(crate) fn take_piece(&mut self, piece: Piece) {
        let key = piece.key.clone();
        match self.side.transfers.take(MemberId::HOST, piece) {
            TransferProgress::Whole(bytes) if is_schemas(&key) => self.learnt(&bytes),
            TransferProgress::Whole(bytes) => match self.fetching.take() {
                Some(fetching) if key == fetching.key() => {
                    if self.adopt(fetching, bytes).is_err() {
                        self.side.emit(Event::Tampered(key));
                        self.to_send.hello = true;
                    }
                }
                fetching => {
                    self.fetching = fetching;
                    let cold = Cold::of(key.clone(), bytes);
                    self.side.batch.get().cold.push(cold);
                    self.side.emit(Event::Supplied(key));
                }
            },
            TransferProgress::Tampered => {
                if is_schemas(&key) {
                    // This side goes on without the schemas, and asks for them again at the next
                    // retry.
                    self.learning = None;
                } else if self
                    .fetching
                    .take_if(|fetching| key == fetching.key())
                    .is_some()
                {
                    // The host may offer another fold by now.
                    self.side.transfers.forget(&key, MemberId::HOST);
                    self.to_send.hello = true;
                }
                self.side.emit(Event::Tampered(key));
            }
            TransferProgress::More | TransferProgress::Ignored => {}
        }
    }

    /// Starts from the host's fold; the log begins after `from`.
    pub(crate) fn adopt(&mut self, fetched: Fetching, bytes: Vec<u8>) -> Result<(), RestoreError> {
        let Fetching {
            fold,
            from,
            voucher,
        } = fetched;
        let text = String::from_utf8(bytes)
            .map_err(|error| RestoreError::new(fold, &error.utf8_error()))?;
        let snapshot = Snapshot {
            position: fold,
            text,
        };
        let held = self.side.position;
        let of_fold = self.side.restore(&snapshot)?.voucher;
        // A side without entries lacks all entries since it joined.
        let me = self.side.state.members.get(self.side.me());
        let held = match me {
            Some(me) if held == 0 => me.joined,
            _ => held,
        };
        self.side.position = from;
        self.side.hash = voucher.map(|voucher| voucher.hash);
        if let Some(voucher) = of_fold.or(voucher) {
            self.keep(voucher);
        }
        if from > held {
            self.side.emit(Event::Missed(held + 1..=from));
        }
        self.conclude_missed();
        self.side.take_snapshot(&(), None);
        self.now_joined();
        if let Some(hash) = self.side.state.schemas() {
            self.learn(hash);
        }
        // This side repeats the hello until the host answers, so that the host learns where to continue.
        self.to_send.hello = true;
        Ok(())
    }
}
