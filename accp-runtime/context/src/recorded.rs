//! Reads messages of a conversation that was recorded as chat JSON, and their tool calls in both recorded forms.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value as Json;

/// The key of a message's tool calls.
const CALLS: &str = "tool_calls";

/// A borrowed message of a recorded conversation.
///
/// ```
/// use accp_context::Recorded;
/// use serde_json::json;
///
/// let message = json!({ "role": "assistant", "tool_calls": [
///     { "id": "c1", "function": { "name": "stock", "arguments": "{\"item\":\"rye\"}" } }] });
/// let call = Recorded::of(&message).calls().next().unwrap();
/// assert_eq!((call.id(), call.tool()), (Some("c1"), Some("stock")));
/// assert_eq!(call.arguments().unwrap()["item"], "rye");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recorded<'c>(&'c Json);

impl<'c> Recorded<'c> {
    /// The key in a message, a part or a call under which a recording stores facts that no model saw: ids, times,
    /// counts of tokens, encoded pictures.
    pub const ABOUT: &'static str = "_recorded";

    /// Wraps a message. JSON that is not an object has no role, texts or calls.
    pub fn of(json: &'c Json) -> Self {
        Self(json)
    }

    /// Returns the recorded JSON.
    pub fn as_json(self) -> &'c Json {
        self.0
    }

    /// Returns the text under this key.
    fn text(self, key: &str) -> Option<&'c str> {
        self.0.get(key)?.as_str()
    }

    /// Returns the role of the speaker: `user`, `assistant`, `tool` and so on.
    pub fn role(self) -> Option<&'c str> {
        self.text("role")
    }

    /// Returns the name of the speaker, if recorded.
    pub fn name(self) -> Option<&'c str> {
        self.text("name")
    }

    /// Returns the recipient of the message, if recorded.
    pub fn to(self) -> Option<&'c str> {
        self.text("to")
    }

    /// Returns the id of the call that the message answers.
    pub fn call_id(self) -> Option<&'c str> {
        self.text("tool_call_id")
    }

    /// Returns whether a tool is the speaker.
    pub fn is_result(self) -> bool {
        matches!(self.role(), Some("tool" | "function"))
    }

    /// Returns the words of the speaker: the content as a text, or the texts of its parts.
    pub fn texts(self) -> Vec<&'c str> {
        match self.0.get("content") {
            Some(Json::String(text)) => vec![text],
            Some(Json::Array(parts)) => {
                let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
                texts.collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the tool calls of the message.
    pub fn calls(self) -> impl Iterator<Item = Call<'c>> {
        let calls = self.0.get(CALLS).and_then(Json::as_array);
        calls.into_iter().flatten().map(Call::of)
    }

    /// Returns the message as a model saw it, without the keys that only say how the message, its parts and its calls
    /// were recorded. Both forms of a call ([`Call`]) are shown alike, so what a model reads does not depend on the
    /// recorder.
    pub fn shown(self) -> Json {
        let mut message = self.0.clone();
        strip(&mut message, &[Self::ABOUT]);
        for (key, about) in [
            ("content", &[Self::ABOUT][..]),
            (CALLS, &[Self::ABOUT, Call::SPELLING]),
        ] {
            let items = message.get_mut(key).and_then(Json::as_array_mut);
            for item in items.into_iter().flatten() {
                strip(item, about);
                if key == CALLS
                    && let Some(flat) = flat(item)
                {
                    *item = flat;
                }
            }
        }
        message
    }

    /// Returns the values that [`shown`](Self::shown) leaves out.
    ///
    /// ```
    /// use accp_context::Recorded;
    /// use serde_json::json;
    ///
    /// let message = json!({ "role": "user", "content": "Hello", "_recorded": { "uuid": "u1" } });
    /// let message = Recorded::of(&message);
    /// assert_eq!(message.shown(), json!({ "role": "user", "content": "Hello" }));
    /// assert_eq!(message.not_shown(), [&json!({ "uuid": "u1" })]);
    /// ```
    pub fn not_shown(self) -> Vec<&'c Json> {
        let items = |key| {
            self.0
                .get(key)
                .and_then(Json::as_array)
                .into_iter()
                .flatten()
        };
        let about = std::iter::once(self.0)
            .chain(items("content"))
            .chain(items(CALLS));
        let spelling = items(CALLS).filter_map(|call| call.get(Call::SPELLING));
        let about = about.filter_map(|json| json.get(Self::ABOUT));
        about.chain(spelling).collect()
    }
}

