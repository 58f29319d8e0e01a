//! Tests of lost connections, and of TLS.

use std::process::Command;
use std::time::{Duration, Instant};

use accp_store::{Committer, PostgresStore, Store, StoreErrorKind};

use crate::server::{Schema, Sql, entry, launch, url, with};

/// Ends the connections of stores on a schema.
fn end_connections(schema: &Schema, name: &str) {
    let ended = schema.sql().rows(&format!(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = '{name}'"
    ));
    assert!(!ended.is_empty());
}

#[test]
fn after_a_lost_connection_a_new_store_goes_on() {
    let schema = Schema::new();
    let url = with(&schema.url, "application_name", Some(&schema.name));
    let mut store = PostgresStore::open(&url).unwrap();
    let side = launch();
    store.commit(&[(&side, &entry(1))]).unwrap();
    end_connections(&schema, &schema.name);
    let lost = store.commit(&[(&side, &entry(2))]).unwrap_err();
    assert_eq!(lost.kind(), StoreErrorKind::Io, "{lost}");
    // The store stays broken, because it does not know which changes it has lost.
    let lost = store.list().unwrap_err();
    assert_eq!(lost.kind(), StoreErrorKind::Io);
    assert!(lost.to_string().contains("open the store anew"), "{lost}");
    let mut store = PostgresStore::open(&url).unwrap();
    assert_eq!(store.open(&side).unwrap().unwrap().last, 1);
    store.commit(&[(&side, &entry(2))]).unwrap();
}

#[test]
fn a_committer_says_that_the_connection_is_lost() {
    let schema = Schema::new();
    let url = with(&schema.url, "application_name", Some(&schema.name));
    let committer = Committer::new(PostgresStore::open(&url).unwrap()).unwrap();
    let (side, _) = committer.open(&launch()).wait().unwrap();
    end_connections(&schema, &schema.name);
    for _ in 0..2 {
        let lost = side.commit(Box::new(entry(1))).wait().unwrap_err();
        assert_eq!(lost.kind(), StoreErrorKind::Io, "{lost}");
    }
}

#[test]
fn another_transaction_that_holds_the_side_makes_it_busy() {
    let schema = Schema::new();
    let url = with(
        &schema.url,
        "options",
        Some(&format!(
            "-csearch_path%3D{}%20-clock_timeout%3D200ms",
            schema.name
        )),
    );
    let mut store = PostgresStore::open(&url).unwrap();
    let side = launch();
    store.commit(&[(&side, &entry(1))]).unwrap();
    schema
        .sql()
        .run("BEGIN; SELECT * FROM accp_lease FOR UPDATE");
    let busy = store.commit(&[(&side, &entry(2))]).unwrap_err();
    assert_eq!(busy.kind(), StoreErrorKind::Busy, "{busy}");
    schema.sql().run("COMMIT");
    store.commit(&[(&side, &entry(2))]).unwrap();
}

#[test]
fn a_database_that_does_not_answer_is_given_up() {
    let schema = Schema::new();
    let mut store = schema.open();
    let side = launch();
    store.commit(&[(&side, &entry(1))]).unwrap();
    store.set_patience(Duration::from_millis(200));
    schema
        .sql()
        .run("BEGIN; SELECT * FROM accp_lease FOR UPDATE");
    let began = Instant::now();
    let lost = store.commit(&[(&side, &entry(2))]).unwrap_err();
    assert_eq!(lost.kind(), StoreErrorKind::Io, "{lost}");
    assert!(began.elapsed() < Duration::from_secs(3));
    schema.sql().run("COMMIT");
}

#[test]
fn asynchronous_code_is_told_to_use_a_committer() {
    let schema = Schema::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut store = schema.open();
    let url = &schema.url;
    let errors = runtime.block_on(async move {
        let called = store.list().unwrap_err();
        let opened = PostgresStore::open(url).unwrap_err();
        drop(store);
        [called, opened].map(|error| error.to_string())
    });
    for error in errors {
        assert!(error.contains("`Committer`"), "{error}");
    }
}

fn is_encrypted(schema: &Schema) -> bool {
    let rows = schema.sql().rows(&format!(
        "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = '{}'",
        schema.name
    ));
    rows[0].get(0)
}

#[test]
fn tls_is_used_as_the_url_says() {
    let schema = Schema::new();
    let url = with(&schema.url, "application_name", Some(&schema.name));
    for (mode, encrypted) in [
        (None, true),
        (Some("prefer"), true),
        (Some("require"), true),
        (Some("verify-full"), true),
        (Some("disable"), false),
    ] {
        let store = PostgresStore::open(&with(&url, "sslmode", mode)).unwrap();
        assert_eq!(is_encrypted(&schema), encrypted, "{mode:?}");
        drop(store);
        // The server notices the end of the connection a little later.
        while !schema
            .sql()
            .rows(&format!(
                "SELECT pid FROM pg_stat_activity WHERE application_name = '{}'",
                schema.name
            ))
            .is_empty()
        {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_server_whose_authority_is_not_trusted_is_refused() {
    let schema = Schema::new();
    let refused = |url: &str| {
        let error = PostgresStore::open(url).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Io);
        error.to_string()
    };
    for mode in ["prefer", "require"] {
        let url = with(
            &with(&schema.url, "sslrootcert", None),
            "sslmode",
            Some(mode),
        );
        let error = refused(&url);
        assert!(error.contains("sslrootcert=FILE"), "{error}");
        assert!(!error.contains(&password()), "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.pem");
    let key = folder.path().join("other.key");
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=other",
        ])
        .args(["-addext", "basicConstraints=critical,CA:TRUE", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&other)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let path = other.display().to_string();
    refused(&with(&schema.url, "sslrootcert", Some(&path)));
    std::fs::write(&other, "nothing").unwrap();
    let error = refused(&with(&schema.url, "sslrootcert", Some(&path)));
    assert!(error.contains("no certificate"), "{error}");
    refused(&with(&schema.url, "sslrootcert", Some("/nowhere.pem")));
}

fn password() -> String {
    let url = url();
    let (_, after) = url.split_once("://").unwrap();
    let (user, _) = after.split_once('@').unwrap();
    user.split_once(':').unwrap().1.to_owned()
}

#[test]
fn errors_of_the_way_say_what_helps_and_no_password() {
    let url = url();
    let wrong = url.replace(&password(), "not-the-password");
    for url in [
        "nonsense",
        "postgres://a:not-the-password@127.0.0.1:1/x",
        &wrong,
        &url.replace("/postgres?", "/nowhere?"),
    ] {
        let error = PostgresStore::open(url).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Io, "{error}");
        assert!(
            !format!("{error:?}").contains("not-the-password"),
            "{error:?}"
        );
    }
    drop(Sql::connect(&url));
}
