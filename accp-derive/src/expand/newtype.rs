//! Generates the code for a transparent struct, which is written and read as its only field.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{GenericParam, Generics, Member, Type as RustType, TypeParam};

use super::generics::{Way, decode_generics, given, where_clause};
use super::lifetimes::{span_of, text_lifetime};
use super::owned::{is_owned, owned_bound, type_to_read};
use crate::ast::Input;

/// Returns impls for every registry type that the inner type holds.
pub(super) fn expand(input: &Input<'_>, member: &Member, inner: &RustType) -> TokenStream {
    let ident = input.ident();
    let span = span_of(inner);
    let lifetime = text_lifetime(input);
    let encode = quote_spanned!(span=> #inner: _accp::EncodeValue<AccpKind>);
    let read = type_to_read(input, inner);
    let owned = owned_bound(inner);
    let value = if is_owned(inner) {
        quote_spanned!(span=> _accp::IntoOwned::into_owned(inner))
    } else {
        quote_spanned!(span=> inner)
    };
    let decode = quote_spanned!(span=> #read: _accp::DecodeValue<#lifetime, AccpKind> #owned);
    let bounds = |way, own| match given(input, way) {
        Some(given) => [&given[..], &[own]].concat(),
        None => vec![own],
    };
    let encode_where = where_clause(input, &bounds(Way::Encode, encode));
    let decode_where = where_clause(input, &bounds(Way::Decode, decode));
    let encode_generics = with_kind(&input.original.generics);
    let decode_generics = with_kind(&decode_generics(input));
    let (encode_impl, ..) = encode_generics.split_for_impl();
    let (decode_impl, ..) = decode_generics.split_for_impl();
    let (_, ty, _) = input.original.generics.split_for_impl();
    let shaped = shaped(input, inner);
    quote! {
        #[automatically_derived]
        impl #encode_impl _accp::EncodeValue<AccpKind> for #ident #ty #encode_where {
            fn encode_value(
                &self,
                w: &mut _p::Writer<'_, '_>,
            ) -> _p::Result<(), _accp::EncodeError> {
                <#inner as _accp::EncodeValue<AccpKind>>::encode_value(&self.#member, w)
            }
            fn is_absent(&self) -> ::core::primitive::bool {
                <#inner as _accp::EncodeValue<AccpKind>>::is_absent(&self.#member)
            }
        }

        #[automatically_derived]
        impl #decode_impl _accp::DecodeValue<#lifetime, AccpKind> for #ident #ty #decode_where {
            fn decode_value(
                r: &mut _p::Reader<#lifetime>,
            ) -> _p::Result<Self, _accp::DecodeError> {
                let inner = <#read as _accp::DecodeValue<#lifetime, AccpKind>>::decode_value(r)?;
                _p::Ok(Self { #member: #value })
            }
            fn absent() -> _p::Option<Self> {
                let inner = <#read as _accp::DecodeValue<#lifetime, AccpKind>>::absent()?;
                _p::Some(Self { #member: #value })
            }
        }

        #shaped
    }
}

/// Returns an impl that passes on the shape of the inner type, so that an enumeration inside the struct is compared
/// with the registry.
fn shaped(input: &Input<'_>, inner: &RustType) -> TokenStream {
    if input.is_generic(inner) {
        return TokenStream::new();
    }
    let ident = input.ident();
    let (params, ty, clause) = input.original.generics.split_for_impl();
    quote! {
        use _p::Unshaped as _;

        #[automatically_derived]
        impl #params _p::Shaped for #ident #ty #clause {
            const SHAPE: _p::Shape = _p::shape_of(_p::Probe::<#inner>::SHAPE);
        }
    }
}

fn with_kind(generics: &Generics) -> Generics {
    let mut generics = generics.clone();
    let kind = TypeParam::from(Ident::new("AccpKind", Span::call_site()));
    generics.params.push(GenericParam::Type(kind));
    generics
}
