//! The scanner: one pass over the text of a frame; it borrows as much as possible.

mod keys;
mod values;

use alloc::borrow::Cow;
use alloc::vec::Vec;

use accp_registry::lexical::{agent_run, is_agent_char, is_key_char};
use accp_registry::{ErrorCode, Limits};

use crate::error::DecodeError;

pub use keys::{Key, Keys};

/// The options for reading a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeOptions {
    /// The limits of the frame.
    pub limits: Limits,
    /// Whether the sender is known to use the marks `"` and `#` and the pairs form of a map. In frames of other
    /// senders, the marks are ordinary characters, and `{_:[[k,v],..]}` is a map with the key `_`.
    pub marks: bool,
}

impl DecodeOptions {
    /// The options for the text of a default. The registry wrote this text, not a peer, so no limits apply.
    pub(crate) const OF_A_DEFAULT: Self = Self {
        limits: Limits::NONE,
        marks: true,
    };
}

impl Default for DecodeOptions {
    /// Returns the default limits, with marks understood.
    fn default() -> Self {
        Self {
            limits: Limits::DEFAULT,
            marks: true,
        }
    }
}

/// ```abnf
/// header = "@" agent-id ">" intent
/// body   = ":" operation "{" [payload] "}"
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    /// The sender of the frame.
    pub agent: &'a str,
    /// The intent as written; [`accp_registry::Intent::lookup`] finds the standard ones.
    pub intent: &'a str,
    /// The operation.
    pub operation: &'a str,
}

/// Reads a frame from left to right (draft section 3.1).
///
/// A caller reads in the order of the grammar: [`header`](Self::header), then
/// [`param`](Self::param) and a value until there is none, then [`metadata`](Self::metadata) in the
/// same way, then [`finish`](Self::finish). Every method either consumes the part it is named after
/// or fails with the byte and the expectation. After an error the reader cannot be used further.
/// Limits are checked during reading.
#[derive(Debug)]
pub struct Reader<'a> {
    text: &'a str,
    /// The part of `text` that is still to be read.
    rest: &'a str,
    depth: u32,
    elements: u32,
    params: u32,
    options: DecodeOptions,
    /// Whether the text is so long that it can have more params or elements than the limits allow.
    is_counted: bool,
    /// Whether the last scalar has escapes.
    escaped: bool,
    /// The last key that was not among the known keys.
    unknown: &'a str,
    /// The fields that were read and that the type does not hold.
    pub(crate) dropped: Vec<Cow<'a, str>>,
}

/// A copy serves only to look ahead, so it begins without dropped fields.
impl Clone for Reader<'_> {
    #[inline]
    fn clone(&self) -> Self {
        Self {
            dropped: Vec::new(),
            ..*self
        }
    }
}

