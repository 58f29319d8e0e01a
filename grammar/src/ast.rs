//! The syntax tree of a frame, borrowed from the text.
//!
//! Every node has its place in the text, and [`Display`](std::fmt::Display) writes the same bytes as in the text. The
//! tree shows only the form of the text: keys may repeat, and `007` is an integer for the grammar, although its
//! meaning ([`literal`](Scalar::literal)) is a string.

use std::fmt;

use accp_registry::lexical::Literal;

/// A range of bytes in the text, from `start` up to but not including `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first byte, from 0.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

/// ```abnf
/// frame  = header body [metadata]
/// header = "@" agent-id ">" intent
/// body   = ":" operation "{" [payload] "}"
/// ```
///
/// ```
/// let text = "@planner>req:schedule{who:dev|who:ops}";
/// let frame = accp_grammar::parse(text)?;
/// assert_eq!((frame.agent, frame.intent), ("planner", "req"));
/// assert_eq!(frame.payload.len(), 2);
/// assert_eq!(frame.metadata, None);
/// assert_eq!(frame.to_string(), text);
/// # Ok::<(), accp_grammar::SyntaxError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Frame<'a> {
    /// The sender, without its `@`.
    pub agent: &'a str,
    /// The intent: any letters. The grammar does not say which intents exist.
    pub intent: &'a str,
    /// The operation.
    pub operation: &'a str,
    /// The params of the body; empty for `{}`.
    pub payload: Vec<Param<'a>>,
    /// The pairs of the metadata, at least one; `None` if the frame has no brackets.
    pub metadata: Option<Vec<Param<'a>>>,
    /// The whole text.
    pub span: Span,
}

impl Frame<'_> {
    /// Returns the place of the agent id in the text.
    pub fn agent_span(&self) -> Span {
        let start = self.span.start + 1;
        Span {
            start,
            end: start + self.agent.len(),
        }
    }

    /// Returns the place of the intent in the text.
    pub fn intent_span(&self) -> Span {
        let start = self.agent_span().end + 1;
        Span {
            start,
            end: start + self.intent.len(),
        }
    }

    /// Returns the place of the operation in the text.
    pub fn operation_span(&self) -> Span {
        let start = self.intent_span().end + 1;
        Span {
            start,
            end: start + self.operation.len(),
        }
    }
}

/// A param of the payload, a pair of the metadata, or an entry of a map.
///
/// ```abnf
/// param = key ":" value
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Param<'a> {
    /// The key as written: the parser does not expand abbreviations.
    pub key: &'a str,
    /// The value.
    pub value: Value<'a>,
    /// From the key to the end of the value.
    pub span: Span,
}

impl Param<'_> {
    /// Returns the place of the key in the text.
    pub fn key_span(&self) -> Span {
        Span {
            start: self.span.start,
            end: self.span.start + self.key.len(),
        }
    }
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Value<'a> {
    /// The kind of the value, with its content.
    pub kind: ValueKind<'a>,
    /// The whole value: with the brackets of an array or map, and the `$` of a reference.
    pub span: Span,
}

/// ```abnf
/// value = typed-literal / array / map / ref / null
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ValueKind<'a> {
    /// A typed literal.
    Scalar(Scalar<'a>),
    /// `~`
    Null,
    /// `[v,...]`
    Array(Vec<Value<'a>>),
    /// `{k:v,...}`, in the order of the text, with repeated keys kept.
    Map(Vec<Param<'a>>),
    /// A reference, without its `$`.
    Ref(&'a str),
}

/// ```abnf
/// typed-literal = boolean / integer / decimal / string
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scalar<'a> {
    /// The text in the frame; its delimiters are still escaped.
    pub raw: &'a str,
    /// The production that the text matches.
    pub rule: ScalarRule,
}

impl<'a> Scalar<'a> {
    /// Returns the meaning of the text in a place without a declared type.
    ///
    /// ```
    /// use accp_grammar::ast::{ScalarRule, ValueKind};
    /// use accp_registry::lexical::Literal;
    ///
    /// let frame = accp_grammar::parse("@a>req:plan{n:007}")?;
    /// let ValueKind::Scalar(scalar) = &frame.payload[0].value.kind else { unreachable!() };
    /// assert_eq!(scalar.rule, ScalarRule::Integer);
    /// assert_eq!(scalar.literal(), Literal::String("007"));
    /// # Ok::<(), accp_grammar::SyntaxError>(())
    /// ```
    pub fn literal(&self) -> Literal<'a> {
        Literal::classify(self.raw)
    }
}

/// The production that a scalar matches, the narrowest of the four.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScalarRule {
    /// `"true" / "false"`
    Boolean,
    /// `["-"] 1*DIGIT`
    Integer,
    /// `["-"] 1*DIGIT "." 1*DIGIT`
    Decimal,
    /// `1*( safe-char / escaped-char )`
    String,
}

impl fmt::Display for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}>{}:{}", self.agent, self.intent, self.operation)?;
        write_list(f, '{', &self.payload, '|', '}')?;
        match &self.metadata {
            Some(pairs) => write_list(f, '[', pairs, ',', ']'),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Param<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.key, self.value)
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ValueKind::Scalar(scalar) => f.write_str(scalar.raw),
            ValueKind::Null => f.write_str("~"),
            ValueKind::Array(elements) => write_list(f, '[', elements, ',', ']'),
            ValueKind::Map(entries) => write_list(f, '{', entries, ',', '}'),
            ValueKind::Ref(key) => write!(f, "${key}"),
        }
    }
}

fn write_list<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    open: char,
    items: &[T],
    separator: char,
    close: char,
) -> fmt::Result {
    write!(f, "{open}")?;
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            write!(f, "{separator}")?;
        }
        write!(f, "{item}")?;
    }
    write!(f, "{close}")
}
