//! Reads a whole vocabulary, or a file that adds words to a vocabulary.

use std::collections::BTreeSet;

use accp_registry::aacp::{KEY, WORD};
use accp_registry::checked::{self, Reader, child, suggest};
use accp_registry::{Problem, Problems};
use serde_json::{Map, Value};

use super::{Companion, Key, Kind, Vocabulary, Word};
use crate::class::forbidden_at;
use crate::finding::Code;

type Object = Map<String, Value>;

/// Reads a whole vocabulary.
pub(super) fn whole(file: &str, text: &str) -> Result<Vocabulary, Problems> {
    const KEYS: &[&str] = &[
        "version",
        "tasks",
        "domains",
        "priorities",
        "core",
        "keys",
        "companions",
    ];
    checked::document(file, text, |reader, json| {
        let mut found = Vocabulary::default();
        let Some(object) = reader.object("", Some(json)) else {
            return found;
        };
        reader.known_keys("", object, KEYS);
        for key in KEYS.iter().filter(|key| !object.contains_key(**key)) {
            let problem = Problem::new("", format!("there is no `{key}`"));
            reader.report(problem.cure(format!("add \"{key}\"; vocabulary.json shows its form")));
        }
        found.version = reader
            .string("/version", object.get("version"))
            .unwrap_or_default();
        words(reader, object, "tasks", &mut found.tasks);
        words(reader, object, "domains", &mut found.domains);
        words(reader, object, "priorities", &mut found.priorities);
        keys(reader, object, "core", &mut found.keys);
        keys(reader, object, "keys", &mut found.keys);
        found.companions = companions(reader, object, &found.keys);
        found.place_words();
        found
    })
}

/// Reads a file that adds to a vocabulary.
pub(super) fn extension(to: &Vocabulary, file: &str, text: &str) -> Result<Vocabulary, Problems> {
    checked::document(file, text, |reader, json| {
        let mut found = to.clone();
        let Some(object) = reader.object("", Some(json)) else {
            return found;
        };
        reader.known_keys("", object, &["domains", "keys"]);
        words(reader, object, "domains", &mut found.domains);
        keys(reader, object, "keys", &mut found.keys);
        found.place_words();
        found
    })
}

/// An entry of a list: a name alone, or an object.
struct Entry<'j> {
    at: String,
    name: String,
    meaning: String,
    object: Option<&'j Object>,
}

/// Reads the entries of a list. `known` has the keys that an entry may have.
fn entries<'j>(
    reader: &mut Reader<'_>,
    object: &'j Object,
    list: &str,
    known: &[&str],
) -> Vec<Entry<'j>> {
    let at = child("", list);
    let mut found = Vec::new();
    for (index, json) in reader.array(&at, object.get(list)).iter().enumerate() {
        let at = child(&at, index);
        if let Some(name) = json.as_str() {
            found.push(Entry {
                at,
                name: name.to_owned(),
                meaning: String::new(),
                object: None,
            });
            continue;
        }
        let Some(object) = json.as_object() else {
            reader.wrong(&at, "a name, or an object with `name`", json);
            continue;
        };
        reader.known_keys(&at, object, known);
        let place = child(&at, "meaning");
        let meaning = reader.string(&place, object.get("meaning"));
        let meaning = meaning.unwrap_or_default();
        if forbidden_at(&meaning).is_some() {
            let problem = Problem::new(place, "a control or invisible character stands here");
            reader.report(problem.cure("write the meaning in one line of plain text"));
        }
        let Some(name) = object.get("name") else {
            let problem = Problem::new(&at, "the entry has no `name`");
            reader.report(problem.cure("add \"name\": \"..\""));
            continue;
        };
        if let Some(name) = reader.string(&child(&at, "name"), Some(name)) {
            found.push(Entry {
                at,
                name,
                meaning,
                object: Some(object),
            });
        }
    }
    found
}

fn twice(reader: &mut Reader<'_>, entry: &Entry<'_>) {
    let problem = Problem::new(&entry.at, format!("`{}` is known already", entry.name));
    reader.report(problem.cure("remove the entry, or take another name"));
}

/// Reads tasks, domains or priorities.
fn words(reader: &mut Reader<'_>, object: &Object, list: &str, out: &mut Vec<Word>) {
    let mut taken: BTreeSet<String> = out.iter().map(|word| word.name.clone()).collect();
    for entry in entries(reader, object, list, &["name", "meaning"]) {
        reader.fits(&entry.at, "name", WORD, &entry.name);
        if taken.insert(entry.name.clone()) {
            out.push(Word {
                name: entry.name,
                meaning: entry.meaning,
            });
        } else {
            twice(reader, &entry);
        }
    }
}

fn keys(reader: &mut Reader<'_>, object: &Object, list: &str, out: &mut Vec<Key>) {
    let mut taken: BTreeSet<String> = out.iter().map(|key| key.name.clone()).collect();
    for entry in entries(reader, object, list, &["name", "kind", "meaning"]) {
        reader.fits(&entry.at, "key", KEY, &entry.name);
        let kind = entry.object.and_then(|object| object.get("kind"));
        let at = child(&entry.at, "kind");
        let kind = reader.string(&at, kind).map_or(Kind::Text, |name| {
            Kind::named(&name).unwrap_or_else(|| {
                let problem = Problem::new(&at, format!("`{name}` is not a kind"));
                let known = || Kind::ALL.iter().map(|(name, _)| *name);
                reader.report(suggest(problem, &name, "kinds", known));
                Kind::Text
            })
        });
        if taken.insert(entry.name.clone()) {
            out.push(Key {
                name: entry.name,
                kind,
                meaning: entry.meaning,
                is_core: list == "core",
            });
        } else {
            twice(reader, &entry);
        }
    }
}

