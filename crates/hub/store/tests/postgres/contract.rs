//! The store keeps the contract of `Store`.

use std::sync::Arc;

use accp_registry::Hash;
use accp_session::{Batch, Cold, Mid, Snapshot};
use accp_store::{PostgresStore, Retention, SideId, Store, StoreErrorKind, conformance};

use crate::server::{Schema, entry, full, launch};

/// Empties the tables.
fn empty(schema: &Schema) {
    let tables = "accp_lease, accp_side, accp_log, accp_frame, accp_cold, accp_blob, accp_outbox, \
        accp_inbox, accp_registry, accp_snapshot";
    // Small tables are emptied faster by DELETE than by TRUNCATE, which syncs files.
    let sql = tables
        .split(", ")
        .map(|table| format!("DELETE FROM {table};"));
    schema.sql().run(&sql.collect::<String>());
}

#[test]
fn every_script_of_the_suite_is_played() {
    let schema = Schema::new();
    let mut store = Some(schema.open());
    let url = &schema.url;
    let fresh = || {
        let new = PostgresStore::open(url).unwrap();
        empty(&schema);
        new
    };
    drop(store.take());
    conformance::run(64, fresh, |store| {
        drop(store);
        PostgresStore::open(url).unwrap()
    });
}

#[test]
fn every_script_is_played_through_a_committer() {
    let schema = Schema::new();
    drop(schema.open());
    conformance::run_committed(48, || {
        let new = schema.open();
        empty(&schema);
        new
    });
}

#[test]
fn a_group_takes_two_round_trips() {
    let schema = Schema::new();
    let mut store = schema.open();
    let sides: Vec<_> = (0..50)
        .map(|n| SideId::new(format!("s{n}"), "hub"))
        .collect();
    let commit = |store: &mut PostgresStore, position: u64| {
        let batches: Vec<_> = sides.iter().map(|_| full(position)).collect();
        let group: Vec<_> = sides.iter().zip(&batches).collect();
        let before = store.round_trips();
        store.commit(&group).unwrap();
        store.round_trips() - before
    };
    // In the first groups each flight needs one more round trip, which prepares the statements.
    assert_eq!(commit(&mut store, 1), 4);
    commit(&mut store, 2); // marks, and all sides are open
    assert_eq!(commit(&mut store, 3), 2);
    assert_eq!(store.summary(&sides[7]).unwrap().unwrap().entries, 3);
    store.verify(&sides[7]).unwrap();
}

#[test]
fn hostile_texts_come_back() {
    let schema = Schema::new();
    let mut store = schema.open();
    let hostile = "'; DROP TABLE accp_log; -- \"$1\" \\ \0 \u{1}0 \u{1}\0 \u{10ffff} {,} NULL";
    let side = SideId::new(hostile, format!("{hostile}@"));
    let mut batch = entry(1);
    batch.entries[0].text = Arc::from(hostile);
    batch.entries[0].mid = Mid::parse(hostile);
    batch.cold.push(Cold {
        key: hostile.into(),
        digest: Hash::of(hostile.as_bytes()),
        length: hostile.len() as u64,
        bytes: Some(Arc::from(hostile.as_bytes())),
    });
    batch.snapshot = Some(Snapshot {
        position: 0,
        text: hostile.into(),
    });
    store.commit(&[(&side, &batch)]).unwrap();
    let mut store = schema.open();
    let stored = store.open(&side).unwrap().unwrap();
    assert_eq!(stored.entries, batch.entries);
    assert_eq!(stored.snapshot, batch.snapshot);
    assert_eq!(store.cold_keys(&side).unwrap(), [hostile]);
    let kept = store.cold(&side, hostile).unwrap().unwrap();
    assert_eq!(kept.value, batch.cold[0]);
    assert_eq!(store.list().unwrap()[0].side, side);
    store.verify(&side).unwrap();
    // `freed` counts the bytes of the text, not those of its escaped form in the column.
    let mark = Batch::new(true).with(|batch| {
        batch.handled = vec![1];
        batch.snapshot = Some(Snapshot {
            position: 1,
            text: String::new(),
        });
    });
    store.commit(&[(&side, &mark)]).unwrap();
    let freed = store.retain(&side, Retention { log_before: 2 }).unwrap();
    assert_eq!((freed.entries, freed.bytes), (1, hostile.len() as u64));
    store.verify(&side).unwrap();
    assert!(store.delete(&side).unwrap());
    assert_eq!(store.list().unwrap(), []);
}

#[test]
fn a_name_that_fits_no_index_is_a_conflict_of_its_side() {
    let schema = Schema::new();
    let mut store = schema.open();
    let long = SideId::new("x".repeat(601), "hub");
    let (one, good) = (entry(1), launch());
    let refused = store.commit(&[(&good, &one), (&long, &one)]).unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Conflict);
    assert_eq!(refused.side(), Some(&long));
    let mut named = entry(1);
    named.entries[0].mid = Mid::parse(&"m".repeat(1_001));
    let refused = store.commit(&[(&good, &named)]).unwrap_err();
    assert_eq!(refused.side(), Some(&good));
    let longest = SideId::new(random(600), random(600));
    named.entries[0].mid = Mid::parse(&random(1_000));
    store.commit(&[(&longest, &named)]).unwrap();
    store.verify(&longest).unwrap();
    let agent = SideId::new("x", "\0".repeat(301));
    assert_eq!(store.open(&agent).unwrap_err().side(), Some(&agent));
    assert_eq!(store.load(&long).unwrap(), None);
}

/// Returns random letters, which compression hardly shortens.
fn random(length: usize) -> String {
    let mut state = length as u64;
    let letter = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b'a' + ((state >> 33) % 26) as u8)
    };
    (0..length).map(letter).collect()
}

#[test]
fn retention_deletes_in_pieces() {
    let schema = Schema::new();
    let mut store = schema.open();
    let side = launch();
    let mut batch = Batch::new(true);
    for position in 1..=25_000 {
        let mut one = entry(position).entries.remove(0);
        one.due = accp_session::Due::No;
        batch.entries.push(one);
    }
    batch.snapshot = Some(Snapshot {
        position: 25_000,
        text: String::new(),
    });
    store.commit(&[(&side, &batch)]).unwrap();
    let freed = store
        .retain(&side, Retention { log_before: 24_001 })
        .unwrap();
    assert_eq!(freed.entries, 24_000);
    let summary = store.summary(&side).unwrap().unwrap();
    assert_eq!((summary.first, summary.entries), (24_001, 25_000));
    store.verify(&side).unwrap();
    assert_eq!(store.entries(&side, 0, 2).unwrap()[0].position, 24_001);
    assert_eq!(&*store.entry(&side, 9).unwrap().unwrap().text, "");
}
