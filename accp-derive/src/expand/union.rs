//! Generates the code for an enum whose variants are the records of a union. A record is written as a map with a tag.

use accp_registry::Field;
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::LitByteStr;

use super::fields::{Access, Made, arms, construct, encode_entries, slots};
use super::frames::pattern;
use super::generics::{Way, bounds, decode_generics, given, where_clause};
use super::lifetimes::text_lifetime;
use super::owned::{is_owned, type_to_read};
use super::shapes;
use crate::ast::{Content, Input};
use crate::resolved::{Record, Union};

pub(super) fn expand(input: &Input<'_>, union: &Union<'_>) -> TokenStream {
    let (ident, code) = (input.ident(), &union.code);
    let lifetime = text_lifetime(input);
    let decode_generics = decode_generics(input);
    let (encode_impl, ty, own_where) = input.original.generics.split_for_impl();
    let (decode_impl, ..) = decode_generics.split_for_impl();
    let encode_where = where_clause(input, &all_bounds(input, union, Way::Encode));
    let decode_where = where_clause(input, &all_bounds(input, union, Way::Decode));
    let encodes = union
        .records
        .iter()
        .map(|record| encode(input, union, record));
    let decodes = union
        .records
        .iter()
        .map(|record| decode(input, union, record));
    let shapes = union.records.iter().map(|record| {
        let shapes = shapes::assertions(input, &record.fields);
        // The assertions import a trait. They have their own block, so that no other code sees the import.
        quote!(const _: () = { #shapes };)
    });
    let (name, by) = (&union.tag.name, format!("schema {code}"));
    let keys: Vec<&str> = union.tag.keys().collect();
    let names: Vec<&str> = union.records.iter().map(|record| &*record.name).collect();
    let expected = format!("a variant of {code}: {}", names.join(", "));
    let (encode_other, decode_other) = match union.other {
        Some(other) => {
            let ident = &other.original.ident;
            let any = quote!(_accp::kind::Any);
            let Content::Newtype(ty) = other.content else {
                return TokenStream::new();
            };
            let read = type_to_read(input, ty);
            let owned = is_owned(ty).then(|| quote!(let map = _accp::IntoOwned::into_owned(map);));
            (
                quote! {
                    Self::#ident(map) =>
                        _p::write_other(w, map, #name, &[#(#keys),*], &[#(#names),*], #by),
                },
                quote!({
                    let map = <#read as _accp::DecodeValue<#lifetime, #any>>::decode_value(r)?;
                    #owned
                    _p::Ok(Self::#ident(map))
                }),
            )
        }
        None => (
            TokenStream::new(),
            quote!(_p::no_such_variant(r, #name, #expected)),
        ),
    };
    let kind = quote!(_accp::kind::Schema);
    quote! {
        #(#shapes)*

        #[automatically_derived]
        impl #encode_impl _accp::EncodeValue<#kind> for #ident #ty #encode_where {
            fn encode_value(
                &self,
                w: &mut _p::Writer<'_, '_>,
            ) -> _p::Result<(), _accp::EncodeError> {
                match self { #(#encodes)* #encode_other }
            }
        }

        #[automatically_derived]
        impl #decode_impl _accp::DecodeValue<#lifetime, #kind> for #ident #ty #decode_where {
            fn decode_value(
                r: &mut _p::Reader<#lifetime>,
            ) -> _p::Result<Self, _accp::DecodeError> {
                let tag = _p::tag_ahead(r, #name, &[#(#keys),*], #by)?;
                match &*tag {
                    #(#decodes)*
                    _ => #decode_other,
                }
            }
        }

        #[automatically_derived]
        impl #encode_impl _p::Shaped for #ident #ty #own_where {
            const SHAPE: _p::Shape = _p::Shape::Schema(#code);
        }
    }
}

/// Returns the match arm that writes a variant. The keys are sorted, and the tag is at its place among them.
fn encode(input: &Input<'_>, union: &Union<'_>, record: &Record<'_>) -> TokenStream {
    let variant = &record.variant.original.ident;
    let (Field { name, short, .. }, value) = (&union.tag, &record.name);
    let mut entries = encode_entries(input, &record.fields, Access::Bound);
    let tag = quote! {
        w.entry::<_accp::kind::Enum, _>(map, #name, #short, &_p::Tag(#value), _p::Absent::Nothing)?;
    };
    let place = entries.iter().take_while(|(other, _)| other < short);
    entries.insert(place.count(), (short.clone(), tag));
    let entries = entries.into_iter().map(|(_, entry)| entry);
    let pattern = has_fields(record).then(|| {
        let pattern = pattern(&record.fields);
        quote!({ #pattern })
    });
    quote!(Self::#variant #pattern => w.map(|w, map| { #(#entries)* _p::Ok(()) }),)
}

/// Returns the match arm that reads a variant.
fn decode(input: &Input<'_>, union: &Union<'_>, record: &Record<'_>) -> TokenStream {
    let (variant, value) = (&record.variant.original.ident, &record.name);
    let owner = format!("{}::{variant}", input.ident());
    let fields = &record.fields;
    let (slots, arms) = (slots(input, fields), arms(input, fields, &owner));
    let Made {
        taken,
        fields: made,
    } = construct(input, fields, &owner);
    let keys = |field: &Field| {
        let keys = field.keys();
        let keys = keys.map(|key| LitByteStr::new(key.as_bytes(), Span::call_site()));
        quote!(#(#keys)|*)
    };
    let foreign = record.foreign.iter().map(|field| {
        let (keys, name) = (keys(field), &field.name);
        let expected = format!("a field of the variant `{value}`");
        quote!(#keys => return _p::no_such_variant(r, #name, #expected),)
    });
    let (tag, name) = (keys(&union.tag), &union.tag.name);
    let made = has_fields(record).then(|| quote!({ #made }));
    let made = quote!(Self::#variant #made);
    quote! {
        #value => {
            let mut map = _p::MapReader::open(r)?;
            let mut tag = _p::None;
            #slots
            while let _p::Some(key) = map.next(r)? {
                match key.as_bytes() {
                    #tag => _p::read_tag(r, &mut tag, #name)?,
                    #(#foreign)*
                    #arms
                }
            }
            #taken
            _p::Ok(#made)
        }
    }
}

/// Returns whether the variant of the enum has fields in braces.
fn has_fields(record: &Record<'_>) -> bool {
    matches!(record.variant.content, Content::Struct(_))
}

fn all_bounds(input: &Input<'_>, union: &Union<'_>, way: Way) -> Vec<TokenStream> {
    if let Some(given) = given(input, way) {
        return given.clone();
    }
    let records = union.records.iter();
    let all = records.flat_map(|record| bounds(input, &record.fields, way));
    all.collect()
}
