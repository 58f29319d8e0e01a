//! Code for field types that only the compiler can check against the registry type.

use accp_registry::Type;
use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{GenericArgument, PathArguments, Type as RustType};

use super::owned::borrowing;
use super::{kind, schemas};
use crate::ast::{Field, Input, mentions};
use crate::resolved::Wire;

/// Returns `<T as Holds<..>>` for a type that only the compiler can check. Returns `None` for a type that the derive
/// has checked, and for a type parameter, which has bounds instead.
///
/// If the type does not fit, code that uses the value through `Holds` gives only one error. Code that needs
/// `EncodeValue` in one place and `DecodeValue` in another would give two errors.
///
/// The code reads an owned type as the same type with a borrowed lifetime, and `HoldsOwned` then makes the value
/// owned.
pub(super) fn compiler_checked(
    input: &Input<'_>,
    field: &Field<'_>,
    wire: &Wire,
) -> Option<TokenStream> {
    let ty = field.ty;
    let span = checked_span(ty);
    // If the type contains the item itself, the bounds on the item's parameters decide whether the type fits. So the
    // code need not check it here.
    let itself = Ident::new("Self", span);
    let is_itself = || mentions(ty.to_token_stream(), &itself) && input.has_type_params();
    if field.attrs.with.is_some() || input.is_generic(ty) || is_itself() || is_known(ty, &wire.ty) {
        return None;
    }
    let kind = kind(span, &wire.ty);
    let holds = Ident::new(holds(ty).unwrap_or("Holds"), span);
    // All tokens have the same span, so that the compiler reports one error and not two.
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

/// Returns the trait for a type with the name of a type from another crate, such as `rust_decimal`. The error of this
/// trait names the feature that the type needs. A type of the user may have the same name, and needs no feature.
fn holds(ty: &RustType) -> Option<&'static str> {
    let RustType::Path(path) = ty else {
        return None;
    };
    let last = path.path.segments.last()?;
    // Some types of the module `formats` have the same names, but these types have a lifetime.
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

/// Returns whether the type is a well-known type that holds the registry type. An earlier check has reported
/// well-known types that do not.
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
    // The earlier check does not look at the keys of a map. So a map counts as known only if its keys are texts.
    let key = match inner.first() {
        Some(RustType::Path(key)) => key.path.segments.last(),
        _ => None,
    };
    let has_text_keys = || key.is_some_and(|key| key.ident == "String" || key.ident == "Cow");
    match (last.ident.to_string().as_str(), of) {
        ("Option" | "Box", _) => holds(of),
        ("Vec", Type::List(item)) => holds(item),
        ("Vec", Type::Any) => holds(of),
        // The earlier check has reported any `Vec` that does not hold bytes.
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

/// Returns the span of the innermost type in the source. An error there points to the user's code, not to the macro.
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

/// Returns the tokens with the same span for all of them.
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