/// Removes keys of an object.
fn strip(json: &mut Json, keys: &[&str]) {
    if let Some(map) = json.as_object_mut() {
        map.retain(|key, _| !keys.contains(&key.as_str()));
    }
}

/// Returns a call `{id, type, function: {name, arguments}}` as `{id, name, arguments}`, if it has
/// no other keys and its arguments are an object.
fn flat(call: &Json) -> Option<Json> {
    let (call, function) = (call.as_object()?, call.get("function")?.as_object()?);
    let known = |key: &String| ["id", "type", "function"].contains(&key.as_str());
    let is_function = call.get("type").is_none_or(|kind| kind == "function");
    if !is_function || !call.keys().all(known) || function.len() > 2 {
        return None;
    }
    let arguments = match function.get("arguments")? {
        Json::String(text) => {
            let value: Json = serde_json::from_str(text).ok()?;
            keeps_numbers(&value, text).then_some(value)?
        }
        value => value.clone(),
    };
    let mut flat = serde_json::Map::new();
    flat.extend(call.get("id").map(|id| ("id".to_owned(), id.clone())));
    flat.insert("name".to_owned(), function.get("name")?.clone());
    flat.insert("arguments".to_owned(), arguments);
    flat["arguments"].is_object().then_some(Json::Object(flat))
}

/// Returns whether `text`, the JSON text of a value, has each number in the spelling that the value would be written
/// with. For example, reading an integer of more than 64 bits changes its last digits, so this returns false.
fn keeps_numbers(value: &Json, text: &str) -> bool {
    match value {
        Json::Number(number) => text.contains(&number.to_string()),
        Json::Array(items) => items.iter().all(|item| keeps_numbers(item, text)),
        Json::Object(map) => map.values().all(|value| keeps_numbers(value, text)),
        _ => true,
    }
}

/// A tool call in one of the two recorded forms: `{id, name, arguments}`, or
/// `{id, type, function: {name, arguments}}`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call<'c> {
    recorded: &'c Json,
    function: Option<&'c Json>,
}

impl<'c> Call<'c> {
    /// The key in a call for the original text of its arguments. The call also has the arguments as a value.
    pub const SPELLING: &'static str = "arguments_raw";

    fn of(recorded: &'c Json) -> Self {
        let function = recorded.get("function").filter(|json| json.is_object());
        Self { recorded, function }
    }

    /// Returns the recorded JSON.
    pub fn as_json(self) -> &'c Json {
        self.recorded
    }

    /// Returns whether the call has the form with `function`.
    pub fn is_function(self) -> bool {
        self.function.is_some()
    }

    /// Returns the value of a key of the called function.
    fn get(self, key: &str) -> Option<&'c Json> {
        self.function.unwrap_or(self.recorded).get(key)
    }

    /// Returns the id by which a result names its call.
    pub fn id(self) -> Option<&'c str> {
        self.recorded.get("id")?.as_str()
    }

    /// Returns the name of the tool.
    pub fn tool(self) -> Option<&'c str> {
        self.get("name")?.as_str()
    }

    /// Returns the arguments as recorded: a value, or its JSON text.
    pub fn recorded_arguments(self) -> Option<&'c Json> {
        self.get("arguments")
    }

    /// Returns the arguments. A text is read as JSON; `None` if the text is not JSON or there are
    /// no arguments.
    pub fn arguments(self) -> Option<Cow<'c, Json>> {
        match self.recorded_arguments()? {
            Json::String(text) => serde_json::from_str(text).ok().map(Cow::Owned),
            arguments => Some(Cow::Borrowed(arguments)),
        }
    }
}

