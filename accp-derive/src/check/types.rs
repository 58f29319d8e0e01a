//! Finds well-known Rust types that cannot hold a registry type. The derive reports such a type with one clear error.
//! The compiler checks all other types by their traits.

use accp_registry::{Format, Protocol, Type};
use quote::ToTokens as _;
use syn::{GenericArgument, PathArguments, Type as RustType, TypeReference};

use crate::ctxt::Ctxt;

/// Returns the part of a Rust type that cannot hold its part of the registry type. `None` if all parts can. An
/// `Option` inside a list or a map cannot hold an item, because items are never null.
pub(super) fn misfit<'t>(ty: &'t RustType, of: &'t Type) -> Option<(&'t RustType, &'t Type)> {
    let path = match ty {
        RustType::Path(path) => path,
        // A decoder cannot make values of these types.
        RustType::Reference(_) | RustType::Tuple(_) | RustType::Array(_) => return Some((ty, of)),
        _ => return None,
    };
    let last = path.path.segments.last()?;
    let inner: Vec<&RustType> = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => {
            arguments.args.iter().filter_map(as_type).collect()
        }
        _ => Vec::new(),
    };
    let fits = match (last.ident.to_string().as_str(), inner.as_slice()) {
        ("Option" | "Box", [inner]) => return misfit(inner, of),
        ("Vec", [inner]) => match of {
            Type::List(item) => return misfit_item(inner, item),
            Type::Any => return misfit(inner, of),
            Type::Formatted(Format::Bytes) => is_one_of(inner, &["u8"]),
            _ => false,
        },
        ("BTreeMap", [_, inner]) | ("HashMap", [_, inner] | [_, inner, _]) => match of {
            Type::Map(item) => return misfit_item(inner, item),
            Type::Any => return misfit(inner, of),
            _ => false,
        },
        ("String", []) => match of {
            Type::Formatted(format) => *format != Format::Bytes,
            of => matches!(of, Type::String | Type::Text | Type::Agent | Type::Any),
        },
        ("bool", []) => matches!(of, Type::Boolean | Type::Any),
        ("f64", []) => matches!(of, Type::Number | Type::Any),
        ("f32" | "char" | "i128" | "u128", []) => false,
        ("i8" | "i16" | "i32" | "i64" | "isize" | "u8" | "u16" | "u32" | "u64" | "usize", []) => {
            matches!(of, Type::Integer | Type::Any)
        }
        _ => true,
    };
    (!fits).then_some((ty, of))
}

fn misfit_item<'t>(ty: &'t RustType, of: &'t Type) -> Option<(&'t RustType, &'t Type)> {
    match optional(ty) {
        Some(inner) if !of.holds_null() => misfit(inner, of).or(Some((ty, of))),
        _ => misfit(ty, of),
    }
}

/// Reports a transparent struct with a well-known type that no field can hold.
pub(super) fn check_value_type(cx: &Ctxt, ty: &RustType) {
    if cx.protocol.is_text() {
        return;
    }
    let cure = match (instead_of(ty), ty) {
        (Some(cure), _) => cure,
        (None, RustType::Reference(_) | RustType::Tuple(_)) => {
            "a type that owns its value, such as `Vec` or `String`".to_owned()
        }
        _ => return,
    };
    cx.error(ty, format!("`{}` cannot travel; use {cure}", shown(ty)));
}

/// Returns a text for an error: the types that hold what a type would hold that no field can have. `None` if no type is
/// near.
pub(super) fn instead_of(ty: &RustType) -> Option<String> {
    let cure = match ty {
        RustType::Reference(reference) => return text_holders(reference),
        RustType::Array(array) => return Some(format!("`Vec<{}>`", shown(&array.elem))),
        ty if is_one_of(ty, &["f32"]) => "`f64`",
        ty if is_one_of(ty, &["char"]) => "`Cow<'_, str>` or `String`",
        ty if is_one_of(ty, &["i128", "u128"]) => "`i64` or `u64`",
        _ => return None,
    };
    Some(cure.to_owned())
}

