//! Reading values: tokens, elements, entries, and the meanings of scalars.

use alloc::borrow::Cow;

use accp_registry::Limits;
use accp_registry::lexical::{self, agent_run, is_delimiter, is_ref_char, is_safe_char, safe_run};

use super::{Reader, Result, Token};

/// Returns whether this byte can come directly after a value in a frame.
#[inline]
fn ends_value(byte: u8) -> bool {
    matches!(byte, b',' | b']' | b'|' | b'}')
}

impl<'a> Reader<'a> {
    /// ```abnf
    /// value = typed-literal / array / map / ref / null
    /// ```
    /// Consumes a whole scalar, reference or null. Of an array or a map it consumes only the opening
    /// bracket; continue with [`element`](Self::element) or [`entry`](Self::entry).
    ///
    /// # Errors
    /// E1001 with the byte and the expectation there, or when nesting is deeper than the limit.
    #[inline]
    pub fn token(&mut self) -> Result<Token<'a>> {
        if let Some(raw) = self.scalar()? {
            Ok(Token::Scalar(raw))
        } else if self.eat('~') {
            Ok(Token::Null)
        } else if self.eat('$') {
            self.take(is_ref_char, "a reference key after '$'")
                .map(Token::Ref)
        } else {
            self.open()
        }
    }

    /// Consumes the opening bracket of an array or a map.
    #[inline]
    fn open(&mut self) -> Result<Token<'a>> {
        let limit = self.options.limits.depth.min(Limits::MAX_DEPTH);
        if self.depth == limit {
            return self.over_limit(limit, "levels of nesting");
        }
        self.depth += 1;
        if self.eat('[') {
            return Ok(Token::Array);
        }
        self.expect('{', "a value").map(|()| Token::Map)
    }

    /// Consumes a scalar and returns its raw text. For any other value it consumes nothing and
    /// returns `None`.
    ///
    /// # Errors
    /// E1001 with the byte and the expectation there.
    #[inline]
    pub(crate) fn scalar(&mut self) -> Result<Option<&'a str>> {
        let length = safe_run(self.rest.as_bytes());
        if self.rest.as_bytes().get(length) == Some(&b'\\') {
            return self.escaped_string().map(Some);
        }
        if length == 0 {
            return self.no_scalar();
        }
        self.escaped = false;
        Ok(Some(self.split(length)))
    }

    /// Consumes a scalar whose text is also its value in a `string` field, because it has neither an escape nor a
    /// mark. For any other value it consumes nothing and returns `None`.
    pub(crate) fn plain(&mut self) -> Option<&'a str> {
        let bytes = self.rest.as_bytes();
        let length = safe_run(bytes);
        let is_plain = length > 0
            && bytes.get(length) != Some(&b'\\')
            && bytes.first() != Some(&lexical::MARK);
        is_plain.then(|| self.split(length))
    }

    /// Consumes a scalar that is an agent id without an escape. For any other value it consumes nothing and returns
    /// `None`.
    pub(crate) fn plain_agent(&mut self) -> Option<&'a str> {
        let bytes = self.rest.as_bytes();
        let length = agent_run(bytes);
        let is_plain = length > 0 && bytes.get(length).copied().is_some_and(ends_value);
        is_plain.then(|| self.split(length))
    }

    /// Consumes a scalar that is an integer of at most 18 digits without a sign, and returns it. For any other
    /// value it consumes nothing and returns `None`.
    #[inline(never)]
    pub(crate) fn digits(&mut self) -> Option<i64> {
        let (bytes, mut length, mut value) = (self.rest.as_bytes(), 0, 0);
        let end = loop {
            let &byte = bytes.get(length)?;
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break byte;
            }
            if length == 18 {
                return None;
            }
            value = value * 10 + i64::from(digit);
            length += 1;
        };
        if length == 0 || !ends_value(end) {
            return None;
        }
        self.split(length);
        self.escaped = false;
        Some(value)
    }

    #[cold]
    fn no_scalar(&self) -> Result<Option<&'a str>> {
        match self.peek() {
            Some(b'~' | b'$' | b'[' | b'{') => Ok(None),
            _ => self.expected("a value"),
        }
    }

    /// Consumes a string with an escape.
    #[cold]
    fn escaped_string(&mut self) -> Result<&'a str> {
        self.escaped = true;
        let bytes = self.rest.as_bytes();
        let mut length = 0;
        while let Some(&byte) = bytes.get(length) {
            if byte == b'\\' {
                length += 1;
                if !bytes.get(length).copied().is_some_and(is_delimiter) {
                    self.split(length);
                    return self.expected("one of the 12 delimiters after '\\'");
                }
            } else if !is_safe_char(byte) {
                break;
            }
            length += 1;
        }
        Ok(self.split(length))
    }

    /// ```abnf
    /// array = "[" [ value *( "," value ) ] "]"   ; after "["
    /// ```
    /// Returns whether another element follows; consumes `]` when none follows. `read` is the
    /// number of elements read so far.
    ///
    /// # Errors
    /// E1001 with the byte and the expectation there, or when there are more elements than the
    /// limit.
    #[inline]
    pub fn element(&mut self, read: usize) -> Result<bool> {
        if self.eat(']') {
            self.depth = self.depth.saturating_sub(1);
            return Ok(false);
        }
        if read > 0 {
            self.expect(',', "',' or ']' after an element")?;
        } else if self.rest.is_empty() {
            return self.expected("a value or ']' after '['");
        }
        self.element_read()?;
        Ok(true)
    }

    /// ```abnf
    /// map = "{" [ key ":" value *( "," key ":" value ) ] "}"   ; after "{"
    /// ```
    /// Returns the key of the next entry, or `None` once `}` is consumed. `read` is the number of
    /// entries read so far.
    ///
    /// # Errors
    /// E1001 with the byte and the expectation there, or when there are more elements than the
    /// limit.
    #[inline]
    pub fn entry(&mut self, read: usize) -> Result<Option<&'a str>> {
        let what = if read > 0 && self.eat(',') {
            "a key after ','"
        } else if self.eat('}') {
            self.depth = self.depth.saturating_sub(1);
            return Ok(None);
        } else if read == 0 {
            "a key or '}' after '{'"
        } else {
            return self.expected("',' or '}' after an entry");
        };
        let key = self.key(what)?;
        self.element_read()?;
        Ok(Some(key))
    }

    /// Consumes the opening bracket of an array, if one is next.
    ///
    /// # Errors
    /// E1001 when nesting is deeper than the limit.
    #[inline]
    pub(crate) fn array(&mut self) -> Result<bool> {
        let is_array = self.peek() == Some(b'[');
        if is_array {
            self.open()?;
        }
        Ok(is_array)
    }

    /// Skips one value and returns its text.
    ///
    /// # Errors
    /// As [`token`](Self::token): a skipped value must also fit the grammar.
    pub fn skip_value(&mut self) -> Result<&'a str> {
        let start = self.rest;
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
        Ok(start
            .get(..start.len() - self.rest.len())
            .unwrap_or_default())
    }

    /// Consumes a null, if one is next.
    #[inline]
    pub(crate) fn take_null(&mut self) -> bool {
        self.eat('~')
    }

    /// If there is a null at `at`, which a type has refused, goes back to this null and consumes it.
    #[cold]
    pub(crate) fn take_refused_null(&mut self, at: usize) -> bool {
        let behind = self.text.get(at..).and_then(|rest| rest.strip_prefix('~'));
        behind.inspect(|rest| self.rest = rest).is_some()
    }

    /// Returns the scalar that has just been read, as the value of a `string` field: mark and
    /// escapes are resolved.
    #[inline]
    pub(crate) fn string_of(&self, raw: &'a str) -> Cow<'a, str> {
        if !self.escaped && raw.as_bytes().first() != Some(&lexical::MARK) {
            Cow::Borrowed(raw)
        } else if self.options.marks {
            lexical::decode_string(raw)
        } else {
            lexical::unescape(raw)
        }
    }

    /// Returns whether the scalar that was read last has a backslash.
    pub(crate) fn is_escaped(&self) -> bool {
        self.escaped
    }

    /// Says whether the scalar that is passed next has a backslash. For a scalar that another reader has read.
    pub(crate) fn set_escaped(&mut self, is_escaped: bool) {
        self.escaped = is_escaped;
    }

    /// Returns the scalar that has just been read, as the value of a `text` field.
    #[inline]
    pub(crate) fn text_of(&self, raw: &'a str) -> Cow<'a, str> {
        if !self.escaped && lexical::is_plain(raw) {
            Cow::Borrowed(raw)
        } else {
            lexical::decode_text(raw)
        }
    }

    /// Returns the scalar that has just been read, as an agent id.
    #[inline]
    pub(crate) fn agent_of(&self, raw: &'a str) -> Option<&'a str> {
        let name = if self.escaped {
            raw.strip_prefix("\\@")?
        } else {
            raw
        };
        lexical::is_agent_id(name).then_some(name)
    }
}
