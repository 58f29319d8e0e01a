//! The outcome of a run.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::World;
use super::counts::Counts;
use super::guests;
use super::hubs;
use super::node::Result;
use super::plan::Trim;

/// One of this many seeds also runs in the plain way: with stores in memory, without a committer or `AsyncDriver`.
const OTHERWISE: u64 = 8;

/// The outcome of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) counts: Counts,
    /// A line for each event, if the caller asked for a script.
    pub(crate) script: Vec<String>,
    pub(crate) verdict: Result,
}

/// Runs a seed. The counts must not depend on the kind of store or driver.
pub(crate) fn run(seed: u64, trim: &Trim, script: bool) -> Outcome {
    let mut outcome = once(seed, trim, script);
    let Counts {
        in_sqlite,
        queued,
        awaited,
        ..
    } = outcome.counts;
    let is_plain = in_sqlite + queued + awaited == 0;
    if !seed.is_multiple_of(OTHERWISE)
        || is_plain
        || trim.weigh.is_some()
        || outcome.verdict.is_err()
    {
        return outcome;
    }
    let mut plain = trim.clone();
    let kinds = ["sqlite", "queue", "awaiting"].map(String::from);
    plain.without.extend(kinds);
    let other = once(seed, &plain, false);
    if let Some(name) = outcome.counts.other_than(&other.counts) {
        let what = format!("another store or driver has another number of {name}");
        outcome.verdict = Err(what);
    }
    outcome
}

fn once(seed: u64, trim: &Trim, script: bool) -> Outcome {
    let mut world = match World::new(seed, trim, script) {
        Ok(world) => world,
        Err(what) => {
            return Outcome {
                counts: Counts::default(),
                script: Vec::new(),
                verdict: Err(what),
            };
        }
    };
    let verdict = catch_unwind(AssertUnwindSafe(|| {
        world.run()?;
        guests::play(seed, &mut world.counts.kinds)?;
        hubs::play(seed)
    }));
    let verdict = verdict.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("it panics: {}", text.unwrap_or_default()))
    });
    world.counts.faulted = world.room.wire.faulted();
    Outcome {
        counts: world.counts,
        script: world.script.unwrap_or_default(),
        verdict,
    }
}
