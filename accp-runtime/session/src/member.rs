//! A member of a session, which follows the host.

mod draft;
mod follow;
mod outcome;
mod peer;
mod takes;

use std::collections::BTreeSet;

use accp_registry::Hash;

use crate::delivery::backoff::Backoff;
use crate::delivery::outbox::Outbox;
use crate::delivery::transfer::log_key_of;
use crate::interface::event::Event;
use crate::interface::outbound::SendError;
use crate::interface::output::{Cold, OutboxChange, Stored};
use crate::log::entry::Entry;
use crate::log::mid::{MemberId, Mid};
use crate::log::vouch::Voucher;
use crate::member::draft::DraftHost;
use crate::member::takes::Word;
use crate::options::Options;
use crate::send::encode::Composed;
use crate::side::Side;
use crate::side::fold::{RestoreError, with_kept};
use crate::wire::control::put_key;
use crate::wire::link::Piece;
use crate::wire::relayed::Relayed;
use crate::wire::stamp::About;
use accp_context::Time;
use accp_frame::{Intent, Registry};

/// A member of a session.
#[derive(Debug)]
pub(crate) struct Member {
    pub side: Side,
    pub outbox: Outbox,
    /// True if the host has let this side in.
    pub joined: bool,
    /// The delay before the next hello, until the host answers.
    pub hello: Backoff,
    /// The fold that is being fetched.
    pub fetching: Option<Fetching>,
    /// The last voucher of the host for the log of this side.
    pub voucher: Option<Voucher>,
    pub to_send: ToSend,
    /// The facts about this side that the host has to learn.
    pub word: Word,
    /// Pieces that the host has asked for.
    pub wanted: Vec<(String, u64)>,
    /// The hash of the schemas in force, while this side fetches them. This side takes no entries meanwhile, because
    /// they may need these schemas.
    pub learning: Option<Hash>,
    /// True if the host takes frames in parts.
    pub parts: bool,
    /// True if the host has answered since the start of this run. No frame leaves before the host has answered.
    pub host_answered: bool,
    /// The order of the first frame in the outbox that was sent in this run.
    pub first_of_run: u64,
    /// The position in the last hello of this side.
    pub hello_position: u64,
    /// The last known position of the host.
    pub host_position: u64,
    /// The last relayed position of the host's log, as far as the host has told it.
    pub log_end: u64,
    /// The last relayed position of the host's log when the host last sent a hello.
    pub greeted_end: u64,
    /// The frames in parts whose outcome was reported. A frame stays here while the outbox has one of its parts.
    pub reported: BTreeSet<Mid>,
    /// What this side knows of a session whose host knows the draft alone.
    pub draft: Option<Box<DraftHost>>,
}

/// A fold that is being fetched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fetching {
    /// The position of the fold.
    pub fold: u64,
    /// The position after which the host continues the log for this side.
    pub from: u64,
    /// The voucher of the host for the log up to `from`.
    pub voucher: Option<Voucher>,
}

impl Fetching {
    /// Returns the key of the fold.
    pub(crate) fn key(&self) -> String {
        format!("snap_{}", self.fold)
    }
}

/// The messages for the host in the next batch.
#[derive(Debug, Default)]
pub(crate) struct ToSend {
    /// A hello, with the position that this side holds.
    pub hello: bool,
    /// An acknowledgement of the position that this side holds.
    pub ack: bool,
    /// A ping, because the host has not answered for a long time.
    pub ping: bool,
}

/// Timeouts without an answer after which the member pings its host.
const ASK_AFTER: u32 = 2;

impl Member {
    /// Joins a session.
    pub(crate) fn open(options: Options, now: Time) -> Self {
        let mut member = Self::start(options, &Stored::default(), now);
        if !member.side.options.extensions {
            member.follow_draft_host(DraftHost::of(&Stored::default()), now);
        }
        member
    }

    fn start(options: Options, stored: &Stored, now: Time) -> Self {
        let retry = options.retry;
        // A side that has never run (epoch 0) starts with number 1.
        let sequence = stored.outbox_sequence.max(u64::from(stored.epoch == 0));
        Self {
            side: Side::new(options, MemberId::LAST, stored.epoch, now),
            outbox: Outbox::new(stored.outbox.clone(), sequence, retry),
            joined: false,
            hello: Backoff::new(retry),
            fetching: None,
            voucher: stored.voucher,
            to_send: ToSend {
                hello: true,
                ..ToSend::default()
            },
            word: Word::new(retry),
            wanted: Vec::new(),
            learning: None,
            parts: false,
            host_answered: false,
            first_of_run: stored.outbox.last().map_or(0, |last| last.order + 1),
            hello_position: 0,
            host_position: 0,
            log_end: 0,
            greeted_end: 0,
            reported: BTreeSet::new(),
            draft: None,
        }
    }

