//! Chooses the values of a message that leave its frame, with the reason for each.

use alloc::string::String;
use alloc::vec::Vec;

use accp_registry::{Limits, Registry, Schema, Type, lexical};

use crate::dynamic::Dynamic;
use crate::error::EncodeError;
use crate::external::{Externals, Reason, put_external};
use crate::record_scope::RecordScope;
use crate::value::{Map, Value};
use crate::writer::{EncodeOptions, EncodeValue as _, LONG_VALUE, Writer};

/// Returns options without limits: they refuse only values that cannot be written at all.
pub(crate) fn unbounded<'e>() -> EncodeOptions<'e> {
    EncodeOptions {
        limits: Limits::NONE,
        inline: true,
        strict: false,
        externals: None,
    }
}

/// Takes long scalars out first, then deep values. Then it takes values out until the frame is within its limits. So a
/// value leaves for the first reason that applies, and no more values leave than necessary.
pub(crate) struct Externaliser<'p, 'e> {
    /// The schema of the payload.
    pub(crate) schema: Option<&'p Schema>,
    /// The scope of the payload. It decides which defaults apply.
    pub(crate) scope: RecordScope<'p>,
    pub(crate) registry: &'p Registry,
    pub(crate) options: &'p EncodeOptions<'e>,
    /// The number of elements of the frame outside the payload.
    pub(crate) elements_beside: usize,
    /// Returns the text of the frame with a given payload.
    pub(crate) text: &'p dyn Fn(&Map<'_>) -> Result<String, EncodeError>,
}

