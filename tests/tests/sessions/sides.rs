//! Helpers for one side of a session, and a host whose members the test plays by hand.

use std::sync::{Arc, LazyLock};

use accp_registry::Schema;
use accp_runtime::context::{Checkpoint, CheckpointHooks};
use accp_runtime::profiles::ErrorFail;
use accp_runtime::session::{
    Answer, Event, Hooks, Inbound, Input, InputError, MemberId, Mid, Options, Rules, Scope,
    Session, State, Time, Transmit,
};
use accp_runtime::{
    AgentId, DecodeOptions, DynamicFrame, Envelope, ErrorCode, Frame, FrameTokens, Limits, Map,
    Registry, TokenCounter, Typed, Value,
};
use accp_session::{Cold, Entry, EntryKind, Output, Stored, read_value};
use accp_store::{SideId, Store};
use accp_testkit::Shared;
pub(crate) use accp_testkit::Side;
use accp_tokens::Bpe;

pub(crate) const SESSION: &str = "s1";
/// The host's side.
pub(crate) static HUB: LazyLock<SideId> = LazyLock::new(|| SideId::new(SESSION, "hub"));
pub(crate) const NOW: Time = Time::from_secs(1_714_000_000);

pub(crate) static STANDARD: LazyLock<Arc<Registry>> =
    LazyLock::new(|| Arc::new(Registry::standard()));
static BPE: LazyLock<Arc<Bpe>> = LazyLock::new(|| Arc::new(Bpe::o200k_base()));

/// Counts the tokens of a text.
pub(crate) fn tokens(text: &str) -> usize {
    BPE.count(text)
}

/// Counts the tokens of a frame, part by part.
pub(crate) fn frame_tokens(text: &str) -> FrameTokens {
    FrameTokens::count(&Frame::parse(text).unwrap(), &**BPE)
}

pub(crate) fn member(number: u16) -> MemberId {
    MemberId::new(number).unwrap()
}

/// Returns the options of an agent that counts no tokens.
pub(crate) fn options(agent: &'static str) -> Options {
    let agent = AgentId::new(agent).unwrap();
    Options::new(SESSION, agent, Arc::clone(&STANDARD))
}

/// Returns the options of an agent that counts tokens.
pub(crate) fn counting(agent: &'static str) -> Options {
    options(agent).counting(BPE.clone())
}

/// Returns rules with this numbering of frames.
pub(crate) fn rules(scope: Scope) -> Rules {
    Rules {
        scope,
        ..Rules::default()
    }
}

/// Returns a message without payload.
pub(crate) fn dynamic<'a>(agent: &'a str, intent: &str, operation: &'a str) -> DynamicFrame<'a> {
    DynamicFrame::new(agent, intent, operation).unwrap()
}

/// Returns a request with a number, by which the test knows it.
pub(crate) fn plan(agent: &'static str, n: i64) -> DynamicFrame<'static> {
    dynamic(agent, "req", "plan").with("n", n)
}

/// Returns a list of this many numbers, which takes twice as many tokens.
pub(crate) fn numbers(count: usize) -> Value<'static> {
    Value::from((0..count as i64).map(Value::from).collect::<Vec<_>>())
}

/// Returns a store in which a host has begun a log that has no key.
pub(crate) fn keyless(host: &Options, rules: &Rules) -> Shared {
    let (mut store, id) = (Shared::default(), SideId::new(&host.session, &host.agent));
    let mut session = Session::host(host.clone(), rules.clone(), NOW);
    store.load(&id).unwrap();
    while let Some(output) = session.poll() {
        if let Output::Batch(batch) = output {
            store.commit(&[(&id, &batch)]).unwrap();
        }
    }
    store
}

/// Opens a host for frames that the test writes by hand. They come from `@dev`, member 101, and
/// `@qa`, member 102.
pub(crate) fn open_host(options: Options, rules: Rules) -> Side {
    let (store, id) = (Shared::default(), MemberId::HOST);
    let mut host = Side::open(id, store, Vec::new(), options, Some(rules), NOW).unwrap();
    for agent in ["dev", "qa"] {
        let agent = AgentId::new(agent).unwrap();
        host.driver.join(&agent, NOW).unwrap();
    }
    assert_eq!(host.carries_out(NOW), []);
    host.greets(NOW);
    host
}

