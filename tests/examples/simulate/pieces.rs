//! Checks the numbers of the pieces of streams. The observer keeps every piece and compares all of them (draft
//! section 10.4).

use std::collections::{BTreeMap, VecDeque};

use accp_runtime::session::{MemberId, Mid};
use accp_runtime::{DynamicFrame, Value};

/// The accepted pieces of the open streams, by sender and chain.
#[derive(Debug, Default)]
pub(super) struct Pieces(BTreeMap<(MemberId, Mid), Vec<Piece>>);

/// What a piece says of its stream.
#[derive(Debug, Clone)]
struct Piece {
    index: i64,
    total: Option<i64>,
    is_last: bool,
    /// All params of the piece except for those that give its place in the stream.
    data: String,
}

impl Piece {
    fn of(message: &DynamicFrame<'_>) -> Option<Self> {
        let is_one = message.intent.as_str() == "stream" && message.schema.as_deref() == Some("ST");
        let number = |name| match message.payload.get(name) {
            Some(Value::Integer(number)) => Some(*number),
            _ => None,
        };
        Some(Self {
            index: number("chunk_index").filter(|_| is_one)?,
            total: number("total_chunks"),
            is_last: message.payload.get("is_final") == Some(&Value::Boolean(true)),
            data: data(message),
        })
    }
}

/// The host knows the data of this many of the last pieces of a stream.
const RECENT: usize = 32;

fn data(message: &DynamicFrame<'_>) -> String {
    let places = ["chunk_index", "total_chunks", "is_final"];
    let params = message.payload.iter();
    let data = params.filter(|(key, _)| !places.contains(key));
    let data: Vec<_> = data.map(|(key, value)| format!("{key}={value}")).collect();
    data.join(" ")
}

/// Returns whether pieces with the same index have the same data, as far as the host still knows the earlier piece.
fn repeat(pieces: &[Piece]) -> bool {
    let mut known: VecDeque<&Piece> = VecDeque::new();
    pieces.iter().all(|piece| {
        if let Some(same) = known.iter().find(|known| known.index == piece.index) {
            return same.data == piece.data;
        }
        known.push_back(piece);
        if known.len() > RECENT {
            known.pop_front();
        }
        true
    })
}

/// Returns whether all these pieces can be in one stream.
fn agree(pieces: &[Piece]) -> bool {
    let most = pieces.iter().map(|piece| piece.index).max();
    let lasts: Vec<_> = pieces.iter().filter(|piece| piece.is_last).collect();
    let totals: Vec<_> = pieces.iter().filter_map(|piece| piece.total).collect();
    let fits = |total: &i64| {
        let has_end = most < Some(total - 1) || !lasts.is_empty();
        most < Some(*total) && has_end && lasts.iter().all(|last| last.index == total - 1)
    };
    pieces.iter().all(|piece| piece.index >= 0)
        && totals.windows(2).all(|two| two[0] == two[1])
        && totals.iter().all(fits)
        && lasts.iter().all(|last| Some(last.index) == most)
}

impl Pieces {
    /// Returns whether a message contradicts the pieces that its sender has sent in its chain.
    pub(super) fn contradicts(&self, from: MemberId, message: &DynamicFrame<'_>) -> bool {
        let chain = message.envelope.correlation_id.as_deref().map(Mid::parse);
        let Some(chain) = chain else { return false };
        let before = self.0.get(&(from, chain)).map_or(&[][..], Vec::as_slice);
        if message.intent.as_str() == "end" {
            return !before.is_empty() && !before.iter().any(|piece| piece.is_last);
        }
        Piece::of(message).is_some_and(|piece| {
            let all = [before, &[piece]].concat();
            !agree(&all) || !repeat(&all)
        })
    }

    /// Takes an accepted frame into account.
    pub(super) fn take(&mut self, from: MemberId, chain: &Mid, message: &DynamicFrame<'_>) {
        match message.intent.as_str() {
            "end" | "fail" => drop(self.0.remove(&(from, chain.clone()))),
            "cancel" => self.0.retain(|(_, of), _| of != chain),
            _ => {
                if let Some(piece) = Piece::of(message) {
                    let pieces = self.0.entry((from, chain.clone())).or_default();
                    pieces.push(piece);
                }
            }
        }
    }
}
