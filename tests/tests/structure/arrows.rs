//! The dependencies between crates: exactly those that ARCHITECTURE.md draws.
//!
//! # Rules
//!
//! - An arrow is a dependency in a `Cargo.toml`, including optional and build dependencies.
//!   Dependencies of tests and examples are counted separately.
//! - The map in ARCHITECTURE.md has the form `a, b -> c, d`, without `accp-` in the names. A crate
//!   may also use the crates that its arrows reach.
//! - Crates in `examples/` are programs of users, which may use every crate.
//! - accp-runtime only re-exports other crates, for users. No re-exported crate depends on accp-runtime. But the
//!   examples and tests of these crates use accp-runtime, because it is the crate that their readers have added.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::workspace::{self, Crate, Workspace};

/// The sentences before the maps in ARCHITECTURE.md.
const OF_CRATES: &str = "A crate depends on crates above it in this list only:";
const OF_TESTS: &str = "a crate may use these besides:";

/// The crates without IO, and the crates that they never depend on, at any depth.
const NO_IO: [&str; 4] = ["accp-aacp", "accp-frame", "accp-context", "accp-session"];
const IO: [&str; 2] = ["tokio", "pest"];

/// For each crate, the crates that it may use.
type Map = BTreeMap<String, BTreeSet<String>>;

/// Reads the map in the code block after a sentence.
fn map(text: &str, sentence: &str) -> Result<Map, String> {
    let block = text
        .split_once(sentence)
        .and_then(|(_, rest)| rest.split("```").nth(1));
    let block = block.ok_or_else(|| format!("no map follows \"{sentence}\""))?;
    let mut map = Map::new();
    let names = |list: &str| -> Vec<String> {
        let names = list.split(',').map(|name| format!("accp-{}", name.trim()));
        names.collect()
    };
    // The block has two columns with spaces between them. Text in brackets is for the reader.
    for line in block.lines().skip(1) {
        for arrow in line.split("   ").filter(|arrow| !arrow.trim().is_empty()) {
            let arrow = arrow.split(" (").next().unwrap_or_default();
            let (from, to) = arrow
                .split_once("->")
                .ok_or_else(|| format!("no arrow: {arrow}"))?;
            for from in names(from) {
                map.entry(from).or_default().extend(names(to));
            }
        }
    }
    Ok(map)
}

/// Adds to each crate the crates that it reaches through other crates.
fn closed(map: &Map) -> Map {
    let mut closed = map.clone();
    loop {
        let before = closed.clone();
        for reached in closed.values_mut() {
            for name in reached.clone() {
                reached.extend(before.get(&name).into_iter().flatten().cloned());
            }
        }
        if closed == before {
            return closed;
        }
    }
}

/// Returns the arrows that the maps do not have.
fn unmapped(crates: &[Crate], map: &Map, of_tests: &Map) -> Vec<String> {
    let map = closed(map);
    let is_member = |name: &String| crates.iter().any(|of| of.name == *name);
    let is_in = |map: &Map, from: &str, to: &str| {
        let to_all = |set: &BTreeSet<String>| set.contains("accp-all") || set.contains(to);
        map.get(from).is_some_and(to_all)
    };
    let mut findings = Vec::new();
    for from in crates {
        let name = &from.name;
        for need in from.needs.iter().filter(|need| is_member(need)) {
            if !is_in(&map, name, need) {
                findings.push(format!("{name} -> {need}"));
            }
        }
        for need in from.tests_need.iter().filter(|need| is_member(need)) {
            if !is_in(of_tests, name, need) && !is_in(&map, name, need) {
                findings.push(format!("{name} -> {need} (tests)"));
            }
        }
    }
    findings
}

/// Returns the crates without IO that depend on a crate with IO.
fn impure(workspace: &Workspace) -> Vec<String> {
    let mut findings = Vec::new();
    for name in NO_IO {
        let needs = workspace.all_needs(name);
        let io = needs.iter().filter(|need| IO.contains(&need.as_str()));
        findings.extend(io.map(|need| format!("{name} depends on {need}")));
    }
    findings
}

