//! Tests reads of a damaged file that was not checked as a whole before. Each read gives what was written, or an
//! error with the place and the cure.

use crate::common;

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use accp_runtime::session::{Input, Options, Outbound, Reference, Rules, Time, Transmit};
use accp_runtime::{AgentId, DynamicFrame, Registry};
use accp_session::Batch;
use accp_store::{Driver, SideId, SqliteStore, Store, StoreErrorKind};
use accp_testkit::Room;
use proptest::prelude::*;
use tempfile::TempDir;

type Reads = Vec<(String, Result<String, String>)>;

/// Returns a read as text, or its error. An error must be about damage, and must name the cure.
fn shown<T: Debug>(read: Result<T, accp_store::StoreError>) -> Result<String, String> {
    let kinds = [StoreErrorKind::Corrupt, StoreErrorKind::Foreign];
    read.map(|found| format!("{found:?}")).map_err(|error| {
        let (kind, text) = (error.kind(), error.to_string());
        assert!(kinds.contains(&kind), "{kind:?}: {text}");
        assert!(
            text.contains("backup") || text.contains("another file"),
            "{text}"
        );
        text
    })
}

/// A file of sessions, and the reads of it that are compared.
struct Bench {
    folder: TempDir,
    bytes: Vec<u8>,
    reads: fn(&mut SqliteStore) -> Reads,
    sound: Reads,
}

impl Bench {
    fn new(fill: fn(&Path), reads: fn(&mut SqliteStore) -> Reads) -> Self {
        let (folder, path) = common::place("sound.accp");
        fill(&path);
        let bytes = fs::read(&path).unwrap();
        let sound = reads(&mut SqliteStore::open_read_only(&path).unwrap());
        for (name, found) in &sound {
            assert!(found.is_ok(), "{name}: {found:?}");
        }
        Self {
            folder,
            bytes,
            reads,
            sound,
        }
    }

    /// Writes a file with these bytes, and returns its path.
    fn write(&self, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join("damaged.accp");
        for end in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{end}", path.display())); // it may be absent
        }
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Reads a damaged file. Returns the number of reads that reported the damage, or the read that
    /// returned wrong data.
    fn found(&self, path: &Path) -> Result<usize, String> {
        let Ok(mut store) = SqliteStore::open_read_only(path) else {
            return Ok(self.sound.len());
        };
        let mut found = 0;
        for ((name, was), (_, now)) in self.sound.iter().zip((self.reads)(&mut store)) {
            match now {
                Err(_) => found += 1,
                Ok(now) if Ok(&now) == was.as_ref() => {}
                Ok(now) => return Err(format!("{name} gives {now}, and was {was:?}")),
            }
        }
        Ok(found)
    }
}

/// All reads that a session may need from a store.
fn of_store(store: &mut SqliteStore) -> Reads {
    let survey = store.survey();
    let survey = survey.and_then(|all| all.into_iter().collect::<Result<Vec<_>, _>>());
    let mut reads = vec![
        ("list".to_owned(), shown(store.list())),
        ("survey".to_owned(), shown(survey)),
    ];
    for side in [
        common::launch(),
        SideId::new("Grüße", "hub"),
        SideId::new("new", "hub"),
    ] {
        let mut add = |read: &str, found| reads.push((format!("{read} of {side}"), found));
        let loaded = store.load(&side).map(|stored| {
            // A lost registry cannot mislead, because a host refuses to go on without it and a
            // member asks its host. So registries are not compared.
            stored.map(|mut stored| {
                stored.registries.clear();
                stored
            })
        });
        add("load", shown(loaded));
        add("summary", shown(store.summary(&side)));
        add("sides", shown(store.sides(side.session())));
        for (from, limit) in [(0, usize::MAX), (7, 1), (9, 3), (20, 1), (20, 9), (21, 1)] {
            add(
                &format!("entries {from}"),
                shown(store.entries(&side, from, limit)),
            );
        }
        for key in ["k101_1", "k101_2", "k101_3", "k102_1", "k109_1"] {
            add(key, shown(store.cold(&side, key)));
        }
    }
    reads
}

fn fill_store(path: &Path) {
    let mut store = SqliteStore::open(path).unwrap();
    common::fill(&mut store).unwrap();
    common::inboxes(&mut store).unwrap();
}

const NOW: Time = Time::from_secs(1_714_000_000);
/// Session `one` refers to its own values and to those of session `two`.
const SESSIONS: [&str; 2] = ["one", "two"];

fn options(session: &str, agent: &'static str) -> Options {
    let registry = Arc::new(Registry::standard());
    Options::new(session, AgentId::new(agent).unwrap(), registry)
}

