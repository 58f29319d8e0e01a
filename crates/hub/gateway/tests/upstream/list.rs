//! A request with a list, as the provider reads it.

use serde_json::{Value as Json, json};

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
    /// The messages; or the items of Responses, after the stored items that the request continues.
    pub(super) list: Vec<Json>,
}

/// A piece of a request that the cache of a provider does not divide.
#[derive(Debug)]
pub(super) struct Unit {
    /// The content of the piece, without marks.
    pub(super) said: Json,
    /// If the piece has a mark: how many seconds a cache keeps the beginning up to here.
    pub(super) mark: Option<u64>,
}

impl Asked {
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
                let said = json!({"settings": settings.to_string()});
                units.push(Unit { said, mark: None });
                for message in &self.list {
                    let role = message["role"].as_str().unwrap_or_default();
                    for block in blocks(&message["content"]) {
                        units.push(Unit::of(role, &block));
                    }
                }
                // A mark on the request counts as a mark on its last block.
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
        // A mark inside a result counts as a mark on the result.
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
