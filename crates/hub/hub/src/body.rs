//! Frames from a request body that comes in chunks.

use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use futures_util::{StreamExt as _, stream};
use tokio::time::{Instant, timeout_at};

use crate::answer::Refused;
use crate::config::Limits;
use crate::rates::Reservation;

/// The longest pause between two frames of a stream.
const PAUSE: Duration = Duration::from_secs(300);
/// How many times a chunk that ends with `]` is parsed to see whether its frame is complete. After that the frame
/// ends at the end of its line, before the next frame, or at the end of the body.
const TRIES: u32 = 64;

/// Splits a body into frames, which the client sends as chunks or lines. A server may get a long chunk in several
/// pieces and two short chunks in one. So a frame ends where its text ends: before the `@` of the next frame, at the
/// end of a line, or at the end of the body.
pub(crate) struct BodyFrames {
    body: BodyDataStream,
    held: Vec<u8>,
    /// How many bytes of `held` were searched without finding the end of a frame.
    seen: usize,
    /// How many times these bytes were parsed and were not a complete frame.
    tries: u32,
    limit: usize,
    /// How long one frame may take.
    patience: Duration,
    /// When the next frame has to be complete.
    due: Instant,
    /// The longest pause inside a long body.
    rest: Duration,
    /// The quota of the caller for bytes in transit.
    quota: Reservation,
    is_first: bool,
    has_ended: bool,
}

impl BodyFrames {
    /// Reads a body of frames. The limits bound the size and the time of each frame.
    pub(crate) fn new(body: Body, limits: &Limits, quota: Reservation) -> Self {
        let time = Duration::from_secs(limits.body_seconds);
        Self::within(body, limits.frame, time, time, quota)
    }

    /// Reads a body of at most `length` bytes. The time for it grows with each MiB of `length`.
    pub(crate) fn value(body: Body, length: usize, limits: &Limits, quota: Reservation) -> Self {
        let share = u32::try_from(length >> 20)
            .unwrap_or(u32::MAX)
            .saturating_add(1);
        let rest = Duration::from_secs(limits.body_seconds);
        Self::within(body, length, rest.saturating_mul(share), rest, quota)
    }

    fn within(
        body: Body,
        limit: usize,
        patience: Duration,
        rest: Duration,
        quota: Reservation,
    ) -> Self {
        Self {
            body: body.into_data_stream(),
            held: Vec::new(),
            seen: 0,
            tries: 0,
            limit,
            patience,
            due: Instant::now() + patience,
            rest,
            quota,
            is_first: true,
            has_ended: false,
        }
    }

    /// Discards the rest of the body.
    pub(crate) fn end(&mut self) {
        self.body = Body::empty().into_data_stream();
        self.held.clear();
        self.has_ended = true;
    }

