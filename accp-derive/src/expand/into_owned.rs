//! The same value without borrowed parts.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{DeriveInput, GenericParam, Lifetime};

use super::fields::slot;
use super::generics::span_of;
use super::shapes::without_lifetimes;
use crate::ast::{Body, Content, Field, Input, mentions};

pub(super) fn expand(input: &Input<'_>) -> TokenStream {
    let Some(lifetime) = input.lifetime else {
        return of_trait(input.original, &[], &quote!(self));
    };
    let mut bounds = Vec::new();
    let mut arm = |path: TokenStream, fields: &[Field<'_>]| {
        let (pattern, values) = each(input, lifetime, fields, &mut bounds);
        quote!(#path { #pattern } => #path { #values },)
    };
    let name = input.ident();
    let arms: TokenStream = match &input.body {
        Body::Struct(fields) => arm(quote!(#name), fields),
        Body::Enum(variants) => {
            let arms = variants.iter().map(|variant| {
                let ident = &variant.original.ident;
                let path = quote!(#name::#ident);
                match &variant.content {
                    Content::Struct(fields) => arm(path, fields),
                    Content::Newtype(ty) => {
                        let value = Ident::new("frame", Span::call_site());
                        let owned = owned(lifetime, ty, &value);
                        quote!(#path(#value) => #path(#owned),)
                    }
                    Content::Unit | Content::Tuple => quote!(#path => #path,),
                }
            });
            arms.collect()
        }
    };
    let of_trait = of_trait(input.original, &bounds, &quote!(match self { #arms }));
    let of_type = of_type(input.original, &bounds);
    quote!(#of_trait #of_type)
}

/// Returns a pattern that binds every field, and the same fields, owned. A field whose type may
/// have no owned form gets a bound, so that the item can still be derived without one.
fn each(
    input: &Input<'_>,
    lifetime: &Lifetime,
    fields: &[Field<'_>],
    bounds: &mut Vec<TokenStream>,
) -> (TokenStream, TokenStream) {
    let (mut pattern, mut values) = (TokenStream::new(), TokenStream::new());
    for (at, field) in fields.iter().enumerate() {
        let (ident, ty, slot) = (field.ident, field.ty, slot(at));
        // A type that holds itself cannot have a bound on itself.
        let is_bound = input.is_generic(ty) && !mentions(ty.to_token_stream(), input.ident());
        if borrows(ty.to_token_stream(), lifetime) && (is_bound || !field.is_value()) {
            let (span, owned) = (span_of(ty), without_lifetimes(ty.to_token_stream()));
            bounds.push(quote_spanned!(span=> #ty: _accp::IntoOwned<Owned = #owned>));
        }
        let owned = owned(lifetime, ty, &slot);
        pattern.extend(quote!(#ident: #slot,));
        values.extend(quote!(#ident: #owned,));
    }
    (pattern, values)
}

/// Returns a value, owned. A type without the lifetime of the item borrows nothing.
fn owned(lifetime: &Lifetime, ty: &syn::Type, value: &Ident) -> TokenStream {
    if !borrows(ty.to_token_stream(), lifetime) {
        return value.to_token_stream();
    }
    let span = span_of(ty);
    let value = Ident::new(&value.to_string(), span);
    quote_spanned!(span=> <#ty as _accp::IntoOwned>::into_owned(#value))
}

/// Returns the impl of the trait with the given body. Type parameters stay as they are.
pub(crate) fn of_trait(
    original: &DeriveInput,
    bounds: &[TokenStream],
    body: &TokenStream,
) -> TokenStream {
    let ident = &original.ident;
    let (params, ty, _) = original.generics.split_for_impl();
    let owned = without_lifetimes(ty.to_token_stream());
    let clause = clause(original, bounds);
    quote! {
        #[automatically_derived]
        impl #params _accp::IntoOwned for #ident #ty #clause {
            type Owned = #ident #owned;
            fn into_owned(self) -> #ident #owned {
                #body
            }
        }
    }
}

/// Returns a method of the item itself, which needs no import.
fn of_type(original: &DeriveInput, bounds: &[TokenStream]) -> TokenStream {
    let (ident, vis) = (&original.ident, &original.vis);
    let (params, ty, _) = original.generics.split_for_impl();
    let owned = without_lifetimes(ty.to_token_stream());
    let clause = clause(original, bounds);
    quote! {
        #[automatically_derived]
        #[allow(dead_code)]
        impl #params #ident #ty #clause {
            /// Returns the same value, owned, so that it can cross threads.
            #vis fn into_owned(self) -> #ident #owned {
                _accp::IntoOwned::into_owned(self)
            }
        }
    }
}

fn clause(original: &DeriveInput, bounds: &[TokenStream]) -> TokenStream {
    let own = original.generics.where_clause.iter();
    let own: Vec<_> = own
        .flat_map(|clause| &clause.predicates)
        .flat_map(|own| {
            [
                own.to_token_stream(),
                without_lifetimes(own.to_token_stream()),
            ]
        })
        .collect();
    let of_types = original
        .generics
        .params
        .iter()
        .filter_map(|param| match param {
            GenericParam::Type(param) => {
                let ident = &param.ident;
                Some(quote!(#ident: 'static))
            }
            _ => None,
        });
    let all: Vec<_> = own
        .into_iter()
        .chain(of_types)
        .chain(bounds.iter().cloned())
        .collect();
    if all.is_empty() {
        return TokenStream::new();
    }
    quote!(where #(#all,)*)
}

/// Returns whether the lifetime occurs in the tokens.
fn borrows(tokens: TokenStream, lifetime: &Lifetime) -> bool {
    let mut is_lifetime = false;
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Punct(punct) => {
            is_lifetime = punct.as_char() == '\'';
            false
        }
        TokenTree::Ident(ident) => std::mem::take(&mut is_lifetime) && ident == lifetime.ident,
        TokenTree::Group(group) => borrows(group.stream(), lifetime),
        TokenTree::Literal(_) => false,
    })
}
