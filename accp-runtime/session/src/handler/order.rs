//! Frames that are pieces of streams, in the order of their indexes (draft section 10.4).

use std::collections::BTreeMap;

use accp_frame::{Limits, Registry};

use crate::gate::profile::StreamPiece;
use crate::interface::inbound::Inbound;
use crate::log::mid::{MemberId, Mid};
use crate::wire::scan::Scanned;

/// The greatest number of bytes of the waiting frames.
const BYTES: usize = 1 << 20;
/// The greatest number of waiting frames by default.
const FRAMES: usize = 256;
/// The greatest number of streams that are remembered without a waiting piece.
const STREAMS: usize = 256;

/// Puts pieces of streams in order for a reader of frames. The log has them in the order in which they
/// arrived; a reader buffers and reorders them by their index. A stream is known by its sender and its chain.
///
/// The reader hands in each frame that is a piece, together with any data that it wants back (`T`), and gets what
/// can be read now. If two pieces have the same index, only the first one counts. A piece waits until all pieces
/// before it have been read. At the end of the stream the reader asks for the [`rest`](Self::rest).
///
/// At most 256 frames wait, with at most 1 MiB together ([`holding`](Self::holding)). Over that, the stream with
/// the most waiting frames continues without the piece that it lacks, so a reader never waits for ever. If that
/// piece comes later, it does not count; the indexes in the frames show the gap. Of the streams without a waiting
/// piece, the last 256 are remembered.
///
/// [`Streams`](crate::Streams) does this for the data of typed pieces, and can refuse a piece.
///
/// ```
/// use std::sync::Arc;
/// use accp_runtime::Registry;
/// use accp_runtime::session::{CancelToken, Inbound, MemberId, PiecesInOrder};
///
/// let registry = Registry::standard();
/// let mut order = PiecesInOrder::new();
/// let mut read = |at, text: &'static str| {
///     let inbound = Inbound::new(at, MemberId::HOST, Arc::from(text), CancelToken::new());
///     order.take(&registry, &inbound, at)
/// };
/// let second = "@s>stream:infer{idx:1|d:world|schema:ST}[mid:101000001001,seq:1,cid:abc]";
/// let first = "@s>stream:infer{idx:0|d:Hello|schema:ST}[mid:101000001002,seq:2,cid:abc]";
/// assert_eq!(read(7, second), Ok(vec![]));
/// assert_eq!(read(8, first), Ok(vec![8, 7]));
/// assert_eq!(read(9, first), Err(9)); // it came before
/// ```
#[derive(Debug, Clone)]
pub struct PiecesInOrder<T> {
    most: usize,
    /// The number of streams that have begun.
    begun: u64,
    streams: BTreeMap<(MemberId, Mid), Stream<T>>,
}

#[derive(Debug, Clone)]
struct Stream<T> {
    /// The number of streams that began before this one.
    number: u64,
    /// The index of the next piece to read.
    next: i64,
    /// The waiting pieces by their indexes, each with the number of its bytes.
    waiting: BTreeMap<i64, (usize, T)>,
}

impl<T> Default for PiecesInOrder<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> PiecesInOrder<T> {
    /// Makes an order in which no piece waits.
    pub const fn new() -> Self {
        Self::holding(FRAMES)
    }

    /// As [`new`](Self::new), with at most this many pieces that wait.
    pub const fn holding(most: usize) -> Self {
        Self {
            most,
            begun: 0,
            streams: BTreeMap::new(),
        }
    }

    /// Takes a piece, and returns what can be read now, in order. A frame that has no place in a stream, because
    /// its schema gives it no index, can be read at once.
    ///
    /// # Errors
    /// The piece itself, when an earlier piece has the same index.
    pub fn take(&mut self, registry: &Registry, inbound: &Inbound, piece: T) -> Result<Vec<T>, T> {
        let Some((chain, index)) = place(registry, inbound) else {
            return Ok(vec![piece]);
        };
        let key = (inbound.sender(), chain);
        if !self.streams.contains_key(&key) {
            self.make_room();
            self.begun += 1;
        }
        let begun = self.begun;
        let stream = self.streams.entry(key).or_insert_with(|| Stream {
            number: begun,
            next: 0,
            waiting: BTreeMap::new(),
        });
        if index < stream.next || stream.waiting.contains_key(&index) {
            return Err(piece);
        }
        stream.waiting.insert(index, (inbound.text().len(), piece));
        let mut ready = Vec::new();
        stream.go_on(&mut ready);
        while self.waiting() > self.most || self.bytes() > BYTES {
            let fullest = self.streams.values_mut();
            let Some(fullest) = fullest.max_by_key(|stream| stream.waiting.len()) else {
                break;
            };
            fullest.skip();
            fullest.go_on(&mut ready);
        }
        Ok(ready)
    }

