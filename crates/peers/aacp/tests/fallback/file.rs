//! The registry in a file: the data that it keeps, and the files that it refuses.

use std::fs;
use std::path::{Path, PathBuf};

use accp_aacp::fallback::{
    ClaimDecision, ClaimRequest, Claimed, Entry, EntryKey, Instruction, ModelError, ModelErrorKind,
    Registry as _, RegistryErrorKind, SqliteRegistry,
};
use accp_aacp::{Packet, Vocabulary};
use proptest::prelude::*;
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn open(&self) -> SqliteRegistry {
        SqliteRegistry::open(self.path("r.aacp")).unwrap()
    }
}

fn entry(english: &str, dom: &str, packet: &str) -> Entry {
    let packet = Packet::parse(packet).unwrap();
    let instruction = Instruction::new(english).unwrap();
    Entry::new(instruction, dom, &packet, Vocabulary::standard()).unwrap()
}

fn fetch(english: &str) -> Entry {
    entry(
        english,
        "HR",
        "FETCH|HR|return:A|aacp:1.1|res:emp_salary|x:Zoë \"1\"",
    )
}

/// Returns all entries.
fn all(registry: &mut SqliteRegistry) -> Vec<Entry> {
    let mut entries = Vec::new();
    registry
        .each(|_, entry| entries.push(entry.unwrap()))
        .unwrap();
    entries
}

fn ask(holder: u64, waited: Option<u64>, now: u64) -> ClaimRequest {
    ClaimRequest {
        holder,
        waited,
        now,
        lease: 1_000,
    }
}

fn kind(path: &Path) -> RegistryErrorKind {
    let mut registry = match SqliteRegistry::open(path) {
        Ok(registry) => registry,
        Err(error) => return error.kind,
    };
    let mut found = Ok(());
    let end = registry.each(|_, entry| found = found.clone().and(entry.map(drop)));
    end.and(found).unwrap_err().kind
}

#[test]
fn aacp_40_accepts_each_hit_and_counts_it() {
    let folder = Folder::new();
    let (one, other) = (
        fetch("Fetch it"),
        entry("Fetch it", "FIN", "CALC|FIN|return:A|aacp:1.1"),
    );
    assert_eq!(folder.open().add(&[one.clone(), other.clone()]), Ok(2));
    assert_eq!(folder.open().add(std::slice::from_ref(&one)), Ok(0));
    for count in 1..4 {
        let found = folder.open().hit(&one.key()).unwrap().unwrap();
        assert_eq!((found.times_seen, found.fields()), (count, one.fields()));
    }
    let found = all(&mut folder.open());
    assert_eq!(
        found.iter().map(Entry::dom).collect::<Vec<_>>(),
        ["FIN", "HR"]
    );
    assert_eq!(
        folder.open().find(&one.key()).unwrap().unwrap().times_seen,
        3
    );
    assert_eq!(folder.open().remove(&one.key()), Ok(true));
    assert_eq!(folder.open().remove(&one.key()), Ok(false));
    assert_eq!(folder.open().hit(&one.key()), Ok(None));
}

#[test]
fn entries_are_added_all_or_none() {
    let folder = Folder::new();
    let mut registry = folder.open();
    registry.add(&[fetch("Fetch it")]).unwrap();
    let other = entry("Fetch it", "HR", "SEND|HR|return:A|aacp:1.1");
    let error = registry.add(&[fetch("Fetch more"), other]).unwrap_err();
    assert_eq!(error.kind, RegistryErrorKind::Conflict);
    assert_eq!(all(&mut registry).len(), 1);
}

#[test]
fn pages_go_through_a_domain_once() {
    let folder = Folder::new();
    let mut registry = folder.open();
    let many: Vec<Entry> = (0..25)
        .map(|index| fetch(&format!("Fetch {index}")))
        .collect();
    registry.add(&many).unwrap();
    registry
        .add(&[entry("Fetch 1", "FIN", "CALC|FIN|return:A|aacp:1.1")])
        .unwrap();
    let mut found = Vec::new();
    while let Ok(page) = registry.page("HR", found.last().map(|entry: &Entry| entry.key().id), 4) {
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 4);
        found.extend(page);
    }
    assert_eq!(found.len(), 25);
    assert!(found.iter().all(|entry| many.contains(entry)));
}

#[test]
fn a_claim_is_seen_by_others_until_it_ends() {
    let folder = Folder::new();
    let (mut one, mut other) = (folder.open(), folder.open());
    let entry = fetch("Fetch it");
    let key = entry.key();
    let Ok(Claimed::Decided(ClaimDecision::Call(claim))) = one.claim(&key, &ask(1, None, 5_000))
    else {
        panic!("the first may call");
    };
    let wait = Ok(Claimed::Decided(ClaimDecision::Wait {
        number: 1,
        until: 6_000,
    }));
    assert_eq!(other.claim(&key, &ask(2, None, 5_999)), wait);
    let failure = ModelError::new(ModelErrorKind::Status, "500");
    assert_eq!(one.settle(&key, &claim, Err(&failure)), Ok(None));
    let failed = other.claim(&key, &ask(2, Some(1), 5_999));
    assert_eq!(failed, Ok(Claimed::Decided(ClaimDecision::Failed(failure))));
    let Ok(Claimed::Decided(ClaimDecision::Call(claim))) = other.claim(&key, &ask(3, None, 5_999))
    else {
        panic!("who did not wait asks again");
    };
    assert_eq!(
        other
            .settle(&key, &claim, Ok(&entry))
            .unwrap()
            .unwrap()
            .times_seen,
        1
    );
    let Ok(Claimed::Entry(found)) = one.claim(&key, &ask(4, Some(2), 5_999)) else {
        panic!("the entry is there");
    };
    assert_eq!(found.times_seen, 2);
}

