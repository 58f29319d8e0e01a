//! Writes a script as the messages of a form.

use accp_memory::Form;
use serde_json::{Value as Json, json};

use super::{Call, Kind, Script, Step, Turn, User};

const IMAGE: &str = "iVBORw0KGgo=";

/// Returns the messages of a script.
pub(crate) fn messages(form: Form, script: &Script) -> Vec<Json> {
    let mut out = Writer {
        form,
        out: Vec::new(),
        ids: 0,
    };
    let last = script.turns.len() - 1;
    for (number, turn) in script.turns.iter().enumerate() {
        let in_flight = if number == last { script.in_flight } else { 0 };
        out.turn(turn, in_flight);
    }
    if form == Form::Anthropic {
        end(&mut out.out);
        keep_four_marks(&mut out.out);
    }
    out.out
}

struct Writer {
    form: Form,
    out: Vec<Json>,
    ids: usize,
}

impl Writer {
    fn turn(&mut self, turn: &Turn, in_flight: usize) {
        if let Some((text, developer)) = turn
            .system
            .as_ref()
            .filter(|_| self.form != Form::Anthropic)
        {
            let role = if *developer { "developer" } else { "system" };
            self.out.push(json!({ "role": role, "content": text }));
        }
        for user in &turn.users {
            self.out.push(match self.form {
                Form::OpenAi => chat_user(user),
                Form::Anthropic => anthropic_user(user),
                Form::Responses => responses_user(user),
            });
        }
        for (number, step) in turn.steps.iter().enumerate() {
            let is_last = number + 1 == turn.steps.len();
            let ids = self.new_ids(step);
            let answered = if is_last {
                step.calls.len().saturating_sub(in_flight)
            } else {
                step.calls.len()
            };
            let mut results: Vec<_> = ids.iter().zip(&step.calls).collect();
            if step.reversed {
                results.reverse();
            }
            results.truncate(answered);
            match self.form {
                Form::OpenAi => self.chat(step, &ids, &results),
                Form::Anthropic => self.anthropic(step, &ids, &results),
                Form::Responses => self.responses(step, &ids, &results),
            }
            if let (Some(extra), Some(message)) = (&step.extra, self.out.last_mut()) {
                message["x_extra"] = extra.clone();
            }
        }
    }

    fn new_ids(&mut self, step: &Step) -> Vec<String> {
        let reuse = step.reuse && self.form == Form::OpenAi;
        let first = if reuse { 0 } else { self.ids };
        self.ids += step.calls.len();
        (first..first + step.calls.len())
            .map(|number| format!("call_{number}"))
            .collect()
    }

    fn chat(&mut self, step: &Step, ids: &[String], results: &[(&String, &Call)]) {
        let mut message = json!({ "role": "assistant", "content": step.text });
        if step.thinking > 0 {
            message["reasoning_content"] = "hm".into();
        }
        if let (Some(text), true) = (&step.text, step.search) {
            message["content"] = json!([{ "type": "text", "text": text }]);
        }
        let old = step.calls.len() == 1 && step.calls[0].kind == Kind::Old;
        if old {
            let call = &step.calls[0];
            message["function_call"] =
                json!({ "name": call.tool, "arguments": call.arguments.to_string() });
        } else if !step.calls.is_empty() {
            message["tool_calls"] = ids.iter().zip(&step.calls).map(chat_call).collect();
        }
        self.out.push(message);
        for (id, call) in results {
            self.out.push(if old {
                json!({ "role": "function", "name": call.tool, "content": call.result })
            } else {
                json!({ "role": "tool", "tool_call_id": id, "content": call.result })
            });
        }
    }

