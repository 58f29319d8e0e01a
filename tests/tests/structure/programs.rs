//! The tests of a crate are one program. A file that the program does not name would never run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::workspace::{self, Sources, Workspace};

/// Returns the files of tests that are neither a program nor a module of the program of their crate.
fn forgotten(sources: &Sources, roots: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut forgotten = Vec::new();
    for (file, text) in sources {
        if !file.ends_with("tests/all.rs") || !roots.contains(file) {
            continue;
        }
        let named: BTreeSet<&str> = text.lines().filter_map(module).collect();
        let beside = sources.keys().filter(|path| path.parent() == file.parent());
        forgotten.extend(
            beside
                .filter(|path| !roots.contains(*path))
                .filter(|path| {
                    path.file_stem()
                        .is_none_or(|stem| !named.contains(&*stem.to_string_lossy()))
                })
                .cloned(),
        );
    }
    forgotten
}

/// Returns the name of the module that a line declares.
fn module(line: &str) -> Option<&str> {
    line.trim_start_matches("pub ")
        .strip_prefix("mod ")?
        .strip_suffix(';')
}

#[test]
fn every_file_of_tests_runs() {
    let workspace = Workspace::read().unwrap();
    let roots = workspace
        .crates
        .iter()
        .flat_map(|of| of.roots.iter().cloned())
        .collect();
    let sources = workspace::sources(&workspace::top()).unwrap();
    assert!(sources.contains_key(Path::new("tests/tests/all.rs")));
    assert_eq!(forgotten(&sources, &roots), Vec::<PathBuf>::new());
}

#[test]
fn a_file_that_no_program_names_is_found() {
    let files = ["all", "alone", "forgotten", "named"]
        .map(|name| PathBuf::from(format!("a/tests/{name}.rs")));
    let sources = files
        .iter()
        .map(|file| (file.clone(), "mod named;\n".into()))
        .collect();
    let roots = [&files[0], &files[1]].map(PathBuf::clone).into();
    assert_eq!(forgotten(&sources, &roots), [files[2].clone()]);
}
