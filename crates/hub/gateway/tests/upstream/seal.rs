//! Signs thoughts over the exact list before them. A request that changes this list or the thought is refused.

use ring::hmac;
use serde_json::{Value as Json, json};

use super::list::{Asked, MARK, blocks};
use super::refusal::Refusal;

const KEY: &[u8] = b"the provider's own";

/// The list as it is signed. Only its content counts, and not marks for caches or blocks around single texts.
struct Signed(hmac::Context);

impl Signed {
    fn new(system: &Json) -> Self {
        let mut signed = Self(hmac::Context::with_key(&hmac::Key::new(
            hmac::HMAC_SHA256,
            KEY,
        )));
        for block in blocks(system) {
            let text = block["text"].as_str().unwrap_or_default();
            // In this text clients say who pays. The text is not part of the prompt.
            if !text.starts_with("x-anthropic-billing-header") {
                signed.add("system", &block);
            }
        }
        signed
    }

    fn add(&mut self, role: &str, block: &Json) {
        let mut bare = block.clone();
        unmark(&mut bare);
        self.0.update(json!([role, bare]).to_string().as_bytes());
    }

    /// Returns the signature of a thought that follows the list so far.
    fn of(&self, thought: &str) -> String {
        let mut context = self.0.clone();
        context.update(thought.as_bytes());
        hex::encode(context.sign().as_ref())
    }
}

fn unmark(json: &mut Json) {
    match json {
        Json::Object(map) => {
            map.shift_remove(MARK);
            map.values_mut().for_each(unmark);
        }
        Json::Array(items) => items.iter_mut().for_each(unmark),
        _ => {}
    }
}

/// Signs a thought that follows the list of a request.
pub(super) fn sign(asked: &Asked, thought: &str) -> String {
    let mut signed = Signed::new(&asked.json["system"]);
    for message in &asked.list {
        let role = message["role"].as_str().unwrap_or_default();
        for block in blocks(&message["content"]) {
            signed.add(role, &block);
        }
    }
    signed.of(thought)
}

/// Refuses thoughts that changed, or that follow another list than before. If the request says so, drops them
/// instead.
pub(super) fn check(asked: &mut Asked, drops: bool) -> Result<(), Refusal> {
    let mut signed = Signed::new(&asked.json["system"]);
    for (at, message) in asked.list.iter_mut().enumerate() {
        let role = message["role"].as_str().unwrap_or_default().to_owned();
        let mut kept = Vec::new();
        for (place, block) in blocks(&message["content"]).into_iter().enumerate() {
            if block["type"] == "thinking" {
                let thought = block["thinking"].as_str().unwrap_or_default();
                let is_bound = block["signature"] == signed.of(thought);
                if !is_bound && !drops {
                    return Err(Refusal::invalid(&format!(
                        "messages.{at}.content.{place}: Invalid `signature` in `thinking` block. The block is bound to a \
                         different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \
                         \"drop_block\". That setting requires the `thinking-binding-controls-2026-08-01` value in the \
                         `anthropic-beta` header."
                    )));
                }
                if !is_bound {
                    continue;
                }
            }
            signed.add(&role, &block);
            kept.push(block);
        }
        if drops {
            message["content"] = Json::Array(kept);
        }
    }
    Ok(())
}

/// Signs a reasoning that follows the items of a request of Responses.
pub(super) fn sign_items(asked: &Asked, thought: &str) -> String {
    let mut signed = Signed::new(&Json::Null);
    for item in &asked.list {
        signed.add("item", item);
    }
    format!("{}.{}", signed.of(thought), hex::encode(thought))
}

/// Refuses reasoning that changed, or that follows other items than before.
pub(super) fn check_items(asked: &Asked) -> Result<(), Refusal> {
    let mut signed = Signed::new(&Json::Null);
    for item in &asked.list {
        if item["type"] == "reasoning"
            && let Some(sealed) = item["encrypted_content"].as_str()
        {
            let thought = sealed
                .split_once('.')
                .and_then(|(_, text)| hex::decode(text).ok());
            let thought = String::from_utf8(thought.unwrap_or_default()).unwrap_or_default();
            if sealed.split('.').next() != Some(&signed.of(&thought)) {
                let id = item["id"].as_str().unwrap_or_default();
                return Err(Refusal::invalid(&format!(
                    "The encrypted content for item {id} could not be verified. Reason: Encrypted content could not be decrypted or parsed."
                )));
            }
        }
        signed.add("item", item);
    }
    Ok(())
}
