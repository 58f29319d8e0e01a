//! Frames as dynamic messages: params under full names, read and written with a registry known only at run time.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use accp_registry::{ErrorCode, Intent, Registry, Schema, Type, lexical};

use crate::agent::AgentId;
use crate::dynamic::{self, ByType, Dynamic, twice};
use crate::envelope::Envelope;
use crate::error::{DecodeError, EncodeError};
use crate::externalise;
use crate::frame::read_bytes;
use crate::reader::{DecodeOptions, Header, Reader};
use crate::record::{Held, Param, Record};
use crate::record_scope::RecordScope;
use crate::typed::missing_envelope;
use crate::value::{Map, Value, are_others, into_pair};
use crate::writer::{Absent, EncodeOptions, FrameType, Writer};

/// A message under full names: the content of a frame, without a type at compile time.
///
/// Decoding follows draft section 7.3 (grammar, schema code, abbreviations, defaults), and encoding follows section
/// 7.2. References stay references: the codec does not resolve them. Each message has one spelling: the schema's
/// fields in their order, then extra params ascending, defaults left out, `schema` last.
///
/// ```
/// use accp_runtime::{DynamicFrame, Registry, Value};
///
/// let registry = Registry::standard();
/// let text = "@planner>req:schedule{asgn:dev|task:impl_auth|dead:sprint_14|schema:TA}";
/// let message = DynamicFrame::decode(text, &registry)?;
/// assert_eq!(message.payload.get("assignee"), Some(&Value::from("dev")));
/// assert_eq!(message.payload.get("priority"), Some(&Value::from("medium")));
/// assert_eq!(message.encode(&registry)?, text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DynamicFrame<'a> {
    /// The sender.
    pub agent: AgentId<'a>,
    /// The intent.
    pub intent: Intent,
    /// The operation. It need not be one of the 19 core operations of the draft.
    pub operation: Cow<'a, str>,
    /// The code of the payload's schema.
    pub schema: Option<Cow<'a, str>>,
    /// The params under their full names, defaults filled in.
    pub payload: Map<'a>,
    /// The metadata; empty when there is none.
    pub envelope: Envelope<'a>,
}

/// A frame of this many params is read without growing a `Vec`.
const USUAL: usize = 12;
/// The param that holds the schema code.
const SCHEMA: &str = "schema";
/// The param that holds, as pairs, the entries whose keys do not fit the grammar.
const OTHERS: &str = "_";

impl<'a> DynamicFrame<'a> {
    /// Returns a message without payload.
    ///
    /// # Errors
    /// E1001 when the agent id or the operation does not fit the grammar, E1002 when the draft has
    /// no such intent (section 4.1).
    pub fn new(
        agent: impl Into<Cow<'a, str>>,
        intent: &str,
        operation: impl Into<Cow<'a, str>>,
    ) -> Result<Self, EncodeError> {
        let operation = operation.into();
        let Some(intent) = Intent::lookup(intent) else {
            return Err(EncodeError::new(
                ErrorCode::INVALID_INTENT,
                format!("`{intent}` is not an intent: {}", intents()),
            ));
        };
        if !lexical::is_key(&operation) {
            return Err(no_operation(&operation));
        }
        Ok(Self {
            agent: AgentId::new(agent)?,
            intent,
            operation,
            schema: None,
            payload: Map::new(),
            envelope: Envelope::default(),
        })
    }

    /// Sets the schema code.
    pub fn under(mut self, schema: impl Into<Cow<'a, str>>) -> Self {
        self.schema = Some(schema.into());
        self
    }

    /// Sets a param.
    pub fn with(mut self, name: impl Into<Cow<'a, str>>, value: impl Into<Value<'a>>) -> Self {
        self.payload.insert(name, value.into());
        self
    }

    /// Sets the envelope.
    pub fn in_envelope(mut self, envelope: Envelope<'a>) -> Self {
        self.envelope = envelope;
        self
    }

