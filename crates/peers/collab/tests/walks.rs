//! Random walks over whole folders, judged twice: by the crate, and by a second judge. The second judge is
//! slow and obvious, and is written from the specification and not from the code.
//!
//! `WALKS` and `SEED` set how many walks there are, and the first seed. A failure names the seed of its walk:
//! `SEED=17 WALKS=1 cargo test -p accp-collab --test all walks` repeats this walk.

mod declared;
mod edits;
mod fit;
mod judge;
mod line;
mod log;
mod rng;
mod step;
mod steps;
mod story;
mod texts;
mod walk;
mod world;

use walk::{Tally, Walk};

const STEPS: usize = 60;

fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn both_judges_say_the_same_after_each_step() {
    let (first, count) = (number("SEED", 1), number("WALKS", 2000));
    let mut tally = Tally::default();
    for seed in first..first + count {
        let mut walk = Walk::new(seed);
        if let Err(error) = walk.go(STEPS, &mut tally) {
            let from = walk.history.len().saturating_sub(12);
            let history = walk.history[from..].join("\n  ");
            panic!("SEED={seed} WALKS=1, {error}\nthe last steps:\n  {history}");
        }
    }
    println!(
        "{} walks, {} steps, {} edits",
        tally.walks, tally.steps, tally.edits
    );
    println!("{} walks complete a folder", tally.completed);
    for (event, (accepted, refused)) in &tally.events {
        println!("{event}: accepted {accepted}, refused {refused}");
    }
    println!("codes: {:?}", tally.codes);
    println!("actions: {:?}", tally.actions);
    if count < 2000 {
        return;
    }
    // If few walks were completed, the test would find little.
    assert!(
        tally.completed * 5 > tally.walks,
        "{} complete",
        tally.completed
    );
    for (event, (accepted, refused)) in &tally.events {
        assert!(
            *accepted > 5 && *refused > 50,
            "{event}: {accepted}, {refused}"
        );
    }
    assert_eq!(tally.actions.len(), accp_collab::Action::ALL.len());
}