/// Returns whether the frame is an entry of the log, on its way to a member.
pub(crate) fn is_relay(text: &str) -> bool {
    text.contains(",by:")
}

/// Returns the hello of a member without extensions, so without a proof about the log.
pub(crate) fn hello(agent: &str, position: u64) -> String {
    format!("@{agent}>sync:registry{{hash:a32838|pos:{position}|v:1}}[mid:910100000001,seq:0]")
}

/// Actions and queries of a test on a side.
pub(crate) trait Node {
    fn it(&self) -> &Side;
    fn it_mut(&mut self) -> &mut Side;

    fn session_mut(&mut self) -> &mut Session {
        self.it_mut().driver.session_mut().unwrap()
    }

    /// Carries out all waiting work, and returns the sent frames.
    fn carries_out(&mut self, now: Time) -> Vec<Transmit> {
        self.it_mut().carry_out(now).unwrap();
        self.it_mut().left()
    }

    fn is_taken(&mut self, input: Input<'_>, now: Time) {
        assert_eq!(self.session_mut().handle(input, now), Ok(Answer::Done));
    }

    fn phase(&mut self, now: Time) -> Option<Checkpoint> {
        match self.session_mut().handle(Input::Phase, now).unwrap() {
            Answer::Checkpoint(checkpoint) => checkpoint.map(|checkpoint| *checkpoint),
            other => panic!("{other:?}"),
        }
    }

    fn grant(&mut self, session: &str, key: &str, now: Time) {
        self.is_taken(Input::Grant { session, key }, now);
    }

    fn expire(&mut self, keys: &[&str], now: Time) {
        self.is_taken(Input::Expire(keys), now);
    }

    fn leave(&mut self, member: MemberId, now: Time) {
        self.is_taken(Input::Leave(member), now);
    }

    fn connected(&mut self) {
        self.is_taken(Input::Connected(MemberId::HOST), self.it().session().now());
    }

    fn disconnected(&mut self, member: MemberId) {
        self.is_taken(Input::Disconnected(member), self.it().session().now());
    }

    fn hooks(&mut self, hooks: impl CheckpointHooks + Send + 'static) {
        let hooks = Hooks(Box::new(hooks));
        self.is_taken(Input::Hooks(hooks), self.it().session().now());
    }

    fn register(&mut self, schema: Schema, now: Time) -> Result<(), InputError> {
        let taken = self
            .session_mut()
            .handle(Input::Register(Box::new(schema)), now);
        taken.map(|answer| assert_eq!(answer, Answer::Done))
    }

    fn join_as(
        &mut self,
        agents: &[&str],
        supervisor: bool,
        now: Time,
    ) -> Result<Answer, InputError> {
        let agents: Vec<_> = agents.iter().map(|a| AgentId::new(*a).unwrap()).collect();
        let agents = &agents[..];
        self.session_mut()
            .handle(Input::Join { agents, supervisor }, now)
    }

    fn state(&self) -> &State {
        self.it().session().state()
    }

    /// Returns the log of this side.
    fn log(&mut self) -> Vec<Entry> {
        self.log_from(1)
    }

    fn log_from(&mut self, position: u64) -> Vec<Entry> {
        let side = self.it_mut();
        let entries = side.store.entries(side.driver.side(), position, usize::MAX);
        entries.unwrap()
    }

    /// Returns the entries of accepted frames.
    fn frames(&mut self) -> Vec<Entry> {
        let is_frame = |entry: &Entry| entry.kind == EntryKind::Frame;
        self.log().into_iter().filter(is_frame).collect()
    }

    fn cold(&mut self, key: &str) -> Option<Cold> {
        let side = self.it_mut();
        let kept = side.store.cold(side.driver.side(), key).unwrap();
        kept.map(|kept| kept.value)
    }

    /// Returns the bytes under a cold key, as text.
    fn cold_text(&mut self, key: &str) -> Option<String> {
        let bytes = self.cold(key)?.bytes?;
        Some(String::from_utf8(bytes.to_vec()).unwrap())
    }

