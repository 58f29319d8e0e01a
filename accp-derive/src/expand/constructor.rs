//! The constructor of `#[accp(new)]`, and its setters.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::Type as RustType;

use super::compiler_checked::compiler_checked;
use super::generics::{Way, bounds, decode_generics, where_clause};
use super::kind;
use super::lifetimes::span_of;
use super::with::With;
use crate::ast::Input;
use crate::check::{is_argument, item_of, optional, setter};
use crate::resolved::{Fields, Member, ResolvedItem, Role};

pub(super) fn expand(input: &Input<'_>, item: &ResolvedItem<'_>) -> TokenStream {
    let (ResolvedItem::Frame(crate::resolved::Frame { fields, .. }) | ResolvedItem::Nested(fields)) =
        item
    else {
        return TokenStream::new();
    };
    // The code has the span of the attribute `new`. So if the user has written another function `new`, the compiler
    // reports that at the attribute.
    let Some(new) = &input.attrs.new else {
        return TokenStream::new();
    };
    let (ident, vis) = (input.ident(), &input.original.vis);
    let arguments: Vec<_> = members(fields)
        .filter(|member| is_argument(member))
        .collect();
    let parameters = arguments.iter().map(|member| parameter(member));
    let values = members(fields).map(|member| value(input, member));
    let at = new.span().resolved_at(Span::call_site());
    let constructor = quote_spanned! {at=>
        #vis fn new(#(#parameters),*) -> Self {
            Self { #(#values)* }
        }
    };
    let setters = members(fields)
        .filter(|member| !is_argument(member) && !matches!(member.role, Role::Skip))
        .map(|member| set(input, member));
    let default = arguments.is_empty().then(|| default(input, fields, at));
    let doc = doc(&arguments);
    let (generics, clause) = generics(input, fields);
    let (params, ..) = generics.split_for_impl();
    let (_, ty, _) = input.original.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        #[allow(
            dead_code, clippy::fn_params_excessive_bools, clippy::needless_pass_by_value,
            clippy::should_implement_trait, clippy::too_many_arguments,
            clippy::wrong_self_convention
        )]
        impl #params #ident #ty #clause {
            #[doc = #doc]
            #[must_use]
            #constructor

            #(#setters)*
        }

        #default
    }
}

fn members<'f>(fields: &'f Fields<'_>) -> impl Iterator<Item = &'f Member<'f>> {
    fields.members.iter()
}

/// Returns the parameters and the where clause of the impls. The code for reading makes the defaults of generic
/// types, so the bounds are those for reading.
fn generics(input: &Input<'_>, fields: &Fields<'_>) -> (syn::Generics, TokenStream) {
    let bounds = bounds(input, fields, Way::Decode);
    let generics = if bounds.is_empty() {
        input.original.generics.clone()
    } else {
        decode_generics(input)
    };
    (generics, where_clause(input, &bounds))
}

fn doc(arguments: &[&Member<'_>]) -> String {
    let names: Vec<_> = arguments
        .iter()
        .map(|member| format!("`{}`", member.field.ident))
        .collect();
    match names.as_slice() {
        [] => String::from(
            "Returns a value without optional fields and with the defaults of the registry.",
        ),
        names => format!(
            "Returns a value with {}, without optional fields and with the defaults of the registry.",
            names.join(", ")
        ),
    }
}

/// Returns the parameter of the constructor for a field: `impl Into<T>`, or an iterator for a list.
fn parameter(member: &Member<'_>) -> TokenStream {
    let ident = member.field.ident;
    let into = into(member.field.ty);
    quote!(#ident: #into)
}

fn into(ty: &RustType) -> TokenStream {
    let span = span_of(ty);
    item_of(ty).map_or_else(
        || quote_spanned!(span=> impl _p::Into<#ty>),
        |item| quote_spanned!(span=> impl _p::IntoIterator<Item: _p::Into<#item>>),
    )
}

/// Returns the code that converts a parameter to the type of its field.
fn converted(ident: &Ident, ty: &RustType) -> TokenStream {
    if item_of(ty).is_some() {
        quote!(_p::collect(#ident))
    } else {
        quote!(_p::Into::into(#ident))
    }
}

/// Returns the code for the initial value of a field.
fn value(input: &Input<'_>, member: &Member<'_>) -> TokenStream {
    let (ident, ty) = (member.field.ident, member.field.ty);
    let span = span_of(ty);
    let value = match &member.role {
        _ if is_argument(member) => converted(ident, ty),
        Role::Skip | Role::Flatten => quote_spanned!(span=> <#ty as _p::Default>::default()),
        Role::Wire(wire) => {
            let Some(text) = &wire.default else {
                return quote!(#ident: _p::None,);
            };
            let (kind, name) = (kind(span, &wire.ty), &wire.name);
            match (
                With::of(member.field, wire),
                compiler_checked(input, member.field, wire),
            ) {
                (Some(with), _) => with.preset(text),
                (None, Some(compiler_checked)) => {
                    quote_spanned!(span=> #compiler_checked::back(_p::preset::<#kind, _>(#name, #text)))
                }
                (None, None) => quote_spanned!(span=> _p::preset::<#kind, #ty>(#name, #text)),
            }
        }
    };
    quote!(#ident: #value,)
}

fn set(input: &Input<'_>, member: &Member<'_>) -> TokenStream {
    let (field, vis) = (member.field, &input.original.vis);
    let (ident, name) = (field.ident, setter(field.ident));
    let doc = match &member.role {
        Role::Wire(wire) => match &wire.default {
            Some(text) => format!("Sets `{ident}`, which begins with the registry's `{text}`."),
            None => format!("Sets `{ident}`, which begins absent."),
        },
        _ => format!("Sets `{ident}`, which begins empty."),
    };
    let inner = optional(field.ty);
    let ty = inner.unwrap_or(field.ty);
    let into = into(ty);
    let value = converted(ident, ty);
    let value = if inner.is_some() {
        quote!(_p::Some(#value))
    } else {
        value
    };
    let this = Ident::new("self", Span::call_site());
    quote! {
        #[doc = #doc]
        #[must_use]
        #vis fn #name(mut #this, #ident: #into) -> Self {
            #this.#ident = #value;
            #this
        }
    }
}

/// Returns the impl of `Default` for an item whose constructor takes nothing.
fn default(input: &Input<'_>, fields: &Fields<'_>, at: Span) -> TokenStream {
    let ident = input.ident().to_token_stream();
    let (generics, clause) = generics(input, fields);
    let (params, ..) = generics.split_for_impl();
    let (_, ty, _) = input.original.generics.split_for_impl();
    quote_spanned! {at=>
        #[automatically_derived]
        impl #params _p::Default for #ident #ty #clause {
            fn default() -> Self {
                Self::new()
            }
        }
    }
}