    /// Returns the same message, owned.
    pub fn into_owned(self) -> DynamicFrame<'static> {
        DynamicFrame {
            agent: self.agent.into_owned(),
            intent: self.intent,
            operation: Cow::Owned(self.operation.into_owned()),
            schema: self.schema.map(|code| Cow::Owned(code.into_owned())),
            payload: self.payload.into_owned(),
            envelope: self.envelope.into_owned(),
        }
    }

    /// Reads one frame under the default options.
    ///
    /// # Errors
    /// E1001 for a breach of the grammar, a limit, or a repeated key; E1002 for an unknown intent;
    /// E1003 for an unknown schema code; E1004 for a value of the wrong type, or a missing required
    /// field or envelope field.
    pub fn decode(text: &'a str, registry: &Registry) -> Result<Self, DecodeError> {
        Self::decode_with(text, registry, &DecodeOptions::default())
    }

    /// Reads one frame from the bytes of a transport.
    ///
    /// # Errors
    /// As [`DynamicFrame::decode`]; a byte that is not printable ASCII is E1001 at its place.
    pub fn decode_bytes(bytes: &'a [u8], registry: &Registry) -> Result<Self, DecodeError> {
        read_bytes(bytes, |text| Self::decode(text, registry))
    }

    /// Reads one frame under `options`.
    ///
    /// # Errors
    /// As [`DynamicFrame::decode`].
    pub fn decode_with(
        text: &'a str,
        registry: &Registry,
        options: &DecodeOptions,
    ) -> Result<Self, DecodeError> {
        // The whole text is read first: a frame that breaks the grammar is never partially decoded.
        let mut r = Reader::new(text, *options)?;
        let header = r.header()?;
        let mut params = Vec::with_capacity(USUAL);
        while let Some(key) = r.param()? {
            let at = r.at();
            let raw = r.skip_value()?;
            params.push(Param {
                key,
                at,
                raw,
                is_escaped: r.is_escaped(),
            });
        }
        let end = r.at();
        let envelope = Envelope::read(&mut r)?;

        let Header {
            agent,
            intent: code,
            operation,
        } = header;
        let Some(intent) = Intent::lookup(code) else {
            let at = 2 + agent.len();
            let expected = format!("an intent: {}", intents());
            return Err(DecodeError::new(ErrorCode::INVALID_INTENT, at, expected));
        };
        let found = find_schema(&params, registry, &[code, operation])?;
        let schema = found.map(|(schema, _)| schema);
        let scope = RecordScope::Frame([code, operation]);
        let mut held = Held::default();
        let mut payload = read_params(&params, &r, schema, scope, registry, &mut held)?;
        if let Some(schema) = schema {
            let frame = scope.frame(schema);
            let record = Record {
                schema,
                scope,
                frame,
                at: end - 1,
                params: &params,
            };
            let default = |text: &str, ty: &Type| dynamic::read_default(text, ty, registry);
            payload = record.complete(payload, &held, default)?;
            let mut required = frame.into_iter().flat_map(|frame| &frame.envelope);
            if let Some(missing) = required.find(|field| !envelope.has(field)) {
                return Err(missing_envelope(text.len(), missing));
            }
        }
        Ok(Self {
            agent: AgentId::scanned(agent),
            intent,
            operation: Cow::Borrowed(operation),
            schema: found.map(|(_, code)| Cow::Borrowed(code)),
            payload,
            envelope,
        })
    }

    /// Returns the text of the frame under the default options.
    ///
    /// # Errors
    /// E1003 when the registry lacks the schema; E1004 for a value that its field cannot hold, for a missing required
    /// field or envelope field, and for a long value, because the default options have no externals; E1001 for a breach
    /// of the grammar or a limit.
    pub fn encode(&self, registry: &Registry) -> Result<String, EncodeError> {
        self.encode_with(registry, EncodeOptions::default())
    }

    /// Returns the text of the frame under `options`. With externals, a value goes by reference if
    /// it is long, is nested too deep, or exceeds the limits of a frame.
    ///
    /// # Errors
    /// As [`DynamicFrame::encode`], and the errors of the externals.
    pub fn encode_with(
        &self,
        registry: &Registry,
        mut options: EncodeOptions<'_>,
    ) -> Result<String, EncodeError> {
        let mut out = String::with_capacity(256);
        match options.externals.take() {
            None => self.write(&self.payload, registry, &mut out, options)?,
            Some(externals) => {
                // A frame that cannot be written at all must not put any value into the externals.
                let text = |payload: &Map<'_>| {
                    let mut out = String::new();
                    self.write(payload, registry, &mut out, externalise::unbounded())?;
                    Ok(out)
                };
                text(&self.payload)?;
                let externaliser = externalise::Externaliser {
                    schema: self.resolve(registry)?,
                    scope: self.scope(),
                    registry,
                    options: &options,
                    elements_beside: usize::from(self.schema.is_some()) + self.envelope.len(),
                    text: &text,
                };
                let payload = externaliser.externalise(self.payload.clone(), externals)?;
                let options = EncodeOptions {
                    inline: true,
                    ..options
                };
                self.write(&payload, registry, &mut out, options)?;
            }
        }
        Ok(out)
    }

    /// Returns the scope of the payload. It decides which fields are required and which defaults apply.
    pub(crate) fn scope(&self) -> RecordScope<'_> {
        RecordScope::Frame([self.intent.as_str(), &self.operation])
    }

    /// Returns the schema of this message. Returns `None` if the message names none, or if the registry lacks it.
    /// For an error frame, see [`Registry::schema_of`]: the standard error schema may take precedence.
    ///
    /// ```
    /// use accp_runtime::{DynamicFrame, Registry};
    ///
    /// let registry = Registry::standard();
    /// let text = "@a>fail:error{code:E4001|msg:gone|retry:false|schema:ER}";
    /// let message = DynamicFrame::decode(text, &registry)?;
    /// let schema = message.schema_in(&registry).expect("a standard profile");
    /// assert_eq!(schema.name, "error");
    /// # Ok::<(), accp_runtime::DecodeError>(())
    /// ```
    pub fn schema_in<'r>(&self, registry: &'r Registry) -> Option<&'r Schema> {
        let head = [self.intent.as_str(), &*self.operation];
        registry.schema_of(self.schema.as_deref()?, &head)
    }

    /// Returns the schema of this message in `registry`. If the message names a schema that the registry lacks, the
    /// error is E1003.
    pub(crate) fn resolve<'r>(
        &self,
        registry: &'r Registry,
    ) -> Result<Option<&'r Schema>, EncodeError> {
        let Some(code) = &self.schema else {
            return Ok(None);
        };
        self.schema_in(registry).map(Some).ok_or_else(|| {
            // No frame has the schema of a union.
            let codes = registry.schemas().filter(|schema| schema.union.is_none());
            let codes: Vec<_> = codes.map(|schema| schema.code.as_str()).collect();
            let message = format!(
                "no schema {code} in the registry; it has {}",
                codes.join(", ")
            );
            EncodeError::new(ErrorCode::UNKNOWN_SCHEMA, message)
        })
    }

    /// Appends the frame with this payload; on an error `out` is unchanged.
    pub(crate) fn write(
        &self,
        payload: &Map<'_>,
        registry: &Registry,
        out: &mut String,
        options: EncodeOptions<'_>,
    ) -> Result<(), EncodeError> {
        if !lexical::is_key(&self.operation) {
            return Err(no_operation(&self.operation));
        }
        let schema = self.resolve(registry)?;
        let spec =
            schema.and_then(|schema| schema.frame(&[self.intent.as_str(), &*self.operation]));
        let envelope: Vec<&str> = spec
            .into_iter()
            .flat_map(|spec| &spec.envelope)
            .map(String::as_str)
            .collect();
        let frame = FrameType {
            name: "",
            intent: self.intent,
            operation: &self.operation,
            schema: self.schema.as_deref(),
            envelope: &envelope,
        };
        Writer::new(out, options).frame(&self.agent, frame, &self.envelope, |w| {
            self.write_params(payload, schema, registry, w)
        })
    }

    pub(crate) fn write_params(
        &self,
        payload: &Map<'_>,
        schema: Option<&Schema>,
        registry: &Registry,
        w: &mut Writer<'_, '_>,
    ) -> Result<(), EncodeError> {
        if payload.get(SCHEMA).is_some() {
            let message = "`schema` is reserved: set the schema of the message instead";
            return Err(EncodeError::new(ErrorCode::PARSE_ERROR, message));
        }
        let scope = self.scope();
        let (entries, mut others) = dynamic::fields(payload, schema, scope, registry)?;
        for entry in &mut others {
            entry.key = dynamic::short_name(entry.name, schema);
        }
        let (mut plain, odd): (Vec<_>, Vec<_>) = others
            .into_iter()
            .partition(|entry| lexical::is_key(entry.name) && entry.name != OTHERS);
        plain.sort_by_key(|entry| entry.key);
        if let Some(pair) = plain.windows(2).find(|pair| pair[0].key == pair[1].key) {
            let message = format!("`{}` and `{}` are one key", pair[0].name, pair[1].name);
            return Err(EncodeError::new(ErrorCode::PARSE_ERROR, message));
        }
        for entry in entries.iter().chain(&plain) {
            w.field::<ByType, _>(
                entry.name,
                entry.key,
                &entry.value,
                entry.absent,
                entry.inline,
            )?;
        }
        if odd.is_empty() {
            return Ok(());
        }
        let pairs = odd.iter().map(|entry| {
            Value::Array(alloc::vec![
                Value::from(entry.name),
                entry.value.value.clone()
            ])
        });
        let pairs = Value::Array(pairs.collect());
        let value = Dynamic {
            value: &pairs,
            ty: &Type::Any,
            registry,
        };
        w.field::<ByType, _>(OTHERS, OTHERS, &value, Absent::Nothing, false)
    }
}

