//! Puts a changed list back into the text of its request.

use std::ops::Range;

use accp_memory::{Form, MessageList};

use crate::splice;

/// Returns the member of a request that is its list.
pub(crate) fn key(form: Form) -> &'static str {
    match form {
        Form::Responses => "input",
        Form::Anthropic | Form::OpenAi => "messages",
    }
}

/// Puts the list to send into the text of a request, each message into the place of the one that it replaces.
/// Messages before `left` leave the text, except those that stay, and a summary takes their place.
///
/// # Errors
/// If a message differs in more than its texts, or the messages are not where they were read.
pub(crate) fn put(
    text: &str,
    places: &[Range<usize>],
    given: &MessageList,
    sent: &MessageList,
    left: usize,
) -> Result<String, String> {
    let moved = || "the messages are not where they were read".to_owned();
    if places.len() != given.messages().len() {
        return Err(moved());
    }
    if left > 0 && left >= places.len() {
        return Err("the whole list would leave".to_owned());
    }
    let mut rest = sent.messages().iter();
    let mut changes = Vec::new();
    let mut has_summary = false;
    for (at, (place, given)) in places.iter().zip(given.messages()).enumerate() {
        if at < left && !given.stays() {
            // The message leaves together with the text between it and the next message.
            let end = places.get(at + 1).map_or(place.end, |next| next.start);
            let summary = if has_summary {
                String::new()
            } else {
                format!("{},", rest.next().ok_or_else(moved)?.raw())
            };
            has_summary = true;
            changes.push((place.start..end, summary));
            continue;
        }
        let sent = rest.next().ok_or_else(moved)?;
        if given.raw() != sent.raw() {
            let text = text.get(place.clone()).ok_or_else(moved)?;
            let new = splice::with_strings(text, sent.json());
            let new = new.ok_or("a message would change in more than its texts")?;
            changes.push((place.clone(), new));
        }
    }
    if rest.next().is_some() {
        return Err(moved());
    }
    Ok(splice::replaced(text, &changes))
}
