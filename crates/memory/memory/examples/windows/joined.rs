//! Makes long conversations by joining recorded ones.

use accp_tokens::{Bpe, TokenCounter as _};
use serde_json::Value as Json;

use crate::talk::Chat;

/// Makes `count` joined lists. Each begins with another agent's list, and further lists are appended until it has
/// `tokens` tokens. Each id of a call gets the number of its part as a prefix, so that ids of different parts differ.
/// Only the first system message stays.
pub(crate) fn joined(chats: &[Chat], count: usize, tokens: usize, counter: Bpe) -> Vec<Chat> {
    let sizes: Vec<usize> = chats.iter().map(|chat| size(chat, counter)).collect();
    let one = |number: usize| {
        let mut joined = Chat {
            id: format!("joined {number}"),
            ..Chat::default()
        };
        let mut has = 0;
        let start = number * chats.len() / count.max(1);
        for part in 0.. {
            let at = (start + part) % chats.len();
            // A full round without any token shows that all lists are empty. Without this check the
            // loop would never end.
            if has >= tokens || part > chats.len() && has == 0 {
                break;
            }
            has += sizes[at].min(tokens);
            append(&mut joined, &chats[at], part);
        }
        joined
    };
    if chats.is_empty() {
        Vec::new()
    } else {
        (0..count).map(one).collect()
    }
}

fn size(chat: &Chat, counter: Bpe) -> usize {
    chat.messages
        .iter()
        .map(|message| counter.count(&format!("{message}\n")))
        .sum()
}

/// Appends a list. Calls at its end are left out together with their results: some of them may be in flight.
fn append(joined: &mut Chat, chat: &Chat, part: usize) {
    let is_call = |message: &Json| message["tool_calls"].is_array();
    let last = chat
        .messages
        .iter()
        .rposition(|message| message["role"] != "tool");
    let end = match last {
        Some(at) if is_call(&chat.messages[at]) => at,
        _ => chat.messages.len(),
    };
    for (at, message) in chat.messages[..end].iter().enumerate() {
        let is_later = !joined.messages.is_empty() && message["role"] == "system";
        if chat.steps.contains(&at) {
            joined.steps.push(joined.messages.len());
        }
        if !is_later {
            joined.messages.push(renamed(message, part));
        }
    }
}

fn renamed(message: &Json, part: usize) -> Json {
    let mut message = message.clone();
    let rename = |id: &mut Json| {
        if let Some(old) = id.as_str() {
            *id = format!("p{part}_{old}").into();
        }
    };
    if let Some(id) = message.get_mut("tool_call_id") {
        rename(id);
    }
    let calls = message.get_mut("tool_calls").and_then(Json::as_array_mut);
    for call in calls.into_iter().flatten() {
        if let Some(id) = call.get_mut("id") {
            rename(id);
        }
    }
    message
}
