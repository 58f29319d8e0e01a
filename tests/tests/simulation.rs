//! A few runs of the simulation of sessions. The full run is `cargo run --release -p accp-tests
//! --example simulate -- --seeds 100000`.

#[path = "../examples/simulate/world.rs"]
mod world;

use world::{Counts, RunPlan, Trim};

#[test]
fn sessions_over_a_link_that_fails() {
    let trim = Trim::default();
    let mut counts = Counts::default();
    for seed in 0..60 {
        let outcome = world::run(seed, &trim, false);
        counts.add(&outcome.counts);
        if let Err(what) = outcome.verdict {
            panic!("seed {seed}: {what}\n--example simulate -- --seed {seed} --script shows how");
        }
    }
    assert!(counts.frames > 60 * 50);
    // These counts may be zero here, because the events are rare. The example `simulate` requires
    // them over 5,000 seeds.
    let are_rare = ["  forked", "  members removed", "  gaps told to members"];
    for (name, count) in counts.rows() {
        assert!(*count > 0 || are_rare.contains(&name), "no {name}");
    }
    let missing: Vec<_> = counts.kinds.missing(false).collect();
    assert!(missing.len() < 13, "never: {missing:?}");
}

/// A seed gives the same script each time.
#[test]
fn a_seed_says_all() {
    let run = |without: &[&str]| {
        let trim = Trim {
            without: without.iter().map(ToString::to_string).collect(),
            sends: Some(5),
            ..Trim::default()
        };
        let outcome = world::run(13, &trim, true);
        assert_eq!(outcome.verdict, Ok(()));
        outcome.script
    };
    let all = run(&[]);
    assert_eq!(all, run(&[]));
    let faults = |script: &[String]| {
        let lines = script.iter().skip(1);
        lines.filter(|line| line.ends_with(" starts")).count()
    };
    let quiet = run(&RunPlan::PIECES);
    assert!(faults(&all) > 0 && faults(&quiet) == 0);
}
