//! An accepted frame on its way to a handler.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::reference::UNBOUNDED;
use accp_registry::ErrorCode;

use crate::interface::cancel::CancelToken;
use crate::log::mid::{MemberId, Mid};
use crate::wire::scan::Scanned;
use accp_context::Time;
use accp_frame::{
    DecodeError, DecodeFrame, DecodeOptions, DynamicFrame, EncodeOptions, FrameFamily, Header,
    Intent, Limits, Reader, Registry, Typed, Value,
};

/// An accepted frame of another member, for a handler on this side.
///
/// The session delivers the frame again after a restart, until
/// [`Session::handled`](crate::Session::handled) marks it handled.
///
/// ```
/// use accp_runtime::profiles::ScheduleReq;
/// # use accp_runtime::session::{CancelToken, Inbound, MemberId};
/// # let text = "@planner>req:schedule{asgn:dev|task:impl_auth|schema:TA}[mid:101000001001,seq:1,ts:0]";
/// # let inbound = Inbound::new(1, MemberId::HOST, text.into(), CancelToken::new());
/// let request = inbound.decode::<ScheduleReq>()?;
/// assert_eq!(request.frame.task, "impl_auth");
/// # Ok::<(), accp_runtime::DecodeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Inbound {
    position: u64,
    sender: MemberId,
    text: Arc<str>,
    cancel: CancelToken,
    redelivered: bool,
    /// When this side took the frame, by its own clock.
    at: Option<Time>,
    /// The text in which values replace the references, or the reason why a value cannot replace one.
    whole: Option<Result<Arc<str>, DecodeError>>,
}

impl Inbound {
    /// Makes a frame at its place in the log.
    pub fn new(position: u64, sender: MemberId, text: Arc<str>, cancel: CancelToken) -> Self {
        Self {
            position,
            sender,
            text,
            cancel,
            redelivered: false,
            at: None,
            whole: None,
        }
    }

    /// Sets when this side took the frame, by its own clock.
    pub(crate) fn taken_at(mut self, at: Time) -> Self {
        self.at = Some(at);
        self
    }

    pub(crate) fn again(mut self, redelivered: bool) -> Self {
        self.redelivered = redelivered;
        self
    }

    /// Returns whether a handler of this side may have had the frame before: the session was restored since then,
    /// and its store does not have the frame marked as handled. The session kept no result of that handler, but
    /// what the handler did elsewhere may have happened.
    pub fn redelivered(&self) -> bool {
        self.redelivered
    }

    /// Returns the position of the frame in the log. [`Session::handled`](crate::Session::handled) takes this position
    /// to mark the frame handled.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the member that sent the frame. A copy of an answer goes to a member that has repeated the request
    /// of a transaction, and counts as sent by that member.
    pub fn sender(&self) -> MemberId {
        self.sender
    }

    /// Returns the id of the frame. An answer to the frame names this id.
    ///
    /// # Errors
    /// When the frame breaks the grammar or has no id. Neither happens to a frame that a session delivered.
    pub fn mid(&self) -> Result<Mid, DecodeError> {
        let frame = Scanned::new(&self.text, Limits::NONE)?;
        let missing = || DecodeError::new(ErrorCode::PARSE_ERROR, self.text.len(), "a message id");
        frame.mid().cloned().ok_or_else(missing)
    }

    /// Returns the name of the chain of the frame: its `cid`, or its own id if the frame begins a chain.
    ///
    /// # Errors
    /// See [`mid`](Self::mid).
    pub fn chain(&self) -> Result<Mid, DecodeError> {
        let frame = Scanned::new(&self.text, Limits::NONE)?;
        frame.cid().cloned().map_or_else(|| self.mid(), Ok)
    }

    /// Returns the time that is left of the `ttl` of the frame, by its sender's clock: zero when it is
    /// over, `None` if the frame never expires.
    ///
    /// ```
    /// use std::time::Duration;
    /// # use accp_runtime::session::{CancelToken, Inbound, MemberId, Time};
    /// let text = "@dev>req:plan{}[mid:101000001001,seq:1,ts:1714000000,ttl:60]";
    /// let inbound = Inbound::new(1, MemberId::HOST, text.into(), CancelToken::new());
    /// assert_eq!(inbound.time_left(Time::from_secs(1_714_000_045)), Some(Duration::from_secs(15)));
    /// assert_eq!(inbound.time_left(Time::from_secs(1_714_000_061)), Some(Duration::ZERO));
    /// ```
    pub fn time_left(&self, now: Time) -> Option<Duration> {
        let frame = Scanned::new(&self.text, Limits::NONE).ok()?;
        let (ts, ttl) = (frame.envelope.timestamp?, frame.envelope.ttl?);
        let end = Time::from_secs(ts.saturating_add(ttl)).as_millis();
        let left = end.saturating_sub(now.as_millis()).max(0);
        (ttl > 0).then(|| Duration::from_millis(left.unsigned_abs()))
    }

