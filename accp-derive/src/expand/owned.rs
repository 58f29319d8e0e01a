//! Handles field types that own their content, such as `AgentId<'static>`: the code reads the same type with a
//! borrowed lifetime, and then makes the value owned.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens as _, quote_spanned};
use syn::{GenericArgument, PathArguments, Type as RustType};

use super::lifetimes::{span_of, text_lifetime, with_lifetimes};
use crate::ast::Input;

/// Returns the type as which an owned type is read: the same type with `lifetime` instead of each `'static`. `None`
/// for a type without `'static`.
pub(super) fn borrowing(ty: &RustType, lifetime: &str) -> Option<TokenStream> {
    let is_static = |name: &Ident| name == "static";
    is_owned(ty).then(|| with_lifetimes(ty.to_token_stream(), &is_static, lifetime))
}

/// Returns the type as which a field is read. An owned type gets the lifetime of the text. Any other type is
/// unchanged.
pub(super) fn type_to_read(input: &Input<'_>, ty: &RustType) -> TokenStream {
    let lifetime = text_lifetime(input).ident.to_string();
    borrowing(ty, &lifetime).unwrap_or_else(|| ty.to_token_stream())
}

/// Returns one more bound for the type as which an owned type is read: its values can be made owned. `None` if the
/// type is not owned.
pub(super) fn owned_bound(ty: &RustType) -> Option<TokenStream> {
    is_owned(ty).then(|| quote_spanned!(span_of(ty)=> + _accp::IntoOwned<Owned = #ty>))
}

/// Returns whether a type has an argument `'static`, at any depth. The value of such a type is made owned after it
/// was read.
pub(super) fn is_owned(ty: &RustType) -> bool {
    let RustType::Path(path) = ty else {
        return false;
    };
    let mut segments = path.path.segments.iter();
    segments.any(|segment| match &segment.arguments {
        PathArguments::AngleBracketed(arguments) => {
            arguments.args.iter().any(|argument| match argument {
                GenericArgument::Lifetime(lifetime) => lifetime.ident == "static",
                GenericArgument::Type(ty) => is_owned(ty),
                _ => false,
            })
        }
        _ => false,
    })
}
