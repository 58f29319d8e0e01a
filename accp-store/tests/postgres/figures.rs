//! Figures beside those of SQLite: run it with `-- --ignored --nocapture figures`, and `--release`.

use std::time::Instant;

use accp_store::{Committer, SideId, SqliteStore};

use crate::server::{Schema, entry};

#[test]
#[ignore = "it measures, and checks nothing"]
fn figures() {
    let schema = Schema::new();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for sides in [1, 16, 256] {
        let sqlite = SqliteStore::open(folder.path().join(format!("{sides}.accp"))).unwrap();
        let sqlite = commits(&Committer::new(sqlite).unwrap(), sides);
        let postgres = commits(&Committer::new(schema.open()).unwrap(), sides);
        println!("{sides:4} sides: SQLite {sqlite:6.0} commits/s, PostgreSQL {postgres:6.0}");
    }
}

/// Commits batches of one entry, on all sides at once, and returns how many a second.
fn commits(committer: &Committer, sides: u64) -> f64 {
    let open: Vec<_> = (0..sides)
        .map(|n| committer.open(&SideId::new(format!("{sides} {n}"), "hub")))
        .map(|open| open.wait().unwrap().0)
        .collect();
    let rounds = 20 + 400 / sides;
    let mut began = Instant::now();
    for position in 1..=rounds {
        if position == 11 {
            began = Instant::now(); // statements are prepared by now
        }
        let pending: Vec<_> = open
            .iter()
            .map(|side| side.commit(Box::new(entry(position))))
            .collect();
        for one in pending {
            one.wait().unwrap();
        }
    }
    (sides * (rounds - 10)) as f64 / began.elapsed().as_secs_f64()
}
