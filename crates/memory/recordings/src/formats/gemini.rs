//! Reads and writes Gemini's format: `systemInstruction`, and `contents` of `parts` that have no type.

use serde_json::{Map, Value as Json, json};

use super::draft::Draft;
use super::fault::{Cannot, Fault, Parsed};
use super::fields::Fields;
use super::media::{self, At, kind_of};
use super::neutral::{NeutralMessage, PartContent, carried, number};
use super::signature;

/// Keys of a part that only say how it was recorded.
const ABOUT: [&str; 6] = [
    "thoughtSignature",
    "thought_signature",
    "videoMetadata",
    "video_metadata",
    "mediaResolution",
    "partMetadata",
];
/// The key under which a written part has its signature.
const SIGNATURE: &str = signature::GEMINI[0];
/// Keys of a part that hold a picture, a sound or a file.
const MEDIA: [&str; 4] = ["inlineData", "inline_data", "fileData", "file_data"];
/// Keys of a part that hold what was said, called or answered.
const SAID: [&str; 9] = [
    "text",
    "functionCall",
    "function_call",
    "functionResponse",
    "function_response",
    "executableCode",
    "executable_code",
    "codeExecutionResult",
    "code_execution_result",
];
/// Keys of a candidate or a content that only say how it was recorded.
const CANDIDATE: [&str; 18] = [
    "finishMessage",
    "finish_reason",
    "finish_message",
    "safety_ratings",
    "avg_logprobs",
    "logprobs_result",
    "token_count",
    "citation_metadata",
    "grounding_metadata",
    "pieces",
    "finishReason",
    "index",
    "safetyRatings",
    "avgLogprobs",
    "logprobsResult",
    "tokenCount",
    "citationMetadata",
    "groundingMetadata",
];

/// Returns whether the document is of this format and of no other.
pub(crate) fn detect(json: &Json) -> bool {
    let contents = match json {
        Json::Array(_) => Some(json),
        _ => json.get("contents").or_else(|| json.get("candidates")),
    };
    match contents {
        // The provider's libraries also accept a single content, or the user's words as a text.
        Some(Json::Object(_)) => json["contents"]["parts"].is_array(),
        Some(Json::String(_)) => json.get("model").is_some(),
        Some(Json::Array(all)) if all.is_empty() => false,
        Some(Json::Array(all)) => {
            let is_content = |content: &Json| is_content(content, json.is_array());
            // In a request, a text may stand in the place of a content. The text has the words of
            // the user.
            let is_words = |content: &Json| content.is_string() || content["text"].is_string();
            let is_words = |content: &Json| json.get("contents").is_some() && is_words(content);
            all.iter().all(|one| is_content(one) || is_words(one))
                || json.is_array() && all.iter().all(is_answer)
        }
        _ => false,
    }
}

/// Returns whether this is a content, or a candidate with one. A content may have no parts if the answer was stopped.
/// In a bare list, all parts must be of this format. In a document with `contents`, the parts may be unknown.
fn is_content(json: &Json, is_bare: bool) -> bool {
    let inner = json.get("content").filter(|inner| inner.is_object());
    let content = inner.unwrap_or(json);
    let is_model = content["role"] == "model"
        || json.get("finishReason").is_some()
        || json.get("finish_reason").is_some();
    match content.get("parts") {
        Some(Json::Array(parts)) => !is_bare || parts.iter().all(is_part),
        Some(Json::Object(_)) => !is_bare,
        _ => !is_bare && is_model,
    }
}

/// Returns whether this is a part with a key of this format, which has no type.
fn is_part(json: &Json) -> bool {
    let known = |key: &str| SAID.iter().chain(&MEDIA).any(|known| *known == key);
    let mut keys = json.as_object().into_iter().flat_map(Map::keys);
    json.get("type").is_none() && keys.any(|key| known(key))
}

/// Returns whether this is an answer, or a piece of one: an object with candidates.
fn is_answer(json: &Json) -> bool {
    let candidates = json["candidates"].as_array().filter(|all| !all.is_empty());
    candidates.is_some_and(|all| all.iter().all(|candidate| is_content(candidate, false)))
}

