//! Checkpoints of a host.

use super::Host;
use crate::gate::verbatim::invented;
use crate::interface::event::Event;
use crate::interface::input::SummaryError;
use crate::log::mid::MemberId;
use crate::wire::control::Control;
use accp_context::Time;
use accp_context::{Checkpoint, Checkpointer, Trigger, Verdict};
use accp_frame::Value;

/// The effects of one input that matter for checkpoints.
#[derive(Debug, Default)]
pub(crate) struct CheckpointCauses {
    pub current: Option<u64>,
    pub parent: Option<u64>,
    pub triggers: Vec<Trigger>,
}

impl Host {
    /// Takes the checkpoint that the input has triggered, if any. All triggers of one input lead to
    /// one checkpoint.
    pub(crate) fn take_due_checkpoint(&mut self, now: Time) -> Option<Checkpoint> {
        let causes = std::mem::take(&mut self.causes);
        let counter = self.side.options.counter.clone()?;
        let mut triggers = causes.triggers;
        let (state, limits) = (&self.side.state, self.side.options.context);
        // A frame that is over the trigger by itself stays in hot state until the next frame comes.
        // So hot state triggers a checkpoint only when a frame has come.
        if causes.current.is_some() && state.hot.is_over_trigger(&limits) {
            triggers.push(Trigger::Hot);
        }
        if triggers.is_empty() || state.tokenizer.is_none() {
            return None;
        }
        if let Err(error) = self.side.check_ids() {
            self.side.emit(Event::NotWritten(error.to_string()));
            return None;
        }
        let in_flight = state.chains.in_flight();
        let checkpointer = Checkpointer {
            registry: &self.side.options.registry,
            counter: &*counter,
            summarizer: &*self.rules.summarizer,
            limits,
        };
        let wanted = self.gate.numbers.summary.as_deref();
        let why = accp_context::Turn {
            current: causes.current,
            parent: causes.parent,
            in_flight: &in_flight,
            triggers: &triggers,
            at: now,
            version: state.shared.version(),
            late: wanted.and_then(|wanted| Some((wanted.checkpoint, wanted.text.as_deref()?))),
        };
        let frozen = checkpointer.freeze(&state.hot, &state.warm, why);
        if let Verdict::Veto(why) = self.hooks.before(&frozen)
            && !state.hot.is_full()
        {
            let event = Event::CheckpointDeferred(why.clone());
            self.side.emit(event);
            self.control(Control::Veto { why }, now);
            return None;
        }
        let checkpoint = checkpointer.take(&frozen);
        self.hooks.after(&checkpoint);
        let control = Control::Checkpoint(Box::new(checkpoint.clone()));
        self.gate
            .fold_control(MemberId::HOST, &control, &self.side.state, &self.rules);
        self.control(control, now);
        Some(checkpoint)
    }

    /// Takes a checkpoint because a phase of the work is over (draft section 5.2, item 4). Returns `None` if the host
    /// takes no checkpoint, because it counts no tokens or because a hook vetoes the checkpoint.
    pub(crate) fn phase_boundary(&mut self, now: Time) -> Option<Checkpoint> {
        self.causes.triggers.push(Trigger::Phase);
        self.take_due_checkpoint(now)
    }

    /// Asks the caller for the late summary of the last checkpoint, once.
    pub(crate) fn want_summary(&mut self) {
        let wanted = self.gate.numbers.summary.as_mut();
        if let Some(wanted) = wanted.filter(|wanted| !wanted.asked && self.lost.is_none()) {
            wanted.asked = true;
            self.side.emit(Event::SummaryWanted {
                checkpoint: wanted.checkpoint,
                left: wanted.frames.iter().map(|(at, _)| *at).collect(),
            });
        }
    }

    /// Takes the late summary of the last checkpoint, if the summary invents no value.
    pub(crate) fn supply_summary(
        &mut self,
        checkpoint: u64,
        text: &str,
        values: &[Value<'_>],
    ) -> Result<(), SummaryError> {
        let wanted = self.gate.numbers.summary.as_mut();
        let wanted = wanted.filter(|wanted| wanted.checkpoint == checkpoint);
        let wanted = wanted.ok_or(SummaryError::NotWanted(checkpoint))?;
        if text.trim().is_empty() {
            return Err(SummaryError::Empty);
        }
        let frames = wanted.frames.iter().map(|(_, text)| &**text);
        let invented = invented(text, frames, values, &self.side.options.registry);
        if !invented.is_empty() {
            let words = invented.into_iter().map(str::to_owned);
            return Err(SummaryError::Invented(words.collect()));
        }
        wanted.text = Some(text.to_owned());
        Ok(())
    }
}
