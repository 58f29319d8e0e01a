//! Cuts a stream into its events, however its bytes arrive.

/// The most bytes that wait for the end of an event.
const MOST: usize = 32 << 20;

/// Cuts a stream into its events.
#[derive(Debug, Default)]
pub(super) struct Events {
    open: Vec<u8>,
    /// Where the first event begins in `open` that was not taken.
    begin: usize,
    /// How many bytes of `open` were searched for an end.
    seen: usize,
}

impl Events {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.open.drain(..self.begin);
        self.seen -= self.begin;
        self.begin = 0;
        self.open.extend_from_slice(bytes);
    }

    /// Returns the next event that has ended, with its end. More than [`MOST`] bytes without an end count as an
    /// event.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        let from = self.seen.saturating_sub(3).max(self.begin);
        let end = self.open.iter().enumerate().skip(from);
        let mut ends = end.filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
        let end = ends.find_map(|at| {
            let rest = self.open.get(at + 1..).unwrap_or_default();
            match rest {
                [b'\n', ..] => Some(at + 2),
                [b'\r', b'\n', ..] => Some(at + 3),
                _ => None,
            }
        });
        let all = self.open.len();
        self.seen = all;
        let end = end.or((all - self.begin > MOST).then_some(all))?;
        let event = self.open.get(self.begin..end).map(<[u8]>::to_vec);
        (self.begin, self.seen) = (end, end);
        event
    }

    /// Returns the bytes of an event that has not ended.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        let rest = self.open.split_off(self.begin);
        *self = Self::default();
        rest
    }
}

/// Returns the data of an event.
pub(super) fn data(event: &[u8]) -> Vec<u8> {
    let lines = event.split(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| line.strip_prefix(b"data:"));
    let lines: Vec<&[u8]> = lines.map(<[u8]>::trim_ascii).collect();
    lines.join(&b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_any_pieces() {
        let stream = b"event: a\ndata: {\"x\":\ndata: 1}\n\ndata: 2\r\n\r\n: ping\n\ndata: 3";
        for step in [1, 2, 7, 99] {
            let mut events = Events::default();
            let mut all = Vec::new();
            for piece in stream.chunks(step) {
                events.push(piece);
                while let Some(event) = events.take() {
                    all.push(String::from_utf8(data(&event)).unwrap());
                }
            }
            assert_eq!(all, ["{\"x\":\n1}", "2", ""], "{step}");
            assert_eq!(events.rest(), b"data: 3");
        }
    }

    /// If the time grew with the square of a piece, this test would take many minutes.
    #[test]
    fn many_short_events_in_one_piece_are_taken_at_once() {
        let mut events = Events::default();
        events.push(&b"\n".repeat(4_000_001));
        let mut count = 0;
        while let Some(event) = events.take() {
            assert_eq!(event, b"\n\n");
            count += 1;
        }
        assert_eq!((count, events.rest()), (2_000_000, b"\n".to_vec()));
        // A piece may come before all events of the last one are taken.
        events.push(b"a\n\nb\n\nc");
        assert_eq!(events.take().as_deref(), Some(&b"a\n\n"[..]));
        events.push(b"\n\n");
        assert_eq!(events.take().as_deref(), Some(&b"b\n\n"[..]));
        assert_eq!(events.take().as_deref(), Some(&b"c\n\n"[..]));
        assert_eq!((events.take(), events.rest()), (None, Vec::new()));
    }
}
