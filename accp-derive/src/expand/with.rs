//! Generates the code for fields that a module of the user converts: `#[accp(with = module)]`.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Path, Type as RustType};

use super::kind;
use crate::ast::Field;
use crate::check::optional;
use crate::resolved::Wire;

/// A field with the module that converts its value, or the value inside its `Option`.
#[derive(Clone, Copy)]
pub(super) struct With<'f> {
    module: &'f Path,
    ty: &'f RustType,
    wire: &'f Wire,
}

impl<'f> With<'f> {
    /// Returns the field with its module; `None` if the field has no attribute `with`.
    pub(super) fn of(field: &'f Field<'_>, wire: &'f Wire) -> Option<Self> {
        let module = field.attrs.with.as_ref()?;
        let ty = field.ty;
        Some(Self { module, ty, wire })
    }

    /// Returns the code for a reference to the converted value, for writing.
    pub(super) fn written(self, value: &TokenStream) -> TokenStream {
        let (module, name) = (self.module, &self.wire.name);
        let span = module.span();
        if optional(self.ty).is_some() {
            quote_spanned!(span=> &match #value {
                _p::Some(value) => _p::Some(_p::converted(#module::encode(value), #name)?),
                _p::None => _p::None,
            })
        } else {
            quote_spanned!(span=> &_p::converted(#module::encode(#value), #name)?)
        }
    }

    /// Returns the code of a function that converts a value that was read.
    fn convert(self) -> TokenStream {
        let module = self.module;
        let span = module.span();
        if optional(self.ty).is_some() {
            quote_spanned!(span=> |raw: _p::Option<_>| raw.map(#module::decode).transpose())
        } else {
            quote_spanned!(span=> #module::decode)
        }
    }

    fn kind(self) -> TokenStream {
        kind(self.module.span(), &self.wire.ty)
    }

    /// Returns the code that reads the value into its slot. `by` names the schema that requires the field; `None` if
    /// the field is not required.
    pub(super) fn read(self, slot: &Ident, by: Option<&str>) -> TokenStream {
        let (kind, convert, ty, name) = (self.kind(), self.convert(), self.ty, &self.wire.name);
        let [by, default] = [by, self.wire.default.as_deref()].map(super::optional);
        quote_spanned!(self.module.span()=>
            _p::read_with::<#kind, _, #ty, _>(r, &mut #slot, #name, #by, #default, #convert)?
        )
    }

    /// Returns the code that makes the value of the field after the payload was read.
    pub(super) fn construct(self, slot: &Ident, by: &str) -> TokenStream {
        let (kind, convert, ty, name) = (self.kind(), self.convert(), self.ty, &self.wire.name);
        match &self.wire.default {
            Some(default) => quote_spanned!(self.module.span()=>
                _p::or_default_with::<#kind, _, #ty, _>(r, #slot, #name, #default, #convert)?
            ),
            None if optional(ty).is_some() => quote!(_p::Option::flatten(#slot)),
            None => quote!(_p::demand::<#ty>(r, #slot, #name, #by)?),
        }
    }

    /// Returns the code for the default of the registry, converted by the module.
    pub(super) fn preset(self, default: &str) -> TokenStream {
        let (kind, convert, ty, name) = (self.kind(), self.convert(), self.ty, &self.wire.name);
        quote_spanned!(self.module.span()=>
            _p::preset_with::<#kind, _, #ty, _>(#name, #default, #convert)
        )
    }
}