/// If the type is `&str`, returns the types that can hold the text instead.
fn text_holders(reference: &TypeReference) -> Option<String> {
    let is_str = matches!(&*reference.elem, RustType::Path(path) if path.path.is_ident("str"));
    let lifetime = reference.lifetime.to_token_stream().to_string();
    let lifetime = Some(lifetime).filter(|name| !name.is_empty());
    let lifetime = lifetime.as_deref().unwrap_or("'_");
    is_str.then(|| format!("`Cow<{lifetime}, str>` or `String`"))
}

/// A text for errors: the Rust types that can hold the text of a packet's field.
pub(super) const TEXT_HOLDERS: &str =
    "text (`Cow<'_, str>`, `String`, `&str`), an integer, `bool`, or a `Vec` of these";

/// Returns the part of a well-known type that cannot be read from a text.
pub(super) fn no_text(ty: &RustType) -> Option<&RustType> {
    let item = inside(ty, "Option").unwrap_or(ty);
    let item = inside(item, "Vec").unwrap_or(item);
    match item {
        RustType::Reference(reference) => match &*reference.elem {
            RustType::Path(path) if path.path.is_ident("str") && reference.mutability.is_none() => {
                None
            }
            _ => Some(item),
        },
        RustType::Tuple(_) | RustType::Array(_) => Some(item),
        _ => {
            const NONE: [&str; 10] = [
                "Option", "Vec", "Box", "BTreeMap", "HashMap", "Map", "Value", "f32", "f64", "char",
            ];
            is_one_of(item, &NONE).then_some(item)
        }
    }
}

/// Returns whether a well-known type cannot take pairs of keys and values in their order.
pub(super) fn no_pairs(ty: &RustType) -> bool {
    match inside(ty, "Vec") {
        Some(RustType::Tuple(pair)) => pair.elems.len() != 2,
        Some(item) => well_known(item, &[]).is_some(),
        None => no_frame(ty).is_some(),
    }
}

/// Returns the part of the type that is an integer too small for the default with this text.
pub(super) fn too_small<'t>(ty: &'t RustType, default: &str) -> Option<&'t RustType> {
    if let Some(inner) = inside(ty, "Option").or_else(|| inside(ty, "Box")) {
        return too_small(inner, default);
    }
    let RustType::Path(path) = ty else {
        return None;
    };
    let value: i64 = default.parse().ok()?;
    let fits = match path.path.get_ident()?.to_string().as_str() {
        "i8" => i8::try_from(value).is_ok(),
        "i16" => i16::try_from(value).is_ok(),
        "i32" => i32::try_from(value).is_ok(),
        "u8" => u8::try_from(value).is_ok(),
        "u16" => u16::try_from(value).is_ok(),
        "u32" => u32::try_from(value).is_ok(),
        "u64" | "usize" => value >= 0,
        _ => true,
    };
    (!fits).then_some(ty)
}

/// Returns the name of a well-known type that is not a map from texts to values, for an error; `None` for other
/// types.
pub(super) fn no_map(ty: &RustType) -> Option<String> {
    const NO_KEYS: [&str; 6] = ["i8", "i16", "i32", "u8", "u16", "u32"];
    const TEXTS: [&str; 2] = ["String", "Cow"];
    if let Some((key, _)) = entry(ty)
        && well_known(key, &NO_KEYS).is_some()
        && !is_one_of(key, &TEXTS)
    {
        return Some(shown(ty));
    }
    well_known(ty, &[])
}

/// Returns the type of the values of a map.
pub(super) fn map_value(ty: &RustType) -> Option<&RustType> {
    entry(ty).map(|(_, value)| value)
}

/// Returns the types of the keys and of the values of a map.
fn entry(ty: &RustType) -> Option<(&RustType, &RustType)> {
    let RustType::Path(path) = ty else {
        return None;
    };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    let mut types = arguments.args.iter().filter_map(as_type);
    if last.ident != "BTreeMap" && last.ident != "HashMap" {
        return None;
    }
    Some((types.next()?, types.next()?))
}

