//! Frames over the token limits, as parts that say the same together (draft section 3.4 and
//! step 6 of section 7.2).
use std::fmt;

use accp_registry::Registry;
use accp_registry::lexical::{self, Literal};

use crate::{Mid, read_value};
use accp_frame::__internal::{are_others, full_name, into_pair};
use accp_frame::{
    DecodeError, DecodeOptions, EncodeError, Envelope, ErrorCode, FrameTokenLimits, Header, Limits,
    Reader, TokenCounter, Value, Within,
};

/// Parts that a frame can have: each carries a param at least, and a frame has no more.
const MOST_PARTS: u16 = 256;

/// The largest metadata of a part beyond that of its frame.
const LABEL: &str = ",pt:100/100,of:899999999999";

/// The longest reference to a value that has left its frame.
const REFERENCE: &str = "$cold.k899_999999999";

/// The param that holds, as pairs, the entries whose keys do not fit the grammar.
const OTHERS: &str = "_";

/// What the token limits make of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Split {
    /// It is within the hard limits as it is.
    Whole,
    /// The frames that take its place, in their order, without metadata: two or more, with
    /// the header and the schema of the frame, and its params distributed over them.
    Parts(Vec<String>),
    /// These params, by their full names and the largest first, are too large for any frame.
    /// Once references stand in their places, the frame may be tried again.
    TooLarge(Vec<String>),
}

/// Which part a frame is, as its metadata says: `pt:1/3,of:101000001001`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its place, from 1.
    pub index: u16,
    /// How many there are.
    pub total: u16,
    /// The id of the first part, by which all of them name their frame.
    pub of: Mid,
}

/// Distributes a frame over as many as the hard limits on body and total ask for.
///
/// `metadata` is what the metadata of the frame will cost in tokens; that of a part costs
/// more, which is seen to. Metadata over its own limit does not lead to splitting, because
/// every part would have it too.
///
/// ```
/// use accp_runtime::session::{Split, join, split};
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
/// E2003 when the header and the schema alone, or with a key and a reference, are over a
/// limit; E1001 when the text is no frame.
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
        // Stable: of equal ones the first is first.
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

/// The frame that these parts say together, without metadata: the params of each in the
/// order given, `schema` last. What they say may still be no frame: a key can stand twice.
///
/// # Errors
/// E1001 when a text is no frame; E1004 when header or schema are not those of the first.
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
    /// Reads `pt` and `of`; `None` when the frame is no part. `at` is the byte at which its
    /// metadata starts, for errors.
    ///
    /// ```
    /// use accp_runtime::Frame;
    /// use accp_runtime::session::{Mid, Part};
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
    /// E1004 when one of the two is not what it should be.
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
            // Of digits alone.
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
    /// The pairs of the metadata.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut of = self.of.to_string();
        if !matches!(Literal::classify(&of), Literal::Integer(_)) {
            let name = std::mem::take(&mut of);
            lexical::write_untyped(&mut of, &name);
        }
        write!(f, "pt:{}/{},of:{of}", self.index, self.total)
    }
}

/// A frame taken apart, so far as splitting asks for it.
pub(crate) struct Pieces<'a> {
    header: Header<'a>,
    schema: Option<&'a str>,
    /// The params but for the schema.
    params: Vec<Param<'a>>,
    /// Where the payload ends, after its `}`.
    pub(crate) end: usize,
}

struct Param<'a> {
    key: &'a str,
    /// All of it, `key:value`.
    text: &'a str,
}

impl<'a> Pieces<'a> {
    /// Reads the header and the payload; what follows is held to the grammar.
    pub(crate) fn read(text: &'a str) -> Result<Self, DecodeError> {
        // What a frame may hold is for its session to judge.
        let options = DecodeOptions {
            limits: Limits::NONE,
            marks: true,
        };
        let mut r = Reader::new(text, options)?;
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

    /// Refuses a part that does not say whose frame it is part of as this one does.
    pub(crate) fn check_same(&self, part: &Pieces<'_>) -> Result<(), DecodeError> {
        if (self.header, self.schema) == (part.header, part.schema) {
            return Ok(());
        }
        let expected = "the sender, intent, operation and schema of the first part";
        Err(DecodeError::new(ErrorCode::INVALID_TYPE, 0, expected))
    }

    /// Header and body of the frame that has these params and the schema.
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

    /// The name of a param in the payload of a message; of those that travel as pairs the
    /// largest, and `None` when a reference would make none of these smaller.
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
                let schema = self.schema.and_then(|code| registry.schema(code));
                let field = schema.and_then(|schema| schema.field(key));
                let name = field.map_or_else(|| full_name(key, schema), |(_, field)| &field.name);
                Some(String::from(name))
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::refs::reference::tests::any_value;
    use accp_frame::{EncodeOptions, Message, TokenLimit};

    /// A token for four bytes.
    pub(crate) struct Quarters;
    impl TokenCounter for Quarters {
        fn name(&self) -> &'static str {
            "quarters"
        }

        fn count(&self, text: &str) -> usize {
            text.len().div_ceil(4)
        }
    }

