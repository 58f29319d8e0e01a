//! Makes the type parameters and the bounds of the generated impls.

use accp_registry::Type;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{
    GenericArgument, GenericParam, Generics, Lifetime, LifetimeParam, PathArguments,
    Type as RustType,
};

use super::kind;
use super::lifetimes::{span_of, text_lifetime};
use super::owned::{owned_bound, type_to_read};
use crate::ast::{Input, mentions};
use crate::attr::Predicates;
use crate::resolved::{Fields, Role};

/// The direction of an impl.
#[derive(Clone, Copy)]
pub(super) enum Way {
    Encode,
    Decode,
}

/// Returns the parameters of a decoding impl.
pub(super) fn decode_generics(input: &Input<'_>) -> Generics {
    match input.lifetime {
        Some(_) => input.original.generics.clone(),
        None => with_lifetime(&input.original.generics),
    }
}

/// Returns the parameters with the lifetime `'accp` added.
pub(crate) fn with_lifetime(generics: &Generics) -> Generics {
    let mut generics = generics.clone();
    let lifetime = LifetimeParam::new(Lifetime::new("'accp", Span::call_site()));
    generics.params.insert(0, GenericParam::Lifetime(lifetime));
    generics
}

/// Returns the impl of `FrameFamily`, which names the frame type for each lifetime of the text. Only an item whose
/// only parameters are lifetimes gets the impl.
pub(crate) fn family(ident: &Ident, generics: &Generics) -> TokenStream {
    let is_plain = generics.type_params().next().is_none()
        && generics.const_params().next().is_none()
        && generics.where_clause.is_none();
    if !is_plain {
        return TokenStream::new();
    }
    let (params, ty, _) = generics.split_for_impl();
    // The lifetime that the impl adds must not have the same name as a lifetime of the item.
    let mut name = "'accp".to_owned();
    while generics
        .lifetimes()
        .any(|own| own.lifetime.to_string() == name)
    {
        name.push('_');
    }
    let text = Lifetime::new(&name, Span::call_site());
    let of: Vec<_> = generics.lifetimes().map(|_| &text).collect();
    let of = (!of.is_empty()).then(|| quote!(<#(#of),*>));
    quote! {
        #[automatically_derived]
        impl #params _accp::FrameFamily for #ident #ty {
            type Frame<#text> = #ident #of;
        }
    }
}

/// Returns the where clause of the item, extended by these bounds.
pub(super) fn where_clause(input: &Input<'_>, bounds: &[TokenStream]) -> TokenStream {
    let own = input
        .original
        .generics
        .where_clause
        .iter()
        .flat_map(|clause| &clause.predicates);
    let own: Vec<_> = own.collect();
    if own.is_empty() && bounds.is_empty() {
        return TokenStream::new();
    }
    quote!(where #(#own,)* #(#bounds,)*)
}

/// Returns the bounds that the user writes instead of the bounds of the derive; `None` if the user writes none.
pub(super) fn given<'i>(input: &'i Input<'_>, way: Way) -> Option<&'i Predicates> {
    let bound = &input.attrs.bound;
    match way {
        Way::Encode => bound.encode.as_ref(),
        Way::Decode => bound.decode.as_ref(),
    }
}

/// Returns bounds for the types of fields, for each type that names a type parameter of the item.
pub(super) fn bounds(input: &Input<'_>, fields: &Fields<'_>, way: Way) -> Vec<TokenStream> {
    if let Some(given) = given(input, way) {
        return given.clone();
    }
    let mut bounds = Vec::new();
    for member in fields
        .members
        .iter()
        .filter(|member| member.field.attrs.with.is_none())
        .filter(|member| input.is_generic(member.field.ty))
    {
        let ty = member.field.ty;
        let span = span_of(ty);
        let lifetime = text_lifetime(input);
        bounds.extend(match (&member.role, way) {
            (Role::Wire(_), _) if fields.is_text => Some(text_bound(input, ty)),
            (Role::Flatten, _) if fields.is_text => None,
            (Role::Wire(wire), _) => value_bound(input, ty, &wire.ty, way),
            (Role::Flatten, Way::Encode) => Some(quote_spanned!(span=> #ty: _p::GiveExtras)),
            (Role::Flatten, Way::Decode) => {
                let ty = type_to_read(input, ty);
                Some(quote_spanned!(span=> #ty: _p::Extras<#lifetime>))
            }
            (Role::Skip, Way::Decode) => Some(quote_spanned!(span=> #ty: _p::Default)),
            (Role::Skip, Way::Encode) => None,
        });
    }
    bounds
}

/// Returns the bound for the type of a field. If the type is a container that the runtime knows, the bound is on the
/// type inside it.
fn value_bound(input: &Input<'_>, ty: &RustType, of: &Type, way: Way) -> Option<TokenStream> {
    let (ty, of) = peel(ty, of);
    // The type contains the item itself. The generated impl satisfies the bound, so it need not be written.
    if mentions(ty.to_token_stream(), input.ident()) {
        return None;
    }
    let span = span_of(ty);
    let kind = kind(span, of);
    let lifetime = text_lifetime(input);
    Some(match way {
        Way::Encode => quote_spanned!(span=> #ty: _accp::EncodeValue<#kind>),
        Way::Decode => {
            let (read, owned) = (type_to_read(input, ty), owned_bound(ty));
            quote_spanned!(span=> #read: _accp::DecodeValue<#lifetime, #kind> #owned)
        }
    })
}

/// Returns the bound for the type of a packet's field, or for the type inside its `Option` or `Vec`.
fn text_bound(input: &Input<'_>, ty: &RustType) -> TokenStream {
    let (ty, _) = peel(ty, &Type::Any);
    let lifetime = text_lifetime(input);
    quote_spanned!(span_of(ty)=> #ty: _accp::PacketValue<#lifetime>)
}

/// Returns the innermost type, with the registry type that it must hold. For `Option<Vec<T>>` and `[string]`, these
/// are `T` and `string`.
pub(super) fn peel<'t>(ty: &'t RustType, of: &'t Type) -> (&'t RustType, &'t Type) {
    let RustType::Path(path) = ty else {
        return (ty, of);
    };
    let Some(last) = path.path.segments.last() else {
        return (ty, of);
    };
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return (ty, of);
    };
    let inner: Vec<_> = arguments
        .args
        .iter()
        .filter_map(|argument| match argument {
            GenericArgument::Type(inner) => Some(inner),
            _ => None,
        })
        .collect();
    match (last.ident.to_string().as_str(), inner.as_slice(), of) {
        ("Option" | "Box", [inner], of) => peel(inner, of),
        ("Vec", [inner], Type::List(item)) => peel(inner, item),
        ("Vec", [inner], Type::Any) => peel(inner, of),
        _ => (ty, of),
    }
}
