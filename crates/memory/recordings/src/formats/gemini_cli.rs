//! Reads sessions of Gemini CLI: one object with `messages`, or a line for each record. The older checkpoints of this
//! program are contents of Gemini.

use std::collections::HashSet;

use accp_context::Recorded;
use serde_json::{Map, Value as Json, json};

use super::fault::{Fault, Parsed};
use super::fields::{Fields, is_void, merge};
use super::gemini;
use super::listed::{self, Listed, has_text};

/// Keys of a record that only say how it was recorded.
const RECORD: [&str; 7] = [
    "thoughts",
    "id",
    "timestamp",
    "tokens",
    "model",
    "displayContent",
    "type",
];
/// Keys of a call that only say how it was recorded, or what the person saw of it.
const CALL: [&str; 7] = [
    "status",
    "timestamp",
    "agentId",
    "displayName",
    "description",
    "resultDisplay",
    "renderOutputAsMarkdown",
];

/// Returns whether the document is of this format and of no other.
pub(crate) fn detect(json: &Json) -> bool {
    match json {
        Json::Array(all) => all.first().is_some_and(is_begin),
        json => {
            let records = json["messages"].as_array();
            let records = records.is_some_and(|all| !all.is_empty() && all.iter().all(is_record));
            is_begin(json) || has_text(json, "sessionId") && records
        }
    }
}

/// Returns whether this is the first line of a file.
pub(crate) fn is_begin(json: &Json) -> bool {
    has_text(json, "sessionId") && has_text(json, "projectHash") && json.get("messages").is_none()
}

/// Returns whether this is a record. A record may have a type that no known version has.
fn is_record(json: &Json) -> bool {
    let known = has_text(json, "type") && has_text(json, "id") && json.get("role").is_none();
    known && json.get("content").is_some()
}

/// Reads a session.
///
/// # Errors
/// When there are no records, or one is not an object.
pub(crate) fn read(json: Json) -> Result<Parsed, Fault> {
    let expected = "an object with `sessionId` and `messages`, or its lines";
    Fault::unless(detect(&json), expected)?;
    let json = match json {
        Json::Object(map) if !map.contains_key("messages") => json!([map]),
        json => json,
    };
    let is_lines = json.is_array();
    let Listed {
        objects: records,
        mut rest,
    } = listed::taken(json, &["messages"], expected)?;
    let (records, entries) = if is_lines {
        replayed(records)
    } else {
        (records, Vec::new())
    };
    let (mut contents, mut others) = (Vec::new(), entries);
    let mut answered = HashSet::new();
    for record in records {
        match record.get("type").and_then(Json::as_str) {
            // A record of the user may repeat results that the record with the calls has already.
            Some("user") if repeats(&record, &answered) => others.push(Json::Object(record)),
            Some("user" | "gemini") => {
                answered.extend(answers(&record));
                self::contents(record, &mut contents);
            }
            // The other records are for the person. No model saw them.
            _ => others.push(Json::Object(record)),
        }
    }
    let messages = gemini::read(Json::Array(contents))?.messages;
    let first = others.first().and_then(|entry| entry.get("sessionId"));
    let id = rest.get("sessionId").or(first).cloned();
    let own = [
        ("id", id),
        ("entries", (!others.is_empty()).then(|| others.into())),
    ];
    let own = own
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    merge(&mut rest, own.collect());
    Ok(Parsed {
        messages,
        rest,
        answered: None,
    })
}

/// Returns the ids of the calls of a record that have a result.
fn answers(record: &Map<String, Json>) -> Vec<String> {
    let calls = record.get("toolCalls").and_then(Json::as_array);
    let results = calls.into_iter().flatten();
    let results = results
        .filter_map(|call| call["result"].as_array())
        .flatten();
    let ids = results.filter_map(|part| part.pointer("/functionResponse/id")?.as_str());
    ids.map(str::to_owned).collect()
}

