//! The limits of a packet.

/// The limits of a packet. The scanner checks each limit before it does the work that the limit bounds.
///
/// ```
/// use accp_aacp::{Limits, Packet};
///
/// let limits = Limits { packet_bytes: 20, ..Limits::DEFAULT };
/// assert!(Packet::parse_with("FETCH|HR|return:a|aacp:1.1", limits).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of a packet.
    pub packet_bytes: usize,
    /// The most fields after TASK and DOM.
    pub fields: usize,
}

impl Limits {
    /// 8 KiB and 64 fields.
    pub const DEFAULT: Self = Self {
        packet_bytes: 8 * 1024,
        fields: 64,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
