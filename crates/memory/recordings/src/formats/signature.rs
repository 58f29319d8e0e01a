//! The signatures of thoughts, by which a provider recognises its own reasoning.
//!
//! Each API has its own place for a signature. Gemini's own API has it on a part. Gemini's API in the form of OpenAI's
//! chat has it under `extra_content`. A gateway has it under a key of its own. A provider does not accept a signature
//! in another place.

use serde_json::{Map, Value as Json, json};

/// The keys of a signature of Gemini's.
pub(super) const GEMINI: [&str; 2] = ["thoughtSignature", "thought_signature"];
/// The keys of OpenAI's chat that hold values of another provider.
pub(super) const EXTRA: [&str; 2] = ["extra_content", "provider_specific_fields"];

/// Takes a signature of Gemini's out of recorded values, at any depth.
pub(super) fn gemini(about: &mut Map<String, Json>) -> Option<String> {
    for key in GEMINI {
        if about.get(key).is_some_and(Json::is_string)
            && let Some(Json::String(signature)) = about.shift_remove(key)
        {
            return Some(signature);
        }
    }
    for (key, value) in about.iter_mut() {
        let Json::Object(inner) = value else {
            continue;
        };
        if let Some(signature) = gemini(inner) {
            if inner.is_empty() {
                let key = key.clone();
                about.shift_remove(&key);
            }
            return Some(signature);
        }
    }
    None
}

/// Returns a signature of Gemini's in the form of OpenAI's chat.
pub(super) fn extra(signature: &str) -> Json {
    json!({ "google": { "thought_signature": signature } })
}

/// Takes the signature of Anthropic's out of what was recorded about a thought.
pub(super) fn anthropic(about: &mut Map<String, Json>) -> Option<String> {
    // A gateway records in `format` which provider made the signature.
    let format = about.get("format").and_then(Json::as_str);
    let is_own = format.is_none_or(|format| format.starts_with("anthropic"));
    let signature = about.get("signature").and_then(Json::as_str);
    let is_there = signature.is_some_and(|signature| !signature.is_empty());
    if !(is_own && is_there) {
        return None;
    }
    match about.shift_remove("signature") {
        Some(Json::String(signature)) => Some(signature),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_found_at_any_depth_and_leaves_nothing_empty() {
        for recorded in [
            json!({ "thoughtSignature": "s" }),
            json!({ "thought_signature": "s" }),
            json!({ "extra_content": extra("s") }),
            json!({ "provider_specific_fields": { "thought_signature": "s" } }),
        ] {
            let mut about = recorded.as_object().unwrap().clone();
            assert_eq!(gemini(&mut about).as_deref(), Some("s"), "{recorded}");
            assert!(about.is_empty(), "{about:?}");
        }
        let mut about = Map::new();
        about.insert("signature".to_owned(), "s".into());
        assert_eq!(gemini(&mut about), None);
        about.insert("format".to_owned(), "google-gemini-v1".into());
        assert_eq!(anthropic(&mut about), None);
        about.insert("format".to_owned(), "anthropic-claude-v1".into());
        assert_eq!(anthropic(&mut about).as_deref(), Some("s"));
    }
}
