//! Generates the code for values that are text: for an enum without data, and for a transparent struct.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Member, Type as RustType};

use super::generics::{decode_generics, where_clause};
use super::lifetimes::{span_of, text_lifetime};
use crate::ast::Input;
use crate::resolved::Choice;

pub(super) fn enumeration(input: &Input<'_>, choices: &[Choice<'_>]) -> TokenStream {
    let ident = input.ident();
    let variants = choices.iter().map(|choice| &choice.variant.original.ident);
    let variants: Vec<_> = variants.collect();
    let names: Vec<_> = choices.iter().map(|choice| choice.name.as_str()).collect();
    let expected = format!("one of {}", names.join(", "));
    quote! {
        #[automatically_derived]
        impl<'accp> _accp::PacketValue<'accp> for #ident {
            fn read(value: &'accp ::core::primitive::str) -> _p::Result<Self, _accp::ValueError> {
                match value {
                    #(#names => _p::Ok(Self::#variants),)*
                    _ => _p::Err(_accp::ValueError::expected(#expected)),
                }
            }
            fn write(
                &self,
                w: &mut _accp::ValueWriter<'_>,
            ) -> _p::Result<(), _accp::WriteError> {
                w.text(match self { #(Self::#variants => #names,)* })
            }
        }
    }
}

pub(super) fn newtype(input: &Input<'_>, member: &Member, inner: &RustType) -> TokenStream {
    let ident = input.ident();
    let lifetime = text_lifetime(input);
    let generics = decode_generics(input);
    let (params, ..) = generics.split_for_impl();
    let (_, ty, _) = input.original.generics.split_for_impl();
    let value = quote_spanned!(span_of(inner)=> <#inner as _accp::PacketValue<#lifetime>>);
    let bound = quote_spanned!(span_of(inner)=> #inner: _accp::PacketValue<#lifetime>);
    let bounds: &[TokenStream] = if input.is_generic(inner) {
        &[bound]
    } else {
        &[]
    };
    let clause = where_clause(input, bounds);
    quote! {
        #[automatically_derived]
        impl #params _accp::PacketValue<#lifetime> for #ident #ty #clause {
            fn read(value: &#lifetime ::core::primitive::str) -> _p::Result<Self, _accp::ValueError> {
                _p::Ok(Self { #member: #value::read(value)? })
            }
            fn write(
                &self,
                w: &mut _accp::ValueWriter<'_>,
            ) -> _p::Result<(), _accp::WriteError> {
                #value::write(&self.#member, w)
            }
        }
    }
}
