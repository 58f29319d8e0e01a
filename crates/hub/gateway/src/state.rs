//! The state that all requests of a gateway share, and the thread that writes the ledger.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, TrySendError};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

use crate::branches::Branches;
use crate::config::Config;
use crate::ledger::{Entry, Ledger};

/// The most requests that one transaction writes.
const TOGETHER: usize = 256;
/// The most rows that wait for a slow disk. A row has about a kilobyte. If there are more, new rows are lost: neither
/// may an answer wait for the disk, nor may the gateway take all memory.
const WAITING: usize = 16_384;

/// The state that all requests of a gateway share.
pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) client: reqwest::Client,
    /// The client for WebSocket connections, which need HTTP/1.1.
    pub(crate) sockets: reqwest::Client,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) branches: Arc<Branches>,
    pub(crate) writer: Writer,
    /// Sees a change when the gateway ends: its sender is dropped.
    pub(crate) ends: watch::Receiver<()>,
}

/// Writes the rows of the ledger, one after the other, on a thread of its own.
#[derive(Clone)]
pub(crate) struct Writer {
    rows: mpsc::SyncSender<Row>,
    /// The rows that were lost since the ledger could be written for the last time.
    lost: Arc<AtomicU64>,
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
        let (rows, waiting) = mpsc::sync_channel(WAITING);
        let lost = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&lost);
        let thread = thread::spawn(move || write_all(&ledger, &branches, &waiting, &counted));
        (Self { rows, lost }, thread)
    }

    /// Gives a row to the thread, without waiting for it. A row that is lost is told in the log, with the session
    /// whose receipt lacks it.
    pub(crate) fn write(&self, entry: Entry) {
        let (entry, why) = match self.rows.try_send(Row::Entry(Box::new(entry))) {
            Ok(()) => return,
            Err(TrySendError::Full(row)) => (row, "too many rows wait for the disk"),
            Err(TrySendError::Disconnected(row)) => (row, "its thread has ended"),
        };
        self.lost.fetch_add(1, Ordering::Relaxed);
        if let Row::Entry(entry) = entry {
            let Entry { session, at, .. } = *entry;
            tracing::error!(session, at, why, "the row of a request is lost");
        }
    }

    /// Lets the thread end once it has written all rows. Waits while too many rows wait for the disk.
    pub(crate) fn end(&self) {
        // If the thread has ended already, the message is not needed.
        let _ = self.rows.send(Row::End);
    }
}

fn write_all(
    ledger: &Ledger,
    branches: &Branches,
    waiting: &mpsc::Receiver<Row>,
    lost: &AtomicU64,
) {
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
                Ok(()) => found_again(lost),
                Err(error) => {
                    if lost.fetch_add(1, Ordering::Relaxed) == 0 {
                        tracing::error!(%error, "rows of the ledger are lost");
                    }
                }
            }
        }
        if is_written {
            found_again(lost);
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
fn found_again(lost: &AtomicU64) {
    let rows = lost.swap(0, Ordering::Relaxed);
    if rows > 0 {
        tracing::warn!(rows, "the ledger can be written again; rows are lost");
    }
}

/// Returns the time in milliseconds of Unix time.
pub(crate) fn now() -> i64 {
    let age = SystemTime::now().duration_since(UNIX_EPOCH);
    age.map_or(0, |age| i64::try_from(age.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(at: i64) -> Entry {
        Entry {
            at,
            session: "s".to_owned(),
            provider: "openai".to_owned(),
            model: String::new(),
            policy: "append".to_owned(),
            status: 200,
            given: 0,
            sent: 0,
            usage: None,
            bill: None,
            added_us: 0,
            repeated: false,
            whole: true,
            fault: None,
            note: None,
            turns: 0,
            given_digest: Vec::new(),
            sent_digest: Vec::new(),
        }
    }

    #[test]
    fn nobody_waits_for_a_disk_that_stands_still_and_lost_rows_are_counted() {
        let ledger = Arc::new(Ledger::in_memory().unwrap());
        let branches = Branches::new(&Config::default(), Arc::clone(&ledger)).unwrap();
        let (writer, thread) = Writer::start(Arc::clone(&ledger), Arc::new(branches));
        // While somebody else has the connection, the thread writes nothing.
        let disk = ledger.connection();
        let rows = WAITING + 2 * TOGETHER;
        for at in 0..rows {
            writer.write(entry(at as i64));
        }
        let lost = writer.lost.load(Ordering::Relaxed) as usize;
        assert!((TOGETHER..=2 * TOGETHER).contains(&lost), "{lost}");
        drop(disk);
        writer.end();
        thread.join().unwrap();
        let written = ledger.entries(None).unwrap();
        assert_eq!(written.len(), rows - lost);
        assert_eq!(
            writer.lost.load(Ordering::Relaxed),
            0,
            "the log has said it"
        );
    }
}
