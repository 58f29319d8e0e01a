//! Weaves answers in the form of Responses.

use serde_json::{Value as Json, json};

use super::{Answer, added, arguments, event, set};
use crate::aside::piece;
use crate::tool::{Call, NAME};

#[derive(Debug, Default)]
pub(super) struct Responses {
    /// The id of the first answer.
    id: Json,
    /// The items of earlier turns that the client has seen.
    shown: Vec<Json>,
    items: Vec<Json>,
    /// The number of the next event. `begun` is the number of the first event after those that begin the answer.
    number: u64,
    begun: u64,
    /// The answer in its last form, and (`raw`) the event that has brought this form.
    end: Json,
    raw: Vec<u8>,
    usage: Json,
    /// The usage of earlier turns.
    total: Json,
    turns: usize,
    is_over: bool,
    /// The bytes of the items.
    kept: usize,
    /// The first item that passes although it may be a call of the tool, because no more is kept.
    open_from: Option<usize>,
}

fn is_ours(item: &Json) -> bool {
    item["type"] == "function_call" && item["name"] == NAME
}

/// Returns whether an item calls a tool of the client, so that the client has to answer.
fn is_call(item: &Json) -> bool {
    matches!(
        item["type"].as_str(),
        Some(
            "function_call"
                | "custom_tool_call"
                | "local_shell_call"
                | "shell_call"
                | "apply_patch_call"
                | "computer_call"
                | "mcp_approval_request"
        )
    ) && !is_ours(item)
}

/// An answer repeats the tools of its request. Removes the gateway's tool from them, and returns whether it was
/// there.
fn without_tool(response: &mut Json) -> bool {
    let Some(tools) = response.get_mut("tools").and_then(Json::as_array_mut) else {
        return false;
    };
    let before = tools.len();
    tools.retain(|tool| tool["name"] != NAME);
    tools.len() < before
}

impl Responses {
    fn visible(&self) -> impl Iterator<Item = &Json> {
        let now = self.items.iter().enumerate();
        let now = now.filter(|(at, item)| !self.is_hidden(*at, item));
        self.shown.iter().chain(now.map(|(_, item)| item))
    }

    /// Returns whether the client does not see the item at this index.
    fn is_hidden(&self, at: usize, item: &Json) -> bool {
        is_ours(item) && self.open_from.is_none_or(|from| at < from)
    }

    /// Returns whether the client does not see one of the items.
    fn hides(&self) -> bool {
        let mut items = self.items.iter().enumerate();
        items.any(|(at, item)| self.is_hidden(at, item))
    }

    /// Writes an event under the next number. If the event does not change, writes the same bytes that came.
    fn write(&mut self, raw: &[u8], mut json: Json, is_changed: bool, out: &mut Vec<u8>) {
        let number = json["sequence_number"].as_u64();
        let is_same = number.is_none_or(|number| number == self.number);
        if is_same && !is_changed {
            out.extend_from_slice(raw);
        } else {
            if number.is_some() {
                set(&mut json, "sequence_number", Json::from(self.number));
            }
            let name = json["type"].as_str().unwrap_or_default().to_owned();
            out.extend(event(&json, &name));
        }
        // A line that only keeps the connection open has no number.
        self.number += u64::from(number.is_some());
    }

    /// Returns the answer as the client sees it, and whether it differs.
    fn seen_of(&self, response: &Json) -> (Json, bool) {
        let mut seen = response.clone();
        let mut is_changed = without_tool(&mut seen);
        if self.turns > 0 || self.hides() {
            set(&mut seen, "id", self.id.clone());
            set(&mut seen, "output", self.visible().cloned().collect());
            if self.turns > 0 {
                set(&mut seen, "usage", added(&self.total, &self.usage));
            }
            is_changed = true;
        }
        (seen, is_changed)
    }

    fn take_end(&mut self, response: &Json) {
        if let Some(items) = response["output"]
            .as_array()
            .filter(|items| !items.is_empty())
        {
            self.items.clone_from(items);
        }
        self.usage = response["usage"].clone();
        self.is_over = true;
    }
}

