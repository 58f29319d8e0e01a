//! Weaves answers in the form of Anthropic's messages.

use serde_json::{Value as Json, json};

use super::{Answer, added, arguments, event, set};
use crate::aside::piece;
use crate::tool::{Call, NAME};

/// The counts at the end of an answer of several turns. An answer of one turn has most of them at its beginning.
const COUNTS: [&str; 4] = [
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
];

/// The member that counts the calls of the provider's own tools.
const SERVER_TOOLS: &str = "server_tool_use";

#[derive(Debug, Default)]
pub(super) struct Claude {
    /// The answer of the first turn, as it began.
    first: Json,
    /// The blocks of earlier turns that the client has seen.
    shown: Vec<Json>,
    blocks: Vec<Block>,
    /// The events that end a stream: one or more `message_delta`, and then `message_stop`.
    deltas: Vec<(Vec<u8>, Json)>,
    stop: Vec<u8>,
    message: Json,
    usage: Json,
    /// The usage of earlier turns.
    total: Json,
    turns: usize,
    is_over: bool,
    /// The bytes of the blocks.
    kept: usize,
    /// Whether no more is kept of the blocks.
    is_full: bool,
    /// The kind of a delta of this turn that this gateway does not know.
    unknown: Option<String>,
}

#[derive(Debug)]
struct Block {
    json: Json,
    /// The input of a call, as it comes.
    input: String,
    is_ours: bool,
}

impl Block {
    fn new(json: Json) -> Self {
        Self {
            is_ours: json["type"] == "tool_use" && json["name"] == NAME,
            json,
            input: String::new(),
        }
    }

    /// Adds a delta, and returns how many bytes it has; `None` if its kind is not known.
    fn add(&mut self, delta: &Json) -> Option<usize> {
        let key = match delta["type"].as_str()? {
            "text_delta" => "text",
            "thinking_delta" => "thinking",
            "signature_delta" => "signature",
            "input_json_delta" => {
                let more = delta["partial_json"].as_str().unwrap_or_default();
                self.input.push_str(more);
                return Some(more.len());
            }
            "citations_delta" => {
                let citation = delta["citation"].clone();
                let bytes = citation.to_string().len();
                match self.json.get_mut("citations").and_then(Json::as_array_mut) {
                    Some(all) => all.push(citation),
                    None => set(&mut self.json, "citations", Json::Array(vec![citation])),
                }
                return Some(bytes);
            }
            _ => return None,
        };
        let more = delta[key].as_str().unwrap_or_default();
        match self.json.get_mut(key) {
            Some(Json::String(all)) => all.push_str(more),
            _ => set(&mut self.json, key, Json::from(more)),
        }
        Some(more.len())
    }

    fn end(&mut self) {
        if !self.input.is_empty() {
            let input = match arguments(&self.input) {
                Json::Object(map) => Json::Object(map),
                _ => json!({}),
            };
            set(&mut self.json, "input", input);
        }
    }
}

impl Claude {
    /// Returns the blocks of all turns that the client sees.
    fn visible(&self) -> impl Iterator<Item = &Json> {
        let now = self.blocks.iter().filter(|block| !block.is_ours);
        self.shown.iter().chain(now.map(|block| &block.json))
    }

    /// Passes an event of a block on, under the index that the block has for the client.
    fn pass(&self, raw: &[u8], mut json: Json, index: usize, out: &mut Vec<u8>) {
        let before = self.blocks.iter().take(index);
        let shown = self.shown.len() + before.filter(|block| !block.is_ours).count();
        if self.blocks.get(index).is_some_and(|block| block.is_ours) {
            return;
        }
        if shown == index {
            out.extend_from_slice(raw);
            return;
        }
        set(&mut json, "index", Json::from(shown));
        let name = json["type"].as_str().unwrap_or_default().to_owned();
        out.extend(event(&json, &name));
    }

    /// Returns the stop reason that the client sees, if it differs from the model's.
    fn reason(&self, told: &Json) -> Option<Json> {
        let calls = self.blocks.iter().filter(|block| !block.is_ours);
        let mut calls = calls.filter(|block| block.json["type"] == "tool_use");
        let is_none = *told == "tool_use" && calls.next().is_none();
        is_none.then(|| Json::from("end_turn"))
    }

    fn stopped(&self) -> &Json {
        let deltas = self.deltas.iter().rev();
        let mut told = deltas.map(|(_, json)| &json["delta"]["stop_reason"]);
        let told = told.find(|reason| reason.is_string());
        told.unwrap_or(&self.message["stop_reason"])
    }

    /// Returns the counts at the end of a stream of several turns. `last` has those of the last turn.
    fn counts(&self, last: &Json) -> Json {
        let all = added(&self.total, &self.usage);
        let mut usage = if last.is_object() {
            last.clone()
        } else {
            json!({})
        };
        for key in COUNTS.into_iter().filter(|key| all[*key].is_u64()) {
            set(&mut usage, key, all[key].clone());
        }
        for (key, value) in all.as_object().into_iter().flatten() {
            if value.is_object() && (key == SERVER_TOOLS || last.get(key).is_some()) {
                set(&mut usage, key, value.clone());
            }
        }
        usage
    }
}

