//! Recorded conversations as the requests of their agents, in the three forms.

use serde_json::{Value as Json, json};

/// The form of an API, in which a request is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Messages,
    Chat,
    Responses,
}

/// All forms.
pub(crate) const FORMS: [Form; 3] = [Form::Messages, Form::Chat, Form::Responses];

impl Form {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Chat => "chat",
            Self::Responses => "responses",
        }
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Messages => "/v1/messages",
            Self::Chat => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
        }
    }

    pub(crate) fn model(self) -> &'static str {
        match self {
            Self::Messages => "claude-m",
            Self::Chat | Self::Responses => "gpt-m",
        }
    }
}

/// The list of one agent, as it grows.
pub(crate) struct Grown {
    pub(crate) key: String,
    form: Form,
    system: String,
    tools: Vec<Json>,
    /// The items of the list, and whether the agent is asked after each.
    items: Vec<(Json, bool)>,
}

impl Grown {
    /// Returns the list of each agent of a conversation. In it, the agent's own messages have the role of the
    /// assistant, and all other messages have the role of the user. A conversation whose roles are those of an API
    /// has one list.
    pub(crate) fn of_agents(conversation: &Json, form: Form) -> Vec<Self> {
        let messages = conversation["messages"].as_array().unwrap();
        let mut names: Vec<&str> = Vec::new();
        for message in messages.iter().filter(|message| message["role"] == "agent") {
            let name = message["name"].as_str().unwrap_or_default();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if names.is_empty() {
            names.push("");
        }
        let id = conversation["id"].as_str().unwrap();
        let of = |name: &&str| Self::of(conversation, &format!("{id}/{name}"), name, form);
        let grown = names.iter().map(of);
        grown
            .filter(|grown| grown.items.iter().any(|(_, asks)| *asks))
            .collect()
    }

    fn of(conversation: &Json, key: &str, agent: &str, form: Form) -> Self {
        let mut grown = Self {
            key: key.to_owned(),
            form,
            system: String::new(),
            tools: conversation["tools"]
                .as_array()
                .cloned()
                .unwrap_or_default(),
            items: Vec::new(),
        };
        // Ids repeat in recordings, so each call gets a new id.
        let mut open: Vec<(String, String)> = Vec::new();
        let mut calls = 0;
        for message in conversation["messages"].as_array().unwrap() {
            let role = message["role"].as_str().unwrap();
            let name = message["name"].as_str().unwrap_or_default();
            let text = message["content"].as_str().unwrap_or_default();
            let is_own = role == "assistant" || role == "agent" && name == agent;
            match role {
                "system" => {
                    if name.is_empty() || name == agent {
                        grown.system.push_str(text);
                    }
                }
                _ if is_own => {
                    grown.close(&mut open);
                    let mut made = Vec::new();
                    for call in message["tool_calls"].as_array().into_iter().flatten() {
                        calls += 1;
                        let id = format!("call_{calls}");
                        open.push((
                            call["id"].as_str().unwrap_or_default().to_owned(),
                            id.clone(),
                        ));
                        let arguments = match &call["arguments"] {
                            Json::Object(map) => Json::Object(map.clone()),
                            other => json!({"arguments": other}),
                        };
                        made.push((
                            id,
                            call["name"].as_str().unwrap_or("tool").to_owned(),
                            arguments,
                        ));
                    }
                    grown.says(text, &made);
                }
                "tool" => {
                    let id = message["tool_call_id"].as_str().unwrap_or_default();
                    match open.iter().rposition(|(given, _)| given == id) {
                        Some(place) => {
                            let (_, id) = open.remove(place);
                            grown.result(&id, text);
                        }
                        None => grown.user(text),
                    }
                }
                _ => {
                    grown.close(&mut open);
                    let text = if name.is_empty() {
                        text.to_owned()
                    } else {
                        format!("{name}: {text}")
                    };
                    grown.user(&text);
                }
            }
        }
        grown.close(&mut open);
        grown
    }

    /// Answers calls that the recording leaves open.
    fn close(&mut self, open: &mut Vec<(String, String)>) {
        while let Some((_, id)) = open.pop() {
            self.result(&id, "(no result)");
        }
    }

    fn user(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let item = match self.form {
            Form::Messages => json!({"role": "user", "content": [{"type": "text", "text": text}]}),
            Form::Chat | Form::Responses => json!({"role": "user", "content": text}),
        };
        self.items.push((item, false));
    }

    fn says(&mut self, text: &str, calls: &[(String, String, Json)]) {
        if text.is_empty() && calls.is_empty() {
            return;
        }
        if self.items.is_empty() {
            self.user("Begin.");
        }
        // The agent is asked with the items so far.
        if let Some((_, asks)) = self.items.last_mut() {
            *asks = true;
        }
        match self.form {
            Form::Messages => {
                let mut content = Vec::new();
                if !text.is_empty() {
                    content.push(json!({"type": "text", "text": text}));
                }
                for (id, name, input) in calls {
                    content
                        .push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
                }
                self.items
                    .push((json!({"role": "assistant", "content": content}), false));
            }
            Form::Chat => {
                let mut item = json!({"role": "assistant", "content": text});
                if !calls.is_empty() {
                    let calls = calls.iter().map(|(id, name, input)| {
                        json!({"id": id, "type": "function", "function": {"name": name, "arguments": input.to_string()}})
                    });
                    item["tool_calls"] = calls.collect();
                }
                self.items.push((item, false));
            }
            Form::Responses => {
                if !text.is_empty() {
                    self.items
                        .push((json!({"role": "assistant", "content": text}), false));
                }
                for (id, name, input) in calls {
                    let call = json!({"type": "function_call", "call_id": id, "name": name, "arguments": input.to_string()});
                    self.items.push((call, false));
                }
            }
        }
    }

    fn result(&mut self, id: &str, text: &str) {
        match self.form {
            Form::Messages => {
                let block = json!({"type": "tool_result", "tool_use_id": id, "content": text});
                // Results of one turn share one message.
                if let Some((last, _)) = self.items.last_mut()
                    && last["content"][0]["type"] == "tool_result"
                    && let Some(blocks) = last["content"].as_array_mut()
                {
                    blocks.push(block);
                } else {
                    self.items
                        .push((json!({"role": "user", "content": [block]}), false));
                }
            }
            Form::Chat => self.items.push((
                json!({"role": "tool", "tool_call_id": id, "content": text}),
                false,
            )),
            Form::Responses => {
                let item = json!({"type": "function_call_output", "call_id": id, "output": text});
                self.items.push((item, false));
            }
        }
    }

    /// Returns the bodies of the requests, in their order.
    pub(crate) fn requests(&self) -> impl Iterator<Item = String> {
        let ends = self.items.iter().enumerate().filter(|(_, (_, asks))| *asks);
        ends.map(|(end, _)| self.request(end + 1))
    }

    fn request(&self, end: usize) -> String {
        let mut items: Vec<Json> = self
            .items
            .iter()
            .take(end)
            .map(|(item, _)| item.clone())
            .collect();
        let ephemeral = json!({"type": "ephemeral"});
        let functions = |tool: &Json, wrapped: bool| {
            let parameters = match &tool["parameters"] {
                Json::Null => json!({"type": "object"}),
                told => told.clone(),
            };
            let function = json!({"name": tool["name"], "description": tool["description"], "parameters": parameters});
            if wrapped {
                return json!({"type": "function", "function": function});
            }
            let mut flat = function;
            flat["type"] = json!("function");
            flat
        };
        let body = match self.form {
            Form::Messages => {
                if let Some(block) = items
                    .last_mut()
                    .and_then(|last| last["content"].as_array_mut()?.last_mut())
                {
                    block["cache_control"] = ephemeral.clone();
                }
                let tools: Vec<Json> = self
                    .tools
                    .iter()
                    .map(|tool| json!({"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}))
                    .collect();
                let mut body = json!({"model": self.form.model(), "max_tokens": 1000, "tools": tools, "messages": items});
                if !self.system.is_empty() {
                    body["system"] =
                        json!([{"type": "text", "text": self.system, "cache_control": ephemeral}]);
                }
                body
            }
            Form::Chat => {
                if !self.system.is_empty() {
                    items.insert(0, json!({"role": "system", "content": self.system}));
                }
                let mut body = json!({"model": self.form.model(), "messages": items});
                if !self.tools.is_empty() {
                    body["tools"] = self
                        .tools
                        .iter()
                        .map(|tool| functions(tool, true))
                        .collect();
                }
                body
            }
            Form::Responses => {
                let mut body = json!({"model": self.form.model(), "store": false, "input": items, "instructions": self.system});
                if !self.tools.is_empty() {
                    body["tools"] = self
                        .tools
                        .iter()
                        .map(|tool| functions(tool, false))
                        .collect();
                }
                body
            }
        };
        body.to_string()
    }
}
