//! The server of the tests. Each test has a schema of its own, so that tests can run at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use accp_registry::Hash;
use accp_session::{
    Batch, Cold, Due, Entry, MemberId, Mid, OutboxChange, Outgoing, Snapshot, Time,
};
use accp_store::tokio_postgres::{Client, NoTls, Row};
use accp_store::{PostgresStore, SideId};
use tokio::runtime::Runtime;

/// Returns the URL of the server.
pub(crate) fn url() -> String {
    std::env::var("ACCP_POSTGRES").expect(
        "ACCP_POSTGRES must have the URL of a PostgreSQL server: \
         export ACCP_POSTGRES=$(tests/postgres/server start DIR), and `tests/postgres/server stop DIR` \
         in the end",
    )
}

/// Returns a URL with another value for a parameter.
pub(crate) fn with(url: &str, name: &str, value: Option<&str>) -> String {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let mut pairs: Vec<String> = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.starts_with(&format!("{name}=")))
        .map(ToOwned::to_owned)
        .collect();
    pairs.extend(value.map(|value| format!("{name}={value}")));
    format!("{base}?{}", pairs.join("&"))
}

/// A schema, which is dropped with this value.
pub(crate) struct Schema {
    pub(crate) name: String,
    pub(crate) url: String,
    sql: Sql,
}

/// A connection of the test itself, in addition to the connection of the store.
pub(crate) struct Sql {
    runtime: Runtime,
    client: Client,
}

impl Sql {
    pub(crate) fn connect(url: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let url = with(&with(url, "sslrootcert", None), "sslmode", Some("disable"));
        let (client, connection) = runtime
            .block_on(accp_store::tokio_postgres::connect(&url, NoTls))
            .unwrap();
        runtime.spawn(async move { drop(connection.await) });
        Self { runtime, client }
    }

    pub(crate) fn run(&self, sql: &str) {
        self.runtime
            .block_on(self.client.batch_execute(sql))
            .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    pub(crate) fn rows(&self, sql: &str) -> Vec<Row> {
        self.runtime
            .block_on(self.client.query(sql, &[]))
            .unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }
}

impl Schema {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("t{}_{count}", std::process::id());
        let options = format!("-csearch_path%3D{name}");
        let url = with(&url(), "options", Some(&options));
        let sql = Sql::connect(&url);
        sql.run(&format!("CREATE SCHEMA {name}"));
        Self { name, url, sql }
    }

    pub(crate) fn open(&self) -> PostgresStore {
        PostgresStore::open(&self.url).unwrap()
    }

    pub(crate) fn sql(&self) -> &Sql {
        &self.sql
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let drop = format!("DROP SCHEMA {} CASCADE", self.name);
        let dropped = self
            .sql
            .runtime
            .block_on(self.sql.client.batch_execute(&drop));
        if !std::thread::panicking() {
            dropped.unwrap();
        }
    }
}

pub(crate) fn launch() -> SideId {
    SideId::new("launch", "hub")
}

/// Returns a batch of a host with one entry.
pub(crate) fn entry(position: u64) -> Batch {
    Batch::new(true).with(|batch| {
        batch.entries = vec![
            Entry::new(
                position,
                Time::from_secs(1_714_000_000),
                Mid::parse(&format!("{position:012x}")),
                format!("@hub>req:plan{{}}[mid:{position:012x}]"),
            )
            .with(|entry| {
                entry.sequence = position;
                entry.tokens = 9;
                entry.due = Due::Yes;
            }),
        ];
    })
}

/// Returns a batch that changes every table.
pub(crate) fn full(position: u64) -> Batch {
    let bytes: Arc<[u8]> = Arc::from(format!("value {position}").into_bytes());
    let mid = Mid::parse(&format!("{position:012x}"));
    let outgoing = Outgoing {
        order: position,
        mid: mid.clone(),
        head: "@dev>req:x{}".into(),
        tail: String::new(),
    };
    let mut batch = entry(position);
    batch.cold.push(Cold {
        key: format!("k101_{position}"),
        digest: Hash::of(&bytes),
        length: bytes.len() as u64,
        bytes: Some(bytes),
    });
    batch.handled.extend((position > 1).then(|| position - 1));
    batch.outbox.push(OutboxChange::Put(outgoing));
    batch.inboxes.push((MemberId::HOST, position.to_string()));
    batch.registries.push((Hash::of(b"{}"), "{}".into()));
    batch.epoch = Some(position as u32);
    batch.snapshot = Some(Snapshot {
        position,
        text: "{}".into(),
    });
    batch
}
