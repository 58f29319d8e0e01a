//! Adds marks for Anthropic's cache to a list that changes in its middle. The cache looks for stored beginnings at a
//! mark and up to 20 blocks before it, and a client marks its newest message. If a list changes further back, the
//! messages before the change would be written to the cache anew without such marks.

use std::ops::Range;

use accp_memory::Form;
use serde_json::Value as Json;

use crate::bare::MARK;
use crate::list::key;
use crate::splice;

/// The most marks of a request.
const MARKS: usize = 4;
/// The types of the blocks that may have a mark.
const MARKED: [&str; 4] = ["text", "image", "document", "tool_result"];

/// Returns the text of a request with more marks, as far as there is room for them. For each index in `ends`, a mark
/// goes to the last message before this index that ended an earlier request: a message of the user that an answer
/// follows. `None` if there is no room, or the client marks neither of its two newest messages.
pub(crate) fn around_change(text: &str, ends: [usize; 2]) -> Option<String> {
    // Words that look like a mark also count as a mark. So the text never gets too many marks.
    let marks = text.matches(&format!("\"{MARK}\"")).count();
    let room = MARKS.checked_sub(marks).filter(|room| *room > 0)?;
    let places = splice::items_of(text, key(Form::Anthropic))?;
    let messages = Messages { text, places };
    let count = messages.places.len();
    let mut newest = (0..count).rev().take(2);
    let mark = newest.find_map(|at| messages.mark(at))?;
    let mut ends = ends.map(|end| {
        let mut before = (0..end.min(count)).rev();
        before.find(|at| messages.speaks(*at, "user") && messages.speaks(at + 1, "assistant"))
    });
    if ends[0] == ends[1] {
        ends[1] = None;
    }
    let ends = ends.into_iter().flatten();
    let ends = ends.filter_map(|at| messages.end(at)).take(room);
    let mut changes: Vec<(Range<usize>, String)> = ends
        .map(|end| (end..end, format!(",\"{MARK}\":{mark}")))
        .collect();
    changes.sort_by_key(|(place, _)| place.start);
    Some(splice::replaced(text, &changes))
}

/// The messages of a request.
struct Messages<'t> {
    text: &'t str,
    places: Vec<Range<usize>>,
}

impl Messages<'_> {
    fn raw(&self, at: usize) -> Option<&str> {
        self.text.get(self.places.get(at)?.clone())
    }

    fn json(&self, at: usize) -> Option<Json> {
        serde_json::from_str(self.raw(at)?).ok()
    }

    fn speaks(&self, at: usize, role: &str) -> bool {
        self.json(at).is_some_and(|message| message["role"] == role)
    }

    /// Returns the last mark of a message.
    fn mark(&self, at: usize) -> Option<Json> {
        let message = self.json(at)?;
        let mut blocks = message["content"].as_array()?.iter().rev();
        blocks.find_map(|block| block.get(MARK).cloned())
    }

    /// Returns the place for a mark in the last block of a message: before the end of the block. `None` if the block
    /// can have no mark, or has one already.
    fn end(&self, at: usize) -> Option<usize> {
        let message = self.json(at)?;
        let block = message["content"].as_array()?.last()?;
        let kind = block["type"].as_str()?;
        if !MARKED.contains(&kind) || block.get(MARK).is_some() {
            return None;
        }
        let raw = self.raw(at)?;
        let content = splice::member_of(raw, "content")?;
        let last = splice::array_items(raw.get(content.clone())?)?.pop()?;
        Some(self.places.get(at)?.start + content.start + last.end - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_a_change_is_marked_as_the_newest_message_is() {
        let hour = r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#;
        let user = |mark: &str| {
            format!(
                r#"{{"role":"user","content":[{{"type":"tool_result","content":[{{"type":"text","text":"]}}"}}] {mark}}}]}}"#
            )
        };
        let agent = r#"{"role":"assistant","content":"b"}"#;
        let list = |marks: [&str; 4]| {
            let [one, two, three, newest] = marks.map(user);
            format!(r#"{{"messages":[{one},{agent},{two}, {agent} ,{three},{agent},{newest}]}}"#)
        };
        let text = list(["", "", "", hour]);
        let marked = |ends| around_change(&text, ends);
        assert_eq!(marked([1, 0]), Some(list([hour, "", "", hour])));
        assert_eq!(marked([2, 5]), Some(list([hour, "", hour, hour])));
        assert_eq!(marked([6, 3]), Some(list(["", hour, hour, hour])));
        assert_eq!(marked([0, 3]), Some(list(["", hour, "", hour])));
        assert_eq!(marked([4, 4]), Some(list(["", hour, "", hour])));
        // The newest message is marked already, and nobody has answered it.
        assert_eq!(marked([0, 7]), Some(list(["", "", hour, hour])));
        // The client marks nothing; the message has a mark already; the request has three marks, and then four.
        assert_eq!(around_change(&list([""; 4]), [2, 0]), None);
        let both = list([hour, "", "", hour]);
        assert_eq!(around_change(&both, [2, 0]), Some(both.clone()));
        let words = r#"{"text":"","cache_control":null}"#;
        let three = both.replacen(r#""b""#, &format!("[{words}]"), 1);
        let four = around_change(&three, [4, 5]).unwrap();
        assert_eq!(four.matches(MARK).count(), 4);
        assert_eq!(around_change(&four, [5, 6]), None);
    }
}
