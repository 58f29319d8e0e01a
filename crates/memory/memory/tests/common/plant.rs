//! Faults planted into valid lists.

use accp_memory::{Code, Form};
use serde_json::{Value as Json, json};

/// A list with one fault.
#[derive(Debug, Clone)]
pub(crate) struct Planted {
    pub(crate) messages: Vec<Json>,
    pub(crate) code: Code,
    /// The index of the message where the fault has to be found.
    pub(crate) at: usize,
    /// The second fault that this one causes: if a result stands elsewhere, for example, its call has no result.
    pub(crate) also: Option<Code>,
}

/// Returns all lists with one fault that can be made of a valid list.
pub(crate) fn all(form: Form, messages: &[Json]) -> Vec<Planted> {
    let mut garden = Garden {
        form,
        messages,
        planted: Vec::new(),
    };
    for at in 0..=messages.len() {
        match form {
            Form::OpenAi => garden.chat(at),
            Form::Anthropic => garden.anthropic(at),
            Form::Responses => garden.responses(at),
        }
    }
    garden.planted
}

/// The message for a result without a call, which a valid list cannot have.
const CALL: &str = "a valid list has a call before each result";

struct Garden<'m> {
    form: Form,
    messages: &'m [Json],
    planted: Vec<Planted>,
}

fn role(messages: &[Json], at: usize) -> &str {
    let message = messages.get(at);
    message.map_or("", |message| message["role"].as_str().unwrap_or_default())
}

/// Returns the items of an array.
fn items(json: &mut Json) -> &mut Vec<Json> {
    json.as_array_mut()
        .expect("the generator writes an array here")
}

/// Returns the name of the member in which results name their call.
const fn answered(form: Form) -> &'static str {
    match form {
        Form::OpenAi => "tool_call_id",
        Form::Anthropic => "tool_use_id",
        Form::Responses => "call_id",
    }
}

impl<'m> Garden<'m> {
    fn add(&mut self, code: Code, at: usize, messages: Vec<Json>) {
        self.planted.push(Planted {
            messages,
            code,
            at,
            also: None,
        });
    }

    fn add_with(&mut self, code: Code, also: Code, at: usize, messages: Vec<Json>) {
        self.planted.push(Planted {
            messages,
            code,
            at,
            also: Some(also),
        });
    }

    /// Returns the list with one more message.
    fn with(&self, at: usize, message: Json) -> Vec<Json> {
        let mut messages = self.messages.to_vec();
        messages.insert(at, message);
        messages
    }

    /// Returns the list with a message changed.
    fn changed(&self, at: usize, change: impl FnOnce(&mut Json)) -> Vec<Json> {
        let mut messages = self.messages.to_vec();
        change(&mut messages[at]);
        messages
    }

