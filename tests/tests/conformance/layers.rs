//! The table of layers in `docs/conformance.md`: each requirement has a test at each layer where it
//! can be broken.

use std::collections::BTreeSet;
use std::fs;

use super::sources::{Tests, named, root, table};

const LAYERS: [&str; 3] = ["codec", "session", "delivery"];

/// Layers that have no test yet. Whoever writes such a test names it in the table and removes the layer from this
/// list. Now all layers have tests.
const OPEN: [(&str, &str); 0] = [];

/// Folders whose tests run sessions.
const SESSIONS: [&str; 6] = [
    "tests/tests/sessions/",
    "crates/hub/store/tests/",
    "crates/hub/hub/tests/",
    "crates/hub/mcp/tests/",
    "crates/hub/a2a/tests/",
    "crates/cli/tests/",
];

/// The beginning of a cell that says why a layer does not apply.
const NONE: &str = "none: ";

/// The beginning of a cell whose test is still to be written.
const OPEN_CELL: &str = "open";

/// The folder of tests that exist for this table.
const HERE: &str = "tests/tests/sessions/layers/";

fn runs_sessions(path: &str) -> bool {
    SESSIONS.iter().any(|folder| path.starts_with(folder))
}

/// Returns what is wrong with the table, for these requirements and tests.
fn faults(document: &str, ids: &[&str], tests: &Tests, open: &[(&str, &str)]) -> Vec<String> {
    let rows = table(document, "Layers");
    let mut faults = Vec::new();
    let stand: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    if stand != ids {
        faults.push(format!(
            "the rows are {stand:?}, and the requirements are {ids:?}"
        ));
    }
    let mut used = BTreeSet::new();
    let mut still_open = BTreeSet::new();
    for row in &rows {
        let [id, cells @ ..] = &row[..] else { continue };
        if cells.len() != LAYERS.len() {
            faults.push(format!("{id} has {} layers", cells.len()));
        }
        if cells.iter().all(|cell| cell.starts_with(NONE)) {
            faults.push(format!("{id} holds at no layer"));
        }
        for (layer, cell) in LAYERS.into_iter().zip(cells) {
            let mut fault = |what: String| faults.push(format!("{id}, {layer}: {what}"));
            if cell.starts_with(OPEN_CELL) {
                still_open.insert((*id, layer));
            } else if cell.starts_with(NONE) {
                if !document.contains(&format!("- `{cell}`: ")) {
                    fault(format!("the reason `{cell}` is not explained"));
                }
            } else if named(cell).is_empty() {
                fault("no test".to_owned());
            }
            for name in named(cell) {
                match tests.find(name) {
                    Ok(path) if layer == "codec" || runs_sessions(path) => _ = used.insert(path),
                    Ok(_) => fault(format!("`{name}` runs no session")),
                    Err(what) => fault(what),
                }
            }
        }
        let is_open = |cell: &&&str| cell.starts_with(OPEN_CELL);
        if let Some(cell) = cells.iter().find(is_open) {
            let of_id = format!("::{}_", id.to_lowercase().replace('-', "_"));
            let are_new = |path: &&str| path.contains(&of_id) && !used.contains(path);
            for path in tests
                .paths()
                .filter(|path| runs_sessions(path))
                .filter(are_new)
            {
                faults.push(format!("{id}: {path} is new, and the table says `{cell}`"));
            }
        }
    }
    let listed: BTreeSet<_> = open.iter().copied().collect();
    for (id, layer) in listed.difference(&still_open) {
        faults.push(format!(
            "{id}, {layer}: it has its test, so take it from OPEN"
        ));
    }
    for (id, layer) in still_open.difference(&listed) {
        faults.push(format!(
            "{id}, {layer}: it is open, and OPEN does not list it"
        ));
    }
    let here = tests.paths().filter(|path| path.starts_with(HERE));
    for path in here.filter(|path| !used.contains(*path)) {
        faults.push(format!("{path} does not stand in the table"));
    }
    faults
}

#[test]
fn every_requirement_has_a_test_at_each_of_its_layers() {
    let document = fs::read_to_string(root().join("docs/conformance.md")).unwrap();
    let covered = table(&document, "What is covered");
    let ids: Vec<&str> = covered.iter().map(|row| row[0]).collect();
    let faults = faults(&document, &ids, &Tests::of_workspace(), &OPEN);
    assert_eq!(faults, [""; 0]);
    for (id, layer) in OPEN {
        println!("open: {id} at the layer {layer}");
    }
}

/// The check finds each kind of mistake in a table.
#[test]
fn a_broken_table_is_found() {
    let tests = Tests::new(&[
        "accp-runtime/frame/tests/errors::reads",
        "tests/tests/sessions/whole::arrives",
        "tests/tests/sessions/layers/state::comes_back",
        "tests/tests/sessions/state::comes_back",
        "tests/tests/sessions/state::a_02_comes_back",
        "accp-runtime/frame/tests/errors::a_02_comes_back",
    ]);
    let good = "## Layers\n\n- `none: no state`: nothing is kept.\n\n\
        | Id | Codec | Session | Delivery |\n|---|---|---|---|\n\
        | A-01 | `errors::reads` | `whole::arrives` | `layers/state::comes_back` |\n\
        | A-02 | none: no state | open, in part: `state::a_02_comes_back` | `whole::arrives`<br>`whole::arrives` |\n\n## Next\n\n| B-01 | x |\n";
    let check = |document: &str| {
        let faults = faults(document, &["A-01", "A-02"], &tests, &[("A-02", "session")]);
        faults.join("; ")
    };
    assert_eq!(check(good), "");
    let mut said = String::new();
    for (from, to) in [
        ("| A-02 | none", "| A-03 | none"),
        ("`errors::reads`", "`errors::writes`"),
        ("`errors::reads`", "errors"),
        ("`errors::reads` | ", ""),
        ("`whole::arrives` | ", "`errors::reads` | "),
        ("`layers/state::comes_back`", "`state::comes_back`"),
        ("`layers/state::comes_back`", "none: no state"),
        ("none: no state |", "none: no time |"),
        ("open, in part: ", ""),
        ("open, in part: `state::a_02_comes_back`", "open"),
        ("`errors::reads`", "open"),
        (
            "open, in part: `state::a_02_comes_back` | `whole::arrives`<br>`whole::arrives`",
            "none: no state | none: no state",
        ),
    ] {
        let broken = good.replacen(from, to, 1);
        assert_ne!(broken, good, "{from}");
        said += &check(&broken);
        said += "\n";
    }
    insta::assert_snapshot!(said, @r#"
    the rows are ["A-01", "A-03"], and the requirements are ["A-01", "A-02"]; A-02, session: it has its test, so take it from OPEN; A-03, session: it is open, and OPEN does not list it
    A-01, codec: there is no test `errors::writes`
    A-01, codec: no test
    A-01 has 2 layers
    A-01, session: `errors::reads` runs no session
    A-01, delivery: `state::comes_back` is one of ["tests/tests/sessions/layers/state::comes_back", "tests/tests/sessions/state::comes_back"]: name a longer path; tests/tests/sessions/layers/state::comes_back does not stand in the table
    tests/tests/sessions/layers/state::comes_back does not stand in the table
    A-02, codec: the reason `none: no time` is not explained
    A-02, session: it has its test, so take it from OPEN
    A-02: tests/tests/sessions/state::a_02_comes_back is new, and the table says `open`
    A-01, codec: it is open, and OPEN does not list it
    A-02 holds at no layer; A-02, session: it has its test, so take it from OPEN
    "#);
}
