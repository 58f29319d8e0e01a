//! Lets handlers look whether a frame has lapsed: whether its `ttl` is over before a handler gets it.

use accp_runtime::session::Inbound;

use super::World;
use super::node::Result;

impl World {
    /// Lets a handler look whether its oldest frame has lapsed, and checks the answer. Then the handler does not get
    /// the frame. Some handlers do not look.
    pub(super) fn lapses(&mut self, who: usize, inbound: &Inbound) -> Result<bool> {
        let position = inbound.position();
        if position.is_multiple_of(4) || self.nodes[who].plain {
            return Ok(false);
        }
        let Some((session, now)) = self.session(who)? else {
            return Ok(false);
        };
        // A stopped host writes nothing.
        if !session.waits(position) || session.rolled_back().is_some() {
            return Ok(false);
        }
        let has_lapsed = session.lapse(inbound, now);
        let is_due = self.observer.has_lapsed(who, position, inbound.text(), now);
        if has_lapsed != is_due {
            return Err(format!(
                "{who} says of {position} at {now}: {has_lapsed}, {}",
                inbound.text()
            ));
        }
        if !has_lapsed {
            return Ok(false);
        }
        self.observer.answered(who, position, 0..=0);
        self.note(|| format!("{position} has lapsed at {who}"));
        if let Some(side) = self.room.side(self.nodes[who].id) {
            side.inbox.remove(0);
        }
        Ok(true)
    }
}
