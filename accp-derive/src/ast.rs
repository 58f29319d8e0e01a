//! The syntax tree of the derived item, with its attributes read. Each node keeps its Rust syntax, so that an error
//! can point to it.

use proc_macro2::Ident;
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::{DeriveInput, Fields, GenericParam, Lifetime, LitStr, Member, Type};

use crate::attr::{AttributeTarget, Attrs, Case};
use crate::ctxt::Ctxt;

/// A struct or an enum.
pub(crate) struct Input<'a> {
    pub(crate) original: &'a DeriveInput,
    pub(crate) attrs: Attrs,
    /// The lifetime of the borrowed text.
    pub(crate) lifetime: Option<&'a Lifetime>,
    pub(crate) body: Body<'a>,
}

pub(crate) enum Body<'a> {
    Struct(Vec<Field<'a>>),
    /// A struct that is the value of its only field.
    Newtype(Member, &'a Type),
    Enum(Vec<Variant<'a>>),
}

pub(crate) struct Variant<'a> {
    pub(crate) original: &'a syn::Variant,
    pub(crate) attrs: Attrs,
    pub(crate) content: Content<'a>,
}

pub(crate) enum Content<'a> {
    Unit,
    /// A variant with one type, which is a frame.
    Newtype(&'a Type),
    Struct(Vec<Field<'a>>),
    /// Several types without names, which the derive cannot use.
    Tuple,
}

pub(crate) struct Field<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
    pub(crate) attrs: Attrs,
    /// The case that `rename_all` of the struct or variant gives to the names of its fields.
    case: Option<Case>,
}

impl<'a> Input<'a> {
    /// Reads the item into a tree; `None` if a mistake makes this impossible. The mistake is reported.
    pub(crate) fn read(cx: &Ctxt, original: &'a DeriveInput) -> Option<Self> {
        let attrs = Attrs::read(cx, &original.attrs, AttributeTarget::Container);
        let lifetime = lifetime(cx, original);
        let body = match &original.data {
            syn::Data::Struct(data) if attrs.transparent.is_some() => newtype(cx, original, data)?,
            syn::Data::Struct(data) => Body::Struct(fields(cx, &data.fields, &attrs)?),
            syn::Data::Enum(data) => Body::Enum(
                data.variants
                    .iter()
                    .map(|variant| Variant::read(cx, variant))
                    .collect(),
            ),
            syn::Data::Union(data) => {
                let noun = cx.protocol.noun;
                let message = format!("a union is not a {noun}; expected a struct or an enum");
                cx.error(data.union_token, message);
                return None;
            }
        };
        Some(Self {
            original,
            attrs,
            lifetime,
            body,
        })
    }

    pub(crate) fn ident(&self) -> &'a Ident {
        &self.original.ident
    }

    /// Returns whether the item has type parameters.
    pub(crate) fn has_type_params(&self) -> bool {
        self.original.generics.type_params().next().is_some()
    }

    /// Returns whether a field is a reference, or holds references.
    pub(crate) fn has_references(&self) -> bool {
        let types: Vec<&Type> = match &self.body {
            Body::Struct(fields) => fields.iter().map(|field| field.ty).collect(),
            Body::Newtype(_, ty) => vec![ty],
            Body::Enum(_) => Vec::new(),
        };
        types.into_iter().any(|ty| refers(ty.to_token_stream()))
    }

    /// Returns whether a type names a type parameter or a constant parameter of the item.
    pub(crate) fn is_generic(&self, ty: &Type) -> bool {
        let types = self.original.generics.type_params();
        let constants = self.original.generics.const_params();
        let mut names = types
            .map(|param| &param.ident)
            .chain(constants.map(|param| &param.ident));
        names.any(|name| mentions(ty.to_token_stream(), name))
    }
}

/// Returns whether the tokens of a type hold a reference.
fn refers(tokens: proc_macro2::TokenStream) -> bool {
    tokens.into_iter().any(|tree| match tree {
        proc_macro2::TokenTree::Punct(punct) => punct.as_char() == '&',
        proc_macro2::TokenTree::Group(group) => refers(group.stream()),
        _ => false,
    })
}

/// Returns whether an identifier occurs in the tokens.
pub(crate) fn mentions(tokens: proc_macro2::TokenStream, ident: &Ident) -> bool {
    tokens.into_iter().any(|tree| match tree {
        proc_macro2::TokenTree::Ident(other) => other == *ident,
        proc_macro2::TokenTree::Group(group) => mentions(group.stream(), ident),
        _ => false,
    })
}

