//! Gives new ids to calls and new names to tools, if the provider of a format refuses the recorded ones.

use std::collections::{BTreeMap, BTreeSet};

use accp_context::Recorded;
use serde_json::{Map, Value as Json};

use crate::conversation::{Conversation, RECORDED};
use crate::format::Format;
use crate::formats::{self, renamed_tools, tool_names};

/// The new ids of open calls under the recorded id, the first call first.
type Open = BTreeMap<String, Vec<String>>;

impl Conversation {
    /// The key, outside the messages of a written document, of the map from new ids of calls to the recorded ids.
    pub const RECORDED_IDS: &str = formats::RECORDED_IDS;
    /// The key, outside the messages of a written document, of the map from new names of tools to the recorded names.
    pub const RECORDED_NAMES: &str = formats::RECORDED_NAMES;

    /// Returns the conversation with the ids and the names of tools that were recorded in its messages.
    /// [`written`](Self::written) gives a call a new id if the provider refuses the recorded id: the id is too long,
    /// has other characters, or belongs to an earlier call although each call needs its own id. It gives tools new
    /// names for the same reasons. The document keeps the maps from new to recorded values under
    /// [`RECORDED_IDS`](Self::RECORDED_IDS) and [`RECORDED_NAMES`](Self::RECORDED_NAMES), outside its messages.
    ///
    /// ```
    /// use accp_recordings::{Conversation, Format};
    /// use serde_json::json;
    ///
    /// let ask = |item| json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": "c1",
    ///     "type": "function", "function": { "name": "stock", "arguments": format!("{{\"item\":\"{item}\"}}") } }] });
    /// let answer = |text| json!({ "role": "tool", "tool_call_id": "c1", "content": text });
    /// let recorded = json!({ "messages": [ask("rye"), answer("4"), ask("oats"), answer("0")] });
    /// let conversation = Conversation::new(recorded)?;
    ///
    /// let document = conversation.written(Format::Anthropic)?;
    /// assert_eq!(document["messages"][2]["content"][0]["id"], "c1_2");
    /// assert_eq!(document["messages"][3]["content"][0]["tool_use_id"], "c1_2");
    /// assert_eq!(document["recorded_ids"], json!({ "c1_2": "c1" }));
    ///
    /// let back = Conversation::new(document)?.with_recorded_ids();
    /// let ids: Vec<_> = back.messages().filter_map(|message| message.call_id()).collect();
    /// assert_eq!(ids, ["c1", "c1"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_recorded_ids(self) -> Self {
        let restored = self.restored_from(Self::RECORDED_IDS, ids_of);
        restored.restored_from(Self::RECORDED_NAMES, names_of)
    }

    /// Replaces new values by the recorded ones. The map is under `key`.
    fn restored_from(self, key: &str, places: fn(&mut Json) -> Vec<&mut Json>) -> Self {
        // In a trace, the values outside the messages are under a key of their own.
        let beside = || self.get(RECORDED)?.get(key);
        let map = self.get(key).or_else(beside);
        let Some(map) = map.and_then(Json::as_object) else {
            return self;
        };
        let mut messages: Vec<Json> = self.messages().map(|said| said.as_json().clone()).collect();
        for place in messages.iter_mut().flat_map(places) {
            if let Some(recorded) = map.get(place.as_str().unwrap_or_default()) {
                *place = recorded.clone();
            }
        }
        self.with_messages(messages, key)
    }
}

/// The rule of a provider for ids of calls or for names of tools.
#[derive(Debug, Clone, Copy)]
struct Rule {
    /// The largest number of characters.
    most: usize,
    /// The allowed characters other than ASCII letters, digits, `_` and `-`; `None` if all characters are allowed.
    more: Option<&'static str>,
    /// Whether the first character has to be a letter or `_`.
    begins_as_word: bool,
}

/// Allows every text.
const ANY: Rule = Rule {
    most: usize::MAX,
    more: None,
    begins_as_word: false,
};
/// Allows ASCII letters, digits, `_` and `-`, as Anthropic does in ids, and most providers in names.
const PLAIN: Rule = Rule {
    most: 64,
    more: Some(""),
    begins_as_word: false,
};

/// Returns the rules of a format: for ids and for names. Only the formats of providers have any.
fn rules(format: Format) -> (Rule, Rule) {
    match format {
        Format::OpenAi => (Rule { most: 40, ..ANY }, PLAIN),
        Format::Responses => (Rule { most: 64, ..ANY }, PLAIN),
        Format::Anthropic => (PLAIN, PLAIN),
        Format::Gemini => {
            let name = Rule {
                more: Some(".:"),
                begins_as_word: true,
                ..PLAIN
            };
            (ANY, name)
        }
        _ => (ANY, ANY),
    }
}

impl Rule {
    /// Returns the text with `_` in place of each character that the rule forbids, cut to the allowed length.
    fn fit(&self, text: &str) -> String {
        let fits = |c: char| {
            let plain = c.is_ascii_alphanumeric() || ['_', '-'].contains(&c);
            self.more.is_none_or(|more| plain || more.contains(c))
        };
        let mut fitted: String = text
            .chars()
            .map(|c| if fits(c) { c } else { '_' })
            .collect();
        let is_word = |c: char| c.is_ascii_alphabetic() || c == '_';
        if self.more.is_some() && fitted.is_empty()
            || self.begins_as_word && !fitted.starts_with(is_word)
        {
            fitted.insert(0, '_');
        }
        self.cut(&fitted, 0)
    }

    /// Returns the beginning of a text, so that `room` more bytes fit behind it.
    fn cut(&self, text: &str, room: usize) -> String {
        text.chars().take(self.most.saturating_sub(room)).collect()
    }

