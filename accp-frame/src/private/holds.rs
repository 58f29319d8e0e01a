//! One error for a type that does not hold the type of its field.

use crate::{DecodeValue, EncodeValue};

/// A type that is written to and read from a field of the registry type `K`.
///
/// `How` is always `Codec`, and always inferred. A trait with one impl passes its bounds on: the
/// compiler would report them, and not this trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold a value of type `{K}`",
    label = "the registry declares this field as `{K}`",
    note = "the documentation of `accp_runtime::kind` lists the types that fit",
    note = "derive `AccpFrame` for a type of your own; for another crate's type, name a module that converts it: \
            `#[accp(with = module)]`"
)]
pub trait Holds<'a, K, How>: Sized {
    /// The type itself.
    type Type;
    /// Returns the value itself, for writing.
    fn of(&self) -> &Self::Type;
    /// Returns the value itself, which was read.
    fn back(value: Self::Type) -> Self;
}

/// The type has both halves of the codec.
#[derive(Debug)]
pub enum Codec {}

/// The other impl, which no type has.
#[derive(Debug)]
pub enum Never {}

/// A trait without implementations.
pub trait Nothing {}

#[diagnostic::do_not_recommend]
impl<'a, K, T: EncodeValue<K> + DecodeValue<'a, K>> Holds<'a, K, Codec> for T {
    type Type = Self;

    #[inline]
    fn of(&self) -> &Self {
        self
    }

    #[inline]
    fn back(value: Self) -> Self {
        value
    }
}

#[diagnostic::do_not_recommend]
impl<K, T: Nothing> Holds<'_, K, Never> for T {
    type Type = Self;

    fn of(&self) -> &Self {
        self
    }

    fn back(value: Self) -> Self {
        value
    }
}
