//! Tier 1: a large result goes to a file, and a reference stays (CTX-12 to CTX-16).

mod preview;

use accp_frame::TokenCounter;
use serde_json::Value as Json;

use crate::event::Thousands;
use crate::form::Form;
use crate::media::text_part;
use crate::message::{Answer, ListMessage};
use crate::names::CommandOptions;
use crate::window::Window;
pub(crate) use preview::is_error;
use preview::{head, rest};

/// The line that a reference begins with.
pub(crate) const HEADING: &str = "## Offloaded Content Reference";
/// The most tokens of the first lines that a reference shows.
const TOKENS: u64 = 200;

/// A result that leaves the list.
pub(crate) struct Offloaded {
    /// The message with the reference.
    pub(crate) message: ListMessage,
    /// The text of the file.
    pub(crate) text: String,
}

/// Moves the text of a result of a session to the file at `path`. Pictures, documents and sounds stay. `None` if that
/// saves nothing.
pub(crate) fn offload(
    (form, commands): (Form, &CommandOptions),
    message: &ListMessage,
    answer: &Answer,
    path: &str,
    window: &Window,
    counter: &dyn TokenCounter,
) -> Option<Offloaded> {
    let text = message.text_of(answer);
    let before = window.tokens(message, counter);
    // The preview takes at most a quarter of the result, so that moving a short result out saves
    // tokens, too.
    let tokens = counter.count(&text) as u64;
    let most = TOKENS.min(tokens / 4);
    let preview = head(&text, most, counter);
    let more = rest(&text, tokens, most, counter);
    let lines = text.lines().count();
    let stays: Option<Vec<_>> = message
        .media_of(answer)
        .map(|found| found.part.value(message.json()).cloned())
        .collect();
    let stays = stays?;
    let is_array = answer
        .content
        .value(message.json())
        .is_some_and(Json::is_array);
    let content = |reference: &str| {
        if stays.is_empty() {
            return Some(Json::from(reference));
        }
        is_array.then(|| {
            let parts = std::iter::once(text_part(form, reference));
            parts.chain(stays.iter().cloned()).collect()
        })
    };
    let mut saved = before;
    // The reference states how many tokens it saves, and this number takes tokens itself. It
    // settles in a few rounds.
    let mut best = None;
    for _ in 0..8 {
        let reference = reference(commands, (path, lines), saved, &preview, &more);
        let new = message.with(form, &[(answer.content.clone(), content(&reference)?)])?;
        let now = before
            .checked_sub(window.tokens(&new, counter))
            .filter(|saved| *saved > 0)?;
        best = Some(new);
        if now == saved {
            break;
        }
        saved = now;
    }
    best.map(|message| Offloaded { message, text })
}

/// Returns the reference, which stays in the list. The specification prescribes its form.
fn reference(
    commands: &CommandOptions,
    (path, lines): (&str, usize),
    saved: u64,
    preview: &str,
    more: &str,
) -> String {
    let (saved, root) = (Thousands(saved), commands.root());
    format!(
        "{HEADING}\n\
         **File:** {path}\n\
         **Tokens Saved:** {saved}\n\
         **Preview:**\n\
         {preview}\n\
         \n\
         {more}\
         **Read:** `accp context read{root} {path} --lines 1-{lines}` gives lines; `accp context recover{commands} WORDS` \
         searches\n\
         *Full content available via file read*"
    )
}

#[cfg(test)]
mod tests {
    use accp_tokens::Bpe;

    use crate::names::SessionId;

    use super::*;

    #[test]
    fn a_reference_has_the_form_of_the_specification() {
        let rows: Vec<_> = (1..=400)
            .map(|row| format!("row {row}: rye, {row} bags"))
            .collect();
        let text = serde_json::Value::from(rows.join("\n"));
        let raw =
            format!(r#"{{ "role": "tool", "tool_call_id": "c1", "x": 1.50, "content": {text} }}"#);
        let message = ListMessage::read(Form::OpenAi, 0, &raw).unwrap();
        let window = Window::of(4_000).unwrap();
        let counter = Bpe::o200k_base();
        let moved = offload(
            (
                Form::OpenAi,
                &CommandOptions::of(&SessionId::named("trip"), None),
            ),
            &message,
            &message.answers[0],
            "cache/offloaded/20260129_142530_stock.md",
            &window,
            &counter,
        )
        .unwrap();
        assert_eq!(moved.text, rows.join("\n"));
        let before = window.tokens(&message, &counter);
        let saved = before - window.tokens(&moved.message, &counter);
        let text = moved.message.json()["content"].as_str().unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "## Offloaded Content Reference");
        assert_eq!(
            lines[1],
            "**File:** cache/offloaded/20260129_142530_stock.md"
        );
        assert_eq!(lines[2], format!("**Tokens Saved:** {}", Thousands(saved)));
        assert_eq!(lines[4], "> row 1: rye, 1 bags");
        assert_eq!(lines[13], "> row 10: rye, 10 bags");
        assert_eq!(lines[14], "");
        assert_eq!(
            lines.last(),
            Some(&"*Full content available via file read*")
        );
        // The other members of the message keep all their bytes.
        assert!(
            moved
                .message
                .raw()
                .starts_with(r#"{ "role": "tool", "tool_call_id": "c1", "x": 1.50, "content": "#)
        );
    }
}
