//! The frames that are described: the one form that all formats start from.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{ExportError, Options};
use crate::tables::{ENVELOPE, EnvelopeField};
use crate::{Field, FrameSpec, Registry, Schema, nearest};

/// A frame: an intent and an operation under a schema.
#[derive(Debug)]
pub(super) struct Frame<'r> {
    pub(super) intent: &'r str,
    pub(super) operation: &'r str,
    pub(super) code: &'r str,
    pub(super) params: Vec<Param<'r>>,
    pub(super) envelope: Vec<Pair>,
}

/// A field where a frame or a record has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Param<'r> {
    pub(super) field: &'r Field,
    /// It cannot be left out.
    pub(super) must: bool,
}

/// A pair of the metadata.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) field: &'static EnvelopeField,
    pub(super) must: bool,
}

/// The frames of the registry that `options` name.
pub(super) fn choose<'r>(
    registry: &'r Registry,
    options: &Options,
) -> Result<Vec<Frame<'r>>, ExportError> {
    let specs = || {
        registry
            .schemas()
            .flat_map(|schema| schema.frames.iter().map(move |spec| (schema, spec)))
    };
    if specs().next().is_none() {
        return Err(ExportError::NoFrames);
    }
    if let Some(unknown) = options
        .frames
        .iter()
        .find(|name| !specs().any(|(_, spec)| name_of(spec) == **name))
    {
        let mut names: Vec<String> = specs().map(|(_, spec)| name_of(spec)).collect();
        names.sort();
        names.dedup();
        return Err(unknown_frame(unknown, &names));
    }
    if let Some((schema, field)) = underscore(registry) {
        let field = format!("{}.{}", schema.code, field.name);
        return Err(ExportError::Underscore { field });
    }
    Ok(specs()
        .filter(|(_, spec)| options.frames.is_empty() || options.frames.contains(&name_of(spec)))
        .map(|(schema, spec)| Frame {
            intent: &spec.intent,
            operation: &spec.operation,
            code: &schema.code,
            params: params(schema, &spec.intent, &spec.operation),
            envelope: envelope(spec, options.envelope),
        })
        .collect())
}

/// The fields of a nested record, in the order in which they are written.
pub(super) fn record(schema: &Schema) -> Vec<Param<'_>> {
    let mut params = params(schema, "", "");
    params.sort_by_key(|param| &param.field.short);
    params
}

fn params<'r>(schema: &'r Schema, intent: &str, operation: &str) -> Vec<Param<'r>> {
    let required: Vec<&str> = schema.required(intent, operation).collect();
    schema
        .fields
        .iter()
        .map(|field| Param {
            field,
            must: required.contains(&field.name.as_str()),
        })
        .collect()
}

fn envelope(spec: &FrameSpec, whole: bool) -> Vec<Pair> {
    let numbered = |short: &str| whole && matches!(short, "mid" | "seq");
    ENVELOPE
        .iter()
        .map(|field| Pair {
            field,
            must: numbered(field.short) || spec.envelope.iter().any(|short| short == field.short),
        })
        .filter(|pair| whole || pair.must)
        .collect()
}

fn name_of(spec: &FrameSpec) -> String {
    format!("{}:{}", spec.intent, spec.operation)
}

fn unknown_frame(name: &str, names: &[String]) -> ExportError {
    let near = nearest(name, names.iter().map(String::as_str));
    let cure = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the registry has {}", names.join(", ")),
    };
    ExportError::UnknownFrame {
        name: name.to_owned(),
        cure,
    }
}

/// A field that travels as `_`.
fn underscore(registry: &Registry) -> Option<(&Schema, &Field)> {
    registry.schemas().find_map(|schema| {
        let field = schema.fields.iter().find(|field| field.short == "_")?;
        Some((schema, field))
    })
}
