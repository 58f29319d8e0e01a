//! Measures how many commits a second the stores make, with one side, 16 and 256 sides at once.
//!
//! ```sh
//! cargo run --release --manifest-path benches/Cargo.toml --bin commits -- \
//!     "$(tests/postgres/server start /tmp/server)"
//! ```
//!
//! Without the URL of a database, the program measures SQLite only. In the database it makes sessions whose names
//! begin with `commits`.

use std::error::Error;
use std::time::Instant;

use accp_session::{Batch, Due, Entry, Mid, Time};
use accp_store::{Committer, PostgresStore, SideId, SqliteStore};

/// The number of rounds before the measurement. They prepare the statements.
const FIRST: u64 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let database = std::env::args().nth(1);
    let folder = tempfile::tempdir_in(".")?;
    for sides in [1, 16, 256] {
        let file = folder.path().join(format!("{sides}.accp"));
        let sqlite = commits(&Committer::new(SqliteStore::open(file)?)?, sides)?;
        print!("{sides:4} sides: SQLite {sqlite:6.0} commits/s");
        if let Some(url) = &database {
            let postgres = commits(&Committer::new(PostgresStore::open(url)?)?, sides)?;
            print!(", PostgreSQL {postgres:6.0} ({:.2})", postgres / sqlite);
        }
        println!();
    }
    Ok(())
}

/// Commits batches of one entry, on all sides at once, and returns the number of commits per second.
fn commits(committer: &Committer, sides: u64) -> Result<f64, Box<dyn Error>> {
    let run = std::process::id();
    let mut open = Vec::new();
    for side in 0..sides {
        let side = SideId::new(format!("commits {run} {sides} {side}"), "hub");
        open.push(committer.open(&side).wait()?.0);
    }
    let rounds = 2 * FIRST + 4000 / sides;
    let mut began = Instant::now();
    for position in 1..=rounds {
        if position == FIRST + 1 {
            began = Instant::now();
        }
        let pending = open
            .iter()
            .map(|side| side.commit(Box::new(batch(position))));
        for one in pending.collect::<Vec<_>>() {
            one.wait()?;
        }
    }
    Ok((sides * (rounds - FIRST)) as f64 / began.elapsed().as_secs_f64())
}

/// Returns a batch of one frame.
fn batch(position: u64) -> Batch {
    let mid = format!("{position:012x}");
    Batch::new(true).with(|batch| {
        batch.entries = vec![
            Entry::new(
                position,
                Time::from_secs(1_714_000_000),
                Mid::parse(&mid),
                format!("@hub>req:plan{{}}[mid:{mid}]"),
            )
            .with(|entry| {
                entry.sequence = position;
                entry.tokens = 9;
                entry.due = Due::Yes;
            }),
        ]
    })
}