    /// Returns this text, with a number behind it if it is already in `taken`. Adds the returned text to `taken`.
    fn claim(&self, text: &str, taken: &mut BTreeSet<String>) -> String {
        let mut number = 2_usize;
        let mut name = text.to_owned();
        while !taken.insert(name.clone()) {
            let end = format!("_{number}");
            name = self.cut(text, end.len()) + &end;
            number += 1;
        }
        name
    }
}

/// Gives new ids to calls and new names to tools if the provider of a format refuses the recorded ones. The maps from
/// new to recorded values go to `rest`.
pub(crate) fn fit(messages: &mut [Json], rest: &mut Map<String, Json>, format: Format) {
    let (id, name) = rules(format);
    let ids = fit_ids(messages, id, format.has_unique_ids());
    let names = fit_names(messages, rest.get_mut("tools"), name);
    for (key, recorded) in [
        (formats::RECORDED_IDS, ids),
        (formats::RECORDED_NAMES, names),
    ] {
        if recorded.is_empty() {
            continue;
        }
        // A document that was written, read back and written again may have a map already.
        let map = rest.entry(key).or_insert_with(|| Json::Object(Map::new()));
        if let Some(map) = map.as_object_mut() {
            map.extend(recorded);
        }
    }
}

/// Gives a new id to each call whose id the rule refuses. If ids are `unique`, a call whose id an earlier call has
/// also gets a new id. Each result gets the id of the call that it answers: a call in the latest message that has a
/// call with this id, and there the first such call without a result. Returns the map from new to recorded ids.
fn fit_ids(messages: &mut [Json], rule: Rule, unique: bool) -> Map<String, Json> {
    let mut taken: BTreeSet<String> = messages.iter_mut().flat_map(ids_of).map(owned).collect();
    let mut first = BTreeMap::new();
    let mut open = Open::new();
    let mut recorded = Map::new();
    for message in messages {
        let is_result = Recorded::of(message).is_result();
        let mut asked = Open::new();
        for id in ids_of(message) {
            let old = owned(id);
            let fitted = rule.fit(&old);
            let answered = is_result.then(|| answered(&mut open, &old)).flatten();
            let known = || first.get(&old).filter(|_| !unique || is_result).cloned();
            let new = answered.or_else(known).unwrap_or_else(|| {
                let is_kept = fitted == old && !first.contains_key(&old);
                let new = if is_kept {
                    fitted
                } else {
                    rule.claim(&fitted, &mut taken)
                };
                first.entry(old.clone()).or_insert_with(|| new.clone());
                new
            });
            if !is_result {
                asked.entry(old.clone()).or_default().push(new.clone());
            }
            if new != old {
                recorded.insert(new.clone(), old.into());
                *id = new.into();
            }
        }
        open.extend(asked);
    }
    recorded
}

/// Gives new names to the tools whose names the rule refuses, in messages and definitions. Returns the map from new to
/// recorded names.
fn fit_names(messages: &mut [Json], tools: Option<&mut Json>, rule: Rule) -> Map<String, Json> {
    let mut all: BTreeSet<String> = messages.iter_mut().flat_map(names_of).map(owned).collect();
    all.extend(tools.as_deref().map(tool_names).unwrap_or_default());
    let mut taken = all.clone();
    let mut new = BTreeMap::new();
    for name in all {
        let fitted = rule.fit(&name);
        if fitted != name {
            new.insert(name, rule.claim(&fitted, &mut taken));
        }
    }
    if new.is_empty() {
        return Map::new();
    }
    for name in messages.iter_mut().flat_map(names_of) {
        if let Some(new) = new.get(name.as_str().unwrap_or_default()) {
            *name = new.as_str().into();
        }
    }
    if let Some(tools) = tools
        && let Some(renamed) = renamed_tools(tools, |name| new.get(name).cloned())
    {
        *tools = renamed;
    }
    new.into_iter()
        .map(|(old, new)| (new, old.into()))
        .collect()
}

/// Returns the new id of the call that a result with this id answers. The last call of an id stays in `open`, so that
/// a repeated result keeps its call.
fn answered(open: &mut Open, id: &str) -> Option<String> {
    let calls = open.get_mut(id)?;
    if calls.len() > 1 {
        return Some(calls.remove(0));
    }
    calls.first().cloned()
}

/// Returns the ids in a message: the ids of its calls, and the id of the call that the message answers.
fn ids_of(message: &mut Json) -> Vec<&mut Json> {
    let mut ids = Vec::new();
    for (key, value) in message.as_object_mut().into_iter().flatten() {
        match key.as_str() {
            "tool_call_id" => ids.push(value),
            "tool_calls" => {
                let calls = value.as_array_mut().into_iter().flatten();
                ids.extend(calls.filter_map(|call| call.get_mut("id")));
            }
            _ => {}
        }
    }
    ids.retain(|id| id.is_string());
    ids
}

/// Returns the names of tools in a message: the tools of its calls, and the tool whose result the message is.
fn names_of(message: &mut Json) -> Vec<&mut Json> {
    let is_result = Recorded::of(message).is_result();
    let mut names = Vec::new();
    for (key, value) in message.as_object_mut().into_iter().flatten() {
        match key.as_str() {
            "name" if is_result => names.push(value),
            "tool_calls" => {
                for call in value.as_array_mut().into_iter().flatten() {
                    let is_function = call.get("function").is_some_and(Json::is_object);
                    let function = if is_function {
                        call.get_mut("function")
                    } else {
                        Some(call)
                    };
                    names.extend(function.and_then(|function| function.get_mut("name")));
                }
            }
            _ => {}
        }
    }
    names.retain(|name| name.is_string());
    names
}

fn owned(id: &mut Json) -> String {
    id.as_str().unwrap_or_default().to_owned()
}
