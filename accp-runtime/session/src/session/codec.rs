//! The codec API of the draft (section 7), on a session.

use std::borrow::Cow;

use crate::send::compose::EncodedFrames;
use accp_registry::Schema;

use crate::interface::inbound::supply;
use crate::interface::input::{Answer, Input, InputError};
use crate::interface::outbound::{Outbound, SendError};
use crate::log::mid::Mid;
use crate::reference::{Reference, Walk, references};
use crate::session::Session;
use crate::state::locate::Located;
use crate::wire::scan::Scanned;
use accp_context::Time;
use accp_context::read_head;
use accp_context::{Checkpoint, TokenBudget};
use accp_frame::{DecodeError, DecodeOptions, DynamicFrame, Value};

/// `Encode`, `Decode`, `Checkpoint`, `GetBudget` and `RegisterSchema` of the draft (section
/// 7.1), under its names.
///
/// ```
/// use std::sync::Arc;
///
/// use accp_runtime::session::{Codec, Options, Outbound, Rules, Session, Time};
/// use accp_runtime::{AgentId, DynamicFrame, Registry};
///
/// let now = Time::from_secs(1_714_000_000);
/// let options = Options::new("s1", AgentId::new("hub")?, Arc::new(Registry::standard()));
/// let mut session = Session::host(options, Rules::default(), now);
/// let mut codec = Codec::new(&mut session);
///
/// let message = DynamicFrame::new("hub", "req", "plan")?.with("goal", "lunch");
/// let encoded = codec.encode(&Outbound::message(&message), now)?;
/// assert_eq!(encoded.frames, ["@hub>req:plan{goal:lunch}[mid:100000001001,seq:1,ts:1714000000]"]);
/// assert_eq!(codec.decode(&encoded.frames[0])?.payload, message.payload);
/// assert_eq!(codec.budget().to_string(), "hot 0/500, warm 0/2000, total 0/2500 tokens");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Codec<'s> {
    session: &'s mut Session,
}

impl<'s> Codec<'s> {
    /// Makes the codec of a session.
    pub fn new(session: &'s mut Session) -> Self {
        Self { session }
    }

    /// `Encode(message, session) -> Frame`: returns the frames that [`Session::send`] would send
    /// now. Sends nothing, and uses up no id or number.
    ///
    /// # Errors
    /// As [`Session::send`].
    pub fn encode(&self, outbound: &Outbound<'_>, now: Time) -> Result<EncodedFrames, SendError> {
        self.session.preview(outbound, now)
    }

    /// `Decode(frame, session) -> DynamicFrame`: does the six steps of the draft (section 7.3). Follows
    /// references into hot, warm and shared state. A reference into cold state stays, because its
    /// value has to be read from the store.
    ///
    /// # Errors
    /// As [`DynamicFrame::decode`], and E1004 when a reference leads to a value that does not have the type of its
    /// field.
    pub fn decode<'a>(&self, frame: &'a str) -> Result<DynamicFrame<'a>, DecodeError> {
        let side = self.session.side();
        // Step 1 of section 7.3: the text is checked against the whole grammar.
        let scanned = Scanned::new(frame, side.options.limits)?;
        // Steps 3 to 5: names and defaults are filled in, and the message is built.
        let options = DecodeOptions {
            limits: side.options.limits,
            marks: true,
        };
        let mut message = DynamicFrame::decode_with(frame, &side.options.registry, &options)?;
        // Step 2 comes last: the references get their values. The grammar does not depend on
        // these values.
        for key in references(scanned.head()) {
            if let Some(value) = self.session.resolve(key) {
                supply(&mut message, frame, key, &value, &side.options.registry)?;
            }
        }
        // Step 6: the caller gets the message for its context.
        Ok(message)
    }

    /// `GetBudget(session) -> TokenBudget`.
    pub fn budget(&self) -> TokenBudget {
        self.session.budget()
    }

    /// `Checkpoint(session) -> CheckpointResult`: `None` if the session has no token counter, or if a hook vetoes the
    /// checkpoint.
    ///
    /// # Errors
    /// [`InputError::HostOnly`] on a member.
    pub fn checkpoint(&mut self, now: Time) -> Result<Option<Checkpoint>, InputError> {
        match self.session.handle(Input::Phase, now)? {
            Answer::Checkpoint(checkpoint) => Ok(checkpoint.map(|checkpoint| *checkpoint)),
            _ => Ok(None),
        }
    }

    /// `RegisterSchema(name, schema)`.
    ///
    /// # Errors
    /// [`InputError::Schema`], and [`InputError::HostOnly`] on a member.
    pub fn register_schema(&mut self, schema: Schema, now: Time) -> Result<(), InputError> {
        self.session
            .handle(Input::Register(Box::new(schema)), now)?;
        Ok(())
    }
}

impl Session {
    /// Returns the value of a reference into hot, warm or shared state; `key` has no `$`. Returns
    /// `None` when the value has to be read from the store, or does not exist.
    pub fn resolve(&self, key: &str) -> Option<Value<'static>> {
        let reference = Reference::parse(key)?;
        let value = match self.state().locate(&reference).ok()? {
            Located::Here(value) if key.starts_with("warm.") => return Some(value),
            Located::Here(value) => value,
            Located::Hot(frame) => {
                let message = read_head(&frame, &self.options().registry).ok()?;
                Value::Map(message.payload)
            }
            _ => return None,
        };
        match reference.walk(&value)? {
            Walk::Value(found) => Some(found.clone().into_owned()),
            Walk::Reference { key, rest } => Some(Value::Ref(Cow::Owned(format!("{key}.{rest}")))),
        }
    }

    fn preview(&self, outbound: &Outbound<'_>, now: Time) -> Result<EncodedFrames, SendError> {
        let encoded = self.side().encode_all([outbound], self.peer(), now)?;
        let mut mids = self.side().mids.clone();
        let mut frames = Vec::new();
        let mut first: Option<Mid> = None;
        let composed = encoded.iter().flat_map(|encoded| &encoded.frames);
        for (sequence, composed) in (self.next_sequence()..).zip(composed) {
            let mid = mids.next().ok_or(SendError::IdsUsedUp)?;
            let of = composed
                .part
                .is_some()
                .then(|| first.get_or_insert_with(|| mid.clone()));
            frames.push(composed.text(&mid, sequence, of.as_deref()));
        }
        let values = encoded.into_iter().flat_map(|encoded| encoded.values);
        Ok(EncodedFrames {
            frames,
            values: values.collect(),
        })
    }
}
