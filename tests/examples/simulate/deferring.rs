//! A hook that puts off some checkpoints of the host. The log must say so, and the hook must learn of each checkpoint.

use std::sync::{Arc, Mutex};

use accp_runtime::context::{Checkpoint, CheckpointHooks, Frozen, Verdict};
use accp_runtime::session::{Event, Hooks, Input};
use accp_session::{Batch, EntryKind};

use super::World;
use super::node::{Result, said};
use super::text::{checkpoint, is_a, params};

/// The hook puts off one of this many checkpoints.
const EVERY: usize = 3;
/// The frame by which the log says that a checkpoint was put off.
pub(super) const VETO: &str = ">sync:veto{";

/// What the hook of the running host has said and heard, as far as no batch has shown it yet.
#[derive(Debug, Default)]
pub(super) struct Told {
    asked: usize,
    vetoes: Vec<String>,
    taken: Vec<u64>,
}

struct Deferring(Arc<Mutex<Told>>);

impl CheckpointHooks for Deferring {
    fn before(&mut self, _: &Frozen<'_>) -> Verdict {
        let Ok(mut told) = self.0.lock() else {
            return Verdict::Go;
        };
        told.asked += 1;
        if !told.asked.is_multiple_of(EVERY) {
            return Verdict::Go;
        }
        let why = format!("later_{}", told.asked);
        told.vetoes.push(why.clone());
        Verdict::Veto(why)
    }

    fn after(&mut self, checkpoint: &Checkpoint) {
        if let Ok(mut told) = self.0.lock() {
            told.taken.push(checkpoint.id());
        }
    }
}

/// Returns the reason in a frame about a checkpoint that was put off.
fn reason_in(text: &str) -> Option<&str> {
    let (_, rest) = params(text, VETO)?.split_once("why:")?;
    rest.split(['|', '}']).next()
}

impl World {
    fn defers(&self) -> bool {
        self.plan.counted && self.plan.sends.is_multiple_of(2)
    }

    /// Gives the host a hook, in some of the runs with checkpoints. A host that starts again has no hook.
    pub(super) fn hook(&mut self) -> Result {
        if !self.defers() {
            return Ok(());
        }
        self.told = Arc::default();
        let (now, hook) = (self.host_clock(), Deferring(Arc::clone(&self.told)));
        let host = self.room.host.driver.session_mut().map_err(said)?;
        host.handle(Input::Hooks(Hooks(Box::new(hook))), now)
            .map_err(said)?;
        Ok(())
    }

    /// Checks that the checkpoints of a batch are those that the hook has heard of, and that those which the hook put
    /// off are in the log.
    pub(super) fn judge_hook(&self, batch: &Batch) -> Result {
        if !self.defers() {
            return Ok(());
        }
        let mut told = self.told.lock().map_err(said)?;
        // The hook does not hear of the checkpoints that come back.
        let is_back = |event: &Event| matches!(event, Event::Recovered(_));
        if batch.events.iter().any(is_back) {
            told.taken.clear();
            told.vetoes.clear();
            return Ok(());
        }
        let controls = batch.entries.iter();
        let controls = controls.filter(|entry| entry.kind == EntryKind::Control);
        for id in controls.clone().filter_map(|entry| checkpoint(&entry.text)) {
            let heard = (!told.taken.is_empty()).then(|| told.taken.remove(0));
            if heard != Some(id) {
                return Err(format!(
                    "the hook hears of {heard:?}, and ckpt_{id} is taken"
                ));
            }
        }
        let mut vetoes = controls.filter(|entry| is_a(&entry.text, VETO));
        for event in &batch.events {
            let Event::CheckpointDeferred(why) = event else {
                continue;
            };
            let at = told.vetoes.iter().position(|said| said == why);
            let entry = vetoes.next();
            let is_said = entry.is_some_and(|entry| reason_in(&entry.text) == Some(&**why));
            let Some(at) = at.filter(|_| is_said) else {
                return Err(format!("a checkpoint is put off: {why}, {entry:?}"));
            };
            // If hot state is full, the host takes the checkpoint despite a veto.
            told.vetoes.drain(..=at);
            let level = self.room.host.session().state().level();
            if level != 1 {
                return Err(format!("a checkpoint is put off, and the level is {level}"));
            }
        }
        match vetoes.next() {
            Some(entry) => Err(format!("nobody has put a checkpoint off: {}", entry.text)),
            None => Ok(()),
        }
    }
}
