//! Calls that write or edit files, and whether their results say that the write succeeded.

mod notebook;
mod patch;
mod reported;
mod table;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value as Json;

use crate::raw::{Pointer, PointerStep};
pub(crate) use notebook::sources;
pub(crate) use reported::{has_failed, reported};
use table::{Row, folded};
pub(crate) use table::{is_path, is_replaced};

/// A text with this many bytes or more is a long text, in the arguments of a tool that no table names.
const LONG: usize = 160;
/// Arguments are searched for paths and texts down to this depth.
const DEPTH: usize = 4;

/// The tools that write or edit files, and where their arguments have the path and the long texts.
///
/// A tool that is not in the table is recognised by its arguments, if they have a path and a long text. Case and
/// separators in the name of a tool do not count.
///
/// ```
/// use accp_memory::Writes;
///
/// let writes = Writes::default();
/// let more = r#"{"tools":[{"name":"put","path":"where","texts":["body"]}]}"#;
/// assert!(writes.clone().with(more).is_ok());
///
/// let refused = writes.with(r#"{"tools":[{"name":"put","path":"where","texts":[]}]}"#).unwrap_err();
/// assert_eq!(refused.to_string(), "tools[0].texts: expected the names of the arguments with long texts, \
///     found none");
/// ```
#[derive(Debug, Clone)]
pub struct Writes {
    /// By the folded names of the tools.
    rows: BTreeMap<String, Row>,
}

/// Why a file with writing tools is refused: the place in it, what was expected and what was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WritesError(String);

/// What a call writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Write {
    /// The files, as the call names them.
    pub(crate) paths: Vec<String>,
    /// The places of the long texts inside the arguments. If the arguments are a single text, the only place is that of
    /// this whole text.
    pub(crate) texts: Vec<Pointer>,
    /// The whole new content of the file, if the call gives it and writes only one file.
    pub(crate) whole: Option<String>,
    /// Whether the call changes a part of a file.
    pub(crate) edits: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UserFile {
    tools: Vec<UserRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UserRow {
    name: String,
    path: String,
    texts: Vec<String>,
}

impl Default for Writes {
    fn default() -> Self {
        Self {
            rows: table::rows(),
        }
    }
}

impl Writes {
    /// Returns the tools of the table.
    pub(crate) fn known() -> &'static Self {
        static KNOWN: LazyLock<Writes> = LazyLock::new(Writes::default);
        &KNOWN
    }

    /// Adds the tools of a user's file: `{"tools":[{"name":"put","path":"where","texts":["body"]}]}`. A name
    /// with dots, such as `file.path`, leads into objects and through lists.
    ///
    /// # Errors
    /// When the text is not such a document.
    pub fn with(mut self, json: &str) -> Result<Self, WritesError> {
        let file: UserFile = serde_json::from_str(json).map_err(|error| {
            WritesError(format!(
                "expected {{\"tools\":[{{\"name\":..,\"path\":..,\"texts\":[..]}}]}}: {error}"
            ))
        })?;
        for (index, row) in file.tools.into_iter().enumerate() {
            let fault = |member: &str, text: &str| {
                WritesError(format!("tools[{index}].{member}: expected {text}"))
            };
            let name = folded(&row.name);
            if name.is_empty() {
                return Err(fault("name", "the name of a tool, found no letters in it"));
            }
            if row.path.is_empty() {
                let text = "the name of the argument with the path, found an empty text";
                return Err(fault("path", text));
            }
            if row.texts.is_empty() {
                let text = "the names of the arguments with long texts, found none";
                return Err(fault("texts", text));
            }
            if row.texts.iter().any(String::is_empty) {
                return Err(fault("texts", "names, found an empty text"));
            }
            self.rows.insert(name, Row::of_user(row.path, row.texts));
        }
        Ok(self)
    }

    /// Adds the tools that write by their JSON Schemas: those with a path and a long text among their
    /// parameters. The definitions are those of a request, in the form of any provider.
    #[must_use]
    pub(crate) fn with_schemas(mut self, tools: &Json) -> Self {
        for tool in tools.as_array().into_iter().flatten() {
            let inside = tool.get("function").unwrap_or(tool);
            let schema = ["parameters", "input_schema", "inputSchema"];
            let schema = schema.iter().find_map(|key| inside.get(*key));
            let (Some(name), Some(schema)) = (inside["name"].as_str(), schema) else {
                continue;
            };
            let name = folded(name);
            if self.rows.contains_key(&name) {
                continue;
            }
            if let Some(row) = Row::of_schema(inside["name"].as_str().unwrap_or_default(), schema) {
                self.rows.insert(name, row);
            }
        }
        self
    }

    /// Returns what a call writes; `None` if it does not write.
    pub(crate) fn of(&self, tool: &str, arguments: &Json) -> Option<Write> {
        let known = self.row(tool);
        if let Some(text) = arguments.as_str() {
            known?;
            return Some(of_text(text));
        }
        if table::reads(arguments) {
            return None;
        }
        match known {
            Some(row) => found(row, arguments),
            None => unknown(tool, arguments),
        }
    }

    /// Returns the row of a tool. A server's name may stand before that of the tool.
    fn row(&self, tool: &str) -> Option<&Row> {
        let inner = tool.rsplit(['.', ':', '/']).next().unwrap_or(tool);
        let inner = inner.rsplit("__").next().unwrap_or(inner);
        let row = self.rows.get(&folded(tool));
        row.or_else(|| self.rows.get(&folded(inner)))
    }
}

