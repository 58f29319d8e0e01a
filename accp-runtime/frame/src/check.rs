//! Checking that a message can be read, without building it.

use alloc::vec::Vec;

use accp_registry::{Intent, Registry, Schema, Type};

use crate::dynamic;
use crate::dynamic_frame::DynamicFrame;
use crate::envelope::Envelope;
use crate::error::DecodeError;
use crate::reader::{DecodeOptions, Header, Reader};

/// A frame whose grammar and envelope are sound.
#[derive(Debug, Clone, Copy)]
pub struct CheckedFrame<'f, 'a> {
    /// The text of the frame.
    pub text: &'a str,
    /// The header of the frame.
    pub header: Header<'a>,
    /// The intent of the frame.
    pub intent: Intent,
    /// The byte of the text where the payload begins, after its `{`.
    pub start: usize,
    /// The schema code, if there is one.
    pub schema: Option<&'a str>,
    /// The metadata of the frame.
    pub envelope: &'f Envelope<'a>,
}

impl CheckedFrame<'_, '_> {
    /// Accepts and refuses the same messages as [`DynamicFrame::decode_with`]. Accepting a message takes a fraction of
    /// the time that decoding takes.
    ///
    /// # Errors
    /// As [`DynamicFrame::decode_with`].
    pub fn check(&self, registry: &Registry, options: &DecodeOptions) -> Result<(), DecodeError> {
        if self.fits(registry, options) {
            return Ok(());
        }
        // `fits` does not say what is wrong. Decoding the frame gives the exact error.
        DynamicFrame::decode_with(self.text, registry, options).map(|_| ())
    }

    /// Returns true if decoding would certainly succeed. If this returns false, decoding may still succeed.
    fn fits(&self, registry: &Registry, options: &DecodeOptions) -> bool {
        let head = &[self.intent.as_str(), self.header.operation];
        let schema = match self.schema {
            None => None,
            Some(code) => match registry.schema_of(code, head) {
                Some(schema) if schema.fields.len() <= 128 => Some(schema),
                _ => return false,
            },
        };
        let Ok(reader) = Reader::new(self.text, *options) else {
            return false;
        };
        let mut r = reader.fork_at(self.start);
        let mut known: u128 = 0;
        let mut others: Vec<&str> = Vec::new();
        let mut schemas = 0;
        loop {
            let key = match r.param() {
                Ok(None) => break,
                Ok(Some("schema")) => {
                    schemas += 1;
                    if r.skip_value().is_err() {
                        return false;
                    }
                    continue;
                }
                // The param `_` holds pairs with names of their own, so decoding must check them.
                Ok(Some("_")) | Err(_) => return false,
                Ok(Some(key)) => key,
            };
            let field = schema.and_then(|schema| schema.field(key));
            let ty = if let Some((index, field)) = field {
                let bit = 1 << index;
                if known & bit != 0 {
                    return false;
                }
                known |= bit;
                // `requires` is called only for a null, so that all other values cost nothing.
                if r.is_null() && schema.is_some_and(|schema| schema.requires(field, head)) {
                    return false;
                }
                &field.ty
            } else {
                let name = dynamic::full_name(key, schema);
                if others.contains(&name) {
                    return false;
                }
                others.push(name);
                &Type::Any
            };
            if dynamic::read(&mut r, ty, registry).is_err() {
                return false;
            }
        }
        schemas <= 1 && schema.is_none_or(|schema| self.has_all(schema, known))
    }

    /// Returns whether every field is present that the schema requires.
    fn has_all(&self, schema: &Schema, known: u128) -> bool {
        let (intent, operation) = (self.intent.as_str(), self.header.operation);
        let mut required = schema.required(&[intent, operation]);
        let is_known = |name: &str| {
            let field = schema.field(name);
            field.is_some_and(|(index, _)| known & (1 << index) != 0)
        };
        let spec = schema.frame(&[intent, operation]);
        let mut envelope = spec.into_iter().flat_map(|spec| &spec.envelope);
        required.all(is_known) && envelope.all(|field| self.envelope.has(field))
    }
}
