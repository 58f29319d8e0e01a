//! The reader of a block: its place in the text, and the faults that it has found.

use accp_frame::Repair;
use accp_registry::{ErrorCode, Registry, Type};

use super::mistake::Mistake;
use crate::view::fault::Unplaced;

/// Says that the form of a block is broken, so that the rest of the block cannot be read. The cursor holds the fault.
#[derive(Debug)]
pub(super) struct Broken;

pub(super) struct Cursor<'r, 't> {
    pub(super) registry: &'r Registry,
    pub(super) text: &'t str,
    pub(super) at: usize,
    /// The offset of this block in the whole text.
    pub(super) offset: usize,
    /// The number of this block in the whole text, from 1.
    pub(super) count: usize,
    /// The field that is being read.
    pub(super) path: String,
    /// The param whose text stands below the line, and its type.
    pub(super) below: Option<(String, &'r Type)>,
    pub(super) faults: Vec<Unplaced>,
    /// Whether the cursor is inside a table, where each line is a row.
    pub(super) is_in_table: bool,
    /// The repairs that were made; `None` for the strict reader, which makes none.
    pub(super) repairs: Option<Vec<Repair<Mistake>>>,
}

impl<'r, 't> Cursor<'r, 't> {
    pub(super) fn new(registry: &'r Registry, text: &'t str, offset: usize, count: usize) -> Self {
        Self {
            registry,
            text,
            at: 0,
            offset,
            count,
            path: String::new(),
            below: None,
            faults: Vec::new(),
            is_in_table: false,
            repairs: None,
        }
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Notes a fault of the value at `at`; reading goes on.
    pub(super) fn fault(&mut self, code: ErrorCode, at: usize, expected: impl Into<String>) {
        self.faults.push(Unplaced {
            code,
            at: self.offset + at,
            block: self.count,
            path: self.path.clone(),
            expected: expected.into(),
        });
    }

    pub(super) fn broken<T>(
        &mut self,
        code: ErrorCode,
        at: usize,
        what: impl Into<String>,
    ) -> Result<T, Broken> {
        self.fault(code, at, what);
        Err(Broken)
    }

    pub(super) fn expected<T>(&mut self, what: &str) -> Result<T, Broken> {
        self.broken(ErrorCode::PARSE_ERROR, self.at, what)
    }

    /// Reads the value of a field or of an item with `read`. Until `read` returns, `field` is part of the path of each
    /// fault.
    pub(super) fn within<T>(&mut self, field: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        if length > 0 && !field.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(field);
        let read = read(self);
        self.path.truncate(length);
        read
    }

    pub(super) fn take(&mut self, mark: char) -> bool {
        let is_next = self.rest().starts_with(mark);
        self.at += if is_next { mark.len_utf8() } else { 0 };
        is_next
    }

    pub(super) fn end(&mut self) -> Result<(), Broken> {
        if self.rest().is_empty() || self.ends_the_line() {
            return Ok(());
        }
        self.expected("the end")
    }

    /// Takes the text up to the first character that ends it; that character is not taken.
    pub(super) fn until(&mut self, ends: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let taken = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }
}
