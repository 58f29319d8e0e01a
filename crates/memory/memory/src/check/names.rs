//! Checks the ids that join calls and results, and the names of tools: their lengths and their characters.

use std::collections::BTreeMap;

use accp_registry::Hash;
use serde_json::Value as Json;

use super::flaw::Flaws;
use crate::edit::Edit;
use crate::finding::Code;
use crate::form::Form;
use crate::list::MessageList;
use crate::raw::{Pointer, PointerStep};

/// The cure for a name that does not fit.
pub(super) const NAME_CURE: &str =
    "use 1 to 64 letters, digits, `_` and `-`, or run `accp context repair`";
/// The digits of the hash that keeps shortened names apart.
const DIGITS: usize = 8;

/// Checks the ids and names of all messages. An id that does not fit is reported once, at its first place, and gets one new
/// id everywhere. The new id depends on the old one alone, so a list that grows keeps its ids.
pub(super) fn check(list: &MessageList, flaws: &mut Flaws) {
    let form = list.form();
    let most = form.most();
    let mut ids: BTreeMap<&str, Vec<(usize, Pointer)>> = BTreeMap::new();
    let mut names: BTreeMap<&str, Vec<(usize, Pointer)>> = BTreeMap::new();
    for (at, message) in list.messages().iter().enumerate() {
        let (found, called) = places(form, message.json());
        for (place, all) in found
            .into_iter()
            .map(|place| (place, true))
            .chain(called.into_iter().map(|place| (place, false)))
        {
            let Some(text) = place.value(message.json()).and_then(Json::as_str) else {
                continue;
            };
            let map = if all { &mut ids } else { &mut names };
            map.entry(text).or_default().push((at, place));
        }
    }
    // The provider may have stored the call that a result answers. Then the result must keep the id
    // of that call.
    let kept = list.goes_on();
    let broken = ids
        .iter()
        .filter(|(id, _)| !id.is_empty() && !fits_id(form, id));
    for (id, places) in broken {
        let (code, rule) = (Code::IdForm, id_rule(form));
        let text = format!(
            "the id `{}` {rule}, or run `accp context repair`",
            start(id)
        );
        let new = fitting(id, most.id);
        let cure = if kept {
            Vec::new()
        } else {
            renamed(places, &new)
        };
        flaws.at(places.first().map(|(at, _)| *at));
        flaws.push(code, text, Some(id), cure);
    }
    for (name, places) in names.iter().filter(|(name, _)| !fits_name(form, name)) {
        let text = format!("a tool has the name `{}`; {NAME_CURE}", start(name));
        let cure = if name.is_empty() {
            Vec::new()
        } else {
            renamed(places, &fitting(name, most.name))
        };
        flaws.at(places.first().map(|(at, _)| *at));
        flaws.push(Code::NameForm, text, None, cure);
    }
}

fn id_rule(form: Form) -> &'static str {
    match form {
        Form::OpenAi => "has more than 40 characters; give call and result a shorter one",
        Form::Anthropic => {
            "does not fit; give call and result an id of 1 to 64 letters, digits, `_` and `-`"
        }
        Form::Responses => "has more than 64 characters; give call and output a shorter one",
    }
}

/// Returns the start of a text, for people.
fn start(text: &str) -> String {
    let mut start: String = text.chars().take(80).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    start
}

fn renamed(places: &[(usize, Pointer)], new: &str) -> Vec<(Option<usize>, Edit)> {
    let edit = |(at, place): &(usize, Pointer)| (Some(*at), Edit::set(place.clone(), &new.into()));
    places.iter().map(edit).collect()
}

/// Returns whether the provider takes an id.
fn fits_id(form: Form, id: &str) -> bool {
    let fits = form != Form::Anthropic || id.chars().all(is_plain);
    fits && id.chars().count() <= form.most().id
}

/// Returns whether the provider takes the name of a tool.
pub(super) fn fits_name(form: Form, name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_plain) && name.len() <= form.most().name
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Makes an id or a name fit: at most `most` characters, all of them letters, digits, `_` or `-`. A hash of the old
/// text keeps different texts different.
fn fitting(old: &str, most: usize) -> String {
    let plain = old.chars().map(|c| if is_plain(c) { c } else { '_' });
    let start: String = plain.take(most - DIGITS - 1).collect();
    format!("{start}_{}", Hash::of(old.as_bytes()).short(DIGITS))
}

/// Returns the places of the ids and of the names of tools in a message.
fn places(form: Form, json: &Json) -> (Vec<Pointer>, Vec<Pointer>) {
    let (mut ids, mut names) = (Vec::new(), Vec::new());
    let here = |key: &'static str| Pointer::of([key.into()]);
    match form {
        Form::OpenAi => {
            ids.push(here("tool_call_id"));
            names.push(here("function_call").inside("name"));
            // The name of a `function` message links its result to a call. An empty name links it
            // to no call.
            if json["role"] == "function" && json["name"] != "" {
                names.push(here("name"));
            }
            for (index, call) in array(&json["tool_calls"]) {
                let at = here("tool_calls").inside(index);
                ids.push(at.inside("id"));
                let inner = ["function", "custom"].into_iter();
                let inner = inner.filter(|key| call.get(*key).is_some());
                names.extend(inner.map(|key| at.inside(PointerStep::from(key)).inside("name")));
            }
        }
        Form::Anthropic => {
            for (index, block) in array(&json["content"]) {
                let at = here("content").inside(index);
                let kind = block["type"].as_str().unwrap_or_default();
                if kind.ends_with("tool_use") {
                    ids.push(at.inside("id"));
                }
                if kind == "tool_use" {
                    names.push(at.inside("name"));
                }
                if kind.ends_with("tool_result") {
                    ids.push(at.inside("tool_use_id"));
                }
                ids.push(at.inside("caller").inside("tool_id"));
            }
        }
        Form::Responses => {
            ids.push(here("call_id"));
            match json["type"].as_str() {
                Some("local_shell_call_output") => ids.push(here("id")),
                Some("function_call" | "custom_tool_call") => names.push(here("name")),
                _ => {}
            }
        }
    }
    (ids, names)
}

/// Returns the items of an array, each with its index.
pub(super) fn array(json: &Json) -> impl Iterator<Item = (usize, &Json)> {
    json.as_array().into_iter().flatten().enumerate()
}
