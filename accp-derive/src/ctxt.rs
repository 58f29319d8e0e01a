//! The state that all stages of one derive share: the protocol, and the mistakes, which are reported together at the
//! end.

use std::cell::RefCell;
use std::fmt::Display;

use accp_registry::Protocol;
use proc_macro2::Span;
use quote::ToTokens;

/// Says that [`Ctxt`] already has the mistake, and that no code can be written for the item.
#[derive(Debug)]
pub(crate) struct Reported;

/// The protocol, and the errors that the stages of a derive collect.
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

    /// Reports a mistake at a place, for a mistake that no tokens cause.
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
