//! `ShareGPT`: `conversations` of `from` and `value`.

use serde_json::{Map, Value as Json};

use super::draft::Draft;
use super::fault::{Fault, Model};
use super::fields::Fields;

/// The roles of this format, and those of the model.
const ROLES: [(&str, &str); 12] = [
    ("human", "user"),
    ("user", "user"),
    ("gpt", "assistant"),
    ("chatgpt", "assistant"),
    ("bing", "assistant"),
    ("bard", "assistant"),
    ("assistant", "assistant"),
    ("model", "assistant"),
    ("observation", "tool"),
    ("function_response", "tool"),
    ("tool_response", "tool"),
    ("function", "tool"),
];

/// Returns whether the document is of this format and of no other.
pub(crate) fn detect(json: &Json) -> bool {
    let turns = match json {
        Json::Array(_) => Some(json),
        _ => json.get("conversations"),
    };
    let turns = turns.and_then(Json::as_array).filter(|all| !all.is_empty());
    turns.is_some_and(|all| all.iter().all(|turn| turn["from"].is_string()))
}

/// Reads a document.
///
/// # Errors
/// When there are no conversations, or a turn is not an object.
pub(crate) fn read(json: Json) -> Result<Model, Fault> {
    let mut model = Model::default();
    let (turns, at) = match json {
        Json::Array(turns) => (turns, ""),
        other => {
            let expected = "an object with `conversations`";
            let mut rest = Fields::of(other).map_err(|_| Fault::at("", expected))?;
            let turns = rest.list("conversations");
            let turns = turns.ok_or(Fault::at("", expected))?;
            if let Some(system) = rest.text("system").filter(|system| !system.is_empty()) {
                let mut draft = Draft::new("system");
                draft.text(system);
                model.messages.push(draft.into_json());
            }
            model.rest = rest.into_map();
            (turns, "/conversations")
        }
    };
    for (index, turn) in turns.into_iter().enumerate() {
        let turn = Fields::of(turn)
            .map_err(|_| Fault::at(format!("{at}/{index}"), "a turn, an object"))?;
        model.messages.push(message(turn));
    }
    Ok(model)
}

fn message(mut turn: Fields) -> Json {
    let from = turn.text("from").unwrap_or_default();
    let known = ROLES.iter().find(|(theirs, _)| *theirs == from);
    let calls = from == "function_call" || from == "tool_call";
    let role = match known {
        Some((_, ours)) => ours,
        None if calls => "assistant",
        None => from.as_str(),
    };
    let mut draft = Draft::new(role);
    match turn.take("value") {
        Some(Json::String(text)) if calls => self::calls(&mut draft, text),
        value => draft.content(value, |draft, json| draft.opaque(&json)),
    }
    for key in ["tool_call_id", "name"] {
        if let Some(value) = turn.text(key) {
            draft.set(key, value.into());
        }
    }
    draft.failed(&mut turn);
    draft.rest(turn, &["weight", "loss", "id"]);
    draft.into_json()
}

/// Adds the calls whose text is JSON with a `name` and `arguments`, or a list of such. Another text
/// is what was said.
fn calls(draft: &mut Draft, text: String) {
    let parsed = serde_json::from_str::<Json>(&text);
    let all = match &parsed {
        Ok(Json::Array(all)) if !all.is_empty() => all.clone(),
        Ok(one) => vec![one.clone()],
        Err(_) => Vec::new(),
    };
    if all.is_empty() || !all.iter().all(|json| json["name"].is_string()) {
        draft.text(text);
        return;
    }
    let mut about = Map::new();
    if parsed.is_ok_and(|json| json.to_string() != text) {
        about.insert("value".to_owned(), text.into());
    }
    for json in all {
        let mut call = Fields::of(json).unwrap_or_default();
        let about = std::mem::take(&mut about);
        let (id, name) = (call.take("id"), call.take("name"));
        let arguments = call.take("arguments").or_else(|| call.take("parameters"));
        draft.call(id, name, arguments, about);
        draft.shown(call.into_map());
    }
}
