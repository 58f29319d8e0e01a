//! What a reader does with values: tokens, elements, entries, and what a scalar says.

use alloc::borrow::Cow;

use accp_registry::lexical::{self, is_delimiter, is_ref_char, is_safe_char};

use super::{Reader, Result, Token};
use crate::Limits;

impl<'a> Reader<'a> {
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

    /// The opening bracket of an array or a map.
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

    /// The raw text of a scalar; what else is a value is left where it is and `None`.
    ///
    /// # Errors
    /// E1001 with the byte and what was expected there.
    #[inline]
    pub(crate) fn scalar(&mut self) -> Result<Option<&'a str>> {
        let length = self.run(is_safe_char);
        if self.rest.as_bytes().get(length) == Some(&b'\\') {
            return self.escaped_string().map(Some);
        }
        if length == 0 {
            return self.no_scalar();
        }
        self.escaped = false;
        Ok(Some(self.split(length)))
    }

    #[cold]
    fn no_scalar(&self) -> Result<Option<&'a str>> {
        match self.peek() {
            Some(b'~' | b'$' | b'[' | b'{') => Ok(None),
            _ => self.expected("a value"),
        }
    }

    /// A string that has an escape.
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
    /// Whether another element follows; `]` is consumed when none does. `read` is the
    /// number of elements read so far.
    ///
    /// # Errors
    /// E1001 with the byte and what was expected there; more elements than the limit.
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
    /// The key of the next entry, or `None` once `}` is consumed. `read` is the number of
    /// entries read so far.
    ///
    /// # Errors
    /// E1001 with the byte and what was expected there; more elements than the limit.
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

    /// Reads over one value and gives its text.
    ///
    /// # Errors
    /// As [`token`](Self::token): what is skipped is held to the grammar all the same.
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

    /// The scalar that has just been read, as a `string` field has it: mark and escapes
    /// resolved.
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

    /// The scalar that has just been read, as a `text` field has it.
    #[inline]
    pub(crate) fn text_of(&self, raw: &'a str) -> Cow<'a, str> {
        if !self.escaped && lexical::is_plain(raw) {
            Cow::Borrowed(raw)
        } else {
            lexical::decode_text(raw)
        }
    }

    /// The scalar that has just been read, as an agent id.
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
