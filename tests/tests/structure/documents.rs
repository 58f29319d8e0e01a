//! Checks that each test that a document names exists.

use std::collections::BTreeSet;
use std::path::Path;

use accp_runtime::ErrorCode;

use super::workspace::{self, Sources};

/// The documents in which `file::function` in backticks is the name of a test.
const DOCUMENTS: [&str; 2] = ["docs/limits.md", "docs/security.md"];

/// Returns the names of tests in the last cells of the tables of a document.
fn named(document: &str) -> impl Iterator<Item = (&str, &str)> {
    let rows = document.lines().filter(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.trim_end_matches([' ', '|']).rsplit('|').next());
    let quoted = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    quoted.filter_map(|name| name.split_once("::"))
}

/// Returns the names of tests that exist in no file.
fn unknown<'d>(document: &'d str, sources: &Sources) -> BTreeSet<(&'d str, &'d str)> {
    let has = |path: &Path, text: &str, file: &str, function: &str| {
        let is_it = path.file_stem().is_some_and(|stem| stem == file);
        is_it && text.contains(&format!("fn {function}("))
    };
    let names = named(document);
    names
        .filter(|(file, function)| {
            let mut sources = sources.iter();
            !sources.any(|(path, text)| has(path, text, file, function))
        })
        .collect()
}

#[test]
fn tests_that_documents_name_are_there() {
    let top = workspace::top();
    let sources = workspace::sources(&top).unwrap();
    for name in DOCUMENTS {
        let document = std::fs::read_to_string(top.join(name)).unwrap();
        assert!(named(&document).count() > 10, "{name} names no tests");
        let unknown = unknown(&document, &sources);
        assert!(unknown.is_empty(), "{name}: {unknown:#?}");
    }
}

#[test]
fn the_page_of_the_hub_has_each_code_of_an_error() {
    let page = std::fs::read_to_string(workspace::top().join("docs/hub.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| E"));
    let rows = rows.map(|row| row.split('|').map(str::trim).skip(1).take(3));
    let rows: Vec<_> = rows
        .map(|cells| cells.collect::<Vec<_>>().join(" "))
        .collect();
    let codes = ErrorCode::ALL.iter().map(|code| {
        let is_later = code.is_retryable() == Some(true);
        let later = if is_later { "yes" } else { "no" };
        format!("{code} {} {later}", code.name().unwrap_or_default())
    });
    assert_eq!(rows, codes.collect::<Vec<_>>());
}

#[test]
fn a_name_without_a_test_is_found() {
    let sources = Sources::from([("a/tests/b.rs".into(), "fn there() {}".into())]);
    let document = "| `x::y` | `b::there`, `b::gone` |\n| a | `c::there` |\n`d::e`";
    let found = BTreeSet::from([("b", "gone"), ("c", "there")]);
    assert_eq!(unknown(document, &sources), found);
}
