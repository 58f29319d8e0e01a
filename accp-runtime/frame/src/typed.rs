//! Frames as Rust types: the traits that `#[derive(AccpFrame)]` implements.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use accp_registry::ErrorCode;

use crate::agent::AgentId;
use crate::envelope::Envelope;
use crate::error::{DecodeError, EncodeError};
use crate::frame_types::FrameTypes;
use crate::into_owned::IntoOwned;
use crate::reader::{DecodeOptions, Header, Reader};
use crate::writer::{EncodeOptions, FrameType, Writer};

/// A type that is written as a frame.
///
/// Implemented by `#[derive(AccpFrame)]`, together with [`DecodeFrame`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a frame",
    note = "derive `AccpFrame` for it, with an intent and an operation"
)]
pub trait EncodeFrame {
    /// Returns the intent, operation and schema of this frame.
    fn frame_type(&self) -> FrameType<'static>;

    /// Appends the params in the order of the schema, without defaults.
    fn encode_fields(&self, w: &mut Writer<'_, '_>) -> Result<(), EncodeError>;
}

impl<T: EncodeFrame + ?Sized> EncodeFrame for &T {
    fn frame_type(&self) -> FrameType<'static> {
        (**self).frame_type()
    }

    fn encode_fields(&self, w: &mut Writer<'_, '_>) -> Result<(), EncodeError> {
        (**self).encode_fields(w)
    }
}

impl<T: EncodeFrame> EncodeFrame for Box<T> {
    fn frame_type(&self) -> FrameType<'static> {
        (**self).frame_type()
    }

    fn encode_fields(&self, w: &mut Writer<'_, '_>) -> Result<(), EncodeError> {
        (**self).encode_fields(w)
    }
}

/// A type that is read from a frame; it borrows from the text if possible.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a frame",
    note = "derive `AccpFrame` for it, with an intent and an operation"
)]
pub trait DecodeFrame<'a>: Sized {
    /// Returns whether a frame with this header, and this schema code in its payload, is of this
    /// type. An enum over several frames asks each of its variants.
    fn accepts(header: &Header<'_>, schema: Option<&str>) -> bool;

    /// Reads the payload after `header`, up to and including its `}`, and returns it with the
    /// envelope fields that the registry requires.
    fn decode_fields(
        header: &Header<'a>,
        r: &mut Reader<'a>,
    ) -> Result<(Self, &'static [&'static str]), DecodeError>;

    /// The frame types that this Rust type accepts. The runtime lists them in the error for a frame that no variant of
    /// an enum accepts. The compiler uses them to refuse an enum with two variants for the same frame type. A
    /// hand-written impl leaves this constant out.
    #[doc(hidden)]
    const TYPES: FrameTypes = FrameTypes::Unknown;
}

impl<'a, T: DecodeFrame<'a>> DecodeFrame<'a> for Box<T> {
    fn accepts(header: &Header<'_>, schema: Option<&str>) -> bool {
        T::accepts(header, schema)
    }

    fn decode_fields(
        header: &Header<'a>,
        r: &mut Reader<'a>,
    ) -> Result<(Self, &'static [&'static str]), DecodeError> {
        T::decode_fields(header, r).map(|(frame, envelope)| (Self::new(frame), envelope))
    }

    const TYPES: FrameTypes = T::TYPES;
}

/// Reads a frame of either type. A frame that fits both is `Ok`.
///
/// ```
/// use accp_runtime::Typed;
/// use accp_runtime::profiles::{ChatDone, ErrorFail};
///
/// type Answer<'a> = Result<ChatDone<'a>, ErrorFail<'a>>;
/// let done = Typed::<Answer<'_>>::decode("@cook>done:chat{content:soup|schema:CH}")?.frame;
/// assert_eq!(done.unwrap().content, "soup");
/// let fail = "@cook>fail:error{code:E2001|msg:no_flour|retry:false|schema:ER}";
/// let fail = Typed::<Answer<'_>>::decode(fail)?.frame.unwrap_err();
/// assert_eq!(fail.msg, "no flour");
/// # Ok::<(), accp_runtime::DecodeError>(())
/// ```
impl<'a, D: DecodeFrame<'a>, F: DecodeFrame<'a>> DecodeFrame<'a> for Result<D, F> {
    fn accepts(header: &Header<'_>, schema: Option<&str>) -> bool {
        D::accepts(header, schema) || F::accepts(header, schema)
    }

