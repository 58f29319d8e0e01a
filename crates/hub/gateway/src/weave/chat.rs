//! Weaves answers in the form of chat completions.

use serde_json::{Map, Value as Json, json};

use super::calls::Calls;
use super::pieces::{append, bytes_of, count_on, grow, in_parts};
use super::{Answer, added, arguments, set};
use crate::aside::{SEAM, is_thought, pieces_of_chat};
use crate::tool::Call;

/// Members of a message that the next turn does not get as they are: the gateway puts three of them together itself,
/// and providers do not take the others back.
const OWN: [&str; 6] = [
    "role",
    "content",
    "tool_calls",
    "refusal",
    "annotations",
    "audio",
];

#[derive(Debug, Default)]
pub(super) struct Chat {
    /// The id, the time and the model of the first chunk. A client identifies the answer by these three, so all
    /// chunks get them.
    first: Json,
    /// The text that the client has seen.
    shown: String,
    has_role: bool,
    text: String,
    /// The parts of the content of this turn. Some providers have their thoughts there.
    parts: Vec<Json>,
    /// The contents of earlier turns of a whole answer.
    contents: Vec<Json>,
    calls: Calls,
    /// What else the message has, such as the reasoning of some providers.
    more: Map<String, Json>,
    /// The thoughts of earlier turns of a whole answer. A client of a stream has seen them as they came.
    earlier: Map<String, Json>,
    /// The number with which the items of each list in `more` go on in this turn: the client counts those of all turns.
    before: Map<String, Json>,
    reason: String,
    /// The events that end a stream.
    held: Vec<(Vec<u8>, Json)>,
    whole: Json,
    usage: Json,
    /// The usage of earlier turns.
    total: Json,
    turns: usize,
    is_over: bool,
    /// The bytes of the message and of `held`.
    kept: usize,
    /// Whether no more is kept of the message.
    is_full: bool,
}

impl Chat {
    /// Takes words of the model, and returns them as the client sees them.
    fn say(&mut self, words: &str) -> String {
        let is_first = self.text.is_empty() && !words.is_empty();
        let parts = is_first && !self.shown.is_empty();
        let seam = if parts && !self.shown.ends_with(char::is_whitespace) {
            SEAM
        } else {
            ""
        };
        let said = format!("{seam}{words}");
        if is_first || !self.is_full {
            self.text.push_str(words);
            self.shown.push_str(&said);
            self.kept += words.len() + said.len();
        }
        said
    }

    /// Returns the content of this turn: a text or, if it came in parts, a list of these.
    fn content(&self) -> Json {
        let words = Some(&*self.text).filter(|words| !words.is_empty());
        let words = words.map_or(Json::Null, Json::from);
        if self.parts.is_empty() {
            return words;
        }
        let parts = self.parts.iter().cloned();
        Json::Array(parts.chain(in_parts(words)).collect())
    }

    /// Takes pieces of calls, and returns those that the client sees.
    fn call(&mut self, pieces: &[Json]) -> Vec<Json> {
        let mut seen = Vec::new();
        for piece in pieces {
            let (kept, shown) = self.calls.take(piece, !self.is_full);
            self.kept += kept;
            seen.extend(shown);
        }
        seen
    }

    /// Writes a chunk with the id, the time and the model of the first one.
    fn write(&self, mut json: Json, out: &mut Vec<u8>) {
        for key in ["id", "created", "model"] {
            if !self.first[key].is_null() {
                set(&mut json, key, self.first[key].clone());
            }
        }
        out.extend_from_slice(format!("data: {json}\n\n").as_bytes());
    }

    /// Returns the thoughts of all turns of a whole answer, as a client of a stream puts them together.
    fn thoughts(&self) -> Map<String, Json> {
        let mut all = self.earlier.clone();
        let now = self.more.iter().filter(|(key, _)| is_thought(key));
        for (key, value) in now {
            let before = self.before.get(key).and_then(Json::as_u64);
            let mut value = value.clone();
            count_on(&mut value, before.unwrap_or(0));
            if let Some(all) = all.get_mut(key) {
                append(all, value);
            } else {
                all.insert(key.clone(), value);
            }
        }
        all
    }

