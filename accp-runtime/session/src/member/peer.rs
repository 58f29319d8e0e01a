//! The one place in which a member asks what its host knows: the log of this implementation, or only the draft. Each
//! function here does something differently for these two kinds of hosts.

use accp_context::Time;

use super::Member;
use crate::send::encode::Peer;
use crate::state::chain::Chains;
use crate::wire::link::{Hello, Link};
use crate::wire::relay::Relay;
use crate::wire::scan::Scanned;
use crate::wire::stamp::Stamp;

impl Member {
    /// Takes a frame from the host. A member does not judge the frame. If the member cannot read it, the host sends
    /// it again.
    pub(crate) fn receive(&mut self, frame: &[u8], now: Time) {
        let Ok(text) = std::str::from_utf8(frame) else {
            return;
        };
        let reads_log = self.draft.is_none();
        if reads_log && let Some(relay) = Relay::read(text) {
            return self.relayed(&relay, now);
        }
        let Ok(frame) = Scanned::of_entry(text) else {
            return;
        };
        if !reads_log {
            self.receive_draft(&frame, now);
        } else if Link::is(&frame)
            && let Ok(link) = Link::read(&frame)
        {
            self.link(link, now);
        }
    }

    /// Takes a hello of the host. The hello answers a hello of this side, or says that the host is back.
    pub(super) fn greeted(&mut self, hello: &Hello, now: Time) {
        if hello.draft {
            self.greeted_by_draft(hello, now);
        } else if self.draft.is_some() {
            // The host has started again, and does not know what this side understands.
            self.to_send.hello = true;
        } else {
            self.greeted_by_log(hello);
        }
    }

    /// Returns the hello to send now.
    pub(super) fn hello_now(&mut self) -> Hello {
        if let Some(draft) = &mut self.draft {
            draft.hellos = draft.hellos.saturating_add(1);
            return Hello {
                draft: true,
                ..self.side.hello()
            };
        }
        let position = self.side.position;
        Hello {
            voucher: self.voucher.filter(|held| held.position >= position),
            next: self.outbox.known_sequence(),
            asks: self.outbox.asks(),
            ..self.side.hello()
        }
    }

    /// Returns the head of a link frame.
    pub(super) fn stamp(&mut self, now: Time) -> Stamp<'_> {
        let number = self.draft.as_ref().map(|draft| draft.number);
        self.side.stamp(now).for_draft(number)
    }

    /// Returns the forms in which the host can take a message that is too large for one frame.
    pub(crate) fn takes(&self) -> Peer {
        match self.draft {
            Some(_) => Peer::Draft,
            None if self.parts => Peer::Parts,
            None => Peer::References,
        }
    }

    /// Returns whether this side takes no frames now, because its handlers lag behind. There is an exception at a
    /// host that knows only the draft. If the handlers wait for room in a full outbox, only frames from that host
    /// can make this room, so this side goes on taking frames.
    pub(super) fn is_busy(&self) -> bool {
        let is_full = self.outbox.waiting() >= self.side.options.outbox;
        self.side.is_busy() && !(self.draft.is_some() && is_full)
    }

    /// Returns the number to keep in the store when a frame has left the outbox. At a host that knows only the
    /// draft, this is the number after the last one that this side has taken. Otherwise it is the number of the
    /// first frame in the outbox.
    pub(super) fn number_to_keep(&mut self) -> u64 {
        match &mut self.draft {
            Some(draft) => {
                draft.reset_silence();
                draft.number + 1
            }
            None => self.outbox.known_sequence().unwrap_or(0),
        }
    }
}

/// Returns whether the host will drop a frame because its chain was cancelled. At a host that knows only the draft,
/// this side may lack frames that begin chains within other chains. So it looks only at the chain that the frame
/// names.
pub(super) fn is_gone(chains: &Chains, is_draft: bool, frame: &Scanned<'_>) -> bool {
    if is_draft {
        chains.is_named(frame)
    } else {
        chains.is_cancelled(frame)
    }
}
