//! A second implementation of the rules of `check`, from the tests, to compare with the first one.

#[path = "../../tests/second/anthropic.rs"]
mod anthropic;
#[path = "../../tests/second/chat.rs"]
mod chat;
#[path = "../../tests/second/responses.rs"]
mod responses;

use accp_memory::Form;
use serde_json::Value as Json;

/// Returns the code of each fault, and the index of its message.
pub(crate) fn faults(form: Form, messages: &[Json]) -> Vec<(&'static str, usize)> {
    match form {
        Form::OpenAi => chat::faults(messages),
        Form::Anthropic => anthropic::faults(messages),
        Form::Responses => responses::faults(messages),
    }
}
