//! The way to the peers.

use accp_runtime::session::Transmit;

/// Takes the frames of a session to its peers.
///
/// It may lose, repeat, reorder and delay frames, and so has no errors: a frame that cannot be
/// sent now is lost, and the session sends it again. It must not change them, nor deliver
/// them to a peer other than [`Transmit::to`]. It should not wait for long: while it does the
/// session stands still.
///
/// A closure is a link. So is a vector, which collects what leaves for whoever sends it later,
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
