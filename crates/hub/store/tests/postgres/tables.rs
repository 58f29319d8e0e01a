//! The tables: how they are made, and damage in them.

use accp_runtime::session::MemberId;
use accp_store::{PostgresStore, Store, StoreErrorKind};

use crate::server::{Schema, entry, full, launch, with};

fn version(schema: &Schema) -> i64 {
    schema.sql().rows("SELECT version FROM accp_schema")[0].get(0)
}

#[test]
fn processes_that_start_at_once_make_the_tables_once() {
    let schema = Schema::new();
    std::thread::scope(|scope| {
        for number in 0..6 {
            let schema = &schema.url;
            scope.spawn(move || {
                let mut store = PostgresStore::open(schema).unwrap();
                let side = accp_store::SideId::new(format!("s{number}"), "hub");
                store.commit(&[(&side, &entry(1))]).unwrap();
            });
        }
    });
    assert_eq!(version(&schema), 5);
    assert_eq!(schema.open().list().unwrap().len(), 6);
}

#[test]
fn tables_of_a_later_version_are_refused_and_left_alone() {
    let schema = Schema::new();
    drop(schema.open());
    schema.sql().run("UPDATE accp_schema SET version = 99");
    let error = PostgresStore::open(&schema.url).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Version);
    let text = error.to_string();
    assert!(
        text.contains("version 99") && text.contains("update"),
        "{text}"
    );
    assert_eq!(version(&schema), 99);
}

#[test]
fn tables_of_an_earlier_version_are_migrated() {
    let schema = Schema::new();
    // Version 0 has no tables yet.
    schema.sql().run(
        "CREATE TABLE accp_schema (version bigint NOT NULL); INSERT INTO accp_schema VALUES (0)",
    );
    let mut store = schema.open();
    assert_eq!(version(&schema), 5);
    store.commit(&[(&launch(), &entry(1))]).unwrap();
    // Version 3 has no inboxes.
    drop(store);
    schema
        .sql()
        .run("DROP TABLE accp_inbox; UPDATE accp_schema SET version = 3");
    let mut store = schema.open();
    assert_eq!(version(&schema), 5);
    let mut second = entry(2);
    let inbox = (MemberId::HOST, "2".to_owned());
    second.inboxes.push(inbox.clone());
    store.commit(&[(&launch(), &second)]).unwrap();
    let stored = store.load(&launch()).unwrap().unwrap();
    assert_eq!((stored.entries.len(), stored.inboxes), (2, vec![inbox]));
    schema.sql().run("UPDATE accp_schema SET version = -1");
    let error = PostgresStore::open(&schema.url).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
}

#[test]
fn tables_of_another_program_are_left_alone() {
    let schema = Schema::new();
    schema.sql().run("CREATE TABLE accp_log (x integer)");
    let error = PostgresStore::open(&schema.url).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Foreign);
    let text = error.to_string();
    assert!(text.contains("accp_log"), "{text}");
    // The failed opening has created no tables.
    assert!(
        !schema
            .sql()
            .rows("SELECT 1 WHERE to_regclass('accp_schema') IS NULL")
            .is_empty()
    );
    schema.sql().run("DROP TABLE accp_log");
    schema.open();
}

/// A user who may not make tables can open a store that has them.
#[test]
fn a_user_needs_only_the_rights_that_the_docs_list() {
    let schema = Schema::new();
    drop(schema.open());
    let (name, sql) = (&schema.name, schema.sql());
    let role = format!("{name}_user");
    sql.run(&format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'it';
         GRANT USAGE ON SCHEMA {name} TO {role};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {name} TO {role};
         REVOKE INSERT, UPDATE, DELETE ON accp_schema FROM {role}"
    ));
    let (_, after) = schema.url.split_once('@').unwrap();
    let mut store = PostgresStore::open(&format!("postgres://{role}:it@{after}")).unwrap();
    let side = launch();
    store.open(&side).unwrap();
    store.commit(&[(&side, &entry(1))]).unwrap();
    store
        .retain(&side, accp_store::Retention::default())
        .unwrap();
    store.delete(&side).unwrap();
    drop(store);
    sql.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

