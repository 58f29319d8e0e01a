//! The types of frames that a type accepts, also of a type that is no frame.

use super::shape::Probe;
use crate::frame_types::FrameTypes;
use crate::typed::DecodeFrame;

/// The answer for a type that is no frame: the compiler says so elsewhere.
pub trait Untyped {
    /// No type is known.
    const TYPES: FrameTypes = FrameTypes::Unknown;
}

impl<T> Untyped for Probe<T> {}

impl<T: DecodeFrame<'static>> Probe<T> {
    /// The types from the derive.
    pub const TYPES: FrameTypes = T::TYPES;
}
