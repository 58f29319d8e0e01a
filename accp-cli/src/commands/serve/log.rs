//! What the hub writes to stderr of itself.

use std::fmt::Debug;

use clap::ValueEnum;
use tracing::Level;
use tracing::field::Field;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{self, format};
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::registry::Registry;

use crate::words::printable;

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
    /// Starts the log, and lets `others` hear what is said, too.
    pub(crate) fn start(&self, others: Option<Box<dyn Layer<Registry> + Send + Sync>>) {
        let level = Level::from(self.log_level);
        // Other crates say what they like on the lower levels, payloads too.
        let foreign = level.min(Level::WARN);
        let shown = Targets::new()
            .with_default(foreign)
            // It says what callers have written, at this level too.
            .with_target("rmcp", level.min(Level::ERROR))
            .with_target("accp", level);
        let lines = fmt::layer::<Registry>().with_writer(std::io::stderr);
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
        // With --debug the frames are shown in words, and that is the log.
        let _ = tracing::subscriber::set_global_default(log);
    }
}

/// Writes a field of an event. Nobody can write a line of their own into the log, or act on a terminal.
fn field(out: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> std::fmt::Result {
    let value = format!("{value:?}");
    match field.name() {
        "message" => write!(out, "{}", printable(&value)),
        name => write!(out, "{name}={}", printable(&value)),
    }
}
