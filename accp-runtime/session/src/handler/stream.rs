//! Streams, with their chunks in the order in which they were made (draft section 10.4).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::log::mid::MemberId;
use accp_frame::profiles::InferStream;
use accp_frame::{DecodeError, ErrorCode};

/// Puts the chunks of streams in order. A stream is known by its sender and by the `cid` that all
/// its chunks share.
///
/// A chunk waits here until all chunks before it have come and the caller takes it out. The number
/// of waiting chunks is bounded. A chunk over the bound is refused and not lost silently. A chunk
/// that comes twice counts once.
///
/// ```
/// use accp_runtime::Typed;
/// use accp_runtime::profiles::InferStream;
/// use accp_runtime::session::{MemberId, StreamLimits, Streams};
///
/// let mut streams = Streams::new(StreamLimits::default());
/// let mut said = String::new();
/// for text in [
///     "@s>stream:infer{idx:1|d:_world|schema:ST}[mid:101000001001,seq:1,cid:abc]",
///     "@s>stream:infer{idx:0|d:Hello|schema:ST}[mid:101000001002,seq:2,cid:abc]",
///     "@s>stream:infer{idx:2|d:!|done:true|schema:ST}[mid:101000001003,seq:3,cid:abc]",
/// ] {
///     let chunk = Typed::<InferStream>::decode(text)?.frame;
///     streams.push(MemberId::HOST, "abc", &chunk)?;
///     said.extend(streams.ready(MemberId::HOST, "abc").map(|chunk| chunk.data));
/// }
/// assert_eq!(said, "Hello world!");
///
/// let ended = streams.end(MemberId::HOST, "abc").expect("it was open");
/// assert!(ended.is_complete());
/// # Ok::<(), accp_runtime::DecodeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Streams {
    limits: StreamLimits,
    senders: BTreeMap<MemberId, BTreeMap<String, Stream>>,
    /// The number of streams that have been opened.
    opened: u64,
}

/// Bounds on streams and their waiting chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// Streams of one sender: 8 by default.
    pub streams: usize,
    /// Chunks of one stream: 256 by default.
    pub chunks: usize,
    /// Bytes of the chunks of one stream: 256 KiB by default.
    pub bytes: usize,
}

/// A chunk of a stream, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The place of the chunk in the stream, from 0.
    pub index: u64,
    /// The data of the chunk.
    pub data: String,
    /// True if the chunk is the last one.
    pub is_final: bool,
}

/// The rest of a stream at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The chunks that had not been taken out, ascending, with gaps where chunks are missing.
    pub chunks: Vec<Chunk>,
    /// The indexes that never came, as far as the other chunks tell, ascending.
    pub missing: Vec<Range<u64>>,
    /// True if the final chunk came.
    pub has_final: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Stream {
    /// The number of streams that were opened before this one.
    opened: u64,
    /// The index of the next chunk to take out.
    next: u64,
    /// The first index, from `next` on, that has not come.
    missing: u64,
    /// The number of chunks in the whole stream, once a chunk gives this number.
    count: Option<u64>,
    has_final: bool,
    chunks: BTreeMap<u64, String>,
    bytes: usize,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            streams: 8,
            chunks: 256,
            bytes: 256 * 1024,
        }
    }
}

impl Streams {
    /// Makes an empty set of streams.
    pub const fn new(limits: StreamLimits) -> Self {
        Self {
            limits,
            senders: BTreeMap::new(),
            opened: 0,
        }
    }

    /// Takes a chunk of the stream that `sender` sends under `cid`.
    ///
    /// The bounds do not hold for the one chunk that all others wait for, once the ready chunks have been taken out:
    /// otherwise a stream could stop for good. If a sender opens too many streams, its oldest finished stream is
    /// forgotten.
    ///
    /// # Errors
    /// E1004 when the chunk contradicts another one: other data at its index, another number of chunks, another final
    /// chunk, an index beyond the final chunk, or no `is_final` at the last index. E2003 over a bound. Then nothing
    /// has changed.
    pub fn push(
        &mut self,
        sender: MemberId,
        cid: &str,
        chunk: &InferStream<'_>,
    ) -> Result<(), DecodeError> {
        let streams = self.senders.get(&sender);
        let known = streams.and_then(|streams| streams.get(cid));
        let fresh = match known {
            Some(stream) => stream.check(chunk, self.limits)?,
            None => Stream::default().check(chunk, self.limits)?,
        };
        let Some(fresh) = fresh else {
            return Ok(());
        };
        if known.is_none() {
            if streams.map_or(0, BTreeMap::len) >= self.limits.streams {
                self.make_room(sender)?;
            }
            let stream = Stream {
                opened: self.opened,
                ..Stream::default()
            };
            self.opened += 1;
            let streams = self.senders.entry(sender).or_default();
            streams.insert(cid.into(), stream);
        }
        if let Some(stream) = self.stream(sender, cid) {
            stream.take(fresh, chunk);
        }
        Ok(())
    }

    /// Takes out the chunks that are ready, in order. Chunks that the caller does not ask for stay.
    pub fn ready(&mut self, sender: MemberId, cid: &str) -> impl Iterator<Item = Chunk> {
        let mut stream = self.stream(sender, cid);
        std::iter::from_fn(move || stream.as_mut()?.next_ready())
    }