impl Answer for Claude {
    fn event(&mut self, raw: &[u8], json: Json, out: &mut Vec<u8>) {
        let index = json["index"].as_u64().unwrap_or(0);
        let index = usize::try_from(index).unwrap_or(0);
        match json["type"].as_str() {
            Some("message_start") => {
                self.usage = json["message"]["usage"].clone();
                if self.turns == 0 {
                    self.first = json["message"].clone();
                    out.extend_from_slice(raw);
                }
            }
            Some("content_block_start") => {
                let block = &json["content_block"];
                let block = if self.is_full {
                    json!({ "type": block["type"] })
                } else {
                    self.kept += raw.len();
                    block.clone()
                };
                let mut block = Block::new(block);
                block.is_ours &= self.unknown.is_none();
                self.blocks.push(block);
                self.pass(raw, json, index, out);
            }
            Some("content_block_delta") => {
                let block = self.blocks.get_mut(index);
                if let Some(block) = block.filter(|_| !self.is_full) {
                    let delta = &json["delta"];
                    if let Some(bytes) = block.add(delta) {
                        self.kept += bytes;
                    } else {
                        let kind = delta["type"].as_str().unwrap_or_default();
                        self.unknown = Some(kind.to_owned());
                    }
                }
                self.pass(raw, json, index, out);
            }
            Some("content_block_stop") => {
                if let Some(block) = self.blocks.get_mut(index) {
                    block.end();
                }
                self.pass(raw, json, index, out);
            }
            Some("message_delta") => {
                for (key, value) in json["usage"].as_object().into_iter().flatten() {
                    set(&mut self.usage, key, value.clone());
                }
                if self.is_full {
                    let before = self.deltas.drain(..);
                    before.for_each(|(raw, _)| out.extend(raw));
                }
                self.kept += raw.len();
                self.deltas.push((raw.to_vec(), json));
            }
            Some("message_stop") => {
                self.stop = raw.to_vec();
                self.is_over = true;
            }
            _ => out.extend_from_slice(raw),
        }
    }

    fn whole(&mut self, json: Json) -> bool {
        let Some(blocks) = json["content"].as_array() else {
            return false;
        };
        self.blocks = blocks.iter().cloned().map(Block::new).collect();
        self.usage = json["usage"].clone();
        if self.turns == 0 {
            self.first = json.clone();
        }
        self.message = json;
        true
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn stops(&mut self) {
        self.is_over |= !self.deltas.is_empty() && self.stopped().is_string();
    }

    fn calls(&self) -> Vec<(usize, Call, String)> {
        if self.stopped() != "tool_use" || self.unknown.is_some() {
            return Vec::new();
        }
        let mut seen = self.shown.len();
        let mut calls = Vec::new();
        for block in &self.blocks {
            if block.is_ours {
                let call = Call {
                    id: block.json["id"].as_str().unwrap_or_default().to_owned(),
                    arguments: block.json["input"].clone(),
                };
                calls.push((seen, call, block.json.to_string()));
            } else {
                seen += 1;
            }
        }
        calls
    }

    fn is_alone(&self) -> bool {
        let mut others = self.blocks.iter().filter(|block| !block.is_ours);
        others.all(|block| block.json["type"] != "tool_use")
    }

    fn items(&self) -> Vec<String> {
        let is_empty = |block: &Json| block["type"] == "text" && block["text"] == "";
        let blocks = self.blocks.iter().map(|block| &block.json);
        let blocks: Vec<&Json> = blocks.filter(|block| !is_empty(block)).collect();
        vec![json!({ "role": "assistant", "content": blocks }).to_string()]
    }

    fn seen(&self) -> usize {
        self.visible().count()
    }

    fn pieces(&self) -> Vec<String> {
        self.visible().map(piece).collect()
    }

    fn begin(&mut self, keeps: bool) {
        let blocks = std::mem::take(&mut self.blocks).into_iter();
        let blocks = blocks.filter(|block| !block.is_ours && keeps);
        self.shown.extend(blocks.map(|block| block.json));
        self.total = added(&self.total, &self.usage);
        self.deltas.clear();
        self.stop = Vec::new();
        self.turns += 1;
        self.is_over = false;
    }

    fn tail(&mut self, out: &mut Vec<u8>) {
        let mut deltas = std::mem::take(&mut self.deltas).into_iter().peekable();
        while let Some((raw, mut json)) = deltas.next() {
            let reason = self.reason(&json["delta"]["stop_reason"]);
            let is_summed = self.turns > 0 && deltas.peek().is_none();
            if !is_summed && reason.is_none() {
                out.extend(raw);
                continue;
            }
            if is_summed {
                let counts = self.counts(&json["usage"]);
                set(&mut json, "usage", counts);
            }
            if let (Some(reason), Some(delta)) = (reason, json.get_mut("delta")) {
                set(delta, "stop_reason", reason);
            }
            out.extend(event(&json, "message_delta"));
        }
        out.append(&mut self.stop);
    }

    fn differs(&self) -> bool {
        self.turns > 0 || self.blocks.iter().any(|block| block.is_ours)
    }

    fn combined(&mut self) -> String {
        let mut message = self.message.clone();
        if let Some(reason) = self.reason(&message["stop_reason"]) {
            set(&mut message, "stop_reason", reason);
        }
        set(&mut message, "id", self.first["id"].clone());
        set(&mut message, "content", self.visible().cloned().collect());
        set(&mut message, "usage", added(&self.total, &self.usage));
        message.to_string()
    }

    fn kept(&self) -> usize {
        self.kept
    }

    fn keep_no_more(&mut self, _: &mut Vec<u8>) {
        self.is_full = true;
    }

    fn unknown(&self) -> Option<&str> {
        self.unknown.as_deref()
    }
}
