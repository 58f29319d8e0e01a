//! The log of the hub, on stderr.

use std::fmt::{Debug, Write as _};
use std::io::{self, Write};

use accp_console::output::{note, record};
use clap::ValueEnum;
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tracing::Level;
use tracing::field::Field;
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{self, format};
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::registry::Registry;

use crate::words::{is_printable, printable};

/// The options of the log.
#[derive(Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// Write the log to stderr as text, or as JSON with one object a line
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Form::Text, env = "ACCP_LOG")]
    log: Form,
    /// Write events of this level and above; `debug` shows frames with their content
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = Grade::Info)]
    #[arg(env = "ACCP_LOG_LEVEL")]
    log_level: Grade,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Grade {
    Error,
    Warn,
    Info,
    Debug,
}

impl From<Grade> for Level {
    fn from(grade: Grade) -> Self {
        match grade {
            Grade::Error => Self::ERROR,
            Grade::Warn => Self::WARN,
            Grade::Info => Self::INFO,
            Grade::Debug => Self::DEBUG,
        }
    }
}

impl LogArgs {
    /// Starts the log. The layer `others` gets the events, too. When the returned guard is dropped, the log ends.
    ///
    /// The hub never waits for the reader of stderr: if too many lines wait to be read, further lines are lost.
    pub(crate) fn start(
        &self,
        others: Option<Box<dyn Layer<Registry> + Send + Sync>>,
    ) -> WorkerGuard {
        let level = Level::from(self.log_level);
        // Other crates log payloads on the lower levels.
        let foreign = level.min(Level::WARN);
        let shown = Targets::new()
            .with_default(foreign)
            // rmcp logs the text of each request that it refuses.
            .with_target("rmcp", LevelFilter::OFF)
            .with_target("accp", level);
        let (writer, guard) = NonBlockingBuilder::default()
            .buffered_lines_limit(LINES)
            .finish(Escaped(io::stderr()));
        let lines = fmt::layer::<Registry>().with_writer(writer);
        let lines = match self.log {
            Form::Text => {
                let fields = format::debug_fn(field).delimited(" ");
                lines.with_ansi(false).fmt_fields(fields).boxed()
            }
            Form::Json => lines.json().flatten_event(true).boxed(),
        };
        let mut layers = vec![lines.with_filter(shown).boxed()];
        layers.extend(others);
        let log = tracing_subscriber::registry().with(layers);
        // With --debug, another subscriber is already set. It writes the frames in plain words, and there is no log.
        let _ = tracing::subscriber::set_global_default(log);
        guard
    }

    /// Tells the operator something about the server, whatever the level of the log is. Where the log is JSON, this line
    /// is JSON, too, because its reader reads each line so.
    pub(crate) fn tell(&self, text: &str) {
        match self.log {
            Form::Text => note(text),
            Form::Json => {
                let now = OffsetDateTime::now_utc().format(&Rfc3339);
                record(json!({
                    "timestamp": now.unwrap_or_default(), "level": "INFO", "message": printable(text),
                    "target": "accp",
                }));
            }
        }
    }
}

/// The most lines that wait for the reader of stderr.
const LINES: usize = 10_000;

/// A writer that escapes characters in the log that could control a terminal. In JSON, a reader turns the escapes
/// back into these characters. A line of text has no such characters, because [`field`] has already escaped them.
struct Escaped<W>(W);

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let is_fine = |c: char| c == '\n' || is_printable(c);
        if text.chars().all(is_fine) {
            self.0.write_all(line)?;
            return Ok(line.len());
        }
        let mut escaped = String::with_capacity(line.len() + 16);
        for c in text.chars() {
            if is_fine(c) {
                escaped.push(c);
            } else {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(escaped, "\\u{unit:04x}"); // a String takes everything
                }
            }
        }
        self.0.write_all(escaped.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes a field of an event with escapes, so that its value can neither add a line to the log nor control a
/// terminal.
fn field(out: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> std::fmt::Result {
    let value = format!("{value:?}");
    match field.name() {
        "message" => write!(out, "{}", printable(&value)),
        name => write!(out, "{name}={}", printable(&value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_json_reads_back_and_moves_no_terminal() {
        let event =
            serde_json::json!({ "fields": { "why": "\u{9b}31m\u{202e}\u{e0041} \\ né \n" } });
        let mut written = Vec::new();
        let line = format!("{event}\n");
        Escaped(&mut written).write_all(line.as_bytes()).unwrap();
        let written = String::from_utf8(written).unwrap();
        let is_odd = |c: char| c != '\n' && !is_printable(c);
        assert!(!written.contains(is_odd), "{written:?}");
        assert!(written.contains("né"));
        let again: serde_json::Value = serde_json::from_str(&written).unwrap();
        assert_eq!(again, event);
    }
}