impl Answer for Responses {
    fn event(&mut self, raw: &[u8], mut json: Json, out: &mut Vec<u8>) {
        let kind = json["type"].as_str().unwrap_or_default().to_owned();
        match &*kind {
            "response.created" | "response.in_progress" | "response.queued" => {
                if self.turns > 0 {
                    return;
                }
                self.id = json["response"]["id"].clone();
                let is_changed = json.get_mut("response").is_some_and(without_tool);
                self.write(raw, json, is_changed, out);
                self.begun = self.number;
                return;
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.take_end(&json["response"]);
                self.raw = raw.to_vec();
                self.end = json;
                return;
            }
            _ => {}
        }
        let Some(index) = json["output_index"].as_u64() else {
            self.write(raw, json, false, out);
            return;
        };
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        match &*kind {
            "response.output_item.added" if self.open_from.is_some() => {
                let kind = &json["item"]["type"];
                self.items.push(json!({ "type": kind }));
            }
            "response.output_item.added" => {
                self.kept += raw.len();
                self.items.push(json["item"].clone());
            }
            "response.output_item.done" if self.open_from.is_none() => {
                if let Some(item) = self.items.get_mut(index) {
                    self.kept += raw.len();
                    *item = json["item"].clone();
                }
            }
            _ => {}
        }
        let hidden = |at: usize| {
            let item = self.items.get(at);
            item.is_some_and(|item| self.is_hidden(at, item))
        };
        if hidden(index) {
            return;
        }
        let items = 0..index.min(self.items.len());
        let shown = self.shown.len() + items.filter(|at| !hidden(*at)).count();
        let is_changed = shown != index;
        if is_changed {
            set(&mut json, "output_index", Json::from(shown));
        }
        self.write(raw, json, is_changed, out);
    }

    fn whole(&mut self, json: Json) -> bool {
        if !json["output"].is_array() {
            return false;
        }
        self.items.clear();
        self.take_end(&json);
        if self.turns == 0 {
            self.id = json["id"].clone();
        }
        self.end = json!({ "type": "", "response": json });
        true
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn stops(&mut self) {}

    fn calls(&self) -> Vec<(usize, Call, String)> {
        if self.end["response"]["status"] != "completed" {
            return Vec::new();
        }
        let mut seen = self.shown.len();
        let mut calls = Vec::new();
        for item in &self.items {
            if is_ours(item) {
                let call = Call {
                    id: item["call_id"].as_str().unwrap_or_default().to_owned(),
                    arguments: arguments(item["arguments"].as_str().unwrap_or_default()),
                };
                calls.push((seen, call, item.to_string()));
            } else {
                seen += 1;
            }
        }
        calls
    }

    fn is_alone(&self) -> bool {
        !self.items.iter().any(is_call)
    }

    fn items(&self) -> Vec<String> {
        self.items.iter().map(Json::to_string).collect()
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn seen(&self) -> usize {
        self.visible().count()
    }

    fn pieces(&self) -> Vec<String> {
        self.visible().map(piece).collect()
    }

    fn begin(&mut self, keeps: bool) {
        let items = std::mem::take(&mut self.items).into_iter();
        self.shown
            .extend(items.filter(|item| !is_ours(item) && keeps));
        if !keeps {
            self.number = self.begun;
        }
        self.total = added(&self.total, &self.usage);
        self.end = Json::Null;
        self.raw = Vec::new();
        self.turns += 1;
        self.is_over = false;
    }

    fn tail(&mut self, out: &mut Vec<u8>) {
        if self.end.is_null() {
            return;
        }
        let mut json = self.end.clone();
        let (seen, is_changed) = self.seen_of(&json["response"]);
        set(&mut json, "response", seen);
        let raw = std::mem::take(&mut self.raw);
        self.write(&raw, json, is_changed, out);
    }

    fn differs(&self) -> bool {
        self.seen_of(&self.end["response"]).1
    }

    fn combined(&mut self) -> String {
        self.seen_of(&self.end["response"]).0.to_string()
    }

    fn kept(&self) -> usize {
        self.kept
    }

    fn keep_no_more(&mut self, _: &mut Vec<u8>) {
        self.open_from = Some(self.items.len());
    }
}

#[cfg(test)]
mod tests {
    use accp_memory::Form;

    use super::*;
    use crate::weave::Weave;

    #[test]
    fn a_line_that_keeps_the_connection_open_changes_no_number() {
        let begin =
            json!({ "type": "response.created", "response": { "id": "r1" }, "sequence_number": 0 });
        let more =
            json!({ "type": "response.output_text.delta", "delta": "rye", "sequence_number": 1 });
        let stream = format!("data: {begin}\n\n: ping\n\ndata: {more}\n\n");
        let mut weave = Weave::new(Form::Responses, true, false);
        assert_eq!(weave.feed(stream.as_bytes()), stream.as_bytes());
    }
}
