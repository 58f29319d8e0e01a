//! Rows of an application that join the commit of a batch.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{env, thread};

use accp_runtime::session::{MemberId, Options, Outbound, Rules, Time, Transmit};
use accp_runtime::{AgentId, DynamicFrame, Registry};
use accp_session::Batch;
use accp_store::{
    AsyncDriver, Committer, Driver, MemoryStore, SideId, SqliteStore, Store, StoreErrorKind,
    Transactional, Write,
};
use insta::assert_snapshot;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::common::{entry, launch, place};

const NOW: Time = Time::from_secs(1_714_000_000);

/// Makes a file with entries that wait to be handled, and a table of the application.
fn file() -> (TempDir, PathBuf) {
    let (folder, path) = place("sessions.accp");
    let mut store = SqliteStore::open(&path).unwrap();
    let batch = Batch::new(false).with(|batch| batch.entries = (1..=100).map(entry).collect());
    store.commit(&[(&launch(), &batch)]).unwrap();
    let sql = "CREATE TABLE app_done (position INTEGER PRIMARY KEY);
        CREATE INDEX app_by_position ON app_done (position)";
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    (folder, path)
}

/// Returns the mark of a frame, with its reply.
fn handled(position: u64) -> Batch {
    Batch::new(false).with(|batch| {
        batch.handled = vec![position];
        batch.entries = vec![entry(100 + position)];
    })
}

fn insert(position: u64) -> impl FnMut(&Connection) -> Result<(), accp_store::RowsError> {
    move |rows| {
        rows.execute("INSERT INTO app_done VALUES (?1)", [position])?;
        Ok(())
    }
}

/// Returns the positions that are marked, the positions with a reply, and the application's rows.
fn found(path: &Path) -> [Vec<u64>; 3] {
    let mut store = SqliteStore::open(path).unwrap();
    store.check_file().unwrap();
    store.verify(&launch()).unwrap();
    let entries = store.entries(&launch(), 0, usize::MAX).unwrap();
    let of_frames = entries.iter().filter(|entry| entry.position <= 100);
    let marked = of_frames
        .filter(|entry| !entry.is_due())
        .map(|entry| entry.position);
    let answers = entries.iter().filter(|entry| entry.position > 100);
    let replied = answers.map(|entry| entry.position - 100);
    let conn = Connection::open(path).unwrap();
    let mut rows = conn
        .prepare("SELECT position FROM app_done ORDER BY position")
        .unwrap();
    let rows = rows.query_map((), |row| row.get(0)).unwrap();
    [
        marked.collect(),
        replied.collect(),
        rows.collect::<Result<_, _>>().unwrap(),
    ]
}

#[test]
fn the_mark_the_reply_and_the_rows_are_there_together_or_not_at_all() {
    let (_folder, path) = file();
    let mut store = SqliteStore::open(&path).unwrap();
    let (side, other) = (launch(), SideId::new("launch", "dev"));
    let write = handled(1);
    store
        .commit_with(&mut [Write::new(&side, &write).with(&mut insert(1))])
        .unwrap();
    assert_eq!(found(&path), [[1], [1], [1]]);

    // The closure of the application fails: first after it has written a row, then with a row that exists already.
    let write = handled(2);
    let mut gives_up = |rows: &Connection| {
        insert(2)(rows)?;
        Err("the task is nobody's".into())
    };
    let apart = Batch::new(false).with(|batch| batch.entries = vec![entry(1)]);
    for rows in [
        &mut gives_up as &mut accp_store::WriteRows<'_, _>,
        &mut insert(1),
    ] {
        let error = store
            .commit_with(&mut [
                Write::new(&other, &apart),
                Write::new(&side, &write).with(rows),
            ])
            .unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Rows);
        assert_eq!(error.side(), Some(&side));
        assert_eq!(found(&path), [[1], [1], [1]]);
        assert_eq!(store.summary(&other).unwrap(), None);
    }

    // Position 1 is already marked, so the store refuses the batch, and the row is not written.
    let error = store
        .commit_with(&mut [Write::new(&side, &handled(1)).with(&mut insert(2))])
        .unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Conflict);
    assert_eq!(found(&path), [[1], [1], [1]]);

    // Rows are also committed when the batch is empty.
    let nothing = Batch::default();
    store
        .commit_with(&mut [Write::new(&side, &nothing).with(&mut insert(7))])
        .unwrap();
    assert_eq!(found(&path), [vec![1], vec![1], vec![1, 7]]);
}

