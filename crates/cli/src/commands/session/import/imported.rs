//! Replays one conversation in a session, and reads it back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use accp_context::{Hot, Warm, render_context};
use accp_frame::{AgentId, DynamicFrame, Intent, TokenCounter as _, Value};
use accp_recordings::{Conversation, HOST, Recorder, Restorer};
use accp_registry::Registry;
use accp_session::{Entry, EntryKind, MemberId, Options, Outbound, Rules, Scope, Time};
use accp_store::{MemoryStore, SideId, Store as _};
use accp_tokens::Bpe;

use super::report::Report;
use crate::audit::Audit;
use crate::local_session::LocalSession;
use crate::store_file::{SharedStore, StoredSide};
use accp_console::outcome::Failure;

/// A session in which a conversation is replayed.
pub(super) struct ImportedSession {
    session: LocalSession,
    start: i64,
    counter: Arc<Bpe>,
    members: BTreeMap<String, MemberId>,
    /// The texts of accepted frames, by position.
    accepted: BTreeMap<u64, Arc<str>>,
    /// The ids that the session has given to frames, by the ids that the recorder had given to them.
    ids: BTreeMap<String, String>,
    /// The id that the recorder gave to the last frame.
    last: String,
    /// The chat requests that have no answer yet: the agent that asked, and the id of the request in the session.
    asked: Vec<(String, String)>,
    /// The largest number of tokens in hot state, and in warm state.
    peak: (u32, u32),
    faults: Vec<String>,
}

impl ImportedSession {
    /// Opens the session in memory. It has only its host.
    pub(super) fn open(session: &str, start: i64, counter: Arc<Bpe>) -> Result<Self, Failure> {
        let registry = Arc::new(Registry::shared().clone());
        let mut options = Options::new(session, agent(HOST)?, registry).counting(counter.clone());
        // The host only relays frames, like a hub, and handles none itself.
        options.handles = false;
        let rules = Rules {
            scope: Scope::Sender,
            ..Rules::default()
        };
        let now = Time::from_secs(start);
        let store = Arc::new(Mutex::new(MemoryStore::new()));
        let mut session = LocalSession::open(options, rules, store, now)?;
        session.settle()?;
        Ok(Self {
            session,
            start,
            counter,
            members: BTreeMap::from([(HOST.to_owned(), MemberId::HOST)]),
            accepted: BTreeMap::new(),
            ids: BTreeMap::new(),
            last: String::new(),
            asked: Vec::new(),
            peak: (0, 0),
            faults: Vec::new(),
        })
    }

    /// Replays the conversation from its beginning to its end.
    pub(super) fn replay(&mut self, conversation: &Conversation) -> Result<(), Failure> {
        let mut recorder = Recorder::new(Registry::shared(), self.start);
        let encode = |error: accp_frame::EncodeError| Failure::Input(error.to_string());
        let opening = recorder.opening(conversation).map_err(encode)?;
        self.send(opening)?;
        for recorded in conversation.messages() {
            for message in recorder.message(recorded).map_err(encode)? {
                self.send(message)?;
            }
        }
        Ok(())
    }

    fn send(&mut self, mut message: DynamicFrame<'_>) -> Result<(), Failure> {
        let by = self.member(message.agent.as_str())?;
        let recorded = message
            .envelope
            .msg_id
            .take()
            .unwrap_or_default()
            .into_owned();
        self.rename(&mut message);
        self.session.send(by, &Outbound::message(&message))?;
        self.session.settle()?;
        let entries = self.session.take_accepted()?;
        self.check_context();
        let frame = entries.iter().rfind(|entry| entry.kind == EntryKind::Frame);
        let Some(frame) = frame else {
            let agent = &message.agent;
            return Err(Failure::Input(format!(
                "a frame of {agent} was not accepted"
            )));
        };
        self.note(&message, frame);
        self.ids.insert(recorded.clone(), frame.mid.to_string());
        self.last = recorded;
        for entry in entries
            .iter()
            .filter(|entry| entry.kind == EntryKind::Frame)
        {
            self.accepted.insert(entry.position, entry.text.clone());
        }
        for at in 0..self.session.members.len() {
            self.session.handle_all(self.session.members[at].id)?;
        }
        self.session.now = self.session.now + Duration::from_secs(1);
        Ok(())
    }

    /// Returns the member of an agent. The member joins when the agent first speaks.
    fn member(&mut self, name: &str) -> Result<MemberId, Failure> {
        if let Some(member) = self.members.get(name) {
            return Ok(*member);
        }
        let member = self
            .session
            .join(&agent(name)?, Arc::new(Mutex::new(MemoryStore::new())))?;
        self.session.settle()?;
        self.members.insert(name.to_owned(), member);
        Ok(member)
    }

    /// Replaces the recorder's ids in a message by the ids of the session. An answer gets the id of its request.
    fn rename(&self, message: &mut DynamicFrame<'_>) {
        let answers = is_chat(message, Intent::DONE);
        let envelope = &mut message.envelope;
        if let Some(given) = envelope
            .causation_id
            .as_deref()
            .and_then(|id| self.ids.get(id))
        {
            envelope.causation_id = Some(given.clone().into());
        }
        match envelope.correlation_id.as_deref() {
            // If a call has no id, the recorder makes its result an answer to the previous frame. The id of that
            // frame is replaced, too.
            Some(id) if id == self.last => {
                let given = self.ids.get(id).cloned();
                envelope.correlation_id = given.map(Into::into);
            }
            None if answers => {
                let mut open = self.asked.iter().rev();
                let asked = open.find(|(by, _)| by != message.agent.as_str());
                envelope.correlation_id = asked.map(|(_, mid)| mid.clone().into());
            }
            _ => {}
        }
    }

