//! Members that know only the draft.
//!
//! Such a member gets the registry, the last checkpoint and the shared state, and then the log as frames of the
//! draft. It gets the frames of others unchanged, and an `ack` in place of each frame of its own. An `ack` without
//! an id replaces everything else that has taken a number (a part, a dropped frame, an announcement of values), so
//! that the numbers have no gap.

use std::sync::Arc;

use accp_registry::ErrorCode;

use super::Host;
use crate::delivery::draft::{DraftMember, DraftTimeout, WantedValue};
use crate::interface::event::Event;
use crate::interface::output::{Cold, Read};
use crate::log::mid::{MemberId, Mid};
use crate::options::{DraftPeers, Scope};
use crate::state::shared::StateUpdate;
use crate::wire::control::Control;
use crate::wire::link::{Hello, Link};
use crate::wire::refusal::Refusal;
use crate::wire::relayed::Relayed;
use crate::wire::scan::Scanned;
use crate::wire::stamp::About;
use crate::wire::{inline, marks};
use accp_context::Time;
use accp_frame::{EncodeError, EncodeOptions, Envelope, Intent, Map, Value};

impl Host {
    pub(super) fn draft(&mut self, member: MemberId) -> Option<&mut DraftMember> {
        let cursor = self.relays.cursors.get_mut(member)?;
        cursor.draft()
    }

    /// Takes the hello of a member that knows only the draft. The host goes on after the number in the hello, if
    /// it has sent that number; a new member begins with the present state.
    pub(crate) fn greet_draft(&mut self, member: MemberId, hello: &Hello, now: Time) {
        if self.lost.is_some() {
            return;
        }
        match self.refusal_of_draft() {
            Some(refusal) => self.send_refusal(member, None, refusal, now),
            None => self.serve_draft(member, hello, now),
        }
    }

    /// Returns the refusal of a link to a member that knows only the draft, if the session has no such links.
    pub(super) fn refusal_of_draft(&self) -> Option<Refusal> {
        let expected = match (self.rules.draft_peers, self.side.state.scope) {
            (DraftPeers::Refused, _) => "a hello with the extensions of this session, such as pos",
            (_, Scope::Sender) => {
                "a session that a peer of the draft has begun, or POST: here each agent numbers its own frames"
            }
            (DraftPeers::AtLeastOnce, Scope::Shared) => return None,
        };
        Some(Refusal::new(ErrorCode::POLICY_DENIED, expected))
    }

    /// Sends the registry to a peer of the draft, in answer to a hello by POST. Such a peer gets only answers, and no
    /// entries of the log. So the host can serve the peer under either numbering.
    pub(crate) fn introduce(&mut self, member: MemberId, hello: &Hello, now: Time) {
        if self.lost.is_none() {
            self.learn_inline(hello, now);
            self.send_registry(member, &hello.hash, now);
        }
    }

    fn serve_draft(&mut self, member: MemberId, hello: &Hello, now: Time) {
        self.learn_inline(hello, now);
        let (timers, patience) = (self.side.clock.timers(), self.side.options.retry);
        // A hello that arrives soon after the host's own hello is the answer to it, so it needs
        // no answer.
        let greeted = self.relays.cursor(member).greeted;
        if greeted.is_some_and(|greeted| timers < greeted + patience) {
            return;
        }
        if !self.is_draft(member) {
            self.side.emit(Event::AtLeastOnce(member));
        }
        let numbers = &self.gate.numbers;
        let (joined, last) = (numbers.joined(member), self.last_number());
        let held = hello
            .number
            .filter(|number| (joined..=last).contains(number));
        let sent = self.draft(member).filter(|draft| !draft.states.is_empty());
        let state = sent.map(|draft| draft.version);
        let goes_on = held.filter(|number| *number > joined);
        let version = self.side.state.shared.version();
        let (number, state) = match goes_on {
            Some(number) => (number, state),
            None => (joined, Some(version)),
        };
        let last_sent = self.draft(member).map(|draft| draft.number);
        let cursor = self.relays.cursor(member);
        if goes_on.is_some() && goes_on == last_sent && !cursor.greeting {
            // The member has all frames up to the last one that the host sent. A new start would
            // discard the next entry, which may wait for values or for the store.
            cursor.greeted = Some(timers);
        } else {
            self.serve_draft_from(member, number, state.unwrap_or_default());
        }
        self.send_registry(member, &hello.hash, now);
        // A member gets the state if it starts anew, or if it has not acknowledged the state that
        // the host sent.
        if state.is_some() {
            self.send_state(member, now);
        }
    }

    fn last_number(&self) -> u64 {
        self.gate.numbers.next(Scope::Shared, MemberId::HOST) - 1
    }

