//! Runs the plan for one file: kills the process again and again, and checks the file after each kill.

use std::time::Duration;

use super::check;
use super::counts::Counts;
use super::frames::{metadata, number_in};
use super::life::Fuse;
use super::plan::CrashPlan;
use super::side::{Kind, Side};
use super::world::World;

/// The most turns that a session without kills may take to come to rest.
const TURNS: u64 = 2000;

/// Runs the plan, and adds its results to the counts.
///
/// # Errors
/// If a check fails.
pub(crate) fn run(plan: &CrashPlan, counts: &mut Counts) -> Result<(), String> {
    let mut world = World::new(plan)?;
    for _ in 0..plan.kills {
        one_life(&mut world, counts)?;
    }
    let before = world.untold.clone();
    rest(&mut world)?;
    let contents = world.contents()?;
    counts.compared += check::after_a_kill(&mut world, &contents)?;
    if let Some(mid) = world.untold.difference(&before).next() {
        return Err(format!(
            "the end of {mid} was not told, and nobody was killed"
        ));
    }
    check::at_rest(&mut world, &contents)?;
    counts.add(&world, &contents);
    Ok(())
}

/// Runs the process until it is killed, then checks its file.
fn one_life(world: &mut World<'_>, counts: &mut Counts) -> Result<(), String> {
    let delay = world.plan.delay.as_micros() as u64;
    let fuse = Fuse {
        lines: world.rng.below(200).saturating_sub(10),
        at_work: world.rng.per_mille(700),
        delay: Duration::from_micros(world.rng.below(delay + 1)),
    };
    world.lossy = world.rng.per_mille(300);
    if world.rng.per_mille(200) {
        // Some lives begin some seconds after the last kill, and not at once.
        let millis = world.rng.below(5_000);
        world.now = world.now + Duration::from_millis(millis);
    }
    let mut life = world.begin(Some(fuse))?;
    while world.turn(&mut life, true)?.is_some() {}
    life.end()?;

    let contents = world.contents()?;
    counts.compared += check::after_a_kill(world, &contents)?;
    counts.kills += 1;
    counts.opening += u64::from(!world.opened);
    counts.output_lost += u64::from(world.lossy);
    counts.halves += u64::from(world.log.halves() > 0);
    counts.shortened += u64::from(contents.first > 1 && world.told.freed.0 > 0);
    counts.with_checkpoints += u64::from(world.told.checkpoint > 0);
    let last = contents.stored.last;
    counts.untold += u64::from(last > world.told.position);
    counts.in_hand += u64::from(world.handed.iter().any(|frame| match world.plan.side {
        Kind::Host => {
            let mid = metadata(frame, "mid").filter(|mid| !mid.starts_with('9')); // not a link frame
            let kept = |mid: &str| contents.entries.iter().any(|e| e.mid.to_string() == mid);
            mid.is_some_and(|mid| !kept(mid))
        }
        Kind::Member => number_in(frame, "pos").is_some_and(|position| position > last),
    }));
    world.before = contents;
    Ok(())
}

/// Lets the session come to rest, without kills and without new messages.
fn rest(world: &mut World<'_>) -> Result<(), String> {
    world.lossy = false;
    let mut life = world.begin(None)?;
    for _ in 0..TURNS {
        let quiet = world.turn(&mut life, false)?;
        let quiet = quiet.ok_or("it died, and nobody has killed it")?;
        if quiet && world.peers.values().all(Side::is_quiet) {
            return life.end();
        }
    }
    Err("it does not come to rest".into())
}
