//! Generates empty types that have the codes of schemas as their names. A compiler error about a trait shows the
//! names of types. Through these types, the error can name a schema, which otherwise only the registry knows.

use std::collections::BTreeSet;

use accp_registry::Type;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::check::innermost;
use crate::resolved::{ArmContent, Fields, ResolvedItem, Role, Wire};

/// Returns the path of the empty type for the schema whose records a field holds. `None` for a field without records,
/// and for a code that cannot be a name in Rust.
pub(super) fn of(wire: &Wire, span: Span) -> Option<TokenStream> {
    let mut code = code(wire)?;
    code.set_span(span);
    Some(quote_spanned!(span=> _schema::#code))
}

/// Returns the module with the empty types for the fields of an item.
pub(super) fn module(item: &ResolvedItem<'_>) -> TokenStream {
    let all: Vec<&Fields<'_>> = match item {
        ResolvedItem::Frame(frame) => vec![&frame.fields],
        ResolvedItem::Nested(fields) => vec![fields],
        ResolvedItem::Union(union) => union.records.iter().map(|record| &record.fields).collect(),
        ResolvedItem::Frames(arms) => {
            let frames = arms.iter().filter_map(|arm| match &arm.content {
                ArmContent::Fields(frame) => Some(&frame.fields),
                ArmContent::Newtype(_) => None,
            });
            frames.collect()
        }
        ResolvedItem::Newtype(..) | ResolvedItem::Enumeration(..) => Vec::new(),
    };
    let members = all.into_iter().flat_map(|fields| &fields.members);
    let codes = members.filter_map(|member| match &member.role {
        Role::Wire(wire) => code(wire),
        Role::Flatten | Role::Skip => None,
    });
    let codes: BTreeSet<Ident> = codes.collect();
    if codes.is_empty() {
        return TokenStream::new();
    }
    let codes = codes.into_iter();
    quote! {
        #[allow(non_camel_case_types, dead_code)]
        mod _schema { #(pub(super) enum #codes {})* }
    }
}

fn code(wire: &Wire) -> Option<Ident> {
    match innermost(&wire.ty) {
        Type::Schema(code) => syn::parse_str(code).ok(),
        _ => None,
    }
}
