//! The side that follows.

mod follow;

use accp_registry::Hash;

use crate::delivery::outbox::{Backoff, Outbox};
use crate::gate::scan::scan;
use crate::role::{Frames, Role};
use crate::side::Side;
use crate::wire::link::{Link, Of, Piece};
use crate::{
    Cold, Entry, MemberId, Mid, Options, OutboxChange, RestoreError, SendError, Session, Stored,
    Time,
};
use accp_frame::{Intent, Registry};

/// What a member does beyond what both sides do.
#[derive(Debug)]
pub struct Member {
    pub(crate) outbox: Outbox,
    /// Whether the host has answered since this side started.
    pub(crate) joined: bool,
    /// Until the host has answered.
    pub(crate) hello: Backoff,
    /// The fold to start from is under way: where it ends and where the log begins.
    pub(crate) fetching: Option<(u64, u64)>,
    pub(crate) say: Say,
    /// Pieces that the host has asked for.
    pub(crate) wanted: Vec<(String, u64)>,
    /// The registry of the host, while it is being fetched: the frames that follow may need
    /// it.
    pub(crate) learning: Option<Hash>,
    /// Whether the host takes frames in parts.
    pub(crate) parts: bool,
}

/// What the host is to be told in the next batch.
#[derive(Debug, Default)]
pub(crate) struct Say {
    /// Who is here and what is held.
    pub hello: bool,
    /// What is held.
    pub ack: bool,
    /// That nothing was heard for long.
    pub ping: bool,
}

/// How often nothing is heard before the member asks what the host has.
const ASK_AFTER: u32 = 2;

impl Session<Member> {
    /// Joins a session, as a member of it.
    pub fn member(options: Options) -> Self {
        Self::start(options, &Stored::default())
    }

    pub(crate) fn start(options: Options, stored: &Stored) -> Self {
        let retry = options.retry;
        let side = Side::new(options, MemberId::LAST, stored.epoch);
        let outbox = Outbox::new(stored.outbox.clone(), stored.outbox_sequence, retry);
        Self {
            side,
            role: Member {
                outbox,
                joined: false,
                hello: Backoff::new(retry),
                fetching: None,
                say: Say {
                    hello: true,
                    ..Say::default()
                },
                wanted: Vec::new(),
                learning: None,
                parts: false,
            },
        }
    }

    /// Goes on with a session that its store holds.
    ///
    /// # Errors
    /// When what the store gave cannot be read.
    pub fn restore_member(options: Options, stored: &Stored) -> Result<Self, RestoreError> {
        let mut session = Self::start(options, stored);
        let side = &mut session.side;
        if let Some(snapshot) = &stored.snapshot {
            side.restore(snapshot)?;
        }
        side.position = side.position.max(stored.last);
        for entry in &stored.entries {
            side.replay(entry)?;
        }
        if let Some(me) = side.state.member_of(side.options.agent.as_str()) {
            side.mids.set_member(me);
            session.role.joined = true;
            session.role.outbox.set_scope(side.state.scope);
        }
        let late = stored.entries.iter().filter(|entry| entry.due);
        for entry in stored.due.iter().chain(late) {
            side.redeliver(entry)?;
        }
        side.last_put = stored.last_put;
        session.restore_schemas(&stored.registries);
        Ok(session)
    }

    /// The schemas in force were kept, unless there was no time for it.
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

    /// Takes what the host sent.
    pub fn receive(&mut self, frame: &[u8], now: Time) {
        // What the host sends is not judged; what cannot be read comes again.
        let Ok(scanned) = scan(frame, accp_frame::Limits::NONE) else {
            return;
        };
        if let Some(position) = scanned.extra("pos") {
            self.relayed(position, &scanned, now);
        } else if Link::is(&scanned)
            && let Ok(link) = Link::read(&scanned)
        {
            self.link(link, now);
        }
    }

    /// Fetches the bytes of a value from the host; [`Event::Supplied`](crate::Event::Supplied) tells when they are
    /// in the batch.
    ///
    /// `announced` is what the log said of the value; a member that joined later does not know
    /// it and takes what the host has. `p57` is the frame at this position of the log.
    pub fn fetch(&mut self, key: &str, announced: Option<(Hash, u64)>) {
        self.side.transfers.want(key, MemberId::HOST, announced);
    }

