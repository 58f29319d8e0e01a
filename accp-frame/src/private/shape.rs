//! Facts from the derive of one type for the derive of another, for checks at compile time.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::marker::PhantomData;

/// The shape of a derived type.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// An enumeration: the name and the wire text of each variant.
    Names(&'static [(&'static str, &'static str)]),
    /// A map of the fields of the schema with this code.
    Schema(&'static str),
    /// A type with another shape inside, of which nothing is known.
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

/// Finds the shape of any type: an inherent constant takes precedence over one of a trait.
#[derive(Debug)]
pub struct Probe<T>(PhantomData<T>);

/// The answer for a type without a known shape.
pub trait Unshaped {
    /// No shape is known.
    const SHAPE: Option<Shape> = None;
}

impl<T> Unshaped for Probe<T> {}

impl<T: Shaped> Probe<T> {
    /// The shape from the derive.
    pub const SHAPE: Option<Shape> = Some(T::SHAPE);
}

/// Returns the shape of a type that is what it holds.
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
    let mut at = 0;
    while at < own.len() {
        if equal(own[at].0, text) || equal(own[at].1, text) {
            return true;
        }
        at += 1;
    }
    false
}

/// Returns whether a type can represent the fields of the schema with this code.
pub const fn has_schema(shape: Option<Shape>, code: &str) -> bool {
    match shape {
        Some(Shape::Schema(own)) => equal(own, code),
        // `Holds` refuses an enumeration.
        Some(Shape::Names(_) | Shape::Unknown) | None => true,
    }
}

pub(super) const fn equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}
