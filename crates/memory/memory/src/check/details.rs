//! Checks the details of single messages and of the request. Other files check pairs of calls and results, and turns.

use super::flaw::{Flaw, Flaws};
use super::{
    blocks, cache, citations, items, links, media, names, parts, settings, thinking, tools,
};
use crate::finding::Code;
use crate::form::Form;
use crate::list::MessageList;

/// Returns the flaws of a list, with their cures.
pub(crate) fn flaws(list: &MessageList) -> Vec<Flaw> {
    let mut flaws = Flaws::default();
    let form = list.form();
    // The Responses API accepts a request without items if the provider keeps the earlier ones.
    if list.messages().is_empty() && form != Form::Responses {
        let text = "the list has no message; begin with a message of the user";
        flaws.at(None).add(Code::ListEmpty, text);
    }
    tools::check(list, &mut flaws);
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
    match form {
        Form::OpenAi => {}
        Form::Anthropic => {
            settings::check(list, &mut flaws);
            cache::check(list, &mut flaws);
            thinking::check(list, &mut flaws);
            citations::check(list, &mut flaws);
            media::sizes(list, &mut flaws);
        }
        Form::Responses => links::check(list, &mut flaws),
    }
    flaws.into_all()
}
