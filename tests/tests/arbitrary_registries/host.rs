//! A session as a judge: a member sends, the host accepts, a handler gets the frame.

use std::sync::Arc;

use accp_registry::Registry;
use accp_runtime::session::{Event, Inbound, Options, Outbound, Reference, Rules, Scope, Time};
use accp_runtime::{
    AgentId, DynamicFrame, EncodeOptions, Envelope, ErrorCode, Frame, Limits, Value,
};
use accp_store::DriverError;
use accp_testkit::{Room, Shared};

const SESSION: &str = "s1";
const NOW: Time = Time::from_secs(1_714_000_000);
/// A member that sends through its session, and a member whose frames the test writes.
const AGENTS: [&str; 2] = ["dev", "qa"];

/// A host with two members.
pub(crate) struct Host {
    room: Room,
    registry: Arc<Registry>,
    /// The number of the next frame that the test writes.
    sequence: u64,
    /// The number of frames that the test wrote.
    written: u64,
}

impl Host {
    pub(crate) fn new(registry: &Registry) -> Self {
        let registry = Arc::new(registry.clone());
        let options = |agent| {
            let agent = AgentId::new(agent).unwrap();
            Options::new(SESSION, agent, Arc::clone(&registry))
        };
        let rules = Rules {
            scope: Scope::Sender,
            any_mid: true,
            ..Rules::default()
        };
        let mut room = Room::open(Shared::default(), options("hub"), rules, NOW).unwrap();
        for agent in AGENTS {
            room.enter(Shared::default(), options(agent)).unwrap();
        }
        assert!(room.rest().unwrap());
        let mut host = Self {
            room,
            registry,
            sequence: 1,
            written: 0,
        };
        host.room.host.inbox.clear();
        host
    }

    /// Lets the member send a message. Returns what the handler of the host reads, with the values
    /// that its references lead to.
    pub(crate) fn send(
        &mut self,
        message: &DynamicFrame<'static>,
    ) -> Result<DynamicFrame<'static>, ErrorCode> {
        let mut message = message.clone();
        message.agent = AgentId::new(AGENTS[0]).unwrap();
        let outbound = Outbound::message(&message);
        let now = self.room.now;
        if let Err(error) = self.room.members[0].driver.send(&outbound, now) {
            return Err(code(&error));
        }
        assert!(self.room.rest().unwrap());
        self.delivered()
            .map_err(|code| code.expect("a frame of a session can be read"))
    }

    /// Hands the host a frame in the name of the other member, with the id and the number that the host expects. A
    /// refusal has no code if the host does not answer the sender, for example after an unreadable error.
    pub(crate) fn receive(
        &mut self,
        text: &str,
    ) -> Result<DynamicFrame<'static>, Option<ErrorCode>> {
        let text = self.in_turn(text);
        let (now, from) = (self.room.now, self.room.members[1].id);
        let host = &mut self.room.host;
        host.events.clear();
        host.driver.receive(from, text.as_bytes(), now).unwrap();
        host.carry_out(now).unwrap();
        let delivered = self.delivered();
        if delivered.is_ok() {
            self.sequence += 1;
        }
        delivered
    }

    /// Returns the frame with the envelope that the host expects. A text that is not a frame stays unchanged.
    fn in_turn(&mut self, text: &str) -> String {
        let Ok(envelope) = Frame::parse(text).and_then(|frame| frame.envelope()) else {
            return text.to_owned();
        };
        self.written += 1;
        let envelope = Envelope {
            msg_id: Some(format!("by-hand-{}", self.written).into()),
            sequence: Some(self.sequence),
            timestamp: Some(NOW.as_secs()),
            session_id: envelope.session_id.as_ref().map(|_| SESSION.into()),
            ..envelope
        };
        let end = text.rfind("}[").map_or(text.len(), |at| at + 1);
        let start = text.find('>').unwrap_or_default();
        let mut in_turn = format!("@{}{}", AGENTS[1], &text[start..end]);
        envelope.write(&mut in_turn).unwrap();
        in_turn
    }

    /// Returns the frame that came to the handler, or the code with which the host refused the frame.
    fn delivered(&mut self) -> Result<DynamicFrame<'static>, Option<ErrorCode>> {
        let host = &mut self.room.host;
        if let Some(inbound) = host.inbox.pop() {
            assert!(host.inbox.is_empty(), "one frame at a time");
            let position = inbound.position();
            let whole = self.whole(&inbound);
            let now = self.room.now;
            let session = self.room.host.driver.session_mut().unwrap();
            session.handled(position, &[], now).unwrap();
            return Ok(whole);
        }
        let code = |event: &Event| match event {
            Event::Rejected(_, _, code) => Some(*code),
            _ => None,
        };
        Err(host.events.iter().find_map(code))
    }

    /// Returns the message with the values that its cold references lead to.
    fn whole(&mut self, inbound: &Inbound) -> DynamicFrame<'static> {
        let registry = Arc::clone(&self.registry);
        let mut message = inbound.message(&registry).unwrap().into_owned();
        let mut found = false;
        for (_, value) in message.payload.iter_mut() {
            found |= self.fetch(value);
        }
        if !found {
            return message;
        }
        // Cold state has a value without the type of its field. Reading the frame again restores
        // the type.
        let options = EncodeOptions {
            limits: Limits::NONE,
            inline: true,
            ..EncodeOptions::default()
        };
        let text = message.encode_with(&registry, options).unwrap();
        let options = accp_runtime::DecodeOptions {
            limits: Limits::NONE,
            marks: true,
        };
        DynamicFrame::decode_with(&text, &registry, &options)
            .unwrap()
            .into_owned()
    }

    fn fetch(&mut self, value: &mut Value<'static>) -> bool {
        match value {
            Value::Ref(key) => {
                let Some(reference) = Reference::parse(key) else {
                    return false;
                };
                let found = self.room.host.driver.read(&reference).unwrap();
                *value = found.unwrap_or_else(|| panic!("the bytes of ${reference} are not here"));
                true
            }
            Value::Array(items) => items
                .iter_mut()
                .fold(false, |found, item| self.fetch(item) | found),
            Value::Map(map) => map
                .iter_mut()
                .fold(false, |found, (_, item)| self.fetch(item) | found),
            _ => false,
        }
    }
}

fn code(error: &DriverError) -> ErrorCode {
    error.code().unwrap_or_else(|| panic!("{error}"))
}
