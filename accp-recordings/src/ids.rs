//! Ids of calls that a conversation reuses, for formats in which each call has an id of its own.

use std::collections::{BTreeMap, BTreeSet};

use accp_context::Recorded;
use serde_json::{Map, Value as Json};

use crate::conversation::{Conversation, RECORDED};

/// The old name of an id and the new names that its open calls have, the first call first.
type Open = BTreeMap<String, Vec<String>>;

impl Conversation {
    /// The key beside the messages of a written document that leads from a new id of a call to the recorded one.
    pub const RECORDED_IDS: &str = "recorded_ids";

    /// Returns the conversation with the ids that were recorded in its messages. [`written`](Self::written) gives calls new
    /// ids where a format needs an id of its own for each call and the recording reuses one; the
    /// document has the map back under [`RECORDED_IDS`](Self::RECORDED_IDS), beside its messages.
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
        // What stood beside the messages of a trace stands under a key of its own.
        let beside = || self.get(RECORDED)?.get(Self::RECORDED_IDS);
        let ids = self.get(Self::RECORDED_IDS).or_else(beside);
        let Some(ids) = ids.and_then(Json::as_object) else {
            return self;
        };
        let mut messages: Vec<Json> = self.messages().map(|said| said.as_json().clone()).collect();
        for id in messages.iter_mut().flat_map(ids_of) {
            if let Some(recorded) = ids.get(id.as_str().unwrap_or_default()) {
                *id = recorded.clone();
            }
        }
        self.with_messages(messages, Self::RECORDED_IDS)
    }
}

/// Gives a new id to each call whose id an earlier call has, and to the results that answer it. Returns the map
/// from new to recorded ids. A result answers the latest message that calls its id; of several such calls in it,
/// the first without a result.
pub(crate) fn make_unique(messages: &mut [Json]) -> Map<String, Json> {
    let mut taken: BTreeSet<String> = messages.iter_mut().flat_map(ids_of).map(owned).collect();
    let mut seen = BTreeSet::new();
    let mut open = Open::new();
    let mut recorded = Map::new();
    for message in messages {
        let is_result = Recorded::of(message).is_result();
        let mut asked = Open::new();
        for id in ids_of(message) {
            let old = owned(id);
            let new = if is_result {
                answered(&mut open, &old)
            } else if seen.insert(old.clone()) {
                asked.entry(old.clone()).or_default().push(old.clone());
                None
            } else {
                let new = free(&old, &mut taken);
                asked.entry(old.clone()).or_default().push(new.clone());
                recorded.insert(new.clone(), old.into());
                Some(new)
            };
            if let Some(new) = new {
                *id = new.into();
            }
        }
        open.extend(asked);
    }
    recorded
}

/// Returns the name of the call that a result with this id answers. The last call of an id stays, so that a
/// repeated result keeps its call.
fn answered(open: &mut Open, id: &str) -> Option<String> {
    let calls = open.get_mut(id)?;
    if calls.len() > 1 {
        return Some(calls.remove(0));
    }
    calls.first().cloned()
}

/// Returns the first name of the form `id_2` that no call has, and takes it.
fn free(id: &str, taken: &mut BTreeSet<String>) -> String {
    let mut number = 2_usize;
    loop {
        let name = format!("{id}_{number}");
        if taken.insert(name.clone()) {
            return name;
        }
        number += 1;
    }
}

/// Returns the ids of a message: those of its calls, and the one that a result answers.
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

fn owned(id: &mut Json) -> String {
    id.as_str().unwrap_or_default().to_owned()
}
