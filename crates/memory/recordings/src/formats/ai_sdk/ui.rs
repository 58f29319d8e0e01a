//! Reads messages of the AI SDK for a page. A message of the assistant holds all steps of its answer, and each call has
//! its result in the same part.

use serde_json::Value as Json;

use super::ABOUT;
use crate::formats::draft::Draft;
use crate::formats::fields::Fields;
use crate::formats::listed::{has_text, next, value};

/// The roles of messages for a page.
const ROLES: [&str; 5] = ["system", "user", "assistant", "data", "tool"];

/// Returns whether these are messages for a page: each has parts, or is of version 4 and has a content.
pub(super) fn detect(all: &[Json]) -> bool {
    let is_message = |message: &Json| {
        let role = message["role"].as_str().unwrap_or_default();
        let parts = message["parts"].as_array();
        let parts = match parts {
            Some(parts) => parts.iter().all(is_part),
            None => has_text(message, "content") && message.get("parts").is_none(),
        };
        ROLES.contains(&role) && parts && message.get("tool_calls").is_none()
    };
    let is_marked = |message: &Json| {
        let parts = message["parts"]
            .as_array()
            .is_some_and(|all| !all.is_empty());
        parts || message["toolInvocations"].is_array()
    };
    all.iter().all(is_message) && all.iter().any(is_marked)
}

/// Returns whether this may be a part. Parts of `OpenTelemetry` have their text under another key.
fn is_part(part: &Json) -> bool {
    let kind = part["type"].as_str().unwrap_or_default();
    match kind {
        "" => false,
        "text" => has_text(part, "text"),
        "reasoning" => has_text(part, "text") || has_text(part, "reasoning"),
        "file" => part.get("content").is_none() && part.get("file_id").is_none(),
        "tool_call" | "tool_call_response" | "blob" | "uri" => false,
        _ => part.get("content").is_none() || kind.starts_with("data-"),
    }
}

/// Reads a message into one message for each step, and one for each result.
pub(super) fn message(mut fields: Fields, out: &mut Vec<Json>) {
    let role = match fields.text("role").unwrap_or_default().as_str() {
        // A message with this role has data for the page. No model saw it.
        "data" => "system".to_owned(),
        role => role.to_owned(),
    };
    let first = out.len();
    let mut step = Step {
        draft: Draft::new(&role),
        role,
        results: Vec::new(),
        ids: Vec::new(),
        shown: Vec::new(),
    };
    let has_parts = fields.get("parts").is_some_and(Json::is_array);
    for json in fields.list("parts").into_iter().flatten() {
        step.part(json, out);
    }
    for json in fields.list("toolInvocations").into_iter().flatten() {
        let id = json["toolCallId"].as_str().unwrap_or_default().to_owned();
        // If the message has parts, this list repeats their calls.
        if step.ids.contains(&id) {
            step.draft
                .about([("toolInvocation".to_owned(), json)].into_iter().collect());
        } else {
            step.invocation(json);
        }
    }
    for (key, kind) in [("content", "text"), ("reasoning", "thinking")] {
        let Some(text) = fields.text(key) else {
            continue;
        };
        let repeats = has_parts && step.shown.concat().contains(&text);
        if repeats {
            step.draft
                .about([(key.to_owned(), text.into())].into_iter().collect());
        } else if !text.is_empty() {
            // The model's words about results come after the results, so the step with the results
            // ends first.
            if !step.results.is_empty() {
                step.end(out);
            }
            if kind == "text" {
                step.draft.text(text);
            } else {
                step.draft.named(kind, text, serde_json::Map::new());
            }
        }
    }
    for json in fields
        .list("experimental_attachments")
        .into_iter()
        .flatten()
    {
        match Fields::of(json.clone()) {
            Ok(part) => super::media(&mut step.draft, "file", part, &json),
            Err(odd) => step.draft.opaque(&odd),
        }
    }
    step.draft.rest(fields, &ABOUT);
    // The recorded values go to the last message of the assistant, which comes before the results.
    let Step { draft, results, .. } = step;
    draft.end(out, first);
    out.extend(results);
}

/// A step of an answer, while its parts are read.
struct Step {
    draft: Draft,
    role: String,
    /// The results of the calls of this step.
    results: Vec<Json>,
    /// The ids of the calls so far.
    ids: Vec<String>,
    /// The texts so far.
    shown: Vec<String>,
}

