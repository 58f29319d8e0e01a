//! Bounds that are checked before work is done.

/// What a frame may cost to read (draft section 9, item 5).
///
/// The limits hold for writing too: an encoder never emits what its own reader refuses.
///
/// ```
/// use accp_runtime::{DecodeOptions, Frame, Limits};
///
/// let options = DecodeOptions { limits: Limits { depth: 1, ..Limits::DEFAULT }, ..DecodeOptions::default() };
/// assert!(Frame::parse_with("@a>req:plan{deps:[x,y]}", &options).is_ok());
/// assert!(Frame::parse_with("@a>req:plan{deps:[x,[y]]}", &options).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a whole frame.
    pub frame_bytes: usize,
    /// Levels of arrays and maps; `[1]` is one level. At most [`Limits::MAX_DEPTH`] counts.
    pub depth: u32,
    /// Params in the payload, and pairs in the metadata, each.
    pub params: u32,
    /// Params, metadata pairs, array elements and map entries together.
    pub elements: u32,
}

impl Limits {
    /// 64 KiB, 5 levels, 256 params, 4096 elements.
    pub const DEFAULT: Self = Self {
        frame_bytes: 64 * 1024,
        depth: 5,
        params: 256,
        elements: 4096,
    };

    /// Deeper nesting is refused whatever the setting, to keep the stack bounded.
    pub const MAX_DEPTH: u32 = 128;

    /// No limit but the depth, which stays bounded.
    pub const NONE: Self = Self {
        frame_bytes: usize::MAX,
        depth: Self::MAX_DEPTH,
        params: u32::MAX,
        elements: u32::MAX,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
