//! Tier 1: a large result goes to a file, and a reference stays (CTX-12 to CTX-16).

use accp_frame::TokenCounter;

use crate::event::Thousands;
use crate::form::Form;
use crate::grapheme;
use crate::message::{Answer, Message};
use crate::window::Window;

/// The line that a reference begins with.
pub(crate) const HEADING: &str = "## Offloaded Content Reference";
/// The most lines of a preview.
const LINES: usize = 10;
/// The most tokens of a preview.
const TOKENS: u64 = 200;
/// Stands at the end of a line that was cut.
const CUT: &str = " [cut]";

/// A result that leaves the list.
pub(crate) struct Offloaded {
    /// The message with the reference.
    pub(crate) message: Message,
    /// What the file has.
    pub(crate) text: String,
}

/// Moves a result of a message to the file at `path`. `None` if that saves nothing.
pub(crate) fn offload(
    form: Form,
    message: &Message,
    answer: &Answer,
    path: &str,
    window: &Window,
    counter: &dyn TokenCounter,
) -> Option<Offloaded> {
    let text = message.text_of(answer);
    let before = window.tokens(message, counter);
    // Of a short result a part is shown, so that moving it out saves something.
    let most = TOKENS.min(counter.count(&text) as u64 / 4);
    let preview = preview(&text, most, counter);
    let lines = text.lines().count();
    let mut saved = before;
    // The number of saved tokens is a part of what is counted, so it settles in a few rounds.
    let mut best = None;
    for _ in 0..8 {
        let reference = reference(path, saved, &preview, lines);
        let new = message.with(form, &[(answer.content.clone(), reference.into())])?;
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

/// Returns the text that stays: the form of the specification.
fn reference(path: &str, saved: u64, preview: &str, lines: usize) -> String {
    let saved = Thousands(saved);
    format!(
        "{HEADING}\n\
         **File:** {path}\n\
         **Tokens Saved:** {saved}\n\
         **Preview:**\n\
         {preview}\n\
         \n\
         **Read:** `accp context read {path} --lines 1-{lines}` gives lines; `accp context recover WORDS` \
         searches\n\
         *Full content available via file read*"
    )
}

/// Returns the first lines, quoted, in at most so many tokens.
fn preview(text: &str, most: u64, counter: &dyn TokenCounter) -> String {
    let count = |text: &str| counter.count(text) as u64;
    let mut out = String::new();
    for line in text.lines().take(LINES) {
        let with = |line: &str| {
            let gap = if out.is_empty() { "" } else { "\n" };
            format!("{out}{gap}> {line}")
        };
        let whole = with(line);
        if count(&whole) <= most {
            out = whole;
            continue;
        }
        let ends: Vec<_> = line.char_indices().map(|(at, _)| at).collect();
        let fits = |&at: &usize| count(&with(&format!("{}{CUT}", &line[..at]))) <= most;
        let fitting = ends.partition_point(fits);
        if let Some(end) = fitting.checked_sub(1).and_then(|last| ends.get(last)) {
            let end = grapheme::before(line, *end);
            out = with(&format!("{}{CUT}", &line[..end]));
        }
        break;
    }
    out
}

#[cfg(test)]
mod tests {
    use accp_tokens::Bpe;

    use super::*;

    #[test]
    fn a_reference_has_the_form_of_the_specification() {
        let rows: Vec<_> = (1..=400)
            .map(|row| format!("row {row}: rye, {row} bags"))
            .collect();
        let text = serde_json::Value::from(rows.join("\n"));
        let raw =
            format!(r#"{{ "role": "tool", "tool_call_id": "c1", "x": 1.50, "content": {text} }}"#);
        let message = Message::read(Form::OpenAi, 0, &raw).unwrap();
        let window = Window::of(4_000).unwrap();
        let counter = Bpe::o200k_base();
        let moved = offload(
            Form::OpenAi,
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
        let said = moved.message.json()["content"].as_str().unwrap();
        let lines: Vec<_> = said.lines().collect();
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
        // What does not change is as it was, to the byte.
        assert!(
            moved
                .message
                .raw()
                .starts_with(r#"{ "role": "tool", "tool_call_id": "c1", "x": 1.50, "content": "#)
        );
    }

    #[test]
    fn a_long_line_is_cut_where_a_character_ends() {
        let counter = Bpe::o200k_base();
        let text = "ä→🌾".repeat(500);
        let cut = preview(&text, 50, &counter);
        assert!(cut.ends_with(CUT) && counter.count(&cut) <= 50, "{cut}");
        assert_eq!(preview("", 50, &counter), "");
    }
}