/// A call may deliver its answer after its lease has ended, and later answers do not overwrite it.
#[test]
fn the_first_answer_stays() {
    let folder = Folder::new();
    let mut registry = folder.open();
    let (one, other) = (
        fetch("Fetch it"),
        entry("Fetch it", "HR", "SEND|HR|return:A|aacp:1.1"),
    );
    let key = one.key();
    let mut claim = |holder, now| match registry.claim(&key, &ask(holder, None, now)) {
        Ok(Claimed::Decided(ClaimDecision::Call(claim))) => claim,
        other => panic!("{other:?}"),
    };
    // The lease of the first caller ends at 1,000, before the second claim.
    let (first, second) = (claim(1, 0), claim(2, 2_000));
    assert_eq!(
        registry
            .settle(&key, &first, Ok(&one))
            .unwrap()
            .unwrap()
            .task(),
        "FETCH"
    );
    let late = registry.settle(&key, &second, Ok(&other)).unwrap().unwrap();
    assert_eq!((late.task(), late.times_seen), ("FETCH", 2));
    let failure = ModelError::new(ModelErrorKind::Status, "500");
    let late = registry
        .settle(&key, &second, Err(&failure))
        .unwrap()
        .unwrap();
    assert_eq!((late.task(), late.times_seen), ("FETCH", 3));
}

/// The lock of a caller ends with its process. So callers that wait for a dead caller do not wait for the end of its
/// lease.
#[test]
fn the_call_of_a_caller_that_is_gone_is_taken_over_at_once() {
    let folder = Folder::new();
    let signs = || {
        let files = fs::read_dir(folder.0.path()).unwrap().flatten();
        files
            .filter(|file| file.file_name().to_string_lossy().contains("-call-"))
            .count()
    };
    let key = fetch("Fetch it").key();
    let (mut one, mut other) = (folder.open(), folder.open());
    assert!(matches!(
        one.claim(&key, &ask(1, None, 0)),
        Ok(Claimed::Decided(ClaimDecision::Call(_)))
    ));
    let waits = other.claim(&key, &ask(2, None, 1));
    assert_eq!(
        waits,
        Ok(Claimed::Decided(ClaimDecision::Wait {
            number: 1,
            until: 1_000
        }))
    );
    assert_eq!(signs(), 1);
    drop(one);
    let Ok(Claimed::Decided(ClaimDecision::Call(claim))) = other.claim(&key, &ask(2, Some(1), 2))
    else {
        panic!("the caller is gone");
    };
    assert_eq!((claim.number, signs()), (2, 1));
    let failure = ModelError::new(ModelErrorKind::Status, "500");
    assert_eq!(other.settle(&key, &claim, Err(&failure)), Ok(None));
    assert_eq!(signs(), 0);
}