    pub(crate) fn limits(body: usize, total: usize) -> FrameTokenLimits {
        FrameTokenLimits {
            body: TokenLimit {
                soft: 0,
                hard: body,
            },
            total: TokenLimit {
                soft: 0,
                hard: total,
            },
            ..FrameTokenLimits::DRAFT
        }
    }

    const UNBOUNDED: DecodeOptions = DecodeOptions {
        limits: Limits::NONE,
        marks: true,
    };

    fn encode(message: &Message<'_>) -> String {
        let options = EncodeOptions {
            inline: true,
            limits: Limits::NONE,
            ..EncodeOptions::default()
        };
        message.encode_with(&Registry::standard(), options).unwrap()
    }

    /// Frames of many params, some of them large.
    fn any_frame() -> impl Strategy<Value = String> {
        let value = prop_oneof![3 => any_value(), 1 => "x{0,120}".prop_map(Value::from)];
        let params = prop::collection::vec(("[a-f]{1,3}|[ -~]{1,4}", value), 1..12);
        (params, any::<bool>()).prop_map(|(params, task)| {
            let mut message = Message::new("a", "req", "schedule").unwrap();
            for (name, value) in params.into_iter().filter(|(name, _)| name != "schema") {
                message = message.with(name, value);
            }
            if task {
                message = message
                    .under("TA")
                    .with("task", "impl_auth")
                    .with("assignee", "dev");
            }
            encode(&message)
        })
    }

    fn fits(frame: &str, limits: &FrameTokenLimits, metadata: usize) -> bool {
        let body = frame.find(':').map(|at| Quarters.count(&frame[at..]));
        body.is_some_and(|body| body <= limits.body.hard)
            && Quarters.count(frame) + metadata <= limits.total.hard
    }

    proptest! {
        #[test]
        fn parts_fit_and_say_the_same(frame in any_frame(), body in 10_usize..40, total in 30_usize..60) {
            let registry = Registry::standard();
            let limits = limits(body, total);
            match split(&frame, &registry, &limits, &Quarters, 5) {
                Ok(Split::Whole) => prop_assert!(fits(&frame, &limits, 5)),
                Ok(Split::Parts(parts)) => {
                    prop_assert!(!fits(&frame, &limits, 5));
                    prop_assert!(parts.len() > 1);
                    for part in &parts {
                        let read = accp_frame::Frame::parse_with(part, &UNBOUNDED);
                        prop_assert!(read.is_ok());
                        prop_assert!(fits(part, &limits, 5 + 7), "{}", part);
                    }
                    prop_assert_eq!(join(&parts), Ok(frame));
                }
                Ok(Split::TooLarge(names)) => {
                    prop_assert!(!names.is_empty());
                    let message = Message::decode_with(&frame, &registry, &UNBOUNDED).unwrap();
                    for name in names {
                        prop_assert!(message.payload.get(&name).is_some(), "{} in {}", name, frame);
                    }
                }
                Err(error) => prop_assert_eq!(error.code(), ErrorCode::BUDGET_EXCEEDED),
            }
        }

        #[test]
        fn what_is_too_large_fits_by_reference(frame in any_frame()) {
            let registry = Registry::standard();
            let limits = limits(30, 40);
            let mut text = frame.clone();
            // Each round takes out a param at least.
            for _ in 0..16 {
                match split(&text, &registry, &limits, &Quarters, 5) {
                    Ok(Split::TooLarge(names)) => {
                        let mut message =
                            Message::decode_with(&text, &registry, &UNBOUNDED).unwrap().into_owned();
                        for name in names {
                            message.payload.insert(name, Value::Ref("cold.k101_1".into()));
                        }
                        text = encode(&message);
                    }
                    // Many keys that do not fit the grammar travel as one param.
                    Err(error) => {
                        prop_assert_eq!(error.path(), "_");
                        return Ok(());
                    }
                    Ok(_) => return Ok(()),
                }
            }
            prop_assert!(false, "{}", text);
        }

        #[test]
        fn a_label_comes_back(index in 1_u16..=256, more in 0_u16..256, of in "[1-9][0-9]{11}|[0-9a-f]{12}|[ -~]{1,5}") {
            let total = (index + more).min(256);
            let part = Part { index, total, of: Mid::parse(&of) };
            let frame = format!("@a>req:plan{{}}[mid:x,{part}]");
            let envelope = accp_frame::Frame::parse(&frame).unwrap().envelope().unwrap();
            prop_assert_eq!(Part::read(&envelope, 13), Ok(Some(part)));
        }

        #[test]
        fn reads_any_label_or_refuses_it(pt in "[0-9/a-]{1,7}|[ -~]{0,4}", of in prop::option::of("[ -~]{0,4}")) {
            let mut envelope = Envelope::default();
            envelope.extra.insert("pt", Value::from(pt));
            if let Some(of) = of {
                envelope.extra.insert("of", Value::from(of));
            }
            if let Ok(part) = Part::read(&envelope, 0) {
                let part = part.unwrap();
                prop_assert!(1 <= part.index && part.index <= part.total && part.total <= 256);
            }
        }
    }

