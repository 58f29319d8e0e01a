//! Reading a workflow.

use std::collections::{BTreeMap, BTreeSet};

use accp_registry::aacp::KEY;
use accp_registry::checked::{self, Reader, child, suggest};
use accp_registry::{Problem, Problems};
use serde_json::{Map, Value};

use super::template::{Rewrite, Template};
use super::{Hop, Keywords, OF_EVERY_HOP, Parameter, Workflow};
use crate::owned::PacketBuf;
use crate::vocabulary::{Kind, Vocabulary};

type Object = Map<String, Value>;

/// The keys that every packet of a hop has. They must not be among the `fields` of the hop.
const OF_THE_HEAD: [&str; 3] = ["return", "p", "aacp"];

/// Reads a workflow and notes its mistakes.
pub(super) fn workflow(
    file: &str,
    text: &str,
    vocabulary: &Vocabulary,
) -> Result<Workflow, Problems> {
    checked::document(file, text, |reader, json| {
        let mut workflow = Workflow {
            name: String::new(),
            meaning: String::new(),
            hops: Vec::new(),
        };
        let Some(object) = reader.object("", Some(json)) else {
            return workflow;
        };
        reader.known_keys("", object, &["name", "meaning", "hops"]);
        workflow.name = name(reader, "", object);
        workflow.meaning = text_of(reader, "", object, "meaning");
        let hops = object.get("hops");
        if hops.is_none_or(|hops| hops.as_array().is_some_and(Vec::is_empty)) {
            let problem = Problem::new("", "the workflow has no `hops`");
            reader.report(problem.cure("add \"hops\" with at least one hop"));
        }
        let mut names = BTreeSet::new();
        for (index, json) in reader.array("/hops", hops).iter().enumerate() {
            let at = child("/hops", index);
            let Some(object) = reader.object(&at, Some(json)) else {
                continue;
            };
            let hop = hop(reader, &at, object, vocabulary);
            if !names.insert(hop.name.clone()) && !hop.name.is_empty() {
                let problem = Problem::new(&at, format!("the hop `{}` stands twice", hop.name));
                reader.report(problem.cure("give one of the two another name"));
            }
            workflow.hops.push(hop);
        }
        if reader.is_fine() {
            for (index, hop) in workflow.hops.iter().enumerate() {
                sent(reader, &child("/hops", index), hop);
            }
        }
        workflow
    })
}

/// Reads a text that must be there.
fn text_of(reader: &mut Reader<'_>, at: &str, object: &Object, key: &str) -> String {
    if !object.contains_key(key) {
        let problem = Problem::new(at, format!("there is no `{key}`"));
        reader.report(problem.cure(format!("add \"{key}\": \"..\"")));
    }
    let text = reader.string(&child(at, key), object.get(key));
    text.unwrap_or_default()
}

fn name(reader: &mut Reader<'_>, at: &str, object: &Object) -> String {
    let name = text_of(reader, at, object, "name");
    if object.get("name").is_some_and(Value::is_string) {
        reader.fits(&child(at, "name"), "name", KEY, &name);
    }
    name
}

fn hop(reader: &mut Reader<'_>, at: &str, object: &Object, vocabulary: &Vocabulary) -> Hop {
    const KEYS: &[&str] = &[
        "name",
        "meaning",
        "task",
        "dom",
        "return",
        "p",
        "parameters",
        "fields",
        "keywords",
    ];
    reader.known_keys(at, object, KEYS);
    let parameters = parameters(reader, at, object);
    let hop = Hop {
        name: name(reader, at, object),
        meaning: text_of(reader, at, object, "meaning"),
        task: text_of(reader, at, object, "task"),
        dom: text_of(reader, at, object, "dom"),
        receiver: text_of(reader, at, object, "return"),
        priority: text_of(reader, at, object, "p"),
        fields: fields(reader, at, object, vocabulary, &parameters),
        keywords: keywords(reader, at, object),
        parameters,
    };
    let heads = [
        ("task", &hop.task, &vocabulary.tasks),
        ("dom", &hop.dom, &vocabulary.domains),
        ("p", &hop.priority, &vocabulary.priorities),
    ];
    for (key, word, known) in heads {
        if object.get(key).is_some_and(Value::is_string)
            && !known.iter().any(|other| other.name == *word)
        {
            let problem =
                Problem::new(child(at, key), format!("`{word}` is not in the vocabulary"));
            let known = || known.iter().map(|word| word.name.as_str());
            reader.report(suggest(problem, word, "words", known));
        }
    }
    written(reader, &child(at, "return"), &hop.receiver);
    hop
}

