//! Generates the code for an enum without data.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use super::shapes::listed;
use crate::ast::{Input, Variant};
use crate::resolved::Choice;

pub(super) fn expand(
    input: &Input<'_>,
    choices: &[Choice<'_>],
    other: Option<&Variant<'_>>,
) -> TokenStream {
    let ident = input.ident();
    let variants: Vec<_> = choices
        .iter()
        .map(|choice| &choice.variant.original.ident)
        .collect();
    let index: Vec<_> = (0..choices.len()).collect();
    let names = choices.iter().map(|choice| {
        let name = &choice.name;
        let wire = choice.symbol.as_ref().unwrap_or(name);
        quote!((#name, #wire))
    });
    let all: Vec<_> = choices.iter().map(|choice| choice.name.as_str()).collect();
    let expected = format!("one of {}", all.join(", "));
    let shape = listed(choices.iter().map(|choice| {
        let wire = choice.symbol.as_ref().unwrap_or(&choice.name);
        (choice.name.as_str(), wire.as_str())
    }));
    let other = other.map(|other| &other.original.ident).into_iter();
    let other: Vec<_> = other.collect();
    let count = choices.len();
    let impls = ["Enum", "String", "Any"].map(|kind| impls(input, kind));
    quote! {
        #[automatically_derived]
        impl _p::Enumeration for #ident {
            const NAMES: &'static [(&'static ::core::primitive::str, &'static ::core::primitive::str)] = &[#(#names),*];
            const EXPECTED: &'static ::core::primitive::str = #expected;
            fn index(&self) -> ::core::primitive::usize {
                match self {
                    #(Self::#variants => #index,)*
                    #(Self::#other(_) => #count,)*
                }
            }
            fn at(index: ::core::primitive::usize) -> _p::Option<Self> {
                match index {
                    #(#index => _p::Some(Self::#variants),)*
                    _ => _p::None,
                }
            }
            #(
                fn other(text: _p::Cow<'_, ::core::primitive::str>) -> _p::Option<Self> {
                    _p::Some(Self::#other(text.into_owned()))
                }
                fn held(&self) -> _p::Option<&::core::primitive::str> {
                    match self {
                        Self::#other(text) => _p::Some(text.as_str()),
                        _ => _p::None,
                    }
                }
            )*
        }

        #[automatically_derived]
        impl _p::Shaped for #ident {
            const SHAPE: _p::Shape = _p::Shape::Names(#shape);
        }

        #(#impls)*
    }
}

fn impls(input: &Input<'_>, kind: &str) -> TokenStream {
    let ident = input.ident();
    let kind = Ident::new(kind, Span::call_site());
    quote! {
        #[automatically_derived]
        impl _accp::EncodeValue<_accp::kind::#kind> for #ident {
            fn encode_value(
                &self,
                w: &mut _p::Writer<'_, '_>,
            ) -> _p::Result<(), _accp::EncodeError> {
                _p::encode_name::<_accp::kind::#kind, Self>(self, w)
            }
        }

        #[automatically_derived]
        impl<'accp> _accp::DecodeValue<'accp, _accp::kind::#kind> for #ident {
            fn decode_value(
                r: &mut _p::Reader<'accp>,
            ) -> _p::Result<Self, _accp::DecodeError> {
                _p::decode_name::<_accp::kind::#kind, Self>(r)
            }
        }
    }
}