/// The first token of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    /// `~`
    Null,
    /// A typed literal, as its raw text.
    Scalar(&'a str),
    /// `$` and the key after it.
    Ref(&'a str),
    /// `[`, consumed.
    Array,
    /// `{`, consumed.
    Map,
}

type Result<T> = core::result::Result<T, DecodeError>;

impl<'a> Reader<'a> {
    /// Returns a reader at the first byte of a frame.
    ///
    /// # Errors
    /// E1001 when the text is longer than the limit.
    pub fn new(text: &'a str, options: DecodeOptions) -> Result<Self> {
        if text.len() > options.limits.frame_bytes {
            let expected =
                alloc::format!("a frame of at most {} bytes", options.limits.frame_bytes);
            return Err(DecodeError::new(
                ErrorCode::PARSE_ERROR,
                options.limits.frame_bytes,
                expected,
            ));
        }
        // A param takes at least two bytes, an element at least one.
        let is_counted = text.len() / 2 >= options.limits.params as usize
            || text.len() >= options.limits.elements as usize;
        Ok(Self {
            text,
            rest: text,
            depth: 0,
            elements: 0,
            params: 0,
            options,
            is_counted,
            escaped: false,
            unknown: "",
            dropped: Vec::new(),
        })
    }

    /// Returns a reader at `at`, in the same text under the same options.
    #[must_use]
    pub(crate) fn fork_at(&self, at: usize) -> Self {
        let rest = self.text.get(at..).unwrap_or_default();
        Self {
            rest,
            depth: 0,
            elements: 0,
            params: 0,
            dropped: Vec::new(),
            ..*self
        }
    }

    /// Returns the next byte to be read, from 0.
    #[inline]
    pub fn at(&self) -> usize {
        self.text.len() - self.rest.len()
    }

    /// Returns the options in force.
    #[inline]
    pub fn options(&self) -> &DecodeOptions {
        &self.options
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.as_bytes().first().copied()
    }

    /// Fails at the next byte.
    #[cold]
    pub fn expected<T>(&self, what: &'static str) -> Result<T> {
        Err(DecodeError::syntax(self.text, self.at(), what))
    }

    /// Returns whether the next value is a null.
    #[inline]
    pub(crate) fn is_null(&self) -> bool {
        self.peek() == Some(b'~')
    }

    /// Consumes a character, if it is next.
    #[inline]
    fn eat(&mut self, character: char) -> bool {
        match self.rest.strip_prefix(character) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    #[inline]
    fn expect(&mut self, character: char, what: &'static str) -> Result<()> {
        if self.eat(character) {
            Ok(())
        } else {
            self.expected(what)
        }
    }

    /// Consumes `length` bytes, all of them ASCII.
    #[inline]
    fn split(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or_default();
        self.rest = rest;
        taken
    }

    /// Returns the length of `*( class )`.
    #[inline]
    fn run(&self, class: impl Fn(u8) -> bool) -> usize {
        let bytes = self.rest.as_bytes();
        let mut length = 0;
        while bytes.get(length).is_some_and(|&byte| class(byte)) {
            length += 1;
        }
        length
    }

    /// Consumes `1*( class )`.
    #[inline]
    fn take(&mut self, class: impl Fn(u8) -> bool, what: &'static str) -> Result<&'a str> {
        let length = self.run(class);
        if length == 0 {
            return self.expected(what);
        }
        Ok(self.split(length))
    }

    /// ```abnf
    /// header = "@" agent-id ">" intent
    /// body   = ":" operation "{" [payload] "}"   ; up to and including "{"
    /// ```
    ///
    /// # Errors
    /// E1001 with the byte and the expectation there.
    pub fn header(&mut self) -> Result<Header<'a>> {
        let agent = self.agent()?;
        self.words(agent)
    }

    /// Reads a header as [`header`](Self::header) does. It is fastest for a frame with this intent and operation.
    #[expect(
        clippy::inline_always,
        reason = "the compiler compares the words as numbers where it knows them"
    )]
    #[inline(always)]
    pub(crate) fn header_with(
        &mut self,
        intent: &'static str,
        operation: &'static str,
    ) -> Result<Header<'a>> {
        match self.known_header(intent, operation) {
            Some(agent) => Ok(Header {
                agent,
                intent,
                operation,
            }),
            None => self.header(),
        }
    }

    /// Consumes a header with this intent and operation, and returns its agent.
    #[expect(clippy::inline_always, reason = "as for `header_with`")]
    #[inline(always)]
    fn known_header(&mut self, intent: &str, operation: &str) -> Option<&'a str> {
        let rest = self.rest.strip_prefix('@')?;
        let (agent, rest) = rest.split_at_checked(agent_run(rest.as_bytes()))?;
        let rest = rest.strip_prefix('>')?.strip_prefix(intent)?;
        let rest = rest.strip_prefix(':')?.strip_prefix(operation)?;
        self.rest = rest.strip_prefix('{').filter(|_| !agent.is_empty())?;
        Some(agent)
    }

    /// Reads the start of a header.
    #[inline]
    fn agent(&mut self) -> Result<&'a str> {
        self.expect('@', "'@' at the start of the frame")?;
        self.take(is_agent_char, "an agent id after '@'")
    }

    /// Reads the rest of a header.
    fn words(&mut self, agent: &'a str) -> Result<Header<'a>> {
        self.expect('>', "'>' after the agent id")?;
        let intent = self.take(|b| b.is_ascii_alphabetic(), "an intent after '>'")?;
        self.expect(':', "':' after the intent")?;
        let operation = self.take(is_key_char, "an operation after ':'")?;
        self.expect('{', "'{' after the operation")?;
        Ok(Header {
            agent,
            intent,
            operation,
        })
    }

    /// ```abnf
    /// payload = param *( "|" param )
    /// param   = key ":" value          ; up to and including ":"
    /// ```
    /// Returns the key, or `None` once `}` is consumed.
    ///
    /// # Errors
    /// E1001 with the byte and the expectation there, or when there are more params than the limit.
    #[inline]
    pub fn param(&mut self) -> Result<Option<&'a str>> {
        match self.before_param()? {
            Some(what) => self.pair_key(what).map(Some),
            None => Ok(None),
        }
    }

    /// Consumes the separator before the key of a param, and returns what is expected next; `None`
    /// once `}` is consumed.
    #[inline]
    fn before_param(&mut self) -> Result<Option<&'static str>> {
        Ok(Some(if self.params > 0 && self.eat('|') {
            "a key after '|'"
        } else if self.eat('}') {
            self.params = 0;
            return Ok(None);
        } else if self.params == 0 {
            "a key or '}' after '{'"
        } else {
            return self.expected("'|' or '}' after a value");
        }))
    }

    /// ```abnf
    /// metadata   = "[" meta-pairs "]"
    /// meta-pairs = param *( "," param )
    /// ```
    /// Returns the key of the next pair, or `None` once `]` is consumed or when there is no
    /// metadata.
    ///
    /// # Errors
    /// E1001 with the byte and the expectation there, or when there are more pairs than the limit.
    #[inline]
    pub fn metadata(&mut self) -> Result<Option<&'a str>> {
        match self.before_pair()? {
            Some(what) => self.pair_key(what).map(Some),
            None => Ok(None),
        }
    }

    /// Consumes the separator before the key of a pair, and returns what is expected next; `None`
    /// once `]` is consumed or when there is no metadata.
    #[inline]
    fn before_pair(&mut self) -> Result<Option<&'static str>> {
        Ok(Some(if self.params == 0 {
            if self.rest.is_empty() {
                return Ok(None);
            }
            self.expect('[', "'[' or the end after '}'")?;
            "a key after '['"
        } else if self.eat(',') {
            "a key after ','"
        } else if self.eat(']') {
            self.params = 0;
            return Ok(None);
        } else {
            return self.expected("',' or ']' after a value");
        }))
    }

    /// Consumes `key ":"`, and returns the key.
    #[inline]
    fn key(&mut self, what: &'static str) -> Result<&'a str> {
        let length = self.run(is_key_char);
        if length == 0 {
            return self.expected(what);
        }
        // A colon is one byte, so the split is at a character boundary and needs no test.
        if self.rest.as_bytes().get(length) != Some(&b':') {
            self.split(length);
            return self.expected("':' after the key");
        }
        let key = self.split(length);
        self.eat(':');
        Ok(key)
    }

    /// Reads a `param` of the payload or the metadata, up to and including `:`.
    #[expect(
        clippy::inline_always,
        reason = "decode is a tenth slower when this is called"
    )]
    #[inline(always)]
    fn pair_key(&mut self, what: &'static str) -> Result<&'a str> {
        let key = self.key(what)?;
        self.pair_read()?;
        Ok(key)
    }

    /// Counts a param or a pair, whose key has been read.
    #[inline]
    fn pair_read(&mut self) -> Result<()> {
        self.params += 1;
        if self.is_counted {
            return self.count_pair();
        }
        Ok(())
    }

    #[cold]
    fn count_pair(&mut self) -> Result<()> {
        if self.params > self.options.limits.params {
            return self.over_limit(self.options.limits.params, "params");
        }
        self.count_element()
    }

    /// Checks for the end of the frame.
    ///
    /// # Errors
    /// E1001 when any text follows.
    #[inline]
    pub fn finish(&self) -> Result<()> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            self.expected("the end of the frame")
        }
    }

    #[inline]
    fn element_read(&mut self) -> Result<()> {
        if self.is_counted {
            return self.count_element();
        }
        Ok(())
    }

    fn count_element(&mut self) -> Result<()> {
        self.elements += 1;
        if self.elements > self.options.limits.elements {
            return self.over_limit(self.options.limits.elements, "elements");
        }
        Ok(())
    }

    #[cold]
    fn over_limit<T>(&self, limit: u32, of: &str) -> Result<T> {
        let expected = alloc::format!("at most {limit} {of}");
        Err(DecodeError::new(
            ErrorCode::PARSE_ERROR,
            self.at(),
            expected,
        ))
    }

    /// Returns the schema code of the payload whose params come next, without consuming any text.
    ///
    /// # Errors
    /// E1001 as [`param`](Self::param), for the part of the payload before the code.
    pub fn schema_ahead(&self) -> Result<Option<&'a str>> {
        let mut ahead = self.clone();
        while let Some(key) = ahead.param()? {
            let value = ahead.skip_value()?;
            if key == "schema" {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}
