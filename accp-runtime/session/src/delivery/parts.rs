//! Splits frames over the token limits into parts that together say the same (draft section 3.4 and step 6 of
//! section 7.2).
use std::fmt;

use accp_registry::Registry;
use accp_registry::lexical::{self, Literal};

use crate::log::mid::Mid;
use crate::reference::UNBOUNDED;
use crate::reference::read_value;
use crate::wire::scan::Scanned;
use accp_frame::__internal::{are_others, full_name, into_pair};
use accp_frame::{
    DecodeError, EncodeError, Envelope, ErrorCode, FrameTokenLimits, Header, Reader, TokenCounter,
    Value, Within,
};

/// The greatest number of parts of a frame, and so of its params: each part carries at least one param.
const MOST_PARTS: u16 = 256;

/// The longest text that a part adds to the metadata of its frame.
const LABEL: &str = ",pt:100/100,of:899999999999";

/// The longest reference to a value that has left its frame.
const REFERENCE: &str = "$cold.k9999_999999999";

/// The param that holds the entries whose keys do not fit the grammar, as pairs.
const OTHERS: &str = "_";

/// The result of [`split`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Split {
    /// The frame is within the hard limits as it is.
    Whole,
    /// The frames that take its place, in order, without metadata. There are at least two. Each has
    /// the header and the schema of the frame, and some of its params.
    Parts(Vec<String>),
    /// These params are too large for any frame. Their full names are here, the largest param first. Once references
    /// have replaced their values, the caller may try to split the frame again.
    TooLarge(Vec<String>),
}

/// The label of a part, as in its metadata: `pt:1/3,of:101000001001`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The place of the part, from 1.
    pub index: u16,
    /// The number of parts.
    pub total: u16,
    /// The id of the first part, by which all parts name their frame.
    pub of: Mid,
}

/// Splits a frame into the number of parts that the hard limits on body and total require.
///
/// `metadata` is the number of tokens in the metadata of the frame. The metadata of a part takes
/// more tokens; this function adds them. Metadata over its own limit does not lead to a split,
/// because every part would have it too.
///
/// ```
/// use accp_session::{Split, join, split};
/// use accp_runtime::{FrameTokenLimits, Registry, TokenCounter};
///
/// struct Bytes; // a tokenizer of the crate `accp-tokens`, usually
/// impl TokenCounter for Bytes {
///     fn name(&self) -> &str { "bytes" }
///     fn count(&self, text: &str) -> usize { text.len() }
/// }
///
/// let frame = format!("@a>req:plan{{first:{}|second:{}}}", "x".repeat(120), "y".repeat(120));
/// let split = split(&frame, &Registry::standard(), &FrameTokenLimits::DRAFT, &Bytes, 60)?;
/// let Split::Parts(parts) = split else { panic!("{split:?}") };
/// assert_eq!(parts.len(), 2);
/// assert_eq!(join(&parts)?, frame);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// E2003 when the header and the schema alone, or with a key and a reference, are over a limit.
/// E1001 when the text is not a frame.
pub fn split(
    frame: &str,
    registry: &Registry,
    limits: &FrameTokenLimits,
    counter: &dyn TokenCounter,
    metadata: usize,
) -> Result<Split, EncodeError> {
    let pieces =
        Pieces::read(frame).map_err(|error| EncodeError::new(error.code(), error.to_string()))?;
    let fits = |params: &[&str], metadata: usize| {
        let [header, body] = pieces.with(params);
        let total = counter.count(&[header.as_str(), &body].concat()) + metadata;
        limits.total.check(total) != Within::Over
            && limits.body.check(counter.count(&body)) != Within::Over
    };
    let params: Vec<&str> = pieces.params.iter().map(|param| param.text).collect();
    if fits(&params, metadata) {
        return Ok(Split::Whole);
    }
    let metadata = metadata + counter.count(LABEL);
    let fits = |params: &[&str]| fits(params, metadata);
    if !fits(&[]) {
        let message = "the header and the schema alone are over the token limits of a frame; \
                       shorten the names of agent and operation, or raise the limits";
        return Err(EncodeError::new(ErrorCode::BUDGET_EXCEEDED, message));
    }
    let mut too_large = Vec::new();
    for param in pieces.params.iter().filter(|param| !fits(&[param.text])) {
        let name = pieces.name(param, registry);
        let reference = format!("{}:{REFERENCE}", param.key);
        let name = name.filter(|_| param.key == OTHERS || fits(&[&reference]));
        let name = name.ok_or_else(|| beyond_limits(param.key))?;
        too_large.push((counter.count(param.text), name));
    }
    if !too_large.is_empty() {
        // The sort is stable: params with the same number of tokens keep their order.
        too_large.sort_by_key(|(tokens, _)| std::cmp::Reverse(*tokens));
        let names = too_large.into_iter().map(|(_, name)| name);
        return Ok(Split::TooLarge(names.collect()));
    }
    let mut parts = Vec::new();
    let mut start = 0;
    for end in 1..=params.len() {
        if end == params.len() || !fits(&params[start..=end]) {
            parts.push(pieces.with(&params[start..end]).concat());
            start = end;
        }
    }
    Ok(Split::Parts(parts))
}