    fn decode_fields(
        header: &Header<'a>,
        r: &mut Reader<'a>,
    ) -> Result<(Self, &'static [&'static str]), DecodeError> {
        let schema = r.schema_ahead()?;
        if F::accepts(header, schema) && !D::accepts(header, schema) {
            return F::decode_fields(header, r).map(|(frame, envelope)| (Err(frame), envelope));
        }
        // If neither type accepts the frame, the error names the first type.
        D::decode_fields(header, r).map(|(frame, envelope)| (Ok(frame), envelope))
    }

    const TYPES: FrameTypes = FrameTypes::Several(&[D::TYPES, F::TYPES]);
}

/// A frame type that can borrow from a text of any lifetime, so that a handler can be registered for it.
///
/// Implemented by `#[derive(AccpFrame)]` for types without type parameters.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a frame that can borrow from every text",
    note = "derive `AccpFrame` for it; a type with type parameters needs an impl by hand"
)]
pub trait FrameFamily {
    /// The type, borrowing from a text that lives for `'a`.
    type Frame<'a>: DecodeFrame<'a>;
}

impl<D: FrameFamily, F: FrameFamily> FrameFamily for Result<D, F> {
    type Frame<'a> = Result<D::Frame<'a>, F::Frame<'a>>;
}

/// A value inside a frame, read as the registry type `K`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a field of type `{K}`",
    label = "the registry declares this field as `{K}`",
    note = "the documentation of `accp_runtime::kind` lists the Rust types that fit"
)]
pub trait DecodeValue<'a, K>: Sized {
    /// Reads one value.
    fn decode_value(r: &mut Reader<'a>) -> Result<Self, DecodeError>;

    /// Returns the value of a param that is absent; `None` when the param is required.
    #[inline]
    fn absent() -> Option<Self> {
        None
    }
}

/// A frame of type `T` with its sender and its envelope.
///
/// ```
/// use accp_runtime::Typed;
/// use accp_runtime::profiles::ScheduleReq;
///
/// let text = "@planner>req:schedule{asgn:dev|task:impl_auth|pri:high|dead:sprint_14|schema:TA}\
///             [mid:100001000001,seq:8,ts:1714000000]";
/// let typed = Typed::<ScheduleReq>::decode(text)?;
/// assert_eq!(typed.agent, "planner");
/// assert_eq!(typed.frame.task, "impl_auth");
/// assert_eq!(typed.encode()?, text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Typed<'a, T> {
    /// The sender.
    pub agent: AgentId<'a>,
    /// The payload.
    pub frame: T,
    /// The metadata; empty when there is none.
    pub envelope: Envelope<'a>,
    dropped: Vec<Cow<'a, str>>,
}

impl<'a, T> Typed<'a, T> {
    /// Combines a payload with a sender and an envelope.
    pub const fn new(agent: AgentId<'a>, frame: T, envelope: Envelope<'a>) -> Self {
        Self {
            agent,
            frame,
            envelope,
            dropped: Vec::new(),
        }
    }

    /// Returns the same frame, owned, so that it can cross threads.
    pub fn into_owned(self) -> Typed<'static, T::Owned>
    where
        T: IntoOwned,
    {
        Typed {
            agent: self.agent.into_owned(),
            frame: self.frame.into_owned(),
            envelope: self.envelope.into_owned(),
            dropped: self
                .dropped
                .into_iter()
                .map(IntoOwned::into_owned)
                .collect(),
        }
    }