/// Makes two sessions of a host and a member each.
fn fill_sessions(path: &Path) {
    let store = Arc::new(Mutex::new(SqliteStore::open(path).unwrap()));
    for session in SESSIONS {
        let rules = Rules::default();
        let mut room = Room::open(store.clone(), options(session, "hub"), rules, NOW).unwrap();
        let dev = room.enter(store.clone(), options(session, "dev")).unwrap();
        assert!(room.rest().unwrap());
        let grant = Input::Grant {
            session: "two",
            key: "*",
        };
        let host = room.host.driver.session_mut().unwrap();
        host.handle(grant, NOW).unwrap();
        for number in 0..12 {
            let long = format!("{session} {number}, ").repeat(number * 20);
            let message = DynamicFrame::new("dev", "req", "plan")
                .unwrap()
                .with("text", long);
            let dev = room.side(dev).unwrap();
            dev.driver.send(&Outbound::message(&message), NOW).unwrap();
            assert!(room.rest().unwrap());
        }
    }
}

/// Opens every side, and reads its references.
fn of_sessions(store: &mut SqliteStore) -> Reads {
    let mut reads = Reads::new();
    for (session, agent, host) in SESSIONS
        .iter()
        .flat_map(|session| [(*session, "hub", true), (*session, "dev", false)])
    {
        let (options, link) = (options(session, agent), Vec::<Transmit>::new());
        let opened = if host {
            Driver::open_host(&mut *store, link, options, Rules::default(), NOW)
        } else {
            Driver::open_member(&mut *store, link, options, NOW)
        };
        let mut driver = match opened {
            Ok(driver) => driver,
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("backup"), "{text}");
                reads.extend((0..7).map(|_| (String::new(), Err(text.clone()))));
                continue;
            }
        };
        let name = format!("{session}@{agent}");
        let own = driver.session();
        let state = format!("{:?} {}", own.state(), own.outbox_len());
        reads.push((format!("{name} opened"), Ok(state)));
        for key in [
            "cold.p5",
            "cold.p12",
            "cold.k101_1",
            "cold.k101_9",
            "ext.two.k101_9",
            "ext.two.p6",
        ] {
            let reference = Reference::parse(key).unwrap();
            let found = driver.read(&reference).map(|value| format!("{value:?}"));
            let found = found.map_err(|error| error.to_string());
            reads.push((format!("{key} of {name}"), found));
        }
    }
    reads
}

