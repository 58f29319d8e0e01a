//! The pieces of the streams of a task, in the order of their indexes (draft section 10.4).

use std::sync::Arc;

use accp_frame::Registry;
use accp_session::{CancelToken, Entry, Inbound, PiecesInOrder};

use crate::task::FrameRole;

/// Holds back each piece until all earlier pieces of its stream have come. Other frames pass at once.
pub(crate) struct StreamOrder {
    registry: Arc<Registry>,
    order: PiecesInOrder<Entry>,
}

impl StreamOrder {
    pub(crate) fn new(registry: &Arc<Registry>) -> Self {
        Self {
            registry: Arc::clone(registry),
            order: PiecesInOrder::new(),
        }
    }

    /// Takes the next frame of the task, and returns the frames that the client gets now. For a piece that has to
    /// wait, or that is a repetition, this returns no frames. The end of the task releases the pieces that wait.
    pub(crate) fn take(&mut self, entry: Entry, role: FrameRole) -> Vec<(Entry, FrameRole)> {
        let pieces = match role {
            FrameRole::Client | FrameRole::Agent => return vec![(entry, role)],
            FrameRole::Answer | FrameRole::Failure | FrameRole::Cancel => self.order.rest(),
            FrameRole::Piece => {
                let text = Arc::clone(&entry.text);
                let token = CancelToken::new();
                let inbound = Inbound::new(entry.position, entry.sender, text, token);
                let ready = self.order.take(&self.registry, &inbound, entry);
                return of_pieces(ready.unwrap_or_default()).collect();
            }
        };
        of_pieces(pieces).chain([(entry, role)]).collect()
    }
}

fn of_pieces(pieces: Vec<Entry>) -> impl Iterator<Item = (Entry, FrameRole)> {
    pieces.into_iter().map(|piece| (piece, FrameRole::Piece))
}