#[test]
fn what_writes_rows_must_not_end_the_transaction() {
    let (_folder, path) = file();
    for sql in [
        "ROLLBACK",
        "COMMIT",
        "ROLLBACK; BEGIN",
        "COMMIT; BEGIN IMMEDIATE",
    ] {
        let mut store = SqliteStore::open(&path).unwrap();
        let error = store
            .commit_with(
                &mut [Write::new(&launch(), &Batch::default()).with(&mut |rows| {
                    rows.execute_batch(sql)?;
                    Ok(())
                })],
            )
            .unwrap_err();
        let text = error
            .to_string()
            .replace(&path.display().to_string(), "sessions.accp");
        insta::allow_duplicates! {
            assert_snapshot!(text, @"sessions.accp, side `launch@planner`: the transaction ended while the application wrote its rows (no such savepoint: accp_rows): write them without COMMIT and ROLLBACK, and open the store anew");
        }
        assert_eq!(error.kind(), StoreErrorKind::Io);
    }
    let none: [Vec<u64>; 3] = Default::default();
    assert_eq!(found(&path), none);
}

#[test]
fn only_tables_of_the_application_may_stand_beside_the_store_s() {
    for sql in [
        "CREATE TABLE done (position INTEGER)",
        "CREATE TRIGGER app_t AFTER INSERT ON log BEGIN DELETE FROM log; END",
        "CREATE INDEX app_i ON log (at)",
    ] {
        let (_folder, path) = file();
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let error = SqliteStore::open(&path).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{sql}");
    }
}

#[test]
fn rows_join_the_groups_of_a_committer() {
    let (_folder, path) = file();
    let committer = Committer::with_rows(SqliteStore::open(&path).unwrap()).unwrap();
    let (side, stored) = committer.open(&launch()).wait().unwrap();
    assert_eq!(stored.unwrap().last, 100);
    let (other, _) = committer
        .open(&SideId::new("launch", "dev"))
        .wait()
        .unwrap();
    let batch = |position| Box::new(handled(position));
    let first = side.commit_with(batch(1), insert(1));
    let apart = other.commit(Box::new(
        Batch::new(false).with(|batch| batch.entries = vec![entry(1)]),
    ));
    let panics = side.commit_with(batch(2), |_| panic!("as the test wants it"));
    let over_a_hole = side.commit_with(batch(3), insert(3));
    first.wait().unwrap();
    apart.wait().unwrap();
    let error = panics.wait().unwrap_err();
    let text = error
        .to_string()
        .replace(&path.display().to_string(), "sessions.accp");
    assert_snapshot!(text, @"sessions.accp, side `launch@planner`: the rows of the application were not written: the closure that writes them panicked");
    assert_eq!(over_a_hole.wait().unwrap_err().kind(), StoreErrorKind::Rows);
    assert_eq!(found(&path), [[1], [1], [1]]);

    // The side is then opened again, and the frame is handled again.
    let (side, _) = committer.open(&launch()).wait().unwrap();
    side.commit_with(batch(2), insert(2)).wait().unwrap();
    assert_eq!(found(&path), [[1, 2], [1, 2], [1, 2]]);
}

#[test]
fn a_store_without_transactions_refuses_rows() {
    let committer = Committer::new(MemoryStore::new()).unwrap();
    let (side, _) = committer.open(&launch()).wait().unwrap();
    let refused = side.commit_with(Box::new(Batch::default()), |_| Ok(()));
    assert_snapshot!(refused.wait().unwrap_err(), @"side `launch@planner`: only a committer made by `Committer::with_rows` writes rows of the application");
}

/// Returns the frames of a host that has made a request, for the member to answer.
fn asked(path: &Path) -> Vec<Transmit> {
    let (store, options) = (SqliteStore::open(path).unwrap(), options("hub"));
    let mut host = Driver::open_host(store, Vec::new(), options, Rules::default(), NOW).unwrap();
    let dev = host.join(&AgentId::new("dev").unwrap(), NOW).unwrap();
    let mut member = member(path);
    for round in 0..4 {
        if round == 2 {
            let plan = DynamicFrame::new("hub", "req", "plan").unwrap();
            host.send(&Outbound::message(&plan), NOW).unwrap();
        }
        assert!(member.carry_out(NOW).unwrap().inbound.is_empty());
        let frames = member.link_mut().drain(..);
        host.receive_all(dev, frames, NOW).unwrap();
        host.carry_out(NOW).unwrap();
        if round == 3 {
            break;
        }
        let frames = host.link_mut().drain(..);
        if round < 2 {
            member.receive_all(MemberId::HOST, frames, NOW).unwrap();
        } else {
            return frames.collect();
        }
    }
    panic!("nothing was asked")
}

fn options(agent: &'static str) -> Options {
    let registry = Arc::new(Registry::standard());
    Options::new("s", AgentId::new(agent).unwrap(), registry)
}