impl<'a> Variant<'a> {
    fn read(cx: &Ctxt, original: &'a syn::Variant) -> Self {
        let attrs = Attrs::read(cx, &original.attrs, AttributeTarget::Variant);
        let content = match &original.fields {
            Fields::Unit => Content::Unit,
            Fields::Unnamed(unnamed) => match unnamed.unnamed.first() {
                Some(field) if unnamed.unnamed.len() == 1 => {
                    let (ours, noun) = (cx.protocol.rust.attribute, cx.protocol.noun);
                    for attribute in field.attrs.iter().filter(|a| a.path().is_ident(ours)) {
                        let message = format!(
                            "the {noun} that a variant holds has its attributes on its type"
                        );
                        cx.error(attribute, message);
                    }
                    Content::Newtype(&field.ty)
                }
                _ => Content::Tuple,
            },
            Fields::Named(named) => Content::Struct(named_fields(cx, named, attrs.rename_all)),
        };
        Self {
            original,
            attrs,
            content,
        }
    }
}

impl Field<'_> {
    /// Returns the name in the registry.
    pub(crate) fn name(&self) -> String {
        let own = || {
            let own = self.ident.unraw().to_string();
            self.case.map_or(own.clone(), |case| case.apply(&own))
        };
        self.attrs.rename.as_ref().map_or_else(own, LitStr::value)
    }

    /// Returns whether the value of the field is written and read without a conversion. Then the type of the field
    /// must be one that the runtime knows, or one that derives the codec.
    pub(crate) fn is_value(&self) -> bool {
        self.attrs.skip.is_none() && self.attrs.with.is_none()
    }

    /// Returns the tokens from which the name in the registry comes, for errors about the name.
    pub(crate) fn name_tokens(&self) -> proc_macro2::TokenStream {
        match &self.attrs.rename {
            Some(rename) => rename.to_token_stream(),
            None => self.ident.to_token_stream(),
        }
    }
}

/// Returns the body of a transparent struct: its only field. `None` after a mistake, which is reported.
fn newtype<'a>(cx: &Ctxt, input: &DeriveInput, data: &'a syn::DataStruct) -> Option<Body<'a>> {
    let ours = cx.protocol.rust.attribute;
    let attributes = data.fields.iter().flat_map(|field| &field.attrs);
    for attribute in attributes.filter(|attribute| attribute.path().is_ident(ours)) {
        let message =
            "a transparent struct is the value of its field, which has no key and no attributes";
        cx.error(attribute, message);
    }
    let mut members = data.fields.members().zip(&data.fields);
    match (members.next(), members.next()) {
        (Some((member, field)), None) => Some(Body::Newtype(member, &field.ty)),
        (first, _) => {
            let count = data.fields.len();
            let message = format!(
                "a transparent struct has one field, whose value it is; expected 1, found {count}"
            );
            match first {
                Some(_) => cx.error(&data.fields, message),
                None => cx.error(&input.ident, message),
            }
            None
        }
    }
}

fn fields<'a>(cx: &Ctxt, fields: &'a Fields, attrs: &Attrs) -> Option<Vec<Field<'a>>> {
    match fields {
        Fields::Named(named) => Some(named_fields(cx, named, attrs.rename_all)),
        Fields::Unit => Some(Vec::new()),
        // An attribute of the item has a mistake. It may be a misspelt `transparent`, so no second error follows.
        Fields::Unnamed(_) if attrs.is_faulty => None,
        Fields::Unnamed(unnamed) => {
            let place = if cx.protocol.is_text() {
                ""
            } else {
                " in the registry"
            };
            let cure = match unnamed.unnamed.len() {
                1 => format!(
                    "; a struct that is the value of its only field has `#[{}(transparent)]`",
                    cx.protocol.rust.attribute
                ),
                _ => String::new(),
            };
            let message = format!("expected named fields: a field's name is its key{place}{cure}");
            cx.error(unnamed, message);
            None
        }
    }
}

fn named_fields<'a>(cx: &Ctxt, fields: &'a syn::FieldsNamed, case: Option<Case>) -> Vec<Field<'a>> {
    let read = |field: &'a syn::Field| {
        let attrs = Attrs::read(cx, &field.attrs, AttributeTarget::Field);
        Some(Field {
            ident: field.ident.as_ref()?,
            ty: &field.ty,
            attrs,
            case,
        })
    };
    fields.named.iter().filter_map(read).collect()
}

/// Returns the lifetime of the item, if it has one. Reports a mistake if it has several.
fn lifetime<'a>(cx: &Ctxt, input: &'a DeriveInput) -> Option<&'a Lifetime> {
    let mut lifetimes = input
        .generics
        .params
        .iter()
        .filter_map(|param| match param {
            GenericParam::Lifetime(lifetime) => Some(&lifetime.lifetime),
            _ => None,
        });
    let first = lifetimes.next();
    for other in lifetimes {
        let noun = cx.protocol.noun;
        let message = format!("a {noun} borrows from one text: expected at most one lifetime");
        cx.error_at(other.span(), message);
    }
    first
}
