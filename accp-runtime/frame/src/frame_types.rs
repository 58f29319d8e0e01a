//! The frame types that a Rust type can be decoded from, as a constant.

use crate::writer::FrameType;

/// The frame types that a Rust type can be decoded from.
#[derive(Debug, Clone, Copy)]
pub enum FrameTypes {
    /// One type of frame.
    One(FrameType<'static>),
    /// The frame types of each variant of an enum.
    Several(&'static [FrameTypes]),
    /// The impl was written by hand and does not name its frame types.
    Unknown,
}

impl FrameTypes {
    /// Returns whether some of the frame types are [`Unknown`](Self::Unknown).
    pub fn has_unknown(&self) -> bool {
        match self {
            Self::One(_) => false,
            Self::Several(types) => types.iter().any(Self::has_unknown),
            Self::Unknown => true,
        }
    }

    /// Calls `each` with every known frame type, in order.
    pub fn each(&self, each: &mut dyn FnMut(&FrameType<'static>)) {
        match self {
            Self::One(frame) => each(frame),
            Self::Several(types) => types.iter().for_each(|types| types.each(each)),
            Self::Unknown => {}
        }
    }
}