    /// Returns the fields that the decoded frame had and that `T` does not hold, in the order of the frame. Fields
    /// of the schema have their full names, and unknown fields have their keys as they stand in the frame. Fields
    /// of nested maps are included.
    ///
    /// So the caller can see if a newer peer has added or renamed a field. If `T` has a `flatten` field, the `flatten`
    /// field takes these fields of the frame itself, so they are not dropped. Entries of an `{any}` are data, and are
    /// never dropped.
    ///
    /// ```
    /// use accp_runtime::{AccpFrame, Typed};
    ///
    /// #[derive(AccpFrame)]
    /// #[accp(schema = "TA", intent = "done", operation = "schedule")]
    /// struct Scheduled {
    ///     task: String,
    /// }
    ///
    /// let text = "@dev>done:schedule{task:impl_auth|prog:40|zz:1|schema:TA}";
    /// let done = Typed::<Scheduled>::decode(text)?;
    /// assert_eq!(done.dropped(), ["progress", "zz"]);
    /// # Ok::<(), accp_runtime::DecodeError>(())
    /// ```
    pub fn dropped(&self) -> &[Cow<'a, str>] {
        &self.dropped
    }

    /// Remembers the fields that `r` has read and `T` does not hold.
    pub(crate) fn which_dropped(mut self, r: &mut Reader<'_>) -> Self {
        let dropped = core::mem::take(&mut r.dropped).into_iter();
        self.dropped = dropped.map(IntoOwned::into_owned).collect();
        self
    }

    /// Reads one frame under the default options.
    ///
    /// # Errors
    /// E1001 for a breach of the grammar or a repeated key; E1002 for an unknown intent; E1003 for
    /// an unknown schema; E1004 for another frame than `T`, a value of the wrong type, or a missing
    /// required field.
    pub fn decode(text: &'a str) -> Result<Self, DecodeError>
    where
        T: DecodeFrame<'a>,
    {
        Self::decode_with(text, &DecodeOptions::default())
    }

    /// Reads one frame from the bytes of a transport.
    ///
    /// # Errors
    /// As [`Typed::decode`]; a byte that is not printable ASCII is E1001 at its place.
    pub fn decode_bytes(bytes: &'a [u8]) -> Result<Self, DecodeError>
    where
        T: DecodeFrame<'a>,
    {
        crate::frame::read_bytes(bytes, Self::decode)
    }

    /// Reads one frame under `options`.
    ///
    /// # Errors
    /// As [`Typed::decode`].
    pub fn decode_with(text: &'a str, options: &DecodeOptions) -> Result<Self, DecodeError>
    where
        T: DecodeFrame<'a>,
    {
        let mut r = Reader::new(text, *options)?;
        let header = match T::TYPES {
            FrameTypes::One(frame) => r.header_with(frame.intent.as_str(), frame.operation)?,
            _ => r.header()?,
        };
        let (frame, required) = T::decode_fields(&header, &mut r)?;
        let agent = AgentId::scanned(header.agent);
        let mut typed = Self {
            agent,
            frame,
            envelope: Envelope::default(),
            dropped: core::mem::take(&mut r.dropped),
        };
        typed.envelope.read_from(&mut r)?;
        if let Some(missing) = required.iter().find(|field| !typed.envelope.has(field)) {
            return Err(missing_envelope(text.len(), missing));
        }
        Ok(typed)
    }

    /// Returns the text of the frame under the default options.
    ///
    /// # Errors
    /// E1004 for a value that its field cannot hold, for a long value, because the default options have no externals,
    /// and for a missing envelope field that the registry requires; E1001 over a limit.
    pub fn encode(&self) -> Result<String, EncodeError>
    where
        T: EncodeFrame,
    {
        let mut out = String::with_capacity(256);
        self.encode_into(&mut out, EncodeOptions::default())?;
        Ok(out)
    }

    /// Appends the text of the frame to `out`; on an error `out` is unchanged.
    ///
    /// # Errors
    /// As [`Typed::encode`], and the errors of the externals.
    pub fn encode_into(
        &self,
        out: &mut String,
        options: EncodeOptions<'_>,
    ) -> Result<(), EncodeError>
    where
        T: EncodeFrame,
    {
        Writer::new(out, options).frame(&self.agent, self.frame.frame_type(), &self.envelope, |w| {
            self.frame.encode_fields(w)
        })
    }
}

#[cold]
pub(crate) fn missing_envelope(at: usize, field: &str) -> DecodeError {
    let expected = alloc::format!("the envelope field {field}, which this frame requires");
    let code = match field {
        "mid" | "seq" => ErrorCode::PARSE_ERROR,
        _ => ErrorCode::INVALID_TYPE,
    };
    DecodeError::new(code, at, expected)
}
