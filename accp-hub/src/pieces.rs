//! Frames of a body that comes in chunks.

use axum::body::{Body, BodyDataStream, Bytes};
use futures_util::{StreamExt as _, stream};

use crate::answer::Refused;

/// Takes a body apart into frames: one a chunk, or one a line. A server hears a long chunk in several
/// pieces and two short ones in one, so a frame ends where its text ends: before the `@` of the next
/// frame, at the end of a line, or at the end of the body.
pub(crate) struct Pieces {
    body: BodyDataStream,
    held: Vec<u8>,
    limit: usize,
    has_ended: bool,
}

impl Pieces {
    /// Takes a body whose frames have `limit` bytes at most.
    pub(crate) fn new(body: Body, limit: usize) -> Self {
        Self {
            body: body.into_data_stream(),
            held: Vec::new(),
            limit,
            has_ended: false,
        }
    }

    /// Returns the next frame; `None` at the end of the body.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Refused> {
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
            self.more().await?;
        }
    }

    /// Returns the whole body as one frame, with what [`next`](Self::next) has returned of it.
    pub(crate) async fn whole(mut self, first: Vec<u8>) -> Result<Vec<u8>, Refused> {
        let mut whole = first;
        loop {
            whole.append(&mut self.held);
            if whole.len() > self.limit {
                return Err(Refused::too_long(self.limit));
            }
            if self.has_ended {
                return Ok(whole);
            }
            self.more().await?;
        }
    }

    /// Returns the body from its beginning, with what [`next`](Self::next) has returned of it.
    pub(crate) fn restore(self, first: Vec<u8>) -> Body {
        let read = [first, self.held].map(|piece| Ok(Bytes::from(piece)));
        Body::from_stream(stream::iter(read).chain(self.body))
    }

    async fn more(&mut self) -> Result<(), Refused> {
        match self.body.next().await {
            Some(Ok(piece)) => self.held.extend_from_slice(&piece),
            Some(Err(_)) => return Err(Refused::invalid("a body that ends")),
            None => self.has_ended = true,
        }
        Ok(())
    }

    /// Takes a frame that is here as a whole.
    fn take(&mut self) -> Option<Vec<u8>> {
        let start = self
            .held
            .iter()
            .position(|byte| !byte.is_ascii_whitespace())?;
        self.held.drain(..start);
        let lines = self
            .held
            .iter()
            .position(|byte| matches!(byte, b'\n' | b'\r'));
        let next = self
            .held
            .windows(2)
            .position(|pair| pair == b"]@")
            .map(|at| at + 1);
        let end = match (lines, next) {
            (Some(line), Some(next)) => line.min(next),
            (line, next) => line
                .or(next)
                .or_else(|| self.is_whole().then_some(self.held.len()))?,
        };
        Some(self.held.drain(..end).collect())
    }

    /// Returns whether what is here is a frame to its end. Only then can the next chunk begin a new one.
    fn is_whole(&self) -> bool {
        self.has_ended
            || self.held.ends_with(b"]") && accp_runtime::Frame::parse_bytes(&self.held).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn split(pieces: &[&str], limit: usize) -> Result<Vec<String>, Refused> {
        let chunks = pieces
            .iter()
            .map(|piece| Ok::<_, std::io::Error>(Bytes::from(piece.to_string())));
        let body = Body::from_stream(stream::iter(chunks.collect::<Vec<_>>()));
        let mut pieces = Pieces::new(body, limit);
        let mut frames = Vec::new();
        while let Some(frame) = pieces.next().await? {
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
}