/// Reads a document.
///
/// # Errors
/// When there are no contents, or a content is not an object.
pub(crate) fn read(json: Json) -> Result<Parsed, Fault> {
    let mut parsed = Parsed::default();
    let mut all = Vec::new();
    match json {
        Json::Array(pieces) if !pieces.is_empty() && pieces.iter().all(is_answer) => {
            let (contents, rest) = joined(pieces);
            all.push(("", contents));
            parsed.rest.insert("answers".to_owned(), rest);
        }
        Json::Array(contents) => all.push(("", contents)),
        other => {
            let expected = "an object with `contents`";
            let mut rest = Fields::of(other).map_err(|_| Fault::at("", expected))?;
            for key in ["systemInstruction", "system_instruction"] {
                if let Some(system) = rest.take(key) {
                    instruction(system, &mut parsed.messages);
                }
            }
            if let Some(mut config) = rest.object("config") {
                for key in ["systemInstruction", "system_instruction"] {
                    if let Some(system) = config.take(key) {
                        instruction(system, &mut parsed.messages);
                    }
                }
                rest.put("config", Json::Object(config.into_map()));
            }
            for (key, at) in [("contents", "/contents"), ("candidates", "/candidates")] {
                let contents = match rest.take(key) {
                    Some(Json::Array(contents)) => contents,
                    Some(one @ (Json::Object(_) | Json::String(_))) => vec![one],
                    Some(odd) => {
                        rest.put(key, odd);
                        continue;
                    }
                    None => continue,
                };
                all.push((at, contents));
            }
            if all.is_empty() {
                return Err(Fault::at("", expected));
            }
            parsed.rest = rest.into_map();
        }
    }
    for (at, contents) in all {
        for (index, content) in contents.into_iter().enumerate() {
            if let Json::String(text) = content {
                let mut draft = Draft::new("user");
                draft.text(text);
                parsed.messages.push(draft.into_json());
                continue;
            }
            let content = match content {
                part @ Json::Object(_) if part["text"].is_string() => json!({ "parts": [part] }),
                content => content,
            };
            let content = Fields::of(content)
                .map_err(|_| Fault::at(format!("{at}/{index}"), "a content, an object"))?;
            self::content(content, "", &mut parsed.messages);
        }
    }
    Ok(parsed)
}

/// Joins the pieces of a streamed answer to one candidate for each index. Texts that follow each other become one
/// text. A joined candidate keeps its pieces. Returns the other keys of the pieces, too.
fn joined(pieces: Vec<Json>) -> (Vec<Json>, Json) {
    let mut all: Vec<(Json, Vec<Json>)> = Vec::new();
    let mut rests = Vec::new();
    for piece in pieces {
        let mut piece = Fields::of(piece).unwrap_or_default();
        for candidate in piece.list("candidates").into_iter().flatten() {
            let index = candidate.get("index").cloned().unwrap_or_else(|| 0.into());
            match all.iter_mut().find(|(known, _)| *known == index) {
                Some((_, before)) => before.push(candidate),
                None => all.push((index, vec![candidate])),
            }
        }
        rests.push(Json::Object(piece.into_map()));
    }
    let candidates = all.into_iter().map(|(_, mut pieces)| {
        if pieces.len() == 1 {
            return pieces.remove(0);
        }
        let mut parts = Vec::new();
        for piece in &pieces {
            let more = piece["content"]["parts"].as_array();
            more.into_iter()
                .flatten()
                .for_each(|part| add(part, &mut parts));
        }
        json!({ "content": { "role": "model", "parts": parts }, "pieces": pieces })
    });
    (candidates.collect(), Json::Array(rests))
}

/// Adds a part of a streamed answer. A text continues the text before it.
fn add(part: &Json, parts: &mut Vec<Json>) {
    let is_text = |part: &Json| {
        let mut keys = part.as_object().into_iter().flat_map(Map::keys);
        part["text"].is_string() && keys.all(|key| key == "text" || key == "thought")
    };
    match parts.last_mut() {
        Some(last) if is_text(last) && is_text(part) && last["thought"] == part["thought"] => {
            let text = |part: &Json| part["text"].as_str().unwrap_or_default().to_owned();
            last["text"] = (text(last) + &text(part)).into();
        }
        _ => parts.push(part.clone()),
    }
}

/// Reads the system instruction: a text, or a content.
fn instruction(json: Json, out: &mut Vec<Json>) {
    match Fields::of(json) {
        Ok(fields) => content(fields, "system", out),
        Err(Json::Null) => {}
        Err(other) => {
            let mut draft = Draft::new("system");
            draft.content(Some(other), part);
            out.push(draft.into_json());
        }
    }
}

