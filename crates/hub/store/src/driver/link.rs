//! The link, which carries frames to the peers.

use accp_session::Transmit;

/// Carries the frames of a session to its peers.
///
/// A link may lose, repeat, reorder and delay frames, and so has no errors: a frame that cannot be
/// sent now is lost, and the session sends it again. A link must not change frames, nor deliver
/// them to a peer other than [`Transmit::to`]. It should not wait for long, because the session
/// stands still while the link waits.
///
/// A closure is a link. So is a vector, which collects frames for a program that sends them later,
/// as asynchronous code does.
pub trait Link {
    /// Sends a frame, or loses it.
    fn send(&mut self, frame: Transmit);
}

impl<F: FnMut(Transmit)> Link for F {
    fn send(&mut self, frame: Transmit) {
        self(frame);
    }
}

impl Link for Vec<Transmit> {
    fn send(&mut self, frame: Transmit) {
        self.push(frame);
    }
}
