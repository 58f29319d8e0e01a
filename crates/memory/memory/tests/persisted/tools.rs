//! Eight tools that write files: what a call says, what the tool does, and whether the disk has the input.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::common::lists::next;

/// The tools, each with the JSON Schema of its arguments.
pub(crate) fn schemas() -> Vec<(&'static str, Json)> {
    let object = |members: &[(&str, &str)]| {
        let names: Vec<_> = members.iter().map(|(name, _)| *name).collect();
        let types = members
            .iter()
            .map(|(name, kind)| ((*name).to_owned(), json!({ "type": kind })));
        let properties: serde_json::Map<_, _> = types.collect();
        json!({ "type": "object", "properties": properties, "required": names, "additionalProperties": false })
    };
    let text = "string";
    vec![
        (
            "create_file",
            object(&[("path", text), ("content", text), ("overwrite", "boolean")]),
        ),
        (
            "write_file",
            object(&[("file_path", text), ("contents", text), ("mode", text)]),
        ),
        (
            "edit",
            object(&[
                ("file_path", text),
                ("old_string", text),
                ("new_string", text),
                ("times", "integer"),
            ]),
        ),
        (
            "str_replace_editor",
            object(&[
                ("command", text),
                ("path", text),
                ("old_str", text),
                ("new_str", text),
            ]),
        ),
        ("apply_patch", object(&[("input", text)])),
        (
            "notebook_edit",
            object(&[
                ("notebook_path", text),
                ("cell_id", text),
                ("new_source", text),
            ]),
        ),
        (
            "publish",
            object(&[("filename", text), ("body", text), ("draft", "boolean")]),
        ),
        (
            "put",
            object(&[("where", text), ("what", text), ("tags", "array")]),
        ),
    ]
}

/// What happens in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    /// The tool writes, and reports that.
    Good,
    /// The tool writes, and does not report that.
    Silent,
    /// The tool does not write, and reports the failure.
    Failed,
    /// The tool does not write, but reports that it did.
    Lied,
    /// The tool writes and reports that. Then somebody changes the file.
    Changed,
    /// The tool writes and reports that. Then somebody removes the file.
    Gone,
}

const FATES: [Fate; 8] = [
    Fate::Good,
    Fate::Good,
    Fate::Good,
    Fate::Silent,
    Fate::Failed,
    Fate::Lied,
    Fate::Changed,
    Fate::Gone,
];

/// A call, and its outcome.
#[derive(Debug, Clone)]
pub(crate) struct Wrote {
    pub(crate) tool: &'static str,
    pub(crate) fate: Fate,
    pub(crate) arguments: Json,
    pub(crate) result: &'static str,
    file: PathBuf,
    /// The text that the file has after a successful call.
    has: String,
    /// The text that an edit removes from the file; `None` if the call is not an edit.
    lost: Option<String>,
}

/// A folder in which tools write.
pub(crate) struct TestSession {
    pub(crate) work: tempfile::TempDir,
    seed: u64,
    count: usize,
}

impl TestSession {
    pub(crate) fn of(seed: u64) -> Self {
        let work = tempfile::tempdir().expect("a folder");
        Self {
            work,
            seed: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            count: 0,
        }
    }

    fn pick(&mut self, below: usize) -> usize {
        usize::try_from(next(&mut self.seed, below as u64)).expect("small")
    }

