//! Lets a model supply summaries after their checkpoint.

use accp_runtime::Frame;
use accp_runtime::session::{InputError, SummaryError};

use super::World;
use super::node::{Result, said};

/// A text with a value that no frame has.
const INVENTED: &str = "They spoke of X0_no_frame_has_this.";

impl World {
    /// Lets a model answer in two of three steps, if the last checkpoint wants a summary. The number of the step
    /// decides this: drawing a random number here would change the run of every seed.
    pub(super) fn sum_up(&mut self) -> Result {
        let (now, is_answered) = (self.host_clock(), !self.counts.steps.is_multiple_of(3));
        let host = self.room.host.driver.session_mut().map_err(said)?;
        let last = host.state().warm().last();
        let first = host.frames_to_sum_up().next();
        let Some((_, text)) = first.filter(|_| is_answered) else {
            return Ok(());
        };
        let agent = Frame::parse(text).map_err(said)?.agent.to_string();
        match host.supply_summary(last, INVENTED, now) {
            Err(InputError::Summary(SummaryError::Invented(_))) => {}
            other => return Err(format!("{INVENTED:?} is supplied: {other:?}")),
        }
        let text = format!("{agent} began.");
        host.supply_summary(last, &text, now).map_err(said)?;
        self.moves("supply a summary", 0);
        Ok(())
    }
}