    /// Restores a session from its store.
    pub(crate) fn restore(
        options: Options,
        stored: &Stored,
        now: Time,
    ) -> Result<Self, RestoreError> {
        let mut member = Self::start(options, stored, now);
        let side = &mut member.side;
        if let Some(snapshot) = &stored.snapshot {
            side.restore(snapshot)?;
        }
        side.position = side.position.max(stored.last);
        for entry in &stored.entries {
            side.replay(entry, |_, _, _| {})?;
        }
        // A side without entries has the hash only in the voucher of its host.
        if let Some(held) = member.voucher.filter(|held| held.position == side.position) {
            side.hash = Some(held.hash);
        }
        if let Some(me) = side.state.member_of(side.options.agent.as_str()) {
            side.mids.set_member(me);
            member.joined = true;
            member.outbox.set_scope(side.state.scope);
        }
        let late = stored.entries.iter().filter(|entry| entry.is_due());
        for entry in stored.due.iter().chain(late) {
            side.redeliver(entry)?;
        }
        side.last_put = stored.last_put;
        member.restore_schemas(&stored.registries);
        // A host with a log sends an entry that admits the member. If a side has no such entry, its
        // host follows only the draft.
        let has_host = member.side.state.members().next().is_some();
        let is_draft = member.side.position > 0 || stored.outbox_sequence > 0;
        if !has_host && (is_draft || !member.side.options.extensions) {
            member.follow_draft_host(DraftHost::of(stored), now);
            member.joined = is_draft;
            let side = &mut member.side;
            let kept = with_kept(&side.options.registry, &stored.registries);
            side.set_registry(kept);
        }
        Ok(member)
    }

    /// Restores the schemas in force, or fetches them if they were not kept.
    pub(crate) fn restore_schemas(&mut self, kept: &[(Hash, String)]) {
        let Some(hash) = self.side.state.schemas() else {
            return;
        };
        let json = kept.iter().find(|(kept, _)| *kept == hash);
        match json.and_then(|(_, json)| Registry::from_json(json).ok()) {
            Some(registry) => self.side.set_registry(registry),
            None => self.learn(hash),
        }
    }

    /// Fetches the bytes of a value from the host. [`Event::Supplied`](crate::Event::Supplied)
    /// tells when they are in the batch.
    ///
    /// `announced` is the digest and the length from the log. A member that joined later does not
    /// know them and takes the host's value. `p57` is the frame at position 57 of the log.
    ///
    /// This side does not fetch a value that its state does not know. A host that is restored from an older copy may
    /// use the key for other bytes, and this side could not replace the first bytes.
    pub(crate) fn fetch(&mut self, key: &str, announced: Option<(Hash, u64)>) {
        let state = &self.side.state;
        let is_unknown = put_key(key).is_some() && !state.is_put(key);
        if is_unknown && announced.is_none() && self.draft.is_none() {
            return self.side.emit(Event::Unavailable(key.into()));
        }
        self.side.transfers.want(key, MemberId::HOST, announced);
    }

    /// Sends the hello again if `key` is the fold that this side starts from: by now the host may offer
    /// another fold, or none. Returns whether `key` is this fold.
    pub(crate) fn asks_anew(&mut self, key: &str) -> bool {
        let is_it = |fetching: &Fetching| fetching.key() == key;
        let asks = self.fetching.as_ref().is_some_and(is_it);
        self.to_send.hello |= asks;
        asks
    }

    /// Says hello, because the connection is new: the host learns which position this side holds.
    pub(crate) fn connected(&mut self) {
        self.to_send.hello = true;
    }

    /// Returns whether this side has nothing left to do: the log has every frame sent, the host has
    /// answered the last hello and knows which requests this side takes, and this side fetches neither
    /// a fold nor schemas.
    pub(crate) fn is_quiet(&self) -> bool {
        let transfers = &self.side.transfers;
        let fetches =
            self.fetching.is_some() || transfers.wants(&self.key_of_schemas(), MemberId::HOST);
        let is_heard = self.word.at().is_none();
        self.outbox.is_empty() && self.joined && self.is_greeted() && is_heard && !fetches
    }

    /// Returns whether the host has answered the last hello.
    pub(crate) fn is_greeted(&self) -> bool {
        !self.to_send.hello && self.hello.at().is_none()
    }

    /// Returns whether this side has the log as far as the host had it when it answered the last hello.
    pub(crate) fn is_up_to_date(&self) -> bool {
        self.draft.is_some() || self.is_greeted() && self.side.position >= self.greeted_end
    }

    /// Checks that this many frames may be sent. Frames that the host has consumed do not count against
    /// replies: they leave the outbox only as this side handles the log, and it cannot handle the log
    /// without replies.
    ///
    /// A side that was restored knows the keys of its values only when the host has answered: its
    /// store may be an old copy.
    pub(crate) fn check(
        &self,
        frames: usize,
        has_values: bool,
        are_replies: bool,
    ) -> Result<(), SendError> {
        if !self.joined || has_values && !self.host_answered {
            return Err(SendError::NotJoined);
        }
        let kept = if are_replies {
            self.outbox.waiting()
        } else {
            self.outbox.len()
        };
        if kept + frames > self.side.options.outbox {
            return Err(SendError::Full(kept));
        }
        Ok(())
    }

