//! Compares `docs/conformance.md` with the tests: every requirement is listed once, every named test
//! exists, and no layer lacks a test.

mod doors;
mod layers;
mod sources;

use std::fs;

use sources::{Tests, named, root, table, test_names};

/// The requirements of the draft by family, with the number of each.
const FAMILIES: [(&str, u32); 22] = [
    ("FRAME", 10),
    ("OPT", 6),
    ("SIZE", 2),
    ("ENV", 5),
    ("ERR", 2),
    ("DLV", 5),
    ("INT", 2),
    ("KEY", 1),
    ("OP", 2),
    ("ST", 3),
    ("CKP", 8),
    ("DEL", 2),
    ("REG", 5),
    ("API", 3),
    ("BUD", 2),
    ("STR", 3),
    ("SEC", 5),
    ("LVL", 1),
    ("HTTP", 3),
    ("WS", 2),
    ("MCP", 2),
    ("A2A", 1),
];
const PROFILES: [&str; 6] = ["PRO-CH", "PRO-TC", "PRO-TX", "PRO-ST", "PRO-TA", "PRO-ALL"];

struct Row {
    id: String,
    /// The cells under "Accepts" and "Refuses". Empty in the table of open requirements.
    cells: Vec<String>,
}

fn document() -> String {
    fs::read_to_string(root().join("docs/conformance.md")).unwrap()
}

/// Returns the rows of the table under a heading, of this number of cells.
fn rows(heading: &str, cells: usize) -> Vec<Row> {
    let text = document();
    let rows = table(&text, heading).into_iter().map(|row| {
        assert_eq!(row.len(), cells, "{row:?}");
        Row {
            id: row[0].to_owned(),
            cells: row[3..].iter().map(|cell| (*cell).to_owned()).collect(),
        }
    });
    rows.collect()
}

/// Returns the rows of the two tables: covered requirements, and open requirements.
fn tables() -> (Vec<Row>, Vec<Row>) {
    (rows("What is covered", 5), rows("Not yet", 3))
}

/// Returns the rows of the table of AACP.
fn packets() -> Vec<Row> {
    rows("AACP packets", 5)
}

/// Returns the rows of the table of shared folders.
fn folders() -> Vec<Row> {
    rows("Shared folders", 5)
}

/// Returns the rows of the table of lists of messages.
fn lists() -> Vec<Row> {
    rows("Lists of messages", 5)
}

/// Expands ranges of ids: `OPT-04..06` is three ids, `INT-01` is one.
fn expand(ids: &str) -> Vec<String> {
    let ids = ids
        .split(',')
        .map(str::trim)
        .map(|id| id.trim_end_matches('.'));
    let expanded = ids.flat_map(|id| match id.split_once("..") {
        None => vec![id.to_owned()],
        Some((first, last)) => {
            let (family, first) = first.rsplit_once('-').unwrap();
            let numbers = first.parse::<u32>().unwrap()..=last.parse().unwrap();
            numbers
                .map(|number| format!("{family}-{number:02}"))
                .collect()
        }
    });
    expanded.collect()
}

#[test]
fn every_requirement_stands_in_the_document_once() {
    let (covered, later) = tables();
    let mut stands: Vec<String> = covered
        .iter()
        .chain(&later)
        .map(|row| row.id.clone())
        .collect();
    let mut expected: Vec<String> = PROFILES.map(str::to_owned).to_vec();
    for (family, count) in FAMILIES {
        expected.extend((1..=count).map(|number| format!("{family}-{number:02}")));
    }
    stands.sort_unstable();
    expected.sort_unstable();
    assert_eq!(stands, expected);
}

#[test]
fn every_requirement_of_packets_stands_in_the_document_once() {
    let mut stands: Vec<String> = packets().into_iter().map(|row| row.id).collect();
    stands.sort_unstable();
    let expected: Vec<String> = (1..=71).map(|number| format!("AACP-{number:02}")).collect();
    assert_eq!(stands, expected);
}

#[test]
fn every_requirement_of_shared_folders_stands_in_the_document_once() {
    let mut stands: Vec<String> = folders().into_iter().map(|row| row.id).collect();
    stands.sort_unstable();
    let expected: Vec<String> = (1..=68).map(|number| format!("COL-{number:02}")).collect();
    assert_eq!(stands, expected);
}

#[test]
fn every_requirement_of_lists_of_messages_stands_in_the_document_once() {
    let mut stands: Vec<String> = lists().into_iter().map(|row| row.id).collect();
    stands.sort_unstable();
    let expected: Vec<String> = (1..=74).map(|number| format!("CTX-{number:02}")).collect();
    assert_eq!(stands, expected);
}

