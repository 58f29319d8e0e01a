//! The streams that the handlers of an agent read. A simple model keeps every chunk and puts the chunks in order,
//! for comparison.

use std::collections::BTreeMap;

use accp_runtime::profiles::InferStream;
use accp_runtime::session::{Ended, Inbound, MemberId, Mid, PiecesInOrder, StreamLimits, Streams};
use accp_runtime::{DecodeError, ErrorCode};
use accp_testkit::Rng;

use super::schemas::REGISTRY;

/// The most open streams of a sender at a handler, and for each stream the most chunks that wait and their most
/// bytes.
const LIMITS: StreamLimits = StreamLimits {
    streams: 3,
    chunks: 2,
    bytes: 40,
};

/// The most frames that wait for earlier ones, for a reader of frames.
const WAITING: usize = 4;

/// The stream that an agent sends.
#[derive(Debug, Clone)]
pub(super) struct Sending {
    pub(super) cid: String,
    pub(super) total: Option<i64>,
    /// The indexes that are still to be sent. They may be out of order, and may occur more than once.
    pub(super) left: Vec<i64>,
    pub(super) last: i64,
}

/// The streams that the handlers of an agent take.
#[derive(Debug)]
pub(super) struct Hearing {
    streams: Streams,
    model: BTreeMap<(MemberId, String), Heard>,
    opened: u64,
    order: PiecesInOrder<u64>,
    ordered: BTreeMap<(MemberId, Mid), Ordered>,
}

/// The frames of a stream in the model of a reader of frames: the next index, and the frames that wait for it.
#[derive(Debug, Default)]
struct Ordered {
    next: i64,
    waiting: BTreeMap<i64, u64>,
}

/// A stream in the model.
#[derive(Debug, Default, Clone)]
struct Heard {
    /// How many streams were opened before this stream.
    opened: u64,
    chunks: BTreeMap<u64, String>,
    /// How many chunks the handler has read.
    taken: u64,
    count: Option<u64>,
    has_final: bool,
}

impl Sending {
    pub(super) fn new(cid: String, rng: &mut Rng) -> Self {
        let last = rng.below(5) as i64;
        let mut left: Vec<_> = (0..=last).collect();
        if rng.per_mille(300) {
            let at = rng.below(left.len() as u64) as usize;
            left.insert(at, left[at]);
        }
        if rng.per_mille(450) {
            let at = rng.below(left.len() as u64) as usize;
            left.swap(0, at);
        }
        Self {
            cid,
            total: rng.per_mille(500).then_some(last + 1),
            left,
            last,
        }
    }

    /// Returns the next chunk, which may have wrong data or wrong numbers.
    pub(super) fn next(&mut self, agent: &str, rng: &mut Rng) -> InferStream<'static> {
        let index = self.left.remove(0);
        let mut chunk = InferStream {
            chunk_index: index,
            total_chunks: self.total,
            data: format!("{agent}_{}_{index} ", self.cid).into(),
            is_final: index == self.last,
        };
        if rng.per_mille(200) {
            chunk.data = "x".repeat(rng.below(50) as usize).into();
        }
        let is_after_the_last = index != self.last && !self.left.contains(&self.last);
        if is_after_the_last && self.total.is_none() && rng.per_mille(250) {
            chunk.total_chunks = Some(self.last + 1 + rng.below(3) as i64);
        } else if rng.per_mille(200) {
            match rng.below(5) {
                0 => chunk.chunk_index = -1,
                1 => chunk.chunk_index = self.last + 1 + rng.below(2) as i64,
                2 => chunk.total_chunks = Some(self.last + rng.below(4) as i64),
                3 => chunk.is_final = !chunk.is_final,
                _ => chunk.total_chunks = None,
            }
        }
        chunk
    }
}

impl Default for Hearing {
    fn default() -> Self {
        Self {
            streams: Streams::new(LIMITS),
            model: BTreeMap::new(),
            opened: 0,
            order: PiecesInOrder::holding(WAITING),
            ordered: BTreeMap::new(),
        }
    }
}

