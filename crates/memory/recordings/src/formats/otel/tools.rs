//! Reads spans of tools, which hold the arguments and the result of a call.

use serde_json::{Map, Value as Json};

use crate::format::Format;
use crate::formats::draft::Draft;
use crate::leaves::Leaves;

use super::otlp::get;

const ARGUMENTS: &str = "gen_ai.tool.call.arguments";
const RESULT: &str = "gen_ai.tool.call.result";

/// Returns whether an attribute holds the arguments or the result of a call.
pub(super) fn is_said(key: &str) -> bool {
    key == ARGUMENTS || key == RESULT
}

/// The call and the result that the span of a tool holds. The span keeps these values, too.
#[derive(Debug, Clone)]
pub(super) struct Tool {
    name: Option<Json>,
    id: Option<Json>,
    arguments: Option<Json>,
    result: Option<Json>,
}

/// Reads the span of a tool.
pub(super) fn of(span: &Map<String, Json>) -> Option<Tool> {
    let (arguments, result) = (get(span, ARGUMENTS), get(span, RESULT));
    if arguments.is_none() && result.is_none() {
        return None;
    }
    Some(Tool {
        name: get(span, "gen_ai.tool.name"),
        id: get(span, "gen_ai.tool.call.id"),
        arguments,
        result,
    })
}

impl Tool {
    /// Returns messages for the arguments and the result, if no other message has them. `leaves` are the leaves of
    /// all other messages.
    pub(super) fn messages(self, leaves: &Leaves) -> Vec<Json> {
        let is_new = |value: &Json| leaves.first_lost(value, Format::Otel).is_some();
        let mut out = Vec::new();
        let name = || self.name.clone().or(Some("tool".into()));
        if let Some(arguments) = self.arguments.filter(is_new) {
            let mut draft = Draft::new("assistant");
            draft.call(self.id.clone(), name(), Some(arguments), Map::new());
            out.push(draft.into_json());
        }
        if let Some(result) = self.result.filter(is_new) {
            let mut draft = Draft::result(self.id.clone(), name());
            match result {
                Json::String(text) => draft.text(text),
                other => draft.text(other.to_string()),
            }
            out.push(draft.into_json());
        }
        out
    }
}
