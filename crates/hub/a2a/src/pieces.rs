//! The pieces of the streams of a task, in the order of their indexes (draft section 10.4).

use std::sync::Arc;

use accp_frame::Registry;
use accp_session::{CancelToken, Entry, Inbound, PiecesInOrder};

use crate::course::Step;

/// Holds back pieces that lack one before them. All else of the task passes.
pub(crate) struct Pieces {
    registry: Arc<Registry>,
    order: PiecesInOrder<Entry>,
}

impl Pieces {
    pub(crate) fn new(registry: &Arc<Registry>) -> Self {
        Self {
            registry: Arc::clone(registry),
            order: PiecesInOrder::new(),
        }
    }

    /// Takes the next frame of the task, and returns what a client is told of now: none if it waits or came before,
    /// and before the end of the task the pieces that have waited for others.
    pub(crate) fn take(&mut self, entry: Entry, step: Step) -> Vec<(Entry, Step)> {
        let pieces = match step {
            Step::Mine | Step::Said => return vec![(entry, step)],
            Step::Answer | Step::Failure | Step::Cancel => self.order.rest(),
            Step::Piece => {
                let text = Arc::clone(&entry.text);
                let token = CancelToken::new();
                let inbound = Inbound::new(entry.position, entry.sender, text, token);
                let ready = self.order.take(&self.registry, &inbound, entry);
                return of_pieces(ready.unwrap_or_default()).collect();
            }
        };
        of_pieces(pieces).chain([(entry, step)]).collect()
    }
}

fn of_pieces(pieces: Vec<Entry>) -> impl Iterator<Item = (Entry, Step)> {
    pieces.into_iter().map(|piece| (piece, Step::Piece))
}
