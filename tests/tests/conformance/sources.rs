//! The tests of the workspace, found in its sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// Every test function, as the path of its file from the root, `::` and its name.
pub(crate) struct Tests(BTreeSet<String>);

impl Tests {
    /// Returns every test function of the workspace.
    pub(crate) fn of_workspace() -> Self {
        let mut found = BTreeSet::new();
        for folder in [
            "grammar",
            "registry",
            "accp-derive",
            "accp-runtime",
            "crates",
            "tests",
        ] {
            collect(&root(), Path::new(folder), &mut found);
        }
        Self(found)
    }

    /// Returns tests at these paths.
    pub(crate) fn new(paths: &[&str]) -> Self {
        Self(paths.iter().map(|path| (*path).to_owned()).collect())
    }

    /// Returns the path of the only test whose path ends in this name, or what is wrong with the name.
    pub(crate) fn find(&self, name: &str) -> Result<&str, String> {
        let is_end = |rest: &str| rest.is_empty() || rest.ends_with('/');
        let fits = |path: &&String| path.strip_suffix(name).is_some_and(is_end);
        let found: Vec<&String> = self.0.iter().filter(fits).collect();
        match found[..] {
            [path] => Ok(path),
            [] => Err(format!("there is no test `{name}`")),
            _ => Err(format!("`{name}` is one of {found:?}: name a longer path")),
        }
    }

    /// Returns the paths of the tests.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

fn collect(root: &Path, folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            collect(root, &path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let file = path.with_extension("");
            let file = file.to_str().unwrap();
            let text = fs::read_to_string(entry.path()).unwrap();
            found.extend(test_names(&text).map(|name| format!("{file}::{name}")));
        }
    }
}

/// Returns the functions after a line `#[test]`, also inside `proptest!`, and after `#[tokio::test]`.
pub(crate) fn test_names(text: &str) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    text.lines().map(str::trim).filter_map(move |line| {
        is_test |= line == "#[test]" || line.starts_with("#[tokio::test");
        let line = line.strip_prefix("async ").unwrap_or(line);
        let name = line.strip_prefix("fn ")?.split('(').next();
        name.filter(|_| std::mem::take(&mut is_test))
    })
}

/// Returns the tests that a cell names.
pub(crate) fn named(cell: &str) -> Vec<&str> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| name.contains("::"))
        .collect()
}

/// Returns the rows of the table under a heading of the second level, without the head.
pub(crate) fn table<'t>(document: &'t str, heading: &str) -> Vec<Vec<&'t str>> {
    let heading = format!("## {heading}\n");
    let (_, section) = document.split_once(&heading).unwrap_or_default();
    let section = section
        .split_once("\n## ")
        .map_or(section, |(section, _)| section);
    let rows = section.lines().filter_map(|line| {
        let row = line.strip_prefix("| ")?.strip_suffix(" |")?;
        let cells: Vec<&str> = row.split(" | ").collect();
        (cells[0] != "Id").then_some(cells)
    });
    rows.collect()
}
