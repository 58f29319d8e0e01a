//! A shared folder with 10,000 events: `cargo bench --manifest-path benches/Cargo.toml --bench collab`.
//!
//! An append is timed without its syncs, whose time depends on the disk. Each append reads the whole log. So the
//! append to a folder of ten events shows the cost of the append itself, and the append to 10,000 events also shows
//! the cost of reading.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use accp_bench::{Goal, figure, median};
use accp_collab::disk::{Draft, Files, Locking, Os, Shared};
use accp_collab::{Event, EventName, FolderSettings, Kind, Mode, Role, Scope, next, validate};

/// The file system, except that a sync does nothing.
#[derive(Clone, Copy)]
struct Unsynced;

impl Files for Unsynced {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Os.read(path)
    }
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        Os.resolve(path)
    }
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        Os.append(path, bytes)
    }
    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        Os.create(path, bytes)
    }
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        Os.write(path, bytes)
    }
    fn cut(&self, path: &Path, length: u64) -> io::Result<()> {
        Os.cut(path, length)
    }
    fn sync(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Os.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        Os.remove(path)
    }
}

const PRIMARY: &str = "deliverables/adr.md";

/// Makes a folder whose log has `events` events.
fn folder(path: &Path, events: u64) -> Shared<Unsynced> {
    let settings = FolderSettings {
        participants: vec!["ada".into(), "bob".into()],
        objective: "Choose a store".into(),
        gates: vec!["It is fast".into()],
        kind: Some(Kind::Adr),
        file: None,
        checklist: vec![],
        mode: Mode::Internal,
        dir: "deliverables".into(),
        repo_root: None,
    };
    Shared::new(path).init(settings, false).expect("it is made");
    let mut log = std::fs::read_to_string(path.join("events.jsonl")).expect("it reads");
    let at = Event::from_line(&log).expect("an event").at;
    for seq in 2..=events {
        let event = Event {
            seq,
            from: "ada".into(),
            event: EventName::DeliverableDrafted,
            at: at.clone(),
            summary: "The part about failures is there.".into(),
            doc: Some(PRIMARY.into()),
            reply_to: Some(seq - 1),
            role: Some(Role::Primary),
            sha256: None,
        };
        log.push_str(&event.to_line());
    }
    std::fs::write(path.join("events.jsonl"), log).expect("it writes");
    Shared::on(Unsynced, path).with_locking(Locking::System)
}

/// Returns the median of the milliseconds that a piece of work takes.
fn millis(times: usize, mut work: impl FnMut()) -> f64 {
    let all = (0..times).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e3
    });
    median(all.collect())
}

fn main() {
    let dir = tempfile::tempdir().expect("a folder");
    let large = folder(&dir.path().join("large"), 10_000);
    let small = folder(&dir.path().join("small"), 10);
    let append = |shared: &Shared<Unsynced>| {
        let last = shared.read(Scope::Log).last().map(|event| event.seq);
        let draft = Draft {
            doc: Some(PRIMARY.into()),
            role: Some(Role::Primary),
            reply_to: last,
            ..Draft::new("ada", "deliverable_drafted", "One more")
        };
        let start = Instant::now();
        shared.append(&draft).expect("it is appended");
        start.elapsed().as_secs_f64() * 1e3
    };
    let appends = |shared| median((0..50).map(|_| append(shared)).collect());
    let validated = millis(50, || {
        assert!(validate(&large.read(Scope::All)).is_empty());
    });
    let told = millis(50, || {
        assert!(next(&large.read(Scope::All), "bob").is_ok());
    });
    figure(
        "validate, 10,000 events",
        validated,
        " ms",
        Goal::AtMost(100.0),
    );
    figure("next, 10,000 events", told, " ms", Goal::AtMost(100.0));
    figure(
        "append without syncs, 10 events",
        appends(&small),
        " ms",
        Goal::AtMost(5.0),
    );
    figure(
        "append without syncs, 10,000 events",
        appends(&large),
        " ms",
        Goal::AtMost(5.0),
    );
}