impl Hearing {
    /// Takes a chunk, and checks which chunks the handler can read now. Returns whether the chunk fits the earlier
    /// chunks.
    pub(super) fn take(
        &mut self,
        sender: MemberId,
        cid: &str,
        chunk: &InferStream<'_>,
    ) -> Result<bool, String> {
        let wanted = self.model_takes(sender, cid, chunk);
        let pushed = self.streams.push(sender, cid, chunk);
        let code = pushed.as_ref().map_err(DecodeError::code).err();
        if wanted.err() != code {
            return Err(format!("{chunk:?} gives {pushed:?} and not {wanted:?}"));
        }
        let mut ready = Vec::new();
        if let Some(heard) = self.model.get_mut(&(sender, cid.to_owned())) {
            while let Some(data) = heard.chunks.get(&heard.taken) {
                let is_last = heard.has_final && heard.count == Some(heard.taken + 1);
                ready.push((heard.taken, data.clone(), is_last));
                heard.taken += 1;
            }
        }
        let read = self.streams.ready(sender, cid);
        let read: Vec<_> = read.map(|c| (c.index, c.data, c.is_final)).collect();
        if read != ready {
            return Err(format!("{read:?} is ready and not {ready:?}"));
        }
        Ok(wanted.is_ok())
    }

    /// Takes a frame that is a piece of a stream, and checks which frames a reader gets now.
    pub(super) fn orders(
        &mut self,
        inbound: &Inbound,
        cid: &str,
        index: i64,
    ) -> Result<(), String> {
        let at = inbound.position();
        let key = (inbound.sender(), Mid::parse(cid));
        let of = self.ordered.entry(key).or_default();
        let wanted = if index < of.next || of.waiting.contains_key(&index) {
            Err(at)
        } else {
            of.waiting.insert(index, at);
            let mut ready = Vec::new();
            of.go_on(&mut ready);
            let count = |all: &BTreeMap<_, Ordered>| -> usize {
                all.values().map(|of| of.waiting.len()).sum()
            };
            while count(&self.ordered) > WAITING {
                let all = self.ordered.values_mut();
                let Some(fullest) = all.max_by_key(|of| of.waiting.len()) else {
                    break;
                };
                fullest.next = fullest.waiting.keys().next().copied().unwrap_or_default();
                fullest.go_on(&mut ready);
            }
            Ok(ready)
        };
        let read = self.order.take(&REGISTRY, inbound, at);
        if read == wanted {
            return Ok(());
        }
        Err(format!(
            "{read:?} can be read after {at} and not {wanted:?}"
        ))
    }

    fn model_takes(
        &mut self,
        sender: MemberId,
        cid: &str,
        chunk: &InferStream<'_>,
    ) -> Result<(), ErrorCode> {
        let key = (sender, cid.to_owned());
        let known = self.model.get(&key);
        let mut heard = known.cloned().unwrap_or_default();
        heard.take(chunk)?;
        if known.is_none() {
            let of_sender = self.model.iter().filter(|((of, _), _)| *of == sender);
            if of_sender.clone().count() >= LIMITS.streams {
                let done = of_sender.filter(|(_, heard)| heard.is_done());
                let oldest = done.min_by_key(|(_, heard)| heard.opened);
                let oldest = oldest.map(|(key, _)| key.clone());
                self.model
                    .remove(&oldest.ok_or(ErrorCode::BUDGET_EXCEEDED)?);
            }
            heard.opened = self.opened;
            self.opened += 1;
        }
        self.model.insert(key, heard);
        Ok(())
    }