    /// Returns a position before all frames with greater numbers that the member still has to get. The number itself
    /// is such a position, because the number of a frame is never greater than its position.
    fn position_of(&self, member: MemberId, number: u64) -> u64 {
        if number == self.last_number() {
            return self.relays.last();
        }
        let joined = self.joined(member).unwrap_or_default();
        joined.max(number).min(self.relays.last())
    }

    fn serve_draft_from(&mut self, member: MemberId, number: u64, version: u64) {
        let draft = DraftMember::new(number, version);
        let position = self.position_of(member, number);
        let timers = self.side.clock.timers();
        self.relays
            .serve_draft_from(member, position, draft, timers);
    }

    /// Begins anew with a member, because the log no longer has the entries that the member lacks.
    pub(crate) fn restart_draft(&mut self, member: MemberId, now: Time) {
        let draft = DraftMember::new(self.last_number(), self.side.state.shared.version());
        let (last, timers) = (self.relays.last(), self.side.clock.timers());
        self.relays.serve_draft_from(member, last, draft, timers);
        let own = self.side.schemas.to_string();
        self.send_registry(member, &own, now);
        self.send_state(member, now);
    }

    /// Takes a link frame of a member that knows only the draft. Returns false if the host treats this frame as it
    /// does for any other member.
    pub(crate) fn draft_link(&mut self, from: MemberId, link: &Link, now: Time) -> bool {
        let held = match link {
            Link::Ack { held, .. } | Link::Pong { held } | Link::Ping { held } => *held,
            Link::Error { error, .. } if error.is_about_turn() => {
                return error
                    .expected_sequence
                    .is_some_and(|number| self.resend_from(from, number));
            }
            // A change does not fit the state that the member has. The host sends the state under the
            // number that the member has, and the frames after it again. The caller gets the error, too.
            Link::Error { error, held } if error.code == ErrorCode::REF_NOT_FOUND => {
                let draft = self.draft(from);
                if draft.is_some_and(|draft| draft.states.is_empty()) {
                    self.resend_from(from, held.saturating_add(1));
                    self.send_state(from, now);
                }
                return false;
            }
            _ => return false,
        };
        let draft = self.draft(from).filter(|draft| held <= draft.number);
        let has_all = draft.is_some_and(|draft| {
            draft.held = draft.held.max(held);
            if let Link::Ack { of: Some(of), .. } = link
                && draft.states.contains(of)
            {
                draft.states.clear();
            }
            draft.has_all()
        });
        if has_all {
            self.relays.cursor(from).retry.rest();
        }
        if let Link::Ping { .. } = link {
            let pong = self.stamp_for(from, now).beat(Intent::PONG);
            self.side.send(from, pong);
        }
        true
    }

    /// Sends the frames from this number on again, because the member lacks them. Within a retry time, the host
    /// does this only once for the same number or lower ones: more E3003 about the same gap may be under way.
    fn resend_from(&mut self, member: MemberId, number: u64) -> bool {
        let (timers, patience) = (self.side.clock.timers(), self.side.options.retry);
        let joined = self.gate.numbers.joined(member);
        let Some(draft) = self.draft(member) else {
            return false;
        };
        if number <= joined || number > draft.number {
            return false;
        }
        let is_again = |(asked, at)| number <= asked && timers < at + patience;
        if draft.asked.is_some_and(is_again) {
            return true;
        }
        draft.asked = Some((number, timers));
        draft.go_back(number - 1);
        let position = self.position_of(member, number - 1);
        self.relays.go_back(member, position);
        true
    }

    /// Sends a member the hash of the registry in force, with the schemas that the member lacks.
    fn send_registry(&mut self, member: MemberId, theirs: &str, now: Time) {
        let lacking = inline::lacking(&self.side.options.registry, self.side.schemas, theirs);
        self.send_schemas(member, &lacking, now);
    }