/// Reads a content into one message, or several if it holds results.
fn content(mut fields: Fields, role: &str, out: &mut Vec<Json>) {
    // An answer (`candidate`) has its content as a member.
    let about = if fields.get("content").is_some_and(Json::is_object) {
        let inner = fields.object("content").unwrap_or_default();
        Some(std::mem::replace(&mut fields, inner))
    } else {
        None
    };
    let recorded = fields.text("role").unwrap_or_default();
    let known = ["", "model", "user", "function", "system"].contains(&recorded.as_str());
    if !role.is_empty() && !known {
        fields.put("role", recorded.as_str().into());
    }
    let role = match recorded.as_str() {
        _ if !role.is_empty() => role,
        "model" => "assistant",
        "" if about.is_some() => "assistant",
        "" | "function" => "user",
        other => other,
    };
    let mut draft = Draft::new(role);
    let first = out.len();
    if let Some(part) = fields.object("parts") {
        fields.put("parts", Json::Array(vec![Json::Object(part.into_map())]));
    }
    for json in fields.list("parts").into_iter().flatten() {
        let response = ["functionResponse", "function_response"]
            .into_iter()
            .find(|key| json.get(key).is_some_and(Json::is_object));
        match response {
            None => part(&mut draft, json),
            Some(key) => {
                if !draft.is_empty() {
                    out.push(std::mem::replace(&mut draft, Draft::new(role)).into_json());
                }
                out.extend(result(json, key));
            }
        }
    }
    draft.rest(fields, &CANDIDATE);
    if let Some(about) = about {
        draft.rest(about, &CANDIDATE);
    }
    draft.end(out, first);
}

/// Reads the result of a call. If the only key of a response is the output or the error, its text is the result.
fn result(json: Json, key: &str) -> Option<Json> {
    let mut part = Fields::of(json).ok()?;
    let mut fields = part.object(key)?;
    let mut draft = Draft::result(fields.take("id"), fields.take("name"));
    match fields.take("response") {
        Some(Json::Object(mut map)) => {
            let only = ["output", "result", "error"]
                .into_iter()
                .find(|key| map.contains_key(*key));
            let alone = only.filter(|key| map.len() == 1 && map[*key].is_string());
            if alone == Some("error") {
                draft.set("is_error", true.into());
            }
            match alone.and_then(|key| map.shift_remove(key)) {
                Some(Json::String(text)) => draft.text(text),
                _ => draft.text(Json::Object(map).to_string()),
            }
        }
        Some(Json::String(text)) => draft.text(text),
        Some(other) => draft.opaque(&other),
        None => {}
    }
    for json in fields.list("parts").into_iter().flatten() {
        self::part(&mut draft, json);
    }
    draft.failed(&mut fields);
    draft.rest(fields, &["willContinue", "scheduling"]);
    draft.rest(part, &ABOUT);
    Some(draft.into_json())
}

/// Adds a part to a message.
fn part(draft: &mut Draft, json: Json) {
    let whole = json.clone();
    let Ok(mut part) = Fields::of(json) else {
        draft.opaque(&whole);
        return;
    };
    let keys = ["functionCall", "function_call"];
    if let Some(text) = part.text("text") {
        let thought = part.get("thought") == Some(&Json::Bool(true));
        let about: Vec<&str> = ABOUT.into_iter().chain(["thought"]).collect();
        draft.part(
            if thought { "thinking" } else { "text" },
            text,
            part,
            &about,
        );
    } else if let Some(mut call) = keys.into_iter().find_map(|key| part.object(key)) {
        let (id, name, args) = (call.take("id"), call.take("name"), call.take("args"));
        let (about, unknown) = part.split(&ABOUT);
        draft.call(id, name, args, about);
        draft.shown(call.into_map());
        draft.shown(unknown);
    } else {
        media::add(draft, "", part, &[&MEDIA[..], &ABOUT].concat(), &whole);
    }
}