#[test]
fn arrows_are_those_of_the_map() {
    let mut workspace = Workspace::read().unwrap();
    let is_example = |of: &Crate| of.roots.iter().all(|root| root.starts_with("examples"));
    workspace.crates.retain(|of| !is_example(of));
    let text = fs::read_to_string(workspace::top().join("ARCHITECTURE.md")).unwrap();
    let [map, of_tests] = [OF_CRATES, OF_TESTS].map(|sentence| map(&text, sentence).unwrap());
    let findings = unmapped(&workspace.crates, &map, &of_tests);
    assert!(
        findings.is_empty(),
        "not in the map of ARCHITECTURE.md: {findings:#?}"
    );
}

#[test]
fn crates_without_io_stay_so() {
    let workspace = Workspace::read().unwrap();
    for name in NO_IO {
        assert!(!workspace.all_needs(name).is_empty(), "{name} is a crate");
    }
    assert_eq!(impure(&workspace), Vec::<String>::new());
}

#[cfg(test)]
mod planted {
    use super::*;

    fn of(name: &str, needs: &[&str], tests_need: &[&str]) -> Crate {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Crate {
            name: name.into(),
            roots: Vec::new(),
            needs: owned(needs),
            tests_need: owned(tests_need),
        }
    }

    /// Checks a workspace of few crates against its map.
    fn strange(crates: Vec<Crate>) -> Vec<String> {
        let text = "A crate depends on crates above it in this list only:\n```text\n\
                    frame -> registry (always)    session -> frame\n\
                    runtime -> frame, session     cli, tests -> all\n```\n\
                    a crate may use these besides:\n```text\nframe -> runtime\n```\n";
        let [map, of_tests] = [OF_CRATES, OF_TESTS].map(|sentence| map(text, sentence).unwrap());
        let mut house = vec![
            of("accp-runtime", &["accp-frame", "accp-session"], &[]),
            of("accp-registry", &[], &[]),
        ];
        house.extend(crates);
        unmapped(&house, &map, &of_tests)
    }

    #[test]
    fn an_arrow_that_is_not_drawn_is_found() {
        let back = of("accp-frame", &["accp-session"], &[]);
        let through = of("accp-session", &["accp-registry"], &[]);
        assert_eq!(strange(vec![back, through]), ["accp-frame -> accp-session"]);
    }

    #[test]
    fn a_crate_below_the_runtime_is_not_built_on_it() {
        let tested = of("accp-frame", &[], &["accp-runtime"]);
        let built = of("accp-session", &["accp-runtime"], &[]);
        assert_eq!(
            strange(vec![tested, built]),
            ["accp-session -> accp-runtime"]
        );
    }

    #[test]
    fn tests_have_a_map_of_their_own() {
        let registry = of("accp-registry", &[], &["accp-frame"]);
        let cli = of("accp-cli", &["accp-frame"], &["accp-session"]);
        let [frame, session] = ["accp-frame", "accp-session"].map(|name| of(name, &[], &[]));
        assert_eq!(
            strange(vec![registry, cli, frame, session]),
            ["accp-registry -> accp-frame (tests)"]
        );
    }

    #[test]
    fn io_is_found_at_any_depth() {
        let needs = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let workspace = Workspace {
            crates: Vec::new(),
            tree: BTreeMap::from([
                ("accp-session".to_owned(), needs(&["accp-frame", "a"])),
                ("a".to_owned(), needs(&["tokio", "accp-session"])),
            ]),
        };
        assert_eq!(impure(&workspace), ["accp-session depends on tokio"]);
    }

    #[test]
    fn a_map_that_cannot_be_read_is_an_error() {
        assert!(map("", OF_CRATES).is_err());
        assert!(map(&format!("{OF_CRATES}\n```text\na b\n```"), OF_CRATES).is_err());
    }
}