    /// Notes a chat request as open, or closes it if the message answers it.
    fn note(&mut self, message: &DynamicFrame<'_>, frame: &Entry) {
        if is_chat(message, Intent::REQ) {
            let by = message.agent.as_str().to_owned();
            self.asked.push((by, frame.mid.to_string()));
        } else if let Some(answered) = message.envelope.correlation_id.as_deref() {
            self.asked.retain(|(_, mid)| mid != answered);
        }
    }

    /// Checks that the context is within its budget, both by the session's own count and by the tokens of the text
    /// that a model gets.
    fn check_context(&mut self) {
        let session = self.session.host.session();
        let (state, limits) = (session.state(), session.options().context);
        let budget = session.budget();
        self.peak.0 = budget.hot.used.max(self.peak.0);
        self.peak.1 = budget.warm.used.max(self.peak.1);
        let hot_text = render_context(&Warm::default(), state.hot());
        let warm_text = render_context(state.warm(), &Hot::default());
        let mut over = Vec::new();
        for (tier, counted, text, allowed) in [
            ("hot", budget.hot.used, hot_text, limits.hot),
            ("warm", budget.warm.used, warm_text, limits.warm),
        ] {
            let read = self.counter.count(&text);
            if counted > allowed || read > allowed as usize {
                over.push(format!(
                    "{tier} state has {counted} tokens, or {read} when they are read, and may have \
                     {allowed}"
                ));
            }
        }
        for digest in state.warm().digests() {
            let (tokens, (_, id)) = (digest.tokens(), digest.checkpoints());
            if tokens > limits.checkpoint {
                over.push(format!(
                    "checkpoint {id} has {tokens} tokens, and may have {}",
                    limits.checkpoint
                ));
            }
        }
        let position = state.position();
        let over = over.into_iter();
        self.faults
            .extend(over.map(|over| format!("position {position}: {over}")));
    }

    /// Returns the side of the session's host.
    pub(super) fn side(&self) -> &SideId {
        self.session.host.driver.side()
    }

    /// Returns the store of the session's host.
    pub(super) fn store(&self) -> SharedStore {
        Arc::clone(&self.session.host.store)
    }

    /// Reads everything back from the store in which the session is kept, and returns the faults.
    pub(super) fn check(
        &mut self,
        store: &SharedStore,
        id: &SideId,
        conversation: &Conversation,
        report: &mut Report,
    ) -> Result<Vec<String>, Failure> {
        let mut faults = std::mem::take(&mut self.faults);
        // From here on, everything is read from the store, as after a restart.
        let mut side = StoredSide::open(store, id, true, None)?;
        let state = self.session.host.session().state();
        if side.state() != state {
            faults.push("after a restart the session would differ".to_owned());
        }
        let mut members = self.session.members.iter();
        if members.any(|member| member.session().state() != state) {
            faults.push("a member folds the log to another state than the host".to_owned());
        }
        let audit = Audit::of(store, id, &mut side)?;
        faults.extend(audit.faults.iter().cloned());
        let mut kept = Arc::clone(store);
        for key in kept.cold_keys(id)? {
            let kept = kept.cold(id, &key)?;
            report.values += 1;
            report.value_bytes += kept.map_or(0, |kept| kept.value.length);
        }
        match self.restore(&mut side) {
            Ok(restored) => faults.extend(report.compare(conversation, restored.as_ref())),
            Err(fault) => {
                faults.push(fault);
                faults.extend(report.compare(conversation, None));
            }
        }
        report.conversations += 1;
        report.faults += faults.len() as u64;
        report.members += self.session.members.len() as u64;
        report.hot = self.peak.0.max(report.hot);
        report.warm = self.peak.1.max(report.warm);
        report.add(&audit);
        Ok(faults)
    }

    /// Restores the recorded messages from the log and its references.
    fn restore(&self, side: &mut StoredSide) -> Result<Option<Conversation>, String> {
        let mut restorer = Restorer::default();
        for (number, (position, accepted)) in (1_u64..).zip(&self.accepted) {
            // A key in cold state names any accepted frame, even one that is still in hot state.
            let key = format!("cold.p{position}");
            let frame = side.resolve(&Value::Ref(key.as_str().into()));
            let Value::String(text) = frame.map_err(|error| error.to_string())? else {
                return Err(format!("${key} is not a frame"));
            };
            if text != **accepted {
                return Err(format!("position {position} is not what was accepted"));
            }
            let mut message = DynamicFrame::decode(&text, Registry::shared())
                .map_err(|error| format!("position {position}: {error}"))?
                .into_owned();
            for (_, value) in message.payload.iter_mut() {
                let resolved = side.resolve(value);
                *value = resolved.map_err(|why| format!("position {position}: {why}"))?;
            }
            // In the session each member numbers its own frames, but the recorder numbers all frames together.
            message.envelope.sequence = Some(number);
            let ended = restorer.frame(message, *position);
            ended.map_err(|error| error.to_string())?;
        }
        restorer.end().map_err(|error| error.to_string())
    }
}

fn agent(name: &str) -> Result<AgentId<'static>, Failure> {
    AgentId::new(name.to_owned()).map_err(|error| Failure::Input(error.to_string()))
}

fn is_chat(message: &DynamicFrame<'_>, intent: Intent) -> bool {
    message.intent == intent && message.operation == "chat"
}
