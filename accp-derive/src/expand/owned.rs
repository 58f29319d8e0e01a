//! Fields that own what they hold: `AgentId<'static>` is read from every text, and keeps a copy.

use accp_registry::Type;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote_spanned};
use syn::{GenericArgument, PathArguments, Type as RustType};

use super::generics::text_lifetime;
use super::kind;
use super::lifetimes::with_lifetimes;
use crate::ast::Input;

/// The types of the runtime that borrow, and their text.
const BORROWING: [&str; 4] = ["AgentId", "Cow", "Map", "Value"];

/// Returns the marker type by which a field is read.
pub(super) fn kind_to_read(span: Span, ty: &RustType, of: &Type) -> TokenStream {
    if !is_owned(ty) {
        return kind(span, of);
    }
    match of {
        Type::List(item) => {
            let item = kind_to_read(span, ty, item);
            quote_spanned!(span=> _accp::kind::List<#item>)
        }
        Type::Map(item) => {
            let item = kind_to_read(span, ty, item);
            quote_spanned!(span=> _accp::kind::Map<#item>)
        }
        of => {
            let of = kind(span, of);
            quote_spanned!(span=> _accp::kind::Owned<#of>)
        }
    }
}

/// Returns the type that takes the params of a `flatten` field while they are read: with the lifetime
/// of the text, where the field's type is owned.
pub(super) fn type_to_read(input: &Input<'_>, ty: &RustType) -> Option<TokenStream> {
    if !holds_static(ty) {
        return None;
    }
    let lifetime = text_lifetime(input).ident.to_string();
    let is_static = |name: &Ident| name == "static";
    Some(with_lifetimes(ty.to_token_stream(), &is_static, &lifetime))
}

/// Returns whether a type has an argument `'static`, or another argument has one.
fn holds_static(ty: &RustType) -> bool {
    let RustType::Path(path) = ty else {
        return false;
    };
    let mut segments = path.path.segments.iter();
    segments.any(|segment| match &segment.arguments {
        PathArguments::AngleBracketed(arguments) => {
            arguments.args.iter().any(|argument| match argument {
                GenericArgument::Lifetime(lifetime) => lifetime.ident == "static",
                GenericArgument::Type(ty) => holds_static(ty),
                _ => false,
            })
        }
        _ => false,
    })
}

/// Returns whether the innermost type is one of [`BORROWING`] with the lifetime `'static`.
fn is_owned(ty: &RustType) -> bool {
    let RustType::Path(path) = ty else {
        return false;
    };
    let Some(last) = path.path.segments.last() else {
        return false;
    };
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return false;
    };
    if BORROWING.iter().any(|name| last.ident == name) {
        return arguments.args.iter().any(|argument| match argument {
            GenericArgument::Lifetime(lifetime) => lifetime.ident == "static",
            _ => false,
        });
    }
    // The last parameter of a container is the type of its items.
    match arguments.args.last() {
        Some(GenericArgument::Type(inner)) => is_owned(inner),
        _ => false,
    }
}