fn member(path: &Path) -> Driver<SqliteStore, Vec<Transmit>> {
    let store = SqliteStore::open(path).unwrap();
    Driver::open_member(store, Vec::new(), options("dev"), NOW).unwrap()
}

fn rows_of(path: &Path) -> u64 {
    let conn = Connection::open(path).unwrap();
    conn.query_row("SELECT count(*) FROM app_done", (), |row| row.get(0))
        .unwrap()
}

#[test]
fn a_handler_s_rows_join_the_commit_of_its_mark() {
    let (_folder, path) = file();
    let asked = asked(&path);
    let side = SideId::new("s", "dev");
    let done = DynamicFrame::new("dev", "done", "plan").unwrap();
    let reply = [Outbound::message(&done)];
    let mut deliveries = Vec::new();
    for works in [false, true] {
        let mut member = member(&path);
        member
            .receive_all(MemberId::HOST, asked.clone(), NOW)
            .unwrap();
        let inbound = member.carry_out(NOW).unwrap().inbound.remove(0);
        deliveries.push(inbound.position());
        let session = member.session_mut().unwrap();
        session.handled(inbound.position(), &reply, NOW).unwrap();
        let carried_out = member.carry_out_with(NOW, &mut |rows: &Connection| {
            insert(inbound.position())(rows)?;
            if works { Ok(()) } else { Err("not now".into()) }
        });
        let summary = member.into_parts().0.summary(&side).unwrap().unwrap();
        assert_eq!(carried_out.is_ok(), works);
        assert_eq!(
            (summary.due, rows_of(&path)),
            if works { (0, 1) } else { (1, 0) }
        );
    }
    // The frame was delivered again, but it was handled only once.
    assert_eq!(deliveries[0], deliveries[1]);
}

#[test]
fn a_frame_is_sent_together_with_rows_and_nothing_that_arrives_meanwhile_is_lost() {
    let (_folder, path) = file();
    let (asked, side) = (asked(&path), SideId::new("s", "dev"));
    let note = DynamicFrame::new("dev", "qry", "plan").unwrap();
    for works in [false, true] {
        let mut member = member(&path);
        member
            .receive_all(MemberId::HOST, asked.clone(), NOW)
            .unwrap();
        let sent = member.send_with(&Outbound::message(&note), NOW, &mut |rows| {
            insert(7)(rows)?;
            if works { Ok(()) } else { Err("not now".into()) }
        });
        assert_eq!(sent.is_ok(), works);
        let mut handled = 0;
        if works {
            let served = member.serve(NOW, |_| {
                handled += 1;
                Ok(vec![])
            });
            served.unwrap();
        }
        let kept = member.into_parts().0.load(&side).unwrap().unwrap();
        let found = (kept.outbox.len(), rows_of(&path), handled);
        assert_eq!(found, if works { (1, 1, 1) } else { (0, 0, 0) });
    }
}

#[test]
fn and_so_they_do_through_a_committer() {
    let (_folder, path) = file();
    let asked = asked(&path);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let committer = Committer::with_rows(SqliteStore::open(&path).unwrap()).unwrap();
    runtime.block_on(async {
        for works in [false, true] {
            let (link, options) = (Vec::<Transmit>::new(), options("dev"));
            let open = AsyncDriver::open_member(&committer, link, options, NOW);
            let mut member = open.await.unwrap();
            for frame in &asked {
                member
                    .receive(MemberId::HOST, frame.text.as_bytes(), NOW)
                    .unwrap();
            }
            let inbound = member.carry_out(NOW).await.unwrap().inbound.remove(0);
            member.handled(&inbound, vec![], NOW).unwrap();
            let mut insert = insert(inbound.position());
            let carried_out = member.carry_out_with(NOW, move |rows: &Connection| {
                insert(rows)?;
                if works { Ok(()) } else { Err("not now".into()) }
            });
            assert_eq!(carried_out.await.is_ok(), works);
            let side = member.side().clone();
            let summary = committer.ask(move |store| store.summary(&side)).await;
            let due = summary.unwrap().unwrap().due;
            assert_eq!((due, rows_of(&path)), if works { (0, 1) } else { (1, 0) });
        }
    });
}

/// The name of the variable that gives the file to the process that is killed.
const FILE: &str = "ACCP_TEST_ROWS";

/// The process that is killed handles one frame after the other.
#[test]
fn child_that_is_killed() {
    let Some(file) = env::var_os(FILE) else {
        return;
    };
    let mut store = SqliteStore::open(file).unwrap();
    let side = launch();
    let last = store.summary(&side).unwrap().unwrap().last;
    for position in last - 99..=100 {
        let write = handled(position);
        store
            .commit_with(&mut [Write::new(&side, &write).with(&mut insert(position))])
            .unwrap();
    }
    thread::sleep(Duration::from_secs(60));
}

