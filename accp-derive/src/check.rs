//! The rules: one function each, against the registry. What passes is a [`Plan`].

mod enums;
mod fields;
mod types;

use accp_registry::{Intent, Registry, Schema, lexical, nearest};
use proc_macro2::{Ident, TokenStream};
use quote::ToTokens as _;
use syn::LitStr;

use crate::ast::{Body, Content, Field, Input};
use crate::attr::Attrs;
use crate::ctxt::{Ctxt, Noted};
use crate::plan::{Frame, Plan};
use crate::registry::{self, Loaded};

/// Holds an item to every rule. `None` when there is nothing to write, with the mistakes
/// noted; a plan may come with mistakes too. The registry is `None` where none is needed.
pub(crate) fn check<'a>(cx: &Ctxt, input: &'a Input<'a>) -> Option<(Plan<'a>, Option<Loaded>)> {
    let loaded = if names_schema(input) {
        let is_runtime = input
            .attrs
            .krate
            .as_ref()
            .is_some_and(|path| path.is_ident("crate"));
        Some(registry::load(
            cx,
            input.attrs.registry.as_ref(),
            is_runtime,
        )?)
    } else {
        registry_without_schema(cx, &input.attrs);
        None
    };
    let empty = Registry::empty();
    let registry = loaded.as_ref().map_or(&empty, |loaded| &loaded.registry);
    let plan = match &input.body {
        Body::Struct(fields) if is_frame(&input.attrs) => {
            let owner = Owner {
                attrs: &input.attrs,
                ident: input.ident(),
            };
            Plan::Frame(frame(cx, owner, fields, registry)?)
        }
        Body::Struct(fields) => Plan::Nested(nested(cx, input, fields, registry)?),
        Body::Enum(variants) => {
            no_frame_on_enum(cx, &input.attrs);
            if variants.is_empty() {
                cx.error(
                    input.ident(),
                    "an enum without variants is no frame and no value",
                );
                return None;
            }
            if variants
                .iter()
                .all(|variant| matches!(variant.content, Content::Unit))
            {
                Plan::Enumeration(enums::enumeration(cx, input, variants))
            } else {
                Plan::Frames(enums::frames(cx, input, variants, registry)?)
            }
        }
    };
    Some((plan, loaded))
}

/// The item that a frame's attributes stand on.
#[derive(Clone, Copy)]
struct Owner<'a> {
    attrs: &'a Attrs,
    ident: &'a Ident,
}

fn is_frame(attrs: &Attrs) -> bool {
    attrs.intent.is_some() || attrs.operation.is_some()
}

fn names_schema(input: &Input<'_>) -> bool {
    let in_variants = match &input.body {
        Body::Enum(variants) => variants
            .iter()
            .any(|variant| variant.attrs.schema.is_some()),
        Body::Struct(_) => false,
    };
    in_variants || input.attrs.schema.is_some()
}

/// A registry is of no use where no schema is named.
fn registry_without_schema(cx: &Ctxt, attrs: &Attrs) {
    if let Some(registry) = &attrs.registry {
        cx.error(
            registry,
            "a registry is of use only with a schema: add `schema = \"..\"`",
        );
    }
}

/// The variants of an enum are the frames, or its values.
fn no_frame_on_enum(cx: &Ctxt, attrs: &Attrs) {
    for text in [&attrs.schema, &attrs.intent, &attrs.operation]
        .into_iter()
        .flatten()
    {
        cx.error(
            text,
            "an enum is several frames: this belongs on its variants",
        );
    }
    if let Some(flag) = &attrs.deny_unknown_fields {
        cx.error(
            flag,
            "an enum has no fields of its own: this belongs on its variants",
        );
    }
}

