//! Types that only the compiler can check.

use accp_registry::Type;
use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{GenericArgument, PathArguments, Type as RustType};

use super::owned::borrowing;
use super::{kind, schemas};
use crate::ast::{Field, Input, mentions};
use crate::resolved::Wire;

/// Returns `<T as Holds<..>>` for a type that only the compiler can check, and `None` for a type
/// that the check knows. A type parameter has bounds instead.
///
/// Code that takes such a value by `Holds` gives one error where the type does not fit. Code that
/// wants `EncodeValue` here and `DecodeValue` there would give two.
///
/// An owned type is read in its borrowing form, which `HoldsOwned` makes owned.
pub(super) fn compiler_checked(
    input: &Input<'_>,
    field: &Field<'_>,
    wire: &Wire,
) -> Option<TokenStream> {
    let ty = field.ty;
    let span = checked_span(ty);
    // If the type mentions the item itself, the bounds on the item's parameters decide whether the
    // type fits. So there is nothing to check here.
    let itself = Ident::new("Self", span);
    let is_itself = || mentions(ty.to_token_stream(), &itself) && input.has_type_params();
    if field.attrs.with.is_some() || input.is_generic(ty) || is_itself() || is_known(ty, &wire.ty) {
        return None;
    }
    let kind = kind(span, &wire.ty);
    let holds = Ident::new(holds(ty).unwrap_or("Holds"), span);
    // All tokens have one span, so that the compiler reports one error and not two.
    let read = borrowing(ty, "_").map(|read| placed(read, span));
    let ty = placed(ty.to_token_stream(), span);
    let holds = if let Some(read) = read {
        quote_spanned!(span=> HoldsOwned<'_, #kind, _, #read>)
    } else if let Some(schema) = schemas::of(wire, span) {
        quote_spanned!(span=> HoldsRecord<'_, #kind, _, #schema>)
    } else {
        quote_spanned!(span=> #holds<'_, #kind, _>)
    };
    Some(quote_spanned!(span=> <#ty as _p::#holds>))
}

/// Returns the trait whose error names the feature for a type of another crate, by the name of the type. A type of the
/// user may have the same name, and needs no feature.
fn holds(ty: &RustType) -> Option<&'static str> {
    let RustType::Path(path) = ty else {
        return None;
    };
    let last = path.path.segments.last()?;
    // The types of `formats` have some of these names, and a lifetime.
    let is_own = matches!(
        &last.arguments,
        PathArguments::AngleBracketed(arguments)
            if matches!(arguments.args.first(), Some(GenericArgument::Lifetime(_)))
    );
    match last.ident.to_string().as_str() {
        _ if is_own => {}
        "DateTime" | "NaiveDate" => return Some("HoldsChrono"),
        "Decimal" => return Some("HoldsRustDecimal"),
        "OffsetDateTime" | "Date" => return Some("HoldsTime"),
        "Url" => return Some("HoldsUrl"),
        "Uuid" => return Some("HoldsUuid"),
        _ => {}
    }
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) => {
            arguments.args.iter().filter_map(type_of).find_map(holds)
        }
        _ => None,
    }
}

/// Returns whether the type holds the registry type: the check has refused well-known types that do
/// not.
fn is_known(ty: &RustType, of: &Type) -> bool {
    let RustType::Path(path) = ty else {
        return false;
    };
    let Some(last) = path.path.segments.last() else {
        return false;
    };
    let inner: Vec<&RustType> = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => {
            arguments.args.iter().filter_map(type_of).collect()
        }
        _ => Vec::new(),
    };
    let holds = |of: &Type| inner.last().is_some_and(|inner| is_known(inner, of));
    // The check of well-known types does not look at the keys of a map. So a map is known here only
    // if its keys are texts.
    let key = match inner.first() {
        Some(RustType::Path(key)) => key.path.segments.last(),
        _ => None,
    };
    let has_text_keys = || key.is_some_and(|key| key.ident == "String" || key.ident == "Cow");
    match (last.ident.to_string().as_str(), of) {
        ("Option" | "Box", _) => holds(of),
        ("Vec", Type::List(item)) => holds(item),
        ("Vec", Type::Any) => holds(of),
        // The check has refused any other item.
        ("Vec", Type::Formatted(_)) => true,
        ("BTreeMap" | "HashMap", Type::Map(item)) => has_text_keys() && holds(item),
        ("BTreeMap" | "HashMap", Type::Any) => has_text_keys() && holds(of),
        ("String" | "bool" | "f64" | "i8" | "i16" | "i32" | "i64" | "isize", _) => true,
        ("u8" | "u16" | "u32" | "u64" | "usize", _) => true,
        ("Cow", Type::String | Type::Text | Type::Agent | Type::Any) => true,
        ("AgentId", Type::Agent | Type::String) => true,
        // `rust_decimal` has a type of this name, too, so the path has to say which type is meant.
        ("Decimal", Type::Decimal) => {
            path.path.segments.len() > 1 && path.path.segments[0].ident != "rust_decimal"
        }
        ("Map", Type::Map(item)) => **item == Type::Any,
        ("Map" | "Value", Type::Any) => true,
        _ => false,
    }
}

fn type_of(argument: &GenericArgument) -> Option<&RustType> {
    match argument {
        GenericArgument::Type(inner) => Some(inner),
        _ => None,
    }
}

/// Returns the span of the innermost type in the source, so that an error shows nothing of the
/// macro.
pub(super) fn checked_span(ty: &RustType) -> Span {
    if let RustType::Path(path) = ty
        && let Some(last) = path.path.segments.last()
        && let PathArguments::AngleBracketed(arguments) = &last.arguments
        && let Some(GenericArgument::Type(inner)) = arguments.args.last()
    {
        return checked_span(inner);
    }
    ty.span()
}

/// Returns the tokens, all with one span.
fn placed(tokens: TokenStream, span: Span) -> TokenStream {
    let placed = tokens.into_iter().map(|tree| match tree {
        TokenTree::Group(group) => {
            let mut placed = Group::new(group.delimiter(), placed(group.stream(), span));
            placed.set_span(span);
            TokenTree::Group(placed)
        }
        mut other => {
            other.set_span(span);
            other
        }
    });
    placed.collect()
}
