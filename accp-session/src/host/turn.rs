//! Checkpoints of a host.

use super::Host;
use crate::wire::control::Control;
use crate::{Event, Time};
use accp_context::{Checkpoint, Checkpointer, Trigger, Verdict};

/// The effects of one input that matter for checkpoints.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub current: Option<u64>,
    pub parent: Option<u64>,
    pub triggers: Vec<Trigger>,
}

impl Host {
    /// Takes the checkpoint that the input has triggered, if any. All triggers of one input lead to
    /// one checkpoint.
    pub(crate) fn end_turn(&mut self, now: Time) -> Option<Checkpoint> {
        let turn = std::mem::take(&mut self.turn);
        let counter = self.side.options.counter.clone()?;
        let mut triggers = turn.triggers;
        let (state, limits) = (&self.side.state, self.side.options.context);
        // A frame that is too large by itself stays until the next frame comes.
        if turn.current.is_some() && state.hot.is_over_trigger(&limits) {
            triggers.push(Trigger::Hot);
        }
        if triggers.is_empty() || state.tokenizer.is_none() {
            return None;
        }
        if let Err(error) = self.side.check_ids() {
            self.side.tell(Event::NotWritten(error.to_string()));
            return None;
        }
        let in_flight = state.chains.in_flight();
        let checkpointer = Checkpointer {
            registry: &self.side.options.registry,
            counter: &*counter,
            summarizer: &*self.rules.summarizer,
            limits,
        };
        let why = accp_context::Turn {
            current: turn.current,
            parent: turn.parent,
            in_flight: &in_flight,
            triggers: &triggers,
            at: now,
            version: state.shared.version(),
            late: None,
        };
        let frozen = checkpointer.freeze(&state.hot, &state.warm, why);
        if let Verdict::Veto(why) = self.hooks.before(&frozen)
            && !state.hot.is_full()
        {
            let event = Event::CheckpointDeferred(why.clone());
            self.side.tell(event);
            self.control(Control::Veto { why }, now);
            return None;
        }
        let checkpoint = checkpointer.take(&frozen);
        self.hooks.after(&checkpoint);
        self.control(Control::Checkpoint(Box::new(checkpoint.clone())), now);
        Some(checkpoint)
    }
}
