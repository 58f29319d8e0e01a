//! The encoding pipeline (draft section 7.2), from a message to the frames that carry it.

use std::borrow::Cow;

use accp_registry::ErrorCode;

use crate::delivery::parts::{Part, Split, split};
use crate::interface::outbound::{A_TAKER, Content, Outbound, SendError, TO, To};
use crate::interface::output::Cold;
use crate::log::mid::{MemberId, Mid};
use crate::reference::UNBOUNDED;
use crate::wire::addressee::names_agent;
use crate::wire::control::{Control, put_key};
use accp_context::Time;
use accp_frame::{
    AgentId, DynamicFrame, EncodeError, EncodeFrame, EncodeOptions, Envelope, External, Externals,
    Frame, FrameTokenLimits, FrameTokens, Intent, Limits, Map, Registry, TokenCounter, TokenLimit,
    Value, Within, Writer,
};

/// The greatest number of values that one frame announces, at 45 tokens each.
const ANNOUNCED: usize = 4;

/// The data of a session that encoding needs.
pub(crate) struct Encoder<'s> {
    pub registry: &'s Registry,
    pub limits: Limits,
    pub frame_tokens: FrameTokenLimits,
    pub counter: Option<&'s dyn TokenCounter>,
    pub agent: &'s AgentId<'static>,
    /// The agent that announces the values; `None` if the sender of the message does.
    pub announcer: Option<&'s AgentId<'static>>,
    pub session: &'s str,
    pub member: MemberId,
    /// The number of the last value that this member put into cold state.
    pub last_put: u64,
    pub peer: Peer,
    pub now: Time,
}

/// The forms in which the other side can take a message that is too large for one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// The other side reads values by reference.
    References,
    /// The other side also puts parts together.
    Parts,
    /// The other side knows only the draft, so the frame itself has all values.
    Draft,
}

/// The frames of one message, in the order in which they must be sent.
#[derive(Debug, Default)]
pub(crate) struct Encoded {
    pub values: Vec<Cold>,
    pub frames: Vec<Composed>,
    /// The parts of the frame (such as `body`) that are over their soft limits, each with its tokens and the limit.
    pub over_soft: Vec<(&'static str, usize, TokenLimit)>,
}

/// A frame that lacks only `mid` and `seq`.
#[derive(Debug, Clone)]
pub(crate) struct Composed {
    pub head: String,
    pub tail: String,
    /// The index of the part, and the number of parts.
    pub part: Option<(u16, u16)>,
}

impl Composed {
    pub(crate) fn whole(head: String, tail: String) -> Self {
        Self {
            head,
            tail,
            part: None,
        }
    }

    /// Returns the pairs after `mid` and `seq`; `of` is the id of the first part.
    pub(crate) fn tail(&self, of: Option<&Mid>) -> String {
        match (self.part, of) {
            (Some((index, total)), Some(of)) => {
                let of = of.clone();
                format!("{},{}", self.tail, Part { index, total, of })
            }
            _ => self.tail.clone(),
        }
    }

    /// Returns the text without `mid` and `seq`.
    pub(crate) fn unnumbered(&self) -> String {
        let pairs = self.tail.strip_prefix(',').unwrap_or(&self.tail);
        format!("{}[{pairs}]", self.head)
    }

