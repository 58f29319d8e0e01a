//! Generates the code for an enum whose variants are frames.

use accp_registry::Protocol;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};

use super::fields::{Access, encode_params, slot};
use super::frame::{constant, decode};
use super::generics::{Way, bounds, decode_generics, given, where_clause};
use super::lifetimes::{span_of, text_lifetime, without_lifetimes};
use super::owned::{is_owned, owned_bound, type_to_read};
use super::shapes;
use crate::ast::Input;
use crate::resolved::{Arm, ArmContent, Fields, Role};

pub(super) fn expand(protocol: &Protocol, input: &Input<'_>, arms: &[Arm<'_>]) -> TokenStream {
    let ident = input.ident();
    let lifetime = text_lifetime(input);
    let decode_generics = decode_generics(input);
    let (encode_impl, ty, _) = input.original.generics.split_for_impl();
    let (decode_impl, ..) = decode_generics.split_for_impl();
    let encode_where = where_clause(input, &arm_bounds(input, arms, Way::Encode));
    let decode_where = where_clause(input, &arm_bounds(input, arms, Way::Decode));

    let name = ident.to_string();
    let each = |write: &dyn Fn(usize, &Arm<'_>) -> TokenStream| -> TokenStream {
        arms.iter()
            .enumerate()
            .map(|(at, arm)| write(at, arm))
            .collect()
    };
    let constants = each(&|at, arm| constants(protocol, input, at, arm));
    let frame_types = each(&frame_type);
    let types: Vec<_> = arms
        .iter()
        .enumerate()
        .map(|(at, arm)| types(input, at, arm))
        .collect();
    let alone = alone(input, arms);
    let alone_here = alone_here(input, arms, &types);
    let encodes = each(&|_, arm| encode(input, arm));
    let accepts: Vec<_> = arms
        .iter()
        .enumerate()
        .map(|(at, arm)| accepts(input, at, arm))
        .collect();
    let decodes = arms.iter().enumerate().map(|(at, arm)| {
        let (accepts, decode) = (&accepts[at], decode_arm(protocol, input, at, arm));
        quote!(if #accepts { return #decode; })
    });
    quote! {
        #constants
        #alone

        #[automatically_derived]
        impl #encode_impl _accp::EncodeFrame for #ident #ty #encode_where {
            fn frame_type(&self) -> _p::FrameType<'static> {
                match self { #frame_types }
            }
            fn encode_fields(
                &self,
                w: &mut _p::Writer<'_, '_>,
            ) -> _p::Result<(), _accp::EncodeError> {
                match self { #encodes }
            }
        }

        #[automatically_derived]
        impl #decode_impl _accp::DecodeFrame<#lifetime> for #ident #ty #decode_where {
            fn accepts(header: &_p::Header<'_>, schema: _p::Option<&::core::primitive::str>) -> ::core::primitive::bool {
                #(#accepts)||*
            }
            fn decode_fields(
                header: &_p::Header<#lifetime>,
                r: &mut _p::Reader<#lifetime>,
            ) -> _p::Result<(Self, &'static [&'static ::core::primitive::str]), _accp::DecodeError> {
                #alone_here
                let schema = r.schema_ahead()?;
                #(#decodes)*
                _p::no_variant(header, schema, r, #name, &<Self as _accp::DecodeFrame<#lifetime>>::TYPES)
            }
            const TYPES: _p::FrameTypes = _p::FrameTypes::Several(&[#(#types),*]);
        }
    }
}

/// Returns the name of the constant for a variant. No field or argument of the user has such a name.
fn frame_constant(at: usize) -> Ident {
    format_ident!("__ACCP_FRAME{at}", span = Span::call_site())
}

/// Returns the name of a variant in error paths.
fn name_of(input: &Input<'_>, arm: &Arm<'_>) -> String {
    format!("{}::{}", input.ident(), arm.variant.original.ident)
}

fn constants(protocol: &Protocol, input: &Input<'_>, at: usize, arm: &Arm<'_>) -> TokenStream {
    let ArmContent::Fields(frame) = &arm.content else {
        return TokenStream::new();
    };
    let value = constant(protocol, frame, &name_of(input, arm));
    let constant = frame_constant(at);
    let shapes = shapes::assertions(input, &frame.fields);
    quote! {
        const #constant: _p::FrameType<'static> = #value;
        // The assertions import a trait. They have their own block, so that no other code sees the import.
        const _: () = { #shapes };
    }
}

fn frame_type(at: usize, arm: &Arm<'_>) -> TokenStream {
    let variant = &arm.variant.original.ident;
    match &arm.content {
        ArmContent::Newtype(ty) => {
            let span = span_of(ty);
            quote_spanned!(span=> Self::#variant(frame) => <#ty as _accp::EncodeFrame>::frame_type(frame),)
        }
        ArmContent::Fields(_) => {
            let constant = frame_constant(at);
            quote!(Self::#variant { .. } => #constant,)
        }
    }
}

fn encode(input: &Input<'_>, arm: &Arm<'_>) -> TokenStream {
    let variant = &arm.variant.original.ident;
    match &arm.content {
        ArmContent::Newtype(ty) => {
            let span = span_of(ty);
            let w = Ident::new("w", Span::call_site());
            quote_spanned!(span=>
                Self::#variant(frame) => <#ty as _accp::EncodeFrame>::encode_fields(frame, #w),
            )
        }
        ArmContent::Fields(frame) => {
            let pattern = pattern(&frame.fields);
            let encode = encode_params(input, &frame.fields, Access::Bound);
            quote!(Self::#variant { #pattern } => { #encode })
        }
    }
}

/// Returns a pattern that binds every field to the variable of its slot.
pub(super) fn pattern(fields: &Fields<'_>) -> TokenStream {
    let fields = fields.members.iter().enumerate().map(|(at, member)| {
        let ident = member.field.ident;
        if matches!(member.role, Role::Skip) {
            return quote!(#ident: _,);
        }
        let slot = slot(at);
        quote!(#ident: #slot,)
    });
    fields.collect()
}

fn accepts(input: &Input<'_>, at: usize, arm: &Arm<'_>) -> TokenStream {
    match &arm.content {
        ArmContent::Newtype(ty) => {
            let (span, lifetime) = (span_of(ty), text_lifetime(input));
            let ty = type_to_read(input, ty);
            quote_spanned!(span=> <#ty as _accp::DecodeFrame<#lifetime>>::accepts(header, schema))
        }
        ArmContent::Fields(_) => {
            let constant = frame_constant(at);
            quote!(_p::accepts(header, schema, &#constant))
        }
    }
}

/// Returns the code that lists the frame types of a variant.
fn types(input: &Input<'_>, at: usize, arm: &Arm<'_>) -> TokenStream {
    match &arm.content {
        ArmContent::Newtype(ty) => {
            let (span, lifetime) = (span_of(ty), text_lifetime(input));
            let ty = type_to_read(input, ty);
            quote_spanned!(span=> <#ty as _accp::DecodeFrame<#lifetime>>::TYPES)
        }
        ArmContent::Fields(_) => {
            let constant = frame_constant(at);
            quote!(_p::FrameTypes::One(#constant))
        }
    }
}

/// Returns an assertion for each variant, which fails if an earlier variant accepts the same frames. The derive
/// itself has compared the variants with their own fields, so two such variants need no assertion.
fn alone(input: &Input<'_>, arms: &[Arm<'_>]) -> TokenStream {
    let is_held = |arm: &Arm<'_>| matches!(&arm.content, ArmContent::Newtype(_));
    if arms.len() < 2 || !arms.iter().any(is_held) {
        return TokenStream::new();
    }
    let of = &input.original.generics;
    let types = arms.iter().enumerate().map(|(at, arm)| {
        let name = arm.variant.original.ident.to_string();
        let types = match &arm.content {
            // The compiler can check a type with parameters only where the parameters are known.
            ArmContent::Newtype(ty) if input.is_generic(ty) => quote!(_p::FrameTypes::Unknown),
            ArmContent::Newtype(ty) => {
                let (span, ty) = (span_of(ty), without_lifetimes(of, ty.to_token_stream()));
                quote_spanned!(span=> _p::Probe::<#ty>::TYPES)
            }
            ArmContent::Fields(_) => {
                let constant = frame_constant(at);
                quote!(_p::FrameTypes::One(#constant))
            }
        };
        quote!((#name, #types))
    });
    let assertions = arms.iter().enumerate().skip(1).map(|(at, arm)| {
        let span = match &arm.content {
            ArmContent::Newtype(ty) => span_of(ty),
            ArmContent::Fields(_) => arm.variant.original.ident.span(),
        };
        let span = span.resolved_at(Span::call_site());
        quote_spanned!(span=>
            const _: () = if let _p::Some(error) = _p::taken(VARIANTS, CLASHES, #at) {
                ::core::panic!("{}", error.as_str())
            };
        )
    });
    let count = arms.len();
    quote! {
        const _: () = {
            use _p::Untyped as _;
            const VARIANTS: &[(&::core::primitive::str, _p::FrameTypes)] = &[#(#types),*];
            const CLASHES: &[_p::Option<_p::Clash>] = &_p::clashes::<#count>(VARIANTS);
            #(#assertions)*
        };
    }
}

/// Returns the same assertions for variants whose types have parameters. The compiler evaluates them where the item
/// is used with known parameters.
fn alone_here(input: &Input<'_>, arms: &[Arm<'_>], types: &[TokenStream]) -> TokenStream {
    let is_generic = |arm: &Arm<'_>| match &arm.content {
        ArmContent::Newtype(ty) => input.is_generic(ty),
        ArmContent::Fields(_) => false,
    };
    if arms.len() < 2 || !arms.iter().any(is_generic) {
        return TokenStream::new();
    }
    let names = arms
        .iter()
        .map(|arm| arm.variant.original.ident.to_string());
    let count = arms.len();
    quote! {
        const {
            if let _p::Some(error) = _p::first_taken::<#count>(&[#((#names, #types)),*]) {
                ::core::panic!("{}", error.as_str())
            }
        }
    }
}

fn decode_arm(protocol: &Protocol, input: &Input<'_>, at: usize, arm: &Arm<'_>) -> TokenStream {
    let variant = &arm.variant.original.ident;
    match &arm.content {
        ArmContent::Newtype(ty) => {
            let (span, lifetime) = (span_of(ty), text_lifetime(input));
            let frame = if is_owned(ty) {
                quote_spanned!(span=> _accp::IntoOwned::into_owned(frame))
            } else {
                quote_spanned!(span=> frame)
            };
            let ty = type_to_read(input, ty);
            quote_spanned!(span=>
                <#ty as _accp::DecodeFrame<#lifetime>>::decode_fields(header, r)
                    .map(|(frame, envelope)| (Self::#variant(#frame), envelope))
            )
        }
        ArmContent::Fields(frame) => {
            let constant = frame_constant(at);
            decode(
                protocol,
                input,
                frame,
                &quote!(Self::#variant),
                &quote!(#constant),
                &name_of(input, arm),
            )
        }
    }
}

fn arm_bounds(input: &Input<'_>, arms: &[Arm<'_>], way: Way) -> Vec<TokenStream> {
    if let Some(given) = given(input, way) {
        return given.clone();
    }
    let mut all = Vec::new();
    for arm in arms {
        match &arm.content {
            ArmContent::Fields(frame) => all.extend(bounds(input, &frame.fields, way)),
            ArmContent::Newtype(ty) if input.is_generic(ty) => {
                let (span, lifetime) = (span_of(ty), text_lifetime(input));
                let read = type_to_read(input, ty);
                all.push(match way {
                    Way::Encode => quote_spanned!(span=> #ty: _accp::EncodeFrame),
                    Way::Decode => {
                        let owned = owned_bound(ty);
                        quote_spanned!(span=> #read: _accp::DecodeFrame<#lifetime> #owned)
                    }
                });
            }
            ArmContent::Newtype(_) => {}
        }
    }
    all
}
