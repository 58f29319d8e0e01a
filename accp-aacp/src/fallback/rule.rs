//! Tier 2, the second half: an instruction that a hop of a workflow says (draft section 6.3).

use std::collections::BTreeSet;

use super::lexicon::{is_neutral, stem};
use super::reading::Reading;
use super::value::Value;
use crate::owned::PacketBuf;
use crate::vocabulary::Kind;
use crate::workflow::{Hop, Parameter, Workflow};

/// The packet that a hop makes of an instruction.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ruled {
    /// The hop, as `workflow.hop`.
    pub(super) name: String,
    pub(super) packet: PacketBuf,
}

/// Finds the hop of the domain that an instruction is meant for; `None` if none or several are.
pub(super) fn find(
    workflows: &[Workflow],
    asked: &Reading,
    dom: &str,
    [receiver, priority]: [&str; 2],
) -> Option<Ruled> {
    let mut hops = workflows.iter().flat_map(|workflow| {
        let hops = workflow.hops.iter().filter(|hop| hop.dom == dom);
        hops.filter_map(move |hop| Some((workflow, hop, fit(workflow, hop, asked)?)))
    });
    let (Some((workflow, hop, values)), None) = (hops.next(), hops.next()) else {
        return None;
    };
    let own = values.iter().map(|(name, value)| (*name, &value[..]));
    let all: Vec<_> = own.chain([("return", receiver), ("p", priority)]).collect();
    let packets = workflow.encode(Some(&hop.name), &all).ok()?;
    let (_, packet) = packets.into_iter().next()?;
    let name = format!("{}.{}", workflow.name, hop.name);
    Some(Ruled { name, packet })
}

/// Compares an instruction with a hop, and finds the values of its parameters. Every word of the
/// instruction has to be one that the hop knows: a word more may ask for something else.
fn fit<'h>(workflow: &Workflow, hop: &'h Hop, asked: &Reading) -> Option<Vec<(&'h str, String)>> {
    let stems = |words: &[String]| words.iter().map(|word| stem(word)).collect::<BTreeSet<_>>();
    let (verbs, nouns) = (stems(&hop.keywords.verbs), stems(&hop.keywords.nouns));
    let fields = hop.fields();
    let fields = fields.flat_map(|(key, text)| split(key).chain(split(&text)).collect::<Vec<_>>());
    let fields: BTreeSet<String> = fields.collect();
    // "The approved budgets" has a verb that is none: the hop has a field of this name.
    let is_verb = |verb: &String| verbs.contains(verb) || fields.contains(verb);
    // A noun may be written in capitals, as "VPN" is, and is a value then.
    let is_named = |noun: &String| {
        let mut values = asked.values.iter();
        asked.keywords.contains(noun) || values.any(|value| stem(&value.to_string()) == *noun)
    };
    let is_meant = !asked.verbs.is_disjoint(&verbs)
        && asked.verbs.iter().all(is_verb)
        && !nouns.is_empty()
        && nouns.iter().all(is_named)
        && asked.qualifiers.is_empty()
        && asked.receivers.is_empty();
    if !is_meant {
        return None;
    }
    let texts = [&workflow.name[..], &workflow.meaning, &hop.meaning];
    let mut words: BTreeSet<String> = texts.into_iter().flat_map(split).collect();
    words.extend(verbs.into_iter().chain(nouns).chain(fields));
    if !asked
        .keywords
        .iter()
        .all(|word| words.contains(word) || is_neutral(word))
    {
        return None;
    }
    let is_known = |value: &&Value| {
        let text = value.to_string();
        words.contains(&stem(&text)) || text == hop.dom
    };
    let free = asked.values.iter().filter(|value| !is_known(value));
    assign(&hop.parameters, free.collect())
}

/// Returns the stems of the words in a text.
fn split(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(stem)
}

/// Gives every value of an instruction to a parameter that it alone can be meant for. All parameters
/// without a default need one, and no value may be left.
fn assign<'h>(
    parameters: &'h [Parameter],
    mut free: Vec<&Value>,
) -> Option<Vec<(&'h str, String)>> {
    free.sort_unstable();
    free.dedup();
    let mut found = Vec::new();
    for parameter in parameters
        .iter()
        .filter(|parameter| parameter.default.is_none())
    {
        let fits = |value: &&&Value| takes(parameter, value);
        let mut fitting = free.iter().filter(fits);
        let (Some(value), None) = (fitting.next(), fitting.next()) else {
            return None;
        };
        let value = *value;
        found.push((&parameter.name[..], value.to_string()));
        free.retain(|other| *other != value);
    }
    free.is_empty().then_some(found)
}

/// Returns whether a value can be meant for a parameter.
fn takes(parameter: &Parameter, value: &Value) -> bool {
    match (&parameter.name[..], parameter.kind, value) {
        ("period", _, value) => matches!(value, Value::Period(..)),
        (_, Kind::Number, value) => matches!(value, Value::Number(_)),
        ("email", _, Value::Name(text)) => text.contains('@'),
        (_, Kind::Code, Value::Name(text) | Value::Quoted(text)) => !text.contains(' '),
        (_, Kind::Text, Value::Name(_) | Value::Quoted(_)) => true,
        _ => false,
    }
}
