//! Link frames at the host, and the bytes that it serves.
use std::collections::BTreeSet;
use std::sync::Arc;

use accp_registry::Hash;

use super::Host;
use crate::delivery::cursor::Offer;
use crate::delivery::transfer::{TransferProgress, log_key};
use crate::interface::event::Event;
use crate::interface::input::Supplied;
use crate::interface::output::{Cold, Read};
use crate::log::entry::Entry;
use crate::log::mid::MemberId;
use crate::options::Scope;
use crate::side::{ALL_SCHEMAS, COMPARED_SCHEMAS, PROOF};
use crate::wire::control::put_key;
use crate::wire::link::{Hello, Link, Piece};
use crate::wire::stamp::About;
use accp_context::Time;
use accp_frame::Intent;

/// The greatest number of values that a member waits for at a time.
const WANTS: u8 = 16;

impl Host {
    /// Takes a link frame of a member that knows the log.
    pub(super) fn log_link(&mut self, from: MemberId, link: Link, now: Time) {
        match link {
            Link::Ack { of: None, held, .. } | Link::Pong { held } => {
                self.relays.acknowledged(from, held);
            }
            Link::Ack { .. } => {}
            Link::Ping { .. } if self.lost.is_some() => {}
            Link::Ping { .. } => {
                let pong = self.side.stamp(now).beat(Intent::PONG);
                self.side.send(from, pong);
                let last = self.gate.numbers.last(from);
                if let Some((mid, at)) = last.map(|(mid, at)| (mid.clone(), at)) {
                    self.relays.cursor(from).ack = Some((mid, at));
                }
            }
            Link::Hello(hello) => {
                self.side.transfers.returned(from);
                let is_vouched = hello.extensions.iter().any(|name| name == PROOF);
                let cursor = self.relays.cursor(from);
                (cursor.draft, cursor.vouched) = (None, Some(is_vouched));
                if self.admits(from, &hello, now) {
                    self.hello(from, &hello, now);
                }
            }
            Link::Error { error, .. } => {
                let event = Event::PeerError(from, error);
                self.side.emit(event);
            }
            Link::Want { key, at } => self.serve(from, &key, at, now),
            Link::Bytes(piece) => self.take_piece(from, piece, now),
            Link::Serves(_) | Link::Bye if self.lost.is_some() => {}
            Link::Serves(heads) => self.takes(from, &heads, now),
            Link::Bye => {
                self.leave(from, now);
                self.say_bye(from, now);
            }
        }
    }

    /// Pings a member.
    pub(crate) fn ping(&mut self, member: MemberId, now: Time) {
        let ping = self.stamp_for(member, now).beat(Intent::PING);
        self.side.send(member, ping);
    }

    /// Says hello to the member. With `hello`, this answers the hello of a member that holds the log up to this
    /// position, where the log has this hash.
    pub(crate) fn greet(
        &mut self,
        member: MemberId,
        hello: Option<(&Hello, u64, Option<Hash>)>,
        now: Time,
    ) {
        if !self.side.state.is_in(member) {
            return;
        }
        let mut answer = Hello {
            sender_scope: self.side.state.scope == Scope::Sender,
            member: Some(member),
            level: Some(self.side.state.level()),
            ..self.side.hello()
        };
        if let Some((hello, held, hash)) = hello {
            answer.epoch = self.gate.last_epoch(member).map(u64::from);
            for mid in &hello.asks {
                match self.gate.has(member, mid) {
                    Some(true) => answer.has.push(mid.clone()),
                    Some(false) => answer.gone.push(mid.clone()),
                    None => {}
                }
            }
            answer.asks.clone_from(&hello.asks);
            let up = self.relays.last();
            // The log may end with entries that are not relayed. The member never gets those.
            answer.up = (up < answer.position).then_some(up);
            let (numbers, scope) = (&self.gate.numbers, self.side.state.scope);
            answer.next = Some(numbers.next(scope, member));
            answer.last = numbers.last(member).map(|(mid, _)| mid.clone());
            answer.puts = self.side.state.last_put(member);
            answer.seen = Some(self.relays.furthest(member)).filter(|seen| *seen > 0);
            if hello.position == 0 {
                let Some(fold) = self.offer(member) else {
                    return;
                };
                answer.snapshot = Some(fold.position);
            }
            answer.from = Some(held);
            answer.voucher = self.vouch(held, hash);
            self.relays.greeted(member, held);
            if hello.position == 0 {
                self.relays.starting(member, self.side.clock.timers());
            }
        }
        self.side.send_frame(member, answer.frame(), now);
    }

