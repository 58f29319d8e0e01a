//! The state that all requests of a gateway share, and the thread that writes the ledger.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::branches::Branches;
use crate::config::Config;
use crate::ledger::{Entry, Ledger};

/// The most requests that one transaction writes.
const TOGETHER: usize = 256;

/// The state that all requests of a gateway share.
pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) client: reqwest::Client,
    /// The client for WebSocket connections, which need HTTP/1.1.
    pub(crate) sockets: reqwest::Client,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) branches: Arc<Branches>,
    pub(crate) writer: Writer,
}

/// Writes the rows of the ledger, one after the other, on a thread of its own.
#[derive(Clone)]
pub(crate) struct Writer {
    rows: mpsc::Sender<Row>,
}

enum Row {
    Entry(Box<Entry>),
    /// There are no more rows.
    End,
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(
        ledger: Arc<Ledger>,
        branches: Arc<Branches>,
    ) -> (Self, thread::JoinHandle<()>) {
        let (rows, waiting) = mpsc::channel();
        let thread = thread::spawn(move || write_all(&ledger, &branches, &waiting));
        (Self { rows }, thread)
    }

    pub(crate) fn write(&self, entry: Entry) {
        if self.rows.send(Row::Entry(Box::new(entry))).is_err() {
            tracing::error!("a row of the ledger is lost: its thread has ended");
        }
    }

    /// Lets the thread end once it has written all rows.
    pub(crate) fn end(&self) {
        // If the thread has ended already, the message is not needed.
        let _ = self.rows.send(Row::End);
    }
}

fn write_all(ledger: &Ledger, branches: &Branches, waiting: &mpsc::Receiver<Row>) {
    // The number of rows that were lost since the ledger could be written for the last time.
    let mut lost = 0_u64;
    while let Ok(first) = waiting.recv() {
        let mut ends = false;
        let mut entries = Vec::new();
        for row in std::iter::once(first).chain(waiting.try_iter().take(TOGETHER - 1)) {
            match row {
                Row::Entry(entry) => entries.push(*entry),
                Row::End => ends = true,
            }
        }
        // One row that cannot be written must not take the others with it.
        let is_written = ledger.write(&entries).is_ok();
        let one_by_one = entries.chunks(1).filter(|_| !is_written);
        for written in one_by_one.map(|entry| ledger.write(entry)) {
            match written {
                Ok(()) => found_again(&mut lost),
                Err(error) => {
                    if lost == 0 {
                        tracing::error!(%error, "rows of the ledger are lost");
                    }
                    lost += 1;
                }
            }
        }
        if is_written {
            found_again(&mut lost);
        }
        for entry in &entries {
            if let Some(bill) = entry.bill {
                branches.billed(&entry.session, bill);
            }
        }
        if ends {
            return;
        }
    }
}

/// Notes that the ledger can be written.
fn found_again(lost: &mut u64) {
    let rows = std::mem::take(lost);
    if rows > 0 {
        tracing::warn!(rows, "the ledger can be written again; rows are lost");
    }
}

/// Returns the time in milliseconds of Unix time.
pub(crate) fn now() -> i64 {
    let age = SystemTime::now().duration_since(UNIX_EPOCH);
    age.map_or(0, |age| i64::try_from(age.as_millis()).unwrap_or(i64::MAX))
}
