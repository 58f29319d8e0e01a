//! The table of tools that write, and the names that their arguments have.

use std::collections::BTreeMap;

use accp_registry::words;
use serde_json::Value as Json;

/// The names of an argument with the path of a file, the surest first.
const PATHS: [&str; 14] = [
    "path",
    "file_path",
    "filePath",
    "filepath",
    "filename",
    "file_name",
    "target_file",
    "notebook_path",
    "target_notebook",
    "relative_path",
    "relative_workspace_path",
    "TargetFile",
    "AbsolutePath",
    "file",
];
/// The names of an argument with the content of a file.
const CONTENTS: [&str; 10] = [
    "content",
    "contents",
    "file_text",
    "file_content",
    "fileContent",
    "text",
    "body",
    "data",
    "CodeContent",
    "code",
];
/// The names of an argument with a part of a file or a change to it.
const PARTS: [&str; 30] = [
    "old_str",
    "new_str",
    "old_string",
    "new_string",
    "oldString",
    "newString",
    "old_text",
    "new_text",
    "oldText",
    "newText",
    "old_source",
    "new_source",
    "old_content",
    "new_content",
    "insert_text",
    "insertText",
    "code_edit",
    "edit",
    "search",
    "replace",
    "replacement",
    "to_replace",
    "new_code",
    "patch",
    "diff",
    "input",
    "source",
    "cell_source",
    "ReplacementContent",
    "replacement_text",
];
/// The names, folded, of an argument with the part of a file that an edit replaces.
const REPLACED: [&str; 7] = [
    "oldstr",
    "oldstring",
    "oldtext",
    "oldsource",
    "oldcontent",
    "search",
    "toreplace",
];
/// Tools that write whole files.
const WHOLE: [&str; 24] = [
    "create",
    "create_file",
    "create_new_file",
    "create_text_file",
    "create_or_update_file",
    "create_file_with_content",
    "file_write",
    "fs_write",
    "memory",
    "new_file",
    "overwrite_file",
    "push_files",
    "put_file",
    "save",
    "save_file",
    "save_to_file",
    "write",
    "write_file",
    "write_files",
    "write_new_file",
    "write_text",
    "write_text_file",
    "write_to_file",
    "write_file_content",
];
/// Tools that change parts of files, or whose `command` says what they do.
const EDITS: [&str; 46] = [
    "append",
    "append_file",
    "append_to_file",
    "apply_diff",
    "apply_edit",
    "apply_patch",
    "edit",
    "edit_cell",
    "edit_existing_file",
    "edit_file",
    "edit_file_by_replace",
    "edit_notebook",
    "edit_notebook_cell",
    "file_edit",
    "file_editor",
    "find_and_replace",
    "insert",
    "insert_content",
    "insert_edit_into_file",
    "insert_lines",
    "insert_text",
    "modify_file",
    "multi_edit",
    "multi_replace_string_in_file",
    "multi_str_replace",
    "notebook_edit",
    "notebook_edit_cell",
    "patch",
    "patch_file",
    "propose_code",
    "replace",
    "replace_file_content",
    "replace_in_file",
    "replace_lines",
    "replace_string_in_file",
    "search_and_replace",
    "search_replace",
    "single_find_and_replace",
    "str_replace",
    "str_replace_based_edit_tool",
    "str_replace_editor",
    "text_editor",
    "update_file",
    "update_file_content",
    "write_diff",
    "write_patch",
];
/// Editors whose `command` decides between a whole file and a part.
const BY_COMMAND: [&str; 6] = [
    "str_replace_editor",
    "str_replace_based_edit_tool",
    "text_editor",
    "file_editor",
    "fs_write",
    "memory",
];
/// The commands that write a whole file.
const CREATING: [&str; 5] = ["create", "write", "overwrite", "create_file", "save"];
/// The commands that only read, or take back.
const READING: [&str; 9] = [
    "view",
    "read",
    "list",
    "open",
    "ls",
    "cat",
    "find",
    "search",
    "undo_edit",
];
/// Words in the names of tools that have a path and a text and do not write a file.
const OTHER: [&str; 33] = [
    "analyze", "ask", "check", "compare", "count", "describe", "diff", "eval", "evaluate",
    "execute", "exec", "explain", "fetch", "find", "get", "grep", "lint", "list", "load", "lookup",
    "open", "parse", "post", "query", "read", "review", "run", "search", "send", "show", "test",
    "validate", "view",
];
/// Words in the names of tools that change parts.
const CHANGING: [&str; 9] = [
    "append", "edit", "insert", "modify", "patch", "prepend", "replace", "update", "change",
];

/// Where the arguments of a tool have what it writes.
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
        let texts: Vec<String> = owned(&CONTENTS);
        Self {
            paths: owned(&PATHS),
            whole: if edits { Vec::new() } else { texts.clone() },
            texts: texts.into_iter().chain(owned(&PARTS)).collect(),
            edits,
        }
    }

    pub(super) fn of_user(path: String, texts: Vec<String>) -> Self {
        Self {
            paths: vec![path],
            // One text is the content: a comparison with the file says whether that is so.
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
        let is = |all: &[&str]| words(tool).any(|word| all.contains(&&*word.to_ascii_lowercase()));
        let changes = is(&CHANGING);
        (changes || !is(&OTHER)).then(|| Self::standard(changes))
    }

    /// Returns the row of a tool whose schema has a path and a text, both texts.
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
    let whole = WHOLE
        .iter()
        .map(|name| (folded(name), Row::standard(false)));
    let edits = EDITS.iter().map(|name| {
        let by_command = BY_COMMAND.contains(name);
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
    REPLACED.contains(&&*folded(name))
}

/// Returns the command of an editor.
pub(super) fn command(arguments: &Json) -> Option<&str> {
    arguments.get("command")?.as_str()
}

/// Returns whether a command of an editor changes a part of a file.
pub(super) fn edits(command: &str) -> bool {
    !CREATING.contains(&command)
}

/// Returns whether the arguments have a command that writes nothing.
pub(super) fn reads(arguments: &Json) -> bool {
    command(arguments).is_some_and(|command| READING.contains(&command))
}
