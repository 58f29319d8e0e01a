//! Asides: the calls and results that the model and the gateway exchange in the middle of an answer. The provider has
//! seen an aside, and the client has not. So when the client sends the answer again, the gateway puts the aside back
//! into its place.

use accp_memory::Form;
use ring::digest;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::headers::first_half;
use crate::splice::{array_items, items_of, member_of, replaced};

/// Separates the words of two turns, in a form that has one text for both.
pub(crate) const SEAM: &str = "\n\n";

/// The first character of a [`piece`] that clients may leave out of an answer: a thought, or a text without words.
const THOUGHT: char = '~';

/// The part of an answer that the client has not seen, and what is needed to put it back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Aside {
    /// The answer as the client has seen it, each block or item as a [`piece`].
    pub(crate) seen: Vec<String>,
    /// The turns before the last one.
    pub(crate) turns: Vec<Turn>,
    /// Calls of the gateway's tool in the last turn, which also calls tools of the client.
    pub(crate) beside: Vec<Beside>,
    /// The tokens of `turns` and `beside`.
    pub(crate) tokens: u64,
}

/// A turn in which the model called only the gateway's tool, with the results of its calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Turn {
    /// How much of the answer the client has seen at the end of this turn: in pieces, or for chat completions in
    /// bytes of the text.
    pub(crate) seen: usize,
    /// The messages of this turn, as the provider got them.
    pub(crate) items: Vec<String>,
}

/// A call of the gateway's tool beside calls of the client's tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Beside {
    /// How many pieces that the client has seen come before this call; for chat completions, how many calls.
    pub(crate) seen: usize,
    pub(crate) call: String,
    pub(crate) result: String,
}

type Place = std::ops::Range<usize>;
type Change = (Place, String);

/// Puts asides back into the text of a request. Each entry of `asides` has the index of the message at which an
/// answer begins, and the asides that may belong to this answer. Returns the text and the tokens that were put in, or
/// `None` if nothing was put in.
pub(crate) fn restored(
    form: Form,
    text: &str,
    key: &str,
    asides: &[(usize, Vec<&Aside>)],
) -> Option<(String, u64)> {
    if asides.is_empty() {
        return None;
    }
    let items = items_of(text, key)?;
    let raws: Vec<&str> = items
        .iter()
        .map(|place| text.get(place.clone()))
        .collect::<Option<_>>()?;
    let mut changes: Vec<Change> = Vec::new();
    let mut tokens = 0;
    for (at, asides) in asides {
        let found = asides.iter().find_map(|aside| {
            let changes = match form {
                Form::Anthropic => in_blocks(aside, &items, &raws, *at),
                Form::OpenAi => in_text(aside, &items, &raws, *at),
                Form::Responses => among(aside, &items, &raws, *at),
            };
            Some((changes?, aside.tokens))
        });
        if let Some((found, put)) = found {
            tokens += put;
            changes.extend(found);
        }
    }
    if changes.is_empty() {
        return None;
    }
    changes.sort_by_key(|(place, _)| place.start);
    Some((replaced(text, &changes), tokens))
}

/// Returns a text that identifies a piece of an answer. A piece is a block or an item.
pub(crate) fn piece(json: &Json) -> String {
    let text = |key: &str| json[key].as_str();
    match text("type") {
        Some("thinking") => short(THOUGHT, text("signature").unwrap_or_default()),
        Some("redacted_thinking") => short(THOUGHT, text("data").unwrap_or_default()),
        Some("reasoning") => {
            let sealed = text("encrypted_content").or_else(|| text("id"));
            short(THOUGHT, sealed.unwrap_or_default())
        }
        Some("text") => {
            let words = text("text").unwrap_or_default().trim();
            let kind = if words.is_empty() { THOUGHT } else { '=' };
            short(kind, words)
        }
        Some("message") | None => {
            let content = &json["content"];
            let parts = content.as_array().into_iter().flatten();
            let parts: String = parts.filter_map(|part| part["text"].as_str()).collect();
            let words = content.as_str().unwrap_or(&parts);
            short('=', words.trim())
        }
        Some(kind) => {
            let id = ["call_id", "tool_use_id", "id"]
                .iter()
                .find_map(|key| text(key));
            short('#', id.unwrap_or(kind))
        }
    }
}

/// Returns the pieces of an answer of chat completions: its text, and the id of each call.
pub(crate) fn pieces_of_chat(text: &str, calls: &[Json]) -> Vec<String> {
    let ids = calls.iter();
    let ids = ids.map(|call| short('#', call["id"].as_str().unwrap_or_default()));
    std::iter::once(short('=', text)).chain(ids).collect()
}

fn short(kind: char, text: &str) -> String {
    let whole = digest::digest(&digest::SHA256, text.as_bytes());
    format!("{kind}{}", hex::encode(first_half(whole.as_ref())))
}

