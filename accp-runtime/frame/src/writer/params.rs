//! Writing params: their keys, and the values that are left out.

use alloc::string::String;

use accp_registry::{ErrorCode, Limits};

use super::{Absent, EncodeValue, LONG_VALUE, Result, Writer};
use crate::error::EncodeError;

impl Writer<'_, '_> {
    #[inline]
    fn key(&mut self, key: &str) {
        if self.params > 0 {
            self.out.push('|');
        }
        self.out.push_str(key);
        self.out.push(':');
        self.params += 1;
        self.elements += 1;
    }

    /// Appends a param, unless the value is absent or has the text of the default (draft section
    /// 3.3, item 5). An absent value of a field with a default is written as null, because a reader
    /// would take a missing param for the default.
    ///
    /// # Errors
    /// The error of the value, under `name`; E1004 for a required value that is absent or null.
    #[inline]
    pub fn field<K, T: EncodeValue<K> + ?Sized>(
        &mut self,
        name: &str,
        key: &str,
        value: &T,
        absent: Absent<'_>,
        inline: bool,
    ) -> Result<()> {
        self.param(|w| w.key(key), name, value, absent, inline)
    }

    /// Appends a param as [`field`](Self::field) does. `key` includes the separator and the colon: `|task:`.
    #[inline]
    pub(crate) fn constant_field<K, T: EncodeValue<K> + ?Sized>(
        &mut self,
        name: &'static str,
        key: &'static str,
        value: &T,
        absent: Absent<'_>,
        inline: bool,
    ) -> Result<()> {
        self.param(|w| w.constant_key(key), name, value, absent, inline)
    }

    #[expect(
        clippy::inline_always,
        reason = "each of the two functions above is this one with its key"
    )]
    #[inline(always)]
    fn param<K, T: EncodeValue<K> + ?Sized>(
        &mut self,
        key: impl FnOnce(&mut Self),
        name: &str,
        value: &T,
        absent: Absent<'_>,
        inline: bool,
    ) -> Result<()> {
        if value.is_absent() && absent == Absent::Nothing {
            return Ok(());
        }
        let before = (self.out.len(), self.params, self.elements);
        key(self);
        self.inline_field = inline;
        let is_default = self
            .value(value, absent)
            .map_err(|error| error.within(String::from(name)))?;
        if is_default {
            self.out.truncate(before.0);
            (self.params, self.elements) = (before.1, before.2);
        }
        Ok(())
    }

    /// Appends a key that includes its separator and its colon. Leaves out the separator before the first param.
    #[expect(
        clippy::inline_always,
        reason = "the compiler copies a constant key as a number"
    )]
    #[inline(always)]
    pub(super) fn constant_key(&mut self, key: &'static str) {
        if self.params == 0 {
            self.out.push_str(key.get(1..).unwrap_or_default());
        } else {
            self.out.push_str(key);
        }
        self.params += 1;
        self.elements += 1;
    }

    /// Appends a value and returns whether its text equals the default.
    #[inline]
    pub(super) fn value<K, T: EncodeValue<K> + ?Sized>(
        &mut self,
        value: &T,
        absent: Absent<'_>,
    ) -> Result<bool> {
        // A long value may go out by reference only after it is known to differ from the default.
        if let Absent::Default(text) = absent
            && text.len() > LONG_VALUE
            && self.is_default(value, text)
        {
            return Ok(true);
        }
        let (start, elements, depth) = (self.out.len(), self.elements, self.depth);
        if let Err(error) = value.encode_value(self) {
            self.out.truncate(start);
            (self.elements, self.depth) = (elements, depth);
            return match absent {
                Absent::Default(text) if self.is_default(value, text) => Ok(true),
                _ => Err(error),
            };
        }
        match absent {
            Absent::Nothing => Ok(false),
            Absent::Default(text) => {
                Ok(self.out.len() - start == text.len() && self.out.ends_with(text))
            }
            Absent::Fault if self.is_null(start) => Err(no_value()),
            Absent::Fault => Ok(false),
        }
    }

    /// Returns whether the value that begins at `start` is a null.
    #[inline]
    pub(super) fn is_null(&self, start: usize) -> bool {
        self.out.len() == start + 1 && self.out.ends_with('~')
    }

    /// Returns whether a value has the text of its default, and writes nothing. The writer leaves such a value out, so
    /// the value may be long, and nested deeper than the limit.
    #[cold]
    #[inline(never)]
    fn is_default<K, T: EncodeValue<K> + ?Sized>(&mut self, value: &T, default: &str) -> bool {
        let (start, elements, depth) = (self.out.len(), self.elements, self.depth);
        let (inline, most) = (self.options.inline, self.options.limits.depth);
        (self.options.inline, self.options.limits.depth) = (true, Limits::MAX_DEPTH);
        let written = value.encode_value(self);
        let is_default = written.is_ok() && self.out.get(start..) == Some(default);
        (self.options.inline, self.options.limits.depth) = (inline, most);
        self.out.truncate(start);
        (self.elements, self.depth) = (elements, depth);
        is_default
    }
}

#[cold]
pub(super) fn no_value() -> EncodeError {
    EncodeError::new(
        ErrorCode::INVALID_TYPE,
        "a value has to stand here, and null is none",
    )
}