fn cases() -> ProptestConfig {
    ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Changes one byte, and reads. Picks each page with the same probability, and in the page each byte that is not
/// zero.
fn flip(bench: &Bench) {
    const PAGE: usize = 4096;
    let bytes = &bench.bytes;
    let pages = (0..bytes.len()).step_by(PAGE).map(|start| {
        let page = start..start + PAGE;
        page.filter(|at| bytes[*at] != 0).collect::<Vec<_>>()
    });
    let pages: Vec<_> = pages.collect();
    let place = prop::sample::select(pages).prop_flat_map(prop::sample::select);
    proptest!(cases(), |(at in place, mask in 1_u8..)| {
        let mut damaged = bytes.clone();
        damaged[at] ^= mask;
        let found = bench.found(&bench.write(&damaged));
        prop_assert!(found.is_ok(), "byte {}: {:?}", at, found);
    });
}

#[test]
fn no_read_of_a_store_takes_damage_for_data() {
    flip(&Bench::new(fill_store, of_store));
}

#[test]
fn no_session_takes_damage_for_data() {
    flip(&Bench::new(fill_sessions, of_sessions));
}

#[test]
fn a_host_does_not_go_on_without_the_schemas_in_force() {
    let (_folder, path) = common::place("sessions.accp");
    fill_sessions(&path);
    common::tamper(&path, "DELETE FROM registry");
    let options = Options {
        registry: Arc::new(Registry::default()),
        ..options("one", "hub")
    };
    let store = SqliteStore::open(&path).unwrap();
    let link = Vec::<Transmit>::new();
    let opened = Driver::open_host(store, link, options, Rules::default(), NOW);
    insta::assert_snapshot!(opened.unwrap_err(), @"side `one@hub`: position 27 of the log cannot be read: the store lacks registry a32838af3ff6a9ed0a9614b88164be36798497e40a478e0cca3f7952aa6fa492, which is in force there, and no registry with this hash was given (`--registry`): take a copy of the store back from a backup");
}

/// A damaged row of the table of sides fails the reads of its own session. Other sessions can begin, and are listed.
#[test]
fn one_damaged_row_of_the_sides_hits_its_session_alone() {
    let (launch, new) = (common::launch(), SideId::new("new", "hub"));
    // The last two changes hide the side from its index.
    for (change, place) in [
        (
            "epoch = epoch + 1",
            "table `side`, row (1, `launch`): its checksum",
        ),
        (
            "agent = 'planer'",
            "table `side`, row (1, `launch`): its checksum",
        ),
        (
            "session = 'lunch'",
            "table `side`, row (1, `lunch`): its checksum",
        ),
    ] {
        let (_folder, path) = common::place("sessions.accp");
        fill_store(&path);
        common::tamper(
            &path,
            &format!("UPDATE side SET {change} WHERE session = 'launch'"),
        );
        let mut store = SqliteStore::open(&path).unwrap();
        let survey = store.survey().unwrap();
        let [Ok(sound), Err(damaged)] = survey.as_slice() else {
            panic!("{survey:?}");
        };
        assert_eq!(sound.side, common::greetings());
        assert!(damaged.to_string().contains(place), "{damaged}");
        assert!(damaged.side().is_some());
        let failed = [
            store.load(&launch).map(drop),
            store.summary(&launch).map(drop),
            store.entries(&launch, 0, 9).map(drop),
            store.sides("launch").map(drop),
            store.list().map(drop),
        ];
        for read in failed {
            let error = read.unwrap_err();
            assert!(error.to_string().contains(place), "{change}: {error}");
        }
        assert!(store.load(&common::greetings()).unwrap().is_some());
        assert!(store.load(&new).unwrap().is_none());
        let batch = Batch::new(true).with(|batch| batch.entries = vec![common::entry(1)]);
        store.commit(&[(&new, &batch)]).unwrap();
        assert_eq!(store.sides("new").unwrap().len(), 1);
        assert_eq!(store.survey().unwrap().len(), 3);
    }
}

#[test]
fn a_state_that_is_held_stays_while_others_write() {
    let (_folder, path) = common::place("sessions.accp");
    fill_store(&path);
    let (side, mut held) = (
        common::launch(),
        SqliteStore::open_read_only(&path).unwrap(),
    );
    held.hold().unwrap();
    held.hold().unwrap();
    let before = of_store(&mut held);
    let found = |store: &mut SqliteStore| shown(store.search(&common::launch(), "impl_21", 9));
    let found_before = found(&mut held);
    let batch = Batch::new(false).with(|batch| batch.entries = vec![common::entry(21)]);
    let mut writer = SqliteStore::open(&path).unwrap();
    writer.commit(&[(&side, &batch)]).unwrap();
    assert_eq!(of_store(&mut held), before);
    assert_eq!(found(&mut held), found_before);
    held.check_file().unwrap();
    held.verify(&side).unwrap();
    assert!(held.commit(&[(&side, &batch)]).is_err());
    drop(held);
    let mut now = SqliteStore::open_read_only(&path).unwrap();
    assert_eq!(now.summary(&side).unwrap().unwrap().last, 21);
    assert_ne!(found(&mut now), found_before);
}

/// Changes each cell of each row without its checksum. The number of a side is left alone: a row
/// whose side does not exist belongs to nobody, and only `check_file` finds it.
#[test]
fn every_changed_cell_is_found_by_a_read() {
    let bench = Bench::new(fill_store, of_store);
    let conn = rusqlite::Connection::open(bench.folder.path().join("sound.accp")).unwrap();
    let sql = "SELECT t.name, c.name,
            (SELECT group_concat(name) FROM pragma_table_info(t.name) WHERE pk > 0)
        FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
        WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite%'
            AND (c.name <> 'side' OR t.name = 'side')";
    let mut statement = conn.prepare(sql).unwrap();
    let columns = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    let columns: Vec<(String, String, String)> = columns.unwrap().map(Result::unwrap).collect();
    let mut cells = 0;
    for (table, column, key) in columns {
        let count = format!("SELECT count(*) FROM {table}");
        let rows: u32 = conn.query_row(&count, (), |row| row.get(0)).unwrap();
        let other = "CASE typeof(@) WHEN 'integer' THEN @ + 1 WHEN 'text' THEN @ || 'x'
            WHEN 'blob' THEN x'00' || substr(@, 2) ELSE x'00' END";
        let other = other.replace('@', &column);
        for row in 0..rows {
            let path = bench.write(&bench.bytes);
            let sql = format!(
                "UPDATE {table} SET {column} = {other} WHERE ({key}) =
                    (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {row})"
            );
            if rusqlite::Connection::open(&path)
                .unwrap()
                .execute(&sql, ())
                .is_err()
            {
                continue; // another row has that key, or the column has no such value
            }
            let found = bench.found(&path).unwrap();
            assert!(found > 0, "{sql}");
            cells += 1;
        }
    }
    assert!(cells > 250, "{cells}");
}
