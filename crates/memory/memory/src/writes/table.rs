//! The table of tools that write, and the names that their arguments have.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::words::in_name;

words! {
    "table.json";
    /// The names of an argument with the path of a file, the surest first.
    paths,
    /// The names of an argument with the content of a file.
    contents,
    /// The names of an argument with a part of a file or a change to it.
    parts,
    /// The names, folded, of an argument with the part of a file that an edit replaces.
    replaced,
    /// Tools that write whole files.
    whole,
    /// Tools that change parts of files, or whose `command` says what they do.
    edits,
    /// Editors whose `command` decides between a whole file and a part.
    by_command,
    /// The commands that write a whole file.
    creating,
    /// The commands that only read, or undo a change.
    reading,
    /// Words in the names of tools that have a path and a text and do not write a file.
    other,
    /// Words in the names of tools that change parts.
    changing,
}

/// The names of the arguments in which a tool gets what it writes.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// The names of the argument with the path, the surest first.
    pub(super) paths: Vec<String>,
    pub(super) texts: Vec<String>,
    /// The names of the argument with the content of the whole file.
    pub(super) whole: Vec<String>,
    pub(super) edits: bool,
}

impl Row {
    fn standard(edits: bool) -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let texts: Vec<String> = owned(&WORDS.contents);
        Self {
            paths: owned(&WORDS.paths),
            whole: if edits { Vec::new() } else { texts.clone() },
            texts: texts.into_iter().chain(owned(&WORDS.parts)).collect(),
            edits,
        }
    }

    pub(super) fn of_user(path: String, texts: Vec<String>) -> Self {
        Self {
            paths: vec![path],
            // A single text counts as the content until a comparison with the file shows otherwise.
            whole: if texts.len() == 1 {
                texts.clone()
            } else {
                Vec::new()
            },
            texts,
            edits: false,
        }
    }

    /// Returns the row of a tool that no table names. `None` if its name says that it does something else.
    pub(super) fn by_names(tool: &str) -> Option<Self> {
        let changes = in_name(tool, &WORDS.changing);
        (changes || !in_name(tool, &WORDS.other)).then(|| Self::standard(changes))
    }

    /// Returns the row of a tool whose schema has a path and a text among its strings.
    pub(super) fn of_schema(tool: &str, schema: &Json) -> Option<Self> {
        let row = Self::by_names(tool)?;
        let is_text = |name: &String| {
            let member = schema.get("properties")?.get(name)?;
            Some(member["type"].is_null() || member["type"] == "string")
        };
        let has = |names: &[String]| names.iter().any(|name| is_text(name) == Some(true));
        (has(&row.paths) && has(&row.texts)).then_some(row)
    }
}

/// Returns the rows of the known tools, by their folded names.
pub(super) fn rows() -> BTreeMap<String, Row> {
    let whole = WORDS
        .whole
        .iter()
        .map(|name| (folded(name), Row::standard(false)));
    let edits = WORDS.edits.iter().map(|name| {
        let by_command = WORDS.by_command.contains(name);
        (folded(name), Row::standard(!by_command))
    });
    whole.chain(edits).collect()
}

/// Returns the name of a tool without case and separators.
pub(super) fn folded(tool: &str) -> String {
    let letters = tool.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns whether an argument of this name has the part of a file that an edit replaces.
pub(crate) fn is_replaced(name: &str) -> bool {
    WORDS.replaced.contains(&&*folded(name))
}

/// Returns whether an argument of this name has the path of a file.
pub(crate) fn is_path(name: &str) -> bool {
    WORDS.paths.contains(&name)
}

/// Returns the command of an editor.
pub(super) fn command(arguments: &Json) -> Option<&str> {
    arguments.get("command")?.as_str()
}

/// Returns whether a command of an editor changes a part of a file.
pub(super) fn edits(command: &str) -> bool {
    !WORDS.creating.contains(&command)
}

/// Returns whether the arguments have a command that writes nothing.
pub(super) fn reads(arguments: &Json) -> bool {
    command(arguments).is_some_and(|command| WORDS.reading.contains(&command))
}
