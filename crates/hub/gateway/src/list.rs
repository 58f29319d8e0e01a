//! The list of a request: as the memory reads it, and put back into the text of the request.

use accp_memory::{Form, MessageList};
use serde_json::Value as Json;

use crate::bare::{unmark, unwrap_words};
use crate::digest::{Digest, digest_of};
use crate::splice;

/// A request as the memory reads it: without what clients change in a message while it stays the same.
pub(crate) struct Bare {
    pub(crate) json: Json,
    pub(crate) list: MessageList,
    pub(crate) digests: Vec<Digest>,
}

impl Bare {
    /// Reads a request.
    ///
    /// # Errors
    /// Why the list cannot be read.
    pub(crate) fn of(mut json: Json, form: Form) -> Result<Self, String> {
        unmark(&mut json);
        let messages = json[key(form)].as_array_mut().into_iter().flatten();
        messages.for_each(unwrap_words);
        let list = MessageList::read(&json.to_string(), Some(form));
        let list = list.map_err(|found| found.to_string())?;
        let messages = list.messages().iter();
        Ok(Self {
            digests: messages.map(|message| digest_of(message.raw())).collect(),
            json,
            list,
        })
    }

    pub(crate) fn items(&mut self, form: Form) -> &mut [Json] {
        let items = self.json[key(form)].as_array_mut();
        items.map(Vec::as_mut_slice).unwrap_or_default()
    }
}

/// Returns the member of a request that is its list.
pub(crate) fn key(form: Form) -> &'static str {
    match form {
        Form::Responses => "input",
        Form::Anthropic | Form::OpenAi => "messages",
    }
}

/// Puts the list to send into the text of a request. Its messages before `left` that are no system messages have left, and a summary
/// stands in their place.
///
/// # Errors
/// If more differs than texts.
pub(crate) fn put(
    text: &str,
    form: Form,
    given: &MessageList,
    sent: &MessageList,
    left: usize,
) -> Result<String, String> {
    let moved = || "the messages are not where they were read".to_owned();
    let places = splice::items_of(text, key(form)).ok_or_else(moved)?;
    if places.len() != given.messages().len() {
        return Err(moved());
    }
    if left > 0 && left >= places.len() {
        return Err("the whole list would leave".to_owned());
    }
    let is_system = |json: &Json| matches!(json["role"].as_str(), Some("system" | "developer"));
    let mut rest = sent.messages().iter();
    let mut changes = Vec::new();
    let mut has_summary = false;
    for (at, (place, given)) in places.iter().zip(given.messages()).enumerate() {
        if at < left && !is_system(given.json()) {
            // The message leaves with what stands between it and the next one.
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