/// The process that is killed pays what a host asks for, in a session whose sides share the file.
#[test]
fn child_that_pays() {
    let Some(file) = env::var_os(FILE) else {
        return;
    };
    let store = Arc::new(Mutex::new(SqliteStore::open(file).unwrap()));
    let (link, rules) = (Vec::new(), Rules::default());
    let mut host = Driver::open_host(store.clone(), link, options("hub"), rules, NOW).unwrap();
    let dev = host.join(&AgentId::new("dev").unwrap(), NOW).unwrap();
    let store = SqliteStore::open(env::var_os(FILE).unwrap()).unwrap();
    let mut bank = Driver::open_member(store, Vec::new(), options("dev"), NOW).unwrap();
    let ask = DynamicFrame::new("hub", "req", "pay").unwrap();
    for second in 0.. {
        let now = NOW + Duration::from_secs(second);
        if host.session().is_quiet() {
            host.send(&Outbound::message(&ask), now).unwrap();
            host.send(&Outbound::message(&ask), now).unwrap();
        }
        host.serve(now, |_| Ok(vec![])).unwrap();
        let frames = host.link_mut().drain(..);
        bank.receive_all(MemberId::HOST, frames, now).unwrap();
        bank.serve_with(now, |inbound, rows| {
            rows.write(insert(inbound.position()));
            let paid = DynamicFrame::new("dev", "done", "pay")?;
            let paid = paid.with("for", inbound.position() as i64);
            Ok(vec![Outbound::owned_message(paid)])
        })
        .unwrap();
        host.receive_all(dev, bank.link_mut().drain(..), now)
            .unwrap();
    }
}

/// Starts a process that runs this test, and kills it after a time.
fn kill(test: &str, path: &Path, after: Duration) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", test])
        .env(FILE, path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn each_payment_is_made_once_whenever_the_process_is_killed() {
    let (_folder, path) = file();
    Connection::open(&path)
        .unwrap()
        .execute_batch("DROP TABLE app_done; CREATE TABLE app_done (position INTEGER)")
        .unwrap();
    let side = SideId::new("s", "dev");
    let (mut life, mut paid) = (0, 0);
    // On a busy machine, a process may be killed before it reaches a payment, so the loop runs
    // until enough payments are made.
    while life < 40 || paid <= 40 {
        assert!(life < 400, "no process comes to a payment: {paid}");
        let patience = Duration::from_millis(25 + life);
        kill("rows::child_that_pays", &path, patience);
        life += 1;
        let conn = Connection::open(&path).unwrap();
        let rows = conn.prepare("SELECT position FROM app_done ORDER BY position");
        let mut rows = rows.unwrap();
        let rows = rows.query_map((), |row| row.get::<_, u64>(0)).unwrap();
        let rows: Vec<u64> = rows.collect::<Result<_, _>>().unwrap();
        let mut store = SqliteStore::open(&path).unwrap();
        if store.summary(&side).unwrap().is_none() {
            continue;
        }
        let log = store.entries(&side, 1, usize::MAX).unwrap();
        let asked = log.iter().filter(|entry| entry.text.contains(">req:pay"));
        let marked: Vec<u64> = asked
            .filter(|entry| !entry.is_due())
            .map(|entry| entry.position)
            .collect();
        assert_eq!(rows, marked, "a row for each mark, and one only");
        // The reply was stored with the mark. It waits in the outbox, or the log has it.
        let waiting = store.load(&side).unwrap().unwrap().outbox;
        let waiting = waiting.iter().map(|frame| frame.head.clone());
        let texts = log
            .iter()
            .map(|entry| entry.text.to_string())
            .chain(waiting);
        let replies: Vec<_> = texts.filter(|text| text.contains(">done:pay")).collect();
        for position in &rows {
            let name = [format!("{{for:{position}}}"), format!("{{for:{position}|")];
            let answers = replies
                .iter()
                .filter(|text| name.iter().any(|name| text.contains(name)));
            assert!(
                answers.count() > 0,
                "{position} has no reply in {replies:?}"
            );
        }
        paid = rows.len();
    }
}

#[test]
fn a_kill_leaves_all_of_it_or_nothing() {
    let (_folder, path) = file();
    let mut reached = 0;
    for life in 0..12 {
        kill(
            "rows::child_that_is_killed",
            &path,
            Duration::from_millis(8 + 3 * life),
        );
        let [marked, replied, rows] = found(&path);
        assert_eq!((&marked, &marked), (&replied, &rows));
        reached = marked.len();
    }
    assert!(reached > 0, "no process came far enough to be killed at it");
}
