//! Generates compile-time assertions that compare the type of a field, which has its own derive, with the registry.

use accp_registry::Type;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{GenericArgument, PathArguments, Type as RustType};

use super::fields::wires;
use super::generics::peel;
use super::lifetimes::{span_of, without_lifetimes};
use crate::ast::Input;
use crate::check::innermost;
use crate::resolved::{Fields, Wire};

/// The greatest number of bytes that an error shows of a type.
const SHOWN: usize = 300;

/// Returns one assertion for each field that holds an enumeration or a nested struct.
pub(super) fn assertions(input: &Input<'_>, fields: &Fields<'_>) -> TokenStream {
    let assertions = wires(fields)
        .filter(|(_, ty, _)| !input.is_generic(ty))
        .filter(|(at, ..)| fields.members[*at].field.attrs.with.is_none())
        .flat_map(|(_, ty, wire)| {
            [
                fits(input, ty, wire, fields),
                holds_default(input, ty, wire, fields),
            ]
        })
        .flatten();
    let assertions: Vec<_> = assertions.collect();
    if assertions.is_empty() {
        return TokenStream::new();
    }
    quote! {
        use _p::Unshaped as _;
        #(#assertions)*
    }
}

/// Returns the assertion that the type of a field is the enumeration that the registry declares, or follows the
/// schema that it declares.
fn fits(input: &Input<'_>, ty: &RustType, wire: &Wire, fields: &Fields<'_>) -> Option<TokenStream> {
    let span = span_of(ty);
    let shape = shape(input, ty);
    let (name, code) = (&wire.name, fields.schema.as_deref().unwrap_or_default());
    match innermost(&wire.ty) {
        Type::Enum(values) => {
            let names = listed(values.iter().map(|value| (&*value.name, value.wire())));
            let (declared, own) = (shown(&wire.ty), own_name(ty));
            let start =
                format!("schema {code} declares `{name}` as {declared}, and `{own}` differs: ");
            Some(quote_spanned!(span=>
                const _: () = if let _p::Some(error) = _p::names_fault(#shape, #names, #start) {
                    ::core::panic!("{}", error.as_str())
                };
            ))
        }
        Type::Schema(nested) => {
            let message = format!(
                "schema {code} declares `{name}` as {}: expected a type with `schema = {nested:?}`",
                wire.ty
            );
            Some(quote_spanned!(span=>
                const _: () = ::core::assert!(_p::has_schema(#shape, #nested), "{}", #message);
            ))
        }
        _ => None,
    }
}

/// Joins names and their wire texts into one text, in the form that `Shape::Names` of the runtime describes.
pub(super) fn listed<'n>(names: impl Iterator<Item = (&'n str, &'n str)>) -> String {
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    let mut list = String::new();
    for text in names.into_iter().flat_map(|(name, wire)| [name, wire]) {
        list.push_str(text);
        list.push('\0');
    }
    list
}

/// Returns a type as text for an error. A long type is shortened, because an error has room for only a few names.
fn shown(ty: &Type) -> String {
    let text = ty.to_string();
    match (text.get(..SHOWN), innermost(ty)) {
        (Some(start), Type::Enum(values)) => {
            let start = start.rfind(',').map_or(start, |end| &start[..end]);
            format!("{start},..) with {} values", values.len())
        }
        _ => text,
    }
}

/// Returns the name of the innermost type: `Trend` for `Option<Vec<Trend>>`.
fn own_name(ty: &RustType) -> String {
    let RustType::Path(path) = ty else {
        return ty.to_token_stream().to_string();
    };
    let Some(last) = path.path.segments.last() else {
        return String::new();
    };
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.last() {
            Some(GenericArgument::Type(inner)) => own_name(inner),
            _ => last.ident.to_string(),
        },
        _ => last.ident.to_string(),
    }
}

/// Returns the assertion that an enumeration in a `string` field has the default of the registry as one of its
/// values.
fn holds_default(
    input: &Input<'_>,
    ty: &RustType,
    wire: &Wire,
    fields: &Fields<'_>,
) -> Option<TokenStream> {
    const TEXTS: &[&str] = &["String", "Cow", "Value", "AgentId"];
    let default = wire.default.as_ref().filter(|_| wire.ty == Type::String)?;
    let RustType::Path(path) = peel(ty, &wire.ty).0 else {
        return None;
    };
    let last = path.path.segments.last()?;
    if TEXTS.iter().any(|text| last.ident == text) {
        return None;
    }
    let (span, shape) = (span_of(ty), shape(input, ty));
    let (code, name) = (fields.schema.as_deref().unwrap_or_default(), &wire.name);
    // In an error, rustc shows a type parameter only by its name. So the assertion uses the code, the name and the
    // default as names of type parameters, if all three can be names and differ from each other.
    let is_free = |text: &str| !text.starts_with('_');
    let names = [code, name, default].map(|text| syn::parse_str::<Ident>(text).ok());
    if let [Some(code), Some(name), Some(text)] = names
        && code != name
        && text != code
        && text != name
        && [&code, &name, &text]
            .iter()
            .all(|name| is_free(&name.to_string()))
    {
        return Some(quote_spanned!(span=>
            const _: () = {
                const HAS: ::core::primitive::bool = _p::has_value(#shape, #default);
                #[allow(non_camel_case_types, dead_code)]
                const fn check<#code, #name, #text>() {
                    _p::holds_default::<_p::Fits<{ HAS }>, #code, #name, #text>()
                }
            };
        ));
    }
    let message = format!(
        "schema {code} has the default `{default}` for `{name}`: expected a variant of this name"
    );
    Some(quote_spanned!(span=>
        const _: () = ::core::assert!(_p::has_value(#shape, #default), "{}", #message);
    ))
}

fn shape(input: &Input<'_>, ty: &RustType) -> TokenStream {
    let of = &input.original.generics;
    let (span, ty) = (span_of(ty), without_lifetimes(of, ty.to_token_stream()));
    quote_spanned!(span=> _p::Probe::<#ty>::SHAPE)
}
