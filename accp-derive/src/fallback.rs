//! The replacement for the codec after a mistake, so that uses of the item give no further
//! messages.

use accp_registry::Protocol;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Path};

use crate::expand::{allow, family, into_owned, runtime, with_lifetime};

/// Returns the mistakes, and an impl of every trait that a derive may implement.
pub(crate) fn expand(
    protocol: &Protocol,
    input: &DeriveInput,
    krate: Option<&Path>,
    error: Option<syn::Error>,
) -> TokenStream {
    let errors = error.map(|error| error.to_compile_error());
    let ident = &input.ident;
    let runtime = runtime(protocol, krate);
    let allow = allow();
    let (generics, ty, bounds) = input.generics.split_for_impl();
    let into_owned = into_owned(input, &[], &quote!(::core::unreachable!()));
    let family = family(ident, &input.generics);
    let with_lifetime = with_lifetime(&input.generics);
    let (decode, ..) = with_lifetime.split_for_impl();
    let kind = with_kind(&input.generics);
    let (encode_kind, ..) = kind.split_for_impl();
    let kind = with_kind(&with_lifetime);
    let (decode_kind, ..) = kind.split_for_impl();
    quote! {
        #errors

        #allow
        const _: () = {
            use #runtime as _accp;
            use _accp::__private as _p;

            impl #generics _accp::EncodeFrame for #ident #ty #bounds {
                fn frame_type(&self) -> _p::FrameType<'static> {
                    ::core::unreachable!()
                }
                fn encode_fields(
                    &self,
                    _: &mut _p::Writer<'_, '_>,
                ) -> ::core::result::Result<(), _accp::EncodeError> {
                    ::core::unreachable!()
                }
            }

            impl #decode _accp::DecodeFrame<'accp> for #ident #ty #bounds {
                fn accepts(_: &_p::Header<'_>, _: ::core::option::Option<&str>) -> bool {
                    ::core::unreachable!()
                }
                fn decode_fields(
                    _: &_p::Header<'accp>,
                    _: &mut _p::Reader<'accp>,
                ) -> ::core::result::Result<(Self, &'static [&'static str]), _accp::DecodeError> {
                    ::core::unreachable!()
                }
            }

            #family
            #into_owned

            impl #encode_kind _accp::EncodeValue<AccpKind> for #ident #ty #bounds {
                fn encode_value(
                    &self,
                    _: &mut _p::Writer<'_, '_>,
                ) -> ::core::result::Result<(), _accp::EncodeError> {
                    ::core::unreachable!()
                }
            }

            impl #decode_kind _accp::DecodeValue<'accp, AccpKind> for #ident #ty #bounds {
                fn decode_value(
                    _: &mut _p::Reader<'accp>,
                ) -> ::core::result::Result<Self, _accp::DecodeError> {
                    ::core::unreachable!()
                }
            }
        };
    }
}

fn with_kind(generics: &syn::Generics) -> syn::Generics {
    let mut generics = generics.clone();
    let kind = syn::TypeParam::from(syn::Ident::new("AccpKind", proc_macro2::Span::call_site()));
    generics.params.push(syn::GenericParam::Type(kind));
    generics
}
