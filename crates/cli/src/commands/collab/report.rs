//! Writes the output of the `collab` commands, for people and for programs.

use std::fmt::{Display, Write as _};

use accp_collab::{Event, Finding, Folder, Next};
use serde_json::{Map, Value as Json, json};

use accp_console::choices::Format;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output};

/// Reports why a command was refused.
pub(super) fn refuse(findings: &[Finding], format: Format) -> Outcome {
    match format {
        Format::Json => {
            let errors: Vec<Json> = findings.iter().map(object).collect();
            record(json!({ "ok": false, "errors": errors }))?;
        }
        Format::Text => {
            for finding in findings {
                output::error(line(finding));
            }
        }
    }
    Ok(Verdict::Refused)
}

/// Prints text for people on stdout. A closed stdout does not count as a failure, so the exit code still shows the
/// verdict.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    put(|out| out.line(text))
}

/// Prints a line for programs on stdout, as it is. A closed stdout does not count as a failure, as for [`print()`].
pub(super) fn record(text: impl Display) -> Result<(), Failure> {
    put(|out| out.record(text))
}

/// Prints `text` for people, or `json` for programs.
pub(super) fn show(format: Format, json: impl Display, text: impl Display) -> Result<(), Failure> {
    put(|out| match format {
        Format::Json => out.record(json),
        Format::Text => out.line(text),
    })
}

fn put(write: impl FnOnce(&mut Output) -> Result<(), Failure>) -> Result<(), Failure> {
    let mut out = Output::stdout();
    let printed = write(&mut out).and_then(|()| out.finish());
    printed.or_else(|failure| {
        if failure.is_broken_pipe() {
            Ok(())
        } else {
            Err(failure)
        }
    })
}

/// Returns a finding as an object. Members without a value are left out.
pub(super) fn object(finding: &Finding) -> Json {
    let mut object = Map::new();
    object.insert("code".to_owned(), finding.code.as_str().into());
    object.insert("message".to_owned(), finding.message.clone().into());
    let more = [
        ("id", finding.id.clone().map(Json::from)),
        ("file", finding.file.clone().map(Json::from)),
        ("line", finding.line.map(Json::from)),
        ("seq", finding.seq.map(Json::from)),
    ];
    for (key, value) in more {
        object.extend(value.map(|value| (key.to_owned(), value)));
    }
    Json::Object(object)
}

/// Returns a finding as a line: the place, the text, the code.
pub(super) fn line(finding: &Finding) -> String {
    let seq = finding
        .seq
        .map(|seq| format!("seq {seq}: "))
        .unwrap_or_default();
    format!("{seq}{finding} [{}]", finding.code)
}

/// Returns the state of a collaboration, as members for a JSON object.
pub(super) fn standing(folder: &Folder) -> Map<String, Json> {
    let mut object = Map::new();
    let state = folder.state();
    let phase = state.map(|state| state.phase().as_str());
    let owner = state.and_then(accp_collab::State::owner);
    let waiting = state
        .map(accp_collab::State::waiting_for)
        .unwrap_or_default();
    object.insert("phase".to_owned(), phase.into());
    object.insert("proposal_owner".to_owned(), owner.into());
    object.insert("waiting_for".to_owned(), waiting.into());
    object
}

/// Returns the last event as an object.
pub(super) fn last(folder: &Folder) -> Json {
    let of = |event: &Event| json!({ "seq": event.seq, "event": event.event.as_str(), "from": event.from });
    folder.last().map_or(Json::Null, of)
}

/// Returns the next action of a participant, as an object.
pub(super) fn next_object(folder: &Folder, next: &Next, name: &str) -> Json {
    let mut object = Map::new();
    object.insert("ok".to_owned(), true.into());
    object.insert("action".to_owned(), next.action.as_str().into());
    object.extend(standing(folder));
    object.insert("your_turn".to_owned(), next.is_asked.into());
    object.insert("last".to_owned(), last(folder));
    object.insert("text".to_owned(), next.text(name).into());
    Json::Object(object)
}

/// Returns the state of a collaboration as lines of text.
pub(super) fn standing_text(folder: &Folder) -> String {
    let state = folder.state();
    let phase = state.map_or("unknown", |state| state.phase().as_str());
    let owner = state.and_then(accp_collab::State::owner).unwrap_or("none");
    let waiting = state
        .map(accp_collab::State::waiting_for)
        .unwrap_or_default();
    let waiting = if waiting.is_empty() {
        "none".to_owned()
    } else {
        waiting.join(", ")
    };
    let mut text = format!("phase: {phase}\nproposal owner: {owner}\nwaiting for: {waiting}");
    if let Some(event) = folder.last() {
        let _ = write!(
            text,
            "\nlast event: seq {} {} from {}",
            event.seq, event.event, event.from
        );
    }
    text
}