    /// Returns the texts of the delivered frames, and marks the frames handled.
    fn handle_all(&mut self, now: Time) -> Vec<String> {
        let inbound = std::mem::take(&mut self.it_mut().inbox);
        let texts = inbound
            .iter()
            .map(|inbound| inbound.text().to_owned())
            .collect();
        for inbound in inbound {
            self.session_mut()
                .handled(inbound.position(), &[], now)
                .unwrap();
        }
        texts
    }

    /// Returns the stored data of this side.
    fn stored(&mut self) -> Stored {
        let side = self.it_mut();
        side.store.load(side.driver.side()).unwrap().unwrap()
    }

    /// Opens the side again from its store, with these options.
    fn reopen_as(&mut self, options: Options) {
        self.it_mut().options = options;
        self.it_mut().restart(NOW).unwrap();
    }

    /// Opens the side again, and carries out its first work. The members of a host say hello.
    fn restart_as(&mut self, options: Options) {
        self.reopen_as(options);
        self.carries_out(NOW);
        self.greets(NOW);
        self.it_mut().inbox.clear();
    }

    /// Lets the members say hello to the host. Their hellos say that they have the whole log.
    fn greets(&mut self, now: Time) {
        let session = self.it().session();
        let (position, members) = (session.position(), session.state().members());
        let present = members.filter(|(id, party)| *id != MemberId::HOST && party.present);
        let hellos: Vec<_> = present
            .filter(|_| session.is_host())
            .map(|(id, party)| (id, hello(&party.agents[0], position)))
            .collect();
        for (id, hello) in hellos {
            self.session_mut().receive(id, hello.as_bytes(), now);
        }
        self.carries_out(now);
    }

    /// Returns the payload of a frame, with every reference into cold state followed.
    fn payload(&mut self, text: &str) -> Map<'static> {
        let message = DynamicFrame::decode(text, &STANDARD).unwrap();
        let mut payload = message.payload.into_owned();
        for (_, value) in payload.iter_mut() {
            *value = self.follow(value);
        }
        payload
    }

    /// Returns the target of a reference into cold state, or any other value unchanged.
    fn follow(&mut self, value: &Value<'_>) -> Value<'static> {
        let Value::Ref(key) = value else {
            return value.clone().into_owned();
        };
        let text = self.cold_text(key.strip_prefix("cold.").unwrap()).unwrap();
        read_value(text.as_bytes()).unwrap().into_owned()
    }

    /// Gives a text from a member to the side, and returns what the side does then.
    fn hears(&mut self, from: u16, text: &str, now: Time) -> Heard {
        let last = self.it().session().position();
        self.it_mut().inbox.clear();
        self.it_mut().events.clear();
        self.session_mut()
            .receive(member(from), text.as_bytes(), now);
        let (sends, others) = self
            .carries_out(now)
            .into_iter()
            .partition::<Vec<_>, _>(|send| send.to == member(from));
        Heard {
            sends: sends.into_iter().map(|send| send.text).collect(),
            others,
            entries: self.log_from(last + 1),
            inbound: std::mem::take(&mut self.it_mut().inbox),
            events: std::mem::take(&mut self.it_mut().events),
        }
    }

    /// Checks that the host accepts the frame and acknowledges it.
    fn takes(&mut self, from: u16, text: &str) -> Heard {
        let heard = self.hears(from, text, NOW);
        let mid = mid_of(text).unwrap();
        let Some(ack) = heard.sends.first() else {
            panic!("{text}: {heard:?}");
        };
        assert!(ack.starts_with("@hub>ack:frame{}["), "{text}: {ack}");
        assert_eq!(of(ack), Some(mid), "{text}: {ack}");
        heard
    }

    /// Checks that the host refuses the frame and changes nothing else: neither its state nor the
    /// next numbers.
    fn refuses(&mut self, from: u16, text: &str) -> Refused {
        let before = self.state().clone();
        let heard = self.hears(from, text, NOW);
        let [send] = &heard.sends[..] else {
            panic!("{text}: {heard:?}");
        };
        let refused = Refused::read(send);
        assert_eq!(refused.of, mid_of(text), "{text}: {send}");
        assert!(heard.others.is_empty(), "{text}: {:?}", heard.others);
        assert_eq!(*self.state(), before, "{text}");
        assert!(heard.inbound.is_empty(), "{text}");
        let is_refusal = |entry: &Entry| matches!(entry.kind, EntryKind::Refused(_));
        assert!(
            heard.entries.iter().all(is_refusal),
            "{text}: {:?}",
            heard.entries
        );
        refused
    }

    /// Checks that the host sends nothing, and that the text changes nothing except perhaps the
    /// log.
    fn ignores(&mut self, from: u16, text: &str, now: Time) -> Heard {
        let before = self.state().clone();
        let heard = self.hears(from, text, now);
        // The host may still send earlier entries.
        let sends = heard.sends.iter().find(|text| !is_relay(text));
        let others = heard.others.iter().find(|send| !is_relay(&send.text));
        assert_eq!((sends, others), (None, None), "{text}");
        assert!(heard.inbound.is_empty(), "{text}");
        assert_eq!(*self.state(), before, "{text}");
        heard
    }
}

