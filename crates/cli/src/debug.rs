//! The debug mode (draft section 9, item 1): for every frame that a session sends, receives or keeps, writes a twin
//! to stderr: the frame in plain words.
//!
//! A driver reports each frame as an event of `tracing`. This module turns the events into words.

use std::fmt;
use std::sync::OnceLock;

use accp_registry::Registry;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::words::{printable, twin, without_metadata};

/// The registry of the command.
static REGISTRY: OnceLock<Registry> = OnceLock::new();

/// Sets the registry from which the twins take the words for frames. Only the first call has an effect.
pub(crate) fn set_registry(registry: &Registry) {
    let _ = REGISTRY.set(registry.clone());
}

/// Shows the frames of all sessions from now on.
pub(crate) fn start() {
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(Level::DEBUG)
        .with_writer(std::io::stderr)
        .event_format(TwinFormat);
    // If another subscriber is set already, the command goes on without this one.
    let _ = tracing::subscriber::set_global_default(subscriber.finish());
}

/// Formats an event. If the event holds a frame, writes the frame's twin.
struct TwinFormat;

impl<S, N> FormatEvent<S, N> for TwinFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = EventFields::default();
        event.record(&mut fields);
        let EventFields {
            session,
            agent,
            way,
            frame: Some(frame),
            ..
        } = fields
        else {
            let target = event.metadata().target();
            return writeln!(
                out,
                "debug: {target}: {}",
                printable(fields.rest.trim_end())
            );
        };
        let words = twin(&frame, REGISTRY.get().unwrap_or(Registry::shared()));
        let metadata = &frame[without_metadata(&frame).len()..];
        let line = format!("{session}: {agent} {way}: {words} {metadata}");
        writeln!(out, "debug: {}", printable(&line))
    }
}

/// The content of an event.
#[derive(Default)]
struct EventFields {
    session: String,
    agent: String,
    way: String,
    frame: Option<String>,
    /// All other fields.
    rest: String,
}

impl Visit for EventFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        let value = value.to_owned();
        match field.name() {
            "session" => self.session = value,
            "agent" => self.agent = value,
            "way" => self.way = value,
            "frame" => self.frame = Some(value),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        use fmt::Write as _;
        let _ = write!(self.rest, "{}={value:?} ", field.name());
    }
}
