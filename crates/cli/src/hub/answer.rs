//! Reads the answer of a hub as it arrives: frames, or lines of a log. The length of each line and the time to read
//! it are limited.

use std::fmt;
use std::io::{self, BufRead as _, BufReader};
use std::time::{Duration, Instant};

use accp_frame::Frame;
use serde_json::Value as Json;
use ureq::http::{Response, StatusCode};
use ureq::{Body, BodyReader};

use crate::words::UNLIMITED;
use accp_console::outcome::Failure;
use accp_console::output::on_one_line;

/// The most bytes of a line. This is enough for an entry of the log, which has a frame in several forms.
const LINE: usize = 4 << 20;

/// A whole answer, with its status and its text.
pub(super) struct WholeAnswer {
    pub(super) status: StatusCode,
    pub(super) text: String,
}

/// The frames with which a hub answers, read as they arrive.
pub(crate) struct Answer {
    pub(super) lines: Lines,
    /// How many seconds the hub waits for the answer to a question, if it says so.
    pub(super) waits: Option<u64>,
}

impl Answer {
    /// Returns how many seconds the hub waits for an answer. It may wait for less time than it was asked to.
    pub(crate) fn waits(&self) -> Option<u64> {
        self.waits
    }

    /// Returns the next frame with its intent; `None` after the last frame.
    pub(crate) fn next(&mut self) -> Result<Option<(String, String)>, Failure> {
        let Some(line) = self.lines.next()? else {
            return Ok(None);
        };
        let frame = Frame::parse_with(&line, &UNLIMITED);
        let frame = frame.map_err(|_| not_a_hub(&self.lines.base, &line))?;
        let intent = frame.intent.into_owned();
        Ok(Some((line, intent)))
    }

    /// Makes the failure for an answer that ended too early.
    pub(crate) fn is_not_whole(&self) -> Failure {
        not_whole(
            &self.lines.base,
            &"it has no end; `accp tail` shows what comes later",
        )
    }

    /// Makes the failure for an empty answer. No hub gives such an answer.
    pub(crate) fn is_empty(&self) -> Failure {
        not_a_hub(&self.lines.base, "an empty body")
    }
}

/// The log of a session, read as it arrives.
pub(crate) struct Log(pub(super) Lines);

impl Log {
    /// Returns the next frame with its position; `None` at the end of the log.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, String)>, Failure> {
        let Some(line) = self.0.next()? else {
            return Ok(None);
        };
        let invalid = || not_a_hub(&self.0.base, &line);
        let entry: Json = serde_json::from_str(&line).map_err(|_| invalid())?;
        if let Some(error) = entry.get("error") {
            let text = |name: &str| error[name].as_str().map(on_one_line).unwrap_or_default();
            let (code, expected) = (text("code"), text("expected"));
            return Err(Failure::Input(format!(
                "{code}: the hub expects {expected}"
            )));
        }
        match (entry["position"].as_u64(), entry["frame"].as_str()) {
            (Some(position), Some(frame)) => Ok(Some((position, frame.to_owned()))),
            _ => Err(invalid()),
        }
    }
}

/// The lines of a body. Each line has a limited length, and must arrive in time.
pub(super) struct Lines {
    body: BufReader<BodyReader<'static>>,
    base: String,
    time: Duration,
    /// Whether a log is followed. Then the wait for the beginning of the next line has no limit.
    follow: bool,
}

impl Lines {
    /// Makes the lines of an answer's body. With `follow`, the wait for the beginning of the next line has no limit.
    pub(super) fn new(answer: Response<Body>, base: &str, time: Duration, follow: bool) -> Self {
        Self {
            body: BufReader::new(answer.into_body().into_reader()),
            base: base.to_owned(),
            time,
            follow,
        }
    }

    /// Returns the next line that is not blank.
    fn next(&mut self) -> Result<Option<String>, Failure> {
        let mut line = Vec::new();
        let mut begun = (!self.follow).then(Instant::now);
        loop {
            let piece = match self.body.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                piece => piece.map_err(|error| broken(&self.base, self.time, &error))?,
            };
            let is_end = piece.is_empty();
            let end = piece.iter().position(|byte| *byte == b'\n');
            line.extend_from_slice(piece.get(..end.unwrap_or(piece.len())).unwrap_or_default());
            let taken = end.map_or(piece.len(), |end| end + 1);
            self.body.consume(taken);
            if line.len() > LINE {
                return Err(not_a_hub(
                    &self.base,
                    &format!("a line of more than {LINE} bytes"),
                ));
            }
            if is_end || end.is_some() {
                let text = line.trim_ascii();
                if !text.is_empty() {
                    return Ok(Some(String::from_utf8_lossy(text).into_owned()));
                }
                if is_end {
                    return Ok(None);
                }
                line.clear();
                begun = begun.filter(|_| !self.follow);
            } else {
                begun.get_or_insert_with(Instant::now);
            }
            if begun.is_some_and(|begun| begun.elapsed() > self.time) {
                return Err(late(&self.base, self.time));
            }
        }
    }
}

pub(super) fn late(base: &str, time: Duration) -> Failure {
    Failure::Misuse(format!(
        "the hub at {base} does not answer within {} s; --timeout waits longer",
        time.as_secs()
    ))
}

/// Makes the failure for a body that could not be read to its end.
pub(super) fn broken(base: &str, time: Duration, error: &io::Error) -> Failure {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    let is_late = matches!(cause, Some(ureq::Error::Timeout(_)));
    if is_late || error.kind() == io::ErrorKind::TimedOut {
        let time = time.as_secs();
        not_whole(
            base,
            &format_args!("the rest does not come within {time} s"),
        )
    } else {
        not_whole(base, error)
    }
}

fn not_whole(base: &str, why: &dyn fmt::Display) -> Failure {
    Failure::Input(format!("the answer of {base} is not whole: {why}"))
}

pub(super) fn not_a_hub(base: &str, found: &str) -> Failure {
    let found = shortened(found);
    Failure::Input(format!(
        "what answers at {base} does not answer as a hub: {found}; --hub names another"
    ))
}

/// Returns the beginning of a text that others wrote, on one line.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 300;
    let mut letters = text.trim().chars();
    let mut begin: String = letters.by_ref().take(MOST).collect();
    if letters.next().is_some() {
        begin.push_str("...");
    }
    on_one_line(&begin).into_owned()
}