    /// The connection to the host is new: it is told what is held here.
    pub fn connected(&mut self) {
        self.role.say.hello = true;
    }

    /// Whether everything sent has been acknowledged.
    pub fn is_quiet(&self) -> bool {
        self.role.outbox.is_empty() && self.role.joined && self.role.fetching.is_none()
    }

    /// How many frames wait to be acknowledged.
    pub fn outbox_len(&self) -> usize {
        self.role.outbox.len()
    }
}

impl Role for Member {
    fn check(session: &Session<Self>, frames: &Frames) -> Result<(), SendError> {
        let Self { outbox, joined, .. } = &session.role;
        if !*joined {
            return Err(SendError::NotJoined);
        }
        if outbox.len() + frames.frames.len() > session.side.options.outbox {
            return Err(SendError::Full(outbox.len()));
        }
        Ok(())
    }

    fn next_sequence(session: &Session<Self>) -> u64 {
        let outbox = &session.role.outbox;
        outbox.sequence() + outbox.len() as u64
    }

    fn takes_parts(session: &Session<Self>) -> bool {
        session.role.parts
    }

    fn submit(session: &mut Session<Self>, frames: Frames, _now: Time) -> Result<Mid, SendError> {
        let mut last = None;
        let mut first_part = None;
        for composed in frames.frames {
            let mid = session.side.next_mid();
            if composed.part.is_some_and(|(index, _)| index == 1) {
                first_part = Some(mid.clone());
            }
            let tail = composed.tail(first_part.as_ref());
            let Session { side, role } = session;
            let outgoing = role.outbox.push(mid.clone(), composed.head, tail);
            side.batch
                .get()
                .outbox
                .push(OutboxChange::Put(outgoing.clone()));
            last = match composed.part {
                Some(_) => first_part.clone(),
                None => Some(mid),
            };
        }
        last.ok_or(SendError::NotJoined)
    }

    fn flush(session: &mut Session<Self>, now: Time) {
        let Session { side, role } = session;
        if std::mem::take(&mut role.say.hello) {
            let hello = side.hello();
            side.say_hello(MemberId::HOST, &hello, now);
            role.hello.arm(now);
        }
        if std::mem::take(&mut role.say.ack) {
            let text = side.stamp(now).ack(None);
            side.send(MemberId::HOST, text);
        }
        if std::mem::take(&mut role.say.ping) {
            let text = side.stamp(now).beat(Intent::PING);
            side.send(MemberId::HOST, text);
        }
        if role.joined {
            for text in role.outbox.take_due(now) {
                side.send(MemberId::HOST, text);
            }
        }
        side.snapshot(|| serde_json::Value::Null);
    }

    fn rest(session: &mut Session<Self>) {
        session.role.outbox.rest();
    }

    fn next_timeout(session: &Session<Self>) -> Option<Time> {
        let role = &session.role;
        [role.hello.at(), role.outbox.retry.at()]
            .into_iter()
            .flatten()
            .min()
    }

    fn timeout(session: &mut Session<Self>, now: Time) {
        let role = &mut session.role;
        if role.hello.is_due(now) {
            role.say.hello = true;
            role.hello.again(now);
        }
        if role.outbox.retry.is_due(now) {
            role.outbox.timeout(now);
            role.say.ping = role.outbox.retry.tries() >= ASK_AFTER;
        }
    }

    fn entries(_: &mut Session<Self>, _: u64, _: &[Entry]) {}

    fn cold(session: &mut Session<Self>, key: &str, cold: Option<Cold>, now: Time) {
        let (now_wanted, later): (Vec<_>, Vec<_>) = std::mem::take(&mut session.role.wanted)
            .into_iter()
            .partition(|(wanted, _)| wanted == key);
        session.role.wanted = later;
        let Some(cold) = cold else { return };
        let Some(bytes) = &cold.bytes else { return };
        for (_, at) in now_wanted {
            let piece = Piece::of(key, bytes, cold.digest, at);
            let stamp = session.side.stamp(now);
            let frame = stamp.frame(Intent::SYNC, "bytes", None, piece.payload(), Of::Nothing);
            if let Ok(text) = frame {
                session.side.send(MemberId::HOST, text);
            }
        }
    }
}
