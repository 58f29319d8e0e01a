//! Limits on the size of a frame, which are checked before any other work.

/// The limits on reading a frame (draft section 9, item 5). A frame over a limit is refused.
///
/// The limits hold for writing too: an encoder never emits a frame that its own reader refuses.
///
/// ```
/// use accp_registry::Limits;
///
/// let flat = Limits { depth: 1, ..Limits::DEFAULT };
/// assert_eq!(flat.frame_bytes, 64 * 1024);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a whole frame: 64 KiB by default.
    pub frame_bytes: usize,
    /// Levels of arrays and maps, 5 by default: `[1]` is one level, `[{a:[]}]` three. The braces of
    /// the body and the brackets of the metadata do not count. A setting above
    /// [`Limits::MAX_DEPTH`] counts as that maximum.
    pub depth: u32,
    /// Params of the payload, and also pairs of the metadata: 256 each by default.
    pub params: u32,
    /// All params, metadata pairs, array elements and map entries of a frame, at every
    /// level: 4096 by default. `{a:[1,2]|b:{c:~}}[seq:1]` has six.
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

    /// Deeper nesting is refused under every setting, to keep the stack bounded.
    pub const MAX_DEPTH: u32 = 128;

    /// No limits, except the depth, which stays bounded.
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