    /// Returns the whole text.
    pub(crate) fn text(&self, mid: &Mid, sequence: u64, of: Option<&Mid>) -> String {
        let tail = self.tail(of);
        format!("{}[mid:{mid},seq:{sequence}{tail}]", self.head)
    }
}

/// Collects and numbers the values that go by reference.
#[derive(Debug)]
struct Puts {
    member: MemberId,
    last: u64,
    values: Vec<Cold>,
}

impl Externals for Puts {
    fn put(&mut self, external: External<'_, '_>) -> Result<String, EncodeError> {
        Ok(self.keep(external.value))
    }
}

impl Puts {
    fn keep(&mut self, value: &Value<'_>) -> String {
        self.last += 1;
        let key = format!("k{}_{}", self.member, self.last);
        let bytes = value.to_string().into_bytes();
        self.values.push(Cold::of(key.clone(), bytes));
        format!("cold.{key}")
    }
}

impl Encoder<'_> {
    /// Does the seven steps, in order.
    ///
    /// # Errors
    /// The error of the step that fails; then nothing has changed.
    pub(crate) fn encode(&self, outbound: &Outbound<'_>) -> Result<Encoded, SendError> {
        let mut puts = Puts {
            member: self.member,
            last: self.last_put,
            values: Vec::new(),
        };
        let agent = match &outbound.agent {
            Some(agent) => AgentId::new(String::from(&**agent))?,
            None => self.agent.clone(),
        };
        let mut envelope = self.envelope(outbound);
        // Steps 1 to 4: schema, abbreviations, references for large values, defaults.
        let mut head = self.write(outbound, &agent, &envelope, &mut puts)?;
        if matches!(outbound.to, To::Taker) && !self.names_agent(outbound, &head) {
            envelope.extra.insert(TO, Value::from(A_TAKER));
        }
        let tail = tail_of(&envelope)?;
        let mut over_soft = Vec::new();
        let mut parts = None;
        if let Some(counter) = self.counter {
            // Step 5: the tokens are counted.
            let mut tokens = Self::count(&head, &tail, counter)?;
            // Step 6: over the limits, the frame is split into parts, or its largest values go to
            // cold state.
            if self.is_over(&tokens) && self.peer != Peer::Draft {
                let text = format!("{head}[mid:0,seq:0{tail}]");
                let mut message = DynamicFrame::decode(&text, self.registry)
                    .map_err(|error| EncodeError::new(error.code(), error.to_string()))?
                    .into_owned();
                while self.is_over(&tokens) {
                    parts = self.split(&head, &tokens, counter)?;
                    if parts.is_some() {
                        break;
                    }
                    externalise_largest(&mut message, &mut puts, &self.frame_tokens, &tokens)?;
                    head = head_of(&message.encode_with(self.registry, self.unlimited())?).into();
                    tokens = Self::count(&head, &tail, counter)?;
                }
            }
            let counts = match &parts {
                None => vec![tokens],
                Some(heads) => {
                    let each = heads.iter().map(|head| Self::count(head, &tail, counter));
                    each.collect::<Result<_, _>>()?
                }
            };
            let each = counts
                .iter()
                .flat_map(|tokens| tokens.against(&self.frame_tokens));
            over_soft = each
                .filter(|(_, _, _, within)| *within != Within::Soft)
                .map(|(part, tokens, limit, _)| (part, tokens, limit))
                .collect();
        }
        // Step 7: the frames. The announcements of their values come first.
        let mut frames = Vec::new();
        let announcer = self.announcer.unwrap_or(&agent);
        for values in puts.values.chunks(ANNOUNCED) {
            frames.push(self.announce(announcer, values)?);
        }
        match parts {
            None => frames.push(Composed::whole(head, tail)),
            Some(heads) => {
                let total = heads.len() as u16;
                frames.extend((1..).zip(heads).map(|(index, head)| Composed {
                    head,
                    tail: tail.clone(),
                    part: Some((index, total)),
                }));
            }
        }
        Ok(Encoded {
            values: puts.values,
            frames,
            over_soft,
        })
    }

    /// Returns the frame in parts, if the other side takes parts and every value fits in one.
    fn split(
        &self,
        head: &str,
        tokens: &FrameTokens,
        counter: &dyn TokenCounter,
    ) -> Result<Option<Vec<String>>, EncodeError> {
        if self.peer != Peer::Parts {
            return Ok(None);
        }
        let limits = &self.frame_tokens;
        match split(head, self.registry, limits, counter, tokens.metadata)? {
            Split::Parts(parts) => Ok(Some(parts)),
            Split::Whole | Split::TooLarge(_) => Ok(None),
        }
    }

