//! A link over pipes: one frame a line, because no frame holds a line break.

use std::io::{BufRead as _, BufReader, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, SystemTime};

use accp_runtime::session::{Session, Time};

/// Returns the lines of a pipe as they come. A thread reads the lines, so that a caller can wait for a line and for
/// the timers of a session at once.
pub fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// Waits for a line, at most until the session has something to do.
///
/// # Errors
/// If the pipe is closed.
pub fn next(
    session: &Session,
    lines: &Receiver<String>,
) -> Result<Option<String>, RecvTimeoutError> {
    let due = session.next_timeout();
    let millis = due.map_or(60_000, |due| due.as_millis() - now().as_millis());
    match lines.recv_timeout(Duration::from_millis(u64::try_from(millis).unwrap_or(0))) {
        Err(RecvTimeoutError::Timeout) => Ok(None),
        line => line.map(Some),
    }
}

/// Returns the time.
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    Time::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
