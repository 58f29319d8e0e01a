//! A connection over TCP: one frame a line, because no frame holds a line break.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, SystemTime};

use accp_runtime::session::{MemberId, Time, Transmit};
use accp_store::{Driver, Link, SqliteStore};

use crate::Result;

/// The sending half of a connection.
pub struct Wire(TcpStream);

impl Link for Wire {
    fn send(&mut self, frame: Transmit) {
        // A frame that is lost goes out again later.
        let _ = writeln!(self.0, "{}", frame.text);
    }
}

/// Splits a connection in two. A thread reads the frames that arrive.
pub fn connection(stream: TcpStream) -> Result<(Wire, Receiver<String>)> {
    stream.set_nodelay(true)?;
    let reader = BufReader::new(stream.try_clone()?);
    let (sender, frames) = channel();
    thread::spawn(move || {
        let lines = reader.lines().map_while(std::result::Result::ok);
        for line in lines {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    Ok((Wire(stream), frames))
}

/// Waits for a frame, at most until the session has something to do, and hands it in. Returns false
/// when the connection is gone.
pub fn wait(
    driver: &mut Driver<SqliteStore, Wire>,
    peer: MemberId,
    frames: &Receiver<String>,
) -> Result<bool> {
    let due = driver.session().next_timeout();
    let millis = due.map_or(1000, |due| due.as_millis() - now().as_millis());
    let millis = u64::try_from(millis).unwrap_or(0);
    match frames.recv_timeout(Duration::from_millis(millis)) {
        Ok(frame) => driver.receive(peer, frame.as_bytes(), now())?,
        Err(RecvTimeoutError::Timeout) => {}
        Err(RecvTimeoutError::Disconnected) => return Ok(false),
    }
    Ok(true)
}

/// Returns the time.
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    Time::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
