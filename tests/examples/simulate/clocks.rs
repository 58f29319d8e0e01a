//! Clocks that are set forward and back.

use accp_runtime::session::Time;

use super::World;

impl World {
    /// Sets the clock of a side forward or back, by up to a year.
    pub(super) fn step_clock(&mut self, who: usize) {
        const YEAR: u64 = 365 * 24 * 3_600_000;
        let most = [20_000, 120_000, YEAR][self.rng.below(3) as usize];
        let ahead = self.rng.below(2 * most) as i64 - most as i64;
        let id = self.nodes[who].id;
        self.observer.silent.clear();
        self.note(|| format!("the clock of {id} is {ahead} ms ahead"));
        if let Some(side) = self.room.side(id) {
            side.ahead = ahead;
            self.counts.clock_steps += 1;
        }
    }

    /// Returns the time on the clock of the host.
    pub(super) fn host_clock(&self) -> Time {
        self.room.host.clock(self.room.now)
    }

    /// Sets every clock to the skew that it had at the start.
    pub(super) fn set_clocks_right(&mut self) {
        self.observer.silent.clear();
        for node in &self.nodes {
            if let Some(side) = self.room.side(node.id) {
                side.ahead = node.skew;
            }
        }
    }
}
