//! The entries of a registry as a JSON document, for export and import.

use std::collections::BTreeSet;

use accp_registry::checked::{self, Reader, child};
use accp_registry::{Problem, Problems};
use serde_json::{Map, Value, json};

use super::entry::{Entry, OF_THE_CALLER};
use super::instruction::Instruction;
use crate::vocabulary::Vocabulary;

/// The version of the document.
const VERSION: u64 = 1;

impl Entry {
    /// Returns the entry as it stands in a document. `id` and `keywords` follow from `english`, and are
    /// there for readers.
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.key().id.to_string(), "dom": self.dom(), "english": self.instruction().text(),
            "task": self.task(), "fields": self.fields(), "times_seen": self.times_seen,
            "keywords": self.keywords(),
        })
    }

    /// Returns entries as a document, which [`Entry::from_document`] reads.
    pub fn to_document(entries: &[Self]) -> Value {
        let entries: Value = entries.iter().map(Self::to_json).collect();
        json!({ "version": VERSION, "entries": entries })
    }

    /// Reads a document. `file` is the name of the document in the problems.
    ///
    /// # Errors
    /// Every mistake, with line, column, JSON pointer and cure. Mistakes are also a repeated entry, an id of another
    /// instruction, and fields with which no packet can be written.
    ///
    /// ```
    /// use accp_aacp::Vocabulary;
    /// use accp_aacp::fallback::Entry;
    ///
    /// let text = r#"{ "version": 1, "entries": [ { "english": "Fetch the salaries", "dom": "HR",
    ///     "task": "FETCH", "fields": [["res", "emp_salary"]] } ] }"#;
    /// let entries = Entry::from_document("registry.json", text, Vocabulary::standard())?;
    /// let again = Entry::to_document(&entries).to_string();
    /// assert_eq!(Entry::from_document("again.json", &again, Vocabulary::standard())?, entries);
    /// # Ok::<(), accp_registry::Problems>(())
    /// ```
    pub fn from_document(
        file: &str,
        text: &str,
        vocabulary: &Vocabulary,
    ) -> Result<Vec<Self>, Problems> {
        checked::document(file, text, |reader, json| {
            let mut entries = Vec::new();
            let Some(object) = reader.object("", Some(json)) else {
                return entries;
            };
            reader.known_keys("", object, &["version", "entries"]);
            if object.get("version").and_then(Value::as_u64) != Some(VERSION) {
                let problem = Problem::new("/version", "the document is not of version 1");
                reader.report(problem.cure("write \"version\": 1, or update"));
            }
            let mut seen = BTreeSet::new();
            for (index, json) in reader
                .array("/entries", object.get("entries"))
                .iter()
                .enumerate()
            {
                let at = child("/entries", index);
                let Some(entry) = read(reader, &at, json, vocabulary) else {
                    continue;
                };
                if !seen.insert(entry.key()) {
                    let problem = Problem::new(&at, "the instruction stands twice in its domain");
                    reader.report(problem.cure("keep one of the two"));
                }
                entries.push(entry);
            }
            entries
        })
    }
}

/// Reads one entry; reports what is wrong with it.
fn read(reader: &mut Reader<'_>, at: &str, json: &Value, vocabulary: &Vocabulary) -> Option<Entry> {
    const KEYS: [&str; 7] = [
        "id",
        "dom",
        "english",
        "task",
        "fields",
        "times_seen",
        "keywords",
    ];
    let object = reader.object(at, Some(json))?;
    reader.known_keys(at, object, &KEYS);
    let english = needed(reader, at, object, "english");
    let dom = needed(reader, at, object, "dom");
    let task = needed(reader, at, object, "task");
    let fields = fields(reader, &child(at, "fields"), object.get("fields"));
    let times_seen = object.get("times_seen").map_or(Some(0), Value::as_u64);
    if times_seen.is_none() {
        let problem = Problem::new(child(at, "times_seen"), "expected a whole number from 0 on");
        reader.report(problem);
    }
    let instruction = Instruction::new(&english?);
    let instruction = instruction.map_err(|error| {
        reader.report(Problem::new(child(at, "english"), error.to_string()));
    });
    let instruction = instruction.ok()?;
    let id = reader.string(&child(at, "id"), object.get("id"));
    if id.is_some_and(|id| !id.eq_ignore_ascii_case(&instruction.id().to_string())) {
        let problem = Problem::new(child(at, "id"), "the id is of another instruction");
        reader.report(problem.cure("remove the id: it follows from `english`"));
    }
    let entry = Entry::from_parts(instruction, &dom?, &task?, fields, vocabulary);
    let entry = entry.map_err(|error| reader.report(Problem::new(at, error.to_string())));
    let mut entry = entry.ok()?;
    entry.times_seen = times_seen?;
    Some(entry)
}

fn needed(
    reader: &mut Reader<'_>,
    at: &str,
    object: &Map<String, Value>,
    key: &str,
) -> Option<String> {
    if !object.contains_key(key) {
        let problem = Problem::new(at, format!("there is no `{key}`"));
        reader.report(problem.cure(format!("add \"{key}\": \"..\"")));
    }
    reader.string(&child(at, key), object.get(key))
}

fn fields(reader: &mut Reader<'_>, at: &str, json: Option<&Value>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (index, json) in reader.array(at, json).iter().enumerate() {
        let at = child(at, index);
        let pair = json.as_array().map(Vec::as_slice);
        let Some([Value::String(key), Value::String(value)]) = pair else {
            reader.wrong(&at, "a key and a value, both strings", json);
            continue;
        };
        if OF_THE_CALLER.contains(&&key[..]) {
            let problem = Problem::new(at, format!("`{key}` is the caller's"));
            reader.report(problem.cure("remove the field"));
            continue;
        }
        found.push((key.clone(), value.clone()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_is_told_with_its_place() {
        let text = r#"{ "version": 2, "entries": [
  { "english": " ", "dom": "HR", "task": "FETCH", "fields": [] },
  { "english": "Fetch it", "dom": "H R", "task": "FETCH", "fields": [["res"], ["return", "EVIL"]] },
  { "english": "Fetch it", "id": "00", "dom": "HR", "task": "FETCH", "times_seen": -1, "more": 1 },
  { "english": "Fetch it", "dom": "IT", "task": "FETCH" },
  { "english": "Fetch  it", "dom": "IT", "task": "FETCH" },
  { "english": "Fetch it", "dom": "FIN", "fields": [["a", "b|return:EVIL"]] } ] }"#;
        let found = Entry::from_document("r.json", text, Vocabulary::standard());
        insta::assert_snapshot!(found.unwrap_err().to_string(), @r#"
        r.json:1:3 at /version: the document is not of version 1
            write "version": 1, or update
        r.json:2:5 at /entries/0/english: the instruction is empty; say in English what to do
        r.json:3:3 at /entries/1: `dom`: field 1 is not a domain; write a domain of letters, digits, `_` and `-`
        r.json:3:70 at /entries/1/fields/0: expected a key and a value, both strings, found an array
            replace it with a key and a value, both strings
        r.json:3:79 at /entries/1/fields/1: `return` is the caller's
            remove the field
        r.json:4:28 at /entries/2/id: the id is of another instruction
            remove the id: it follows from `english`
        r.json:4:70 at /entries/2/times_seen: expected a whole number from 0 on
        r.json:4:88 at /entries/2/more: unknown key `more`
            the keys here are id, dom, english, task, fields, times_seen, keywords
        r.json:6:3 at /entries/4: the instruction stands twice in its domain
            keep one of the two
        r.json:7:3 at /entries/5: there is no `task`
            add "task": ".."
        "#);
    }
}
