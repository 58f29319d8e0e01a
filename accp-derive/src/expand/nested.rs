//! Generates the code for a struct that is written as a map: the value of a field.

use proc_macro2::TokenStream;
use quote::quote;

use super::fields::{Access, Made, arms, construct, encode_entries, slots};
use super::generics::{Way, bounds, decode_generics, where_clause};
use super::lifetimes::text_lifetime;
use super::shapes;
use crate::ast::Input;
use crate::resolved::Fields;

pub(super) fn expand(input: &Input<'_>, fields: &Fields<'_>) -> TokenStream {
    let name = input.ident().to_string();
    let entries = encode_entries(input, fields, Access::OfSelf);
    let entries = entries.into_iter().map(|(_, entry)| entry);
    let slots = slots(input, fields);
    let arms = arms(input, fields, &name);
    let Made {
        taken,
        fields: made,
    } = construct(input, fields, &name);
    let encode = quote! {
        w.map(|w, map| { #(#entries)* _p::Ok(()) })
    };
    let decode = quote! {
        let mut map = _p::MapReader::open(r)?;
        #slots
        while let _p::Some(key) = map.next(r)? {
            match key.as_bytes() { #arms }
        }
        #taken
        _p::Ok(Self { #made })
    };
    let shapes = shapes::assertions(input, fields);
    let impls = match &fields.schema {
        Some(code) => of_schema(input, fields, code, &encode, &decode),
        None => untyped(input, fields, &encode, &decode),
    };
    quote!(#shapes #impls)
}

/// Returns the impls for fields whose type is the schema. There are no impls for fields of type `any`, because keys
/// inside `any` are data and not names of fields.
fn of_schema(
    input: &Input<'_>,
    fields: &Fields<'_>,
    code: &str,
    encode: &TokenStream,
    decode: &TokenStream,
) -> TokenStream {
    let ident = input.ident();
    let impls = impls(input, fields, &quote!(_accp::kind::Schema), encode, decode);
    let (generics, ty, bounds) = input.original.generics.split_for_impl();
    quote! {
        #impls

        #[automatically_derived]
        impl #generics _p::Shaped for #ident #ty #bounds {
            const SHAPE: _p::Shape = _p::Shape::Schema(#code);
        }
    }
}

/// Returns the impls for fields of type `any` and `{any}`.
fn untyped(
    input: &Input<'_>,
    fields: &Fields<'_>,
    encode: &TokenStream,
    decode: &TokenStream,
) -> TokenStream {
    let any = quote!(_accp::kind::Any);
    let map = quote!(_accp::kind::Map<_accp::kind::Any>);
    let lifetime = text_lifetime(input);
    let of_any = impls(input, fields, &any, encode, decode);
    let encode = quote!(<Self as _accp::EncodeValue<#any>>::encode_value(self, w));
    let decode = quote!(<Self as _accp::DecodeValue<#lifetime, #any>>::decode_value(r));
    let of_map = impls(input, fields, &map, &encode, &decode);
    quote!(#of_any #of_map)
}

fn impls(
    input: &Input<'_>,
    fields: &Fields<'_>,
    kind: &TokenStream,
    encode: &TokenStream,
    decode: &TokenStream,
) -> TokenStream {
    let ident = input.ident();
    let lifetime = text_lifetime(input);
    let decode_generics = decode_generics(input);
    let (encode_impl, ty, _) = input.original.generics.split_for_impl();
    let (decode_impl, ..) = decode_generics.split_for_impl();
    let encode_where = where_clause(input, &bounds(input, fields, Way::Encode));
    let decode_where = where_clause(input, &bounds(input, fields, Way::Decode));
    quote! {
        #[automatically_derived]
        impl #encode_impl _accp::EncodeValue<#kind> for #ident #ty #encode_where {
            fn encode_value(
                &self,
                w: &mut _p::Writer<'_, '_>,
            ) -> _p::Result<(), _accp::EncodeError> {
                #encode
            }
        }

        #[automatically_derived]
        impl #decode_impl _accp::DecodeValue<#lifetime, #kind> for #ident #ty #decode_where {
            fn decode_value(
                r: &mut _p::Reader<#lifetime>,
            ) -> _p::Result<Self, _accp::DecodeError> {
                #decode
            }
        }
    }
}
