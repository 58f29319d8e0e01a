//! Thoughts of a model that its provider binds to the exact list before them. A provider refuses such a thought behind
//! another list, or does not read it.

use serde_json::Value as Json;

use crate::edit::{Edit, edited};
use crate::form::Form;
use crate::list::MessageList;
use crate::message::ListMessage;
use crate::raw::Pointer;

/// The member of a chat's message that has the thoughts of other providers.
const DETAILS: &str = "reasoning_details";

impl ListMessage {
    /// Returns whether the message has a thought that its provider binds to the exact list before it: a `thinking`
    /// block, a `reasoning` item with encrypted content, or signed `reasoning_details` of a chat.
    ///
    /// ```
    /// use accp_memory::{Form, MessageList};
    ///
    /// let list = MessageList::of(Form::Responses, [
    ///     r#"{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}"#,
    ///     r#"{"type":"reasoning","summary":[]}"#,
    /// ])?;
    /// let bound: Vec<bool> = list.messages().iter().map(|message| message.is_bound()).collect();
    /// assert_eq!(bound, [true, false]);
    /// # Ok::<(), accp_memory::Finding>(())
    /// ```
    pub fn is_bound(&self) -> bool {
        is_thought(self.json()) || self.blocks().iter().any(is_thought) || has_details(self.json())
    }
}

impl MessageList {
    /// Returns whether the request asks the provider to drop thoughts that stand behind another list than before, and
    /// not to refuse them (`drop_block` of Anthropic). Then no thought keeps a list from changing.
    ///
    /// ```
    /// use accp_memory::MessageList;
    ///
    /// let body = |told: &str| format!(
    ///     r#"{{"thinking":{{"type":"adaptive","block_binding":{{"prefix_mismatch_behavior":"{told}"}}}},
    ///         "max_tokens":2000,"messages":[{{"role":"user","content":"Rye?"}}]}}"#
    /// );
    /// assert!(MessageList::read(&body("drop_block"), None)?.drops_thoughts());
    /// assert!(!MessageList::read(&body("error"), None)?.drops_thoughts());
    /// # Ok::<(), accp_memory::Finding>(())
    /// ```
    pub fn drops_thoughts(&self) -> bool {
        let place = "/thinking/block_binding/prefix_mismatch_behavior";
        let told = self.request().pointer(place);
        told.is_some_and(|told| told == "drop_block")
    }
}

/// Returns whether a message has nothing but bound thoughts.
pub(crate) fn is_whole(message: &ListMessage) -> bool {
    let blocks = message.blocks();
    let has_others = blocks.is_empty() || !message.calls.is_empty();
    is_thought(message.json()) || !has_others && blocks.iter().all(is_thought)
}

/// Returns the message without its bound thoughts, and with everything else as it was written. `None` if it has no
/// such thoughts, or nothing else.
pub(crate) fn without(form: Form, message: &ListMessage) -> Option<ListMessage> {
    if !message.is_bound() || is_whole(message) {
        return None;
    }
    let content = Pointer::of(["content".into()]);
    let blocks = message.blocks().iter().enumerate();
    let thoughts = blocks.filter(|(_, block)| is_thought(block));
    let mut edits: Vec<Edit> = thoughts
        .map(|(at, _)| Edit::Drop(content.clone(), at))
        .collect();
    if !edits.is_empty() && edits.len() == message.blocks().len() {
        // The calls of a chat stand beside its content, and an empty array is refused.
        edits = vec![Edit::Set(content, "null".to_owned())];
    }
    if has_details(message.json()) {
        edits.push(Edit::Remove(Pointer::default(), DETAILS));
    }
    ListMessage::read(form, 0, &edited(message.raw(), &edits)).ok()
}

/// Returns whether a block or an item is a bound thought.
pub(crate) fn is_thought(part: &Json) -> bool {
    match part["type"].as_str() {
        Some("thinking" | "redacted_thinking") => true,
        Some("reasoning") => part["encrypted_content"].is_string(),
        _ => false,
    }
}

/// Returns whether one of the details is signed or encrypted. They belong together, so they stay or leave as one.
fn has_details(message: &Json) -> bool {
    let details = message[DETAILS].as_array();
    let is_sealed = |part: &Json| part["signature"].is_string() || part["data"].is_string();
    details.is_some_and(|details| details.iter().any(is_sealed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(form: Form, raw: &str) -> ListMessage {
        ListMessage::read(form, 0, raw).unwrap()
    }

    #[test]
    fn a_thought_leaves_and_all_else_stays_to_the_byte() {
        let without = |form, raw: &str| {
            let message = message(form, raw);
            assert!(message.is_bound(), "{raw}");
            without(form, &message).map(|message| message.raw().to_owned())
        };
        let said = r#"{ "role":"assistant", "content": [ {"type":"thinking","thinking":"a","signature":"s"} , {"type":"tool_use","id":"c","name":"n","input":{"at": 1.50}},{"type":"redacted_thinking","data":"d"}]}"#;
        let rest = r#"{ "role":"assistant", "content": [{"type":"tool_use","id":"c","name":"n","input":{"at": 1.50}}]}"#;
        assert_eq!(without(Form::Anthropic, said).as_deref(), Some(rest));
        for key in ["signature", "data"] {
            let said = format!(
                r#"{{"role":"assistant","content":"Hi","reasoning_details":[{{"type":"reasoning.text","{key}":"s"}}],"n":1.50}}"#
            );
            let rest = r#"{"role":"assistant","content":"Hi","n":1.50}"#;
            assert_eq!(without(Form::OpenAi, &said).as_deref(), Some(rest));
        }
        let calls = r#""tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"}}]"#;
        let said = format!(
            r#"{{"role":"assistant","content":[{{"type":"thinking","thinking":"a"}}],{calls}}}"#
        );
        let rest = format!(r#"{{"role":"assistant","content":null,{calls}}}"#);
        assert_eq!(without(Form::OpenAi, &said), Some(rest));
        let item = r#"{"type":"reasoning","encrypted_content":"s","summary":[]}"#;
        assert_eq!(without(Form::Responses, item), None);
        assert!(is_whole(&message(Form::Responses, item)));
    }

    #[test]
    fn what_nobody_signed_binds_nothing() {
        for (form, raw) in [
            (Form::Responses, r#"{"type":"reasoning","summary":[]}"#),
            (
                Form::OpenAi,
                r#"{"role":"assistant","content":"thinking","reasoning_details":[{"text":"s"}]}"#,
            ),
            (
                Form::Anthropic,
                r#"{"role":"assistant","content":"thinking"}"#,
            ),
        ] {
            let message = message(form, raw);
            assert!(!message.is_bound() && !is_whole(&message), "{raw}");
            assert!(without(form, &message).is_none());
        }
    }
}
