//! The chat history of aider. The file is Markdown: a line of the person begins with `#### `, a line of the program
//! with `> `, and all other lines are of the model. The reader of files splits the history into blocks, one object
//! for each: `{"started": ..}` or `{"user": ..}`, `{"aider": ..}`, `{"assistant": ..}`.

use serde_json::{Map, Value as Json};

use super::draft::Draft;
use super::fault::{Fault, Parsed};
use super::listed::{self, Listed};

/// The key of the blocks.
pub(crate) const BLOCKS: &str = "aider_chat";
/// The line with which a chat begins.
pub(crate) const STARTED: &str = "# aider chat started at ";

/// Returns whether the document is of this format and of no other.
pub(crate) fn detect(json: &Json) -> bool {
    let blocks = json.get(BLOCKS).and_then(Json::as_array);
    blocks.is_some_and(|all| !all.is_empty() && all.iter().all(is_block))
}

fn is_block(json: &Json) -> bool {
    let map = json.as_object().filter(|map| map.len() == 1);
    let first = map.and_then(|map| map.iter().next());
    first.is_some_and(|(key, value)| {
        ["started", "user", "aider", "assistant"].contains(&key.as_str()) && value.is_string()
    })
}

/// Reads the blocks of a chat.
///
/// # Errors
/// When there are no blocks.
pub(crate) fn read(json: Json) -> Result<Parsed, Fault> {
    let expected = "a chat history of aider, which begins with `# aider chat started at`";
    Fault::unless(detect(&json), expected)?;
    let Listed {
        objects: blocks,
        rest,
    } = listed::taken(json, &[BLOCKS], expected)?;
    let mut parsed = Parsed {
        rest,
        ..Parsed::default()
    };
    let mut entries = Vec::new();
    for block in blocks {
        let Some((key, value)) = block.into_iter().next() else {
            continue;
        };
        match (key.as_str(), value) {
            ("user" | "assistant", Json::String(text)) => {
                let mut draft = Draft::new(&key);
                draft.text(text);
                parsed.messages.push(draft.into_json());
            }
            (_, value) => {
                if key == "started" && !parsed.rest.contains_key("id") {
                    parsed.rest.insert("id".to_owned(), value.clone());
                }
                // The program wrote this for the person. No model saw it.
                let entry: Map<String, Json> = [(key, value)].into_iter().collect();
                entries.push(Json::Object(entry));
            }
        }
    }
    if !entries.is_empty() {
        let entries = [("entries".to_owned(), Json::Array(entries))];
        super::fields::merge(&mut parsed.rest, entries.into_iter().collect());
    }
    Ok(parsed)
}
