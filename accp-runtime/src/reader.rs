//! The scanner: one pass over the text of a frame, borrowing all it can.

use alloc::borrow::Cow;

use accp_registry::lexical::{
    self, AGENT, PLAIN, SAFE, is_agent_char, is_delimiter, is_key_char, is_ref_char,
};

use crate::value::is_pairs;
use crate::{DecodeError, ErrorCode, Limits, Value};

/// How a frame is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeOptions {
    /// Bounds on the frame.
    pub limits: Limits,
    /// Whether the sender is known to use the marks `"` and `#` and the pairs form of a
    /// map; from a sender that did not announce them they are ordinary characters.
    pub marks: bool,
}

impl Default for DecodeOptions {
    /// The default limits, marks understood.
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
    /// Who sends the frame.
    pub agent: &'a str,
    /// The intent as written; [`accp_registry::Intent::lookup`] knows the standard ones.
    pub intent: &'a str,
    /// The operation.
    pub operation: &'a str,
}

/// Reads a frame from left to right (draft section 3.1).
///
/// A caller reads in the order of the grammar: [`header`](Self::header), then
/// [`param`](Self::param) and a value until there is none, then
/// [`metadata`](Self::metadata) likewise, then [`finish`](Self::finish). Every method
/// either consumes what it names or fails with the byte and what was expected; after an
/// error the reader is of no further use. Limits are checked as the text is met.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    elements: u32,
    params: u32,
    options: DecodeOptions,
    /// The character classes that all of the last scalar shares; none when it has escapes.
    shared: u8,
}

