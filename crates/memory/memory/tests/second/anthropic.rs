//! The second implementation of the rules of Anthropic's messages.

use serde_json::Value as Json;

type Faults = Vec<(&'static str, usize)>;

/// A block, and where it stands: message, index, and the number of the turn.
#[derive(Debug, Clone, PartialEq)]
struct Block {
    at: usize,
    index: usize,
    turn: usize,
    /// `user`, `assistant`, or another role.
    role: String,
    json: Json,
}

impl Block {
    fn kind(&self) -> &str {
        self.json["type"].as_str().unwrap_or("")
    }

    fn text(&self, key: &str) -> &str {
        self.json[key].as_str().unwrap_or("")
    }
}

fn is_known(message: &Json) -> bool {
    message["role"] == "user" || message["role"] == "assistant"
}

/// Returns all blocks. A text is a block. System messages belong outside the list and have no turn.
fn blocks(messages: &[Json]) -> Vec<Block> {
    let mut all = Vec::new();
    let mut turn = 0;
    let mut before: Option<String> = None;
    for (at, message) in messages.iter().enumerate() {
        if message["role"] == "system" {
            continue;
        }
        let role = if is_known(message) {
            message["role"].as_str().unwrap_or("").to_owned()
        } else {
            "other".to_owned()
        };
        if before.as_ref().is_some_and(|before| *before != role) {
            turn += 1;
        }
        before = Some(role.clone());
        let parts = match &message["content"] {
            Json::Array(parts) if !parts.is_empty() => parts.clone(),
            text => vec![serde_json::json!({ "type": "text", "text": text })],
        };
        for (index, json) in parts.into_iter().enumerate() {
            all.push(Block {
                at,
                index,
                turn,
                role: role.clone(),
                json,
            });
        }
    }
    all
}

pub(crate) fn faults(messages: &[Json]) -> Faults {
    let mut found = Faults::new();
    let blocks = blocks(messages);
    shapes(messages, &blocks, &mut found);
    pairs(&blocks, &mut found);
    order(&blocks, &mut found);
    server(&blocks, &mut found);
    found
}

fn shapes(messages: &[Json], blocks: &[Block], found: &mut Faults) {
    if let Some(first) = blocks.first().filter(|first| first.role == "assistant") {
        found.push(("first-not-user", first.at));
    }
    for (at, message) in messages.iter().enumerate() {
        let is_end = at + 1 == messages.len() && message["role"] == "assistant";
        if message["role"] == "system" {
            found.push(("system-inside", at));
        } else if !is_known(message) {
            found.push(("role", at));
        } else if message["content"] == serde_json::json!([]) {
            if !is_end {
                found.push(("content-empty", at));
            }
        } else if is_blank(&message["content"], is_end) {
            found.push(("text-blank", at));
        }
        let has_call = blocks
            .iter()
            .any(|block| block.at == at && block.kind() == "tool_use");
        if has_call && message["role"] == "user" {
            found.push(("role", at));
        }
    }
    let calls: Vec<_> = blocks
        .iter()
        .filter(|block| block.kind() == "tool_use")
        .collect();
    for (number, call) in calls.iter().enumerate() {
        let id = call.text("id");
        if id.is_empty() {
            found.push(("id-missing", call.at));
        } else if calls[..number].iter().any(|other| other.text("id") == id) {
            found.push(("id-repeated", call.at));
        }
    }
}

fn is_blank(content: &Json, is_end: bool) -> bool {
    let empty = |text: &str| text.trim().is_empty();
    let trailing = |text: &str| is_end && text.trim_end() != text;
    match content {
        Json::String(text) if text.is_empty() => !is_end,
        Json::String(text) => empty(text) || trailing(text),
        Json::Array(parts) => {
            let texts = parts.iter().filter(|part| part["type"] == "text");
            let mut texts = texts.map(|part| part["text"].as_str().unwrap_or(""));
            texts.any(empty) || trailing(parts[parts.len() - 1]["text"].as_str().unwrap_or(""))
        }
        _ => true,
    }
}

/// Returns the index of the result that answers a call. Calls and results with the same id, in two neighbouring
/// turns, are paired in their order.
fn joined(blocks: &[Block], call: &Block) -> Option<usize> {
    let same = |other: &&Block| {
        other.kind() == "tool_use" && other.turn == call.turn && other.text("id") == call.text("id")
    };
    let before = |other: &&Block| (other.at, other.index) < (call.at, call.index);
    let number = blocks.iter().filter(same).filter(before).count();
    let answers = |other: &Block| {
        other.kind() == "tool_result"
            && other.role == "user"
            && other.turn == call.turn + 1
            && other.text("tool_use_id") == call.text("id")
    };
    let all = (0..blocks.len()).filter(|index| answers(&blocks[*index]));
    all.skip(number).take(1).next()
}

fn pairs(blocks: &[Block], found: &mut Faults) {
    let is_asking = |block: &&Block| {
        block.kind() == "tool_use" && block.role != "user" && !block.text("id").is_empty()
    };
    let calls: Vec<_> = blocks.iter().filter(is_asking).collect();
    let last = blocks.last().map_or(0, |block| block.turn);
    for call in &calls {
        let next: Vec<_> = blocks
            .iter()
            .filter(|block| block.turn == call.turn + 1)
            .collect();
        let waits = next
            .iter()
            .all(|block| block.role == "user" && block.kind() == "tool_result");
        let in_flight = call.turn == last || call.turn + 1 == last && waits;
        if !in_flight && joined(blocks, call).is_none() {
            found.push(("result-missing", call.at));
        }
    }
    let taken: Vec<_> = calls
        .iter()
        .filter_map(|call| joined(blocks, call))
        .collect();
    for (number, result) in blocks.iter().enumerate() {
        if result.kind() != "tool_result" || taken.contains(&number) {
            continue;
        }
        let id = result.text("tool_use_id");
        let same = |call: &&&Block| call.text("id") == id;
        let is_past = |call: &&&Block| call.turn < result.turn;
        let latest = calls
            .iter()
            .filter(same)
            .filter(is_past)
            .map(|call| call.turn)
            .max();
        let open = |turn: usize| {
            let mut calls = calls.iter().filter(same).filter(|call| call.turn == turn);
            calls.any(|call| joined(blocks, call).is_none())
        };
        let is_next = latest.is_some_and(|turn| turn + 1 == result.turn && result.role == "user");
        let anywhere = blocks
            .iter()
            .any(|block| block.kind() == "tool_use" && block.text("id") == id);
        found.push(match latest {
            _ if id.is_empty() => ("id-missing", result.at),
            Some(_) if is_next => ("result-repeated", result.at),
            Some(turn) if !open(turn) => ("result-repeated", result.at),
            Some(_) => ("result-misplaced", result.at),
            None if anywhere => ("result-misplaced", result.at),
            None => ("result-orphan", result.at),
        });
    }
}

fn order(blocks: &[Block], found: &mut Faults) {
    let last = blocks.last().map_or(0, |block| block.turn);
    for turn in 0..=last {
        let turn: Vec<_> = blocks
            .iter()
            .filter(|block| block.turn == turn && block.role == "user")
            .collect();
        let late = (1..turn.len()).find(|index| {
            turn[*index].kind() == "tool_result" && turn[index - 1].kind() != "tool_result"
        });
        found.extend(late.map(|index| ("results-not-first", turn[index].at)));
    }
}

fn server(blocks: &[Block], found: &mut Faults) {
    let is_call = |block: &&Block| {
        let kinds = ["server_tool_use", "mcp_tool_use"];
        block.role == "assistant" && kinds.contains(&block.kind()) && block.json["id"].is_string()
    };
    let is_result = |block: &&Block| {
        block.role == "assistant"
            && block.kind().ends_with("_tool_result")
            && block.json["tool_use_id"].is_string()
    };
    let place = |block: &Block| (block.at, block.index);
    let last = blocks.last().map_or(0, |block| block.turn);
    for result in blocks.iter().filter(is_result) {
        let id = result.text("tool_use_id");
        let before = |block: &&Block| block.turn == result.turn && place(block) < place(result);
        // Of the calls with this id before the result, only the latest counts.
        let call = blocks
            .iter()
            .filter(is_call)
            .filter(before)
            .rfind(|call| call.text("id") == id);
        let Some(call) = call else {
            found.push(("result-orphan", result.at));
            continue;
        };
        let between = |block: &&Block| place(block) > place(call) && before(block);
        if blocks
            .iter()
            .filter(is_result)
            .filter(between)
            .any(|other| other.text("tool_use_id") == id)
        {
            found.push(("result-repeated", result.at));
        }
    }
    for call in blocks
        .iter()
        .filter(is_call)
        .filter(|call| call.turn < last)
    {
        let id = call.text("id");
        let after = |block: &&Block| block.turn == call.turn && place(block) > place(call);
        let again = blocks
            .iter()
            .filter(is_call)
            .filter(after)
            .find(|block| block.text("id") == id);
        let until = again.map_or((usize::MAX, 0), place);
        let mut answers = blocks.iter().filter(is_result).filter(after);
        // If several calls share an id, the check reports only the latest call.
        if again.is_none()
            && !answers.any(|block| place(block) < until && block.text("tool_use_id") == id)
        {
            found.push(("result-missing", call.at));
        }
    }
}
