//! Lets the hostile member fill a chain: it sends more requests for one agent than may wait there (docs/limits.md).

use accp_runtime::session::MemberId;

use super::World;
use super::node::{Result, said};
use super::plan::USUAL;

/// The step in which the hostile member does this, and the number of its requests. At most 64 may wait in a chain.
const STEP: u64 = 12;
const REQUESTS: u64 = 68;

impl World {
    /// Lets the hostile member send many requests for itself in one chain, over a link that loses no frame.
    pub(super) fn crowd_a_chain(&mut self) -> Result {
        let is_usual = self.plan.flood <= USUAL && self.plan.sends.is_multiple_of(3);
        let id = self.observer.enemy.filter(|_| self.enemy.is_some());
        let Some(id) = id.filter(|_| is_usual && self.counts.steps == STEP) else {
            return Ok(());
        };
        self.flush(0, false)?;
        let hello =
            "@x>sync:registry{ext:[log,parts]|hash:ffffff|pos:0|v:1}[mid:900000000001,seq:0]";
        self.goes_in(id, hello)?;
        let first = self.observer.next_sequence(id);
        for n in 0..REQUESTS {
            let seq = first + n;
            let text = format!("@x>req:plan{{}}[mid:c{n:011x},seq:{seq},cid:crowd,to:x]");
            self.goes_in(id, &text)?;
        }
        Ok(())
    }

    fn goes_in(&mut self, id: MemberId, text: &str) -> Result {
        let at = self.host_clock();
        self.observer.heard(id, text);
        let received = self.room.host.driver.receive(id, text.as_bytes(), at);
        received.map_err(said)
    }
}
