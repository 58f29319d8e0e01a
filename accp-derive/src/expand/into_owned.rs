//! Generates `IntoOwned`, which turns a value into the same value without borrowed parts.

use proc_macro2::{Group, Ident, Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Data, DeriveInput, Generics, TypeParam, TypeParamBound, WherePredicate};

use super::fields::slot;
use super::lifetimes::{span_of, with_lifetimes};
use crate::ast::{Body, Content, Field, Input, mentions};

pub(super) fn expand(input: &Input<'_>) -> TokenStream {
    let of = &input.original.generics;
    if of.lifetimes().next().is_none() && of.type_params().next().is_none() {
        return of_trait(input.original, &[], &quote!(self));
    }
    if projects(input.original) {
        // The derive cannot see what a type such as `T::Item` borrows, so an item with a lifetime
        // gets no `into_owned`.
        return match input.lifetime {
            Some(_) => TokenStream::new(),
            None => of_trait(input.original, &[], &quote!(self)),
        };
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

/// Returns a pattern that binds every field, and the code for the same fields as owned values. A field that is not
/// written to the wire may have a type that does not implement `IntoOwned`. For such a field, the impl gets a bound,
/// so that the derive still compiles.
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

/// Returns the code that makes a value owned. A type that names no parameter of the item borrows nothing, so its
/// value stays as it is.
fn owned(of: &Generics, ty: &syn::Type, value: &Ident) -> TokenStream {
    if !may_borrow(of, ty.to_token_stream()) {
        return value.to_token_stream();
    }
    let span = span_of(ty);
    let value = Ident::new(&value.to_string(), span);
    quote_spanned!(span=> <#ty as _accp::IntoOwned>::into_owned(#value))
}

/// Returns a stub of the impl, for an item with a mistake.
pub(crate) fn stub(original: &DeriveInput) -> TokenStream {
    if original.generics.lifetimes().next().is_some() && projects(original) {
        return TokenStream::new();
    }
    of_trait(original, &[], &quote!(::core::unreachable!()))
}

/// Returns the impl of the trait with the given body.
fn of_trait(original: &DeriveInput, bounds: &[TokenStream], body: &TokenStream) -> TokenStream {
    let ident = &original.ident;
    let (owned, clause) = signature(original, bounds);
    let (params, ty, _) = original.generics.split_for_impl();
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

/// Returns a method of the item itself. A program can call it without importing the trait.
fn of_type(original: &DeriveInput, bounds: &[TokenStream]) -> TokenStream {
    let (ident, vis) = (&original.ident, &original.vis);
    let (owned, clause) = signature(original, bounds);
    let (params, ty, _) = original.generics.split_for_impl();
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
fn signature(original: &DeriveInput, bounds: &[TokenStream]) -> (TokenStream, TokenStream) {
    let of = &original.generics;
    let own = of.where_clause.iter().flat_map(|clause| &clause.predicates);
    let own: Vec<_> = own.collect();
    let (_, ty, _) = of.split_for_impl();
    let ident = &original.ident;
    if projects(original) {
        let owned = of
            .type_params()
            .map(|TypeParam { ident, .. }| quote!(#ident: 'static));
        return (quote!(#ident #ty), quote!(where #(#own,)* #(#owned,)*));
    }
    let ty = without_borrows(of, ty.to_token_stream());
    let params = of.type_params().map(|param| {
        let param_bounds = param.bounds.iter().filter(|bound| !is_relaxed(bound));
        let param_bounds = param_bounds.map(|bound| without_borrows(of, bound.to_token_stream()));
        let (ident, own): (_, Vec<_>) = (&param.ident, param_bounds.collect());
        let own = (!own.is_empty()).then(|| quote!(<Owned: #(#own)+*>));
        quote!(#ident: _accp::IntoOwned #own)
    });
    let owned = own.iter().filter_map(|own| owned_predicate(of, own));
    let own = own.iter().map(ToTokens::to_token_stream);
    let all: Vec<_> = params.chain(own).chain(owned).collect();
    let all: Vec<_> = all.into_iter().chain(bounds.iter().cloned()).collect();
    let clause = (!all.is_empty()).then(|| quote!(where #(#all,)*));
    (quote!(#ident #ty), clause.unwrap_or_default())
}

/// Returns whether a bound is `?Sized`, which an associated type cannot have.
fn is_relaxed(bound: &TypeParamBound) -> bool {
    match bound {
        TypeParamBound::Trait(bound) => bound.maybe.is_some(),
        _ => false,
    }
}

/// Returns whether the item uses an associated type of a parameter, as in `T::Item`, or has a bound
/// that depends on one. The derive cannot know the associated type of the owned form of `T`. So such
/// an item is its own owned form if it does not borrow.
fn projects(original: &DeriveInput) -> bool {
    let of = &original.generics;
    let fields: Vec<_> = match &original.data {
        Data::Struct(data) => data.fields.iter().collect(),
        Data::Enum(data) => data
            .variants
            .iter()
            .flat_map(|variant| &variant.fields)
            .collect(),
        Data::Union(_) => Vec::new(),
    };
    let types = fields.into_iter().map(|field| field.ty.to_token_stream());
    let clause = of.where_clause.to_token_stream();
    let mut all = types.chain([of.to_token_stream(), clause]);
    all.any(|tokens| has_projection(of, tokens)) || bounds_depend(of)
}

/// Returns whether a bound names a type parameter, as in `T: PartialEq<U>`. With such a bound, the bounds for the
/// owned types would refer to each other without end.
fn bounds_depend(of: &Generics) -> bool {
    let params = of.type_params().map(|param| param.bounds.to_token_stream());
    let clauses = of.where_clause.iter().flat_map(|clause| &clause.predicates);
    let clauses = clauses.filter_map(|own| match own {
        WherePredicate::Type(own) => Some(own.bounds.to_token_stream()),
        _ => None,
    });
    let mut bounds = params.chain(clauses);
    bounds.any(|bounds| {
        of.type_params()
            .any(|param| mentions(bounds.clone(), &param.ident))
    })
}

/// Returns a predicate of the where clause, changed for the owned types; `None` if no bound remains.
fn owned_predicate(of: &Generics, own: &WherePredicate) -> Option<TokenStream> {
    let mut own = own.clone();
    if let WherePredicate::Type(own) = &mut own {
        own.bounds = std::mem::take(&mut own.bounds)
            .into_iter()
            .filter(|bound| !is_relaxed(bound))
            .collect();
        if own.bounds.is_empty() {
            return None;
        }
    }
    Some(without_borrows(of, own.to_token_stream()))
}

/// Returns whether the tokens hold an associated type: a path that begins with a type parameter, or the keyword `as`.
fn has_projection(of: &Generics, tokens: TokenStream) -> bool {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    trees.iter().enumerate().any(|(at, tree)| match tree {
        TokenTree::Ident(ident) if ident == "as" => true,
        TokenTree::Ident(ident) => {
            let colons = trees.get(at + 1..at + 3).unwrap_or_default();
            let is_colon = |tree: &TokenTree| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == ':');
            let is_joint = |tree: &TokenTree| matches!(tree, TokenTree::Punct(punct) if punct.spacing() == Spacing::Joint);
            of.type_params().any(|param| param.ident == *ident)
                && colons.len() == 2
                && colons.iter().all(is_colon)
                && is_joint(&colons[0])
        }
        TokenTree::Group(group) => has_projection(of, group.stream()),
        _ => false,
    })
}

/// Returns whether the tokens of a type hold a lifetime or a type parameter of the item, or the item itself.
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

/// Returns the tokens of the owned type: each lifetime of the item becomes `'static`, and each type parameter becomes
/// its owned type.
fn without_borrows(of: &Generics, tokens: TokenStream) -> TokenStream {
    let own = |name: &Ident| of.lifetimes().any(|param| param.lifetime.ident == *name);
    let owned = with_lifetimes(tokens, &own, "static")
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
