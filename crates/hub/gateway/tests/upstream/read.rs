//! Reads a request with a list, and refuses what the provider refuses.

use axum::http::HeaderMap;
use serde_json::Value as Json;

use super::list::{Api, Asked};
use super::refusal::Refusal;
use super::responses::Stored;
use super::{refusals, seal};

/// Reads a request, and refuses what the provider refuses. `None` for a path without a list.
pub(super) fn read(
    path: &str,
    json: Json,
    headers: &HeaderMap,
    stored: &Stored,
) -> Result<Option<Asked>, Refusal> {
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
        Api::Responses => stored.expand(&json)?,
        Api::Messages | Api::Chat => json["messages"].as_array().cloned().unwrap_or_default(),
    };
    let mut asked = Asked { api, json, list };
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
