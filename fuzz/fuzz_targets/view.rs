//! Fuzzes views: messages that a view has read from a text can be written and read again. In a prompt, no line of a
//! message can begin a new block.
#![no_main]

use std::sync::Arc;

use accp_runtime::context::CachePrices;
use accp_runtime::view::{PRIMER, PartKind, Prompt, PromptLimits, View};
use accp_runtime::{DynamicFrame, Envelope, Registry, TokenCounter, Value};

struct Quarters;

impl TokenCounter for Quarters {
    fn name(&self) -> &str {
        "quarters"
    }

    fn count(&self, text: &str) -> usize {
        text.len().div_ceil(4)
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let [first, bytes @ ..] = bytes else { return };
    let Ok(text) = core::str::from_utf8(bytes) else {
        return;
    };
    let view = View::new(Arc::new(Registry::standard()));
    let messages = view.read(text);
    if let Ok(messages) = &messages {
        let again: String = messages
            .iter()
            .map(|message| view.block(message).text)
            .collect();
        assert_eq!(view.read(&again).as_ref(), Ok(messages));
    }
    lenient(&view, text, messages.as_ref().ok());
    let mut limits = PromptLimits::default();
    (limits.hot, limits.keep, limits.message) =
        (usize::from(first % 64), usize::from(first >> 6), 40);
    limits.prices = (first % 2 == 1).then(CachePrices::default);
    let mut prompt = Prompt::new(view, limits, Arc::new(Quarters));
    let messages = messages.unwrap_or_else(|_| text.split(';').filter_map(said).collect());
    for (message, at) in messages.iter().zip(1..) {
        prompt.push(at, message);
    }
    let shown: String = prompt.parts().map(|part| &*part.text).collect();
    let parts = prompt
        .parts()
        .filter(|part| part.kind != PartKind::Primer)
        .count();
    let shown = shown.replace(PRIMER, "");
    let begun = shown
        .lines()
        .filter(|line| line.starts_with('@') && !line.starts_with("@="))
        .count();
    assert_eq!(begun, parts, "{shown}");
});

/// The lenient reader accepts each text that the strict reader accepts. The strict reader accepts each text that the
/// lenient reader has repaired.
fn lenient(view: &View, text: &str, strict: Option<&Vec<DynamicFrame<'static>>>) {
    let Ok((mut messages, repairs)) = view.read_lenient(text) else {
        assert_eq!(strict, None);
        return;
    };
    assert_eq!(repairs.is_empty(), strict.is_some());
    assert!(strict.is_none_or(|strict| *strict == messages));
    for repair in &repairs {
        assert!(text[repair.at..].starts_with(&repair.from), "{repair}");
    }
    let again: String = messages
        .iter()
        .map(|message| view.block(message).text)
        .collect();
    // A frame from a peer may have metadata, which a view leaves out.
    for message in &mut messages {
        message.envelope = Envelope::default();
    }
    assert_eq!(view.read(&again), Ok(messages));
}

/// Makes a message from a text: the result of a tool if the text is JSON, otherwise a message of an agent or a user.
fn said(text: &str) -> Option<DynamicFrame<'static>> {
    if let Ok(json) = serde_json::from_str::<serde_json::Value>(text) {
        let message = DynamicFrame::new("tool", "done", "search").ok()?;
        return Some(message.with("result", Value::from_data(&json).into_owned()));
    }
    let (agent, intent) = if text.len() % 2 == 0 {
        ("user", "req")
    } else {
        ("clerk", "done")
    };
    let message = DynamicFrame::new(agent, intent, "chat").ok()?.under("CH");
    Some(
        message
            .with("role", agent)
            .with("lang", "en")
            .with("content", text.to_owned()),
    )
}