/// The calls of a conversation so far. They tell which tool a result comes from.
///
/// ```
/// use accp_context::{Calls, Recorded};
/// use serde_json::json;
///
/// let mut calls = Calls::default();
/// calls.note(Some("c1"), "stock");
/// let result = json!({ "role": "tool", "tool_call_id": "c1", "content": "4" });
/// assert_eq!(calls.answered(Recorded::of(&result)), Some("stock"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls {
    /// The tool by the id of the call. If an id repeats, the latest call counts.
    by_id: BTreeMap<String, String>,
    last: Option<String>,
}

impl Calls {
    /// Takes note of a call.
    pub fn note(&mut self, id: Option<&str>, tool: &str) {
        if let Some(id) = id {
            self.by_id.insert(id.to_owned(), tool.to_owned());
        }
        self.last = Some(tool.to_owned());
    }

    /// Returns the tool that gave this result: the name in the result, otherwise the tool of the
    /// call that it answers.
    pub fn answered<'c>(&'c self, result: Recorded<'c>) -> Option<&'c str> {
        let by_id = || self.by_id.get(result.call_id()?).map(String::as_str);
        result.name().or_else(by_id)
    }

    /// Returns the tool of the last call.
    pub fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_forms_of_a_call_are_read() {
        let message = json!({ "role": "assistant", "tool_calls": [
            { "id": "c", "name": "get", "arguments": { "n": 1 }, "arguments_raw": "{ \"n\": 1 }" },
            { "id": "d", "function": { "name": "put", "arguments": "{\"n\": 2}" } },
            { "name": "odd", "arguments": "not JSON" },
            7,
        ] });
        let message = Recorded::of(&message);
        let told: Vec<_> = message
            .calls()
            .map(|call| {
                let arguments = call.arguments().map(|json| json.to_string());
                (call.id(), call.tool(), arguments)
            })
            .collect();
        let expected = [
            (Some("c"), Some("get"), Some("{\"n\":1}".to_owned())),
            (Some("d"), Some("put"), Some("{\"n\":2}".to_owned())),
            (None, Some("odd"), None),
            (None, None, None),
        ];
        assert_eq!(told, expected);
        assert!(!message.shown().to_string().contains("raw"));
    }

    #[test]
    fn a_call_is_shown_in_one_form() {
        let shown = |call: Json| {
            let message = json!({ "role": "assistant", "tool_calls": [call] });
            Recorded::of(&message).shown()["tool_calls"][0].clone()
        };
        let call = |arguments: &str| {
            json!({ "id": "c", "type": "function",
                "function": { "name": "get", "arguments": arguments } })
        };
        let flat = json!({ "id": "c", "name": "get", "arguments": { "n": 1, "at": "B/12" } });
        assert_eq!(shown(call("{ \"n\": 1, \"at\": \"B/12\" }")), flat);
        assert_eq!(shown(flat.clone()), flat);
        for odd in ["{broken", "[1]", "{\"n\":123456789012345678901}", ""] {
            assert_eq!(shown(call(odd)), call(odd), "{odd}");
        }
        let mut more = call("{}");
        more["index"] = 0.into();
        assert_eq!(shown(more.clone()), more);
    }

    #[test]
    fn a_result_is_of_the_tool_that_it_names_or_answers() {
        let mut calls = Calls::default();
        calls.note(Some("c"), "first");
        calls.note(Some("c"), "second");
        calls.note(None, "third");
        let answered = |json: Json| {
            let found = calls.answered(Recorded::of(&json));
            found.map(str::to_owned)
        };
        assert_eq!(answered(json!({ "tool_call_id": "c" })).unwrap(), "second");
        let named = json!({ "tool_call_id": "c", "name": "named" });
        assert_eq!(answered(named).unwrap(), "named");
        assert_eq!(answered(json!({ "tool_call_id": "x" })), None);
        assert_eq!(calls.last(), Some("third"));
    }
}