/// Checks that the packet of a hop can be sent, if each parameter has its default value, or `0` if it has no default.
fn sent(reader: &mut Reader<'_>, at: &str, hop: &Hop) {
    let needed = hop.parameters.iter().filter(|of| of.default.is_none());
    let values = needed.map(|parameter| (&parameter.name[..], "0")).collect();
    let Err(error) = hop.encode(&values) else {
        return;
    };
    let at = match error.name() {
        Some(name) if OF_THE_HEAD.contains(&name) => child(at, name),
        Some(name) if hop.fields.iter().any(|(key, _)| key == name) => {
            child(&child(at, "fields"), name)
        }
        _ => at.to_owned(),
    };
    let problem = Problem::new(at, "the packet of the hop cannot be sent");
    reader.report(problem.cure(error.to_string()));
}

/// Checks that a text can stand in a packet.
fn written(reader: &mut Reader<'_>, at: &str, text: &str) {
    if let Err(error) = PacketBuf::check(text) {
        let problem = Problem::new(at, "the text cannot stand in a packet");
        reader.report(problem.cure(error.to_string()));
    }
}

fn parameters(reader: &mut Reader<'_>, at: &str, object: &Object) -> Vec<Parameter> {
    let at = child(at, "parameters");
    let mut found: Vec<Parameter> = Vec::new();
    let mut taken = BTreeSet::from(OF_EVERY_HOP.map(str::to_owned));
    for (index, json) in reader
        .array(&at, object.get("parameters"))
        .iter()
        .enumerate()
    {
        let at = child(&at, index);
        let Some(object) = reader.object(&at, Some(json)) else {
            continue;
        };
        reader.known_keys(&at, object, &["name", "kind", "default", "rewrite"]);
        let name = name(reader, &at, object);
        if !taken.insert(name.clone()) && !name.is_empty() {
            let problem = Problem::new(&at, format!("the hop has a parameter `{name}` already"));
            reader.report(problem.cure("take another name, or remove one of the two"));
            continue;
        }
        let name_of_kind = text_of(reader, &at, object, "kind");
        let kind = Kind::named(&name_of_kind).unwrap_or(Kind::Text);
        if object.get("kind").is_some_and(Value::is_string) && kind.as_str() != name_of_kind {
            let message = format!("`{name_of_kind}` is not a kind");
            let known = || Kind::ALL.iter().map(|(name, _)| *name);
            let problem = Problem::new(child(&at, "kind"), message);
            reader.report(suggest(problem, &name_of_kind, "kinds", known));
        }
        let default = reader.string(&child(&at, "default"), object.get("default"));
        let mut rewrite = Vec::new();
        for (at, name) in reader.strings(&child(&at, "rewrite"), object.get("rewrite")) {
            if let Some(found) = Rewrite::named(name) {
                rewrite.push(found);
            } else {
                let problem = Problem::new(at, format!("`{name}` is not a rewriting"));
                reader.report(suggest(problem, name, "rewritings", Rewrite::names));
            }
        }
        let parameter = Parameter {
            name,
            kind,
            default,
            rewrite,
        };
        if let Some(default) = &parameter.default
            && let Err(error) = parameter.ready(default)
        {
            let problem = Problem::new(child(&at, "default"), "the default is not such a value");
            reader.report(problem.cure(error.to_string()));
        }
        found.push(parameter);
    }
    found
}

fn fields(
    reader: &mut Reader<'_>,
    at: &str,
    object: &Object,
    vocabulary: &Vocabulary,
    parameters: &[Parameter],
) -> Vec<(String, Template)> {
    let at_fields = child(at, "fields");
    let mut found: Vec<(usize, (String, Template))> = Vec::new();
    let names = parameters.iter().map(|parameter| &parameter.name[..]);
    let indices: BTreeMap<&str, usize> = names.zip(0..).collect();
    for (key, json) in reader
        .object(&at_fields, object.get("fields"))
        .into_iter()
        .flatten()
    {
        let at = child(&at_fields, key);
        let place = vocabulary.keys.iter().position(|known| known.name == *key);
        if OF_THE_HEAD.contains(&&key[..]) {
            let problem = Problem::new(&at, format!("every packet has `{key}`"));
            reader.report(problem.cure("remove it from `fields`; the hop says it beside them"));
        } else if place.is_none() {
            let problem = Problem::new(&at, format!("`{key}` is not in the vocabulary"));
            let known = || vocabulary.keys.iter().map(|key| key.name.as_str());
            reader.report(suggest(problem, key, "keys", known));
        }
        let Some(text) = reader.string(&at, Some(json)) else {
            continue;
        };
        written(reader, &at, &text);
        match Template::parse(&text, &indices) {
            Ok(template) => found.push((place.unwrap_or_default(), (key.clone(), template))),
            Err([message, cure]) => reader.report(Problem::new(&at, message).cure(cure)),
        }
    }
    found.sort_by_key(|(place, _)| *place);
    let fields: Vec<_> = found.into_iter().map(|(_, field)| field).collect();
    let used = fields.iter().flat_map(|(_, field)| field.parameters());
    let used: BTreeSet<usize> = used.collect();
    for (index, parameter) in parameters.iter().enumerate() {
        if !used.contains(&index) {
            let message = format!("no field takes the parameter `{}`", parameter.name);
            let cure = format!("write {{{}}} in a field, or remove it", parameter.name);
            reader.report(Problem::new(child(at, "parameters"), message).cure(cure));
        }
    }
    fields
}