    /// Returns whether the `ttl` of the frame is over: by the sender's `ts`, if clocks differ by at most `skew`, or by
    /// the time since this side took the frame.
    pub(crate) fn has_expired(&self, skew: Duration, now: Time) -> bool {
        let frame = Scanned::new(&self.text, Limits::NONE);
        frame.is_ok_and(|frame| {
            let is_old = self.at.is_some_and(|at| frame.has_outlasted(at, now));
            is_old || frame.has_expired(skew, now)
        })
    }

    /// Returns the intent of this frame if this frame ends the request with the id `asked` in the chain `chain`: the
    /// intent is `done`, `fail` or `end`, and the `aid` is `asked`. Without an `aid`, the frame has to be in that
    /// chain.
    pub fn answers(&self, asked: &Mid, chain: &Mid) -> Option<Intent> {
        let frame = Scanned::new(&self.text, Limits::NONE).ok()?;
        frame.answers(asked, chain).then_some(frame.intent)
    }

    /// Returns whether this frame is a piece of a stream in this chain (`stream`, schema ST).
    pub fn is_piece(&self, chain: &Mid) -> bool {
        let frame = Scanned::new(&self.text, Limits::NONE);
        frame.is_ok_and(|frame| frame.intent == Intent::STREAM && frame.cid() == Some(chain))
    }

    /// Returns the frame as its sender wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the frame with values in place of references ([`with_values`](Self::with_values)), as
    /// [`decode`](Self::decode) reads it. The text may be longer than a frame may be.
    ///
    /// ```
    /// # use accp_runtime::{Registry, Value};
    /// # use accp_runtime::session::{CancelToken, Inbound, MemberId};
    /// # let text = "@dev>req:plan{goal:$cold.k1_1}[mid:101000001001,seq:1]";
    /// # let inbound = Inbound::new(1, MemberId::HOST, text.into(), CancelToken::new());
    /// assert!(inbound.text().contains("goal:$cold.k1_1"));
    /// let values = [(String::from("cold.k1_1"), Value::from("lunch"))];
    /// let inbound = inbound.with_values(&values.into(), &Registry::standard());
    /// assert!(inbound.whole()?.contains("goal:lunch"));
    /// # Ok::<(), accp_runtime::DecodeError>(())
    /// ```
    ///
    /// # Errors
    /// E1004 when a value does not have the type of its field.
    pub fn whole(&self) -> Result<&str, DecodeError> {
        match &self.whole {
            None => Ok(&self.text),
            Some(Ok(text)) => Ok(text),
            Some(Err(error)) => Err(error.clone()),
        }
    }

    /// Returns the token that fires when the chain of this frame is cancelled.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// Puts values in the place of the references with these keys, for [`decode`](Self::decode).
    /// [`text`](Self::text) and [`message`](Self::message) still return the frame as the sender wrote it.
    ///
    /// ```
    /// use accp_runtime::{Registry, Value};
    /// use accp_runtime::profiles::ScheduleReq;
    /// # use accp_runtime::session::{CancelToken, Inbound, MemberId};
    /// # let text = "@planner>req:schedule{asgn:dev|task:$cold.k1_1|schema:TA}[mid:101000001001,seq:1]";
    /// # let inbound = Inbound::new(1, MemberId::HOST, text.into(), CancelToken::new());
    /// let values = [(String::from("cold.k1_1"), Value::from("write the tests"))];
    /// let inbound = inbound.with_values(&values.into(), &Registry::standard());
    /// assert_eq!(inbound.decode::<ScheduleReq>()?.frame.task, "write the tests");
    /// assert!(inbound.text().contains("task:$cold.k1_1"));
    /// # Ok::<(), accp_runtime::DecodeError>(())
    /// ```
    #[must_use]
    pub fn with_values(
        mut self,
        values: &BTreeMap<String, Value<'static>>,
        registry: &Registry,
    ) -> Self {
        if !values.is_empty() {
            // If the frame cannot be read, decoding it reports the error.
            self.whole = whole(&self.text, values, registry).transpose();
        }
        self
    }

