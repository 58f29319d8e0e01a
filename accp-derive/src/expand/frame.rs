//! Generates the code for a struct that is a frame.

use accp_registry::Protocol;
use accp_registry::protocol::Vocabulary;
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use super::fields::{Access, Made, Numbered, construct, encode_params, numbered_arms, slots};
use super::generics::{Way, bounds, decode_generics, where_clause};
use super::lifetimes::text_lifetime;
use super::{optional, shapes};
use crate::ast::Input;
use crate::resolved::Frame;

pub(super) fn expand(protocol: &Protocol, input: &Input<'_>, frame: &Frame<'_>) -> TokenStream {
    let ident = input.ident();
    let name = ident.to_string();
    let constant = constant(protocol, frame, &name);
    let shapes = shapes::assertions(input, &frame.fields);
    let encode = encode_params(input, &frame.fields, Access::OfSelf);
    let decode = decode(
        protocol,
        input,
        frame,
        &quote!(#ident),
        &quote!(__ACCP_FRAME),
        &name,
    );

    let lifetime = text_lifetime(input);
    let decode_generics = decode_generics(input);
    let (encode_impl, ty, _) = input.original.generics.split_for_impl();
    let (decode_impl, ..) = decode_generics.split_for_impl();
    let encode_where = where_clause(input, &bounds(input, &frame.fields, Way::Encode));
    let decode_where = where_clause(input, &bounds(input, &frame.fields, Way::Decode));
    quote! {
        const __ACCP_FRAME: _p::FrameType<'static> = #constant;
        #shapes

        #[automatically_derived]
        impl #encode_impl _accp::EncodeFrame for #ident #ty #encode_where {
            fn frame_type(&self) -> _p::FrameType<'static> {
                __ACCP_FRAME
            }
            fn encode_fields(
                &self,
                w: &mut _p::Writer<'_, '_>,
            ) -> _p::Result<(), _accp::EncodeError> {
                #encode
            }
        }

        #[automatically_derived]
        impl #decode_impl _accp::DecodeFrame<#lifetime> for #ident #ty #decode_where {
            fn accepts(header: &_p::Header<'_>, schema: _p::Option<&::core::primitive::str>) -> ::core::primitive::bool {
                _p::accepts(header, schema, &__ACCP_FRAME)
            }
            fn decode_fields(
                header: &_p::Header<#lifetime>,
                r: &mut _p::Reader<#lifetime>,
            ) -> _p::Result<(Self, &'static [&'static ::core::primitive::str]), _accp::DecodeError> {
                #decode
            }
            const TYPES: _p::FrameTypes = _p::FrameTypes::One(__ACCP_FRAME);
        }
    }
}

/// Returns the value of the constant that describes a frame: all facts except its fields.
pub(super) fn constant(protocol: &Protocol, frame: &Frame<'_>, name: &str) -> TokenStream {
    let Frame {
        head,
        envelope,
        fields,
    } = frame;
    let head = protocol.head.iter().zip(head).map(|(part, word)| {
        let name = Ident::new(part.name, Span::call_site());
        match part.vocabulary {
            Vocabulary::Closed { constants, .. } => {
                let constants = Ident::new(constants, Span::call_site());
                let word = Ident::new(&word.to_ascii_uppercase(), Span::call_site());
                quote!(#name: _accp::#constants::#word,)
            }
            Vocabulary::Open(_) => quote!(#name: #word,),
        }
    });
    let schema = optional(fields.schema.as_deref());
    let schema = protocol.schema_key.map(|_| quote!(schema: #schema,));
    let envelope = (!protocol.envelope.is_empty()).then(|| quote!(envelope: &[#(#envelope),*],));
    quote! {
        _p::FrameType {
            name: #name,
            #(#head)*
            #schema
            #envelope
        }
    }
}

/// Returns the expression that reads the payload and makes `path { .. }`.
///
/// The closure states its return type. Otherwise the compiler could not resolve any `?` before it has inferred the
/// type, and would look at all unresolved places again and again.
pub(super) fn decode(
    protocol: &Protocol,
    input: &Input<'_>,
    frame: &Frame<'_>,
    path: &TokenStream,
    constant: &TokenStream,
    name: &str,
) -> TokenStream {
    let fields = &frame.fields;
    let slots = slots(input, fields);
    let numbered = numbered_arms(input, fields, name, protocol.schema_key);
    let Numbered {
        keys,
        first,
        last,
        arms,
    } = numbered;
    let rest = quote! {
        loop {
            match _p::param(r, &__ACCP_KEYS)? { #arms }
        }
    };
    let rest = match last {
        Some((is_last, schema)) => {
            quote!(if #is_last { *code = _p::Some(#schema); } else { #rest })
        }
        None => rest,
    };
    let Made { taken, fields } = construct(input, fields, name);
    quote! {
        _p::decode(header, r, &#constant, |r, code| -> _p::Result<Self, _accp::DecodeError> {
            static __ACCP_KEYS: _p::Keys = _p::Keys::new(&[#keys]);
            #slots
            #first
            #rest
            #taken
            _p::Ok(#path { #fields })
        })
    }
}