/// Returns whether a record holds only results that earlier records have.
fn repeats(record: &Map<String, Json>, answered: &HashSet<String>) -> bool {
    let parts = record.get("content").and_then(Json::as_array);
    parts.is_some_and(|parts| {
        let mut ids = parts
            .iter()
            .map(|part| part.pointer("/functionResponse/id"));
        let is_known = |id: Option<&Json>| {
            let id = id.and_then(Json::as_str);
            id.is_some_and(|id| answered.contains(id))
        };
        !parts.is_empty() && ids.all(is_known)
    })
}

/// Replays the lines of a file. A record replaces an earlier record with the same id. The program may also rewind to
/// a record, or set all records anew. Returns the remaining records, and all other lines.
fn replayed(lines: Vec<Map<String, Json>>) -> (Vec<Map<String, Json>>, Vec<Json>) {
    let (mut records, mut others): (Vec<Map<String, Json>>, Vec<Json>) = Default::default();
    for mut line in lines {
        let anew = line.get_mut("$set").and_then(Json::as_object_mut);
        let anew = anew.and_then(|set| {
            let all = set.get("messages")?.as_array()?;
            all.iter().all(Json::is_object).then_some(())?;
            set.shift_remove("messages")
        });
        if let Some(Json::Array(anew)) = anew {
            let anew = anew.into_iter().filter_map(|record| match record {
                Json::Object(record) => Some(record),
                _ => None,
            });
            let before = std::mem::replace(&mut records, anew.collect());
            others.extend(before.into_iter().map(Json::Object));
            others.push(Json::Object(line));
            continue;
        }
        let id = line.get("id").filter(|id| id.is_string()).cloned();
        let place = |id: &Json, records: &[Map<String, Json>]| {
            records
                .iter()
                .position(|record| record.get("id") == Some(id))
        };
        if let Some(to) = line.get("$rewindTo") {
            if let Some(at) = place(to, &records) {
                others.extend(records.drain(at..).map(Json::Object));
            }
            others.push(Json::Object(line));
        } else if let Some(id) = id.filter(|_| line.contains_key("type")) {
            match place(&id, &records) {
                Some(at) => others.push(Json::Object(std::mem::replace(&mut records[at], line))),
                None => records.push(line),
            }
        } else {
            others.push(Json::Object(line));
        }
    }
    (records, others)
}

/// Writes a record as contents of Gemini: what was said with the calls, and the results.
fn contents(record: Map<String, Json>, out: &mut Vec<Json>) {
    let mut fields = Fields::of(Json::Object(record)).unwrap_or_default();
    let is_user = fields.str("type") == Some("user");
    let mut parts: Vec<Json> = Vec::new();
    let is_thought = |part: &Json| part["thought"] == true;
    let content = fields.get("content").and_then(Json::as_array);
    // If the program has written the content anew, the content includes the thoughts.
    if !content.is_some_and(|parts| parts.iter().any(is_thought)) {
        let thoughts = fields.list("thoughts").into_iter().flatten();
        parts.extend(thoughts.map(self::thought));
    }
    match fields.take("content") {
        Some(Json::Array(all)) => parts.extend(all.into_iter().map(part)),
        Some(one) => parts.extend((!is_void(&one)).then(|| part(one))),
        None => {}
    }
    let mut results = Vec::new();
    for call in fields.list("toolCalls").into_iter().flatten() {
        match Fields::of(call) {
            Ok(call) => add(self::call(call, &mut results), &mut parts),
            Err(odd) => parts.push(odd),
        }
    }
    let role = if is_user { "user" } else { "model" };
    let (about, unknown) = fields.split(&RECORD);
    let about: Map<String, Json> = about.into_iter().filter(|(key, _)| key != "type").collect();
    let mut content = unknown;
    merge(
        &mut content,
        [("role".to_owned(), role.into())].into_iter().collect(),
    );
    merge(
        &mut content,
        [("parts".to_owned(), parts.into())].into_iter().collect(),
    );
    content.insert(Recorded::ABOUT.to_owned(), Json::Object(about));
    out.push(Json::Object(content));
    if !results.is_empty() {
        out.push(json!({ "role": "user", "parts": results }));
    }
}

/// Returns a piece of a content as a part. A string becomes a part with this text.
fn part(json: Json) -> Json {
    match json {
        Json::String(text) => json!({ "text": text }),
        other => other,
    }
}