#[test]
fn files_of_others_are_refused_and_left_as_they_are() {
    let folder = Folder::new();
    let text = folder.path("notes.txt");
    fs::write(
        &text,
        "Not a database, but long enough to be looked at: ".repeat(40),
    )
    .unwrap();
    let database = folder.path("other.db");
    let conn = rusqlite::Connection::open(&database).unwrap();
    conn.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        .unwrap();
    drop(conn);
    for path in [text, database] {
        private(&path);
        let before = fs::read(&path).unwrap();
        assert_eq!(kind(&path), RegistryErrorKind::Foreign);
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    let later = folder.path("later.aacp");
    drop(SqliteRegistry::open(&later).unwrap());
    let conn = rusqlite::Connection::open(&later).unwrap();
    conn.pragma_update(None, "user_version", 2).unwrap();
    drop(conn);
    assert_eq!(kind(&later), RegistryErrorKind::Version);
    assert_eq!(kind(folder.0.path()), RegistryErrorKind::Io);
    assert_eq!(
        kind(&folder.path("no/such/folder.aacp")),
        RegistryErrorKind::Io
    );
    let missing = SqliteRegistry::open_existing(folder.path("none.aacp"));
    assert_eq!(missing.unwrap_err().kind, RegistryErrorKind::Io);
    assert!(!folder.path("none.aacp").exists());
}

#[test]
fn a_changed_row_is_refused() {
    for sql in [
        "UPDATE entry SET task = 'SEND'",
        "UPDATE entry SET times_seen = 7",
        "UPDATE entry SET english = 'Fetch more'",
        "UPDATE entry SET fields = '[]'",
        "UPDATE entry SET id = zeroblob(32)",
        "UPDATE entry SET dom = 'IT'",
        "DROP TABLE claim",
        "CREATE TABLE more (x)",
    ] {
        let folder = Folder::new();
        folder.open().add(&[fetch("Fetch it")]).unwrap();
        let path = folder.path("r.aacp");
        rusqlite::Connection::open(&path)
            .unwrap()
            .execute_batch(sql)
            .unwrap();
        assert_eq!(kind(&path), RegistryErrorKind::Corrupt, "{sql}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A file with lost or changed bytes is refused, or gives the packets that were stored.
    #[test]
    fn a_torn_file_is_refused_or_whole(at in 0.0..1.0_f64, cut in any::<bool>(), with in any::<[u8; 64]>()) {
        let folder = Folder::new();
        let many: Vec<Entry> = (0..40).map(|index| fetch(&format!("Fetch {index}"))).collect();
        folder.open().add(&many).unwrap();
        let path = folder.path("r.aacp");
        let mut bytes = fs::read(&path).unwrap();
        let at = (at * bytes.len() as f64) as usize;
        if cut {
            bytes.truncate(at.max(1));
        } else {
            let end = (at + with.len()).min(bytes.len());
            bytes[at..end].copy_from_slice(&with[..end - at]);
        }
        fs::write(&path, bytes).unwrap();
        if let Ok(mut registry) = SqliteRegistry::open(&path) {
            let mut found = Vec::new();
            if registry.each(|_, entry| found.extend(entry)).is_ok() {
                prop_assert!(found.iter().all(|entry| many.contains(entry)));
            }
            for entry in &many {
                if let Ok(Some(found)) = registry.find(&entry.key()) {
                    prop_assert_eq!(&found, entry);
                }
            }
        }
    }
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn private(path: &Path) {
    #[cfg(unix)]
    set_mode(path, 0o600);
    #[cfg(not(unix))]
    let _ = path;
}

#[cfg(unix)]
#[test]
fn aacp_69_accepts_a_file_of_its_owner_alone() {
    let folder = Folder::new();
    let mut registry = folder.open();
    registry.add(&[fetch("Fetch it")]).unwrap();
    let files = fs::read_dir(folder.0.path()).unwrap().flatten();
    let modes: Vec<u32> = files.map(|file| mode(&file.path())).collect();
    assert_eq!(modes, [0o600; 3], "the registry, its log and its index");
    assert_eq!(all(&mut folder.open()).len(), 1);
}

#[cfg(unix)]
#[test]
fn aacp_69_refuses_a_file_that_others_can_read() {
    let folder = Folder::new();
    let mut registry = folder.open();
    registry.add(&[fetch("Fetch it")]).unwrap();
    let files = ["r.aacp", "r.aacp-wal", "r.aacp-shm"].map(|name| folder.path(name));
    for file in &files {
        assert_eq!(mode(file), 0o600, "{}", file.display());
        for open in [0o640, 0o604, 0o660, 0o602] {
            set_mode(file, open);
            assert_eq!(kind(&files[0]), RegistryErrorKind::Open);
            assert_eq!(mode(file), open, "the owner has to see it");
        }
        set_mode(file, 0o600);
    }
    assert_eq!(all(&mut registry).len(), 1);
}

#[test]
fn aacp_70_refuses_to_write_an_ignore_file_where_there_is_no_work_tree() {
    let folder = Folder::new();
    drop(folder.open());
    assert!(!folder.path(".gitignore").exists());
}

#[test]
fn aacp_70_accepts_a_work_tree_with_one_entry_in_its_ignore_file() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("tree/.git")).unwrap();
    fs::create_dir_all(folder.path("tree/a/b")).unwrap();
    let ignore = folder.path("tree/a/b/.gitignore");
    fs::write(&ignore, "/target").unwrap();
    let path = folder.path("tree/a/b/my [1].aacp");
    for _ in 0..2 {
        drop(SqliteRegistry::open(&path).unwrap());
        assert_eq!(
            fs::read_to_string(&ignore).unwrap(),
            "/target\n/my\\ \\[1\\].aacp*\n"
        );
    }
    fs::remove_file(&path).unwrap();
    drop(SqliteRegistry::open(&path).unwrap());
    assert_eq!(
        fs::read_to_string(&ignore).unwrap(),
        "/target\n/my\\ \\[1\\].aacp*\n"
    );
}

#[test]
fn errors_name_the_file_and_the_cure() {
    let folder = Folder::new();
    let path = folder.path("x.aacp");
    fs::write(&path, "x".repeat(2_000)).unwrap();
    private(&path);
    let error = SqliteRegistry::open(&path).unwrap_err().to_string();
    let error = error.replace(&folder.0.path().display().to_string(), "..");
    insta::assert_snapshot!(error, @"../x.aacp: file is not a database: the file is not a registry of instructions: name another file, or a new one");
    let key = EntryKey {
        dom: "HR".into(),
        id: Instruction::new("Fetch it").unwrap().id(),
    };
    assert_eq!(folder.open().find(&key), Ok(None));
}
