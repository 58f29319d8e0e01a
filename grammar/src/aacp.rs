//! The reference parser of AACP packets (AACP draft section 4).
//!
//! [`parse`](crate::parse()) is the same for frames. The grammar `aacp.pest`, which the generator makes from
//! `aacp.abnf`, decides which texts are packets. The parser reads strictly, so a space next to a key is a fault.
//! Vocabularies and required keys are checked by the validator, not here.
//!
//! ```
//! use accp_grammar::aacp;
//!
//! let packet = aacp::parse("FETCH|HR|return:HR-Agent|p:1|aacp:1.1|filter:status=active")?;
//! assert_eq!((packet.task, packet.dom), ("FETCH", "HR"));
//! assert_eq!((packet.fields[3].key, packet.fields[3].value), ("filter", "status=active"));
//!
//! let error = aacp::parse("FETCH|HR||p:1").unwrap_err();
//! assert_eq!(error.to_string(), "byte 9: expected a key after '|', found '|'; \
//!     an empty slot is left out, with its '|'");
//! # Ok::<(), accp_grammar::SyntaxError>(())
//! ```

mod cure;
mod pest_parser;

use std::fmt;

use pest::Parser as _;
use pest::iterators::Pair;

use self::pest_parser::{PacketParser, Rule};
use crate::ast::Span;
use crate::error::{Fault, SyntaxError};
use crate::grammar::AACP;
use crate::limits::{self, Limits};

/// A packet, borrowed from its text. [`Display`](fmt::Display) writes exactly the bytes that were parsed.
///
/// ```abnf
/// packet = task "|" dom 1*( "|" field )
/// ```
///
/// ```
/// let text = "LOG|HR|return:AUD-Agent|aacp:1.1|status:ok";
/// let packet = accp_grammar::aacp::parse(text)?;
/// assert_eq!(packet.fields.len(), 3);
/// assert_eq!(packet.to_string(), text);
/// # Ok::<(), accp_grammar::SyntaxError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The task: any word. The grammar does not say which tasks exist.
    pub task: &'a str,
    /// The domain: any word.
    pub dom: &'a str,
    /// The fields, at least one. Keys may repeat.
    pub fields: Vec<Field<'a>>,
    /// The whole text.
    pub span: Span,
}

/// A field of a packet.
///
/// ```abnf
/// field = key ":" value
/// value = *value-char
/// ```
///
/// ```
/// let packet = accp_grammar::aacp::parse("SEND|HR|att:rpt://payroll:pdf")?;
/// let field = &packet.fields[0];
/// assert_eq!((field.key, field.value), ("att", "rpt://payroll:pdf"));
/// assert_eq!((field.span.start, field.span.end), (8, 29));
/// # Ok::<(), accp_grammar::SyntaxError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field<'a> {
    /// The key.
    pub key: &'a str,
    /// The value, which may be empty.
    pub value: &'a str,
    /// From the key to the end of the value.
    pub span: Span,
}

impl fmt::Display for Packet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}|{}", self.task, self.dom)?;
        let mut fields = self.fields.iter();
        fields.try_for_each(|Field { key, value, .. }| write!(f, "|{key}:{value}"))
    }
}

/// Parses one packet, strictly, within the limits of the protocol: 8 KiB and 64 fields.
///
/// # Errors
/// The first byte that no packet can have at this place, with the parts that are allowed there; or the limit that the
/// packet exceeds.
///
/// ```
/// let error = accp_grammar::aacp::parse("FETCH|HR|HR-Agent").unwrap_err();
/// assert_eq!(error.to_string(), "byte 11: expected ':' after the key `HR`, found '-'; \
///     a key holds letters, digits and '_'");
/// ```
pub fn parse(text: &str) -> Result<Packet<'_>, SyntaxError> {
    parse_with(text, &AACP.protocol.limits)
}