fn companions(reader: &mut Reader<'_>, object: &Object, keys: &[Key]) -> Vec<Companion> {
    let mut found = Vec::new();
    let names: BTreeSet<&str> = keys.iter().map(|key| &key.name[..]).collect();
    let list = reader.array("/companions", object.get("companions"));
    for (index, json) in list.iter().enumerate() {
        let at = child("/companions", index);
        let Some(rule) = reader.object(&at, Some(json)) else {
            continue;
        };
        reader.known_keys(&at, rule, &["key", "needs"]);
        let mut name = |of: &str| {
            let at = child(&at, of);
            let name = match rule.get(of) {
                Some(json) => reader.string(&at, Some(json))?,
                None => String::new(),
            };
            if !names.contains(&name[..]) {
                let problem = Problem::new(&at, format!("`{name}` is not a key"));
                let known = || keys.iter().map(|key| key.name.as_str());
                reader.report(suggest(problem, &name, "keys", known));
            }
            Some(name)
        };
        let (Some(key), Some(needs)) = (name("key"), name("needs")) else {
            continue;
        };
        if let Some(code) = Code::named(&format!("{key}-without-{needs}")) {
            found.push(Companion { key, needs, code });
        } else {
            let message = format!("there is no code for `{key}` without `{needs}`");
            let cure = "version 1.1 has two such rules: sentiment needs tone, ltv needs ccy";
            reader.report(Problem::new(&at, message).cure(cure));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_vocabulary_has_no_problems() {
        let standard = Vocabulary::from_json("vocabulary.json", super::super::STANDARD).unwrap();
        assert_eq!(&standard, Vocabulary::standard());
        assert_eq!(standard.keys.iter().filter(|key| key.is_core).count(), 8);
        assert_eq!(standard.keys.len(), 8 + 33);
        assert!(standard.keys.iter().all(|key| !key.meaning.is_empty()));
        assert_eq!(standard.companions.len(), 2);
    }

    #[test]
    fn every_mistake_is_told_with_its_place_and_cure() {
        let text = "{ \"domains\": [\"OPS\", \"O P\", \"HR\",\n {\"meaning\": \"x\\ny\"}, 7],\n \
                    \"keys\": [{\"name\": \"acme_cost\", \"kind\": \"numbr\"},\n {\"name\": \"1st\", \
                    \"kin\": \"code\"}, \"res\"],\n \"tasks\": [\"EAT\"], \"keys \": [] }";
        let problems = Vocabulary::standard().extended("own.json", text);
        insta::assert_snapshot!(problems.unwrap_err().to_string(), @r#"
        own.json:1:22 at /domains/1: `O P` is not a valid name
            it is one or more of A-Z, a-z, 0-9, `_` and `-`
        own.json:1:29 at /domains/2: `HR` is known already
            remove the entry, or take another name
        own.json:2:2 at /domains/3: the entry has no `name`
            add "name": ".."
        own.json:2:3 at /domains/3/meaning: a control or invisible character stands here
            write the meaning in one line of plain text
        own.json:2:23 at /domains/4: expected a name, or an object with `name`, found the integer 7
            replace it with a name, or an object with `name`
        own.json:3:33 at /keys/0/kind: `numbr` is not a kind
            did you mean `number`?
        own.json:4:2 at /keys/1: `1st` is not a valid key
            it is one or more of A-Z, a-z, 0-9 and `_`, a letter first
        own.json:4:18 at /keys/1/kin: unknown key `kin`
            did you mean `kind`?
        own.json:4:34 at /keys/2: `res` is known already
            remove the entry, or take another name
        own.json:5:2 at /tasks: unknown key `tasks`
            the keys here are domains, keys
        own.json:5:20 at /keys : unknown key `keys `
            did you mean `keys`?
        "#);
        let problems = Vocabulary::from_json(
            "v.json",
            r#"{ "core": [{ "name": "a" }], "companions": [{ "key": "a", "needs": "tone" }] }"#,
        );
        insta::assert_snapshot!(problems.unwrap_err().to_string(), @r#"
        v.json:1:1: there is no `version`
            add "version"; vocabulary.json shows its form
        v.json:1:1: there is no `tasks`
            add "tasks"; vocabulary.json shows its form
        v.json:1:1: there is no `domains`
            add "domains"; vocabulary.json shows its form
        v.json:1:1: there is no `priorities`
            add "priorities"; vocabulary.json shows its form
        v.json:1:1: there is no `keys`
            add "keys"; vocabulary.json shows its form
        v.json:1:45 at /companions/0: there is no code for `a` without `tone`
            version 1.1 has two such rules: sentiment needs tone, ltv needs ccy
        v.json:1:59 at /companions/0/needs: `tone` is not a key
            the keys are a
        "#);
    }

    #[test]
    fn a_text_that_is_not_json_is_told_with_its_place() {
        let problems = Vocabulary::standard().extended("own.json", "{ \"keys\": [\n");
        insta::assert_snapshot!(problems.unwrap_err().to_string(), @"
        own.json:2:1: this is not JSON: EOF while parsing a list
            the text ends here; close what is still open
        ");
    }
}