fn keywords(reader: &mut Reader<'_>, at: &str, object: &Object) -> Keywords {
    let at = child(at, "keywords");
    let Some(object) = reader.object(&at, object.get("keywords")) else {
        return Keywords::default();
    };
    reader.known_keys(&at, object, &["verbs", "nouns"]);
    let mut words = |key: &str| {
        let at = child(&at, key);
        let words = reader.strings(&at, object.get(key));
        if words.is_empty() {
            let problem = Problem::new(&at, format!("there are no `{key}`"));
            reader.report(problem.cure("name one at least, or leave out `keywords`"));
        }
        words.into_iter().map(|(_, word)| word.to_owned()).collect()
    };
    Keywords {
        verbs: words("verbs"),
        nouns: words("nouns"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::STANDARD;
    use super::*;

    fn read(text: &str) -> Result<Workflow, Problems> {
        Workflow::from_json("w.json", text, Vocabulary::standard())
    }

    #[test]
    fn the_standard_workflows_have_no_problems() {
        for (file, text) in STANDARD {
            let workflow = read(text).unwrap_or_else(|problems| panic!("{file}: {problems}"));
            assert_eq!(Workflow::named(&workflow.name), Some(&workflow));
            assert_eq!(format!("{}.json", workflow.name), file);
        }
        let hops = Workflow::standard()
            .iter()
            .map(|workflow| workflow.hops.len());
        assert_eq!(hops.collect::<Vec<_>>(), [6, 6, 3, 3]);
    }

    #[test]
    fn every_mistake_is_told_with_its_place_and_cure() {
        let text = r#"{ "name": "a b", "meaning": "x", "hops": [
  { "name": "one", "meaning": "x", "task": "FETHC", "dom": "HR", "return": "a|b", "p": "4",
    "parameters": [ { "name": "period", "kind": "txt" }, { "name": "p", "kind": "text" },
      { "name": "amount", "kind": "number", "default": "4,200" },
      { "name": "left", "kind": "text", "rewrite": ["uper"] } ],
    "fields": { "res": "x|y", "return": "z", "peroid": "{period}", "fmt": "{perod}", "sup": "{amount:up}", "amt": "{" },
    "keywords": { "verbs": [] } },
  { "name": "one", "fields": [] } ] }"#;
        insta::assert_snapshot!(read(text).unwrap_err().to_string(), @r#"
        w.json:1:3 at /name: `a b` is not a valid name
            it is one or more of A-Z, a-z, 0-9 and `_`, a letter first
        w.json:2:36 at /hops/0/task: `FETHC` is not in the vocabulary
            did you mean `FETCH`?
        w.json:2:66 at /hops/0/return: the text cannot stand in a packet
            `|` separates fields and cannot stand in a value; take another character, or point to the text with data_ptr
        w.json:2:83 at /hops/0/p: `4` is not in the vocabulary
            the words are 1, 2, 3
        w.json:3:5 at /hops/0/parameters: no field takes the parameter `amount`
            write {amount} in a field, or remove it
        w.json:3:5 at /hops/0/parameters: no field takes the parameter `left`
            write {left} in a field, or remove it
        w.json:3:41 at /hops/0/parameters/0/kind: `txt` is not a kind
            did you mean `text`?
        w.json:3:58 at /hops/0/parameters/1: the hop has a parameter `p` already
            take another name, or remove one of the two
        w.json:4:45 at /hops/0/parameters/2/default: the default is not such a value
            `amount`: the value is not a decimal number; write digits and `.`, such as 4200.50
        w.json:5:53 at /hops/0/parameters/3/rewrite/0: `uper` is not a rewriting
            did you mean `upper`?
        w.json:6:17 at /hops/0/fields/res: the text cannot stand in a packet
            `|` separates fields and cannot stand in a value; take another character, or point to the text with data_ptr
        w.json:6:31 at /hops/0/fields/return: every packet has `return`
            remove it from `fields`; the hop says it beside them
        w.json:6:46 at /hops/0/fields/peroid: `peroid` is not in the vocabulary
            did you mean `period`?
        w.json:6:68 at /hops/0/fields/fmt: `perod` is not a parameter of this hop
            declare it under `parameters`
        w.json:6:86 at /hops/0/fields/sup: `up` is not a rewriting
            the rewritings are upper, lower, space-to-hyphen, space-to-underscore, hyphen-to-underscore
        w.json:6:108 at /hops/0/fields/amt: a `{` is not closed
            write {parameter}
        w.json:7:5 at /hops/0/keywords/nouns: there are no `nouns`
            name one at least, or leave out `keywords`
        w.json:7:19 at /hops/0/keywords/verbs: there are no `verbs`
            name one at least, or leave out `keywords`
        w.json:8:3 at /hops/1: there is no `meaning`
            add "meaning": ".."
        w.json:8:3 at /hops/1: there is no `task`
            add "task": ".."
        w.json:8:3 at /hops/1: there is no `dom`
            add "dom": ".."
        w.json:8:3 at /hops/1: there is no `return`
            add "return": ".."
        w.json:8:3 at /hops/1: there is no `p`
            add "p": ".."
        w.json:8:3 at /hops/1: the hop `one` stands twice
            give one of the two another name
        w.json:8:20 at /hops/1/fields: expected an object, found an array
            replace it with an object
        "#);
    }

    /// Returns the problems of a workflow with one hop, in which `from` is replaced by `to`.
    fn of_hop(from: &str, to: &str) -> String {
        let text = r#"{ "name": "w", "meaning": "x", "hops": [{ "name": "one", "meaning": "x", "task": "LOG",
 "dom": "HR", "return": "a", "p": "1", "parameters": [{ "name": "who", "kind": "text", "default": "b" }],
 "fields": { "to": "{who}" } }] }"#;
        assert!(read(text).is_ok() && text.contains(from));
        let problems = read(&text.replace(from, to)).map(|_| String::new());
        problems.unwrap_or_else(|problems| problems.to_string())
    }

    #[test]
    fn a_value_of_another_type_is_one_problem() {
        insta::assert_snapshot!(of_hop(r#""p": "1""#, r#""p": 1"#), @"
        w.json:2:30 at /hops/0/p: expected a string, found the integer 1
            replace it with a string
        ");
        insta::assert_snapshot!(of_hop(r#""kind": "text""#, r#""kind": 1"#), @"
        w.json:2:72 at /hops/0/parameters/0/kind: expected a string, found the integer 1
            replace it with a string
        ");
        insta::assert_snapshot!(of_hop(r#""kind": "text", "#, ""), @r#"
        w.json:2:55 at /hops/0/parameters/0: there is no `kind`
            add "kind": ".."
        "#);
    }

    #[test]
    fn a_packet_that_cannot_be_sent_is_told() {
        insta::assert_snapshot!(of_hop(r#""return": "a""#, r#""return": """#), @"
        w.json:2:15 at /hops/0/return: the packet of the hop cannot be sent
            `return`: `return` has no value; name the agent that gets the result: return:AGENT
        ");
        insta::assert_snapshot!(of_hop(r#""default": "b""#, r#""default": """#), @"");
        insta::assert_snapshot!(of_hop("{who}", "{who} for"), @"");
        let [from, to] = [("b", ""), ("", " for")].map(|(default, rest)| {
            format!("\"{default}\" }}],\n \"fields\": {{ \"to\": \"{{who}}{rest}")
        });
        insta::assert_snapshot!(of_hop(&from, &to), @"
        w.json:3:14 at /hops/0/fields/to: the packet of the hop cannot be sent
            `to`: a space at an end of a value does not come back; leave it out, or point to the text with data_ptr
        ");
        insta::assert_snapshot!(of_hop("{who}", &"{who}".repeat(9000)), @"
        w.json:1:41 at /hops/0: the packet of the hop cannot be sent
            the packet is longer than the limit (at most 8192 bytes); point to the data with data_ptr, or split the instruction
        ");
        let long = format!(r#""default": "{}""#, "b".repeat(9000));
        insta::assert_snapshot!(of_hop(r#""default": "b""#, &long), @"
        w.json:2:88 at /hops/0/parameters/0/default: the default is not such a value
            `who`: the value is longer than a packet; point to the text with data_ptr
        ");
        let needed = of_hop(r#", "default": "b""#, "");
        insta::assert_snapshot!(needed, @"");
    }

    #[test]
    fn a_document_of_another_shape_is_told() {
        insta::assert_snapshot!(read("[]").unwrap_err().to_string(), @"
        w.json:1:1: expected an object, found an array
            replace it with an object
        ");
        insta::assert_snapshot!(read(r#"{ "hops": [] }"#).unwrap_err().to_string(), @r#"
        w.json:1:1: there is no `name`
            add "name": ".."
        w.json:1:1: there is no `meaning`
            add "meaning": ".."
        w.json:1:1: the workflow has no `hops`
            add "hops" with at least one hop
        "#);
    }
}
