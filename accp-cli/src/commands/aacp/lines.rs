//! Packets from the lines of an input.

use accp_aacp::Limits;

use crate::input::{Line, Lines};
use crate::outcome::Failure;

/// Packets, one a line; or printed over several lines, each but the last ending in `|`.
pub(super) struct Packets {
    lines: Lines,
    unwrap: bool,
    joined: Vec<u8>,
}

impl Packets {
    pub(super) fn new(lines: Lines, unwrap: bool) -> Self {
        Self {
            lines,
            unwrap,
            joined: Vec::new(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.lines.name
    }

    /// Returns the next packet with the number of its first line. A blank line is one too.
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, Failure> {
        if !self.unwrap {
            return self.lines.next_of_all();
        }
        self.joined.clear();
        let mut first = None;
        while let Some(line) = self.lines.next_of_all()? {
            let number = *first.get_or_insert(line.number);
            let part = line.bytes.trim_ascii();
            // The limit is checked on the packet, and more is not needed to see that it is over it.
            if self.joined.len() <= Limits::DEFAULT.packet_bytes {
                self.joined.extend_from_slice(part);
            }
            // Whether a line that is cut ends in `|` is not known, and its packet is too long.
            if !part.ends_with(b"|") || line.is_cut() {
                let bytes = &self.joined;
                return Ok(Some(Line { number, bytes }));
            }
        }
        let bytes = &self.joined;
        Ok(first.map(|number| Line { number, bytes }))
    }
}