#[test]
fn every_requirement_of_shared_folders_has_both_tests() {
    both_tests(folders(), "crates/peers/collab/tests/requirements/");
}

#[test]
fn every_requirement_of_lists_of_messages_has_both_tests() {
    both_tests(lists(), "crates/memory/memory/tests/requirements/");
}

/// Checks that each requirement has a test that accepts and a test that refuses. Checks that the rows name every
/// test in the folder.
fn both_tests(rows: Vec<Row>, folder: &str) {
    let tests = Tests::of_workspace();
    let mut named_tests = Vec::new();
    for Row { id, cells } in rows {
        let prefix = id.to_lowercase().replace('-', "_");
        for (cell, kind) in cells.iter().zip(["accepts", "refuses"]) {
            let names = named(cell);
            let start = format!("{prefix}_{kind}_");
            let is_of_it = |name: &&&str| name.split("::").last().unwrap().starts_with(&start);
            assert!(
                names.iter().any(|name| is_of_it(&name)),
                "{id} has no test that {kind}"
            );
            for name in names {
                named_tests.push(tests.find(name).unwrap().to_owned());
            }
        }
    }
    let left_out = tests.paths().filter(|path| path.starts_with(folder));
    let left_out = left_out.filter(|path| named_tests.iter().all(|named| named != path));
    assert_eq!(left_out.collect::<Vec<_>>(), [""; 0]);
}

/// Every requirement of the draft's levels 1 to 3 is covered.
#[test]
fn what_is_not_covered_yet_is_the_transports() {
    let is_later = |row: &Row| {
        let family = row.id.split('-').next();
        matches!(family, Some("HTTP" | "WS" | "MCP" | "A2A"))
    };
    let (_, later) = tables();
    let others = later.iter().filter(|row| !is_later(row));
    assert_eq!(others.map(|row| &row.id).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn the_list_of_what_is_covered_is_the_table() {
    let text = document();
    let list = text
        .split_once("Covered:")
        .unwrap()
        .1
        .split_once("\n\n")
        .unwrap()
        .0;
    let (covered, _) = tables();
    let ids: Vec<&String> = covered.iter().map(|row| &row.id).collect();
    assert_eq!(expand(list).iter().collect::<Vec<_>>(), ids);
}

#[test]
fn every_requirement_names_tests_that_exist() {
    let tests = Tests::of_workspace();
    let all = tables().0.into_iter().chain(packets()).chain(folders());
    let all = all.chain(lists());
    for Row { id, cells } in all {
        let [accepts, refuses] = &cells[..] else {
            panic!("{id} has cells {cells:?}")
        };
        let (accepting, refusing) = (named(accepts), named(refuses));
        assert!(
            !(accepting.is_empty() && refusing.is_empty()),
            "{id} names no test"
        );
        // If a requirement has no accepting or no refusing test, that cell holds the reason.
        assert!(
            !accepts.trim().is_empty() && !refuses.trim().is_empty(),
            "{id}"
        );
        for name in accepting.iter().chain(&refusing) {
            assert_eq!(tests.find(name).err(), None, "{id}");
        }
        let prefix = id.to_lowercase().replace('-', "_");
        for (names, kind) in [(accepting, "accepts"), (refusing, "refuses")] {
            for name in names
                .iter()
                .filter_map(|name| name.strip_prefix("conformance_"))
            {
                let test = name.split("::").nth(1).unwrap();
                assert!(
                    test.starts_with(&format!("{prefix}_{kind}_")),
                    "{id} names {test}"
                );
            }
        }
    }
}

#[test]
fn every_test_of_conformance_stands_in_the_document() {
    let covered: Vec<Row> = tables().0.into_iter().chain(packets()).collect();
    let cells = covered.iter().flat_map(|row| &row.cells);
    let text: String = cells.map(String::as_str).collect();
    let tests = Tests::of_workspace();
    let names = tests.paths().filter_map(|path| path.rsplit('/').next());
    let left_out: Vec<&str> = names
        .filter(|name| name.starts_with("conformance_") && !text.contains(&format!("`{name}`")))
        .collect();
    assert_eq!(left_out, [""; 0]);
}

/// Only functions with the attribute count as tests. Cells and ranges are read correctly.
#[test]
fn a_test_is_found_by_its_attribute_alone() {
    let text = "
        fn helper() {}
        #[test]
        #[ignore]
        fn real() {}
        proptest! {
            #[test]
            /// Why.
            fn inside(x: u8) {}
        }
        fn after() {}
    ";
    assert_eq!(test_names(text).collect::<Vec<_>>(), ["real", "inside"]);
    assert_eq!(named("`a::b`<br>`c::d`, `x`"), ["a::b", "c::d"]);
    assert_eq!(expand("A-01, B-02..03."), ["A-01", "B-02", "B-03"]);
}