/// For each piece in `seen`, returns how many pieces of `found` come before it; and as the last number, how many
/// pieces of `found` were matched. Returns `None` if `found` is another answer. Pieces that begin with [`THOUGHT`]
/// may be missing in `found`.
fn aligned(seen: &[String], found: &[String]) -> Option<Vec<usize>> {
    let mut before = Vec::with_capacity(seen.len() + 1);
    let mut at = 0;
    for piece in seen {
        before.push(at);
        if found.get(at) == Some(piece) {
            at += 1;
        } else if !piece.starts_with(THOUGHT) {
            return None;
        }
    }
    before.push(at);
    (at > 0 || found.is_empty()).then_some(before)
}

/// Returns the changes for an answer of Anthropic's form: its own message changes, and the next message gets the
/// results of the calls in `beside`.
fn in_blocks(aside: &Aside, items: &[Place], raws: &[&str], at: usize) -> Option<Vec<Change>> {
    let raw = raws.get(at)?;
    let content = member_of(raw, "content")?;
    let blocks = blocks_of(raw.get(content.clone())?)?;
    let found: Vec<String> = blocks
        .iter()
        .map(|block| serde_json::from_str(block).map(|json: Json| piece(&json)))
        .collect::<Result<_, _>>()
        .ok()?;
    let before = aligned(&aside.seen, &found)?;
    (before.last() == Some(&found.len())).then_some(())?;
    let cut = aside
        .turns
        .last()
        .map_or(Some(0), |turn| before.get(turn.seen).copied())?;
    let mut kept = Vec::new();
    for place in cut..=blocks.len() {
        let beside = aside.beside.iter();
        let beside = beside.filter(|call| before.get(call.seen) == Some(&place));
        kept.extend(beside.map(|call| call.call.clone()));
        kept.extend(blocks.get(place).cloned());
    }
    let mut all: Vec<String> = turns(aside);
    if cut == 0 && aside.beside.is_empty() {
        all.push((*raw).to_owned());
    } else if !kept.is_empty() {
        let content = (content, format!("[{}]", kept.join(",")));
        all.push(replaced(raw, &[content]));
    }
    let mut results: Vec<String> = aside
        .beside
        .iter()
        .map(|call| call.result.clone())
        .collect();
    let mut changes = Vec::new();
    if !results.is_empty() {
        let next = raws.get(at + 1).filter(|next| {
            let json: Result<Json, _> = serde_json::from_str(next);
            json.is_ok_and(|json| json["role"] == "user")
        });
        if let Some(next) = next {
            let content = member_of(next, "content")?;
            results.extend(blocks_of(next.get(content.clone())?)?);
            let content = (content, format!("[{}]", results.join(",")));
            changes.push((items.get(at + 1)?.clone(), replaced(next, &[content])));
        } else {
            all.push(format!(
                "{{\"role\":\"user\",\"content\":[{}]}}",
                results.join(",")
            ));
        }
    }
    changes.push((items.get(at)?.clone(), all.join(",")));
    Some(changes)
}

/// Returns the texts of the blocks of a content; a text is one block.
fn blocks_of(content: &str) -> Option<Vec<String>> {
    if content.starts_with('"') {
        return Some(vec![format!("{{\"type\":\"text\",\"text\":{content}}}")]);
    }
    let items = array_items(content)?.into_iter();
    items
        .map(|place| content.get(place).map(str::to_owned))
        .collect()
}

fn turns(aside: &Aside) -> Vec<String> {
    let turns = aside.turns.iter();
    turns.flat_map(|turn| turn.items.iter().cloned()).collect()
}

