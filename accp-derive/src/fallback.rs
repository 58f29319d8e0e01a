//! Code that replaces the codec of an item with a mistake, so that uses of the item do not cause further errors.

use accp_registry::Protocol;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Path};

use crate::expand::{allow, family, imports, into_owned, with_lifetime};

/// Returns the errors, and a stub of every trait that a derive may implement.
pub(crate) fn expand(
    protocol: &Protocol,
    input: &DeriveInput,
    krate: Option<&Path>,
    error: Option<syn::Error>,
) -> TokenStream {
    let errors = error.map(|error| error.to_compile_error());
    let imports = imports(protocol, krate);
    let allow = allow();
    let impls = if protocol.is_text() {
        of_text(protocol, input)
    } else {
        of_frame(input)
    };
    let into_owned = into_owned(input);
    quote! {
        #errors

        #allow
        const _: () = {
            #imports

            #impls
            #into_owned
        };
    }
}

/// Returns stubs of the traits for frames and their values.
fn of_frame(input: &DeriveInput) -> TokenStream {
    let ident = &input.ident;
    let (generics, ty, bounds) = input.generics.split_for_impl();
    let family = family(ident, &input.generics);
    let with_lifetime = with_lifetime(&input.generics);
    let (decode, ..) = with_lifetime.split_for_impl();
    let kind = with_kind(&input.generics);
    let (encode_kind, ..) = kind.split_for_impl();
    let kind = with_kind(&with_lifetime);
    let (decode_kind, ..) = kind.split_for_impl();
    quote! {
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
            fn accepts(_: &_p::Header<'_>, _: ::core::option::Option<&::core::primitive::str>) -> ::core::primitive::bool {
                ::core::unreachable!()
            }
            fn decode_fields(
                _: &_p::Header<'accp>,
                _: &mut _p::Reader<'accp>,
            ) -> ::core::result::Result<(Self, &'static [&'static ::core::primitive::str]), _accp::DecodeError> {
                ::core::unreachable!()
            }
        }

        #family

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
    }
}

/// Returns stubs of the traits for packets and their values.
fn of_text(protocol: &Protocol, input: &DeriveInput) -> TokenStream {
    let ident = &input.ident;
    let (generics, ty, bounds) = input.generics.split_for_impl();
    let with_lifetime = with_lifetime(&input.generics);
    let (decode, ..) = with_lifetime.split_for_impl();
    let head = protocol.head.iter().map(|part| {
        let name = part.name.to_ascii_uppercase();
        let constant = syn::Ident::new(&name, proc_macro2::Span::call_site());
        quote!(const #constant: &'static ::core::primitive::str = "";)
    });
    quote! {
        impl #generics _accp::AacpPacket for #ident #ty #bounds {
            #(#head)*
        }

        impl #generics _accp::EncodePacket for #ident #ty #bounds {
            fn encode_fields(
                &self,
                _: &mut _accp::PacketWriter<'_>,
            ) -> ::core::result::Result<(), _accp::WriteError> {
                ::core::unreachable!()
            }
        }

        impl #decode _accp::DecodePacket<'accp> for #ident #ty #bounds {
            fn decode_fields(
                _: &_accp::Packet<'accp>,
            ) -> ::core::result::Result<Self, _accp::DecodeError> {
                ::core::unreachable!()
            }
        }

        impl #decode _accp::PacketValue<'accp> for #ident #ty #bounds {
            fn read(_: &'accp ::core::primitive::str) -> ::core::result::Result<Self, _accp::ValueError> {
                ::core::unreachable!()
            }
            fn write(
                &self,
                _: &mut _accp::ValueWriter<'_>,
            ) -> ::core::result::Result<(), _accp::WriteError> {
                ::core::unreachable!()
            }
        }
    }
}

fn with_kind(generics: &syn::Generics) -> syn::Generics {
    let mut generics = generics.clone();
    let kind = syn::TypeParam::from(syn::Ident::new("AccpKind", proc_macro2::Span::call_site()));
    generics.params.push(syn::GenericParam::Type(kind));
    generics
}
