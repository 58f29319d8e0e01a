//! The table of doors in `docs/conformance.md`: each requirement has a test, or a reason for none, at each door
//! through which a user reaches a session.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::sources::{Tests, named, root, table};

/// The columns of the table, under the names that the doors have in `table.rs`.
const DOORS: [&str; 7] = ["inside", "socket", "types", "command", "http", "mcp", "a2a"];

/// Reads which scenarios run through which door: lines such as `door!(http, Http: texts, kinds);`.
fn offered(source: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let doors = source.split("door!(").skip(1).filter_map(|door| {
        let (door, _) = door.split_once(");")?;
        let (name, rest) = door.split_once(',')?;
        // The scenarios come after the type, whose path has colons of its own.
        let (_, scenarios) = rest.rsplit_once(": ")?;
        let scenarios = scenarios.split(',').map(str::trim);
        Some((
            name.trim(),
            scenarios.filter(|name| !name.is_empty()).collect(),
        ))
    });
    doors.collect()
}

/// Returns what is wrong with the table.
fn faults(document: &str, ids: &[&str], tests: &Tests, source: &str) -> Vec<String> {
    let (rows, offered) = (table(document, "Doors"), offered(source));
    let mut faults = Vec::new();
    let stand: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    if stand != ids {
        faults.push(format!(
            "the rows are {stand:?}, and the requirements are {ids:?}"
        ));
    }
    let mut used = BTreeSet::new();
    for row in &rows {
        let [id, cells @ ..] = &row[..] else { continue };
        if cells.len() != DOORS.len() {
            faults.push(format!("{id} has {} doors", cells.len()));
        }
        for (door, cell) in DOORS.into_iter().zip(cells) {
            let mut fault = |what: String| faults.push(format!("{id}, {door}: {what}"));
            let scenario = cell.trim_matches('`');
            if cell.starts_with("none: ") {
                if !document.contains(&format!("- `{cell}`: ")) {
                    fault(format!("the reason `{cell}` is not explained"));
                }
            } else if let [name] = named(cell)[..] {
                if let Err(what) = tests.find(name) {
                    fault(what);
                }
            } else if offered.get(door).is_some_and(|all| all.contains(scenario)) {
                used.insert((door, scenario));
            } else {
                fault(format!("`{scenario}` is no scenario of this door"));
            }
        }
    }
    for (door, scenarios) in &offered {
        for scenario in scenarios
            .iter()
            .filter(|name| !used.contains(&(*door, **name)))
        {
            faults.push(format!(
                "{door}: the scenario `{scenario}` does not stand in the table"
            ));
        }
    }
    faults
}

#[test]
fn every_requirement_has_a_test_at_each_door_that_offers_it() {
    let document = fs::read_to_string(root().join("docs/conformance.md")).unwrap();
    let source = fs::read_to_string(root().join("crates/cli/tests/doors/table.rs")).unwrap();
    let covered = table(&document, "What is covered");
    let ids: Vec<&str> = covered.iter().map(|row| row[0]).collect();
    let faults = faults(&document, &ids, &Tests::of_workspace(), &source);
    assert_eq!(faults, [""; 0]);
}

/// The check finds each kind of mistake in a table.
#[test]
fn a_broken_table_of_doors_is_found() {
    let tests = Tests::new(&["crates/cli/tests/doors/http::reads"]);
    let source = "door!(http, super::Http: texts, once);\n door!(\n mcp,\n super::Mcp: texts\n);";
    let good = "## Doors\n\n- `none: link`: no.\n\n| Id | Doors |\n|---|---|\n\
        | A-01 | none: link | none: link | none: link | none: link | `texts` | `texts` | none: link |\n\
        | A-02 | none: link | none: link | none: link | none: link | `once` | none: link | `http::reads` |\n\n## Next\n";
    let check = |document: &str| faults(document, &["A-01", "A-02"], &tests, source);
    assert_eq!(check(good), [""; 0]);
    for (from, to, said) in [
        ("| A-01", "| A-03", "the rows are"),
        (
            "`texts` | none",
            "`once` | none",
            "A-01, mcp: `once` is no scenario of this door",
        ),
        (
            "`once`",
            "none: link",
            "http: the scenario `once` does not stand in the table",
        ),
        (
            "none: link |",
            "none: time |",
            "A-01, a2a: the reason `none: time` is not explained",
        ),
        (
            "http::reads",
            "http::writes",
            "there is no test `http::writes`",
        ),
        (
            "`http::reads`",
            "open",
            "A-02, a2a: `open` is no scenario of this door",
        ),
        ("`http::reads` |", "|", "A-02 has 6 doors"),
        (
            "| none: link | `http::reads`",
            "|  | `http::reads`",
            "A-02, mcp: `` is no scenario",
        ),
    ] {
        let faults = check(&good.replace(from, to)).join("; ");
        assert!(faults.contains(said), "{from} -> {to}: {faults}");
    }
}