/// Returns the change for an answer of chat completions: only its own message changes.
fn in_text(aside: &Aside, items: &[Place], raws: &[&str], at: usize) -> Option<Vec<Change>> {
    let raw = raws.get(at)?;
    let json: Json = serde_json::from_str(raw).ok()?;
    let calls = json["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    let single = json["content"].as_array().map(Vec::as_slice);
    let text = match single {
        Some([part]) => &part["text"],
        _ => &json["content"],
    };
    let text = text.as_str().unwrap_or_default();
    (aside.seen == pieces_of_chat(text, calls)).then_some(())?;
    let mut changes = Vec::new();
    let cut = aside.turns.last().map_or(0, |turn| turn.seen);
    if cut > 0 {
        let (first, rest) = text.split_at_checked(cut)?;
        let rest = if first.ends_with(char::is_whitespace) {
            rest
        } else {
            rest.strip_prefix(SEAM).unwrap_or(rest)
        };
        let rest = if rest.is_empty() && !calls.is_empty() {
            Json::Null
        } else {
            json!(rest)
        };
        changes.push((member_of(raw, "content")?, rest.to_string()));
    }
    if !aside.beside.is_empty() {
        let place = member_of(raw, "tool_calls")?;
        let array = raw.get(place.clone())?;
        let own = array_items(array)?;
        let mut all = Vec::new();
        for index in 0..=own.len() {
            let beside = aside.beside.iter().filter(|call| call.seen == index);
            all.extend(beside.map(|call| call.call.clone()));
            let own = own.get(index).and_then(|place| array.get(place.clone()));
            all.extend(own.map(str::to_owned));
        }
        changes.push((place, format!("[{}]", all.join(","))));
    }
    changes.extend(without_earlier(aside, raw, &json));
    changes.sort_by_key(|(place, _)| place.start);
    let mut all = turns(aside);
    all.push(replaced(raw, &changes));
    all.extend(aside.beside.iter().map(|call| call.result.clone()));
    Some(vec![(items.get(at)?.clone(), all.join(","))])
}

/// Returns whether a member of a chat's message has thoughts of the model. Providers name it in several ways.
pub(crate) fn is_thought(key: &str) -> bool {
    key.starts_with("reasoning") || key.starts_with("thinking")
}

/// Returns the changes that take what earlier turns have out of the members of a message: the items of lists, such as
/// signed thoughts, and the words of thoughts. The messages of those turns have them.
fn without_earlier(aside: &Aside, raw: &str, json: &Json) -> Vec<Change> {
    let turns = aside.turns.iter().flat_map(|turn| &turn.items);
    let turns = turns.filter_map(|item| serde_json::from_str::<Json>(item).ok());
    let turns: Vec<Json> = turns.filter(|item| item["role"] == "assistant").collect();
    let lists = json.as_object().into_iter().flatten();
    let lists = lists.filter(|(key, list)| {
        let is_other = *key != "content" && *key != "tool_calls";
        is_other || *key == "content" && list.is_array()
    });
    let changes = lists.filter_map(|(key, list)| {
        if let Some(words) = list.as_str().filter(|_| is_thought(key)) {
            let before: String = turns.iter().filter_map(|turn| turn[key].as_str()).collect();
            let own = words
                .strip_prefix(&*before)
                .filter(|_| !before.is_empty())?;
            return Some((member_of(raw, key)?, Json::from(own).to_string()));
        }
        let list = list.as_array()?;
        let before = turns.iter().filter_map(|turn| turn[key].as_array());
        let before: Vec<&Json> = before.flatten().collect();
        let has_them = list.len() >= before.len()
            && list
                .iter()
                .zip(&before)
                .all(|(one, other)| is_alike(one, other));
        if before.is_empty() || !has_them {
            return None;
        }
        let place = member_of(raw, key)?;
        let array = raw.get(place.clone())?;
        let own = array_items(array)?.into_iter().skip(before.len());
        let own: Vec<&str> = own.map(|item| array.get(item)).collect::<Option<_>>()?;
        Some((place, format!("[{}]", own.join(","))))
    });
    changes.collect()
}

/// Returns whether both are the same item of a list, with whatever number.
fn is_alike(one: &Json, other: &Json) -> bool {
    let bare = |json: &Json| {
        let mut json = json.clone();
        if let Some(map) = json.as_object_mut() {
            map.shift_remove("index");
        }
        json
    };
    bare(one) == bare(other)
}

/// Returns the changes for an answer among the items of Responses.
fn among(aside: &Aside, items: &[Place], raws: &[&str], at: usize) -> Option<Vec<Change>> {
    let mut found = Vec::new();
    let mut places = Vec::new();
    for (raw, place) in raws.iter().zip(items).skip(at) {
        let json: Json = serde_json::from_str(raw).ok()?;
        let kind = json["type"].as_str().unwrap_or("message");
        if kind == "message" && json["role"] != "assistant" || found.len() == aside.seen.len() {
            break;
        }
        if !kind.ends_with("_output") {
            found.push(piece(&json));
            places.push(place.clone());
        }
    }
    let before = aligned(&aside.seen, &found)?;
    let first = places.first()?.start;
    let mut changes = Vec::new();
    if let Some(turn) = aside.turns.last() {
        let turns = turns(aside).join(",");
        let end = *before.get(turn.seen)?;
        match end.checked_sub(1).and_then(|last| places.get(last)) {
            Some(last) => changes.push((first..last.end, turns)),
            None => changes.push((first..first, turns + ",")),
        }
    }
    for call in &aside.beside {
        let pair = format!("{},{}", call.call, call.result);
        let place = *before.get(call.seen)?;
        match place.checked_sub(1).and_then(|last| places.get(last)) {
            Some(last) => changes.push((last.end..last.end, format!(",{pair}"))),
            None => changes.push((first..first, pair + ",")),
        }
    }
    Some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(form: Form, key: &str, list: &Json, at: usize, aside: &Aside) -> Option<Json> {
        let text = json!({ key: list }).to_string();
        let (text, _) = restored(form, &text, key, &[(at, vec![aside])])?;
        let json: Json = serde_json::from_str(&text).unwrap();
        Some(json[key].clone())
    }

    fn turn(seen: usize, items: &[&str]) -> Turn {
        Turn {
            seen,
            items: items.iter().map(|item| format!("{item:?}")).collect(),
        }
    }

    #[test]
    fn blocks_go_back_to_their_turns() {
        let think = |n: &str| json!({"type": "thinking", "thinking": "", "signature": n});
        let text = |n: &str| json!({"type": "text", "text": n});
        let call = json!({"type": "tool_use", "id": "c1", "name": "slots", "input": {}});
        let blocks = [think("a"), text("I look."), think("b"), call.clone()];
        let aside = Aside {
            seen: blocks.iter().map(piece).collect(),
            turns: vec![turn(2, &["A", "R"])],
            beside: vec![Beside {
                seen: 3,
                call: "\"M\"".into(),
                result: "\"N\"".into(),
            }],
            tokens: 0,
        };
        let user = json!({"role": "user", "content": "Hi"});
        let result = json!({"type": "tool_result", "tool_use_id": "c1", "content": "x"});
        let list = |blocks: &[Json]| json!([user, {"role": "assistant", "content": blocks}, {"role": "user", "content": [result]}]);
        let put = |blocks: &[Json]| put(Form::Anthropic, "messages", &list(blocks), 1, &aside);
        let expected = json!([user, "A", "R", {"role": "assistant", "content": [think("b"), "M", call]},
            {"role": "user", "content": ["N", result]}]);
        assert_eq!(put(&blocks), Some(expected));
        // Clients may drop thoughts, and nothing else.
        let expected = json!([user, "A", "R", {"role": "assistant", "content": ["M", call]},
            {"role": "user", "content": ["N", result]}]);
        assert_eq!(put(&[text(" I look."), call.clone()]), Some(expected));
        assert_eq!(put(std::slice::from_ref(&call)), None);
        assert_eq!(put(&[text("I looked."), call.clone()]), None);
    }

    #[test]
    fn a_text_goes_back_to_its_turns() {
        let call = json!({"id": "c1", "type": "function"});
        let aside = Aside {
            seen: pieces_of_chat("I look.\n\nIt is free.", std::slice::from_ref(&call)),
            turns: vec![turn(7, &["A", "R"])],
            beside: vec![Beside {
                seen: 1,
                call: "\"M\"".into(),
                result: "\"N\"".into(),
            }],
            tokens: 0,
        };
        let list = |text: &str| json!([{"role": "assistant", "content": text, "tool_calls": [call]}, {"role": "tool"}]);
        let put = |text| put(Form::OpenAi, "messages", &list(text), 0, &aside);
        let expected = json!(["A", "R", {"role": "assistant", "content": "It is free.", "tool_calls": [call, "M"]},
            "N", {"role": "tool"}]);
        assert_eq!(put("I look.\n\nIt is free."), Some(expected));
        assert_eq!(put("I look."), None);
    }

    #[test]
    fn items_go_back_to_their_turns() {
        let thought = |n: &str| json!({"type": "reasoning", "encrypted_content": n});
        let call = |n: &str| json!({"type": "function_call", "call_id": n});
        let output = |n: &str| json!({"type": "function_call_output", "call_id": n});
        let aside = Aside {
            seen: [thought("a"), thought("b"), call("c1"), call("c2")]
                .iter()
                .map(piece)
                .collect(),
            turns: vec![turn(1, &["A", "R"])],
            beside: vec![Beside {
                seen: 4,
                call: "\"M\"".into(),
                result: "\"N\"".into(),
            }],
            tokens: 0,
        };
        let user = json!({"role": "user", "content": "Hi"});
        let put = |items: &[Json]| {
            let list: Vec<_> = std::iter::once(&user).chain(items).collect();
            put(Form::Responses, "input", &json!(list), 1, &aside)
        };
        let last = [
            call("c1"),
            output("c1"),
            call("c2"),
            output("c2"),
            call("c3"),
        ];
        let with = |first: &[Json]| [first, &last[..]].concat();
        let expected = |first: &[Json]| {
            let before = [user.clone(), json!("A"), json!("R")];
            let after = [&last[..3], &[json!("M"), json!("N")], &last[3..]].concat();
            Some(json!([&before[..], first, &after].concat()))
        };
        assert_eq!(
            put(&with(&[thought("a"), thought("b")])),
            expected(&[thought("b")])
        );
        assert_eq!(put(&with(&[])), expected(&[]));
        assert_eq!(put(&[call("c9")]), None);
    }
}