    /// Offers the current fold to a member that lacks entries which the log no longer has.
    pub(crate) fn greet_behind(&mut self, member: MemberId, now: Time) {
        self.offer = None;
        let cursor = self.relays.cursor(member);
        // If the member already holds the position of its offer, that fold does not help: the log begins later.
        let held = cursor.acked;
        let is_held = |offer: &mut Offer<_>| held.is_some_and(|held| held >= offer.position);
        cursor.offer.take_if(is_held);
        let Some(fold) = self.offer(member) else {
            return;
        };
        let answer = Hello {
            sender_scope: self.side.state.scope == Scope::Sender,
            member: Some(member),
            snapshot: Some(fold.position),
            from: Some(fold.position),
            voucher: self.vouch(fold.position, fold.hash),
            level: Some(self.side.state.level()),
            ..self.side.hello()
        };
        self.side.send_frame(member, answer.frame(), now);
    }

    /// Returns the fold that a member starts from. It stays the same until the member has the fold.
    /// Returns `None` when the fold cannot be written.
    pub(crate) fn offer(&mut self, member: MemberId) -> Option<Offer<Arc<[u8]>>> {
        let joined = self.joined(member).unwrap_or_default();
        // A member that has joined again needs a later fold.
        let offer = self.relays.cursor(member).offer.as_ref();
        if let Some(offer) = offer.filter(|offer| offer.position >= joined) {
            return Some(offer.clone());
        }
        // Members that join at about the same time start from the same fold.
        let offer = self.offer.as_ref().filter(|offer| offer.position >= joined);
        let kept = offer.and_then(|offer| {
            Some(Offer {
                position: offer.position,
                hash: offer.hash,
                bytes: offer.bytes.upgrade()?,
            })
        });
        if kept.is_some() {
            self.relays.cursor(member).offer.clone_from(&kept);
            return kept;
        }
        let (position, hash) = (self.side.state.position, self.side.hash);
        let voucher = self.vouch(position, hash);
        match self.side.fold_text(&(), None, voucher) {
            Ok(text) => {
                let bytes: Arc<[u8]> = Arc::from(text.into_bytes());
                self.offer = Some(Offer {
                    position,
                    hash,
                    bytes: Arc::downgrade(&bytes),
                });
                let offer = &mut self.relays.cursor(member).offer;
                *offer = Some(Offer {
                    position,
                    hash,
                    bytes,
                });
                offer.clone()
            }
            Err(error) => {
                self.side.emit(Event::NotWritten(error.to_string()));
                None
            }
        }
    }

    /// Fetches values that a member has announced, at once: the member may not come back.
    pub(crate) fn fetch_puts(&mut self, from: MemberId, values: &[(String, Hash, u64)]) {
        self.gate.note_puts(from, values);
        for value in values.iter().map(Cold::announced) {
            // If the two sides share a store, the store has the bytes already. So the host reads the store first.
            let key = value.key.clone();
            self.side.reads.push_back(Read::Cold { key });
            self.side.batch.get().cold.push(value);
        }
    }

    pub(crate) fn take_piece(&mut self, from: MemberId, piece: Piece, now: Time) {
        let key = piece.key.clone();
        match self.side.transfers.take(from, piece) {
            TransferProgress::Whole(bytes) if key == ALL_SCHEMAS => self.learn(from, &bytes, now),
            TransferProgress::Whole(bytes) if key == COMPARED_SCHEMAS => {
                self.compare_with(from, &bytes, now);
            }
            TransferProgress::Whole(bytes) if log_key(&key).is_some() => {
                self.recovered(from, &bytes, now);
            }
            TransferProgress::Whole(bytes) => self.keep_value(&Cold::of(key, bytes), now),
            TransferProgress::Tampered => self.side.emit(Event::Tampered(key)),
            TransferProgress::More | TransferProgress::Ignored => {}
        }
    }

    /// Takes the bytes of a value that a member has sent outside of its link.
    pub(crate) fn supply(
        &mut self,
        from: MemberId,
        key: &str,
        bytes: &[u8],
        now: Time,
    ) -> Supplied {
        let owner = put_key(key).map(|(owner, _)| owner);
        if self.lost.is_some() {
            return Supplied::Later;
        }
        if owner != Some(from) || !self.side.state.is_put(key) {
            return Supplied::Unknown;
        }
        if self.side.state.expired.contains(key) {
            return Supplied::Expired;
        }
        let Some(missing) = self.gate.numbers.missing.get(key) else {
            return Supplied::Here;
        };
        let cold = Cold::of(key.into(), bytes);
        if (cold.digest, cold.length) != (missing.digest, missing.length) {
            return Supplied::Differs;
        }
        self.side.transfers.forget(key, from);
        self.keep_value(&cold, now);
        Supplied::Kept
    }

