//! A request with a list, as the provider reads it.

use axum::http::HeaderMap;
use serde_json::{Value as Json, json};

use super::Told;
use super::refusals::{self, Refusal};
use super::seal;

/// The member that marks a place for a cache.
pub(super) const MARK: &str = "cache_control";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Api {
    Messages,
    Chat,
    Responses,
}

/// A request with a list.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) api: Api,
    pub(super) json: Json,
    /// The messages, or the items of Responses with those that are stored.
    pub(super) list: Vec<Json>,
}

/// A piece of a request that the cache of a provider does not divide.
#[derive(Debug)]
pub(super) struct Unit {
    /// All that it says, without marks.
    pub(super) said: Json,
    /// How long a mark on it keeps the beginning, in seconds.
    pub(super) mark: Option<u64>,
}

impl Asked {
    /// Reads a request, and refuses what the provider refuses. `None` for a path without a list.
    pub(super) fn read(
        path: &str,
        json: Json,
        headers: &HeaderMap,
        told: &mut Told,
    ) -> Result<Option<Self>, Refusal> {
        let api = match path {
            "/v1/messages" | "/v1/messages/count_tokens" => Api::Messages,
            "/v1/chat/completions" => Api::Chat,
            "/v1/responses" => Api::Responses,
            _ => return Ok(None),
        };
        if !json.is_object() {
            return Err(Refusal::invalid("Input should be an object"));
        }
        let model = json["model"].as_str().unwrap_or_default();
        if model.starts_with("no-such") {
            return Err(Refusal::model(model));
        }
        let list = match api {
            Api::Responses => told.stored.expand(&json)?,
            Api::Messages | Api::Chat => json["messages"].as_array().cloned().unwrap_or_default(),
        };
        let mut asked = Self { api, json, list };
        match api {
            Api::Messages => {
                refusals::messages(&asked, path.ends_with("tokens"))?;
                let beta = headers.get_all("anthropic-beta").iter().any(|value| {
                    value
                        .to_str()
                        .is_ok_and(|text| text.contains("thinking-binding-controls-2026-08-01"))
                });
                let behaviour = asked
                    .json
                    .pointer("/thinking/block_binding/prefix_mismatch_behavior");
                let drops = behaviour.is_some_and(|told| told == "drop_block");
                if drops && !beta {
                    return Err(Refusal::invalid(
                        "thinking.block_binding: Extra inputs are not permitted",
                    ));
                }
                seal::check(&mut asked, drops)?;
            }
            Api::Chat => refusals::chat(&asked)?,
            Api::Responses => {
                refusals::responses(&asked)?;
                seal::check_items(&asked)?;
            }
        }
        Ok(Some(asked))
    }

    pub(super) fn model(&self) -> &str {
        self.json["model"].as_str().unwrap_or_default()
    }

    pub(super) fn is_stream(&self) -> bool {
        self.json["stream"] == true
    }

    /// Returns whether the model is to think before it answers.
    pub(super) fn thinks(&self) -> bool {
        match self.api {
            Api::Messages => matches!(
                self.json["thinking"]["type"].as_str(),
                Some("enabled" | "adaptive")
            ),
            Api::Chat => false,
            Api::Responses => self.json["reasoning"].is_object(),
        }
    }

    /// Returns whether the request offers a tool.
    pub(super) fn offers(&self, name: &str) -> bool {
        let tools = self.json["tools"].as_array().into_iter().flatten();
        tools
            .into_iter()
            .any(|tool| tool["name"] == name || tool["function"]["name"] == name)
    }

    /// Returns how many results of tools the list has.
    pub(super) fn results(&self) -> usize {
        let of = |message: &Json| match self.api {
            Api::Chat => usize::from(message["role"] == "tool"),
            Api::Responses => {
                let kind = message["type"].as_str().unwrap_or_default();
                usize::from(kind.ends_with("_call_output"))
            }
            Api::Messages => {
                let blocks = message["content"].as_array().into_iter().flatten();
                blocks
                    .filter(|block| block["type"] == "tool_result")
                    .count()
            }
        };
        self.list.iter().map(of).sum()
    }

    /// Returns the pieces of the request in the order in which a cache compares them.
    pub(super) fn units(&self) -> Vec<Unit> {
        let mut units = Vec::new();
        for tool in self.json["tools"].as_array().into_iter().flatten() {
            units.push(Unit::of("tool", tool));
        }
        match self.api {
            Api::Messages => {
                for block in blocks(&self.json["system"]) {
                    units.push(Unit::of("system", &block));
                }
                let settings = json!([self.json["tool_choice"], self.json["thinking"]]);
                let said = json!({"settings": seal::digest(&settings.to_string())});
                units.push(Unit { said, mark: None });
                for message in &self.list {
                    let role = message["role"].as_str().unwrap_or_default();
                    for block in blocks(&message["content"]) {
                        units.push(Unit::of(role, &block));
                    }
                }
                // A mark on the request stands on its last block.
                if self.json[MARK].is_object()
                    && let Some(last) = units.last_mut()
                {
                    last.mark = last.mark.or(Some(seconds(&self.json[MARK])));
                }
            }
            Api::Chat | Api::Responses => {
                if let Some(text) = self.json["instructions"].as_str() {
                    units.push(Unit::of("system", &json!(text)));
                }
                for message in &self.list {
                    units.push(Unit::of("message", message));
                }
            }
        }
        units
    }
}

impl Unit {
    fn of(role: &str, block: &Json) -> Self {
        let mut said = block.clone();
        let mark = said.as_object_mut().and_then(|map| map.shift_remove(MARK));
        let mark = mark
            .filter(|mark| !mark.is_null())
            .map(|mark| seconds(&mark));
        // A mark inside a result stands on the result.
        let mut inner = None;
        let parts = said.get_mut("content").and_then(Json::as_array_mut);
        for part in parts.into_iter().flatten() {
            let found = part.as_object_mut().and_then(|map| map.shift_remove(MARK));
            inner = inner.or(found.map(|mark| seconds(&mark)));
        }
        Self {
            said: json!([role, said]),
            mark: mark.or(inner),
        }
    }
}

fn seconds(mark: &Json) -> u64 {
    if mark["ttl"] == "1h" { 3600 } else { 300 }
}

/// Returns the blocks of a content; a text is one block.
pub(super) fn blocks(content: &Json) -> Vec<Json> {
    match content {
        Json::String(text) => vec![json!({"type": "text", "text": text})],
        Json::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}