    fn unlimited(&self) -> EncodeOptions<'static> {
        EncodeOptions {
            limits: self.limits,
            inline: true,
            strict: false,
            externals: None,
        }
    }

    /// Returns the envelope, in which `mid` and `seq` are placeholders for schemas that require
    /// them.
    fn envelope(&self, outbound: &Outbound<'_>) -> Envelope<'static> {
        let mut extra = Map::new();
        match &outbound.to {
            // A field of the frame may name the agent, so the caller decides this once the fields are written.
            To::Unsaid | To::Taker => {}
            To::Anybody => {
                extra.insert(TO, Value::Null);
            }
            To::Agent(name) => {
                extra.insert(TO, Value::from(name.clone()));
            }
        }
        Envelope {
            msg_id: Some(Cow::Borrowed("0")),
            sequence: Some(0),
            timestamp: Some(self.now.as_secs()),
            correlation_id: outbound.cid.clone().map(Cow::Owned),
            causation_id: outbound.aid.clone().map(Cow::Owned),
            session_id: self
                .names_session(outbound)
                .then(|| self.session.to_owned().into()),
            ttl: outbound.ttl,
            extra,
        }
    }

    /// Returns whether a field of the frame names the agent that the frame is for.
    fn names_agent(&self, outbound: &Outbound<'_>, head: &str) -> bool {
        let (intent, operation) = outbound.kind();
        let kind = [intent.as_str(), operation];
        let mut specs = self
            .registry
            .schemas()
            .filter_map(|schema| schema.frame(&kind));
        // Looking at the registry costs less than reading the frame again, so it comes first.
        specs.any(|spec| spec.to.is_some()) && names_agent(self.registry, head)
    }

    /// Returns whether the frame must name its session.
    fn names_session(&self, outbound: &Outbound<'_>) -> bool {
        let message: &DynamicFrame<'_> = match &outbound.content {
            Content::Typed(frame) => return frame.frame_type().envelope.contains(&"sid"),
            Content::Owned(frame) => return frame.frame_type().envelope.contains(&"sid"),
            Content::Message(message) => message,
            Content::OwnedMessage(message) => message,
        };
        let head = [message.intent.as_str(), &*message.operation];
        let schema = message.schema_in(self.registry);
        let spec = schema.and_then(|schema| schema.frame(&head));
        spec.is_some_and(|spec| spec.envelope.iter().any(|field| field == "sid"))
    }

    fn write(
        &self,
        outbound: &Outbound<'_>,
        agent: &AgentId<'static>,
        envelope: &Envelope<'static>,
        puts: &mut Puts,
    ) -> Result<String, EncodeError> {
        let frame: &dyn EncodeFrame = match &outbound.content {
            Content::Typed(frame) => *frame,
            Content::Owned(frame) => &**frame,
            Content::Message(message) => {
                return self.write_message(message, agent, envelope, self.options(outbound, puts));
            }
            Content::OwnedMessage(message) => {
                return self.write_message(message, agent, envelope, self.options(outbound, puts));
            }
        };
        let write = |options: EncodeOptions<'_>| {
            let mut text = String::with_capacity(256);
            let fields = |w: &mut Writer<'_, '_>| frame.encode_fields(w);
            Writer::new(&mut text, options)
                .frame(agent, frame.frame_type(), envelope, fields)
                .map(|()| text)
        };
        let before = (puts.last, puts.values.len());
        let error = match write(self.options(outbound, puts)) {
            Ok(text) => return Ok(head_of(&text).into()),
            Err(error) => error,
        };
        if self.peer == Peer::Draft || error.code() != ErrorCode::PARSE_ERROR {
            return Err(error);
        }
        puts.last = before.0;
        puts.values.truncate(before.1);
        // A value that the registry keeps in the frame may be too long for one frame. But the frame
        // can be split into parts.
        let whole = write(EncodeOptions {
            limits: Limits::NONE,
            ..self.unlimited()
        })?;
        let Ok(message) = DynamicFrame::decode_with(&whole, self.registry, &UNBOUNDED) else {
            return Err(error);
        };
        self.write_message(&message, agent, envelope, self.options(outbound, puts))
    }

    fn options<'p>(&self, outbound: &Outbound<'_>, puts: &'p mut Puts) -> EncodeOptions<'p> {
        let by_reference = self.peer != Peer::Draft;
        EncodeOptions {
            limits: self.limits,
            inline: !by_reference,
            strict: outbound.strict,
            externals: by_reference.then_some(puts),
        }
    }

    fn write_message(
        &self,
        message: &DynamicFrame<'_>,
        agent: &AgentId<'_>,
        envelope: &Envelope<'_>,
        options: EncodeOptions<'_>,
    ) -> Result<String, EncodeError> {
        let message = DynamicFrame {
            agent: agent.clone(),
            envelope: envelope.clone(),
            ..message.clone()
        };
        let text = message.encode_with(self.registry, options)?;
        Ok(head_of(&text).into())
    }

    fn count(
        head: &str,
        tail: &str,
        counter: &dyn TokenCounter,
    ) -> Result<FrameTokens, EncodeError> {
        let text = format!("{head}[mid:101000001001,seq:1000{tail}]");
        let frame = Frame::parse(&text)
            .map_err(|error| EncodeError::new(error.code(), error.to_string()))?;
        Ok(FrameTokens::count(&frame, counter))
    }

    fn is_over(&self, tokens: &FrameTokens) -> bool {
        tokens.body > self.frame_tokens.body.hard || tokens.total > self.frame_tokens.total.hard
    }

    /// Writes `@a>sync:put{keys:[[k101_5,SHA-256,length],..]}`, which goes ahead of the frames that
    /// refer to the values.
    fn announce(&self, agent: &AgentId<'static>, values: &[Cold]) -> Result<Composed, SendError> {
        let values = values.iter();
        let values = values.map(|value| (value.key.clone(), value.digest, value.length));
        let put = Control::Put {
            values: values.collect(),
        };
        let text = put.encode(agent, Envelope::default())?;
        let tail = format!(",ts:{}", self.now.as_secs());
        Ok(Composed::whole(text, tail))
    }
}

