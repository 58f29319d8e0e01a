//! Rows that an application writes in the transaction of a commit.

use accp_session::Batch;
use accp_store::{Committer, Store, StoreErrorKind, Transactional, Write};

use crate::server::{Schema, entry, launch};

fn count(schema: &Schema) -> i64 {
    schema.sql().rows("SELECT count(*) FROM app_done")[0].get(0)
}

fn with_table() -> Schema {
    let schema = Schema::new();
    schema.sql().run("CREATE TABLE app_done (task text)");
    schema
}

#[test]
fn rows_are_kept_with_their_batch_or_not_at_all() {
    let schema = with_table();
    let mut store = schema.open();
    let side = launch();
    store
        .commit_with(&mut [Write::new(&side, &entry(1)).with(&mut |rows| {
            let task = "it's\n";
            rows.execute("INSERT INTO app_done VALUES ($1)", &[&task])?;
            assert_eq!(rows.query("SELECT task FROM app_done", &[])?.len(), 1);
            Ok(())
        })])
        .unwrap();
    assert_eq!(count(&schema), 1);

    // The batch does not fit, so no rows are written.
    let refused = store.commit_with(&mut [Write::new(&side, &entry(1))
        .with(&mut |rows| rows.execute_batch("INSERT INTO app_done VALUES ('x')"))]);
    assert_eq!(refused.unwrap_err().kind(), StoreErrorKind::Conflict);

    // The rows cannot be written, so no batch is written, whether the closure returns the error or not.
    let mut fail = |rows: &accp_store::PostgresRows| {
        rows.execute_batch("INSERT INTO app_done VALUES ('x')")?;
        rows.execute_batch("INSERT INTO app_missing VALUES (1)")
    };
    let mut hide = |rows: &accp_store::PostgresRows| {
        drop(rows.execute_batch("INSERT INTO app_missing VALUES (1)"));
        Ok(())
    };
    let mut give_up = |_: &accp_store::PostgresRows| Err("no".into());
    let batch = entry(2);
    for refused in [
        store.commit_with(&mut [Write::new(&side, &batch).with(&mut fail)]),
        store.commit_with(&mut [Write::new(&side, &batch).with(&mut hide)]),
        store.commit_with(&mut [Write::new(&side, &batch).with(&mut give_up)]),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Rows, "{error}");
        assert_eq!(error.side(), Some(&side));
    }
    assert_eq!(count(&schema), 1);
    store.commit(&[(&side, &batch)]).unwrap();
}

#[test]
fn a_closure_that_ends_the_transaction_breaks_the_store() {
    let schema = with_table();
    let mut store = schema.open();
    let ended = store.commit_with(&mut [
        Write::new(&launch(), &entry(1)).with(&mut |rows| rows.execute_batch("ROLLBACK"))
    ]);
    assert_eq!(ended.unwrap_err().kind(), StoreErrorKind::Io);
    assert_eq!(store.list().unwrap_err().kind(), StoreErrorKind::Io);
    assert_eq!(schema.open().list().unwrap(), []);
}

#[test]
fn a_process_that_has_lost_its_side_writes_no_rows() {
    let schema = with_table();
    let (mut old, mut new) = (schema.open(), schema.open());
    let side = launch();
    old.open(&side).unwrap();
    new.open(&side).unwrap();
    let refused = old.commit_with(&mut [Write::new(&side, &Batch::default())
        .with(&mut |rows| rows.execute_batch("INSERT INTO app_done VALUES ('x')"))]);
    assert_eq!(refused.unwrap_err().kind(), StoreErrorKind::Conflict);
    assert_eq!(count(&schema), 0);
}

#[test]
fn rows_go_through_a_committer() {
    let schema = with_table();
    let committer = Committer::with_rows(schema.open()).unwrap();
    let (side, _) = committer.open(&launch()).wait().unwrap();
    let kept = side.commit_with(Box::new(entry(1)), |rows| {
        rows.execute_batch("INSERT INTO app_done VALUES ('x')")
    });
    kept.wait().unwrap();
    assert_eq!(count(&schema), 1);
}
