//! Writes reports on lists and windows as JSON.

use accp_memory::disk::Compressed;
use accp_memory::{Event, Finding, Intent, Window, check};
use accp_tokens::{ModelCounter, TokenCounter as _};
use serde_json::{Value as Json, json};

/// Returns the faults of a list as an object.
pub(super) fn faults(found: &[Finding]) -> Json {
    json!({ "valid": found.is_empty(), "errors": found })
}

/// Returns the report on a compression as an object.
pub(super) fn report(
    session: &str,
    window: &Window,
    counter: &ModelCounter,
    done: &Compressed,
) -> Json {
    let mut report = json!({
        "session": session,
        "window": window.size(),
        "tokens_before": done.before,
        "tokens_after": done.after,
        "share": window.share(done.after),
        "state": done.state.as_str(),
        "encoding": counter.counter.name(),
        "substitute": !counter.exact,
        "events": done.events,
        "drift": done.drift,
        "advice": done.advice,
        "warnings": warnings(done),
        "intent": intent(&done.events),
    });
    if let Some(note) = counter.substitute() {
        report["note"] = note.into();
    }
    report
}

/// Returns what a provider may refuse in the compressed list.
pub(super) fn warnings(done: &Compressed) -> Vec<Finding> {
    let mut all = check(&done.list);
    all.extend(done.bound.iter().cloned());
    all
}

fn intent(events: &[Event]) -> &'static str {
    match events.last().map(|event| event.intent) {
        Some(Intent::Referenced) => "referenced",
        _ => "verbatim",
    }
}