/// Parses one packet, strictly, within the given limits: `frame_bytes` bounds the packet, and
/// `params` its fields.
///
/// The length is checked first, then the number of fields, then the grammar. If the text has a fault of the grammar
/// before the first field over the limit, the error is this fault, and not the number of fields.
///
/// # Errors
/// As [`parse`].
///
/// ```
/// use accp_grammar::{Fault, Limits, aacp};
///
/// let two = Limits { params: 2, ..Limits::DEFAULT };
/// let error = aacp::parse_with("LOG|HR|a:1|b:2|c:3", &two).unwrap_err();
/// assert_eq!((error.at(), error.fault()), (15, &Fault::Fields(2)));
/// ```
pub fn parse_with<'a>(text: &'a str, limits: &Limits) -> Result<Packet<'a>, SyntaxError> {
    limits::check_length(text.len(), limits, Fault::PacketBytes)?;
    parse_bounded(text, limits)
}

/// Parses one packet from bytes that need not be text, within the limits of the protocol.
///
/// # Errors
/// As [`parse`]. A byte that is not UTF-8 is a fault at its place. The error shows U+FFFD as the character found.
///
/// ```
/// let error = accp_grammar::aacp::parse_bytes(b"LOG|HR|status:\xff").unwrap_err();
/// assert_eq!(error.at(), 14);
/// assert_eq!(error.cure(), Some("this byte is not UTF-8; a packet is text in UTF-8"));
/// ```
pub fn parse_bytes(bytes: &[u8]) -> Result<Packet<'_>, SyntaxError> {
    let limits = &AACP.protocol.limits;
    limits::check_length(bytes.len(), limits, Fault::PacketBytes)?;
    match std::str::from_utf8(bytes) {
        Ok(text) => parse_bounded(text, limits),
        Err(error) => Err(SyntaxError::of_bytes(
            &bytes[..error.valid_up_to()],
            '\0',
            "this byte is not UTF-8; a packet is text in UTF-8",
            |text| parse_bounded(text, limits).err(),
        )),
    }
}

fn parse_bounded<'a>(text: &'a str, limits: &Limits) -> Result<Packet<'a>, SyntaxError> {
    // Every "|" is a separator: one between the parts of the head, and one before each field.
    let mut marks = text.match_indices('|').skip(1);
    let most = limits.params;
    let beyond = usize::try_from(most).ok().and_then(|most| marks.nth(most));
    if let Some((mark, _)) = beyond {
        // The parser reads the text up to and including the `|` of the first field over the limit, because a fault
        // may come before that field.
        let at = mark + 1;
        return Err(match run(&text[..at]) {
            Err(error) if error.at() < at => error,
            _ => SyntaxError::limit(at, Fault::Fields(most)),
        });
    }
    run(text)
}

fn run(text: &str) -> Result<Packet<'_>, SyntaxError> {
    let pairs = PacketParser::parse(Rule::packet, text)
        .map_err(|error| SyntaxError::of_pest(text, &error))?;
    let mut packet = Packet {
        task: "",
        dom: "",
        fields: Vec::new(),
        span: Span {
            start: 0,
            end: text.len(),
        },
    };
    for part in pairs.flat_map(Pair::into_inner) {
        match part.as_rule() {
            Rule::task => packet.task = part.as_str(),
            Rule::dom => packet.dom = part.as_str(),
            Rule::field => packet.fields.push(field(part)),
            _ => {}
        }
    }
    Ok(packet)
}

/// ```abnf
/// field = key ":" value
/// ```
fn field(pair: Pair<'_, Rule>) -> Field<'_> {
    let span = pair.as_span();
    let span = Span {
        start: span.start(),
        end: span.end(),
    };
    let mut field = Field {
        key: "",
        value: "",
        span,
    };
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::key => field.key = part.as_str(),
            Rule::value => field.value = part.as_str(),
            _ => {}
        }
    }
    field
}

#[cfg(test)]
mod tests;
