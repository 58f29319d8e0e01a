//! Generates the code for a struct that is a packet: a message whose values are text.

use accp_registry::Protocol;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Type as RustType;

use super::fields::{Access, slot, wires};
use super::generics::{Way, bounds, decode_generics, where_clause};
use super::lifetimes::{span_of, text_lifetime};
use crate::ast::Input;
use crate::check::{item_of, optional};
use crate::resolved::{Fields, Filled, Frame, Role, Wire};

pub(super) fn expand(protocol: &Protocol, input: &Input<'_>, packet: &Frame<'_>) -> TokenStream {
    let ident = input.ident();
    let fields = &packet.fields;
    let head = protocol.head.iter().zip(&packet.head).map(|(part, word)| {
        let constant = Ident::new(&part.name.to_ascii_uppercase(), Span::call_site());
        quote!(const #constant: &'static ::core::primitive::str = #word;)
    });
    let encode = encode(fields);
    let decode = decode(fields);

    let lifetime = text_lifetime(input);
    let with_lifetime = decode_generics(input);
    // The bounds on type parameters name the lifetime of the text. So the impl for writing needs this lifetime, too,
    // if there are bounds.
    let encode_bounds = bounds(input, fields, Way::Encode);
    let encode_generics = if encode_bounds.is_empty() {
        &input.original.generics
    } else {
        &with_lifetime
    };
    let (head_impl, ty, own_where) = input.original.generics.split_for_impl();
    let (encode_impl, ..) = encode_generics.split_for_impl();
    let (decode_impl, ..) = with_lifetime.split_for_impl();
    let encode_where = where_clause(input, &encode_bounds);
    let decode_where = where_clause(input, &bounds(input, fields, Way::Decode));
    quote! {
        #[automatically_derived]
        impl #head_impl _accp::AacpPacket for #ident #ty #own_where {
            #(#head)*
        }

        #[automatically_derived]
        impl #encode_impl _accp::EncodePacket for #ident #ty #encode_where {
            fn encode_fields(
                &self,
                w: &mut _accp::PacketWriter<'_>,
            ) -> _p::Result<(), _accp::WriteError> {
                #encode
            }
        }

        #[automatically_derived]
        impl #decode_impl _accp::DecodePacket<#lifetime> for #ident #ty #decode_where {
            fn decode_fields(
                packet: &_accp::Packet<#lifetime>,
            ) -> _p::Result<Self, _accp::DecodeError> {
                #decode
            }
        }
    }
}

/// Returns the code that writes the fields, in the order of the wire.
fn encode(fields: &Fields<'_>) -> TokenStream {
    let filled = |place: usize| -> TokenStream {
        let here = fields.filled.iter().filter(|field| field.before == place);
        here.map(|Filled { key, text, .. }| quote!(w.raw(#key, #text)?;))
            .collect()
    };
    let members = wires(fields).enumerate().map(|(place, (at, ty, wire))| {
        let (before, span, key) = (filled(place), span_of(ty), &wire.key);
        let of_self = Access::OfSelf.of(fields, at);
        // All tokens of the call have the span of the type, so the compiler reports an error there.
        let value = Ident::new("value", span);
        let write = quote_spanned!(span=> w.field(#key, #value)?;);
        let write = if optional(ty).is_some() {
            quote!(if let _p::Some(#value) = #of_self { #write })
        } else if is_left_out(ty, wire) {
            quote!(let #value = #of_self; if !_p::is_empty(#value) { #write })
        } else {
            quote!(let #value = #of_self; #write)
        };
        quote!(#before #write)
    });
    let last = filled(fields.order.len());
    let rest = rest(fields).map(|at| {
        let value = Access::OfSelf.of(fields, at);
        quote_spanned!(span_of(fields.members[at].field.ty)=> for (key, value) in #value {
            w.raw(_p::AsRef::<::core::primitive::str>::as_ref(key), _p::AsRef::<::core::primitive::str>::as_ref(value))?;
        })
    });
    quote!(#(#members)* #last #rest _p::Ok(()))
}

/// Returns whether an empty value is left out, and an absent value is read as empty. This is so for lists, because no
/// text stands for an empty list.
fn is_left_out(ty: &RustType, wire: &Wire) -> bool {
    item_of(ty).is_some() && !wire.is_required
}

/// Returns the code that reads the fields in one pass, and makes the struct.
fn decode(fields: &Fields<'_>) -> TokenStream {
    let slots = fields
        .members
        .iter()
        .enumerate()
        .filter_map(|(at, member)| {
            let (ty, slot, span) = (member.field.ty, slot(at), span_of(member.field.ty));
            match member.role {
                Role::Wire(_) => {
                    let ty = optional(ty).unwrap_or(ty);
                    Some(quote_spanned!(span=> let mut #slot: _p::Option<#ty> = _p::None;))
                }
                Role::Flatten => Some(
                    quote_spanned!(span=> let mut #slot: #ty = <#ty as _p::Default>::default();),
                ),
                Role::Skip => None,
            }
        });
    let arms = wires(fields).map(|(at, ty, wire)| {
        let (span, key) = (span_of(ty), &wire.key);
        let slot = Ident::new(&slot(at).to_string(), span);
        quote_spanned!(span=> #key => #slot = _p::Some(_p::read(packet, index, value)?),)
    });
    let filled = fields
        .filled
        .iter()
        .map(|Filled { key, .. }| quote!(#key => {}));
    let others = if let Some(at) = rest(fields) {
        let span = span_of(fields.members[at].field.ty);
        let slot = Ident::new(&slot(at).to_string(), span);
        quote_spanned!(span=> #slot.push((_p::Into::into(key), _p::Into::into(value))))
    } else {
        quote!(return _p::Err(_p::unknown(packet, index)))
    };
    let values = fields.members.iter().enumerate().map(|(at, member)| {
        let (ident, ty) = (member.field.ident, member.field.ty);
        let span = span_of(ty);
        let slot = Ident::new(&slot(at).to_string(), span);
        let value = match &member.role {
            Role::Skip => quote_spanned!(span=> <#ty as _p::Default>::default()),
            Role::Flatten => quote!(#slot),
            Role::Wire(_) if optional(ty).is_some() => quote!(#slot),
            Role::Wire(wire) => {
                let key = &wire.key;
                if is_left_out(ty, wire) {
                    quote_spanned!(span=> _p::Option::unwrap_or_default(#slot))
                } else {
                    quote_spanned!(span=> _p::demand(#slot, #key)?)
                }
            }
        };
        quote!(#ident: #value,)
    });
    quote! {
        #(#slots)*
        for (index, &(key, value)) in packet.fields().iter().enumerate() {
            match key {
                #(#arms)*
                #(#filled)*
                _ => #others,
            }
        }
        _p::Ok(Self { #(#values)* })
    }
}

/// Returns the index of the `flatten` member, which takes the fields that no other member holds.
fn rest(fields: &Fields<'_>) -> Option<usize> {
    let mut members = fields.members.iter();
    members.position(|member| matches!(member.role, Role::Flatten))
}
