//! Checks an item against the registry, with one function for each rule. An item that passes becomes a
//! [`ResolvedItem`].

mod aliases;
mod constructor;
mod enums;
mod fields;
mod scope;
mod types;
mod unheld;
mod unions;

pub(crate) use constructor::{is_argument, setter};
pub(crate) use types::{innermost, item_of, optional};

use accp_registry::protocol::{HeadPart, RegistryNames, Vocabulary};
use accp_registry::{Protocol, Registry, Schema, nearest};
use proc_macro2::{Ident, TokenStream};
use quote::ToTokens as _;
use syn::LitStr;

use crate::ast::{Body, Field, Input};
use crate::attr::Attrs;
use crate::ctxt::{Ctxt, Reported};
use crate::registry::{self, Loaded};
use crate::resolved::{Frame, ResolvedItem};

/// Checks an item against every rule, and reports the mistakes. Returns `None` if they make it impossible to write
/// code. Even if this returns a resolved item, mistakes may have been reported. The registry is `None` if the item
/// needs no registry.
pub(crate) fn check<'a>(
    cx: &Ctxt,
    input: &'a Input<'a>,
) -> Option<(ResolvedItem<'a>, Option<Loaded>)> {
    let krate = input.attrs.krate.as_ref();
    let is_runtime = krate.is_some_and(|path| path.is_ident("crate"));
    let loaded = if let Some(names) = registry_names(cx.protocol, input) {
        let path = input.attrs.registry.as_ref();
        Some(registry::load(
            cx,
            names.variable,
            path,
            is_runtime,
            input.ident(),
        )?)
    } else {
        registry_without_schema(cx, &input.attrs);
        None
    };
    if matches!(input.body, Body::Struct(_)) && input.attrs.is_faulty && !is_frame(&input.attrs) {
        return None;
    }
    if let Some(loaded) = &loaded {
        unnamed_registry(cx, input, loaded).ok()?;
    }
    let empty = Registry::empty_of(cx.protocol);
    let registry = loaded.as_ref().map_or(&empty, |loaded| &loaded.registry);
    let item = match &input.body {
        Body::Struct(fields) if is_frame(&input.attrs) || !cx.protocol.nests() => {
            let owner = Owner {
                attrs: &input.attrs,
                ident: input.ident(),
            };
            let frame = frame(cx, owner, fields, registry)?;
            constructor::constructor(cx, input, &frame.fields);
            ResolvedItem::Frame(frame)
        }
        Body::Struct(fields) => {
            let fields = nested(cx, input, fields, registry)?;
            constructor::constructor(cx, input, &fields);
            ResolvedItem::Nested(fields)
        }
        Body::Newtype(member, ty) => {
            only_transparent(cx, &input.attrs);
            types::check_value_type(cx, ty);
            ResolvedItem::Newtype(member, ty)
        }
        Body::Enum(variants) if unions::union(input, registry).is_some() => {
            let schema = unions::union(input, registry)?;
            ResolvedItem::Union(unions::records(cx, input, variants, schema)?)
        }
        Body::Enum(variants) => {
            no_frame_on_enum(cx, &input.attrs);
            if variants.is_empty() {
                let noun = cx.protocol.noun;
                let message = format!("an enum without variants is neither a {noun} nor a value");
                cx.error(input.ident(), message);
                return None;
            }
            if enums::is_enumeration(variants) {
                let (choices, other) = enums::enumeration(cx, input, variants);
                ResolvedItem::Enumeration(choices, other)
            } else if cx.protocol.is_text() {
                enums::no_message(cx, variants);
                return None;
            } else {
                ResolvedItem::Frames(enums::frames(cx, input, variants, registry)?)
            }
        }
    };
    Some((item, loaded))
}

/// The struct or variant that has the attributes of a frame.
#[derive(Clone, Copy)]
struct Owner<'a> {
    attrs: &'a Attrs,
    ident: &'a Ident,
}

fn is_frame(attrs: &Attrs) -> bool {
    attrs.head.iter().any(Option::is_some)
}

/// Returns the protocol's names for a registry, if the item needs a registry: because the item or a variant names a
/// schema, or because messages name no schema and the registry has only one.
fn registry_names(protocol: &Protocol, input: &Input<'_>) -> Option<RegistryNames> {
    let names = protocol.rust.registry;
    if protocol.schema_key.is_none() {
        return names;
    }
    let in_variants = match &input.body {
        Body::Enum(variants) => variants
            .iter()
            .any(|variant| variant.attrs.schema.is_some()),
        Body::Struct(_) | Body::Newtype(..) => false,
    };
    names.filter(|_| in_variants || input.attrs.schema.is_some())
}

