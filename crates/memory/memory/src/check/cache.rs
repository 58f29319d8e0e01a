//! Checks the marks for Anthropic's cache: how many there are, where they stand, and in which order.

use serde_json::Value as Json;

use super::flaw::Flaws;
use super::names::array;
use crate::edit::Edit;
use crate::finding::Code;
use crate::form::Form;
use crate::list::MessageList;
use crate::raw::Pointer;

const MARK: &str = "cache_control";

/// A mark, and the block that it stands on.
struct Mark<'l> {
    /// The index of the message; `None` if the mark stands outside the messages.
    at: Option<usize>,
    /// The place of the block.
    place: Pointer,
    holder: &'l Json,
    /// Whether a mark may stand on such a block.
    fits: bool,
}

impl Mark<'_> {
    fn removed(&self) -> (Option<usize>, Edit) {
        (self.at, Edit::Remove(self.place.clone(), MARK))
    }

    fn is(&self, ttl: &str) -> bool {
        self.holder[MARK]["ttl"].as_str().unwrap_or("5m") == ttl
    }
}

/// Checks all marks, in the order in which the provider reads them: tools, system, messages.
pub(super) fn check(list: &MessageList, flaws: &mut Flaws) {
    let marks = marks(list);
    let mut short = false;
    for mark in &marks {
        flaws.at(mark.at);
        if !mark.fits {
            let text = "a mark for the cache stands on a thought, on an empty text or on a whole message; put it on \
                        another block, or run `accp context repair`";
            flaws.push(Code::CachePlace, text, None, vec![mark.removed()]);
            continue;
        }
        let value = &mark.holder[MARK];
        let ttl = &value["ttl"];
        if value["type"] != "ephemeral" || !(ttl.is_null() || ttl == "5m" || ttl == "1h") {
            let text = "a mark for the cache is not `{\"type\": \"ephemeral\"}` with a `ttl` of `5m` or `1h`; write it so";
            let plain = Edit::Set(
                mark.place.inside(MARK),
                r#"{"type":"ephemeral"}"#.to_owned(),
            );
            flaws.push(Code::CacheForm, text, None, vec![(mark.at, plain)]);
        } else if mark.is("1h") && short {
            let text = "a mark for one hour stands behind one for five minutes; put those for one hour first, or run \
                        `accp context repair`, which makes this one last five minutes";
            let edit = Edit::Set(mark.place.inside(MARK).inside("ttl"), r#""5m""#.to_owned());
            flaws.push(Code::CacheOrder, text, None, vec![(mark.at, edit)]);
        }
        short |= mark.is("5m");
    }
    let marks: Vec<_> = marks.iter().filter(|mark| mark.fits).collect();
    let most = list.form().most().marks;
    if let Some(first) = marks.get(most) {
        let over = marks.len() - most;
        // The marks of messages move as a list grows, so the oldest mark is needed least.
        let (inside, outside): (Vec<&&Mark<'_>>, Vec<_>) =
            marks.iter().partition(|mark| mark.at.is_some());
        let oldest = inside.into_iter().chain(outside).take(over);
        let cure = oldest.map(|mark| mark.removed()).collect();
        let text = format!(
            "the request has {} marks for the cache, and the provider takes {most}; remove {over}, the oldest first, or \
             run `accp context repair`",
            marks.len()
        );
        flaws.at(first.at).push(Code::CacheMarks, text, None, cure);
    }
}

fn marks(list: &MessageList) -> Vec<Mark<'_>> {
    let mut marks = Vec::new();
    let request = list.request();
    for key in Form::Anthropic.beside().iter().rev() {
        let at = Pointer::of([(*key).into()]);
        for (index, block) in array(&request[*key]) {
            inside(None, &at.inside(index), block, &mut marks);
        }
    }
    for (at, message) in list.messages().iter().enumerate() {
        let content = Pointer::of(["content".into()]);
        for (index, block) in array(&message.json()["content"]) {
            inside(Some(at), &content.inside(index), block, &mut marks);
        }
        mark(
            Some(at),
            &Pointer::default(),
            message.json(),
            false,
            &mut marks,
        );
    }
    // The provider applies a mark of the whole request to the last block, so this mark comes last.
    mark(None, &Pointer::default(), request, true, &mut marks);
    marks
}

/// Finds the marks of a block and of the blocks inside it, which come before it.
fn inside<'l>(at: Option<usize>, place: &Pointer, block: &'l Json, marks: &mut Vec<Mark<'l>>) {
    let content = place.inside("content");
    for (index, inner) in array(&block["content"]) {
        inside(at, &content.inside(index), inner, marks);
    }
    let kind = block["type"].as_str();
    let thought = matches!(kind, Some("thinking" | "redacted_thinking"));
    let empty = kind == Some("text") && block["text"] == "";
    mark(at, place, block, !thought && !empty, marks);
}

fn mark<'l>(
    at: Option<usize>,
    place: &Pointer,
    holder: &'l Json,
    fits: bool,
    marks: &mut Vec<Mark<'l>>,
) {
    if holder.get(MARK).is_some_and(|mark| !mark.is_null()) {
        marks.push(Mark {
            at,
            place: place.clone(),
            holder,
            fits,
        });
    }
}
