//! The rules for an enum whose variants are the records of a union.

use accp_registry::{FrameSpec, Registry, Schema, nearest};
use quote::ToTokens;
use syn::ext::IdentExt as _;

use super::enums::{self, snake_case};
use super::scope::FieldScope;
use super::{Owner, fields, hint};
use crate::ast::{Content, Field, Input, Variant};
use crate::ctxt::Ctxt;
use crate::resolved::{Record, Union};

/// Returns the schema of an enum, if the schema is a union.
pub(super) fn union<'r>(input: &Input<'_>, registry: &'r Registry) -> Option<&'r Schema> {
    let code = input.attrs.schema.as_ref()?.value();
    registry
        .schema(&code)
        .filter(|schema| schema.union.is_some())
}

/// Checks the variants: each must be a variant of the union and have its fields, and no variant of the union may be
/// missing.
pub(super) fn records<'a>(
    cx: &Ctxt,
    input: &Input<'_>,
    variants: &'a [Variant<'a>],
    schema: &Schema,
) -> Option<Union<'a>> {
    for text in input.attrs.head.iter().flatten() {
        let noun = cx.protocol.noun;
        cx.error(
            text,
            format!("a union is not a {noun} but a value of one: remove this"),
        );
    }
    let flags = [
        (
            &input.attrs.deny_unknown_fields,
            "this belongs on a variant",
        ),
        (
            &input.attrs.transparent,
            "an enum is never the value of one field: remove this",
        ),
        (
            &input.attrs.new,
            "an enum has no constructor: its variants are the constructors",
        ),
    ];
    for (flag, message) in flags {
        if let Some(flag) = flag {
            cx.error(flag, message);
        }
    }
    let mut records: Vec<Record<'a>> = Vec::new();
    let mut other: Option<&Variant<'_>> = None;
    let mut is_faulty = false;
    for variant in variants {
        if let Some(flag) = &variant.attrs.other {
            enums::takes_others(cx, variant, flag, &mut other, &enums::RECORD);
            continue;
        }
        let Some(record) = record(cx, input, variant, schema, &records) else {
            is_faulty = true;
            continue;
        };
        records.push(record);
    }
    let names = |spec: &FrameSpec| spec.head.concat();
    let missing = schema.variants.iter().map(names);
    let missing = missing.filter(|name| !records.iter().any(|record| record.name == *name));
    let missing: Vec<String> = missing.collect();
    // The variant that seems to be missing may be a variant with a mistake, so no second error follows.
    if !is_faulty && !missing.is_empty() {
        let (code, missing) = (&schema.code, missing.join("`, `"));
        let message = format!("schema {code} has variants that are missing here: `{missing}`");
        cx.error(input.ident(), message);
        return None;
    }
    let (_, tag) = schema.tag()?;
    (!is_faulty).then(|| Union {
        code: schema.code.clone(),
        tag: tag.clone(),
        records,
        other,
    })
}

fn record<'a>(
    cx: &Ctxt,
    input: &Input<'_>,
    variant: &'a Variant<'a>,
    schema: &Schema,
    before: &[Record<'a>],
) -> Option<Record<'a>> {
    let (attrs, ident) = (&variant.attrs, &variant.original.ident);
    for text in attrs.identity() {
        cx.error(
            text,
            "a variant of a union has the schema of its enum: remove this",
        );
    }
    if let Some(symbol) = &attrs.symbol {
        cx.error(
            symbol,
            "a variant of a union has a name and no symbol: use `rename`",
        );
    }
    let name = if let Some(rename) = &attrs.rename {
        rename.value()
    } else {
        let own = ident.unraw().to_string();
        let case = input.attrs.rename_all;
        case.map_or_else(|| snake_case(&own), |case| case.apply(&own))
    };
    let tokens = attrs
        .rename
        .as_ref()
        .map_or_else(|| ident.to_token_stream(), ToTokens::to_token_stream);
    let Some(spec) = schema.frame(&[&name]) else {
        let names: Vec<&str> = schema
            .variants
            .iter()
            .flat_map(|spec| &spec.head)
            .map(String::as_str)
            .collect();
        let hint = hint(
            nearest(&name, names.iter().copied()),
            "its variants",
            &names,
        );
        cx.error(
            tokens,
            format!("schema {} has no variant `{name}`{hint}", schema.code),
        );
        return None;
    };
    if let Some(other) = before.iter().find(|other| other.name == name) {
        let other = &other.variant.original.ident;
        cx.error(tokens, format!("`{name}` is the variant `{other}` already"));
        return None;
    }
    let list = match &variant.content {
        Content::Unit => &[][..],
        Content::Struct(fields) => fields,
        Content::Tuple | Content::Newtype(_) => {
            let message = format!(
                "the variant `{name}` of schema {} has named fields: write `{ident} {{ .. }}`",
                schema.code
            );
            cx.error(&variant.original.fields, message);
            return None;
        }
    };
    for flag in list.iter().filter_map(|field| field.attrs.flatten.as_ref()) {
        let noun = cx.protocol.noun;
        let message =
            format!("only a {noun} has unknown params: a variant of a union is a plain map");
        cx.error(flag, message);
    }
    if !has_own_fields(cx, list, schema, spec) {
        return None;
    }
    let own = of_variant(schema, spec);
    let scope = FieldScope {
        schema: Some(&own),
        head: &[],
    };
    let owner = Owner { attrs, ident };
    let foreign = schema
        .fields
        .iter()
        .filter(|field| !spec.is_about(&field.name));
    Some(Record {
        variant,
        name,
        fields: fields::fields(cx, owner, list, scope),
        foreign: foreign.cloned().collect(),
    })
}

/// Reports fields that are the tag or belong only to other variants. Returns whether all fields belong to this
/// variant.
fn has_own_fields(cx: &Ctxt, list: &[Field<'_>], schema: &Schema, variant: &FrameSpec) -> bool {
    let name = variant.head.concat();
    let mut has_own = true;
    for field in list.iter().filter(|field| field.attrs.flatten.is_none()) {
        let key = field.name();
        let others = schema.variants.iter().filter(|other| other.is_about(&key));
        let others: Vec<String> = others.map(|other| other.head.concat()).collect();
        let message = if schema.union.as_ref() == Some(&key) {
            format!("`{key}` is the tag, and the variant says it: remove the field")
        } else if variant.is_about(&key) || others.is_empty() {
            continue;
        } else {
            format!(
                "the variant `{name}` has no field `{key}`: it is one of `{}`",
                others.join("`, `")
            )
        };
        cx.error(field.ident, message);
        has_own = false;
    }
    has_own
}

/// Returns a schema that has only the fields of one variant, without the tag.
fn of_variant(schema: &Schema, variant: &FrameSpec) -> Schema {
    let mut own = schema.clone();
    own.union = None;
    own.variants = Vec::new();
    let tag = schema.union.as_ref();
    own.fields
        .retain(|field| variant.is_about(&field.name) && Some(&field.name) != tag);
    for field in &mut own.fields {
        field.required = variant.required.contains(&field.name);
        if field.required {
            field.default = None;
            field.default_wire = None;
        }
    }
    own
}
