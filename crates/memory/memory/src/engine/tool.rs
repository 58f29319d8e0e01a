//! The tool `memory_read`, with which a model reads the lines that a mark names.

use serde_json::{Value as Json, json};

use super::Memory;
use super::mark::TOOL;
use crate::form::Form;

const ABOUT: &str = "Shows lines of an earlier result or message that are left out here, by its name and their numbers.";

impl Memory {
    /// Returns the definition of `memory_read` for the tools of a request. A model that calls it gets what
    /// [`read`](Self::read) gives.
    ///
    /// ```
    /// use accp_memory::{Form, Memory};
    ///
    /// assert_eq!(Memory::tool(Form::Anthropic)["name"], "memory_read");
    /// assert_eq!(Memory::tool(Form::OpenAi)["function"]["parameters"]["required"][0], "result");
    /// ```
    pub fn tool(form: Form) -> Json {
        let line = json!({ "type": "integer" });
        let schema = json!({
            "type": "object",
            "properties": { "result": { "type": "string" }, "from": line, "to": line },
            "required": ["result", "from", "to"],
        });
        match form {
            Form::OpenAi => json!({
                "type": "function",
                "function": { "name": TOOL, "description": ABOUT, "parameters": schema },
            }),
            Form::Anthropic => {
                json!({ "name": TOOL, "description": ABOUT, "input_schema": schema })
            }
            Form::Responses => json!({
                "type": "function", "name": TOOL, "description": ABOUT, "parameters": schema,
            }),
        }
    }

    /// Returns the tokens of the definition, if a mark needs it.
    pub(super) fn tool_tokens(&self) -> u64 {
        if self.state.needs_tool {
            self.definition()
        } else {
            0
        }
    }

    /// Returns the tokens of the definition.
    pub(super) fn definition(&self) -> u64 {
        self.counter.count(&Self::tool(Form::Anthropic).to_string()) as u64
    }
}