#[test]
fn a_row_that_was_changed_is_damage() {
    for change in [
        "UPDATE accp_log SET tokens = tokens + 1",
        "UPDATE accp_log SET mid = upper(mid)",
        "UPDATE accp_frame SET text = text || 'x'",
        "UPDATE accp_side SET epoch = epoch + 1",
        "UPDATE accp_side SET session = 'lunch'; UPDATE accp_log SET session = 'lunch'; \
         UPDATE accp_frame SET session = 'lunch'",
        "DELETE FROM accp_frame",
        "UPDATE accp_inbox SET text = text || 'x'",
        "UPDATE accp_inbox SET member = member + 1",
        "DELETE FROM accp_log",
        "INSERT INTO accp_blob VALUES ('launch', 'hub', 'x', 'y')",
    ] {
        let schema = Schema::new();
        let mut store = schema.open();
        let mut batch = entry(1);
        batch.inboxes.push((MemberId::HOST, "1".into()));
        batch.entries[0].mid = accp_session::Mid::parse("abcdefabcdef");
        store.commit(&[(&launch(), &batch)]).unwrap();
        store.verify(&launch()).unwrap();
        schema.sql().run(change);
        let errors = [launch(), accp_store::SideId::new("lunch", "hub")]
            .map(|side| store.verify(&side).err().map(|error| error.kind()));
        assert!(errors.contains(&Some(StoreErrorKind::Corrupt)), "{change}");
    }
}

#[test]
fn a_probe_writes_and_reads_and_the_tables_do_not_grow() {
    let schema = Schema::new();
    let mut store = schema.open();
    for _ in 0..500 {
        store.probe().unwrap();
    }
    let sql = "SELECT count(*), sum(fence)::bigint, pg_relation_size('accp_lease') FROM accp_lease";
    let row = schema.sql().rows(sql).remove(0);
    let [rows, sum, bytes] = [0, 1, 2].map(|column| row.get::<_, i64>(column));
    assert_eq!((rows, sum), (1, 500));
    assert!(bytes <= 16 * 8192, "{bytes}");
    assert!(store.list().unwrap().is_empty());
    let closed = "ALTER TABLE accp_lease ADD CONSTRAINT closed CHECK (fence < 501)";
    schema.sql().run(closed);
    assert_eq!(
        store.probe().unwrap_err().kind(),
        StoreErrorKind::Corrupt,
        "it writes"
    );
    schema
        .sql()
        .run("ALTER TABLE accp_lease DROP CONSTRAINT closed");
    store.probe().unwrap();
    store.commit(&[(&launch(), &entry(1))]).unwrap();
}

/// Every key and index begins with the session, so that a distributed database can spread the sessions over its
/// machines.
#[test]
fn the_session_leads_every_key() {
    let schema = Schema::new();
    drop(schema.open());
    let rows = schema.sql().rows(&format!(
        "SELECT indexdef FROM pg_indexes WHERE schemaname = '{}'",
        schema.name
    ));
    assert_eq!(rows.len(), 14);
    for row in rows {
        let definition: &str = row.get(0);
        assert!(definition.contains("(session, agent"), "{definition}");
    }
}

