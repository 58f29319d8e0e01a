//! Reads the sources of the cells of a notebook, for comparison with the texts of a call.

use serde_json::Value as Json;

/// Returns the sources of the cells of a notebook, one after the other. `None` if the file is not a notebook.
pub(crate) fn sources(file: &str) -> Option<String> {
    let json: Json = serde_json::from_str(file).ok()?;
    let cells = json["cells"].as_array()?.iter();
    let source = |cell: &Json| match &cell["source"] {
        Json::Array(lines) => lines.iter().filter_map(Json::as_str).collect(),
        source => source.as_str().unwrap_or_default().to_owned(),
    };
    Some(cells.map(source).collect::<Vec<_>>().join("\n"))
}