    fn role(&self, at: usize) -> &'m str {
        role(self.messages, at)
    }

    fn chat(&mut self, at: usize) {
        let orphan = json!({ "role": "tool", "tool_call_id": "nobody", "content": "4" });
        self.add(Code::ResultOrphan, at, self.with(at, orphan));
        let Some(message) = self.messages.get(at) else {
            return;
        };
        match self.role(at) {
            "tool" | "function" => self.chat_result(at),
            "user" => {
                self.add(
                    Code::Role,
                    at,
                    self.changed(at, |user| user["role"] = "agent".into()),
                );
                let without =
                    |user: &mut Json| drop(user.as_object_mut().map(|user| user.remove("role")));
                self.add(Code::Role, at, self.changed(at, without));
                let null = |user: &mut Json| user["content"] = Json::Null;
                self.add(Code::TextBlank, at, self.changed(at, null));
            }
            "assistant" if message.get("tool_calls").is_some() => {
                let mut broken = self.messages.to_vec();
                let first = broken[at]["tool_calls"][0]["id"].take();
                let calls = items(&mut broken[at]["tool_calls"]);
                calls[0]["id"] = first.clone();
                if calls.len() > 1 {
                    let second = std::mem::replace(&mut calls[1]["id"], first.clone());
                    let results = broken[at + 1..].iter_mut();
                    for result in results.take_while(|result| result["role"] == "tool") {
                        if result["tool_call_id"] == second {
                            result["tool_call_id"] = first.clone();
                        }
                    }
                    self.add(Code::IdRepeated, at, broken);
                }
            }
            "assistant" if message.get("function_call").is_none() => {
                let empty = |message: &mut Json| message["tool_calls"] = json!([]);
                self.add(Code::CallsEmpty, at, self.changed(at, empty));
                let null = |message: &mut Json| message["content"] = Json::Null;
                self.add(Code::TextBlank, at, self.changed(at, null));
            }
            _ => {}
        }
    }

    fn chat_result(&mut self, at: usize) {
        let messages = self.messages;
        let is_result = |index: &usize| matches!(role(messages, *index), "tool" | "function");
        let call = (0..at).rev().find(|index| !is_result(index)).expect(CALL);
        self.add(
            Code::ResultRepeated,
            at + 1,
            self.with(at, self.messages[at].clone()),
        );
        let Some(next) = (at..self.messages.len()).find(|index| !is_result(index)) else {
            return;
        };
        let mut without = self.messages.to_vec();
        let result = without.remove(at);
        self.add(Code::ResultMissing, call, without.clone());
        if !matches!(self.role(next), "assistant") {
            without.insert(next, result);
            self.add_with(Code::ResultMisplaced, Code::ResultMissing, next, without);
        }
        let key = if self.role(at) == "tool" {
            answered(self.form)
        } else {
            "name"
        };
        let blank = self.changed(at, |result| result[key] = "".into());
        self.add_with(Code::IdMissing, Code::ResultMissing, at, blank);
    }

    /// Returns the end of the turn that a message of Anthropic's belongs to.
    fn turn_end(&self, at: usize) -> usize {
        let mut rest = at..self.messages.len();
        rest.find(|index| self.role(*index) != self.role(at))
            .unwrap_or(self.messages.len())
    }

    /// Returns whether a message of the user would begin a turn here.
    fn starts_turn(&self, at: usize) -> bool {
        at == 0 || self.role(at - 1) != "user"
    }

    fn anthropic(&mut self, at: usize) {
        let system = json!({ "role": "system", "content": "Be brief." });
        self.add(Code::SystemInside, at, self.with(at, system));
        if at == 0 {
            let first = json!({ "role": "assistant", "content": "Hi" });
            self.add(Code::FirstNotUser, 0, self.with(0, first));
        }
        if self.role(at) != "assistant" && self.starts_turn(at) {
            let orphan = json!({ "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "nobody", "content": "4" }] });
            self.add(Code::ResultOrphan, at, self.with(at, orphan));
        }
        let Some(message) = self.messages.get(at) else {
            return;
        };
        let blank = |message: &mut Json| message["content"] = " \n".into();
        if self.role(at) == "user" && message["content"][0]["type"] == "tool_result" {
            self.anthropic_results(at);
        } else if self.role(at) == "user" {
            self.add(
                Code::Role,
                at,
                self.changed(at, |user| user["role"] = "agent".into()),
            );
            self.add(Code::TextBlank, at, self.changed(at, blank));
        } else {
            self.anthropic_assistant(at);
        }
    }

    fn anthropic_results(&mut self, at: usize) {
        let messages = self.messages;
        let call = (0..at)
            .rev()
            .find(|index| role(messages, *index) == "assistant");
        let call = (0..=call.expect(CALL)).rev();
        let id = self.messages[at]["content"][0]["tool_use_id"].clone();
        let mut call = call.filter(|index| {
            let blocks = messages[*index]["content"].as_array();
            blocks.is_some_and(|blocks| blocks.iter().any(|block| block["id"] == id))
        });
        let call = call.next().expect(CALL);
        let again = |message: &mut Json| {
            let blocks = items(&mut message["content"]);
            let mut copy = blocks[0].clone();
            // The copy of a cache mark could be one mark too many for the list, so it is removed.
            copy.as_object_mut()
                .expect("a block")
                .shift_remove("cache_control");
            blocks.insert(1, copy);
        };
        self.add(Code::ResultRepeated, at, self.changed(at, again));
        let end = self.turn_end(at);
        if end == self.messages.len() {
            return;
        }
        let text = json!({ "type": "text", "text": "well" });
        let early = |message: &mut Json| {
            items(&mut message["content"]).insert(0, text.clone());
        };
        self.add(Code::ResultsNotFirst, at, self.changed(at, early));
        let blank = |message: &mut Json| message["content"][0]["tool_use_id"] = "".into();
        self.add_with(
            Code::IdMissing,
            Code::ResultMissing,
            at,
            self.changed(at, blank),
        );
        // The turn must not become empty, and a text is allowed only at its end.
        let mut without = self.messages.to_vec();
        let blocks = items(&mut without[at]["content"]);
        let result = blocks.remove(0);
        if blocks.is_empty() {
            without[at] = json!({ "role": "user", "content": [text] });
            let moved = without.remove(at);
            without.insert(end - 1, moved);
        }
        self.add(Code::ResultMissing, call, without.clone());
        let later = (end..self.messages.len()).find(|index| role(messages, *index) == "user");
        if let Some(later) = later {
            without.insert(later, json!({ "role": "user", "content": [result] }));
            self.add_with(Code::ResultMisplaced, Code::ResultMissing, later, without);
        }
    }

    fn anthropic_assistant(&mut self, at: usize) {
        let is_last = at + 1 == self.messages.len();
        let text = |block: &Json| block["type"] == "text";
        let blocks = self.messages[at]["content"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        if let Some(index) = blocks.iter().position(text) {
            let blank = |message: &mut Json| message["content"][index]["text"] = "\t".into();
            self.add(Code::TextBlank, at, self.changed(at, blank));
        }
        if is_last && blocks.last().is_some_and(text) {
            let trailing = |message: &mut Json| {
                message["content"][blocks.len() - 1]["text"] = "so ".into();
            };
            self.add(Code::TextBlank, at, self.changed(at, trailing));
        }
        let of = |kind: &str| blocks.iter().position(|block| block["type"] == kind);
        if let Some(index) = of("web_search_tool_result") {
            let orphan = |message: &mut Json| message["content"][index - 1]["id"] = "srv_x".into();
            let mut orphan = self.changed(at, orphan);
            let over = self.turn_end(at) < self.messages.len();
            if over {
                self.add_with(Code::ResultOrphan, Code::ResultMissing, at, orphan.clone());
                items(&mut orphan[at]["content"]).remove(index);
                self.add(Code::ResultMissing, at, orphan);
            }
        }
        let (Some(index), Some(first)) = (of("tool_use"), self.first_call(at)) else {
            return;
        };
        let id = &blocks[index]["id"];
        let mut broken = self.messages.to_vec();
        broken[at]["content"][index]["id"] = first.clone();
        for message in &mut broken[at..] {
            for block in message["content"].as_array_mut().into_iter().flatten() {
                if block["tool_use_id"] == *id {
                    block["tool_use_id"] = first.clone();
                }
            }
        }
        self.add(Code::IdRepeated, at, broken);
    }

    /// Returns the id of the first call before a message; `None` if there is no call before it.
    fn first_call(&self, at: usize) -> Option<Json> {
        let blocks = self.messages[..at].iter();
        let mut blocks = blocks
            .filter_map(|message| message["content"].as_array())
            .flatten();
        let call = blocks.find(|block| block["type"] == "tool_use")?;
        Some(call["id"].clone())
    }

    fn responses(&mut self, at: usize) {
        let is_user = matches!(self.role(at), "user" | "system" | "developer");
        if is_user || at == self.messages.len() {
            let orphan =
                json!({ "type": "function_call_output", "call_id": "nobody", "output": "4" });
            self.add(Code::ResultOrphan, at, self.with(at, orphan));
        }
        if is_user {
            let reasoning = json!({ "type": "reasoning", "id": "rs_x", "summary": [] });
            self.add(Code::ReasoningSplit, at, self.with(at, reasoning));
            self.add(
                Code::Role,
                at,
                self.changed(at, |user| user["role"] = "agent".into()),
            );
        }
        let kind = self.messages.get(at).and_then(|item| item["type"].as_str());
        if kind.is_some_and(|kind| kind.ends_with("_output")) {
            self.responses_output(at);
        }
    }

    fn responses_output(&mut self, at: usize) {
        let messages = self.messages;
        let output = self.messages[at].clone();
        let key = if output["type"] == "local_shell_call_output" {
            "id"
        } else {
            "call_id"
        };
        let is_call = |index: &usize| messages[*index]["call_id"] == output[key];
        let call = (0..at).find(is_call).expect(CALL);
        self.add(Code::ResultRepeated, at + 1, self.with(at, output.clone()));
        let mut both = self.messages.to_vec();
        both[at][key] = "".into();
        both[call]["call_id"] = "".into();
        self.add_with(Code::IdMissing, Code::IdMissing, at, both);
        let mut without = self.messages.to_vec();
        without.remove(at);
        let rest = at..self.messages.len();
        let is_over = rest
            .clone()
            .any(|index| matches!(role(messages, index), "user" | "system" | "developer"));
        if is_over {
            self.add(Code::ResultMissing, call, without.clone());
        }
        let start = (0..call).rev();
        let reasoning = start.take_while(|index| messages[*index]["type"] == "reasoning");
        let early = call - reasoning.count();
        if early == call || early > 0 {
            without.insert(early, output.clone());
            self.add_with(Code::ResultMisplaced, Code::ResultMissing, early, without);
        }
        let first = self.messages[..call].iter().find(|item| {
            let kind = item["type"].as_str().unwrap_or_default();
            kind.ends_with("_call") && item.get("call_id").is_some()
        });
        if let Some(first) = first {
            let mut broken = self.messages.to_vec();
            broken[call]["call_id"] = first["call_id"].clone();
            broken[at][key] = first["call_id"].clone();
            self.add(Code::IdRepeated, call, broken);
        }
    }
}