/// Moves the largest value out of the frame.
fn externalise_largest(
    message: &mut DynamicFrame<'static>,
    puts: &mut Puts,
    limits: &FrameTokenLimits,
    tokens: &FrameTokens,
) -> Result<(), EncodeError> {
    let size = |value: &Value<'_>| match value {
        Value::Ref(_) => 0,
        value => value.to_string().len(),
    };
    let is_state = message.intent == Intent::SYNC && message.operation == "state";
    let mut values = Vec::new();
    for (_, value) in message.payload.iter_mut() {
        // The shared state has to be readable at once; only the values in it may go by reference.
        if is_state && matches!(value, Value::Map(_)) {
            if let Value::Map(entries) = value {
                values.extend(entries.iter_mut().map(|(_, value)| value));
            }
        } else {
            values.push(value);
        }
    }
    let sized = values.into_iter().map(|value| (size(value), value));
    let largest = sized.max_by_key(|(size, _)| *size);
    match largest {
        // A reference itself takes about a dozen characters, so replacing a shorter value saves
        // nothing.
        Some((size, value)) if size > 12 => {
            *value = Value::Ref(Cow::Owned(puts.keep(value)));
            Ok(())
        }
        _ => Err(EncodeError::new(
            ErrorCode::BUDGET_EXCEEDED,
            format!(
                "the frame takes {} tokens, {} of them its body, even with its large values \
                 in cold state; the limits are {} and {}: send less at once",
                tokens.total, tokens.body, limits.total.hard, limits.body.hard
            ),
        )),
    }
}

/// Returns the number of the last value that these messages announce, or `last` if that is greater.
pub(crate) fn last_put_of(frames: &[Encoded], last: u64) -> u64 {
    frames
        .iter()
        .flat_map(|encoded| &encoded.values)
        .filter_map(|value| put_key(&value.key))
        .map(|(_, number)| number)
        .fold(last, u64::max)
}

/// Returns a frame up to its metadata. An unescaped `}[` stands only behind the payload.
pub(crate) fn head_of(text: &str) -> &str {
    match text.rfind("}[") {
        Some(at) => &text[..=at],
        None => text,
    }
}

/// Returns the pairs after `mid` and `seq`, each with its comma in front.
pub(crate) fn tail_of(envelope: &Envelope<'_>) -> Result<String, EncodeError> {
    let rest = Envelope {
        msg_id: None,
        sequence: None,
        ..envelope.clone()
    };
    let mut out = String::new();
    rest.write(&mut out)?;
    let pairs = out.strip_prefix('[').and_then(|out| out.strip_suffix(']'));
    Ok(match pairs {
        Some(pairs) => format!(",{pairs}"),
        None => String::new(),
    })
}