    /// Returns whether intent, operation and schema of the frame are those of the type, or of one of its variants.
    ///
    /// ```
    /// use accp_runtime::profiles::{ChatDone, ErrorFail};
    /// # use accp_runtime::session::{CancelToken, Inbound, MemberId};
    /// # let text = "@cook>fail:error{code:E2001|msg:no_flour|retry:false|schema:ER}[mid:101000001001,seq:1,ts:0]";
    /// # let inbound = Inbound::new(1, MemberId::HOST, text.into(), CancelToken::new());
    /// assert!(inbound.is::<ErrorFail>() && !inbound.is::<ChatDone>());
    /// assert!(inbound.is::<Result<ChatDone, ErrorFail>>());
    /// ```
    pub fn is<F: FrameFamily>(&self) -> bool {
        let head = self.head();
        // A session delivers only frames whose head it has read, so this does not fail.
        head.is_ok_and(|(header, schema)| F::Frame::accepts(&header, schema))
    }

    /// Reads the header and the schema, which choose the type of the frame.
    pub(crate) fn head(&self) -> Result<(Header<'_>, Option<&str>), DecodeError> {
        let mut r = Reader::new(&self.text, DecodeOptions::default())?;
        let header = r.header()?;
        let schema = r.schema_ahead()?;
        Ok((header, schema))
    }

    /// Decodes the frame as a type of the application, with values in place of references
    /// ([`with_values`](Self::with_values)).
    ///
    /// # Errors
    /// As [`Typed::decode`]. A reference without a value is E2001, and the error names the field. A value that does
    /// not have the type of its field is E1004.
    pub fn decode<'a, T: DecodeFrame<'a>>(&'a self) -> Result<Typed<'a, T>, DecodeError> {
        match &self.whole {
            None => Typed::decode(&self.text),
            Some(Ok(text)) => Typed::decode_with(text, &UNBOUNDED),
            Some(Err(error)) => Err(error.clone()),
        }
    }

    /// Decodes the frame under full names. References stay references.
    ///
    /// # Errors
    /// As [`DynamicFrame::decode`].
    pub fn message(&self, registry: &Registry) -> Result<DynamicFrame<'_>, DecodeError> {
        DynamicFrame::decode(&self.text, registry)
    }
}

/// Returns the text with values in the place of references. Each value is written as the type of its
/// field. `None` if the frame cannot be read.
fn whole(
    text: &str,
    values: &BTreeMap<String, Value<'static>>,
    registry: &Registry,
) -> Result<Option<Arc<str>>, DecodeError> {
    let Ok(mut message) = DynamicFrame::decode(text, registry) else {
        return Ok(None);
    };
    let mut whole = None;
    for (key, value) in values {
        whole = Some(supply(&mut message, text, key, value, registry)?);
    }
    Ok(whole.map(Arc::from))
}

/// Puts a value in the place of the references with this key, and returns the new text of the message. Fails if the
/// value does not have the type of the field.
pub(crate) fn supply(
    message: &mut DynamicFrame<'_>,
    text: &str,
    key: &str,
    value: &Value<'static>,
    registry: &Registry,
) -> Result<String, DecodeError> {
    for (_, held) in message.payload.iter_mut() {
        put(held, key, value);
    }
    let options = EncodeOptions {
        limits: Limits::NONE,
        inline: true,
        ..EncodeOptions::default()
    };
    let written = message.encode_with(registry, options);
    written.map_err(|error| {
        let at = text.find(&format!("${key}")).unwrap_or_default();
        let expected = format!("a reference to a value that fits: {error}");
        DecodeError::new(error.code(), at, expected)
    })
}

/// Puts a value in the place of every reference with this key.
fn put(held: &mut Value<'_>, key: &str, value: &Value<'static>) {
    match held {
        Value::Ref(other) if other == key => *held = value.clone(),
        Value::Array(items) => items.iter_mut().for_each(|item| put(item, key, value)),
        Value::Map(map) => map.iter_mut().for_each(|(_, item)| put(item, key, value)),
        _ => {}
    }
}