/// Reports the attribute `registry` on an item without a schema: the registry would have no effect.
fn registry_without_schema(cx: &Ctxt, attrs: &Attrs) {
    if let Some(registry) = attrs.registry.as_ref().filter(|_| !attrs.is_faulty) {
        cx.error(
            registry,
            "a registry is of use only with a schema: add `schema = \"..\"`",
        );
    }
}

/// Reports a schema that is not one of the standard profiles, if neither the item nor the environment variable names
/// a registry. All items of the crate may have this mistake, so only the first item reports it.
fn unnamed_registry(cx: &Ctxt, input: &Input<'_>, loaded: &Loaded) -> Result<(), Reported> {
    let Some(variable) = loaded.unnamed() else {
        return Ok(());
    };
    let of_variants = match &input.body {
        Body::Enum(variants) => variants.as_slice(),
        Body::Struct(_) | Body::Newtype(..) => &[],
    };
    let of_variants = of_variants
        .iter()
        .filter_map(|variant| variant.attrs.schema.as_ref());
    let mut codes = input.attrs.schema.iter().chain(of_variants);
    let registry = &loaded.registry;
    let is_unknown = |code: &&LitStr| {
        registry.schema(&code.value()).is_none() && registry.schema_by_name(&code.value()).is_none()
    };
    let Some(code) = codes.find(is_unknown) else {
        return Ok(());
    };
    if registry::is_first(variable, input.ident()) {
        let codes: Vec<_> = registry
            .schemas()
            .map(|schema| schema.code.as_str())
            .collect();
        let near = nearest(&code.value(), codes.iter().copied());
        let hint = hint(near, "their codes", &codes);
        let message = format!(
            "no schema `{}` in the standard profiles{hint}; a schema of your own needs its registry: \
             `registry = \"..\"` here, or the variable {variable} for the whole crate",
            code.value()
        );
        cx.error(code, message);
    }
    Err(Reported)
}

/// Reports frame attributes on an enum: the variants are frames or values, not the enum.
fn no_frame_on_enum(cx: &Ctxt, attrs: &Attrs) {
    for text in attrs.identity() {
        let noun = cx.protocol.noun;
        let message = if cx.protocol.is_text() {
            format!("an enum is not a {noun} but a value of one: this belongs on a struct")
        } else {
            format!("an enum is several {noun}s: this belongs on its variants")
        };
        cx.error(text, message);
    }
    if let Some(flag) = &attrs.deny_unknown_fields {
        cx.error(
            flag,
            "an enum has no fields of its own: this belongs on its variants",
        );
    }
    if let Some(flag) = &attrs.transparent {
        let message =
            "an enum is never the value of one field: this belongs on a struct with one field";
        cx.error(flag, message);
    }
    if let Some(flag) = &attrs.new {
        cx.error(
            flag,
            "an enum has no constructor: its variants are the constructors",
        );
    }
}

/// Reports attributes that a transparent struct cannot have.
fn only_transparent(cx: &Ctxt, attrs: &Attrs) {
    let message = "a transparent struct is the value of its field: this belongs on another struct";
    for text in attrs.identity().chain(&attrs.ignore) {
        cx.error(text, message);
    }
    for flag in attrs.deny_unknown_fields.iter().chain(&attrs.new) {
        cx.error(flag, message);
    }
}

/// Checks a frame: it must have all parts of the head, only fields of its schema, and all required fields.
fn frame<'a>(
    cx: &Ctxt,
    owner: Owner<'_>,
    list: &'a [Field<'a>],
    registry: &Registry,
) -> Option<Frame<'a>> {
    let words = cx.protocol.head.iter().zip(&owner.attrs.head);
    let words: Vec<_> = words
        .map(|(part, text)| word(cx, owner, part, text.as_ref()))
        .collect();
    let schema = schema(cx, owner.attrs, registry);
    let head: Vec<String> = words.into_iter().collect::<Option<_>>()?;
    let schema = schema.ok()?;
    if let Some(schema) = schema.filter(|schema| !schema.lists(&head)) {
        // Most frames of a schema differ only in the last word of their head, so the error points to that word.
        let word = owner.attrs.head.iter().flatten().next_back();
        cx.error(word, unlisted(cx.protocol, schema, &head));
    }
    let scope = scope::FieldScope {
        schema,
        head: &head,
    };
    let fields = fields::fields(cx, owner, list, scope);
    let spec = schema.and_then(|schema| schema.frame(&head));
    let envelope = spec.map(|spec| spec.envelope.clone()).unwrap_or_default();
    Some(Frame {
        head,
        envelope,
        fields,
    })
}