    /// Keeps the bytes of a value, and sends them to the members that wait for them.
    fn keep_value(&mut self, cold: &Cold, now: Time) {
        self.side.batch.get().cold.push(cold.clone());
        self.gate.numbers.missing.remove(&cold.key);
        self.side.emit(Event::Supplied(cold.key.clone()));
        self.draft_value(&cold.key, Some(cold));
        self.answer_wants(cold, now);
    }

    pub(crate) fn send_piece(&mut self, to: MemberId, piece: &Piece, now: Time) {
        let text = self.stamp_for(to, now).frame(piece.frame(), About::Nothing);
        self.side.send_link(to, text);
    }

    pub(crate) fn serve(&mut self, to: MemberId, key: &str, at: u64, now: Time) {
        if let Some(piece) = self.side.schemas_piece(key, at) {
            return self.send_piece(to, &piece, now);
        }
        if let Some(fold) = key.strip_prefix("snap_") {
            let joined = self.joined(to);
            let cursor = self.relays.cursor(to);
            let lags_behind = cursor.acked > joined;
            match cursor.offer.clone() {
                Some(Offer {
                    position, bytes, ..
                }) if fold.parse() == Ok(position) => {
                    let piece = Piece::of(key, &bytes, Hash::of(&bytes), at);
                    self.send_piece(to, &piece, now);
                }
                // The host has started again, and does not know what the member understands.
                _ if cursor.greeting => self.greet(to, None, now),
                // The request is late, or from before a restart. The member answers which position it holds.
                _ if lags_behind => self.greet(to, None, now),
                // The member asks for an older offer. The host offers a new fold.
                _ => self.hello(to, &Hello::default(), now),
            }
            return;
        }
        let position = key.strip_prefix('p').and_then(|digits| digits.parse().ok());
        if let Some(from) = position.filter(|position| *position <= self.side.position) {
            self.wait_for(key, to, at, Read::Entries { from, limit: 1 });
        } else if self.side.state.is_put(key) {
            self.wait_for(key, to, at, Read::Cold { key: key.into() });
        }
    }

    /// Notes that a member waits for a value, and has the store read it. A member that waits for
    /// too many values at a time asks again later.
    fn wait_for(&mut self, key: &str, member: MemberId, at: u64, read: Read) {
        let cursor = self.relays.cursor(member);
        if cursor.wants == WANTS {
            return;
        }
        let waiting = self.serving.entry(key.into()).or_default();
        if waiting.is_empty() {
            self.side.reads.push_back(read);
        }
        if !waiting.contains(&(member, at)) {
            waiting.push((member, at));
            cursor.wants += 1;
        }
    }

    /// Removes and returns the members that wait for a value, each with the first byte that it wants.
    pub(crate) fn waiting_for(&mut self, key: &str) -> Vec<(MemberId, u64)> {
        let waiting = self.serving.remove(key).unwrap_or_default();
        for (member, _) in &waiting {
            let cursor = self.relays.cursor(*member);
            cursor.wants = cursor.wants.saturating_sub(1);
        }
        waiting
    }

    /// Serves a frame of the log to the members that asked for it.
    pub(crate) fn answer_frame(&mut self, from: u64, entries: &[Entry]) {
        let key = format!("p{from}");
        let waiting = self.waiting_for(&key);
        // An entry that is not relayed is not served either.
        let entry = entries.first();
        let Some(entry) = entry.filter(|entry| entry.position == from && entry.kind.is_relayed())
        else {
            return;
        };
        let bytes = entry.text.as_bytes();
        for (member, at) in waiting {
            let piece = Piece::of(&key, bytes, Hash::of(bytes), at);
            self.pieces.push((member, piece));
        }
    }

    pub(crate) fn answer_wants(&mut self, cold: &Cold, now: Time) {
        let Some(bytes) = &cold.bytes else { return };
        let awaiting = self.awaiting.remove(&cold.key).unwrap_or_default();
        let waiting = self.waiting_for(&cold.key);
        let waiting: BTreeSet<_> = waiting.into_iter().chain(awaiting).collect();
        for (member, at) in waiting {
            let piece = Piece::of(&cold.key, bytes, cold.digest, at);
            self.send_piece(member, &piece, now);
        }
    }
}