#[cold]
fn beyond_limits(key: &str) -> EncodeError {
    let message = "does not fit in a frame, not even as a reference; shorten the name, or raise \
                   the token limits";
    EncodeError::new(ErrorCode::BUDGET_EXCEEDED, message).within(String::from(key))
}

/// Returns the frame that the parts make together, without metadata: the params of each part in the
/// given order, then `schema`. The result may still not be a frame, because a key can stand twice.
///
/// # Errors
/// E1001 when a text is not a frame. E1004 when a header or schema differs from the first part.
pub fn join<T: AsRef<str>>(parts: &[T]) -> Result<String, DecodeError> {
    let mut pieces = parts.iter().map(|part| Pieces::read(part.as_ref()));
    let mut whole = pieces.next().unwrap_or_else(|| Pieces::read(""))?;
    for part in pieces {
        let part = part?;
        whole.check_same(&part)?;
        whole.params.extend(part.params);
    }
    let params: Vec<&str> = whole.params.iter().map(|param| param.text).collect();
    Ok(whole.with(&params).concat())
}

impl Part {
    /// Reads `pt` and `of` of a frame.
    pub(crate) fn of(frame: &Scanned<'_>) -> Result<Option<Self>, DecodeError> {
        Self::read(&frame.envelope, frame.end)
    }

    /// Reads `pt` and `of`. Returns `None` when the frame is not a part. `at` is the byte at which
    /// its metadata starts, for errors.
    ///
    /// ```
    /// use accp_runtime::Frame;
    /// use accp_runtime::session::Mid;
    /// use accp_session::Part;
    ///
    /// let frame = Frame::parse("@a>req:plan{x:1}[mid:101000001002,seq:8,pt:2/3,of:101000001001]")?;
    /// let part = Part::read(&frame.envelope()?, 16)?.expect("it has `pt`");
    /// assert_eq!((part.index, part.total), (2, 3));
    /// assert_eq!(part.of, Mid::parse("101000001001"));
    /// assert_eq!(part.to_string(), "pt:2/3,of:101000001001");
    /// # Ok::<(), accp_runtime::DecodeError>(())
    /// ```
    ///
    /// # Errors
    /// E1004 when `pt` or `of` is not valid.
    pub fn read(envelope: &Envelope<'_>, at: usize) -> Result<Option<Self>, DecodeError> {
        let Some(place) = envelope.extra.get("pt") else {
            return Ok(None);
        };
        let number = |text: &str| -> Option<u16> {
            let number = text.parse().ok()?;
            (1..=MOST_PARTS).contains(&number).then_some(number)
        };
        let place = place.as_str().and_then(|place| place.split_once('/'));
        let place = place.and_then(|(index, total)| Some((number(index)?, number(total)?)));
        let of = match envelope.extra.get("of") {
            Some(Value::String(text)) => Some(Mid::parse(text)),
            // An id that has only digits is read as an integer.
            Some(Value::Integer(digits)) => Some(Mid::parse(&digits.to_string())),
            _ => None,
        };
        match (place, of) {
            (Some((index, total)), Some(of)) if index <= total => {
                Ok(Some(Self { index, total, of }))
            }
            _ => {
                let expected = "the part as pt:1/3, at most 256 of them, and the id of the first \
                                as of";
                Err(DecodeError::new(ErrorCode::INVALID_TYPE, at, expected))
            }
        }
    }
}

