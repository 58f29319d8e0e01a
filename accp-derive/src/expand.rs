//! Generates the code for a resolved item.

mod compiler_checked;
mod constructor;
mod enumeration;
mod fields;
mod frame;
mod frames;
mod generics;
mod into_owned;
mod lifetimes;
mod nested;
mod newtype;
mod owned;
mod packet;
mod schemas;
mod shapes;
mod texts;
mod union;
mod with;

use accp_registry::{Format, Protocol, Type};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::Path;
use syn::spanned::Spanned as _;

pub(crate) use generics::{family, with_lifetime};
pub(crate) use into_owned::stub as into_owned;

use crate::ast::Input;
use crate::registry::Loaded;
use crate::resolved::ResolvedItem;

/// Returns the impls of an item, in a scope of their own, so that their imports do not affect the user's code.
pub(crate) fn expand(
    protocol: &Protocol,
    input: &Input<'_>,
    item: &ResolvedItem<'_>,
    loaded: Option<&Loaded>,
) -> TokenStream {
    let imports = imports(protocol, input.attrs.krate.as_ref());
    let allow = allow();
    let tracked = loaded.map(tracked);
    let family = || generics::family(input.ident(), &input.original.generics);
    // A field of a packet may be a `&str`, which cannot become owned. So a type with such a field
    // gets no `into_owned`.
    let may_borrow = protocol.is_text() && input.has_references();
    let owned = (!may_borrow).then(|| into_owned::expand(input));
    let constructor = constructor::expand(input, item);
    let schemas = schemas::module(item);
    let (impls, family) = match item {
        ResolvedItem::Frame(frame) if frame.fields.is_text => {
            (packet::expand(protocol, input, frame), None)
        }
        ResolvedItem::Newtype(member, ty) if protocol.is_text() => {
            (texts::newtype(input, member, ty), None)
        }
        ResolvedItem::Enumeration(choices, _) if protocol.is_text() => {
            (texts::enumeration(input, choices), None)
        }
        ResolvedItem::Frame(frame) => (frame::expand(protocol, input, frame), Some(family())),
        ResolvedItem::Nested(fields) => (nested::expand(input, fields), None),
        ResolvedItem::Newtype(member, ty) => (newtype::expand(input, member, ty), None),
        ResolvedItem::Enumeration(choices, other) => {
            (enumeration::expand(input, choices, *other), None)
        }
        ResolvedItem::Union(union) => (union::expand(input, union), None),
        ResolvedItem::Frames(arms) => (frames::expand(protocol, input, arms), Some(family())),
    };
    quote! {
        #allow
        const _: () = {
            #imports
            #tracked
            #schemas
            #impls
            #family
            #owned
            #constructor
        };
    }
}

/// Returns the imports of the runtime. All other generated code uses the first import, so a wrong path gives only one
/// error, and the error points to the path.
pub(crate) fn imports(protocol: &Protocol, krate: Option<&Path>) -> TokenStream {
    let span = krate.map_or_else(Span::call_site, |path| {
        path.span().resolved_at(Span::call_site())
    });
    let runtime = runtime(protocol, krate);
    quote_spanned! {span=>
        use #runtime::__private as _p;
        use _p::root as _accp;
    }
}

/// Returns the path of the runtime.
fn runtime(protocol: &Protocol, krate: Option<&Path>) -> TokenStream {
    let named = || {
        let name = Ident::new(protocol.rust.runtime, Span::call_site());
        quote!(::#name)
    };
    krate.map_or_else(named, Path::to_token_stream)
}

/// Returns attributes that allow lints which do not matter for generated code. The list has no lint groups, because
/// `allow` of a group is an error if the user has forbidden one of its lints.
pub(crate) fn allow() -> TokenStream {
    quote! {
        #[doc(hidden)]
        #[allow(
            deprecated, non_upper_case_globals, unused_attributes, unused_imports,
            unused_mut, unused_qualifications, unused_variables, unreachable_code,
            clippy::absolute_paths, clippy::needless_question_mark, clippy::too_many_lines
        )]
    }
}

/// Returns items that make Cargo compile the crate again when the registry has changed.
fn tracked(loaded: &Loaded) -> TokenStream {
    let files = loaded.files.iter().map(|file| {
        let path = file.to_string_lossy();
        // A private function holds the bytes in its body. A constant with the bytes as its value would be stored in
        // the metadata of the crate.
        quote!(
            const _: () = {
                fn _tracked() -> &'static [::core::primitive::u8] {
                    ::core::include_bytes!(#path)
                }
            };
        )
    });
    let variable = loaded.asked.map(|variable| {
        quote!(
            const _: _p::Option<&::core::primitive::str> = ::core::option_env!(#variable);
        )
    });
    quote!(#(#files)* #variable)
}

/// Returns the path of the runtime's marker type for a registry type.
fn kind(span: Span, ty: &Type) -> TokenStream {
    let word = match ty {
        Type::String => "String",
        Type::Text => "Text",
        Type::Integer => "Integer",
        Type::Decimal => "Decimal",
        Type::Number => "Number",
        Type::Boolean => "Boolean",
        Type::Agent => "Agent",
        Type::Formatted(format) => return marker(span, &marker_name(*format)),
        Type::Enum(_) => "Enum",
        Type::Schema(_) => "Schema",
        Type::List(item) => {
            let item = kind(span, item);
            return quote_spanned!(span=> _accp::kind::List<#item>);
        }
        Type::Map(item) => {
            let item = kind(span, item);
            return quote_spanned!(span=> _accp::kind::Map<#item>);
        }
        _ => "Any",
    };
    marker(span, word)
}

fn marker(span: Span, word: &str) -> TokenStream {
    let word = Ident::new(word, span);
    quote_spanned!(span=> _accp::kind::#word)
}

/// Returns the name of the marker type for a format: its word with a capital.
fn marker_name(format: Format) -> String {
    let (first, rest) = format.word().split_at(1);
    first.to_uppercase() + rest
}

/// Returns an optional text as an expression.
fn optional(text: Option<&str>) -> TokenStream {
    text.map_or_else(|| quote!(_p::None), |text| quote!(_p::Some(#text)))
}