    /// Returns the `seq` that the next frame of this member is expected to have.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.outbox.sequence() + self.outbox.waiting() as u64
    }

    /// Puts frames into the outbox. Returns the id of the last frame, or of the first part when the
    /// last frame is in parts.
    pub(crate) fn submit<'c>(
        &mut self,
        frames: impl Iterator<Item = &'c Composed>,
    ) -> Result<Mid, SendError> {
        // All ids are made first, so that nothing has changed if there are too few.
        let frames = frames.map(|composed| Ok((composed, self.side.next_mid()?)));
        let frames: Vec<_> = frames.collect::<Result<_, SendError>>()?;
        let mut last = None;
        let mut first_part = None;
        for (composed, mid) in frames {
            if composed.part.is_some_and(|(index, _)| index == 1) {
                first_part = Some(mid.clone());
            }
            let tail = composed.tail(first_part.as_ref());
            let outgoing = self.outbox.push(mid.clone(), composed.head.clone(), tail);
            let change = OutboxChange::Put(outgoing.clone());
            self.side.batch.get().outbox.push(change);
            last = match composed.part {
                Some(_) => first_part.clone(),
                None => Some(mid),
            };
        }
        last.ok_or(SendError::NotJoined)
    }

    /// Puts everything that goes out now into the batch.
    pub(crate) fn flush(&mut self, now: Time) {
        if std::mem::take(&mut self.to_send.hello) {
            let position = self.side.position;
            self.hello_position = position;
            let hello = self.hello_now();
            let text = self.stamp(now).frame(hello.frame(), About::Nothing);
            self.side.send_link(MemberId::HOST, text);
            self.hello.arm(self.side.clock.timers());
        }
        if std::mem::take(&mut self.to_send.ack) {
            let text = self.stamp(now).ack(None);
            self.side.send(MemberId::HOST, text);
        }
        if std::mem::take(&mut self.to_send.ping) {
            let text = self.stamp(now).beat(Intent::PING);
            self.side.send(MemberId::HOST, text);
        }
        let side = &mut self.side;
        // The answer of the host may change which frames go out, and under which numbers. So no
        // frame goes out before that answer.
        let is_greeted = !self.to_send.hello && self.hello.at().is_none();
        if self.joined && self.host_answered && is_greeted {
            for text in self.outbox.take_due(side.clock.timers()) {
                side.send(MemberId::HOST, text);
            }
            if self.draft.is_none() {
                self.speak(now);
            }
        }
        // The batch got its `outbox_sequence` when a frame left the outbox. Later inputs may have settled other
        // frames, so this side updates the number.
        if self.draft.is_none()
            && let Some(kept) = self.side.batch.outbox_sequence()
        {
            *kept = self.outbox.known_sequence().unwrap_or(0);
        }
        self.side.snapshot(&(), || None);
    }

    pub(crate) fn rest(&mut self) {
        let outbox = &self.outbox;
        self.reported.retain(|of| outbox.has_parts_of(of));
        self.outbox.rest();
        self.side.rest(false);
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let due = [self.hello.at(), self.outbox.retry.at(), self.word.at()];
        due.into_iter().flatten().min()
    }

    pub(crate) fn timeout(&mut self) {
        let now = self.side.clock.timers();
        if self.hello.is_due(now) {
            self.to_send.hello = true;
            self.hello.again(now);
        }
        self.word.timeout(now);
        if self.outbox.retry.is_due(now) {
            self.outbox.timeout(&self.side.clock);
            self.to_send.ping = self.outbox.retry.tries() >= ASK_AFTER;
            self.to_send.hello |= !self.outbox.asks().is_empty();
        }
    }

    /// Takes entries that the store read for the host, which has lost them.
    pub(crate) fn entries(&mut self, from: u64, entries: &[Entry], now: Time) {
        let key = log_key_of(from);
        let text = |entry: &Entry| Relayed::of(entry).relay(entry.position - 1, None).text();
        let texts: Vec<_> = entries.iter().map(text).collect();
        let bytes = serde_json::to_vec(&texts).unwrap_or_default();
        for at in self.take_wanted(&key) {
            let piece = Piece::of(&key, &bytes, Hash::of(&bytes), at);
            self.side.send_frame(MemberId::HOST, piece.frame(), now);
        }
    }

    /// Removes and returns the requests of the host for pieces of this value: the first byte of each piece.
    fn take_wanted(&mut self, key: &str) -> Vec<u64> {
        let wanted = self.wanted.extract_if(.., |(wanted, _)| wanted == key);
        wanted.map(|(_, at)| at).collect()
    }

    /// Takes a value that the store read for the host.
    pub(crate) fn cold(&mut self, key: &str, cold: Option<Cold>, now: Time) {
        let wanted = self.take_wanted(key);
        let Some(cold) = cold else { return };
        let Some(bytes) = &cold.bytes else { return };
        for at in wanted {
            let piece = Piece::of(key, bytes, cold.digest, at);
            self.side.send_frame(MemberId::HOST, piece.frame(), now);
        }
    }
}