    /// Returns whether this piece is the first that arrives of its stream but not the first piece of the stream.
    /// The earlier pieces may have been read before this order was made.
    pub fn may_go_on(&self, registry: &Registry, inbound: &Inbound) -> bool {
        let place = place(registry, inbound);
        place.is_some_and(|(chain, index)| {
            index > 0 && !self.streams.contains_key(&(inbound.sender(), chain))
        })
    }

    /// Removes and returns the waiting pieces of all streams, each stream in its order, because no more pieces will
    /// come. The indexes of the frames show what is missing.
    pub fn rest(&mut self) -> Vec<T> {
        let streams = std::mem::take(&mut self.streams);
        let waiting = streams.into_values().flat_map(|stream| stream.waiting);
        waiting.map(|(_, (_, piece))| piece).collect()
    }

    /// As [`rest`](Self::rest), for one stream, which its sender has ended.
    pub fn rest_of(&mut self, sender: MemberId, chain: &Mid) -> Vec<T> {
        let stream = self.streams.get_mut(&(sender, chain.clone()));
        let mut rest = Vec::new();
        if let Some(stream) = stream {
            while !stream.waiting.is_empty() {
                stream.skip();
                stream.go_on(&mut rest);
            }
        }
        rest
    }

    /// Removes and returns the waiting pieces that are no longer wanted.
    pub fn drop_if(&mut self, mut is_over: impl FnMut(&T) -> bool) -> Vec<T> {
        let mut over = Vec::new();
        for stream in self.streams.values_mut() {
            for (index, held) in std::mem::take(&mut stream.waiting) {
                if is_over(&held.1) {
                    over.push(held.1);
                } else {
                    stream.waiting.insert(index, held);
                }
            }
        }
        over
    }

    /// Returns how many pieces wait.
    pub fn waiting(&self) -> usize {
        self.streams
            .values()
            .map(|stream| stream.waiting.len())
            .sum()
    }

    /// Forgets the oldest stream without a waiting piece, if there are many streams.
    fn make_room(&mut self) {
        let quiet = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.waiting.is_empty());
        let oldest = quiet.min_by_key(|(_, stream)| stream.number);
        if self.streams.len() >= STREAMS
            && let Some((key, _)) = oldest
        {
            let key = key.clone();
            self.streams.remove(&key);
        }
    }

    fn bytes(&self) -> usize {
        let waiting = self
            .streams
            .values()
            .flat_map(|stream| stream.waiting.values());
        waiting.map(|(bytes, _)| bytes).sum()
    }
}

impl<T> Stream<T> {
    /// Takes out what can be read now.
    fn go_on(&mut self, ready: &mut Vec<T>) {
        while let Some((_, piece)) = self.waiting.remove(&self.next) {
            ready.push(piece);
            self.next = self.next.saturating_add(1);
        }
    }

    /// Gives up the pieces before the first that waits.
    fn skip(&mut self) {
        if let Some((first, _)) = self.waiting.first_key_value() {
            self.next = *first;
        }
    }
}

/// Returns the chain of a piece and its index in the stream.
fn place(registry: &Registry, inbound: &Inbound) -> Option<(Mid, i64)> {
    let frame = Scanned::new(inbound.text(), Limits::NONE).ok()?;
    let schema = frame.schema_in(registry)?;
    let names = schema.rules.sequence.as_ref()?;
    let message = frame.message(registry)?;
    let piece = StreamPiece::of(&message, names)?;
    Some((frame.cid()?.clone(), piece.index))
}
