//! The shared state of the stages of one derive: the protocol, and all mistakes, so that they are
//! reported together.

use std::cell::RefCell;
use std::fmt::Display;

use accp_registry::Protocol;
use proc_macro2::Span;
use quote::ToTokens;

/// A mistake that [`Ctxt`] has already: no code is written for the item.
#[derive(Debug)]
pub(crate) struct Reported;

/// Knows the protocol and collects errors; the stages share this value.
pub(crate) struct Ctxt {
    pub(crate) protocol: &'static Protocol,
    errors: RefCell<Vec<syn::Error>>,
}

impl Ctxt {
    pub(crate) fn new(protocol: &'static Protocol) -> Self {
        Self {
            protocol,
            errors: RefCell::default(),
        }
    }

    /// Reports a mistake on the tokens that cause it.
    pub(crate) fn error(&self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// Reports a mistake that has no tokens of its own.
    pub(crate) fn error_at(&self, span: Span, message: impl Display) {
        self.push(syn::Error::new(span, message));
    }

    pub(crate) fn push(&self, error: syn::Error) {
        self.errors.borrow_mut().push(error);
    }

    /// Returns the number of mistakes so far.
    pub(crate) fn count(&self) -> usize {
        self.errors.borrow().len()
    }

    /// Returns all mistakes as one error; `None` when there are none.
    pub(crate) fn finish(self) -> Option<syn::Error> {
        self.errors
            .into_inner()
            .into_iter()
            .reduce(|mut all, error| {
                all.combine(error);
                all
            })
    }
}
