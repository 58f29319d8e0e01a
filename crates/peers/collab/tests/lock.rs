//! The lock of a folder: many writers at once, each kind of lock.

use std::path::Path;
use std::thread;

use accp_collab::disk::{Draft, Locking, Shared};
use accp_collab::{Code, FolderSettings, Kind, Mode, Role, Scope, validate};

const PRIMARY: &str = "deliverables/adr.md";
const WRITERS: usize = 6;
const APPENDS: usize = 15;

fn begin(folder: &Path) {
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
    Shared::new(folder)
        .init(settings, false)
        .expect("it is made");
}

fn draft() -> Draft {
    Draft {
        doc: Some(PRIMARY.into()),
        role: Some(Role::Primary),
        reply_to: Some(1),
        ..Draft::new("ada", "deliverable_drafted", "One more")
    }
}

#[test]
fn writers_at_once_get_numbers_of_their_own() {
    for locking in [Locking::System, Locking::File] {
        let dir = tempfile::tempdir().expect("a folder");
        begin(dir.path());
        let append = || {
            let shared = Shared::new(dir.path()).with_locking(locking);
            let seqs =
                (0..APPENDS).map(|_| shared.append(&draft()).expect("it is appended").event.seq);
            seqs.collect::<Vec<u64>>()
        };
        let mut seqs: Vec<u64> = thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(append)).collect();
            let ended = writers
                .into_iter()
                .map(|writer| writer.join().expect("no writer panics"));
            ended.flatten().collect()
        });
        seqs.sort_unstable();
        let expected: Vec<u64> = (2..).take(WRITERS * APPENDS).collect();
        assert_eq!(seqs, expected, "{locking:?}");
        let folder = Shared::new(dir.path()).read(Scope::All);
        assert_eq!(validate(&folder), [], "{locking:?}");
        assert_eq!(folder.log().events().len(), expected.len() + 1);
    }
}

#[test]
fn a_lock_in_a_file_is_taken_over_when_its_time_is_over() {
    let dir = tempfile::tempdir().expect("a folder");
    begin(dir.path());
    let held = dir.path().join(".acp.lock.7");
    let shared = Shared::new(dir.path()).with_locking(Locking::File);
    let shared = shared.with_patience(std::time::Duration::ZERO);
    // The lock holds until the year 2100.
    std::fs::write(&held, r#"{"owner":1,"until":4102444800}"#).expect("it writes");
    let findings = shared.append(&draft()).expect_err("another has the lock");
    assert_eq!(findings[0].code, Code::Busy);
    std::fs::write(&held, r#"{"owner":1,"until":1000000000}"#).expect("it writes");
    assert_eq!(
        shared.append(&draft()).expect("its time is over").event.seq,
        2
    );
    assert!(!held.exists() && dir.path().join(".acp.lock.8.free").exists());
    // A file that is not a lock does not block the append.
    std::fs::write(dir.path().join(".acp.lock.18446744073709551615"), "x").expect("it writes");
    assert_eq!(shared.append(&draft()).expect("it is free").event.seq, 3);
}
