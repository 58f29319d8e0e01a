//! The log: `events.jsonl`.

use crate::event::Event;
use crate::finding::{Code, Finding};
use crate::protocol::Protocol;
use crate::shape;
use crate::state::State;

/// The name of the file.
pub const LOG_FILE: &str = "events.jsonl";

/// The most events of a log.
pub const MOST_EVENTS: usize = 100_000;

/// A log that was read: its events, and what is wrong with them.
///
/// ```
/// use accp_collab::Log;
///
/// let whole = r#"{"seq":1,"from":"ada","event":"initialized","at":"2026-01-01T00:00:00Z","summary":"Go"}"#;
/// let log = Log::read(format!("{whole}\n{{\"seq\":2,\"fro").as_bytes());
/// assert_eq!(log.events().len(), 1);
/// assert_eq!(log.torn(), Some(whole.len() + 1));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Log {
    events: Vec<Event>,
    /// The line of each event, and whether the line before it is at fault.
    lines: Vec<(usize, bool)>,
    findings: Vec<Finding>,
    torn: Option<usize>,
    lacks_feed: bool,
    /// The bytes of the file.
    length: usize,
}

impl Log {
    /// Reads the lines. The last line may lack its line feed. It counts if it is whole, and is torn otherwise.
    pub fn read(bytes: &[u8]) -> Self {
        let mut log = Self {
            length: bytes.len(),
            ..Self::default()
        };
        let mut end = 0;
        let mut is_after_fault = false;
        for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let start = end;
            end += line.len();
            let is_last = !line.ends_with(b"\n");
            log.lacks_feed = is_last;
            if line.trim_ascii().is_empty() {
                continue;
            }
            let read = std::str::from_utf8(line)
                .map_err(|error| {
                    let text = format!(
                        "the line is not UTF-8 (byte {}); restore the log from a copy",
                        error.valid_up_to() + 1
                    );
                    vec![Finding::new(Code::Unreadable, text)]
                })
                .and_then(Event::from_line);
            match read {
                Ok(_) if log.events.len() == MOST_EVENTS => {
                    let text = format!(
                        "the log has more than {MOST_EVENTS} events; begin a new round in a new folder"
                    );
                    log.add(index, vec![Finding::new(Code::Unreadable, text)]);
                    return log;
                }
                Ok(event) => {
                    log.events.push(event);
                    log.lines.push((index + 1, is_after_fault));
                    is_after_fault = false;
                }
                // A line that was cut is not JSON. If the disk lost the beginning of the line, it has zeros there.
                Err(findings)
                    if (is_last || end == bytes.len() && line.contains(&0))
                        && findings.iter().all(|one| one.code == Code::Unreadable) =>
                {
                    log.torn = Some(start);
                }
                Err(findings) => {
                    log.add(index, findings);
                    is_after_fault = true;
                }
            }
        }
        log
    }

    fn add(&mut self, index: usize, findings: Vec<Finding>) {
        let findings = findings.into_iter();
        self.findings
            .extend(findings.map(|finding| finding.within(LOG_FILE, Some(index + 1))));
    }

    /// Returns the events, in the order of their lines.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns where the last line begins, if it was cut. A line that was cut is not an event.
    pub fn torn(&self) -> Option<usize> {
        self.torn
    }

    /// Returns the number of bytes of the file.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Returns whether the last line is whole, and lacks only its line feed.
    pub fn lacks_feed(&self) -> bool {
        self.lacks_feed && self.torn.is_none()
    }

    /// Folds the events. There is no state without a protocol, because only the protocol names the participants.
    ///
    /// Returns the state before the first event that the state machine refuses, or after the last event. If a line is
    /// faulty, the state stays that of an empty log. Also returns all findings: about lines, about the members of
    /// events, and about the refused event.
    pub(crate) fn fold(&self, protocol: Option<&Protocol>) -> (Option<State>, Vec<Finding>) {
        let mut findings = self.findings.clone();
        let mut state = protocol.map(|protocol| State::new(protocol.participants.clone()));
        let mut goes_on = findings.is_empty();
        let mut expected = 1;
        let mut before = None;
        for (event, (line, is_after_fault)) in self.events.iter().zip(&self.lines) {
            let mut wrong = Vec::new();
            // After a line that cannot be read, the next number is not known.
            if event.seq != expected && !is_after_fault {
                let text = format!(
                    "the event has the number {}; the next is {expected}; restore the log from a copy",
                    event.seq
                );
                wrong.push(Finding::new(Code::Seq, text));
            }
            expected = event.seq.saturating_add(1);
            wrong.extend(shape::check(event, protocol, before));
            before = Some(event);
            if goes_on
                && let Some(state) = &mut state
                && let Err(refused) = state.apply(event)
            {
                wrong.extend(refused.into_iter().filter(|one| one.code != Code::Seq));
                goes_on = false;
            }
            let wrong = wrong.into_iter();
            findings.extend(wrong.map(|one| one.at(event.seq).within(LOG_FILE, Some(*line))));
        }
        (state, findings)
    }
}
