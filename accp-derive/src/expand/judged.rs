//! Types that only the compiler can judge.

use accp_registry::Type;
use proc_macro2::TokenStream;
use quote::quote_spanned;
use syn::spanned::Spanned as _;
use syn::{GenericArgument, PathArguments, Type as RustType};

use super::kind;
use crate::ast::{Field, Input};
use crate::plan::Wire;

/// Returns `<T as Holds<..>>` for a type that only the compiler can judge, and `None` for a type
/// that the check knows. A type parameter has bounds instead.
///
/// Code that takes such a value by `Holds` gives one error where the type does not fit. Code that
/// wants `EncodeValue` here and `DecodeValue` there would give two.
pub(super) fn judged(input: &Input<'_>, field: &Field<'_>, wire: &Wire) -> Option<TokenStream> {
    let ty = field.ty;
    if field.attrs.with.is_some() || input.is_generic(ty) || is_known(ty, &wire.ty) {
        return None;
    }
    // The plain place in the source: the error then shows nothing of the macro.
    let span = ty.span();
    let kind = kind(span, &wire.ty);
    Some(quote_spanned!(span=> <#ty as _p::Holds<'_, #kind, _>>))
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
    let inner = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => arguments.args.last(),
        _ => None,
    };
    let holds =
        |of: &Type| matches!(inner, Some(GenericArgument::Type(inner)) if is_known(inner, of));
    match (last.ident.to_string().as_str(), of) {
        ("Option" | "Box", _) => holds(of),
        ("Vec", Type::List(item)) | ("BTreeMap", Type::Map(item)) => holds(item),
        ("Vec" | "BTreeMap", Type::Any) => holds(of),
        ("String" | "bool" | "f64" | "i8" | "i16" | "i32" | "i64" | "isize", _) => true,
        ("u8" | "u16" | "u32" | "u64" | "usize", _) => true,
        ("Cow", Type::String | Type::Text | Type::Agent | Type::Any) => true,
        ("AgentId", Type::Agent | Type::String) => true,
        ("Decimal", Type::Decimal | Type::Any) => true,
        ("Map", Type::Map(item)) => **item == Type::Any,
        ("Map" | "Value", Type::Any) => true,
        _ => false,
    }
}