    /// Calls a tool at random. If the file existed before the call, it had another content.
    pub(crate) fn call(&mut self) -> Wrote {
        self.count += 1;
        let (tool, fate) = (schemas()[self.pick(8)].0, FATES[self.pick(8)]);
        let kind = if tool == "notebook_edit" {
            "ipynb"
        } else {
            "md"
        };
        let path = format!("out/file{}.{kind}", self.count);
        let (long, short) = (self.text(200), self.text(2));
        let file = self.work.path().join(&path);
        // In an edit, either the old or the new text is long.
        let (old, new) = if self.pick(2) == 0 {
            (short, long.clone())
        } else {
            (long.clone(), short)
        };
        let (arguments, before, has, lost) = match tool {
            "create_file" => (
                json!({ "path": path, "content": long, "overwrite": true }),
                String::new(),
                long,
                None,
            ),
            "write_file" => (
                json!({ "file_path": path, "contents": long, "mode": "w" }),
                String::new(),
                long,
                None,
            ),
            "edit" => {
                let arguments =
                    json!({ "file_path": path, "old_string": old, "new_string": new, "times": 1 });
                (arguments, format!("# Head\n{old}\nend\n"), new, Some(old))
            }
            "str_replace_editor" => {
                let arguments = json!({ "command": "str_replace", "path": path, "old_str": old, "new_str": new });
                (arguments, format!("# Head\n{old}\nend\n"), new, Some(old))
            }
            "apply_patch" => {
                let lines = long
                    .lines()
                    .fold(String::new(), |all, line| all + "+" + line + "\n");
                let change = format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch");
                (json!({ "input": change }), String::new(), long, None)
            }
            "notebook_edit" => {
                let arguments =
                    json!({ "notebook_path": path, "cell_id": "c1", "new_source": long });
                (arguments, String::new(), long, None)
            }
            "publish" => (
                json!({ "filename": path, "body": long, "draft": false }),
                String::new(),
                long,
                None,
            ),
            _ => (
                json!({ "where": path, "what": long, "tags": ["a", "b"] }),
                String::new(),
                long,
                None,
            ),
        };
        let after = match &lost {
            Some(old) => before.replace(old.as_str(), &has),
            None if kind == "ipynb" => notebook(&has),
            None => has.clone(),
        };
        fs::create_dir_all(file.parent().expect("a folder")).expect("it is made");
        match fate {
            Fate::Good | Fate::Silent => fs::write(&file, after).expect("it writes"),
            Fate::Changed => {
                fs::write(&file, after.replacen("row 1", "row one", 1)).expect("it writes");
            }
            Fate::Failed | Fate::Lied => fs::write(&file, before).expect("it writes"),
            Fate::Gone => {}
        }
        let result = match fate {
            Fate::Silent => "7",
            Fate::Failed => "Error: disk full, nothing was written",
            _ => "File written successfully",
        };
        Wrote {
            tool,
            fate,
            arguments,
            result,
            file,
            has,
            lost,
        }
    }

    /// Returns lines of a text that occurs nowhere else.
    fn text(&mut self, lines: usize) -> String {
        let mark = self.pick(1_000_000);
        (1..=lines).fold(String::new(), |text, line| {
            let number = self.pick(1_000_000);
            text + &format!("row {line} of {mark}: {number}\n")
        })
    }
}

impl Wrote {
    /// Returns whether the disk has the input. If the file cannot be read, the words of the tool decide.
    pub(crate) fn is_on_disk(&self) -> bool {
        let Ok(file) = fs::read_to_string(&self.file) else {
            return self.result.contains("success");
        };
        let is_said = !self.result.starts_with("Error");
        match &self.lost {
            Some(lost) => is_said && file.contains(&self.has) && !file.contains(lost.as_str()),
            None if self.tool == "notebook_edit" => is_said && file == notebook(&self.has),
            None => is_said && file == self.has,
        }
    }
}

/// Returns a notebook with two cells, the second with this source.
fn notebook(source: &str) -> String {
    let lines: Vec<_> = source.split_inclusive('\n').collect();
    let cell = |id: &str, lines: Json| json!({ "cell_type": "code", "id": id, "source": lines });
    json!({ "nbformat": 4, "cells": [cell("c0", "import re".into()), cell("c1", lines.into())] })
        .to_string()
}

/// Returns whether a value has the shape that a schema asks for.
pub(crate) fn fits(schema: &Json, value: &Json) -> bool {
    let is = |kind: &Json, value: &Json| match kind.as_str() {
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64(),
        Some("array") => value.is_array(),
        _ => value.is_object(),
    };
    let Some(members) = value.as_object() else {
        return false;
    };
    let properties = &schema["properties"];
    let required = schema["required"].as_array().into_iter().flatten();
    required
        .filter_map(Json::as_str)
        .all(|name| members.contains_key(name))
        && members.iter().all(|(name, value)| {
            properties
                .get(name)
                .is_some_and(|one| is(&one["type"], value))
        })
}

/// Returns all files below a folder with their bytes.
pub(crate) fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            let bytes = fs::read(&path).expect("a file");
            all.push((path, bytes));
        }
    }
    all.sort();
    all
}