    #[test]
    fn takes_the_largest_first() {
        let frame = format!(
            "@a>req:schedule{{dead:{}|q:{}|x:1|_:[[a-b,1],[c-d,{}]]|schema:TA}}",
            "t".repeat(90),
            "q".repeat(200),
            "o".repeat(100),
        );
        let split = split(&frame, &Registry::standard(), &limits(20, 60), &Quarters, 0);
        let names = ["query", "c-d", "deadline"].map(String::from).into();
        assert_eq!(split, Ok(Split::TooLarge(names)));
    }

    #[test]
    fn says_what_cannot_be_split() {
        let error = |frame: &str, body| {
            split(
                frame,
                &Registry::standard(),
                &limits(body, 60),
                &Quarters,
                0,
            )
            .unwrap_err()
            .to_string()
        };
        insta::assert_snapshot!(error("@a>req:schedule{x:1|schema:TA}", 3), @"the header and the schema alone are over the token limits of a frame; shorten the names of agent and operation, or raise the limits");
        let long = format!("@a>req:plan{{{}:1}}", "k".repeat(90));
        insta::assert_snapshot!(error(&long, 20).replace(&"k".repeat(90), "KEY"), @"KEY: does not fit in a frame, not even as a reference; shorten the name, or raise the token limits");
        insta::assert_snapshot!(error("@a>req:plan{", 20), @"E1001 at byte 12: expected a key or '}' after '{', found the end");
        let join = |second| join(&["@a>req:plan{x:1}", second]).unwrap_err();
        insta::assert_snapshot!(join("@a>req:plan{y:1|schema:TA}"), @"E1004 at byte 0: expected the sender, intent, operation and schema of the first part");
        insta::assert_snapshot!(join("@b>req:plan{y:1}"), @"E1004 at byte 0: expected the sender, intent, operation and schema of the first part");
        let read = |metadata: &str| {
            let frame = format!("@a>req:plan{{}}[{metadata}]");
            let envelope = accp_frame::Frame::parse(&frame)
                .unwrap()
                .envelope()
                .unwrap();
            Part::read(&envelope, 13)
        };
        insta::assert_snapshot!(read("pt:4/3,of:a").unwrap_err(), @"E1004 at byte 13: expected the part as pt:1/3, at most 256 of them, and the id of the first as of");
        for wrong in [
            "pt:1/3",
            "pt:0/3,of:a",
            "pt:1/257,of:a",
            "pt:1,of:a",
            "pt:1/3,of:true",
        ] {
            assert_eq!(read(wrong), read("pt:4/3,of:a"), "{wrong}");
        }
        assert_eq!(read("of:a"), Ok(None));
    }
}