/// However large the tables are, work on one side reads the rows of that side.
#[test]
fn no_work_on_a_side_reads_a_whole_table() {
    let schema = Schema::new();
    drop(schema.open());
    let url = with(&schema.url, "application_name", Some(&schema.name));
    let scans = || {
        // A connection reports its statistics when it ends, so the loop waits for its end.
        let name = &schema.name;
        let open = format!("SELECT FROM pg_stat_activity WHERE application_name = '{name}'");
        while !schema.sql().rows(&open).is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let figures = format!(
            "SELECT coalesce(sum(seq_scan), 0)::bigint, coalesce(sum(idx_scan), 0)::bigint
             FROM pg_stat_user_tables WHERE schemaname = '{name}' AND relname <> 'accp_schema'"
        );
        let row = schema.sql().rows(&figures).remove(0);
        (row.get::<_, i64>(0), row.get::<_, i64>(1))
    };
    drop(PostgresStore::open(&url).unwrap());
    let before = scans();
    let mut store = PostgresStore::open(&url).unwrap();
    let side = launch();
    store.open(&side).unwrap();
    for position in 1..=20 {
        let batch = crate::server::full(position);
        store.commit(&[(&side, &batch)]).unwrap();
    }
    let retention = accp_store::Retention { log_before: 9 };
    store.retain(&side, retention).unwrap();
    store.open(&side).unwrap().unwrap();
    store.entries(&side, 3, 5).unwrap();
    store.entry(&side, 20).unwrap().unwrap();
    store.cold(&side, "k101_1").unwrap().unwrap();
    store.cold_keys(&side).unwrap();
    store.sides("launch").unwrap();
    store.verify(&side).unwrap();
    store
        .lease(&side, "a", std::time::Duration::from_secs(9))
        .unwrap();
    store.release(std::slice::from_ref(&side), "a").unwrap();
    assert!(store.delete(&side).unwrap());
    drop(store);
    let after = scans();
    assert_eq!(after.0, before.0, "whole tables were read");
    assert!(after.1 > before.1, "indexes were used");
}

/// The statements in `docs/postgres.md` make the tables that a store makes.
#[test]
fn the_docs_have_the_tables() {
    let docs = include_str!("../../../../../docs/postgres.md");
    let (_, sql) = docs.split_once("```sql\n").unwrap();
    let (sql, _) = sql.split_once("```").unwrap();
    let (documented, made) = (Schema::new(), Schema::new());
    documented.sql().run(sql);
    drop(made.open());
    let [documented, made] = [documented, made].map(|schema| {
        let columns = schema.sql().rows(&format!(
            "SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, collation_name)
             FROM information_schema.columns WHERE table_schema = '{}'
             ORDER BY table_name, ordinal_position",
            schema.name
        ));
        let indexes = schema.sql().rows(&format!(
            "SELECT replace(indexdef, '{0}.', '') FROM pg_indexes WHERE schemaname = '{0}' ORDER BY 1",
            schema.name
        ));
        let all = columns.iter().chain(&indexes);
        all.map(|row| row.get(0)).collect::<Vec<String>>()
    });
    assert_eq!(documented, made);
}

/// The planner of a new database knows nothing of its tables. It must not read a whole session for each row.
#[test]
fn rows_are_found_by_their_whole_key_although_nothing_is_known_of_the_tables() {
    const COMMITS: u64 = 300;
    let schema = Schema::new();
    drop(schema.open());
    let tables = schema
        .sql()
        .rows("SELECT relname FROM pg_stat_user_tables WHERE schemaname = current_schema()");
    for row in &tables {
        let table: String = row.get(0);
        schema.sql().run(&format!(
            "ALTER TABLE {table} SET (autovacuum_enabled = false)"
        ));
    }
    let side = launch();
    let mut store =
        PostgresStore::open(&with(&schema.url, "application_name", Some(&schema.name))).unwrap();
    store.open(&side).unwrap();
    for position in 1..=COMMITS {
        store.commit(&[(&side, &full(position))]).unwrap();
    }
    for _ in 0..10 {
        assert!(store.load(&side).unwrap().is_some());
    }
    for position in 1..=COMMITS {
        store.cold(&side, &format!("k101_{position}")).unwrap();
    }
    store.entries(&side, 1, 200).unwrap();
    store
        .retain(&side, accp_store::Retention::default())
        .unwrap();
    drop(store);
    // A connection reports what it has read when it ends, so the loop waits for its end.
    let of_store = format!(
        "SELECT 1 FROM pg_stat_activity WHERE application_name = '{}'",
        schema.name
    );
    while !schema.sql().rows(&of_store).is_empty() {}
    let read = schema.sql().rows(
        "SELECT indexrelname, idx_tup_read FROM pg_stat_user_indexes WHERE schemaname = current_schema()",
    );
    let most: i64 = 30 * COMMITS as i64;
    for row in &read {
        let (index, count): (String, i64) = (row.get(0), row.get(1));
        assert!(count < most, "{index}: {count} rows");
    }
    let all: i64 = read.iter().map(|row| row.get::<_, i64>(1)).sum();
    assert!(all > COMMITS as i64, "{all} rows");
}
