//! Reads and writes `ShareGPT`: `conversations`, whose turns have the keys `from` and `value`.

use serde_json::{Map, Value as Json, json};

use super::draft::Draft;
use super::fault::{Cannot, Fault, Parsed};
use super::fields::{Fields, merge};
use super::neutral::{NeutralMessage, carried};

/// The roles of this format, and the roles of the common form.
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
    let is_turn = |turn: &Json| {
        turn["from"].is_string() || turn["role"].is_string() && turn.get("value").is_some()
    };
    turns.is_some_and(|all| all.iter().all(Json::is_object) && all.iter().any(is_turn))
}

/// Reads a document.
///
/// # Errors
/// When there are no conversations, or a turn is not an object.
pub(crate) fn read(json: Json) -> Result<Parsed, Fault> {
    let mut parsed = Parsed::default();
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
                parsed.messages.push(draft.into_json());
            }
            parsed.rest = rest.into_map();
            (turns, "/conversations")
        }
    };
    for (index, turn) in turns.into_iter().enumerate() {
        let turn = Fields::of(turn)
            .map_err(|_| Fault::at(format!("{at}/{index}"), "a turn, an object"))?;
        parsed.messages.push(message(turn));
    }
    Ok(parsed)
}

fn message(mut turn: Fields) -> Json {
    let speaker = turn.text("from").or_else(|| turn.text("role"));
    let from = speaker.clone().unwrap_or_default();
    let known = ROLES.iter().find(|(theirs, _)| *theirs == from);
    let calls = from == "function_call" || from == "tool_call";
    let role = match known {
        Some((_, ours)) => ours,
        None if calls => "assistant",
        None => from.as_str(),
    };
    let mut draft = match speaker {
        Some(_) => Draft::new(role),
        None => Draft::default(),
    };
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

/// Adds a text as calls if it is JSON with a `name` and `arguments`, or a list of such objects. Any other text is
/// added as words.
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
    let compact = parsed.map(|json| json.to_string());
    if compact.is_ok_and(|compact| compact != text) {
        about.insert("value".to_owned(), text.into());
    }
    for json in all {
        let mut call = Fields::of(json).unwrap_or_default();
        let mut about = std::mem::take(&mut about);
        let (id, name) = (call.take("id"), call.take("name"));
        let arguments = call.take("arguments").or_else(|| call.take("parameters"));
        let (more, unknown) = call.split(&[]);
        merge(&mut about, more);
        draft.call(id, name, arguments, about);
        draft.shown(unknown);
    }
}

/// Writes a conversation. A turn has words, or calls tools. Ids, the tool of a result and the failure of a result
/// stand in keys that other programs do not know.
///
/// # Errors
/// When the format cannot express a message.
pub(crate) fn write(all: &[NeutralMessage], mut rest: Map<String, Json>) -> Result<Json, Cannot> {
    let mut turns = Vec::new();
    for (index, neutral) in all.iter().enumerate() {
        let is_prompt = neutral.role == "system" && index == 0 && neutral.name.is_none();
        match neutral.flat()? {
            (text, about) if is_prompt && about.is_empty() => {
                rest.insert("system".to_owned(), text.into());
            }
            (text, about) => turns.push(carried(written(neutral, text)?, &about)),
        }
    }
    rest.insert("conversations".to_owned(), Json::Array(turns));
    Ok(Json::Object(rest))
}

fn written(neutral: &NeutralMessage, text: &str) -> Result<Json, Cannot> {
    let calls = neutral.calls.iter().map(|call| {
        let mut written = json!({ "name": call.tool, "arguments": call.value() });
        if let Some(id) = &call.id {
            written["id"] = id.as_str().into();
        }
        carried(written, &call.about)
    });
    let calls: Vec<Json> = calls.collect();
    let from = match neutral.role.as_str() {
        "assistant" if !calls.is_empty() => "function_call",
        _ if !calls.is_empty() => {
            return Err(neutral.cannot("has calls, and is not of the assistant"));
        }
        "user" => "human",
        "assistant" => "gpt",
        "tool" => "observation",
        "" => return Err(neutral.no_role()),
        other => other,
    };
    let value = match (text, calls.as_slice()) {
        (text, []) => text.to_owned(),
        ("", [one]) => one.to_string(),
        ("", all) => Json::from(all).to_string(),
        _ => return Err(neutral.cannot("says something and calls a tool")),
    };
    let mut turn = json!({ "from": from, "value": value });
    let tool = neutral.tool.as_ref().filter(|_| neutral.call_id.is_none());
    let names = [
        ("tool_call_id", neutral.call_id.as_ref()),
        ("name", neutral.name.as_ref().or(tool)),
    ];
    for (key, value) in names {
        if let Some(text) = value {
            turn[key] = text.as_str().into();
        }
    }
    if neutral.is_error {
        turn["is_error"] = true.into();
    }
    Ok(turn)
}
