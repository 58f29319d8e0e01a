//! What the derive of one type can find out about another derived type at compile time.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::marker::PhantomData;

/// The shape of a derived type.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// An enumeration: the name and the wire text of each variant, ascending by name. Each text ends with a NUL, which
    /// no name has. The compiler reads and compares one text faster than thousands.
    Names(&'static str),
    /// A map of the fields of the schema with this code.
    Schema(&'static str),
    /// A type whose shape is not known.
    Unknown,
}

/// A derived type, or a container of one.
pub trait Shaped {
    /// The shape of the type.
    const SHAPE: Shape;
}

macro_rules! shaped {
    ($([$($param:tt)*] $ty:ty;)*) => {$(
        impl<$($param)*, T: Shaped> Shaped for $ty {
            const SHAPE: Shape = T::SHAPE;
        }
    )*};
}

shaped! {
    ['a] &'a T;
    [const N: usize] [T; N];
    [S] BTreeMap<S, T>;
}

#[cfg(feature = "std")]
shaped! {
    [S] std::collections::HashMap<S, T>;
}

impl<T: Shaped> Shaped for Option<T> {
    const SHAPE: Shape = T::SHAPE;
}

impl<T: Shaped> Shaped for Box<T> {
    const SHAPE: Shape = T::SHAPE;
}

impl<T: Shaped> Shaped for Vec<T> {
    const SHAPE: Shape = T::SHAPE;
}

/// Finds the shape of any type `T`. If `T` has a shape, `Probe<T>` has an inherent constant `SHAPE`, which takes
/// precedence over the constant of [`Unshaped`].
#[derive(Debug)]
pub struct Probe<T>(PhantomData<T>);

/// Gives the answer for a type without a known shape.
pub trait Unshaped {
    /// No shape is known.
    const SHAPE: Option<Shape> = None;
}

impl<T> Unshaped for Probe<T> {}

impl<T: Shaped> Probe<T> {
    /// The shape from the derive.
    pub const SHAPE: Option<Shape> = Some(T::SHAPE);
}

/// Returns the shape of a transparent type: the shape of the type inside.
pub const fn shape_of(inner: Option<Shape>) -> Shape {
    match inner {
        Some(shape) => shape,
        None => Shape::Unknown,
    }
}

/// Returns whether a type can hold a default with this text.
pub const fn has_value(shape: Option<Shape>, text: &str) -> bool {
    let Some(Shape::Names(own)) = shape else {
        return true;
    };
    let (mut own, text) = (own.as_bytes(), text.as_bytes());
    while let Some(entry) = Entry::first(own) {
        if same(entry.name, text) || same(entry.wire, text) {
            return true;
        }
        own = entry.rest;
    }
    false
}

/// The result of [`has_value`] as a type.
#[derive(Debug)]
pub struct Fits<const HAS: bool>;

/// Implemented if a type can hold the default of its field. `Code`, `Field` and `Text` are types whose names go
/// into the error.
#[diagnostic::on_unimplemented(
    message = "schema `{Code}` has the default `{Text}` for `{Field}`: expected a variant of this name",
    label = "none of its variants is `{Text}`"
)]
pub trait HoldsDefault<Code, Field, Text> {}

impl<Code, Field, Text> HoldsDefault<Code, Field, Text> for Fits<true> {}

/// Compiles only if the type can hold the default.
pub const fn holds_default<T: HoldsDefault<Code, Field, Text>, Code, Field, Text>() {}

/// Returns whether a type can represent the fields of the schema with this code.
pub const fn has_schema(shape: Option<Shape>, code: &str) -> bool {
    match shape {
        Some(Shape::Schema(own)) => equal(own, code),
        // An enumeration is not a struct. `Holds` refuses it with an error of its own.
        Some(Shape::Names(_) | Shape::Unknown) | None => true,
    }
}

/// The first entry of a list as in [`Shape::Names`].
pub(super) struct Entry<'n> {
    pub(super) name: &'n [u8],
    pub(super) wire: &'n [u8],
    pub(super) rest: &'n [u8],
}

impl<'n> Entry<'n> {
    pub(super) const fn first(list: &'n [u8]) -> Option<Self> {
        if list.is_empty() {
            return None;
        }
        let (name, rest) = text(list);
        let (wire, rest) = text(rest);
        Some(Self { name, wire, rest })
    }
}

/// Splits a list after its first text.
const fn text(list: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    while at < list.len() && list[at] != 0 {
        at += 1;
    }
    let (text, rest) = list.split_at(at);
    match rest {
        [_, rest @ ..] => (text, rest),
        [] => (text, rest),
    }
}

pub(super) const fn equal(a: &str, b: &str) -> bool {
    same(a.as_bytes(), b.as_bytes())
}

pub(super) const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len()
}
