//! Says which call a person decided about. The answer to a request for approval has only the id of the request.

use serde_json::Value as Json;

use crate::parsed::Parsed;
use crate::summary::item::clipped;

/// How many characters of a call are shown.
const CALL: usize = 100;

/// Returns the words of a person. If they answer a request for approval, the call follows them, because the request
/// may leave the list.
pub(super) fn with_call(messages: &[Parsed], message: &Parsed, words: String) -> String {
    match call(messages, message) {
        Some(call) => format!("{words} [about the call {call}]"),
        None => words,
    }
}

fn call(messages: &[Parsed], message: &Parsed) -> Option<String> {
    let answer = item(&message.text, "mcp_approval_response")?;
    let id = answer["approval_request_id"].as_str()?;
    let at = messages.partition_point(|one| one.index < message.index);
    let mut before = messages.get(..at)?.iter().rev();
    let asked = before.find_map(|one| {
        let asked = item(&one.text, "mcp_approval_request")?;
        (asked["id"] == id).then_some(asked)
    })?;
    let name = asked["name"].as_str()?;
    let arguments = asked["arguments"].as_str().unwrap_or_default();
    Some(clipped(&format!("{name}({arguments})"), CALL))
}

/// Returns an item of this type, if a text is one.
fn item(text: &str, of: &str) -> Option<Json> {
    let json: Option<Json> = text
        .contains(of)
        .then(|| serde_json::from_str(text).ok())
        .flatten();
    json.filter(|json| json["type"] == of)
}
