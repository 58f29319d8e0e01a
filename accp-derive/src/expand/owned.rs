//! Fields that own what they hold: `AgentId<'static>` is read from every text, and keeps a copy.

use accp_registry::Type;
use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{GenericArgument, PathArguments, Type as RustType};

use super::kind;

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