    /// Returns the finish reason that the client sees, if it differs from the model's.
    fn reason(&self) -> Option<Json> {
        let is_none = self.reason == "tool_calls" && self.is_alone();
        let has_calls = self.calls.all().next().is_some();
        (is_none && has_calls).then(|| Json::from("stop"))
    }

    /// Takes the delta of a chunk, and changes it to what the client sees. Returns whether it has changed.
    fn delta(&mut self, delta: &mut Map<String, Json>) -> bool {
        let mut is_changed = false;
        if delta.contains_key("role") {
            // Some providers name the role in each chunk.
            if self.has_role && self.turns > 0 {
                delta.shift_remove("role");
                is_changed = true;
            }
            self.has_role = true;
        }
        let parts = delta.get("content").and_then(Json::as_array);
        if let Some(parts) = parts.filter(|_| !self.is_full) {
            self.kept += parts.iter().map(bytes_of).sum::<usize>();
            self.parts.extend(parts.iter().cloned());
        }
        if let Some(words) = delta.get("content").and_then(Json::as_str) {
            let said = self.say(words);
            if said != words {
                delta.insert("content".to_owned(), Json::from(said));
                is_changed = true;
            } else if self.turns > 0 && words.is_empty() {
                delta.shift_remove("content");
                is_changed = true;
            }
        }
        if let Some(pieces) = delta.get("tool_calls").and_then(Json::as_array).cloned() {
            let seen = self.call(&pieces);
            if seen.is_empty() {
                delta.shift_remove("tool_calls");
                is_changed = true;
            } else if seen != pieces {
                delta.insert("tool_calls".to_owned(), Json::Array(seen));
                is_changed = true;
            }
        }
        let others = delta.iter_mut();
        let others = others.filter(|(key, value)| !OWN.contains(&&***key) && !value.is_null());
        for (key, value) in others {
            if !self.is_full {
                self.kept += bytes_of(value);
                grow(self.more.entry(key.clone()).or_insert(Json::Null), value);
            }
            let before = self.before.get(key).and_then(Json::as_u64);
            is_changed |= count_on(value, before.unwrap_or(0));
        }
        is_changed
    }
}

impl Chat {
    /// Holds an event back until the client may see the end of the stream.
    fn hold(&mut self, raw: Vec<u8>, json: Json, out: &mut Vec<u8>) {
        self.kept += raw.len();
        self.held.push((raw, json));
        if self.is_full {
            self.tail(out);
        }
    }
}

impl Answer for Chat {
    fn event(&mut self, raw: &[u8], mut json: Json, out: &mut Vec<u8>) {
        if json.is_string() {
            // `[DONE]`, or a line that only keeps the connection open.
            if json == "[DONE]" {
                self.hold(raw.to_vec(), json, out);
                self.is_over = true;
            } else {
                out.extend_from_slice(raw);
            }
            return;
        }
        // The first chunk of Azure is about the prompt, and has no id.
        if self.turns == 0 && self.first.is_null() && json["id"] != "" {
            self.first =
                json!({ "id": json["id"], "created": json["created"], "model": json["model"] });
        }
        if json["usage"].is_object() {
            self.usage = json["usage"].clone();
        }
        let mut choice = json
            .pointer_mut("/choices/0")
            .map_or(Json::Null, Json::take);
        if choice.is_null() {
            put_back(&mut json, choice);
            // The first chunk of Azure has no choices, either, and nothing of the answer's end.
            let is_end = json["usage"].is_object() || !self.reason.is_empty();
            if is_end {
                self.hold(raw.to_vec(), json, out);
            } else if self.turns == 0 {
                out.extend_from_slice(raw);
            } else {
                self.write(json, out);
            }
            return;
        }
        let mut is_changed = self.turns > 0;
        let mut is_empty = false;
        if let Some(delta) = choice.get_mut("delta").and_then(Json::as_object_mut) {
            is_changed |= self.delta(delta);
            is_empty = delta.is_empty() && is_changed;
        }
        let reason = choice["finish_reason"].as_str().map(str::to_owned);
        if let Some(reason) = reason {
            self.reason = reason;
            let has_more = choice["delta"]
                .as_object()
                .is_some_and(|delta| !delta.is_empty());
            if has_more {
                // Only the finish reason is held back, and not the delta that comes with it.
                let mut first = choice.clone();
                set(&mut first, "finish_reason", Json::Null);
                let mut before = json.clone();
                put_back(&mut before, first);
                self.write(before, out);
                set(&mut choice, "delta", json!({}));
            }
            put_back(&mut json, choice);
            let is_split = has_more || is_changed;
            let raw = if is_split { Vec::new() } else { raw.to_vec() };
            self.hold(raw, json, out);
            return;
        }
        if is_empty {
            return;
        }
        if is_changed {
            put_back(&mut json, choice);
            self.write(json, out);
        } else {
            out.extend_from_slice(raw);
        }
    }