/// Returns a thought as a part. The description of the thought is the text of the part, and the subject goes to the
/// recorded values. A thought without a description shows its subject.
fn thought(json: Json) -> Json {
    let mut fields = match Fields::of(json) {
        Ok(fields) => fields,
        Err(odd) => return odd,
    };
    let key = ["description", "subject"]
        .into_iter()
        .find(|key| fields.str(key).is_some_and(|text| !text.is_empty()));
    let text = key.and_then(|key| fields.text(key));
    match text {
        Some(text) => {
            json!({ "text": text, "thought": true, Recorded::ABOUT: fields.into_map() })
        }
        None => Json::Object(fields.into_map()),
    }
}

/// Adds a call. If the content has the same call already, the given call only goes to the recorded values of that
/// part.
fn add(call: Json, parts: &mut Vec<Json>) {
    let id = call.pointer("/functionCall/id").filter(|id| id.is_string());
    let is_same = |part: &&mut Json| part.pointer("/functionCall/id") == id;
    let known = parts.iter_mut().find(is_same).filter(|_| id.is_some());
    match known.and_then(Json::as_object_mut) {
        Some(known) => {
            let about = known.entry(Recorded::ABOUT).or_insert_with(|| json!({}));
            if let Json::Object(about) = about {
                merge(about, [("toolCall".to_owned(), call)].into_iter().collect());
            }
        }
        None => parts.push(call),
    }
}

/// Returns a call as a part, and adds its result.
fn call(mut call: Fields, results: &mut Vec<Json>) -> Json {
    let mut function = Map::new();
    for key in ["id", "name", "args"] {
        function.extend(call.take(key).map(|value| (key.to_owned(), value)));
    }
    let failed = call.str("status") == Some("error");
    let answer = match call.take("result") {
        Some(Json::Array(all)) => all,
        Some(one) if !is_void(&one) => vec![one],
        _ => Vec::new(),
    };
    let is_response = |part: &Json| part["functionResponse"].is_object();
    let has_response = answer.iter().any(is_response);
    let (mut extra, mut repeated) = (Vec::new(), Vec::new());
    let first = results.len();
    let id_of = |part: &Json| part.pointer("/functionResponse/id").cloned();
    for one in answer {
        let id = id_of(&one).filter(Json::is_string);
        if id.is_some() && results.iter().any(|result| id_of(result) == id) {
            // The program stores the results of parallel calls with each of these calls, so a known
            // result is only a repetition.
            repeated.push(one);
        } else if is_response(&one) {
            results.push(one);
        } else if has_response {
            extra.push(part(one));
        } else {
            let mut response = Map::new();
            for key in ["id", "name"] {
                response.extend(
                    function
                        .get(key)
                        .map(|value| (key.to_owned(), value.clone())),
                );
            }
            response.insert("parts".to_owned(), json!([part(one)]));
            results.push(json!({ "functionResponse": response }));
        }
    }
    let own = function.get("id").cloned();
    let own = results
        .iter()
        .position(|result| own.is_some() && id_of(result) == own);
    let own = own.or_else(|| (results.len() > first).then(|| results.len() - 1));
    if let Some(own) = own.and_then(|own| results.get_mut(own)) {
        let response = &mut own["functionResponse"];
        if failed && response.get("is_error").is_none() {
            response["is_error"] = true.into();
        }
        if !extra.is_empty() {
            let key = if response.get("parts").is_none_or(Json::is_array) {
                "parts"
            } else {
                "more"
            };
            match response.get_mut(key).and_then(Json::as_array_mut) {
                Some(parts) => parts.append(&mut extra),
                None => response[key] = extra.into(),
            }
        }
    }
    let (mut about, mut whole) = call.split(&CALL);
    if !repeated.is_empty() {
        let repeated = [("result".to_owned(), Json::Array(repeated))];
        merge(&mut about, repeated.into_iter().collect());
    }
    merge(
        &mut whole,
        [("functionCall".to_owned(), Json::Object(function))]
            .into_iter()
            .collect(),
    );
    whole.insert(Recorded::ABOUT.to_owned(), Json::Object(about));
    Json::Object(whole)
}