/// A frame has an intent and an operation, fields of its schema, and all that are required.
fn frame<'a>(
    cx: &Ctxt,
    owner: Owner<'_>,
    list: &'a [Field<'a>],
    registry: &Registry,
) -> Option<Frame<'a>> {
    let intent = intent(cx, owner);
    let operation = operation(cx, owner);
    let schema = schema(cx, owner.attrs, registry);
    let (intent, operation, schema) = (intent?, operation?, schema.ok()?);
    let place = fields::Where {
        schema,
        intent: &intent,
        operation: &operation,
    };
    let fields = fields::fields(cx, owner, list, place);
    let spec = schema.and_then(|schema| schema.frame(&[&*intent, &*operation]));
    let envelope = spec.map(|spec| spec.envelope.clone()).unwrap_or_default();
    Some(Frame {
        intent,
        operation,
        envelope,
        fields,
    })
}

/// A nested struct is a map; it has no place for keys that it does not know.
fn nested<'a>(
    cx: &Ctxt,
    input: &Input<'_>,
    list: &'a [Field<'a>],
    registry: &Registry,
) -> Option<crate::plan::Fields<'a>> {
    for flag in list.iter().filter_map(|field| field.attrs.flatten.as_ref()) {
        cx.error(
            flag,
            "only a frame has unknown params to flatten: a nested struct is a plain map",
        );
    }
    let schema = schema(cx, &input.attrs, registry).ok()?;
    let owner = Owner {
        attrs: &input.attrs,
        ident: input.ident(),
    };
    let place = fields::Where {
        schema,
        intent: "",
        operation: "",
    };
    Some(fields::fields(cx, owner, list, place))
}

/// The schema, where one is named, is in the registry.
fn schema<'r>(
    cx: &Ctxt,
    attrs: &Attrs,
    registry: &'r Registry,
) -> Result<Option<&'r Schema>, Noted> {
    let Some(code) = &attrs.schema else {
        return Ok(None);
    };
    let name = code.value();
    if let Some(schema) = registry.schema(&name) {
        return Ok(Some(schema));
    }
    let codes: Vec<_> = registry
        .schemas()
        .map(|schema| schema.code.as_str())
        .collect();
    let by_name = registry
        .schema_by_name(&name)
        .map(|schema| schema.code.as_str());
    let near = by_name.or_else(|| nearest(&name, codes.iter().copied()));
    let hint = hint(near, "its codes", &codes);
    cx.error(code, format!("no schema `{name}` in the registry{hint}"));
    Err(Noted)
}

/// The intent is one of the table.
fn intent(cx: &Ctxt, owner: Owner<'_>) -> Option<String> {
    let Some(intent) = &owner.attrs.intent else {
        let message = "a frame has an operation and an intent: add `intent = \"..\"`";
        cx.error(frame_tokens(owner), message);
        return None;
    };
    let code = intent.value();
    if Intent::lookup(&code).is_some() {
        return Some(code);
    }
    let codes: Vec<_> = Intent::ALL.iter().map(|intent| intent.as_str()).collect();
    let near = nearest(&code, codes.iter().copied());
    cx.error(
        intent,
        format!("no intent `{code}`{}", hint(near, "the intents", &codes)),
    );
    None
}

/// The operation fits its production.
fn operation(cx: &Ctxt, owner: Owner<'_>) -> Option<String> {
    let Some(operation) = &owner.attrs.operation else {
        let message = "a frame has an intent and an operation: add `operation = \"..\"`";
        cx.error(frame_tokens(owner), message);
        return None;
    };
    let name = operation.value();
    if lexical::is_key(&name) {
        return Some(name);
    }
    cx.error(
        operation,
        format!("`{name}` is no operation: letters, digits and '_' only"),
    );
    None
}

/// What makes an item a frame, else its name.
fn frame_tokens(owner: Owner<'_>) -> TokenStream {
    let present = owner
        .attrs
        .intent
        .as_ref()
        .or(owner.attrs.operation.as_ref());
    present
        .or(owner.attrs.schema.as_ref())
        .map_or_else(|| owner.ident.to_token_stream(), LitStr::to_token_stream)
}

/// The nearest name, and all there are.
fn hint(near: Option<&str>, what: &str, names: &[&str]) -> String {
    let names = names.join(", ");
    match near {
        Some(near) => format!("; did you mean `{near}`? ({what}: {names})"),
        None => format!("; {what}: {names}"),
    }
}
