//! Measures how long the host of a long session takes to restart.

use std::time::Instant;

use accp_bench::talk;
use accp_bench::{Goal, figure, median};
use accp_runtime::session::{Scope, Session};
use accp_store::{SqliteStore, Store as _};

use crate::log::{Log, counter};

const FRAMES: u64 = 100_000;
const ROUNDS: usize = 21;

pub fn bench() {
    let mut log = Log::new();
    log.grow_to(FRAMES);
    let position = log.position();
    let (folder, path) = log.close();
    let (mut opens, mut loads, mut restores) = (Vec::new(), Vec::new(), Vec::new());
    let mut what = String::new();
    for _ in 0..ROUNDS {
        let milliseconds = |start: Instant| start.elapsed().as_secs_f64() * 1e3;
        let options = talk::options("hub", &counter());
        let start = Instant::now();
        let mut store = SqliteStore::open(&path).expect("it was closed");
        opens.push(milliseconds(start));
        let start = Instant::now();
        let stored = store
            .load(&super::side())
            .expect("it is sound")
            .expect("it is there");
        loads.push(milliseconds(start));
        let start = Instant::now();
        let host = Session::restore_host(options, talk::rules(Scope::Sender), &stored, talk::NOW);
        let host = host.expect("it is sound");
        restores.push(milliseconds(start));
        assert_eq!(host.position(), position);
        what = format!(
            "{} checkpoints; a snapshot of {} bytes, {} entries after it, {} ids",
            host.state().warm().last(),
            stored.snapshot.map_or(0, |snapshot| snapshot.text.len()),
            stored.entries.len(),
            stored.seen.len()
        );
    }
    drop(folder);
    let all = opens.iter().zip(&loads).zip(&restores);
    let all = all
        .map(|((open, load), restore)| open + load + restore)
        .collect();
    println!("restore of a session of {FRAMES} frames from SQLite, median of {ROUNDS}");
    println!("  {what}");
    figure("open", median(opens), "ms", Goal::None);
    figure("load", median(loads), "ms", Goal::None);
    figure("restore_host", median(restores), "ms", Goal::None);
    figure("all", median(all), "ms", Goal::AtMost(60.0));
    println!();
}
