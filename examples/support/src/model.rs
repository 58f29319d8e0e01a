//! The model. Its replies are recorded, so that the example needs no network and no key.

use std::sync::Arc;

use accp_registry::export::{Export, Options, ToolForm};
use accp_runtime::{AgentId, DynamicFrame, Registry};
use serde_json::{Value as Json, json};

use crate::Result;

/// The tools of the model: the frames that it may send.
const TOOLS: [&str; 3] = ["req:lookup", "req:refund", "esc:support"];
/// The number of attempts that the model has for a call.
const ATTEMPTS: usize = 3;

/// A model that answers with tool calls.
pub struct Model {
    agent: AgentId<'static>,
    registry: Arc<Registry>,
    tools: Json,
    replies: Vec<Json>,
}

impl Model {
    /// Prepares the tools, and loads the recorded replies.
    pub fn new(agent: AgentId<'static>, registry: Arc<Registry>) -> Result<Self> {
        let options = Options {
            frames: TOOLS.map(String::from).into(),
            ..Options::default()
        };
        let tools = Export::of(&registry, &options)?.tools(ToolForm::OpenAi);
        let tools = serde_json::from_str(&tools)?;
        let replies = serde_json::from_str(include_str!("../recorded/replies.json"))?;
        Ok(Self {
            agent,
            registry,
            tools,
            replies,
        })
    }

    /// Lets the model choose the next frame of a case. If its call is not a valid frame, the model gets the error and
    /// may correct the call.
    pub fn decide(&self, context: &str, news: &str) -> Result<DynamicFrame<'static>> {
        let mut messages = vec![
            json!({ "role": "system", "content": "You settle cases of a shop. Call one tool." }),
            json!({ "role": "user", "content": format!("What was said before:\n{context}") }),
            json!({ "role": "user", "content": news }),
        ];
        for _ in 0..ATTEMPTS {
            let reply = self.complete(&json!({
                "model": "gpt-4.1-mini", "tools": self.tools, "tool_choice": "required",
                "parallel_tool_calls": false, "messages": messages,
            }))?;
            let said = &reply["choices"][0]["message"];
            let call = &said["tool_calls"][0];
            let name = call["function"]["name"].as_str().unwrap_or_default();
            let arguments = call["function"]["arguments"].as_str();
            let arguments = arguments.and_then(|text| serde_json::from_str(text).ok());
            let arguments = arguments.unwrap_or_default();
            match DynamicFrame::from_tool_call(&self.registry, &self.agent, name, &arguments) {
                Ok(frame) => return Ok(frame),
                Err(error) => {
                    println!("corrects the model: {}", error.problems().join("; "));
                    messages.push(said.clone());
                    messages.push(json!({
                        "role": "tool", "tool_call_id": call["id"], "content": error.to_string(),
                    }));
                }
            }
        }
        Err(format!("the model made no frame of: {news}").into())
    }

    /// Returns the recorded reply to the last message of a request. A real program posts the request
    /// to `/v1/chat/completions` instead.
    fn complete(&self, request: &Json) -> Result<&Json> {
        let last = request["messages"].as_array().and_then(|all| all.last());
        let last = last.map(|message| &message["content"]);
        let mut replies = self.replies.iter();
        let found = replies.find(|recorded| Some(&recorded["to"]) == last);
        let found = found.ok_or_else(|| format!("no reply was recorded to {last:?}"))?;
        Ok(&found["reply"])
    }
}
