//! Notes about the schemas that another member and the agent have in two forms, where a reader of one form breaks on the
//! other.
//!
//! The driver of the agent's session reports each difference as an event of `tracing`.

use std::fmt;

use tracing::field::{Field, Visit};
use tracing::{Event, Level};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::Registry;

use crate::words::printable;
use accp_console::output::note;

/// Shows the differences from now on.
pub(super) fn start() {
    let shown = Targets::new().with_target("accp::schemas", Level::WARN);
    let notes = tracing_subscriber::registry().with(Notes.with_filter(shown));
    // With --debug, another subscriber is already set. It shows the differences, too.
    let _ = tracing::subscriber::set_global_default(notes);
}

/// Prints a line for each event.
struct Notes;

impl Layer<Registry> for Notes {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, Registry>) {
        let mut difference = Difference::default();
        event.record(&mut difference);
        let Difference { peer, change } = difference;
        note(format_args!(
            "note: the registry of {} (old) differs from that of this agent (new): {}",
            printable(&peer),
            printable(&change)
        ));
    }
}

/// The content of an event.
#[derive(Default)]
struct Difference {
    /// The name of the other member.
    peer: String,
    change: String,
}

impl Visit for Difference {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "peer" => value.clone_into(&mut self.peer),
            "change" => value.clone_into(&mut self.change),
            _ => {}
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