impl Externaliser<'_, '_> {
    /// Returns the payload with references in place of the values that the externals took.
    pub(crate) fn externalise<'a>(
        &self,
        mut payload: Map<'a>,
        externals: &mut dyn Externals,
    ) -> Result<Map<'a>, EncodeError> {
        let mut sink = Sink {
            externals: Some(externals),
        };
        let depth = self.options.limits.depth.min(Limits::MAX_DEPTH) as usize;
        for (key, value) in payload.iter_mut() {
            let found = self
                .schema
                .and_then(|schema| Some((schema, schema.field(key)?)));
            let (ty, exempt) = match found {
                Some((schema, (index, field))) => {
                    let inline = field.inline && !self.options.strict;
                    let default = self.scope.default_of(schema, index);
                    (
                        &field.ty,
                        inline || self.is_default(value, &field.ty, default),
                    )
                }
                None => (&Type::Any, false),
            };
            if !(self.options.inline || exempt) {
                self.long_values(value, ty, &mut sink)
                    .map_err(|error| error.within(String::from(key)))?;
            }
            // A param whose key does not fit the grammar is in a list of pairs, so its value is two arrays deeper.
            let plain = lexical::is_key(key) && key != "_";
            deep_values(value, if plain { 1 } else { 3 }, depth, &mut sink)
                .map_err(|error| error.within(String::from(key)))?;
        }
        self.fit(&mut payload, &mut sink)?;
        Ok(payload)
    }

    /// Returns whether a value equals a long default. The frame leaves such a value out, so the value may be long.
    fn is_default(&self, value: &Value<'_>, ty: &Type, default: Option<&str>) -> bool {
        default
            .filter(|text| text.len() > LONG_VALUE)
            .is_some_and(|default| {
                let mut text = String::new();
                let value = Dynamic {
                    value,
                    ty,
                    registry: self.registry,
                };
                let written = value.encode_value(&mut Writer::new(&mut text, unbounded()));
                written.is_ok() && text == default
            })
    }

    fn long_values(
        &self,
        value: &mut Value<'_>,
        ty: &Type,
        sink: &mut Sink<'_>,
    ) -> Result<(), EncodeError> {
        match (&mut *value, ty) {
            (Value::String(text), Type::String | Type::Text | Type::Formatted(_) | Type::Any)
                if text.len() > LONG_VALUE && text.chars().count() > LONG_VALUE =>
            {
                sink.take(value, Reason::Characters)?;
            }
            (Value::Number(number), Type::Any) => {
                let mut text = String::new();
                number.write(&mut text);
                if text.len() > LONG_VALUE {
                    sink.take(value, Reason::Characters)?;
                }
            }
            (Value::Array(items), ty) => {
                let item_type = match ty {
                    Type::List(item) => item,
                    _ => &Type::Any,
                };
                for item in items {
                    self.long_values(item, item_type, sink)?;
                }
            }
            (Value::Map(map), ty) => {
                let schema = ty.schema_code().and_then(|code| self.registry.schema(code));
                let scope = schema.and_then(|schema| RecordScope::written(schema, map).ok());
                for (key, item) in map.iter_mut() {
                    let found = schema.and_then(|schema| Some((schema, schema.field(key)?)));
                    let field = found.map(|(_, (_, field))| field);
                    if let Some((schema, (index, field))) = found {
                        let default = scope.and_then(|scope| scope.default_of(schema, index));
                        let inline = field.inline && !self.options.strict;
                        if inline || self.is_default(item, &field.ty, default) {
                            continue;
                        }
                    }
                    let item_type = match (ty, field) {
                        (Type::Map(item), _) => item,
                        (_, Some(field)) => &field.ty,
                        _ => &Type::Any,
                    };
                    self.long_values(item, item_type, sink)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes values out until the frame is within its limits of bytes and elements.
    fn fit(&self, payload: &mut Map<'_>, sink: &mut Sink<'_>) -> Result<(), EncodeError> {
        let Limits {
            frame_bytes,
            elements,
            ..
        } = self.options.limits;
        loop {
            let bytes_over = (self.text)(payload)?.len().saturating_sub(frame_bytes);
            let mut sizes = Vec::new();
            let mut total = 0;
            for (_, value) in payload.iter() {
                total += 1 + measure(value, &mut sizes).elements;
            }
            total += self.elements_beside;
            let elements_over = total.saturating_sub(elements as usize);
            if bytes_over == 0 && elements_over == 0 {
                return Ok(());
            }
            let chosen = choose(&sizes, bytes_over, elements_over);
            if chosen.is_empty() {
                // No value is left to take out, so the writer reports the limit.
                return Ok(());
            }
            let mut at = 0;
            for (key, value) in payload.iter_mut() {
                take_out(value, &chosen, &mut at, sink)
                    .map_err(|error| error.within(String::from(key)))?;
            }
        }
    }
}

/// Takes out values that are nested too deep. `level` is the level on which the value would open a
/// bracket.
fn deep_values(
    value: &mut Value<'_>,
    level: usize,
    depth: usize,
    sink: &mut Sink<'_>,
) -> Result<(), EncodeError> {
    match value {
        Value::Array(_) | Value::Map(_) if level > depth => sink.take(value, Reason::Depth),
        Value::Array(items) => items
            .iter_mut()
            .try_for_each(|item| deep_values(item, level + 1, depth, sink)),
        Value::Map(map) if map.has_plain_keys() => map
            .iter_mut()
            .try_for_each(|(_, item)| deep_values(item, level + 1, depth, sink)),
        // Other maps are written as `{_:[[k,v],..]}`, which adds two levels of arrays.
        Value::Map(_) if level + 2 > depth => sink.take(value, Reason::Depth),
        Value::Map(map) => map
            .iter_mut()
            .try_for_each(|(_, item)| deep_values(item, level + 3, depth, sink)),
        _ => Ok(()),
    }
}

/// The size of one value with all values inside it.
#[derive(Debug, Clone, Copy)]
struct Size {
    bytes: usize,
    elements: usize,
    scalar: bool,
}

/// The approximate length of a reference. Taking out a value shorter than twice this length gains
/// nothing.
const WORTHWHILE: usize = 64;

/// Adds the size of each value to `sizes`, children before parents: the order in which [`take_out`] counts.
fn measure(value: &Value<'_>, sizes: &mut Vec<Size>) -> Size {
    let mut size = Size {
        bytes: 2,
        elements: 0,
        scalar: false,
    };
    match value {
        Value::Array(items) => {
            for item in items {
                let inner = measure(item, sizes);
                size.bytes += inner.bytes + 1;
                size.elements += inner.elements + 1;
            }
        }
        Value::Map(map) => {
            // A map that is written as pairs has an array of two elements for each entry.
            let per_entry = if map.has_plain_keys() { 1 } else { 3 };
            for (key, item) in map.iter() {
                let inner = measure(item, sizes);
                size.bytes += inner.bytes + key.len() + 2;
                size.elements += inner.elements + per_entry;
            }
            size.elements += usize::from(per_entry > 1);
        }
        Value::Ref(_) => size.scalar = true,
        scalar => {
            let mut text = String::new();
            scalar.write(&mut text);
            size = Size {
                bytes: text.len(),
                elements: 0,
                scalar: true,
            };
        }
    }
    sizes.push(size);
    size
}

/// Returns the indices of the values to take out next, ascending. If only bytes are over the limit, long texts go
/// first: the longest, as many as needed. Otherwise the smallest value that suffices goes. If no single value suffices,
/// the largest container goes.
fn choose(sizes: &[Size], bytes_over: usize, elements_over: usize) -> Vec<usize> {
    let mut texts: Vec<usize> = (0..sizes.len())
        .filter(|&at| sizes[at].scalar && sizes[at].bytes > 4 * WORTHWHILE)
        .collect();
    if elements_over == 0 && !texts.is_empty() {
        texts.sort_by_key(|&at| core::cmp::Reverse(sizes[at].bytes));
        let mut saved = 0;
        let enough = texts.iter().position(|&at| {
            saved += sizes[at].bytes - WORTHWHILE;
            saved >= bytes_over
        });
        texts.truncate(enough.map_or(texts.len(), |last| last + 1));
        texts.sort_unstable();
        return texts;
    }
    let suffices =
        |size: &Size| size.bytes >= bytes_over + WORTHWHILE && size.elements >= elements_over;
    let containers = || sizes.iter().enumerate();
    containers()
        .filter(|(_, size)| suffices(size))
        .min_by_key(|(_, size)| size.bytes)
        .or_else(|| {
            containers()
                .filter(|(_, size)| !size.scalar && size.bytes > WORTHWHILE)
                .max_by_key(|(_, size)| (size.elements, size.bytes))
        })
        .map(|(at, _)| at)
        .into_iter()
        .collect()
}

/// Takes out the values at the indices `chosen`, in the order of [`measure`].
fn take_out(
    value: &mut Value<'_>,
    chosen: &[usize],
    at: &mut usize,
    sink: &mut Sink<'_>,
) -> Result<(), EncodeError> {
    match value {
        Value::Array(items) => {
            items
                .iter_mut()
                .try_for_each(|item| take_out(item, chosen, at, sink))?;
        }
        Value::Map(map) => {
            map.iter_mut()
                .try_for_each(|(_, item)| take_out(item, chosen, at, sink))?;
        }
        _ => {}
    }
    let index = *at;
    *at += 1;
    match chosen.binary_search(&index) {
        Ok(_) => sink.take(value, Reason::Limit),
        Err(_) => Ok(()),
    }
}

struct Sink<'e> {
    externals: Option<&'e mut dyn Externals>,
}

impl Sink<'_> {
    /// Puts a reference in place of `value`.
    fn take(&mut self, value: &mut Value<'_>, reason: Reason) -> Result<(), EncodeError> {
        let key = put_external(&mut self.externals, value, reason)?;
        *value = Value::Ref(key.into());
        Ok(())
    }
}