/// Returns what a call writes if its arguments are a single text: a patch, or a text that names no file.
fn of_text(text: &str) -> Write {
    Write {
        paths: patch::paths(text),
        texts: vec![Pointer::default()],
        whole: patch::added(text),
        edits: patch::added(text).is_none(),
    }
}

/// Returns what a call of a known tool writes.
fn found(row: &Row, arguments: &Json) -> Option<Write> {
    let strings = |names: &[String]| {
        let mut places = Vec::new();
        for name in names {
            places.extend(places_of(arguments, name));
        }
        places.sort();
        places.dedup();
        places
    };
    let text = |place: &Pointer| place.value(arguments).and_then(Json::as_str);
    let texts = strings(&row.texts);
    let first = row.paths.iter().find_map(|name| {
        let places = places_of(arguments, name);
        (!places.is_empty()).then_some(places)
    });
    let mut paths = Vec::new();
    for place in first.unwrap_or_default() {
        paths.extend(text(&place).map(str::to_owned));
    }
    let patches = texts.iter().filter_map(text);
    if paths.is_empty() {
        paths = patches.clone().flat_map(patch::paths).collect();
    }
    paths.retain(|path| !path.trim().is_empty());
    paths.dedup();
    if paths.is_empty() && texts.is_empty() {
        return None;
    }
    let command = table::command(arguments);
    let edits = row.edits || command.is_some_and(table::edits);
    let whole = match &*paths {
        [_] if !edits => row
            .whole
            .iter()
            .find_map(|key| arguments.get(key)?.as_str()),
        _ => None,
    };
    let added = || match &*texts {
        [one] => text(one).and_then(patch::added),
        _ => None,
    };
    let whole = whole.map(str::to_owned).or_else(added);
    Some(Write {
        edits: edits && whole.is_none(),
        paths,
        texts,
        whole,
    })
}

/// Returns what a call writes by its arguments alone: a path and a long text.
fn unknown(tool: &str, arguments: &Json) -> Option<Write> {
    let row = Row::by_names(tool)?;
    let write = found(&row, arguments)?;
    let is_long = |place: &Pointer| {
        let text = place.value(arguments).and_then(Json::as_str);
        text.is_some_and(|text| text.len() >= LONG || text.contains('\n'))
    };
    let writes = !write.paths.is_empty() && write.texts.iter().any(is_long);
    writes.then_some(write)
}

/// Returns the places of the texts under a name: of the outermost member with this name, or in the objects and lists
/// below that member. A name with dots is a path that leads there by itself.
fn places_of(json: &Json, name: &str) -> Vec<Pointer> {
    let mut out = Vec::new();
    if name.contains('.') {
        let steps: Vec<_> = name.split('.').collect();
        follow(json, &steps, &Pointer::default(), &mut out);
    } else {
        search(json, name, &Pointer::default(), DEPTH, &mut out);
    }
    out
}

fn follow(json: &Json, steps: &[&str], at: &Pointer, out: &mut Vec<Pointer>) {
    match (json, steps) {
        (Json::String(_), []) => out.push(at.clone()),
        (Json::Array(items), _) => {
            for (index, item) in items.iter().enumerate() {
                follow(item, steps, &at.inside(index), out);
            }
        }
        (Json::Object(map), [step, rest @ ..]) => {
            if let Some(inside) = map.get(*step) {
                let key = PointerStep::Key(step.to_string().into());
                follow(inside, rest, &at.inside(key), out);
            }
        }
        _ => {}
    }
}

fn search(json: &Json, name: &str, at: &Pointer, depth: usize, out: &mut Vec<Pointer>) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    match json {
        Json::Object(map) => {
            if let Some(Json::String(_)) = map.get(name) {
                out.push(at.inside(PointerStep::Key(name.to_owned().into())));
                return;
            }
            for (key, value) in map {
                let at = at.inside(PointerStep::Key(key.clone().into()));
                search(value, name, &at, depth, out);
            }
        }
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                search(item, name, &at.inside(index), depth, out);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
