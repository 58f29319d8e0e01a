//! Reads the events of a server (`text/event-stream`) from pieces of bytes.

/// The most bytes of an event.
const LARGEST: usize = 8 << 20;

/// Splits a stream into the data of its events.
#[derive(Debug, Default)]
pub(super) struct Events {
    bytes: Vec<u8>,
    /// Where the first line begins in `bytes` that was not read.
    begin: usize,
    /// How many bytes of `bytes` were searched for the end of a line.
    seen: usize,
    data: String,
}

impl Events {
    /// Adds bytes of the stream. Returns whether they are within the limit.
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        self.bytes.drain(..self.begin);
        self.seen -= self.begin;
        self.begin = 0;
        self.bytes.extend_from_slice(bytes);
        self.bytes.len() + self.data.len() <= LARGEST
    }

    /// Returns the data of the next event that is complete.
    pub(super) fn next(&mut self) -> Option<String> {
        while let Some(unseen) = self.bytes.get(self.seen..)
            && let Some(end) = unseen.iter().position(|byte| *byte == b'\n')
        {
            let end = self.seen + end;
            let line = String::from_utf8_lossy(&self.bytes[self.begin..end]);
            let line = line.trim_end_matches('\r');
            self.begin = end + 1;
            self.seen = self.begin;
            if line.is_empty() {
                if !self.data.is_empty() {
                    return Some(std::mem::take(&mut self.data));
                }
            } else if let Some(data) = line.strip_prefix("data:") {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
            }
        }
        self.seen = self.bytes.len();
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Events;

    #[test]
    fn events_come_whole_however_they_are_cut() {
        let text =
            "data: {\"a\":1}\n\n: stay\n\nevent: x\r\ndata:two\r\ndata: lines ü\r\n\r\ndata: rest";
        for cut in 1..text.len() {
            let mut events = Events::default();
            let mut all = Vec::new();
            for bytes in text.as_bytes().chunks(cut) {
                assert!(events.push(bytes));
                all.extend(std::iter::from_fn(|| events.next()));
            }
            assert_eq!(all, ["{\"a\":1}", "two\nlines ü"], "{cut}");
        }
    }

    /// If the time grew with the square of a piece, this test would take many minutes.
    #[test]
    fn many_short_lines_in_one_piece_are_read_at_once() {
        let mut events = Events::default();
        assert!(events.push("data:\n\n:\n".repeat(500_000).as_bytes()));
        assert_eq!(events.next(), None);
        assert!(events.push(b"data: a\ndata: b\n\ndata: c"));
        assert_eq!(events.next().as_deref(), Some("a\nb"));
        assert!(events.push(b"\n\n"));
        assert_eq!(events.next().as_deref(), Some("c"));
        assert_eq!(events.next(), None);
    }

    /// If the time grew with the square of the line, this test would take many hours.
    #[test]
    fn a_long_line_in_many_pieces_is_searched_once() {
        let mut events = Events::default();
        assert!(events.push(b"data: "));
        for _ in 0..400_000 {
            assert!(events.push(b"0123456789"));
            assert_eq!(events.next(), None);
        }
        assert!(events.push(b"\n\n"));
        let length = events.next().map(|data| data.len());
        assert_eq!((length, events.next()), (Some(4_000_000), None));
    }
}
