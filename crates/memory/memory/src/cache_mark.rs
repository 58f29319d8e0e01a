//! The marks for a provider's cache on the parts of a message. A program moves them to newer messages as its list grows.

use serde_json::Value as Json;

use crate::edit::{Edit, edited};
use crate::form::Form;
use crate::message::ListMessage;
use crate::raw::Pointer;
use crate::thought::is_thought;

/// The member of a part that is its mark.
const MARK: &str = "cache_control";

/// A part of a message that may have a mark.
struct Part<'m> {
    /// The index of the part, after those of the parts around it. Thoughts do not count, because they may leave a
    /// message.
    path: Vec<usize>,
    place: Pointer,
    mark: Option<&'m Json>,
}

/// Returns the message with the marks that `given` has on the same parts, and with no other marks. Without `given`, the
/// message gets no marks. `None` if the message has the right marks already.
pub(crate) fn moved(
    form: Form,
    message: &ListMessage,
    given: Option<&ListMessage>,
) -> Option<ListMessage> {
    let given = given.map_or_else(Vec::new, parts);
    let mut edits = Vec::new();
    for part in parts(message) {
        let same = given.iter().find(|one| one.path == part.path);
        let mark = same.and_then(|one| one.mark);
        if mark == part.mark {
            continue;
        }
        if part.mark.is_some() {
            edits.push(Edit::Remove(part.place.clone(), MARK));
        }
        edits.extend(mark.map(|mark| Edit::Put(part.place, MARK, mark.to_string())));
    }
    if edits.is_empty() {
        return None;
    }
    ListMessage::read(form, 0, &edited(message.raw(), &edits)).ok()
}

/// Returns the parts of a message: the message itself, its blocks, and the blocks inside them.
fn parts(message: &ListMessage) -> Vec<Part<'_>> {
    let mut out = Vec::new();
    inside(message.json(), &[], &Pointer::default(), &mut out);
    out
}

fn inside<'m>(json: &'m Json, path: &[usize], place: &Pointer, out: &mut Vec<Part<'m>>) {
    out.push(Part {
        path: path.to_vec(),
        place: place.clone(),
        mark: json.get(MARK),
    });
    let blocks = json["content"].as_array().into_iter().flatten().enumerate();
    let blocks = blocks.filter(|(_, block)| block.is_object() && !is_thought(block));
    for (number, (index, block)) in blocks.enumerate() {
        let place = place.inside("content").inside(index);
        inside(block, &[path, &[number]].concat(), &place, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(raw: &str) -> ListMessage {
        ListMessage::read(Form::Anthropic, 0, raw).unwrap()
    }

    fn after(message: &ListMessage, given: Option<&ListMessage>) -> Option<String> {
        moved(Form::Anthropic, message, given).map(|new| new.raw().to_owned())
    }

    #[test]
    fn marks_go_where_the_given_message_has_them() {
        let cut = message(
            r#"{ "role":"assistant", "content": [{"type":"text","text":"a", "cache_control":{"type":"ephemeral"}},{"type":"tool_use","id":"c","name":"n","input":{"cache_control":"no-store","at": 1.50}}]}"#,
        );
        let given = message(
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"a"},{"type":"tool_use","id":"c","name":"n","input":{"cache_control":"no-store","at":1.50},"cache_control":{"type":"ephemeral","ttl":"1h"}}]}"#,
        );
        let expected = r#"{ "role":"assistant", "content": [{"type":"text","text":"a"},{"type":"tool_use","id":"c","name":"n","input":{"cache_control":"no-store","at": 1.50},"cache_control":{"type":"ephemeral","ttl":"1h"}}]}"#;
        assert_eq!(after(&cut, Some(&given)).as_deref(), Some(expected));
        assert_eq!(after(&message(expected), Some(&given)), None);
        let bare = r#"{ "role":"assistant", "content": [{"type":"text","text":"a"},{"type":"tool_use","id":"c","name":"n","input":{"cache_control":"no-store","at": 1.50}}]}"#;
        assert_eq!(after(&message(expected), None).as_deref(), Some(bare));
        assert_eq!(after(&message(bare), None), None);
    }

    #[test]
    fn a_mark_inside_a_result_that_left_goes_with_it() {
        let given = message(
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"rye","cache_control":{"type":"ephemeral"}}]}]}"#,
        );
        let cut = message(
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"a reference"}]}"#,
        );
        assert_eq!(after(&cut, Some(&given)), None);
        assert_eq!(
            after(&given, None).as_deref(),
            Some(
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"rye"}]}]}"#
            )
        );
    }
}