    /// Closes a stream, at the frame `end` of its sender or when its chain is cancelled. Returns
    /// the rest of the stream, or `None` when there is no such stream.
    pub fn end(&mut self, sender: MemberId, cid: &str) -> Option<Ended> {
        let streams = self.senders.get_mut(&sender)?;
        let stream = streams.remove(cid)?;
        if streams.is_empty() {
            self.senders.remove(&sender);
        }
        Some(stream.end())
    }

    fn stream(&mut self, sender: MemberId, cid: &str) -> Option<&mut Stream> {
        self.senders.get_mut(&sender)?.get_mut(cid)
    }

    /// Forgets the oldest finished stream of a sender.
    fn make_room(&mut self, sender: MemberId) -> Result<(), DecodeError> {
        let streams = self.senders.get_mut(&sender);
        let done = streams.and_then(|streams| {
            let done = streams.iter().filter(|(_, stream)| stream.is_done());
            let (cid, _) = done.min_by_key(|(_, stream)| stream.opened)?;
            let cid = cid.clone();
            streams.remove(&cid)
        });
        if done.is_some() {
            return Ok(());
        }
        let expected = format!("at most {} open streams of a sender", self.limits.streams);
        Err(DecodeError::new(ErrorCode::BUDGET_EXCEEDED, 0, expected))
    }
}

impl Ended {
    /// Returns whether every chunk came.
    pub fn is_complete(&self) -> bool {
        self.has_final && self.missing.is_empty()
    }
}

/// The new facts in a chunk.
#[derive(Clone, Copy)]
struct Fresh {
    index: u64,
    count: Option<u64>,
}

impl Stream {
    /// Returns the new facts in a chunk; `None` when the chunk came before.
    fn check(
        &self,
        chunk: &InferStream<'_>,
        limits: StreamLimits,
    ) -> Result<Option<Fresh>, DecodeError> {
        let Ok(index) = u64::try_from(chunk.chunk_index) else {
            return wrong("chunk_index", "an index from 0");
        };
        let seen = self.seen();
        let count = match chunk.total_chunks.map(u64::try_from) {
            None => self.count,
            Some(Ok(total)) if total >= seen.max(1) && self.count.is_none_or(|c| c == total) => {
                Some(total)
            }
            Some(_) => return wrong("total_chunks", "as many chunks as the others say or tell"),
        };
        if count.is_some_and(|count| index >= count) {
            return wrong("chunk_index", "an index up to the final one");
        }
        let is_last = count.is_some_and(|count| index + 1 == count);
        if chunk.is_final && ((count.is_some() && !is_last) || index + 1 < seen) {
            return wrong("is_final", "the final chunk at the last index");
        }
        if is_last && !chunk.is_final {
            return wrong("is_final", "true at the last index");
        }
        if index < self.next {
            // The chunk has been taken out, so there is no data to compare it with.
            return Ok(None);
        }
        if let Some(data) = self.chunks.get(&index) {
            if *data == chunk.data {
                return Ok(None);
            }
            return wrong("data", "what came before under this index");
        }
        let has_room =
            self.chunks.len() < limits.chunks && self.bytes + chunk.data.len() <= limits.bytes;
        let is_awaited = index == self.next && self.missing == self.next;
        if !has_room && !is_awaited {
            let StreamLimits { chunks, bytes, .. } = limits;
            let expected = format!("at most {chunks} chunks and {bytes} bytes waiting in a stream");
            return Err(DecodeError::new(ErrorCode::BUDGET_EXCEEDED, 0, expected));
        }
        let count = if chunk.is_final {
            Some(index + 1)
        } else {
            count
        };
        Ok(Some(Fresh { index, count }))
    }

    fn take(&mut self, fresh: Fresh, chunk: &InferStream<'_>) {
        let Fresh { index, count } = fresh;
        self.count = count;
        self.has_final |= chunk.is_final;
        self.bytes += chunk.data.len();
        self.chunks.insert(index, String::from(&*chunk.data));
        while self.chunks.contains_key(&self.missing) {
            self.missing += 1;
        }
    }

    fn next_ready(&mut self) -> Option<Chunk> {
        let data = self.chunks.remove(&self.next)?;
        self.bytes -= data.len();
        let chunk = self.chunk(self.next, data);
        self.next += 1;
        Some(chunk)
    }

    fn chunk(&self, index: u64, data: String) -> Chunk {
        let is_final = self.has_final && self.count == Some(index + 1);
        Chunk {
            index,
            data,
            is_final,
        }
    }

    /// Returns one more than the highest index that came.
    fn seen(&self) -> u64 {
        self.chunks
            .last_key_value()
            .map_or(self.next, |(last, _)| last + 1)
    }

    fn is_done(&self) -> bool {
        self.has_final && self.count == Some(self.next)
    }

    fn end(mut self) -> Ended {
        let end = self.count.unwrap_or_else(|| self.seen());
        let mut missing = Vec::new();
        let mut due = self.next;
        for &index in self.chunks.keys().chain([&end]) {
            if due < index {
                missing.push(due..index);
            }
            due = index + 1;
        }
        let chunks = std::mem::take(&mut self.chunks).into_iter();
        let chunks = chunks.map(|(index, data)| self.chunk(index, data));
        Ended {
            chunks: chunks.collect(),
            missing,
            has_final: self.has_final,
        }
    }
}

#[cold]
fn wrong<T>(field: &'static str, expected: &'static str) -> Result<T, DecodeError> {
    let error = DecodeError::new(ErrorCode::INVALID_TYPE, 0, expected);
    Err(error.within(Cow::Borrowed(field)))
}

#[cfg(test)]
mod tests;
