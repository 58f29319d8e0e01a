//! Tier 2: the input of a call that wrote a file is cut, because the file has it (CTX-17 to CTX-21).

use std::path::Path;

use accp_frame::TokenCounter;
use serde_json::Value as Json;

use crate::form::Form;
use crate::grapheme;
use crate::message::{Call, ListMessage};
use crate::raw::Pointer;
use crate::window::Window;
use crate::writes::{Write, is_replaced, sources};

/// The line that a cut input begins with.
pub(crate) const HEADING: &str = "## Truncated Tool Call";
/// A text with fewer tokens stays, because its replacement would not be shorter.
const SHORT: u64 = 120;
/// The most characters of the first line in a summary.
const BEGINNING: usize = 80;

/// Returns a message without the long texts of a call. `None` if that saves nothing. `read` says how a reader gets the
/// texts.
pub(crate) fn truncate(
    (form, read): (Form, &str),
    message: &ListMessage,
    call: &Call,
    write: &Write,
    window: &Window,
    counter: &dyn TokenCounter,
) -> Option<ListMessage> {
    let recorded = call.arguments.value(message.json())?;
    let arguments = message.arguments(call)?;
    let long = |place: &&Pointer| {
        let text = place.value(&arguments).and_then(Json::as_str);
        text.is_some_and(|text| counter.count(text) as u64 >= SHORT)
    };
    let mut places: Vec<_> = write.texts.iter().filter(long).collect();
    // The longest text comes first: a summary replaces it. A short note replaces each of the other
    // texts.
    let length = |place: &Pointer| {
        place
            .value(&arguments)
            .and_then(Json::as_str)
            .map_or(0, str::len)
    };
    places.sort_by_key(|place| std::cmp::Reverse(length(place)));
    let mut new = arguments.clone();
    for (index, place) in places.iter().enumerate() {
        let text = place.value(&arguments)?.as_str()?;
        let short = match index {
            0 => summary(&call.tool, write, text, read),
            _ => format!("Content persisted to disk ({} lines)", text.lines().count()),
        };
        *place.value_mut(&mut new)? = short.into();
    }
    // If the API has arguments as a text, the new arguments become a text again.
    let new = match (recorded, &new) {
        (Json::String(_), Json::Object(_)) => Json::from(new.to_string()),
        _ => new,
    };
    let cut = message.with(form, &[(call.arguments.clone(), new)])?;
    let is_shorter = window.tokens(&cut, counter) < window.tokens(message, counter);
    (is_shorter && !places.is_empty()).then_some(cut)
}

/// Returns the text that takes the place of an input. The specification prescribes its form up to the last line. The file
/// may change later, so the last line names what gives the input as it was.
fn summary(tool: &str, write: &Write, text: &str, read: &str) -> String {
    let lines = text.lines().count();
    let lines = if lines == 1 {
        "1 line".to_owned()
    } else {
        format!("{lines} lines")
    };
    let path = match write.paths.as_slice() {
        [] => "not named".to_owned(),
        paths => paths.join(", "),
    };
    let verb = if write.edits { "Changed" } else { "Wrote" };
    let first = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    let end = first.char_indices().nth(BEGINNING);
    let end = end.map_or(first.len(), |(at, _)| grapheme::before(first, at));
    let mut begins = first[..end].to_owned();
    if begins.len() < first.len() {
        begins.push_str("...");
    }
    format!(
        "{HEADING}\n\
         **Original:** {tool} with {lines}\n\
         **Path:** {path}\n\
         **Summary:** {verb} {path}; the text begins: {begins}\n\
         **Status:** Content persisted to disk\n\
         **Read:** {read}"
    )
}

/// Returns whether the content of a call is on disk (CTX-18). `success` is what its result reports; `read` gives the
/// text of a file that can be read.
pub(crate) fn persisted(
    write: &Write,
    arguments: &Json,
    success: Option<bool>,
    read: &dyn Fn(&str) -> Option<String>,
) -> Option<Persisted> {
    if success == Some(false) {
        return None;
    }
    let text = |path: &String| {
        let file = read(path)?;
        let kind = Path::new(path).extension();
        let is_notebook = kind.is_some_and(|kind| kind == "ipynb");
        let cells = is_notebook.then(|| sources(&file)).flatten();
        Some(cells.unwrap_or(file))
    };
    let files: Vec<_> = write.paths.iter().filter_map(text).collect();
    if files.is_empty() {
        return (success == Some(true)).then_some(Persisted::Reported);
    }
    let texts = |replaced: bool| {
        let is_replaced = |place: &Pointer| place.key().is_some_and(is_replaced);
        let places = write.texts.iter();
        let places = places.filter(move |place| is_replaced(place) == replaced);
        let texts = places.filter_map(|place| place.value(arguments)?.as_str());
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>()
    };
    let is_file = |text: &&str| files.iter().any(|file| file == text);
    let new = texts(false);
    let holds = match &write.whole {
        Some(whole) => is_file(&whole.as_str()),
        None if write.edits => is_applied(&new, &texts(true), &files),
        None => {
            // Every text that is long enough to be cut has to be the text of a file.
            let mut long = new.iter().filter(|text| text.len() as u64 >= SHORT);
            new.iter().any(is_file) && long.all(is_file)
        }
    };
    holds.then_some(Persisted::Seen)
}

/// Returns whether files show that an edit was made: they have each new text, and no text that was replaced.
fn is_applied(new: &[&str], replaced: &[&str], files: &[String]) -> bool {
    let has = |text: &str| files.iter().any(|file| file.contains(text));
    // A new text may contain the text that it replaces. Then the old text in a file proves nothing.
    let repeats = |old: &str| new.iter().any(|text| text.contains(old));
    let is_known = !new.is_empty() || !replaced.is_empty();
    is_known
        && new.iter().all(|text| has(text))
        && replaced.iter().all(|old| repeats(old) || !has(old))
}

/// How it is known that a content is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Persisted {
    /// The file was read, and has the content.
    Seen,
    /// The tool has reported success, and the file cannot be read from here.
    Reported,
}