#[cold]
fn no_operation(operation: &str) -> EncodeError {
    let message = format!("`{operation}` is not an operation: letters, digits and '_' only");
    EncodeError::new(ErrorCode::PARSE_ERROR, message)
}

fn intents() -> String {
    let codes: Vec<_> = Intent::ALL.iter().map(|intent| intent.as_str()).collect();
    codes.join(", ")
}

/// Returns the schema of a frame, and its code as the frame has it.
fn find_schema<'r, 'a>(
    params: &[Param<'a>],
    registry: &'r Registry,
    head: &[&str],
) -> Result<Option<(&'r Schema, &'a str)>, DecodeError> {
    let mut codes = params.iter().filter(|param| param.key == SCHEMA);
    let Some(&Param { raw: code, at, .. }) = codes.next() else {
        return Ok(None);
    };
    if let Some(second) = codes.next() {
        return Err(twice(SCHEMA, second.at));
    }
    let schema = registry.schema_of(code, head);
    schema.map(|schema| Some((schema, code))).ok_or_else(|| {
        // The list leaves out schemas of unions: their records occur only as values of fields.
        let schemas = registry.schemas().filter(|schema| schema.union.is_none());
        let codes: Vec<_> = schemas.map(|schema| schema.code.as_str()).collect();
        let expected = format!("a schema of the registry: {}", codes.join(", "));
        DecodeError::new(ErrorCode::UNKNOWN_SCHEMA, at, expected)
    })
}

fn read_params<'a>(
    params: &[Param<'a>],
    r: &Reader<'a>,
    schema: Option<&Schema>,
    scope: RecordScope<'_>,
    registry: &Registry,
    held: &mut Held,
) -> Result<Map<'a>, DecodeError> {
    // Fields with defaults join the params later.
    let fields = schema.map_or(0, |schema| schema.fields.len());
    let mut payload = Map::with_capacity(params.len().max(fields.min(USUAL)));
    let mut scalars = r.fork_at(0);
    for param in params.iter().filter(|param| param.key != SCHEMA) {
        let Param { key, at, raw, .. } = *param;
        let field = schema.and_then(|schema| Some((schema, schema.field(key)?)));
        let name = match field {
            Some((_, (_, field))) => dynamic::full_name_of(key, field),
            None => Cow::Borrowed(dynamic::full_name(key, schema)),
        };
        // The first pass has read every scalar already.
        let is_scalar = !raw.starts_with(['[', '{', '~', '$']);
        let value = match field {
            Some((_, (index, field))) if is_scalar => {
                held.insert(index);
                scalars.set_escaped(param.is_escaped);
                dynamic::read_scalar(raw, &field.ty, &scalars, at)
            }
            Some((schema, (index, field))) => {
                held.insert(index);
                let mut value = r.fork_at(at);
                dynamic::read_field(&mut value, field, schema, scope, registry)
            }
            None => Value::read(&mut r.fork_at(at)),
        };
        let value = value.map_err(|error| error.within(String::from(&*name)))?;
        match value {
            Value::Array(pairs) if key == OTHERS && r.options().marks && are_others(&pairs) => {
                for (key, value) in pairs.into_iter().filter_map(into_pair) {
                    if payload.insert(key.clone(), value).is_some() {
                        return Err(twice(&key, at));
                    }
                }
            }
            value => {
                if let Err(name) = payload.insert_new(name, value) {
                    return Err(twice(&name, at));
                }
            }
        }
    }
    Ok(payload)
}