    /// Returns the next frame; `None` at the end of the body.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Refused> {
        let is_first = std::mem::take(&mut self.is_first);
        if !is_first {
            let time = if self.held.is_empty() {
                PAUSE
            } else {
                self.patience
            };
            self.due = Instant::now() + time;
        }
        loop {
            if let Some(frame) = self.take() {
                return Ok(Some(frame));
            }
            if self.held.len() > self.limit {
                return Err(Refused::too_long(self.limit));
            }
            if self.has_ended {
                return Ok(None);
            }
            let was_empty = self.held.is_empty();
            let late = if was_empty && !is_first {
                ("another frame", PAUSE)
            } else {
                ("a whole frame", self.patience)
            };
            self.more(self.due, late).await?;
            if was_empty && !self.held.is_empty() {
                // The first bytes of a frame have arrived, so the time limit of the frame begins.
                self.due = self.due.min(Instant::now() + self.patience);
            }
        }
    }

    /// Returns the whole body as one frame. `first` is the part of the body that [`next`](Self::next) has returned.
    pub(crate) async fn whole(mut self, first: Vec<u8>) -> Result<Vec<u8>, Refused> {
        self.held.splice(..0, first);
        loop {
            if self.held.len() > self.limit {
                return Err(Refused::too_long(self.limit));
            }
            if self.has_ended {
                return Ok(std::mem::take(&mut self.held));
            }
            let rests = Instant::now() + self.rest;
            let late = if rests < self.due {
                ("more of the body", self.rest)
            } else {
                ("a whole body", self.patience)
            };
            self.more(self.due.min(rests), late).await?;
        }
    }

    /// Returns the body from its beginning. `first` is the part of the body that [`next`](Self::next) has returned.
    pub(crate) fn restore(self, first: Vec<u8>) -> Body {
        let read = [first, self.held].map(|piece| Ok(Bytes::from(piece)));
        Body::from_stream(stream::iter(read).chain(self.body))
    }

    /// Reads more bytes. `late` says what did not come, and in which time, if nothing comes until `due`.
    async fn more(&mut self, due: Instant, late: (&str, Duration)) -> Result<(), Refused> {
        let piece = timeout_at(due, self.body.next()).await;
        let (expected, time) = late;
        match piece.map_err(|_| Refused::too_slow(expected, time))? {
            Some(Ok(piece)) if self.quota.hold(self.held.len() + piece.len()) => {
                self.held.extend_from_slice(&piece);
            }
            Some(Ok(_)) => return Err(Refused::too_many_bytes()),
            Some(Err(_)) => return Err(Refused::invalid("a body that ends")),
            None => self.has_ended = true,
        }
        Ok(())
    }

    /// Takes the first complete frame out of the bytes that have arrived; `None` if there is none yet.
    fn take(&mut self) -> Option<Vec<u8>> {
        let start = self
            .held
            .iter()
            .position(|byte| !byte.is_ascii_whitespace());
        self.held.drain(..start.unwrap_or(self.held.len()));
        start?;
        // A body may come byte by byte, so each byte is searched only once.
        let from = self.seen.saturating_sub(1);
        let new = &self.held[from..];
        let lines = new.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let behind = new.windows(2).position(|pair| pair == b"]@");
        let ends = [lines, behind.map(|at| at + 1)].into_iter().flatten();
        let end = ends.map(|end| from + end).chain(self.next_head(from)).min();
        self.seen = self.held.len();
        let end = end.or_else(|| self.end_of_all())?;
        (self.seen, self.tries) = (0, 0);
        Some(self.held.drain(..end).collect())
    }

    /// Returns where the next frame begins after input that is not a frame: at the `@` of `@agent>`. Inside a frame,
    /// a backslash stands before each `@`. The search needs a `>` at `from` or later, because all heads that end
    /// before `from` were found earlier.
    fn next_head(&self, from: usize) -> Option<usize> {
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let ends = (from..self.held.len()).filter(|at| self.held[*at] == b'>');
        let mut heads = ends.filter_map(|end| {
            let name = self.held[..end]
                .iter()
                .rev()
                .take_while(|byte| is_name(byte));
            let start = end.checked_sub(name.count() + 1)?;
            let is_escaped = start > 0 && self.held[start - 1] == b'\\';
            (self.held[start] == b'@' && !is_escaped).then_some(start)
        });
        heads.find(|start| *start > 0)
    }

    /// Returns where the first frame ends, if the bytes so far are a complete frame. Bytes that cannot be a frame end
    /// before the next `@`, or with the last byte. `None` if the next chunk may go on with the same frame.
    fn end_of_all(&mut self) -> Option<usize> {
        let all = self.held.len();
        if self.has_ended {
            return Some(all);
        }
        if !self.held.starts_with(b"@") {
            let head = self.held.iter().position(|byte| *byte == b'@');
            return Some(head.unwrap_or(all));
        }
        if !self.held.ends_with(b"]") || self.tries == TRIES {
            return None;
        }
        self.tries += 1;
        let parsed = accp_frame::Frame::parse_bytes(&self.held);
        parsed.is_ok().then_some(all)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn quota() -> Reservation {
        let open = std::sync::Arc::new(crate::rates::Quota::new(usize::MAX));
        open.reservation(&"dev".into())
    }

    async fn split(pieces: &[&str], limit: usize) -> Result<Vec<String>, Refused> {
        let chunks = pieces
            .iter()
            .map(|piece| Ok::<_, std::io::Error>(Bytes::from(piece.to_string())));
        let body = Body::from_stream(stream::iter(chunks.collect::<Vec<_>>()));
        let limits = Limits {
            frame: limit,
            ..Limits::default()
        };
        let mut reader = BodyFrames::new(body, &limits, quota());
        let mut frames = Vec::new();
        while let Some(frame) = reader.next().await? {
            frames.push(String::from_utf8(frame).expect("text"));
        }
        Ok(frames)
    }

    #[tokio::test]
    async fn frames_come_out_whole_however_their_chunks_were_cut() {
        let frames = [
            "@s>stream:infer{idx:0|d:a]b|schema:ST}[mid:100000001001,seq:1]",
            "@s>stream:infer{idx:1|d:\\@x|schema:ST}[mid:100000001002,seq:2]",
            "@s>stream:infer{idx:2|l:[a,b]|schema:ST}[mid:100000001003,seq:3]",
        ];
        let all = frames.concat();
        for cut in 0..all.len() {
            let (a, b) = all.split_at(cut);
            assert_eq!(
                split(&[a, b], 1000).await.expect("frames"),
                frames,
                "cut at {cut}"
            );
        }
        let lines = frames.join("\r\n") + "\n";
        for cut in 0..lines.len() {
            let (a, b) = lines.split_at(cut);
            assert_eq!(
                split(&[a, b], 1000).await.expect("frames"),
                frames,
                "cut at {cut}"
            );
        }
        let error = split(&[&all], 20).await;
        assert!(error.is_ok(), "the limit is for what is not whole yet");
        assert!(
            split(&["@s>stream:infer{d:", &"x".repeat(30)], 40)
                .await
                .is_err()
        );
    }

    #[tokio::test]
    async fn what_is_no_frame_ends_where_the_next_one_begins() {
        let whole = "@s>stream:infer{idx:0|d:\\@x>y|schema:ST}[mid:100000001001,seq:1]";
        for garbage in [
            "x",
            "@s>stream:infer{d:",
            "@s>stream:infer{d:a@b.c",
            "@@",
            "\\",
        ] {
            let all = format!("{garbage}{whole}");
            for cut in garbage.len()..all.len() {
                let (a, b) = all.split_at(cut);
                let found = split(&[a, b], 1000).await.expect("frames");
                assert_eq!(found.concat(), all, "{garbage} cut at {cut}");
                assert_eq!(
                    found.last().map(String::as_str),
                    Some(whole),
                    "{garbage} cut at {cut}"
                );
            }
        }
        // A client may wait for the answer before it sends more. It gets the answer at once.
        let first = stream::iter([Ok::<_, std::io::Error>(Bytes::from("what?"))]);
        let body = Body::from_stream(first.chain(stream::pending()));
        let garbage = BodyFrames::new(body, &Limits::default(), quota())
            .next()
            .now_or_never();
        assert_eq!(
            garbage.expect("no pause").expect("a piece"),
            Some(b"what?".to_vec())
        );
    }

    #[tokio::test]
    async fn a_frame_that_stops_halfway_is_given_up_and_a_pause_between_frames_is_not() {
        let whole = "@s>stream:infer{idx:0|d:x|schema:ST}[mid:100000001001,seq:1]";
        let limits = Limits {
            body_seconds: 0,
            ..Limits::default()
        };
        let stops = |text: String| {
            let first = stream::iter([Ok::<_, std::io::Error>(Bytes::from(text))]);
            BodyFrames::new(
                Body::from_stream(first.chain(stream::pending())),
                &limits,
                quota(),
            )
        };
        let refused = stops(whole[..20].to_owned()).next().await;
        assert_eq!(refused.expect_err("half of a frame").status.as_u16(), 408);

        let mut pause = stops(whole.to_owned());
        assert_eq!(pause.next().await.expect("a frame"), Some(whole.into()));
        assert!(pause.next().now_or_never().is_none(), "the sender may rest");

        let mut half = stops(format!("{whole}\n@s>"));
        assert_eq!(half.next().await.expect("a frame"), Some(whole.into()));
        let refused = half.next().await;
        assert_eq!(refused.expect_err("half of a frame").status.as_u16(), 408);
    }

    #[tokio::test]
    async fn a_body_takes_room_until_it_was_read() {
        let open = std::sync::Arc::new(crate::rates::Quota::new(100));
        let caller = "dev".into();
        let body = |length| Body::from(vec![b'x'; length]);
        let value = |length| {
            BodyFrames::value(
                body(length),
                200,
                &Limits::default(),
                open.reservation(&caller),
            )
        };
        let whole = value(100).whole(Vec::new()).await;
        assert_eq!(whole.expect("a body").len(), 100);
        let mut other = open.reservation(&caller);
        assert!(other.hold(1), "nothing is on its way");
        let refused = value(100).whole(Vec::new()).await.expect_err("no room");
        assert_eq!(refused.status.as_u16(), 429);
        drop(other);
        assert!(value(100).whole(Vec::new()).await.is_ok());
    }

    #[tokio::test]
    async fn a_body_of_single_bytes_is_parsed_a_bounded_number_of_times() {
        let text = format!("@s>stream:infer{{d:{}", "]".repeat(1000));
        let mut frames = BodyFrames::new(Body::empty(), &Limits::default(), quota());
        for byte in text.bytes() {
            frames.held.push(byte);
            assert_eq!(frames.take(), None);
        }
        assert_eq!((frames.tries, frames.seen), (TRIES, text.len()));
        frames.held.extend_from_slice(b"\n@s>");
        assert_eq!(frames.take(), Some(text.into_bytes()));
        assert_eq!((frames.tries, frames.seen), (0, 0));
    }
}
