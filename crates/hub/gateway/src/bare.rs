//! Removes from a message what clients change although the message stays the same. These are marks for caches, which
//! move from one message to the next, and the block around a single text, which a client adds to set a mark.

use serde_json::Value as Json;

/// The member that marks a place for a cache.
pub(crate) const MARK: &str = "cache_control";

/// Removes the marks from a value.
pub(crate) fn unmark(json: &mut Json) {
    match json {
        Json::Array(items) => items.iter_mut().for_each(unmark),
        Json::Object(map) => {
            map.shift_remove(MARK);
            map.values_mut().for_each(unmark);
        }
        _ => {}
    }
}

/// Replaces a content that is a single block of text by this text, in a message and in results of tools.
pub(crate) fn unwrap_words(message: &mut Json) {
    let is_result = message["role"] == "tool";
    if let Some(content) = message.get_mut("content") {
        if is_result {
            unwrap_result(content);
        }
        let blocks = content.as_array_mut().into_iter().flatten();
        for block in blocks.filter(|block| block["type"] == "tool_result") {
            block.get_mut("content").map(unwrap_result);
        }
    }
    if !matches!(
        message["role"].as_str(),
        Some("user" | "assistant" | "system" | "developer")
    ) {
        return;
    }
    let text = match message["content"].as_array().map(Vec::as_slice) {
        Some([Json::Object(block)]) if block.len() == 2 && is_text(block.get("type")) => {
            block.get("text").filter(|text| text.is_string()).cloned()
        }
        _ => None,
    };
    if let Some(text) = text {
        message["content"] = text;
    }
}

/// Replaces the content of a result that is a single block of text by this text. The gateway later writes the block
/// back with `type` and `text`, so only a block with exactly these members in this order is replaced.
fn unwrap_result(content: &mut Json) {
    let text = match content.as_array().map(Vec::as_slice) {
        Some([Json::Object(block)])
            if block.keys().eq(["type", "text"]) && block["type"] == "text" =>
        {
            block["text"].as_str().map(Json::from)
        }
        _ => None,
    };
    if let Some(text) = text {
        *content = text;
    }
}

/// Signs a message, so that the memory leaves it as it is. (A mark for a cache does not sign it: the memory ignores
/// such marks.)
pub(crate) fn sign(message: &mut Json) {
    let last = message["content"]
        .as_array_mut()
        .and_then(|blocks| blocks.last_mut());
    let place = match last {
        Some(block) if block.is_object() => block,
        _ => message,
    };
    place["signature"] = Json::from("kept");
}

fn is_text(kind: Option<&Json>) -> bool {
    let kind = kind.and_then(Json::as_str);
    matches!(kind, Some("text" | "input_text" | "output_text"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn marks_leave_and_the_order_stays() {
        let mut json = json!([{"b": 1, "cache_control": {"type": "ephemeral"}, "a": [{"cache_control": null, "c": 2}]}]);
        unmark(&mut json);
        assert_eq!(json.to_string(), r#"[{"b":1,"a":[{"c":2}]}]"#);
    }

    #[test]
    fn words_in_a_block_of_their_own_are_these_words() {
        let unwrapped = |mut json: Json| {
            unwrap_words(&mut json);
            json["content"].take()
        };
        let block = json!({"type": "text", "text": "Rye?"});
        assert_eq!(
            unwrapped(json!({"role": "user", "content": [block]})),
            "Rye?"
        );
        for other in [
            json!([block, block]),
            json!([{"type": "image", "text": "Rye?"}]),
            json!([{"type": "text", "text": "Rye?", "citations": []}]),
            json!([{"type": "tool_result", "content": "Rye?"}]),
            json!([{"type": "tool_result", "content": [{"text": "Rye?", "type": "text"}]}]),
            json!([{"type": "tool_result", "content": [{"type": "input_text", "text": "Rye?"}]}]),
        ] {
            assert_eq!(unwrapped(json!({"role": "user", "content": other})), other);
        }
        assert_eq!(
            unwrapped(json!({"role": "tool", "content": [block]})),
            "Rye?"
        );
        let results = json!([{"type": "tool_result", "content": [block]}, block]);
        let results = unwrapped(json!({"role": "user", "content": results}));
        assert_eq!(results[0]["content"], "Rye?");
        assert_eq!(results[1], block);
    }
}
