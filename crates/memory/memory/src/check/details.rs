//! The rules about what single messages and the request say, beside pairs and turns.

use std::collections::BTreeSet;

use super::flaw::{Flaw, Flaws};
use super::{blocks, cache, items, media, names, parts, thinking};
use crate::finding::Code;
use crate::form::Form;
use crate::list::MessageList;

/// Returns the flaws of a list, with their cures.
pub(crate) fn flaws(list: &MessageList) -> Vec<Flaw> {
    let mut flaws = Flaws::default();
    let form = list.form();
    // Responses takes a request without items, if it goes on with what the provider has.
    if list.messages().is_empty() && form != Form::Responses {
        let text = "the list has no message; begin with a message of the user";
        flaws.at(None).add(Code::ListEmpty, text);
    }
    tools(list, &mut flaws);
    names::check(list, &mut flaws);
    for (at, message) in list.messages().iter().enumerate() {
        flaws.at(Some(at));
        match form {
            Form::OpenAi => parts::check(message, &mut flaws),
            Form::Anthropic => {
                blocks::check(message, at + 1 == list.messages().len(), &mut flaws);
            }
            Form::Responses => items::check(message, &mut flaws),
        }
    }
    media::count(list, &mut flaws);
    if form == Form::Anthropic {
        cache::check(list, &mut flaws);
        thinking::check(list, &mut flaws);
    }
    flaws.into_all()
}

/// Checks the names of the tools that a request defines.
fn tools(list: &MessageList, flaws: &mut Flaws) {
    let mut seen = BTreeSet::new();
    flaws.at(None);
    for (index, tool) in list.tools().as_array().into_iter().flatten().enumerate() {
        let inner = ["function", "custom"].iter().find_map(|key| tool.get(*key));
        let Some(name) = inner.unwrap_or(tool)["name"].as_str() else {
            continue;
        };
        if !names::fits_name(list.form(), name) {
            let text = format!("tool {index} has the name `{name}`; {}", names::NAME_CURE);
            flaws.add(Code::NameForm, text);
        }
        if !seen.insert(name) {
            let text = format!("two tools have the name `{name}`; give each a name of its own");
            flaws.add(Code::NameRepeated, text);
        }
    }
}
