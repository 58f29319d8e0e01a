//! The chosen frames, in the form from which all output formats are written.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{ExportError, Options};
use crate::model::{Field, FrameSpec, Registry, Schema};
use crate::nearest::nearest;
use crate::protocol::{NO_HEAD, Protocol};
use crate::tables::EnvelopeField;

/// A frame: a head under a schema.
#[derive(Debug)]
pub(super) struct Frame<'r> {
    pub(super) head: &'r [String],
    pub(super) code: &'r str,
    pub(super) params: Vec<Param<'r>>,
    pub(super) envelope: Vec<Pair>,
}

/// A field in a frame or a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Param<'r> {
    pub(super) field: &'r Field,
    /// Whether the field must be present.
    pub(super) must: bool,
}

/// One form of a nested record: that of a plain schema, or of one variant of a union.
pub(super) struct Record<'r> {
    /// The tag and the name of a variant of a union.
    pub(super) variant: Option<(&'r Field, &'r str)>,
    pub(super) params: Vec<Param<'r>>,
}

impl<'r> Record<'r> {
    /// Returns the value of a field that can have no other value: the tag, whose value is the name of the variant.
    pub(super) fn constant(&self, field: &Field) -> Option<&str> {
        let (tag, name) = self.variant?;
        (tag.name == field.name).then_some(name)
    }

    /// Returns the fields with the tag before all others. A model chooses a variant before it writes its fields, and a
    /// constrained model that cannot begin with the tag would be led to a variant without other fields.
    pub(super) fn tag_first(&self) -> Vec<Param<'r>> {
        let mut params = self.params.clone();
        params.sort_by_key(|param| self.constant(param.field).is_none());
        params
    }

    /// Returns the orders in which a grammar has the fields: that of the record, and `led` if this is another one.
    pub(super) fn orders(&self, led: Vec<Param<'r>>) -> Vec<Vec<Param<'r>>> {
        let mut orders = Vec::from([self.params.clone()]);
        let names = |params: &[Param<'r>]| -> Vec<&'r str> {
            params
                .iter()
                .map(|param| param.field.name.as_str())
                .collect()
        };
        if names(&led) != names(&self.params) {
            orders.push(led);
        }
        orders
    }
}

/// A pair of the metadata.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) field: &'static EnvelopeField,
    pub(super) must: bool,
}

/// Returns the frames of the registry that `options` name.
pub(super) fn choose<'r>(
    registry: &'r Registry,
    options: &Options,
) -> Result<Vec<Frame<'r>>, ExportError> {
    let protocol = registry.protocol();
    let title = |spec: &FrameSpec| protocol.title(&spec.head);
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
        .find(|name| !specs().any(|(_, spec)| title(spec) == **name))
    {
        let mut names: Vec<String> = specs().map(|(_, spec)| title(spec)).collect();
        names.sort();
        names.dedup();
        return Err(unknown_frame(unknown, &names));
    }
    Ok(specs()
        .filter(|(_, spec)| options.frames.is_empty() || options.frames.contains(&title(spec)))
        .map(|(schema, spec)| Frame {
            head: &spec.head,
            code: &schema.code,
            params: params(schema, &spec.head),
            envelope: envelope(protocol, spec, options.envelope),
        })
        .collect())
}

/// Returns the forms of a nested record, each with its fields in the order in which they are written.
pub(super) fn written(schema: &Schema) -> Vec<Record<'_>> {
    let mut records = records(schema);
    for Record { params, .. } in &mut records {
        params.sort_by_key(|param| &param.field.short);
    }
    records
}

/// Returns the forms of a nested record, each with its fields in their order: one form, or one for each variant of a
/// union.
pub(super) fn records(schema: &Schema) -> Vec<Record<'_>> {
    let Some((_, tag)) = schema.tag() else {
        let params = params(schema, NO_HEAD);
        return Vec::from([Record {
            variant: None,
            params,
        }]);
    };
    let variants = schema.variants.iter().map(|variant| {
        let mut params = params(schema, &variant.head);
        params.retain(|param| variant.is_about(&param.field.name));
        let name = variant.head.first().map_or("", String::as_str);
        Record {
            variant: Some((tag, name)),
            params,
        }
    });
    variants.collect()
}

fn params<'r, S: AsRef<str>>(schema: &'r Schema, head: &[S]) -> Vec<Param<'r>> {
    let required: Vec<&str> = schema.required(head).collect();
    schema
        .fields
        .iter()
        .map(|field| Param {
            field,
            must: required.contains(&field.name.as_str()),
        })
        .collect()
}

fn envelope(protocol: &Protocol, spec: &FrameSpec, whole: bool) -> Vec<Pair> {
    let numbered = |short: &str| whole && matches!(short, "mid" | "seq");
    protocol
        .envelope
        .iter()
        .map(|field| Pair {
            field,
            must: numbered(field.short) || spec.envelope.iter().any(|short| short == field.short),
        })
        .filter(|pair| whole || pair.must)
        .collect()
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