    fn anthropic(&mut self, step: &Step, ids: &[String], results: &[(&String, &Call)]) {
        let mut blocks = Vec::new();
        for number in 0..step.thinking {
            blocks.push(if step.redacted && number + 1 == step.thinking {
                json!({ "type": "redacted_thinking", "data": "EmwK" })
            } else {
                json!({ "type": "thinking", "thinking": "hm ", "signature": "EqQB" })
            });
        }
        if step.search {
            let id = format!("srv_{}_{}", self.out.len(), blocks.len());
            blocks.push(json!({ "type": "server_tool_use", "id": id, "name": "web_search", "input": { "query": "rye" } }));
            blocks.push(
                json!({ "type": "web_search_tool_result", "tool_use_id": id, "content": [] }),
            );
        }
        let before_text = blocks.len();
        if let Some(text) = &step.text {
            let text = if step.trailing {
                format!("{text} \n")
            } else {
                text.clone()
            };
            blocks.push(json!({ "type": "text", "text": text }));
        }
        for (id, call) in ids.iter().zip(&step.calls) {
            blocks.push(
                json!({ "type": "tool_use", "id": id, "name": call.tool, "input": call.arguments }),
            );
        }
        // A turn may have several messages. Thinking stays in the message of the block that follows it.
        let rest = if step.split && before_text + 1 < blocks.len() {
            blocks.split_off(before_text + 1)
        } else {
            Vec::new()
        };
        for blocks in [blocks, rest]
            .into_iter()
            .filter(|blocks| !blocks.is_empty())
        {
            let text = blocks[0]["text"].clone();
            let content = if blocks.len() == 1 && text.is_string() && step.reversed {
                text
            } else {
                blocks.into()
            };
            self.out
                .push(json!({ "role": "assistant", "content": content }));
        }
        let mut results: Vec<_> = results.iter().map(anthropic_result).collect();
        let rest = results.split_off(if step.split {
            results.len() / 2
        } else {
            results.len()
        });
        for mut results in [results, rest]
            .into_iter()
            .filter(|results| !results.is_empty())
        {
            if let Some(last) = results.last_mut().filter(|_| step.redacted) {
                last["cache_control"] = json!({ "type": "ephemeral" });
            }
            self.out.push(json!({ "role": "user", "content": results }));
        }
    }

    fn responses(&mut self, step: &Step, ids: &[String], results: &[(&String, &Call)]) {
        for _ in 0..step.thinking {
            let id = format!("rs_{}", self.out.len());
            self.out.push(json!({ "type": "reasoning", "id": id, "summary": [], "encrypted_content": "gAAA" }));
        }
        if step.search {
            let id = format!("ws_{}", self.out.len());
            self.out.push(json!({ "type": "web_search_call", "id": id, "status": "completed", "action": { "type": "search", "query": "rye" } }));
        }
        if let Some(text) = &step.text {
            let id = format!("msg_{}", self.out.len());
            self.out.push(if step.split {
                json!({ "role": "assistant", "content": text })
            } else {
                json!({ "type": "message", "role": "assistant", "status": "completed", "id": id,
                    "content": [{ "type": "output_text", "text": text, "annotations": [] }] })
            });
        }
        let one_by_one = step.split && results.len() == step.calls.len();
        for (id, call) in ids.iter().zip(&step.calls) {
            self.out.push(responses_call(id, call));
            if one_by_one {
                self.out.push(responses_output(id, call));
            }
        }
        let later = results.iter().filter(|_| !one_by_one);
        self.out
            .extend(later.map(|(id, call)| responses_output(id, call)));
        let is_over = results.len() == step.calls.len() && step.trailing;
        if is_over && !step.calls.is_empty() {
            self.out.push(if step.reversed {
                json!({ "type": "item_reference", "id": "msg_9" })
            } else {
                json!({ "type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA" })
            });
        }
    }
}

fn chat_user(user: &User) -> Json {
    let text = if user.empty { "" } else { &user.text };
    if !user.parts {
        return json!({ "role": "user", "content": text });
    }
    let mut parts = vec![json!({ "type": "text", "text": text })];
    if user.image {
        let url = format!("data:image/png;base64,{IMAGE}");
        parts.push(json!({ "type": "image_url", "image_url": { "url": url } }));
    }
    json!({ "role": "user", "content": parts })
}

fn chat_call((id, call): (&String, &Call)) -> Json {
    match call.kind {
        Kind::Custom => {
            json!({ "id": id, "type": "custom", "custom": { "name": call.tool, "input": call.result } })
        }
        // A model may break off in the middle of its arguments.
        Kind::Patch => {
            json!({ "id": id, "type": "function", "function": { "name": call.tool, "arguments": "{\"a\":" } })
        }
        _ => {
            let arguments = call.arguments.to_string();
            json!({ "id": id, "type": "function", "function": { "name": call.tool, "arguments": arguments } })
        }
    }
}

fn anthropic_user(user: &User) -> Json {
    if !user.parts {
        return json!({ "role": "user", "content": user.text });
    }
    let mut blocks = vec![json!({ "type": "text", "text": user.text })];
    if user.image {
        let source = json!({ "type": "base64", "media_type": "image/png", "data": IMAGE });
        blocks.insert(0, json!({ "type": "image", "source": source }));
    }
    json!({ "role": "user", "content": blocks })
}

