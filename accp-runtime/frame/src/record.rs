//! Records that were read as a schema known only at run time: which fields they have, and which they need.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;

use accp_registry::{ErrorCode, FrameSpec, Schema, Type, nearest};

use crate::error::DecodeError;
use crate::record_scope::RecordScope;
use crate::value::{Map, Value};
use crate::writer::Absent;

/// A param of a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Param<'a> {
    pub(crate) key: &'a str,
    /// The byte where its value begins.
    pub(crate) at: usize,
    /// The text of its value.
    pub(crate) raw: &'a str,
    /// Whether its value is a scalar with a backslash.
    pub(crate) is_escaped: bool,
}

/// Which fields of a schema a record has, by their index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Held {
    first: u64,
    others: BTreeSet<usize>,
}

impl Held {
    pub(crate) fn of(map: &Map<'_>, schema: &Schema) -> Self {
        let mut held = Self::default();
        let fields = map.iter().filter_map(|(name, _)| schema.field(name));
        fields.for_each(|(index, _)| held.insert(index));
        held
    }

    pub(crate) fn insert(&mut self, index: usize) {
        match index {
            0..64 => self.first |= 1 << index,
            _ => drop(self.others.insert(index)),
        }
    }

    fn contains(&self, index: usize) -> bool {
        match index {
            0..64 => self.first >> index & 1 == 1,
            _ => self.others.contains(&index),
        }
    }
}

/// A record that was read, without the fields that it leaves out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'r> {
    pub(crate) schema: &'r Schema,
    pub(crate) scope: RecordScope<'r>,
    /// The schema's declaration of the scope.
    pub(crate) frame: Option<&'r FrameSpec>,
    /// The byte that an error names.
    pub(crate) at: usize,
    /// The params of a frame; none for a nested record. If one is a misspelling of a missing field, the error names the
    /// byte of its key.
    pub(crate) params: &'r [Param<'r>],
}

impl Record<'_> {
    /// Fills in the defaults, which `read` reads from their wire texts, and checks that no required field is missing.
    pub(crate) fn complete<'a>(
        &self,
        mut map: Map<'a>,
        held: &Held,
        read: impl Fn(&str, &Type) -> Result<Value<'a>, DecodeError>,
    ) -> Result<Map<'a>, DecodeError> {
        let Self {
            schema,
            scope,
            frame,
            ..
        } = *self;
        let mut lacks = false;
        for (index, field) in schema.fields.iter().enumerate() {
            if held.contains(index) {
                continue;
            }
            match scope.absent(schema, index, frame) {
                Absent::Default(default) => {
                    map.insert(field.name.clone(), read(default, &field.ty)?);
                }
                Absent::Fault => lacks = true,
                Absent::Nothing => {}
            }
        }
        if lacks {
            let mut required = scope.required(schema);
            if let Some(missing) = required.find(|name| map.get(name).is_none()) {
                return Err(self.missing(&map, missing));
            }
        }
        Ok(map)
    }

    /// Returns the error for a required field that is missing.
    #[cold]
    fn missing(&self, map: &Map<'_>, missing: &str) -> DecodeError {
        let others = map.iter().map(|(name, _)| name);
        let others = others.filter(|name| self.schema.field(name).is_none());
        let misspelt = nearest(missing, others);
        let not = misspelt.map_or(String::new(), |key| format!(", and not `{key}`"));
        let expected = format!(
            "the field `{missing}`, which schema {} requires{not}",
            self.schema.code
        );
        let param = self.params.iter().find(|param| Some(param.key) == misspelt);
        let at = param.map_or(self.at, |param| param.at - param.key.len() - 1);
        DecodeError::new(ErrorCode::INVALID_TYPE, at, expected)
    }
}