impl Step {
    fn end(&mut self, out: &mut Vec<Json>) {
        next(&mut self.draft, &self.role, out);
        out.append(&mut self.results);
    }

    fn part(&mut self, json: Json, out: &mut Vec<Json>) {
        let kind = json["type"].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "step-start" => {
                self.end(out);
                let (about, unknown) = Fields::of(json).unwrap_or_default().split(&ABOUT);
                self.draft.shown(
                    unknown
                        .into_iter()
                        .filter(|(key, _)| key != "type")
                        .collect(),
                );
                self.draft.about(about);
                return;
            }
            "dynamic-tool" | "tool-invocation" => return self.tool(json, None),
            kind if kind.starts_with("tool-") => {
                let name = kind["tool-".len()..].to_owned();
                return self.tool(json, Some(name));
            }
            // Sources and data are for the page; no model saw them.
            kind if kind.starts_with("source") || kind.starts_with("data-") => {
                self.draft
                    .about([(kind.to_owned(), json)].into_iter().collect());
                return;
            }
            _ => {}
        }
        // Words after a result belong to the next step, so this step ends first.
        if !self.results.is_empty() {
            self.end(out);
        }
        for key in ["text", "reasoning"] {
            self.shown.extend(json[key].as_str().map(str::to_owned));
        }
        if let Err(odd) = super::shared(&mut self.draft, json) {
            self.draft.opaque(&odd);
        }
    }

    /// Adds a call in a part. The type of the part may have the name of the tool.
    fn tool(&mut self, json: Json, name: Option<String>) {
        let whole = json.clone();
        let mut part = Fields::of(json).unwrap_or_default();
        match name {
            Some(name) if has_text(&whole, "toolCallId") && !name.is_empty() => {
                part.put("toolName", name.into());
                self.invocation(Json::Object(part.into_map()));
            }
            Some(_) => self.draft.opaque(&whole),
            None => {
                let inner = part.object("toolInvocation");
                let call = inner.unwrap_or_else(|| std::mem::take(&mut part));
                self.invocation(Json::Object(call.into_map()));
                let (about, unknown) = part.split(&ABOUT);
                let unknown = unknown.into_iter().filter(|(key, _)| key != "type");
                self.draft.shown(unknown.collect());
                self.draft.about(about);
            }
        }
    }

    /// Adds a call with its result.
    fn invocation(&mut self, json: Json) {
        let whole = json.clone();
        let Ok(mut call) = Fields::of(json) else {
            self.draft.opaque(&whole);
            return;
        };
        if !has_text(&whole, "toolCallId") || !has_text(&whole, "toolName") {
            self.draft.opaque(&whole);
            return;
        }
        // No model gets a call that is not finished yet.
        if ["input-streaming", "partial-call"].contains(&call.str("state").unwrap_or_default()) {
            let whole = [("toolInvocation".to_owned(), whole)];
            self.draft.about(whole.into_iter().collect());
            return;
        }
        let (id, name) = (call.take("toolCallId"), call.take("toolName"));
        self.ids
            .extend(id.as_ref().and_then(Json::as_str).map(str::to_owned));
        // If the model's arguments do not fit the tool, they are under `rawInput`.
        let mut keys = ["input", "args", "rawInput"].into_iter();
        let arguments = keys.find_map(|key| call.take(key));
        let state = call.str("state").unwrap_or_default();
        let failed = ["output-error", "output-denied"].contains(&state);
        let answer = ["output", "result", "errorText"]
            .into_iter()
            .find_map(|key| call.take(key));
        // If the person has refused the call, the reason may be the answer.
        let denied = || call.get("approval")?.get("reason").cloned();
        let answer = answer.or_else(|| denied().filter(|_| failed));
        if answer.is_some() || failed {
            let mut draft = Draft::result(id.clone(), name.clone());
            if failed {
                draft.set("is_error", true.into());
            }
            value(&mut draft, answer);
            self.results.push(draft.into_json());
        }
        let (mut about, unknown) = call.split(&ABOUT);
        // These types only show that this is a call. They do not name the tool.
        let kinds = ["dynamic-tool", "tool-invocation", "tool-call"];
        let (kind, unknown): (serde_json::Map<_, _>, serde_json::Map<_, _>) =
            unknown.into_iter().partition(|(key, _)| key == "type");
        let kind = kind
            .into_iter()
            .filter(|(_, value)| !kinds.iter().any(|kind| value == kind));
        about.extend(kind);
        self.draft.call(id, name, arguments, about);
        self.draft.shown(unknown);
    }
}
