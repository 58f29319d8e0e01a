//! The frame types that a type accepts. Any type can be asked, even one that is not a frame.

use super::shape::Probe;
use crate::frame_types::FrameTypes;
use crate::typed::DecodeFrame;

/// The answer for a type that is not a frame. The compiler reports such a type with another error.
pub trait Untyped {
    /// No type is known.
    const TYPES: FrameTypes = FrameTypes::Unknown;
}

impl<T> Untyped for Probe<T> {}

impl<T: DecodeFrame<'static>> Probe<T> {
    /// The types from the derive.
    pub const TYPES: FrameTypes = T::TYPES;
}