    fn whole(&mut self, json: Json) -> bool {
        let message = &json["choices"][0]["message"];
        if !message.is_object() {
            return false;
        }
        let text = message["content"].as_str().unwrap_or_default().to_owned();
        self.parts = message["content"].as_array().cloned().unwrap_or_default();
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        self.calls = Calls::of_whole(calls.cloned());
        let more = message.as_object().into_iter().flatten();
        let more = more.filter(|(key, value)| !OWN.contains(&&***key) && !value.is_null());
        self.more = more
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let reason = json["choices"][0]["finish_reason"].as_str();
        reason.unwrap_or_default().clone_into(&mut self.reason);
        self.say(&text);
        self.usage = json["usage"].clone();
        if self.turns == 0 {
            self.first =
                json!({ "id": json["id"], "created": json["created"], "model": json["model"] });
        }
        self.whole = json;
        true
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn stops(&mut self) {
        self.is_over |= !self.reason.is_empty();
    }

    fn calls(&self) -> Vec<(usize, Call, String)> {
        if matches!(&*self.reason, "length" | "content_filter" | "") {
            return Vec::new();
        }
        let mut seen = 0;
        let mut calls = Vec::new();
        for (json, is_ours) in self.calls.all() {
            if is_ours {
                let text = json["function"]["arguments"].as_str().unwrap_or_default();
                let call = Call {
                    id: json["id"].as_str().unwrap_or_default().to_owned(),
                    arguments: arguments(text),
                };
                calls.push((seen, call, json.to_string()));
            } else {
                seen += 1;
            }
        }
        calls
    }

    fn is_alone(&self) -> bool {
        self.calls.others().next().is_none()
    }

    fn items(&self) -> Vec<String> {
        let calls: Vec<&Json> = self.calls.all().map(|(call, _)| call).collect();
        let mut item =
            json!({ "role": "assistant", "content": self.content(), "tool_calls": calls });
        if let Some(item) = item.as_object_mut() {
            item.extend(self.more.clone());
        }
        vec![item.to_string()]
    }

    fn seen(&self) -> usize {
        self.shown.len()
    }

    fn pieces(&self) -> Vec<String> {
        let others: Vec<Json> = self.calls.others().cloned().collect();
        pieces_of_chat(&self.shown, &others)
    }

    fn begin(&mut self, keeps: bool) {
        if keeps {
            if !self.whole.is_null() {
                self.earlier = self.thoughts();
                self.contents.push(self.content());
            }
            for (key, value) in &self.more {
                let items = value.as_array().into_iter().flatten();
                let last = items.filter_map(|item| item["index"].as_u64()).max();
                let before = self.before.get(key).and_then(Json::as_u64).unwrap_or(0);
                let before = before.saturating_add(last.map_or(0, |last| last.saturating_add(1)));
                self.before.insert(key.clone(), Json::from(before));
            }
        } else {
            self.shown.clear();
            self.has_role = false;
        }
        self.text.clear();
        self.parts.clear();
        self.calls.clear();
        self.more.clear();
        self.reason.clear();
        self.held.clear();
        self.total = added(&self.total, &self.usage);
        self.usage = Json::Null;
        self.turns += 1;
        self.is_over = false;
    }

    fn tail(&mut self, out: &mut Vec<u8>) {
        let reason = self.reason();
        let all = added(&self.total, &self.usage);
        for (raw, mut json) in std::mem::take(&mut self.held) {
            let is_same = self.turns == 0 && reason.is_none() && !raw.is_empty();
            if is_same || json.is_string() {
                out.extend(raw);
                continue;
            }
            if let (Some(reason), Some(choice)) = (&reason, json.pointer_mut("/choices/0")) {
                set(choice, "finish_reason", reason.clone());
            }
            if json["usage"].is_object() {
                set(&mut json, "usage", all.clone());
            }
            self.write(json, out);
        }
    }

    fn differs(&self) -> bool {
        self.turns > 0 || self.calls.all().any(|(_, is_ours)| is_ours)
    }

    fn combined(&mut self) -> String {
        let mut json = self.whole.clone();
        let mut all = self.first.clone();
        set(&mut all, "usage", added(&self.total, &self.usage));
        for (key, value) in all.as_object().into_iter().flatten() {
            // The client gets no member that none of the turns has.
            if !value.is_null() {
                set(&mut json, key, value.clone());
            }
        }
        let others: Vec<Json> = self.calls.others().cloned().collect();
        let (reason, thoughts) = (self.reason(), self.thoughts());
        let now = std::iter::once(self.content());
        let contents: Vec<Json> = self.contents.iter().cloned().chain(now).collect();
        let Some(choice) = json.pointer_mut("/choices/0") else {
            return json.to_string();
        };
        if let Some(reason) = reason {
            set(choice, "finish_reason", reason);
        }
        if let Some(message) = choice.get_mut("message").and_then(Json::as_object_mut) {
            if contents.iter().any(Json::is_array) {
                let parts = contents.into_iter().flat_map(in_parts).collect();
                message.insert("content".to_owned(), Json::Array(parts));
            } else if !self.shown.is_empty() {
                message.insert("content".to_owned(), Json::from(&*self.shown));
            }
            message.extend(thoughts);
            message.shift_remove("tool_calls");
            if !others.is_empty() {
                message.insert("tool_calls".to_owned(), Json::Array(others));
            }
        }
        json.to_string()
    }

    fn kept(&self) -> usize {
        self.kept
    }

    fn keep_no_more(&mut self, out: &mut Vec<u8>) {
        self.is_full = true;
        self.tail(out);
    }
}

/// Puts a choice back into its chunk.
fn put_back(json: &mut Json, choice: Json) {
    if let Some(place) = json.pointer_mut("/choices/0") {
        *place = choice;
    }
}

#[cfg(test)]
mod tests {
    use accp_memory::Form;

    use super::*;
    use crate::tool::{NAME, Shown};
    use crate::weave::{Next, Weave};

    #[test]
    fn an_answer_of_two_turns_has_no_member_that_no_turn_has() {
        let function = json!({ "name": NAME, "arguments": "{}" });
        let call = json!({ "id": "r1", "type": "function", "function": function });
        let asks = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
        let says = json!({ "role": "assistant", "content": "Rye." });
        let of = |message: &Json, reason: &str| json!({ "id": "a", "choices": [{ "message": message, "finish_reason": reason }] });
        let mut weave = Weave::new(Form::OpenAi, false, false);
        weave.feed(of(&asks, "tool_calls").to_string().as_bytes());
        let Next::Reads(calls) = weave.next() else {
            panic!("the model reads");
        };
        let shown = Shown {
            text: "4 bags".to_owned(),
            is_error: false,
        };
        weave.go_on(&[(calls[0].clone(), shown)]);
        weave.feed(of(&says, "stop").to_string().as_bytes());
        assert_eq!(weave.next(), Next::Ends(Vec::new()));
        let (seen, _) = weave.close(&[]);
        assert_eq!(
            serde_json::from_slice::<Json>(&seen).unwrap(),
            of(&says, "stop")
        );
    }
}