    /// Ends all streams, and checks which chunks are missing.
    pub(super) fn end_all(&mut self) -> Result<(), String> {
        let mut ordered = std::mem::take(&mut self.ordered);
        if let Some(((sender, chain), of)) = ordered.pop_first() {
            let rest = self.order.rest_of(sender, &chain);
            if !rest.iter().eq(of.waiting.values()) {
                return Err(format!("{rest:?} is the rest of {chain} and not {of:?}"));
            }
        }
        let rest = self.order.rest();
        let wanted = ordered.values().flat_map(|of| of.waiting.values());
        if !rest.iter().eq(wanted) {
            return Err(format!("{rest:?} is the rest and not {ordered:?}"));
        }
        let model = std::mem::take(&mut self.model);
        model.into_iter().try_for_each(|((sender, cid), heard)| {
            let ended = self.streams.end(sender, &cid);
            let ended = ended.ok_or_else(|| format!("nobody knows the stream {cid}"))?;
            if heard.ends_as(&ended) {
                return Ok(());
            }
            Err(format!(
                "the stream {cid} ends as {ended:?} and not as {heard:?}"
            ))
        })
    }
}

impl Ordered {
    fn go_on(&mut self, ready: &mut Vec<u64>) {
        while let Some(at) = self.waiting.remove(&self.next) {
            ready.push(at);
            self.next += 1;
        }
    }
}

impl Heard {
    fn take(&mut self, chunk: &InferStream<'_>) -> Result<(), ErrorCode> {
        let index = u64::try_from(chunk.chunk_index).map_err(|_| ErrorCode::INVALID_TYPE)?;
        let total = chunk.total_chunks.map(u64::try_from).transpose();
        let total = total.map_err(|_| ErrorCode::INVALID_TYPE)?;
        let contradicts = total.is_some_and(|total| {
            total == 0 || total < self.seen() || self.count.is_some_and(|count| count != total)
        });
        let count = self.count.or(total);
        let is_beyond = count.is_some_and(|count| index >= count);
        let is_last = count == Some(index + 1);
        let may_be_final = index + 1 >= self.seen() && (is_last || count.is_none());
        let is_final_wrong = if chunk.is_final {
            !may_be_final
        } else {
            is_last
        };
        if contradicts || is_beyond || is_final_wrong {
            return Err(ErrorCode::INVALID_TYPE);
        }
        if let Some(data) = self.chunks.get(&index) {
            // The data of a chunk that was already read is not compared.
            let is_same = index < self.taken || *data == chunk.data;
            return is_same.then_some(()).ok_or(ErrorCode::INVALID_TYPE);
        }
        let waiting = self.chunks.range(self.taken..);
        let bytes: usize = waiting.clone().map(|(_, data)| data.len()).sum();
        let is_full = waiting.count() == LIMITS.chunks || bytes + chunk.data.len() > LIMITS.bytes;
        if is_full && index != self.taken {
            return Err(ErrorCode::BUDGET_EXCEEDED);
        }
        self.count = if chunk.is_final {
            Some(index + 1)
        } else {
            count
        };
        self.has_final |= chunk.is_final;
        self.chunks.insert(index, chunk.data.to_string());
        Ok(())
    }

    /// Returns one more than the highest index of the chunks that came.
    fn seen(&self) -> u64 {
        self.chunks.last_key_value().map_or(0, |(last, _)| last + 1)
    }

    fn is_done(&self) -> bool {
        self.has_final && self.count == Some(self.taken)
    }

    fn ends_as(&self, ended: &Ended) -> bool {
        let chunks = ended.chunks.iter();
        let is_last = |index: u64| self.has_final && self.count == Some(index + 1);
        let are_marked = chunks.clone().all(|c| c.is_final == is_last(c.index));
        let chunks = chunks.map(|chunk| (chunk.index, chunk.data.clone()));
        let lacks = (0..self.count.unwrap_or_else(|| self.seen()))
            .filter(|index| !self.chunks.contains_key(index));
        let lacks: Vec<_> = lacks.collect();
        let missing: Vec<_> = ended.missing.iter().cloned().flatten().collect();
        are_marked
            && chunks.collect::<BTreeMap<_, _>>() == self.chunks.clone().split_off(&self.taken)
            && missing == lacks
            && ended.has_final == self.has_final
            && ended.is_complete() == (self.has_final && lacks.is_empty())
    }
}
