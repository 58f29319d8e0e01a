//! The streams of an agent, with a model that puts chunks in order as simply as possible.

use std::collections::BTreeMap;

use accp_runtime::ErrorCode;
use accp_runtime::profiles::InferStream;
use accp_runtime::session::{Ended, MemberId, StreamLimits, Streams};
use accp_testkit::Rng;

/// Streams of a sender that may be open at a handler.
const OPEN: usize = 3;

/// The stream that an agent sends.
#[derive(Debug, Clone)]
pub(super) struct Sending {
    pub(super) cid: String,
    pub(super) total: Option<i64>,
    /// The indexes still to be sent. They may be out of order, and come more than once.
    pub(super) left: Vec<i64>,
    pub(super) last: i64,
}

/// The streams that the handlers of an agent take.
#[derive(Debug)]
pub(super) struct Hearing {
    streams: Streams,
    model: BTreeMap<(MemberId, String), Heard>,
}

/// A stream, as the model has it.
#[derive(Debug, Default)]
struct Heard {
    chunks: BTreeMap<u64, String>,
    /// The number of chunks that were taken out.
    taken: u64,
    total: Option<u64>,
    has_final: bool,
}

impl Sending {
    pub(super) fn new(cid: String, rng: &mut Rng) -> Self {
        let last = rng.below(4) as i64;
        let mut left: Vec<_> = (0..=last).collect();
        if rng.per_mille(300) {
            let at = rng.below(left.len() as u64) as usize;
            left.insert(at, left[at]);
        }
        if rng.per_mille(300) {
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
}

impl Default for Hearing {
    fn default() -> Self {
        let limits = StreamLimits {
            streams: OPEN,
            ..StreamLimits::default()
        };
        Self {
            streams: Streams::new(limits),
            model: BTreeMap::new(),
        }
    }
}

impl Hearing {
    /// Takes a chunk, and checks what it can read by now.
    pub(super) fn take(
        &mut self,
        sender: MemberId,
        cid: &str,
        chunk: &InferStream<'_>,
    ) -> Result<(), String> {
        let of_sender = self.model.iter().filter(|((of, _), _)| *of == sender);
        let open = of_sender.clone().filter(|(_, heard)| !heard.is_done());
        let (all, open) = (of_sender.clone().count(), open.count());
        let key = (sender, cid.to_owned());
        let is_known = self.model.contains_key(&key);
        if let Err(error) = self.streams.push(sender, cid, chunk) {
            if is_known || open < OPEN || error.code() != ErrorCode::BUDGET_EXCEEDED {
                return Err(format!("chunk {} is refused: {error}", chunk.chunk_index));
            }
            return Ok(());
        }
        if !is_known && all >= OPEN {
            if open >= OPEN {
                return Err(format!("{open} streams are open and one more is taken"));
            }
            // A finished stream made room. It is not known here which one.
            let is_left =
                |streams: &mut Streams, cid: &str| streams.clone().end(sender, cid).is_some();
            let streams = &mut self.streams;
            self.model.retain(|(of, cid), heard| {
                *of != sender || !heard.is_done() || is_left(streams, cid)
            });
        }
        let heard = self.model.entry(key).or_default();
        heard.total = heard.total.or(chunk.total_chunks.map(|total| total as u64));
        heard.has_final |= chunk.is_final;
        let index = chunk.chunk_index as u64;
        heard.chunks.insert(index, chunk.data.to_string());
        let mut ready = String::new();
        while let Some(data) = heard.chunks.get(&heard.taken) {
            ready.push_str(data);
            heard.taken += 1;
        }
        let read: String = self
            .streams
            .ready(sender, cid)
            .map(|chunk| chunk.data)
            .collect();
        if read != ready {
            return Err(format!("{read:?} is ready and not {ready:?}"));
        }
        Ok(())
    }

    /// Ends all streams, and checks what they lack.
    pub(super) fn end_all(&mut self) -> Result<(), String> {
        let open: Vec<_> = self.model.keys().cloned().collect();
        open.into_iter().try_for_each(|(sender, cid)| {
            let ended = self.end(sender, &cid);
            ended.map_err(|why| format!("the stream {cid}: {why}"))
        })
    }

    fn end(&mut self, sender: MemberId, cid: &str) -> Result<(), String> {
        let heard = self.model.remove(&(sender, cid.to_owned()));
        let heard = heard.unwrap_or_default();
        let Some(ended) = self.streams.end(sender, cid) else {
            return Err("nobody knows it".into());
        };
        let Ended {
            chunks,
            missing,
            has_final,
        } = &ended;
        let chunks = chunks.iter().map(|chunk| (chunk.index, chunk.data.clone()));
        let rest = heard.chunks.clone().split_off(&heard.taken);
        let lacks: Vec<_> = (0..heard.count())
            .filter(|index| !heard.chunks.contains_key(index))
            .collect();
        let missing: Vec<_> = missing.iter().cloned().flatten().collect();
        let is_right = chunks.collect::<BTreeMap<_, _>>() == rest
            && missing == lacks
            && *has_final == heard.has_final
            && ended.is_complete() == heard.is_done();
        if is_right {
            return Ok(());
        }
        Err(format!("it ends as {ended:?} and not as {heard:?}"))
    }
}

impl Heard {
    /// Returns the number of chunks, as far as those that came tell.
    fn count(&self) -> u64 {
        let seen = self.chunks.last_key_value().map_or(0, |(last, _)| last + 1);
        self.total.unwrap_or(seen)
    }

    fn is_done(&self) -> bool {
        self.has_final && self.chunks.len() as u64 == self.count()
    }
}