/// Writes a conversation. Results of calls that follow each other become one content.
///
/// # Errors
/// When the format cannot express a message.
pub(crate) fn write(all: &[NeutralMessage], mut rest: Map<String, Json>) -> Result<Json, Cannot> {
    let mut contents: Vec<Json> = Vec::new();
    let mut results = Vec::new();
    for (index, neutral) in number(all).iter().enumerate() {
        neutral.without_name()?;
        if neutral.is_result() {
            results.push(written_result(neutral)?);
            continue;
        }
        flush(&mut results, &mut contents);
        let role = match neutral.role.as_str() {
            "system" if index == 0 => "",
            "user" => "user",
            "assistant" => "model",
            _ => return Err(neutral.no_role()),
        };
        let parts = neutral.parts.iter().map(|part| {
            let json =
                written(&part.content).ok_or_else(|| neutral.cannot(part.content.described()))?;
            Ok(signed(json, part.about.clone()))
        });
        let mut parts = parts.collect::<Result<Vec<_>, _>>()?;
        for call in &neutral.calls {
            let mut function = json!({ "name": call.tool, "args": neutral.object(call)? });
            if let Some(id) = &call.id {
                function["id"] = id.as_str().into();
            }
            parts.push(signed(
                json!({ "functionCall": function }),
                call.about.clone(),
            ));
        }
        let mut about = neutral.about.clone();
        // In OpenAI's chat, the message has the signature of its words. Here the last part has it.
        if let Some(last) = parts.last_mut()
            && last.get(SIGNATURE).is_none()
            && let Some(signature) = signature::gemini(&mut about)
        {
            last[SIGNATURE] = signature.into();
        }
        if role.is_empty() {
            let system = carried(json!({ "parts": parts }), &about);
            rest.insert("systemInstruction".to_owned(), system);
        } else {
            let content = json!({ "role": role, "parts": parts });
            contents.push(carried(content, &about));
        }
    }
    flush(&mut results, &mut contents);
    rest.insert("contents".to_owned(), Json::Array(contents));
    Ok(Json::Object(rest))
}

fn flush(results: &mut Vec<Json>, contents: &mut Vec<Json>) {
    if !results.is_empty() {
        let parts = std::mem::take(results);
        contents.push(json!({ "role": "user", "parts": parts }));
    }
}

/// Writes the result of a call. A result that is a JSON object is written as this object.
fn written_result(neutral: &NeutralMessage) -> Result<Json, Cannot> {
    let (text, about) = neutral.flat()?;
    let tool = neutral.tool.as_ref();
    let tool = tool.ok_or_else(|| neutral.cannot("is a result that names no tool"))?;
    let object = serde_json::from_str::<Json>(text).ok();
    let object = object.filter(|json| {
        let only = |key| {
            json.as_object()
                .is_some_and(|map| map.len() == 1 && map.contains_key(key))
        };
        let wraps = ["output", "result", "error"].into_iter().any(only);
        let compact = json.to_string();
        json.is_object() && !wraps && compact == text
    });
    let response = match object {
        _ if neutral.is_error => json!({ "error": text }),
        Some(object) => object,
        None => json!({ "output": text }),
    };
    let mut function = json!({ "name": tool, "response": response });
    if let Some(id) = &neutral.call_id {
        function["id"] = id.as_str().into();
    }
    Ok(carried(json!({ "functionResponse": function }), &about))
}

/// Puts the signature of a thought on its part, and the other recorded values under a key of our own.
fn signed(mut part: Json, mut about: Map<String, Json>) -> Json {
    if let Some(signature) = signature::gemini(&mut about) {
        part[SIGNATURE] = signature.into();
    }
    carried(part, &about)
}

fn written(what: &PartContent) -> Option<Json> {
    Some(match what {
        PartContent::Text(text) => json!({ "text": text }),
        PartContent::Thinking(text) => json!({ "text": text, "thought": true }),
        PartContent::Media(media) => {
            // A part of Gemini's shows the kind of a medium only by its media type. A picture that
            // was recorded as a file would come back as a picture, so it is refused.
            if kind_of("", media.mime.as_deref()) != media.kind {
                return None;
            }
            let (key, mut holder) = match &media.at {
                At::Data(data) => ("inlineData", json!({ "data": data })),
                At::Url(url) => ("fileData", json!({ "fileUri": url })),
                At::File(_) => return None,
            };
            for (key, value) in [("mimeType", &media.mime), ("displayName", &media.name)] {
                if let Some(text) = value {
                    holder[key] = text.as_str().into();
                }
            }
            json!({ key: holder })
        }
        PartContent::Redacted(_) | PartContent::Refusal(_) | PartContent::Other(..) => return None,
    })
}
