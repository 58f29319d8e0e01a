//! The same value without borrowed parts.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{DeriveInput, Generics, TypeParam, parse_quote};

use super::fields::slot;
use super::generics::span_of;
use super::shapes::without_lifetimes;
use crate::ast::{Body, Content, Field, Input};

pub(super) fn expand(input: &Input<'_>) -> TokenStream {
    let of = &input.original.generics;
    if of.lifetimes().next().is_none() && of.type_params().next().is_none() {
        return of_trait(input.original, &[], &quote!(self));
    }
    let mut bounds = Vec::new();
    let mut arm = |path: TokenStream, fields: &[Field<'_>]| {
        let (pattern, values) = each(of, fields, &mut bounds);
        quote!(#path { #pattern } => #path { #values },)
    };
    let name = input.ident();
    let arms: TokenStream = match &input.body {
        Body::Struct(fields) => arm(quote!(#name), fields),
        Body::Newtype(member, ty) => {
            let value = Ident::new("value", Span::call_site());
            let owned = owned(of, ty, &value);
            quote!(#name { #member: #value } => #name { #member: #owned },)
        }
        Body::Enum(variants) => {
            let arms = variants.iter().map(|variant| {
                let ident = &variant.original.ident;
                let path = quote!(#name::#ident);
                match &variant.content {
                    Content::Struct(fields) => arm(path, fields),
                    Content::Newtype(ty) => {
                        let value = Ident::new("frame", Span::call_site());
                        let owned = owned(of, ty, &value);
                        quote!(#path(#value) => #path(#owned),)
                    }
                    Content::Unit | Content::Tuple => quote!(#path => #path,),
                }
            });
            arms.collect()
        }
    };
    let of_trait = of_trait(input.original, &bounds, &quote!(match self { #arms }));
    let of_type = input.lifetime.map(|_| of_type(input.original, &bounds));
    quote!(#of_trait #of_type)
}

/// Returns a pattern that binds every field, and the same fields, owned. A field that is no value of
/// the runtime may have a type without an owned form. Such a field gets a bound, so that the item can
/// still be derived.
fn each(
    of: &Generics,
    fields: &[Field<'_>],
    bounds: &mut Vec<TokenStream>,
) -> (TokenStream, TokenStream) {
    let (mut pattern, mut values) = (TokenStream::new(), TokenStream::new());
    for (at, field) in fields.iter().enumerate() {
        let (ident, ty, slot) = (field.ident, field.ty, slot(at));
        if !field.is_value() && may_borrow(of, ty.to_token_stream()) {
            let (span, owned) = (span_of(ty), without_borrows(of, ty.to_token_stream()));
            bounds.push(quote_spanned!(span=> #ty: _accp::IntoOwned<Owned = #owned>));
        }
        let owned = owned(of, ty, &slot);
        pattern.extend(quote!(#ident: #slot,));
        values.extend(quote!(#ident: #owned,));
    }
    (pattern, values)
}

/// Returns a value, owned. A type without the parameters of the item borrows nothing.
fn owned(of: &Generics, ty: &syn::Type, value: &Ident) -> TokenStream {
    if !may_borrow(of, ty.to_token_stream()) {
        return value.to_token_stream();
    }
    let span = span_of(ty);
    let value = Ident::new(&value.to_string(), span);
    quote_spanned!(span=> <#ty as _accp::IntoOwned>::into_owned(#value))
}

/// Returns the impl of the trait with the given body.
pub(crate) fn of_trait(
    original: &DeriveInput,
    bounds: &[TokenStream],
    body: &TokenStream,
) -> TokenStream {
    let ident = &original.ident;
    let (generics, owned, clause) = signature(original, bounds);
    let (params, ty, _) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #params _accp::IntoOwned for #ident #ty #clause {
            type Owned = #owned;
            fn into_owned(self) -> #owned {
                #body
            }
        }
    }
}

/// Returns a method of the item itself, which needs no import.
fn of_type(original: &DeriveInput, bounds: &[TokenStream]) -> TokenStream {
    let (ident, vis) = (&original.ident, &original.vis);
    let (generics, owned, clause) = signature(original, bounds);
    let (params, ty, _) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        #[allow(dead_code)]
        impl #params #ident #ty #clause {
            /// Returns the same value, owned, so that it can cross threads.
            #vis fn into_owned(self) -> #owned {
                _accp::IntoOwned::into_owned(self)
            }
        }
    }
}

/// Returns the parameters of the impls, the owned type, and the where clause. The owned form of a
/// type parameter has the same bounds as the parameter.
fn signature(
    original: &DeriveInput,
    bounds: &[TokenStream],
) -> (Generics, TokenStream, TokenStream) {
    let mut generics = original.generics.clone();
    for TypeParam { bounds, .. } in generics.type_params_mut() {
        let own = without_borrows(&original.generics, bounds.to_token_stream());
        let own = (!own.is_empty()).then(|| quote!(<Owned: #own>));
        bounds.push(parse_quote!(_accp::IntoOwned #own));
    }
    let (_, ty, _) = original.generics.split_for_impl();
    let ident = &original.ident;
    let ty = without_borrows(&original.generics, ty.to_token_stream());
    let clauses = original.generics.where_clause.iter();
    let own = clauses
        .flat_map(|clause| &clause.predicates)
        .flat_map(|own| {
            let own = own.to_token_stream();
            [own.clone(), without_borrows(&original.generics, own)]
        });
    let all: Vec<_> = own.chain(bounds.iter().cloned()).collect();
    let clause = (!all.is_empty()).then(|| quote!(where #(#all,)*));
    (generics, quote!(#ident #ty), clause.unwrap_or_default())
}

/// Returns whether a lifetime or a type parameter of the item occurs in the tokens, or the item
/// itself.
fn may_borrow(of: &Generics, tokens: TokenStream) -> bool {
    let mut is_lifetime = false;
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Punct(punct) => {
            is_lifetime = punct.as_char() == '\'';
            false
        }
        TokenTree::Ident(ident) if std::mem::take(&mut is_lifetime) => {
            of.lifetimes().any(|param| param.lifetime.ident == ident)
        }
        TokenTree::Ident(ident) => {
            ident == "Self" || of.type_params().any(|param| param.ident == ident)
        }
        TokenTree::Group(group) => may_borrow(of, group.stream()),
        TokenTree::Literal(_) => false,
    })
}

/// Returns the tokens of a type with every lifetime `'static`, and every type parameter owned.
fn without_borrows(of: &Generics, tokens: TokenStream) -> TokenStream {
    let owned = without_lifetimes(tokens)
        .into_iter()
        .map(|tree| match tree {
            TokenTree::Ident(ident) if of.type_params().any(|param| param.ident == ident) => {
                quote_spanned!(ident.span()=> <#ident as _accp::IntoOwned>::Owned)
            }
            TokenTree::Group(group) => {
                let mut owned = Group::new(group.delimiter(), without_borrows(of, group.stream()));
                owned.set_span(group.span());
                TokenTree::Group(owned).into_token_stream()
            }
            other => other.into_token_stream(),
        });
    owned.collect()
}