/// The two kinds of text behind a scalar position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    /// `~`
    Null,
    /// A typed literal, its raw text.
    Scalar(&'a str),
    /// `$` and the key that follows.
    Ref(&'a str),
    /// `[`, consumed.
    Array,
    /// `{`, consumed.
    Map,
}

type Result<T> = core::result::Result<T, DecodeError>;

impl<'a> Reader<'a> {
    /// Starts at the first byte of a frame.
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
        Ok(Self {
            text,
            at: 0,
            depth: 0,
            elements: 0,
            params: 0,
            options,
            shared: 0,
        })
    }

    /// Reads on at `at`, in the same text under the same options.
    #[must_use]
    pub fn fork_at(&self, at: usize) -> Self {
        Self {
            at,
            depth: 0,
            elements: 0,
            params: 0,
            ..*self
        }
    }

    /// The next byte to be read, from 0.
    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    /// The options in force.
    #[inline]
    pub fn options(&self) -> &DecodeOptions {
        &self.options
    }

    /// The text between two bytes.
    #[inline]
    pub fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Fails at the next byte.
    #[cold]
    pub fn expected<T>(&self, what: &'static str) -> Result<T> {
        Err(DecodeError::syntax(self.text, self.at, what))
    }

    #[inline]
    fn expect(&mut self, byte: u8, what: &'static str) -> Result<()> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            self.expected(what)
        }
    }

    /// `1*( class )`
    #[inline]
    fn take(&mut self, class: impl Fn(u8) -> bool, what: &'static str) -> Result<&'a str> {
        let start = self.at;
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        let length = rest.iter().position(|&b| !class(b)).unwrap_or(rest.len());
        if length == 0 {
            return self.expected(what);
        }
        self.at += length;
        Ok(self.slice(start, self.at))
    }

    /// ```abnf
    /// header = "@" agent-id ">" intent
    /// body   = ":" operation "{" [payload] "}"   ; up to and with "{"
    /// ```
    ///
    /// # Errors
    /// E1001 with the byte and what was expected there.
    #[inline]
    pub fn header(&mut self) -> Result<Header<'a>> {
        self.expect(b'@', "'@' at the start of the frame")?;
        let agent = self.take(is_agent_char, "an agent id after '@'")?;
        self.expect(b'>', "'>' after the agent id")?;
        let intent = self.take(|b| b.is_ascii_alphabetic(), "an intent after '>'")?;
        self.expect(b':', "':' after the intent")?;
        let operation = self.take(is_key_char, "an operation after ':'")?;
        self.expect(b'{', "'{' after the operation")?;
        Ok(Header {
            agent,
            intent,
            operation,
        })
    }

    /// ```abnf
    /// payload = param *( "|" param )
    /// param   = key ":" value          ; up to and with ":"
    /// ```
    /// Gives the key, or `None` once `}` is consumed.
    ///
    /// # Errors
    /// E1001 with the byte and what was expected there; more params than the limit.
    #[inline]
    pub fn param(&mut self) -> Result<Option<&'a str>> {
        if self.params == 0 {
            if self.peek() == Some(b'}') {
                self.at += 1;
                return Ok(None);
            }
            return self.pair_key("a key or '}' after '{'").map(Some);
        }
        match self.peek() {
            Some(b'|') => {
                self.at += 1;
                self.pair_key("a key after '|'").map(Some)
            }
            Some(b'}') => {
                self.at += 1;
                self.params = 0;
                Ok(None)
            }
            _ => self.expected("'|' or '}' after a value"),
        }
    }

    /// ```abnf
    /// metadata   = "[" meta-pairs "]"
    /// meta-pairs = param *( "," param )
    /// ```
    /// Gives the key of the next pair, or `None` once `]` is consumed or when there is no
    /// metadata.
    ///
    /// # Errors
    /// E1001 with the byte and what was expected there; more pairs than the limit.
    #[inline]
    pub fn metadata(&mut self) -> Result<Option<&'a str>> {
        if self.params == 0 {
            return match self.peek() {
                None => Ok(None),
                Some(b'[') => {
                    self.at += 1;
                    self.pair_key("a key after '['").map(Some)
                }
                Some(_) => self.expected("'[' or the end after '}'"),
            };
        }
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.pair_key("a key after ','").map(Some)
            }
            Some(b']') => {
                self.at += 1;
                self.params = 0;
                Ok(None)
            }
            _ => self.expected("',' or ']' after a value"),
        }
    }

    #[inline]
    fn pair_key(&mut self, what: &'static str) -> Result<&'a str> {
        let key = self.take(is_key_char, what)?;
        self.expect(b':', "':' after the key")?;
        self.params += 1;
        if self.params > self.options.limits.params {
            return self.over_limit(self.options.limits.params, "params");
        }
        self.element_read()?;
        Ok(key)
    }

    /// The end of the frame.
    ///
    /// # Errors
    /// E1001 when anything follows.
    #[inline]
    pub fn finish(&self) -> Result<()> {
        if self.at == self.text.len() {
            Ok(())
        } else {
            self.expected("the end of the frame")
        }
    }

    /// ```abnf
    /// value = typed-literal / array / map / ref / null
    /// ```
    /// Consumes a scalar, a reference or a null whole, of an array or a map the opening
    /// bracket; go on with [`element`](Self::element) or [`entry`](Self::entry).
    ///
    /// # Errors
    /// E1001 with the byte and what was expected there; nesting deeper than the limit.
    #[inline]
    pub fn token(&mut self) -> Result<Token<'a>> {
        match self.peek() {
            Some(b'~') => {
                self.at += 1;
                Ok(Token::Null)
            }
            Some(b'$') => {
                self.at += 1;
                self.take(is_ref_char, "a reference key after '$'")
                    .map(Token::Ref)
            }
            Some(b'[') => self.open().map(|()| Token::Array),
            Some(b'{') => self.open().map(|()| Token::Map),
            _ => self.string().map(Token::Scalar),
        }
    }

    #[inline]
    fn open(&mut self) -> Result<()> {
        let limit = self.options.limits.depth.min(Limits::MAX_DEPTH);
        if self.depth == limit {
            return self.over_limit(limit, "levels of nesting");
        }
        self.at += 1;
        self.depth += 1;
        Ok(())
    }

    /// The raw text of a scalar; what else is a value is left where it is and `None`.
    ///
    /// # Errors
    /// E1001 with the byte and what was expected there.
    #[inline]
    pub(crate) fn scalar(&mut self) -> Result<Option<&'a str>> {
        match self.peek() {
            Some(b'~' | b'$' | b'[' | b'{') => Ok(None),
            _ => self.string().map(Some),
        }
    }

    /// ```abnf
    /// string       = 1*( safe-char / escaped-char )
    /// escaped-char = "\" delimiter
    /// ```
    #[inline]
    fn string(&mut self) -> Result<&'a str> {
        let start = self.at;
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        let (mut length, mut shared) = (0, u8::MAX);
        for &byte in rest {
            let classes = lexical::classes(byte);
            if classes & SAFE == 0 {
                break;
            }
            shared &= classes;
            length += 1;
        }
        (self.at, self.shared) = (start + length, shared);
        match rest.get(length) {
            Some(b'\\') => self.escaped_string(start),
            _ if length == 0 => self.expected("a value"),
            _ => Ok(self.slice(start, self.at)),
        }
    }

    /// The rest of a string, from its first escape.
    fn escaped_string(&mut self, start: usize) -> Result<&'a str> {
        self.shared = 0;
        while let Some(byte) = self.peek() {
            if byte == b'\\' {
                self.at += 1;
                if !self.peek().is_some_and(is_delimiter) {
                    return self.expected("one of the 12 delimiters after '\\'");
                }
            } else if lexical::classes(byte) & SAFE == 0 {
                break;
            }
            self.at += 1;
        }
        Ok(self.slice(start, self.at))
    }

    /// ```abnf
    /// array = "[" [ value *( "," value ) ] "]"   ; after "["
    /// ```
    /// Whether another element follows; `]` is consumed when none does. `read` is the
    /// number of elements read so far.
    ///
    /// # Errors
    /// E1001 with the byte and what was expected there; more elements than the limit.
    #[inline]
    pub fn element(&mut self, read: usize) -> Result<bool> {
        match self.peek() {
            Some(b']') => {
                self.at += 1;
                self.depth = self.depth.saturating_sub(1);
                return Ok(false);
            }
            Some(b',') if read > 0 => self.at += 1,
            Some(_) if read == 0 => {}
            _ if read == 0 => return self.expected("a value or ']' after '['"),
            _ => return self.expected("',' or ']' after an element"),
        }
        self.element_read()?;
        Ok(true)
    }

    /// ```abnf
    /// map = "{" [ key ":" value *( "," key ":" value ) ] "}"   ; after "{"
    /// ```
    /// The key of the next entry, or `None` once `}` is consumed. `read` is the number of
    /// entries read so far.
    ///
    /// # Errors
    /// E1001 with the byte and what was expected there; more elements than the limit.
    #[inline]
    pub fn entry(&mut self, read: usize) -> Result<Option<&'a str>> {
        let what = match self.peek() {
            Some(b'}') => {
                self.at += 1;
                self.depth = self.depth.saturating_sub(1);
                return Ok(None);
            }
            Some(b',') if read > 0 => {
                self.at += 1;
                "a key after ','"
            }
            _ if read == 0 => "a key or '}' after '{'",
            _ => return self.expected("',' or '}' after an entry"),
        };
        let key = self.take(is_key_char, what)?;
        self.expect(b':', "':' after the key")?;
        self.element_read()?;
        Ok(Some(key))
    }

    #[inline]
    fn element_read(&mut self) -> Result<()> {
        self.elements += 1;
        if self.elements > self.options.limits.elements {
            return self.over_limit(self.options.limits.elements, "elements");
        }
        Ok(())
    }

    #[cold]
    fn over_limit<T>(&self, limit: u32, of: &str) -> Result<T> {
        let expected = alloc::format!("at most {limit} {of}");
        Err(DecodeError::new(ErrorCode::PARSE_ERROR, self.at, expected))
    }

    /// Reads over one value and gives its text.
    ///
    /// # Errors
    /// As [`token`](Self::token): what is skipped is held to the grammar all the same.
    pub fn skip_value(&mut self) -> Result<&'a str> {
        let start = self.at;
        match self.token()? {
            Token::Array => {
                let mut read = 0;
                while self.element(read)? {
                    self.skip_value()?;
                    read += 1;
                }
            }
            Token::Map => {
                let mut read = 0;
                while self.entry(read)?.is_some() {
                    self.skip_value()?;
                    read += 1;
                }
            }
            Token::Null | Token::Scalar(_) | Token::Ref(_) => {}
        }
        Ok(self.slice(start, self.at))
    }

    /// Consumes a null, if one is next.
    #[inline]
    pub fn take_null(&mut self) -> bool {
        let null = self.peek() == Some(b'~');
        self.at += usize::from(null);
        null
    }

    /// The schema code of the payload whose params come next; nothing is consumed.
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

    /// Whether a map, of which the key `_` has just been read, is in the pairs form:
    /// `[[k,v],..]` with texts as keys, and nothing after it.
    pub(crate) fn at_pairs(&self) -> bool {
        let mut ahead = self.clone();
        self.options.marks
            && matches!(Value::read(&mut ahead), Ok(Value::Array(items)) if is_pairs(&items))
            && ahead.peek() == Some(b'}')
    }

    /// The scalar that has just been read, as a `string` field has it: mark and escapes
    /// resolved.
    #[inline]
    pub(crate) fn string_of(&self, raw: &'a str) -> Cow<'a, str> {
        if self.shared & SAFE != 0 && raw.as_bytes().first() != Some(&lexical::MARK) {
            Cow::Borrowed(raw)
        } else if self.options.marks {
            lexical::decode_string(raw)
        } else {
            lexical::unescape(raw)
        }
    }

    /// The scalar that has just been read, as a `text` field has it.
    #[inline]
    pub(crate) fn text_of(&self, raw: &'a str) -> Cow<'a, str> {
        if self.shared & PLAIN != 0 {
            Cow::Borrowed(raw)
        } else {
            lexical::decode_text(raw)
        }
    }

    /// The scalar that has just been read, as an agent id.
    #[inline]
    pub(crate) fn agent_of(&self, raw: &'a str) -> Option<&'a str> {
        if self.shared & AGENT != 0 {
            return Some(raw);
        }
        let name = raw.strip_prefix("\\@")?;
        lexical::is_agent_id(name).then_some(name)
    }
}
