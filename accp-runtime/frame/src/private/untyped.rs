//! Finds the frame types that a Rust type accepts. This works for any Rust type, even one that is not a frame.

use super::shape::Probe;
use crate::frame_types::FrameTypes;
use crate::typed::DecodeFrame;

/// Gives the answer for a type that is not a frame. The compiler reports such a type with another error.
pub trait Untyped {
    /// No type is known.
    const TYPES: FrameTypes = FrameTypes::Unknown;
}

impl<T> Untyped for Probe<T> {}

impl<T: DecodeFrame<'static>> Probe<T> {
    /// The types from the derive.
    pub const TYPES: FrameTypes = T::TYPES;
}
