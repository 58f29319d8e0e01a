//! The reference parser of frames: runs pest, and turns the tree of pest into the tree of [`ast`](crate::ast).

use pest::Parser as _;
use pest::iterators::Pair;

use crate::ast::{Frame, Param, Scalar, ScalarRule, Span, Value, ValueKind};
use crate::error::{Fault, SyntaxError};
use crate::grammar::ACCP;
use crate::limits::{self, Limits};
use crate::pest_parser::{FrameParser, Rule};

/// Parses one frame, strictly, within the default [`Limits`].
///
/// # Errors
/// The first byte that no frame can have at this place, with the parts that are allowed there (E1001).
///
/// ```
/// let error = accp_grammar::parse("@planner:plan{}").unwrap_err();
/// assert_eq!(error.to_string(), "byte 8: expected '>' after the agent id, found ':'; \
///     the header and the body are written @agent>intent:operation{}");
/// ```
pub fn parse(text: &str) -> Result<Frame<'_>, SyntaxError> {
    parse_with(text, &ACCP.protocol.limits)
}

/// Parses one frame, strictly, within the given limits.
///
/// The length is checked first, then nesting, then the grammar, and at last the counts on the finished tree. If the
/// text has a fault of the grammar before the bracket that is too deep, the error is this fault, and not the nesting.
///
/// # Errors
/// As [`parse`], and [`Fault::FrameBytes`], [`Fault::Depth`], [`Fault::Params`],
/// [`Fault::Elements`] for a frame over a limit.
pub fn parse_with<'a>(text: &'a str, limits: &Limits) -> Result<Frame<'a>, SyntaxError> {
    check_length(text.len(), limits)?;
    parse_bounded(text, limits)
}

fn parse_bounded<'a>(text: &'a str, limits: &Limits) -> Result<Frame<'a>, SyntaxError> {
    let depth = limits.depth.min(Limits::MAX_DEPTH);
    if let Some(at) = limits::too_deep(text, depth) {
        // The parser reads the text up to and including this bracket: the bracket itself may be a fault of the
        // grammar, or a fault may come before the bracket.
        return Err(match run(&text[..=at]) {
            Err(error) if error.at() <= at => error,
            _ => SyntaxError::limit(at, Fault::Depth(depth)),
        });
    }
    let frame = run(text)?;
    limits::check_counts(&frame, limits)?;
    Ok(frame)
}

/// Parses one frame from bytes that need not be text, within the default [`Limits`].
///
/// # Errors
/// As [`parse`]. A byte that is not UTF-8 is a fault at its place. The error shows U+FFFD as the character found.
///
/// ```
/// let error = accp_grammar::parse_bytes(b"@a>req:plan{task:\xff}").unwrap_err();
/// assert_eq!(error.at(), 17);
/// ```
pub fn parse_bytes(bytes: &[u8]) -> Result<Frame<'_>, SyntaxError> {
    let limits = &ACCP.protocol.limits;
    check_length(bytes.len(), limits)?;
    match std::str::from_utf8(bytes) {
        Ok(text) => parse_bounded(text, limits),
        Err(error) => Err(SyntaxError::of_bytes(
            &bytes[..error.valid_up_to()],
            char::REPLACEMENT_CHARACTER,
            "this byte is not UTF-8; a frame is printable ASCII",
            |text| parse_bounded(text, limits).err(),
        )),
    }
}

fn check_length(length: usize, limits: &Limits) -> Result<(), SyntaxError> {
    limits::check_length(length, limits, Fault::FrameBytes)
}

fn run(text: &str) -> Result<Frame<'_>, SyntaxError> {
    let pairs = FrameParser::parse(Rule::frame, text)
        .map_err(|error| SyntaxError::of_pest(text, &error))?;
    let mut frame = Frame {
        agent: "",
        intent: "",
        operation: "",
        payload: Vec::new(),
        metadata: None,
        span: Span {
            start: 0,
            end: text.len(),
        },
    };
    for part in pairs.flat_map(Pair::into_inner).flat_map(Pair::into_inner) {
        match part.as_rule() {
            Rule::agent_id => frame.agent = part.as_str(),
            Rule::intent => frame.intent = part.as_str(),
            Rule::operation => frame.operation = part.as_str(),
            Rule::payload => frame.payload = params(part),
            Rule::meta_pairs => frame.metadata = Some(params(part)),
            _ => {}
        }
    }
    Ok(frame)
}

/// ```abnf
/// payload    = param *( "|" param )
/// meta-pairs = param *( "," param )
/// ```
fn params(pair: Pair<'_, Rule>) -> Vec<Param<'_>> {
    let params = pair
        .into_inner()
        .filter(|pair| pair.as_rule() == Rule::param);
    params.flat_map(entries).collect()
}

/// Returns the keys and values of a `param` or a `map`, without the marks between them.
fn entries(pair: Pair<'_, Rule>) -> Vec<Param<'_>> {
    let mut entries = Vec::new();
    let mut key = None;
    for part in pair.into_inner() {
        match (part.as_rule(), &key) {
            (Rule::key, _) => key = Some(part),
            (Rule::value, Some(name)) => {
                entries.push(Param {
                    key: name.as_str(),
                    span: Span {
                        start: span(name).start,
                        end: span(&part).end,
                    },
                    value: value(part),
                });
            }
            _ => {}
        }
    }
    entries
}

/// ```abnf
/// value         = typed-literal / array / map / ref / null
/// typed-literal = boolean / integer / decimal / string
/// ```
fn value(pair: Pair<'_, Rule>) -> Value<'_> {
    let span = span(&pair);
    let raw = pair.as_str();
    let mut inner = pair.into_inner().flatten();
    let alternative = inner.find(|pair| pair.as_rule() != Rule::typed_literal);
    let scalar = |rule| ValueKind::Scalar(Scalar { raw, rule });
    let kind = match alternative.map(|pair| (pair.as_rule(), pair)) {
        Some((Rule::boolean, _)) => scalar(ScalarRule::Boolean),
        Some((Rule::integer, _)) => scalar(ScalarRule::Integer),
        Some((Rule::decimal, _)) => scalar(ScalarRule::Decimal),
        Some((Rule::string, _)) => scalar(ScalarRule::String),
        Some((Rule::array, pair)) => ValueKind::Array(elements(pair)),
        Some((Rule::map, pair)) => ValueKind::Map(entries(pair)),
        Some((Rule::reference, _)) => ValueKind::Ref(&raw[1..]),
        _ => ValueKind::Null,
    };
    Value { kind, span }
}

/// ```abnf
/// array = "[" [ value *( "," value ) ] "]"
/// ```
fn elements(pair: Pair<'_, Rule>) -> Vec<Value<'_>> {
    let values = pair
        .into_inner()
        .filter(|pair| pair.as_rule() == Rule::value);
    values.map(value).collect()
}

fn span(pair: &Pair<'_, Rule>) -> Span {
    let span = pair.as_span();
    Span {
        start: span.start(),
        end: span.end(),
    }
}

#[cfg(test)]
mod tests;