fn anthropic_result((id, call): &(&String, &Call)) -> Json {
    let mut block = json!({ "type": "tool_result", "tool_use_id": id, "content": call.result });
    if call.image {
        let source = json!({ "type": "base64", "media_type": "image/png", "data": IMAGE });
        block["content"] = json!([{ "type": "image", "source": source }]);
    }
    // A result that is an error must not have a picture.
    if call.failed && !call.image {
        block["is_error"] = true.into();
    }
    block
}

/// Removes marks for the cache, but for the newest four, as a program does.
fn keep_four_marks(messages: &mut [Json]) {
    let blocks = messages
        .iter_mut()
        .rev()
        .filter_map(|message| message["content"].as_array_mut());
    let blocks = blocks.flat_map(|blocks| blocks.iter_mut().rev());
    let marked = blocks.filter(|block| block.get("cache_control").is_some());
    for block in marked.skip(4) {
        drop(
            block
                .as_object_mut()
                .map(|block| block.remove("cache_control")),
        );
    }
}

/// Ends a list of Anthropic's without white space.
fn end(messages: &mut [Json]) {
    let Some(last) = messages
        .last_mut()
        .filter(|last| last["role"] == "assistant")
    else {
        return;
    };
    let text = match &mut last["content"] {
        Json::Array(blocks) => blocks.last_mut().and_then(|block| block.get_mut("text")),
        content => Some(content),
    };
    if let Some(Json::String(text)) = text {
        text.truncate(text.trim_end().len());
    }
}

fn responses_user(user: &User) -> Json {
    let text = if user.empty { "" } else { &user.text };
    if !user.parts {
        return json!({ "role": "user", "content": text });
    }
    let mut parts = vec![json!({ "type": "input_text", "text": text })];
    if user.image {
        let url = format!("data:image/png;base64,{IMAGE}");
        parts.push(json!({ "type": "input_image", "image_url": url, "detail": "auto" }));
    }
    json!({ "type": "message", "role": "user", "content": parts })
}

fn responses_call(id: &str, call: &Call) -> Json {
    match call.kind {
        Kind::Function | Kind::Old => {
            let arguments = call.arguments.to_string();
            json!({ "type": "function_call", "call_id": id, "name": call.tool, "arguments": arguments })
        }
        Kind::Custom => {
            json!({ "type": "custom_tool_call", "call_id": id, "name": call.tool, "input": call.result })
        }
        Kind::Computer => {
            json!({ "type": "computer_call", "id": format!("cu_{id}"), "call_id": id, "status": "completed",
                "pending_safety_checks": [], "action": { "type": "screenshot" } })
        }
        Kind::Shell => {
            json!({ "type": "shell_call", "call_id": id, "action": { "commands": ["ls"] } })
        }
        Kind::LocalShell => {
            json!({ "type": "local_shell_call", "id": format!("ls_{id}"), "call_id": id, "status": "completed",
                "action": { "type": "exec", "command": ["ls"], "env": {} } })
        }
        Kind::Patch => {
            json!({ "type": "apply_patch_call", "call_id": id, "status": "completed",
                "operation": { "type": "delete_file", "path": "a" } })
        }
    }
}

fn responses_output(id: &str, call: &Call) -> Json {
    let text = &call.result;
    match call.kind {
        Kind::Function | Kind::Old => {
            json!({ "type": "function_call_output", "call_id": id, "output": text })
        }
        Kind::Custom => {
            json!({ "type": "custom_tool_call_output", "call_id": id, "output": text })
        }
        Kind::Computer => {
            let url = format!("data:image/png;base64,{IMAGE}");
            json!({ "type": "computer_call_output", "call_id": id,
                "output": { "type": "computer_screenshot", "image_url": url } })
        }
        Kind::Shell => {
            let outcome = json!({ "type": "exit", "exit_code": 0 });
            json!({ "type": "shell_call_output", "call_id": id,
                "output": [{ "stdout": text, "stderr": "", "outcome": outcome }] })
        }
        Kind::LocalShell => {
            json!({ "type": "local_shell_call_output", "id": id, "output": text })
        }
        Kind::Patch => {
            json!({ "type": "apply_patch_call_output", "call_id": id, "status": "completed", "output": text })
        }
    }
}
