//! The types of frames that a type accepts, as a constant.

use crate::writer::FrameType;

/// The types of frames that a type accepts.
#[derive(Debug, Clone, Copy)]
pub enum FrameTypes {
    /// One type of frame.
    One(FrameType<'static>),
    /// Those of the variants of an enum.
    Several(&'static [FrameTypes]),
    /// An impl by hand does not say.
    Unknown,
}

impl FrameTypes {
    /// Returns whether an impl by hand among them does not say what it accepts.
    pub fn has_unknown(&self) -> bool {
        match self {
            Self::One(_) => false,
            Self::Several(types) => types.iter().any(Self::has_unknown),
            Self::Unknown => true,
        }
    }

    /// Calls `each` with every type, in their order.
    pub fn each(&self, each: &mut dyn FnMut(&FrameType<'static>)) {
        match self {
            Self::One(frame) => each(frame),
            Self::Several(types) => types.iter().for_each(|types| types.each(each)),
            Self::Unknown => {}
        }
    }
}