/// Checks a nested struct. It is written as a map, so it cannot keep unknown keys.
fn nested<'a>(
    cx: &Ctxt,
    input: &Input<'_>,
    list: &'a [Field<'a>],
    registry: &Registry,
) -> Option<crate::resolved::Fields<'a>> {
    let alone = list.iter().filter(|field| field.attrs.skip.is_none());
    for flag in alone.filter_map(|field| field.attrs.flatten.as_ref()) {
        let (noun, rest) = (cx.protocol.noun, cx.protocol.rust.rest);
        let message =
            format!("only a {noun} has unknown params to {rest}: a nested struct is a plain map");
        cx.error(flag, message);
    }
    let schema = schema(cx, &input.attrs, registry).ok()?;
    let owner = Owner {
        attrs: &input.attrs,
        ident: input.ident(),
    };
    let scope = scope::FieldScope { schema, head: &[] };
    Some(fields::fields(cx, owner, list, scope))
}

/// Returns the schema that the item names, if the registry has it; or the only schema of the registry, if messages
/// name none.
fn schema<'r>(
    cx: &Ctxt,
    attrs: &Attrs,
    registry: &'r Registry,
) -> Result<Option<&'r Schema>, Reported> {
    let Some(code) = &attrs.schema else {
        let is_only = registry.protocol().schema_key.is_none();
        if attrs.is_faulty && !is_only {
            return Err(Reported);
        }
        return Ok(registry.schemas().next().filter(|_| is_only));
    };
    let name = code.value();
    if let Some(schema) = registry.schema(&name) {
        if schema.union.is_some() {
            let message = format!(
                "schema {name} is a union: it belongs on an enum, with a variant for each of its variants"
            );
            cx.error(code, message);
            return Err(Reported);
        }
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
    Err(Reported)
}

/// Checks a word of the head: the word must be present. It must be one of a closed vocabulary, or fit the rule of an
/// open vocabulary.
fn word(cx: &Ctxt, owner: Owner<'_>, part: &HeadPart, text: Option<&LitStr>) -> Option<String> {
    let name = part.name;
    let Some(text) = text else {
        // The part that seems to be missing may be the attribute with the mistake, so no second error follows.
        if owner.attrs.is_faulty {
            return None;
        }
        cx.error(frame_tokens(owner), incomplete(cx.protocol, part));
        return None;
    };
    let word = text.value();
    let message = match part.vocabulary {
        Vocabulary::Closed { words, .. } if words.contains(&word.as_str()) => return Some(word),
        Vocabulary::Closed { words, .. } => {
            let near = nearest(&word, words.iter().copied());
            let what = format!("the {}", part.plural);
            format!("no {name} `{word}`{}", hint(near, &what, words))
        }
        Vocabulary::Open(rule) if (rule.fits)(&word) => return Some(word),
        Vocabulary::Open(rule) => format!("`{word}` is not a valid {name}: {} only", rule.words),
    };
    cx.error(text, message);
    None
}

/// Returns the message for a frame that the schema does not list.
fn unlisted(protocol: &Protocol, schema: &Schema, head: &[String]) -> String {
    let titles = schema.frames.iter().map(|spec| protocol.title(&spec.head));
    let titles: Vec<String> = titles.collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let title = protocol.title(head);
    let near = nearest(&title, titles.iter().copied());
    let (code, noun) = (&schema.code, protocol.noun);
    let hint = hint(near, &format!("its {noun}s"), &titles);
    format!("schema {code} has no {noun} `{title}`{hint}")
}

/// Returns the message for a missing part of the head: all parts of the head, and the cure.
fn incomplete(protocol: &Protocol, missing: &HeadPart) -> String {
    let noun = protocol.noun;
    let others = protocol
        .head
        .iter()
        .filter(|part| part.name != missing.name);
    let parts: Vec<String> = others
        .chain([missing])
        .map(|part| with_article(part.name))
        .collect();
    format!(
        "a {noun} has {}: add `{} = \"..\"`",
        parts.join(" and "),
        missing.name
    )
}

fn with_article(name: &str) -> String {
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {name}")
}

/// Returns the tokens for an error about the head: an attribute that says that the item is a frame, or else the name
/// of the item.
fn frame_tokens(owner: Owner<'_>) -> TokenStream {
    let present = owner.attrs.head.iter().flatten().next();
    present
        .or(owner.attrs.schema.as_ref())
        .map_or_else(|| owner.ident.to_token_stream(), LitStr::to_token_stream)
}

/// Returns the end of an error message: the name that was probably meant, and all names.
fn hint(near: Option<&str>, what: &str, names: &[&str]) -> String {
    let names = names.join(", ");
    match near {
        Some(near) => format!("; did you mean `{near}`? ({what}: {names})"),
        None if names.is_empty() => String::from(" here"),
        None => format!("; {what}: {names}"),
    }
}
