//! Replaces lifetimes in the tokens of a type, and finds the span of a type.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use syn::spanned::Spanned as _;
use syn::{Generics, Lifetime, Type as RustType};

use crate::ast::Input;

/// Returns the tokens of a type, with `'static` instead of `'_` and of each lifetime of the item.
pub(super) fn without_lifetimes(of: &Generics, tokens: TokenStream) -> TokenStream {
    let own =
        |name: &Ident| name == "_" || of.lifetimes().any(|param| param.lifetime.ident == *name);
    with_lifetimes(tokens, &own, "static")
}

/// Returns the tokens of a type. The lifetime `by` replaces each lifetime for which `is_replaced` returns true. All
/// other lifetimes stay, such as those of `for<'x>`.
pub(super) fn with_lifetimes(
    tokens: TokenStream,
    is_replaced: &dyn Fn(&Ident) -> bool,
    by: &str,
) -> TokenStream {
    let mut is_lifetime = false;
    let replaced = tokens.into_iter().map(|tree| match tree {
        TokenTree::Punct(punct) => {
            is_lifetime = punct.as_char() == '\'';
            TokenTree::Punct(punct)
        }
        TokenTree::Ident(ident) if std::mem::take(&mut is_lifetime) && is_replaced(&ident) => {
            TokenTree::Ident(Ident::new(by, Span::call_site()))
        }
        TokenTree::Group(group) => {
            let inner = with_lifetimes(group.stream(), is_replaced, by);
            let mut replaced = Group::new(group.delimiter(), inner);
            replaced.set_span(group.span());
            TokenTree::Group(replaced)
        }
        other => other,
    });
    replaced.collect()
}

/// Returns the lifetime of the text that is read: the lifetime of the item, or `'accp` if the item has none.
pub(super) fn text_lifetime(input: &Input<'_>) -> Lifetime {
    input
        .lifetime
        .cloned()
        .unwrap_or_else(|| Lifetime::new("'accp", Span::call_site()))
}

/// Returns the span of a type in the source, with names resolved at the macro call.
pub(super) fn span_of(ty: &RustType) -> Span {
    ty.span().resolved_at(Span::call_site())
}
