//! Which crate depends on which: what ARCHITECTURE.md draws, and nothing else.
//!
//! # How it counts
//!
//! - An arrow is a dependency in a `Cargo.toml`, an optional one too, and one of a build script.
//!   Those of tests and examples are counted apart.
//! - The map stands in ARCHITECTURE.md as `a, b -> c, d`, names without `accp-`. A crate may also
//!   name what is reached through its arrows.
//! - An arrow to accp-runtime, which only re-exports, stands for arrows to accp-frame and to what
//!   the features bring in that are asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::workspace::{self, Crate, Need, Workspace};

/// The sentences in ARCHITECTURE.md that stand before its maps.
const OF_CRATES: &str = "A crate depends on crates above it in this list only:";
const OF_TESTS: &str = "a crate may use these besides:";

/// What re-exports other crates by feature.
const RUNTIME: &str = "accp-runtime";

/// The crates that do no IO, and what they never depend on, at whatever depth.
const NO_IO: [&str; 3] = ["accp-frame", "accp-context", "accp-session"];
const IO: [&str; 2] = ["tokio", "pest"];

/// The crates that a crate may name.
type Map = BTreeMap<String, BTreeSet<String>>;

/// Reads the block of text that follows a sentence.
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
    // Two columns, with spaces between them; what stands in brackets is for the reader.
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

/// Adds what is reached through others.
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

/// The crates that a dependency stands for.
fn meant(need: &Need, crates: &[Crate]) -> BTreeSet<String> {
    let runtime = crates
        .iter()
        .find(|of| of.name == RUNTIME && need.name == RUNTIME);
    let Some(runtime) = runtime else {
        return BTreeSet::from([need.name.clone()]);
    };
    let mut meant = BTreeSet::from(["accp-frame".to_owned()]);
    let mut asked = need.features.clone();
    while let Some(feature) = asked.pop() {
        if let Some(name) = feature.strip_prefix("dep:") {
            meant.insert(name.to_owned());
        } else {
            asked.extend(
                runtime
                    .features
                    .get(&feature)
                    .into_iter()
                    .flatten()
                    .cloned(),
            );
        }
    }
    meant
}

/// Names the arrows that the maps do not have.
fn strangers(crates: &[Crate], map: &Map, of_tests: &Map) -> Vec<String> {
    let map = closed(map);
    let is_member = |name: &String| crates.iter().any(|of| of.name == *name);
    let is_in = |map: &Map, from: &str, to: &str| {
        let to_all = |set: &BTreeSet<String>| set.contains("accp-all") || set.contains(to);
        map.get(from).is_some_and(to_all)
    };
    let mut said = Vec::new();
    for from in crates {
        let name = &from.name;
        for need in from.needs.iter().filter(|need| is_member(&need.name)) {
            for to in meant(need, crates) {
                if !is_in(&map, name, &to) {
                    said.push(format!("{name} -> {to}"));
                }
            }
        }
        for need in from.tests_need.iter().filter(|need| is_member(&need.name)) {
            let is_besides = is_in(of_tests, name, &need.name);
            for to in meant(need, crates) {
                if !is_besides && !is_in(&map, name, &to) {
                    said.push(format!("{name} -> {to} (tests)"));
                }
            }
        }
    }
    said
}

/// Names the crates without IO that depend on what does some.
fn impure(workspace: &Workspace) -> Vec<String> {
    let mut said = Vec::new();
    for name in NO_IO {
        let needs = workspace.all_needs(name);
        let io = needs.iter().filter(|need| IO.contains(&need.as_str()));
        said.extend(io.map(|need| format!("{name} depends on {need}")));
    }
    said
}

#[test]
fn arrows_are_those_of_the_map() {
    let workspace = Workspace::read().unwrap();
    let text = fs::read_to_string(workspace::top().join("ARCHITECTURE.md")).unwrap();
    let [map, of_tests] = [OF_CRATES, OF_TESTS].map(|sentence| map(&text, sentence).unwrap());
    let said = strangers(&workspace.crates, &map, &of_tests);
    assert!(
        said.is_empty(),
        "not in the map of ARCHITECTURE.md: {said:#?}"
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

    fn need(name: &str, features: &[&str]) -> Need {
        Need {
            name: name.into(),
            features: features.iter().map(|&feature| feature.into()).collect(),
        }
    }

    fn of(name: &str, needs: Vec<Need>, tests_need: Vec<Need>) -> Crate {
        Crate {
            name: name.into(),
            roots: Vec::new(),
            needs,
            tests_need,
            features: BTreeMap::new(),
        }
    }

    /// A house of few crates, and its map.
    fn strange(crates: Vec<Crate>) -> Vec<String> {
        let text = "A crate depends on crates above it in this list only:\n```text\n\
                    frame -> registry (always)    session -> frame\n\
                    runtime -> frame, session     cli, tests -> all\n```\n\
                    a crate may use these besides:\n```text\nframe -> runtime\n```\n";
        let [map, of_tests] = [OF_CRATES, OF_TESTS].map(|sentence| map(text, sentence).unwrap());
        let mut runtime = of("accp-runtime", vec![need("accp-frame", &[])], Vec::new());
        let session = vec!["std".to_owned(), "dep:accp-session".to_owned()];
        runtime.features = BTreeMap::from([
            ("session".to_owned(), session),
            ("default".to_owned(), vec!["session".to_owned()]),
        ]);
        let mut house = vec![runtime, of("accp-registry", Vec::new(), Vec::new())];
        house.extend(crates);
        strangers(&house, &map, &of_tests)
    }

    #[test]
    fn an_arrow_that_is_not_drawn_is_found() {
        let back = of("accp-frame", vec![need("accp-session", &[])], Vec::new());
        let through = of("accp-session", vec![need("accp-registry", &[])], Vec::new());
        assert_eq!(strange(vec![back, through]), ["accp-frame -> accp-session"]);
    }

    #[test]
    fn the_runtime_stands_for_what_its_features_bring() {
        let plain = of("accp-session", vec![need("accp-runtime", &[])], Vec::new());
        let whole = of(
            "accp-frame",
            vec![need("accp-runtime", &["default"])],
            Vec::new(),
        );
        assert_eq!(
            strange(vec![plain, whole]),
            ["accp-frame -> accp-frame", "accp-frame -> accp-session"]
        );
    }

    #[test]
    fn tests_have_a_map_of_their_own() {
        let frame = of(
            "accp-frame",
            Vec::new(),
            vec![need("accp-runtime", &["default"])],
        );
        let registry = of("accp-registry", Vec::new(), vec![need("accp-frame", &[])]);
        let cli = of(
            "accp-cli",
            vec![need("accp-frame", &[])],
            vec![need("accp-session", &[])],
        );
        assert_eq!(
            strange(vec![
                frame,
                registry,
                cli,
                of("accp-session", Vec::new(), Vec::new())
            ]),
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