    fn send_schemas(&mut self, member: MemberId, schemas: &[(String, Value<'static>)], now: Time) {
        let hello = Hello {
            draft: true,
            schemas: (!schemas.is_empty()).then(|| schemas.iter().cloned().collect()),
            ..self.side.hello()
        };
        let text = self
            .stamp_for(member, now)
            .frame(hello.frame(), About::Nothing);
        if text.is_err() && schemas.len() > 1 {
            let (first, rest) = schemas.split_at(schemas.len() / 2);
            self.send_schemas(member, first, now);
            return self.send_schemas(member, rest, now);
        }
        self.side.send_link(member, text);
    }

    /// Sends a member the last checkpoint and the whole shared state, in one frame if they fit. A member that does
    /// not acknowledge the last frame gets the frames again.
    pub(crate) fn send_state(&mut self, member: MemberId, now: Time) {
        let state = &self.side.state;
        let checkpoint = state.warm.digests().last().map(inline::checkpoint);
        if state.shared.version() == 0 && checkpoint.is_none() {
            return;
        }
        let entries = state.shared.entries().iter();
        let entries: Vec<_> = entries
            .map(|(key, value)| (key.to_owned(), value.clone()))
            .collect();
        let mut chunks = vec![&entries[..]];
        loop {
            match self.state_frames(member, &chunks, checkpoint.as_ref(), now) {
                Ok((texts, last)) => {
                    for text in texts {
                        self.side.send(member, text);
                    }
                    let timers = self.side.clock.timers();
                    self.relays.cursor(member).retry.arm(timers);
                    if let Some(draft) = self.draft(member) {
                        draft.state_sent(last);
                    }
                    return;
                }
                Err(error) => {
                    let (most, longest) = chunks
                        .iter()
                        .map(|chunk| chunk.len())
                        .zip(0..)
                        .max()
                        .unwrap_or_default();
                    if most < 2 {
                        return self.side.emit(Event::NotWritten(error.to_string()));
                    }
                    let (first, rest) = chunks[longest].split_at(most / 2);
                    chunks.splice(longest..=longest, [first, rest]);
                }
            }
        }
    }

    /// Returns the frames of the shared state, one for each chunk, and the id of the last frame. The first frame
    /// has its chunk as a whole state, and the others have theirs as changes. The last frame leads to the version
    /// in force.
    fn state_frames(
        &mut self,
        member: MemberId,
        chunks: &[&[(String, Value<'static>)]],
        checkpoint: Option<&Map<'static>>,
        now: Time,
    ) -> Result<(Vec<String>, Option<Mid>), EncodeError> {
        let last = self.side.state.shared.version();
        let first = last.saturating_sub(chunks.len() as u64 - 1);
        let agent = self.side.options.agent.to_string();
        let registry = Arc::clone(&self.side.options.registry);
        let (mut texts, mut id) = (Vec::new(), None);
        for (version, chunk) in (first..).zip(chunks) {
            // A peer that knows only the draft cannot read a value with an extension, so it gets a
            // reference.
            let entries = chunk.iter().map(|(key, value)| {
                let is_fine = marks::is_of_the_draft(&value.to_string());
                let value = if is_fine {
                    value.clone()
                } else {
                    Value::Ref(format!("ctx.{key}").into())
                };
                (key.clone(), value)
            });
            let entries: Map<'_> = entries.collect();
            let update = if version == first {
                StateUpdate::Full {
                    version,
                    state: entries,
                }
            } else {
                StateUpdate::Delta {
                    version,
                    changes: entries,
                }
            };
            let mut message = update.to_message(agent.as_str())?;
            if let Some(checkpoint) = checkpoint.filter(|_| version == first) {
                message = message.with("checkpoint", checkpoint.clone());
            }
            let number = self.draft(member).map_or(0, |draft| draft.number);
            let mid = self
                .side
                .next_control_mid()
                .map_err(|error| EncodeError::new(error.code(), error.to_string()))?;
            message.envelope = Envelope::new(mid.to_string(), number).at(now.as_secs());
            let options = EncodeOptions {
                inline: true,
                ..EncodeOptions::default()
            };
            texts.push(message.encode_with(&registry, options)?);
            id = Some(mid);
        }
        Ok((texts, id))
    }

    /// Sends the frames that are due to members that know only the draft.
    pub(crate) fn flush_draft(&mut self, now: Time) {
        for member in self.relays.draft_members() {
            match self.draft(member).and_then(|draft| draft.due.take()) {
                Some(DraftTimeout::Ping) => {
                    let ping = self.stamp_for(member, now).beat(Intent::PING);
                    self.side.send(member, ping);
                }
                Some(DraftTimeout::State) => self.send_state(member, now),
                Some(DraftTimeout::Entry) => {
                    if let Some(draft) = self.draft(member) {
                        draft.give_up();
                    }
                }
                None => {}
            }
            while let Some(entry) = self.draft(member).and_then(|draft| draft.first()) {
                let Some(text) = self.with_values(member, &entry) else {
                    break;
                };
                self.send_entry(member, &entry, &text, now);
                if let Some(draft) = self.draft(member) {
                    draft.pop_waiting();
                }
                let timers = self.side.clock.timers();
                self.relays.draft_entry_sent(member, entry.position, timers);
            }
        }
    }

    /// Returns the text of an entry with its values in it, or `None` while the store reads them. A value that is
    /// lost, or for which the frame has no room, stays a reference.
    fn with_values(&mut self, member: MemberId, entry: &Relayed) -> Option<Arc<str>> {
        if entry.sender == member {
            return Some(Arc::clone(&entry.text));
        }
        let mut waits = false;
        for (_, key) in inline::values(&entry.text) {
            if !self.side.state.is_put(key) {
                continue;
            }
            let is_gone = self.side.state.expired.contains(key);
            let draft = self.draft(member)?;
            let wanted = draft.values.get(key);
            let is_asked = wanted.is_some();
            waits |= matches!(wanted, None | Some(WantedValue::Asked)) && !is_gone;
            if !is_asked && !is_gone {
                draft.values.insert(key.to_owned(), WantedValue::Asked);
                let key = key.to_owned();
                self.side.reads.push_back(Read::Cold { key });
            }
        }
        if waits {
            return None;
        }
        let limits = self.side.options.limits;
        let registry = Arc::clone(&self.side.options.registry);
        let draft = self.draft(member)?;
        let get = |key: &str| match draft.values.get(key) {
            Some(WantedValue::Here(bytes)) => std::str::from_utf8(bytes).ok(),
            _ => None,
        };
        let own = marks::referred(&entry.text, entry.position, &registry, limits);
        Some(inline::with_values(&own, &registry, limits, get))
    }

    /// Takes a value that the store read or a member has sent, for the frames that wait for it.
    pub(crate) fn draft_value(&mut self, key: &str, cold: Option<&Cold>) {
        let bytes = cold.and_then(|cold| cold.bytes.clone());
        // The bytes are on their way to the host. The members wait for them.
        if bytes.is_none() && self.gate.numbers.missing.contains_key(key) {
            return;
        }
        let limits = self.side.options.limits;
        let mut fits = None;
        for member in self.relays.draft_members() {
            let wanted = self
                .draft(member)
                .and_then(|draft| draft.values.get_mut(key));
            if let Some(wanted) = wanted {
                let bytes = bytes
                    .as_ref()
                    .filter(|bytes| *fits.get_or_insert_with(|| inline::fits(bytes, limits)));
                *wanted = bytes.cloned().map_or(WantedValue::Gone, WantedValue::Here);
            }
        }
    }

    /// Sends an entry in the form that a member of the draft understands.
    fn send_entry(&mut self, member: MemberId, entry: &Relayed, text: &str, now: Time) {
        let Ok(frame) = Scanned::of_entry(text) else {
            return;
        };
        let sent = self.draft(member).map_or(0, |draft| draft.number);
        // Control frames of the host take no number, nor do copies of answers.
        if Control::is_host_s(&frame) {
            return;
        }
        // The member already got this request, under its first number, before the host handed it on.
        if entry.repeat && entry.to.is_some() {
            return;
        }
        if entry.repeat && frame.intent != Intent::REQ {
            if entry.sender == member {
                self.send_copy(member, &frame, sent);
            }
            return;
        }
        let Some(number) = frame.envelope.sequence.filter(|number| *number > sent) else {
            return;
        };
        for number in sent + 1..number {
            self.send_number(member, number, now);
        }
        if entry.sender == member {
            if let Some(draft) = self.draft(member) {
                draft.number = number;
            }
            let of = frame.mid().map(|mid| (mid, number, 0));
            let ack = self.stamp_for(member, now).ack(of);
            self.side.send(member, ack);
        } else if entry.repeat || Control::is(&frame) || self.has_sent_state(member, &frame) {
            self.send_number(member, number, now);
        } else {
            if let Some(draft) = self.draft(member) {
                draft.number = number;
            }
            self.side.send(member, text.to_owned());
        }
    }

    /// Sends an `ack` for a number that another frame has taken.
    fn send_number(&mut self, member: MemberId, number: u64, now: Time) {
        if let Some(draft) = self.draft(member) {
            draft.number = number;
        }
        let ack = self.stamp_for(member, now).ack(None);
        self.side.send(member, ack);
    }

    /// Returns whether the frame changes the shared state to a version that the last whole state
    /// contains.
    fn has_sent_state(&mut self, member: MemberId, frame: &Scanned<'_>) -> bool {
        if (frame.intent, frame.header.operation) != (Intent::SYNC, "state") {
            return false;
        }
        let version = self.draft(member).map_or(0, |draft| draft.version);
        let update = StateUpdate::decode(frame.text);
        update.is_ok_and(|update| update.version() <= version)
    }

    /// Sends a copy of an answer, under the last number that was sent to the member.
    fn send_copy(&mut self, member: MemberId, frame: &Scanned<'_>, number: u64) {
        let envelope = Envelope {
            sequence: Some(number),
            ..frame.envelope.clone()
        };
        let mut text = frame.head().to_owned();
        match envelope.write(&mut text) {
            Ok(()) => self.side.send(member, text),
            Err(error) => self.side.emit(Event::NotWritten(error.to_string())),
        }
    }
}