/// Returns the name of a well-known type that is not a message, for an error; `None` for other types.
pub(super) fn no_frame(ty: &RustType) -> Option<String> {
    let ty = inside(ty, "Box").unwrap_or(ty);
    well_known(ty, &["Map", "BTreeMap", "HashMap"])
}

fn well_known(ty: &RustType, others: &[&str]) -> Option<String> {
    const KNOWN: [&str; 11] = [
        "Vec", "String", "Cow", "Option", "Value", "AgentId", "bool", "i64", "u64", "f64", "char",
    ];
    let is_known = match ty {
        RustType::Tuple(_) | RustType::Reference(_) | RustType::Slice(_) => true,
        ty => is_one_of(ty, &KNOWN) || is_one_of(ty, others),
    };
    is_known.then(|| shown(ty))
}

fn is_one_of(ty: &RustType, names: &[&str]) -> bool {
    let RustType::Path(path) = ty else {
        return false;
    };
    let last = path.path.segments.last();
    last.is_some_and(|last| names.iter().any(|name| last.ident == name))
}

/// Returns a type in the spelling of a user.
pub(super) fn shown(ty: &RustType) -> String {
    let text = ty.to_token_stream().to_string();
    let text = text
        .replace(" ,", ",")
        .replace(" < ", "<")
        .replace("< ", "<");
    text.replace(" >", ">")
        .replace(" :: ", "::")
        .replace("& ", "&")
}

/// Returns the innermost item type of lists and maps.
pub(crate) fn innermost(ty: &Type) -> &Type {
    match ty {
        Type::List(item) | Type::Map(item) => innermost(item),
        other => other,
    }
}

/// Returns the type inside an `Option`.
pub(crate) fn optional(ty: &RustType) -> Option<&RustType> {
    inside(ty, "Option")
}

/// Returns the type of the items of a `Vec`.
pub(crate) fn item_of(ty: &RustType) -> Option<&RustType> {
    inside(ty, "Vec")
}

/// Returns the first type argument of a type with this name.
fn inside<'t>(ty: &'t RustType, name: &str) -> Option<&'t RustType> {
    let RustType::Path(path) = ty else {
        return None;
    };
    let last = path
        .path
        .segments
        .last()
        .filter(|last| last.ident == name)?;
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) => arguments.args.iter().find_map(as_type),
        _ => None,
    }
}

fn as_type(argument: &GenericArgument) -> Option<&RustType> {
    match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    }
}

/// Returns a text for an error: the Rust types that can hold a registry type.
pub(super) fn holders(protocol: &Protocol, of: &Type) -> String {
    let names = protocol.rust;
    match of {
        Type::String | Type::Text => "`Cow<'_, str>` or `String`".to_owned(),
        Type::Integer => "`i64` or a smaller integer".to_owned(),
        Type::Decimal => format!("`{}::Decimal`", names.runtime),
        Type::Number => "`f64`".to_owned(),
        Type::Boolean => "`bool`".to_owned(),
        Type::Agent => "`AgentId<'_>`".to_owned(),
        Type::Formatted(Format::Bytes) => "`Vec<u8>`".to_owned(),
        Type::Formatted(format) => {
            let (first, rest) = format.word().split_at(1);
            let name = first.to_uppercase() + rest;
            format!("`{}::formats::{name}<'_>` or `String`", names.runtime)
        }
        Type::Enum(_) => format!(
            "an enum that derives `{}`, with these variants",
            names.derive
        ),
        Type::List(_) => "a `Vec`".to_owned(),
        Type::Map(_) => "a `BTreeMap` or `HashMap` with texts as keys".to_owned(),
        Type::Schema(code) => {
            let derive = names.derive;
            format!("a type that derives `{derive}` with `schema = \"{code}\"`")
        }
        _ => "`Value<'_>`".to_owned(),
    }
}
