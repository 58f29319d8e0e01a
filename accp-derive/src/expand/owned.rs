//! Types that own what they hold: `AgentId<'static>` is read as its borrowing twin, and keeps a copy.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens as _;
use syn::{GenericArgument, PathArguments, Type as RustType};

use super::generics::text_lifetime;
use super::lifetimes::with_lifetimes;
use crate::ast::Input;

/// Returns the type by which an owned type is read: with the lifetime of the text in place of each `'static`. `None` for
/// a type without one.
pub(super) fn borrowing(input: &Input<'_>, ty: &RustType) -> Option<TokenStream> {
    if !holds_static(ty) {
        return None;
    }
    let lifetime = text_lifetime(input).ident.to_string();
    let is_static = |name: &Ident| name == "static";
    Some(with_lifetimes(ty.to_token_stream(), &is_static, &lifetime))
}

/// Returns the type by which a type is read.
pub(super) fn type_to_read(input: &Input<'_>, ty: &RustType) -> TokenStream {
    borrowing(input, ty).unwrap_or_else(|| ty.to_token_stream())
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