impl fmt::Display for Part {
    /// Writes the pairs of the metadata.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut of = self.of.to_string();
        if !matches!(Literal::classify(&of), Literal::Integer(_)) {
            let name = std::mem::take(&mut of);
            lexical::write_untyped(&mut of, &name);
        }
        write!(f, "pt:{}/{},of:{of}", self.index, self.total)
    }
}

/// A frame taken apart, as far as a split needs it.
pub(crate) struct Pieces<'a> {
    header: Header<'a>,
    schema: Option<&'a str>,
    /// The params without the schema.
    params: Vec<Param<'a>>,
    /// The end of the payload, after its `}`.
    pub(crate) end: usize,
}

struct Param<'a> {
    key: &'a str,
    /// The text `key:value`.
    text: &'a str,
}

impl<'a> Pieces<'a> {
    /// Reads the header and the payload. Of the metadata it checks only the grammar.
    pub(crate) fn read(text: &'a str) -> Result<Self, DecodeError> {
        let mut r = Reader::new(text, UNBOUNDED)?;
        let header = r.header()?;
        let mut schema = None;
        let mut params = Vec::new();
        while let Some(key) = r.param()? {
            let at = r.at();
            let value = r.skip_value()?;
            if key != "schema" {
                let text = text.get(at - key.len() - 1..r.at()).unwrap_or_default();
                params.push(Param { key, text });
            } else if schema.replace(value).is_some() {
                return Err(DecodeError::new(ErrorCode::PARSE_ERROR, at, "one schema"));
            }
        }
        let end = r.at();
        while r.metadata()?.is_some() {
            r.skip_value()?;
        }
        r.finish()?;
        Ok(Self {
            header,
            schema,
            params,
            end,
        })
    }

    /// Refuses a part whose header or schema differs from this one.
    pub(crate) fn check_same(&self, part: &Pieces<'_>) -> Result<(), DecodeError> {
        if (self.header, self.schema) == (part.header, part.schema) {
            return Ok(());
        }
        let expected = "the sender, intent, operation and schema of the first part";
        Err(DecodeError::new(ErrorCode::INVALID_TYPE, 0, expected))
    }

    /// Returns the header and the body of the frame that has these params and the schema.
    fn with(&self, params: &[&str]) -> [String; 2] {
        let Header {
            agent,
            intent,
            operation,
        } = self.header;
        let mut body = format!(":{operation}{{{}", params.join("|"));
        if let Some(code) = self.schema {
            let bar = if params.is_empty() { "" } else { "|" };
            body.extend([bar, "schema:", code]);
        }
        body.push('}');
        [format!("@{agent}>{intent}"), body]
    }

    /// Returns the name of a param in the payload of a message. For params that travel as pairs,
    /// returns the name of the largest pair, or `None` when a reference would not make it smaller.
    fn name(&self, param: &Param<'_>, registry: &Registry) -> Option<String> {
        let key = param.key;
        let value = param.text.get(key.len() + 1..).unwrap_or_default();
        match read_value(value.as_bytes()) {
            Ok(Value::Array(pairs)) if key == OTHERS && are_others(&pairs) => {
                let sizes = pairs.into_iter().filter_map(into_pair);
                let sizes = sizes.map(|(name, value)| (value.to_string().len(), name));
                let (size, name) = sizes.max_by_key(|(size, _)| *size)?;
                (size > REFERENCE.len()).then(|| name.into_owned())
            }
            _ => {
                let head = [self.header.intent, self.header.operation];
                let schema = self.schema.and_then(|code| registry.schema_of(code, &head));
                let field = schema.and_then(|schema| schema.field(key));
                let name = field.map_or_else(|| full_name(key, schema), |(_, field)| &field.name);
                Some(String::from(name))
            }
        }
    }
}