impl Node for Side {
    fn it(&self) -> &Side {
        self
    }

    fn it_mut(&mut self) -> &mut Side {
        self
    }
}

/// What a side does when it receives a text.
#[derive(Debug)]
pub(crate) struct Heard {
    /// Frames to the sender of the received text.
    pub(crate) sends: Vec<String>,
    /// Frames to the other sides.
    pub(crate) others: Vec<Transmit>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) inbound: Vec<Inbound>,
    pub(crate) events: Vec<Event>,
}

impl Heard {
    /// Returns the checkpoints that the text caused, as the log has them.
    pub(crate) fn checkpoints(&self) -> Vec<Checkpoint> {
        self.entries.iter().filter_map(checkpoint).collect()
    }
}

/// Returns the checkpoint of an entry, if the entry is a checkpoint.
pub(crate) fn checkpoint(entry: &Entry) -> Option<Checkpoint> {
    let is_it = entry.kind == EntryKind::Control && entry.text.contains(">sync:checkpoint{");
    is_it.then(|| Checkpoint::decode(&entry.text).unwrap())
}

/// An error that a host has answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) of: Option<Mid>,
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    pub(crate) expected_sequence: Option<i64>,
    pub(crate) version: Option<i64>,
    pub(crate) holder: Option<i64>,
    pub(crate) sequence: Option<i64>,
}

impl Refused {
    fn read(text: &str) -> Self {
        let typed = Typed::<ErrorFail<'_>>::decode(text).unwrap();
        let error = typed.frame;
        Self {
            of: of(text),
            code: error.code.parse().unwrap(),
            message: error.msg.into_owned(),
            expected_sequence: error.expected_sequence,
            version: error.version,
            holder: error.holder,
            sequence: error.sequence,
        }
    }
}

const UNLIMITED: DecodeOptions = DecodeOptions {
    limits: Limits::NONE,
    marks: true,
};

/// Returns the envelope of a readable frame.
pub(crate) fn envelope(text: &str) -> Option<Envelope<'static>> {
    let frame = Frame::parse_with(text, &UNLIMITED).ok()?;
    let envelope = frame.envelope().ok()?;
    Some(envelope.into_owned())
}

/// Returns the `mid` of a readable frame.
pub(crate) fn mid_of(text: &str) -> Option<Mid> {
    Some(Mid::parse(&envelope(text)?.msg_id?))
}

/// Returns the `of` of a link frame.
pub(crate) fn of(text: &str) -> Option<Mid> {
    match envelope(text)?.extra.get("of")? {
        Value::Null => None,
        Value::String(of) => Some(Mid::parse(of)),
        of => Some(Mid::parse(&of.to_string())),
    }
}

/// Returns a frame of member 101 with its n-th id and the number `seq`. `head` is the text up to
/// the metadata, and `more` follows `ts`.
pub(crate) fn frame(head: &str, n: u32, seq: u64, more: &str) -> String {
    format!(
        "{head}[mid:101000001{n:03},seq:{seq},ts:{}{more}]",
        NOW.as_secs()
    )
}
