//! Checks that no file is too long.

use super::workspace::{self, Sources};

/// The most lines of one file.
const FILE: usize = 500;

/// Generated files and folders. The first line of such a file names the command that makes it.
const GENERATED: [&str; 6] = [
    "accp-runtime/frame/src/profiles.rs",
    "accp-runtime/context/src/frames.rs",
    "accp-runtime/session/src/wire/frames.rs",
    "tests/goldens/",
    "crates/cli/tests/doors/evolution/old/types.rs",
    "crates/cli/tests/doors/evolution/new/types.rs",
];

/// Returns the files that are too long.
fn too_long(sources: &Sources) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, text) in sources {
        let name = path.to_string_lossy();
        if GENERATED
            .iter()
            .any(|generated| name.starts_with(generated))
        {
            continue;
        }
        let lines = text.lines().count();
        if lines > FILE {
            findings.push(format!("{name}: {lines} lines, at most {FILE}"));
        }
    }
    findings
}

#[test]
fn no_file_is_too_long() {
    let sources = workspace::sources(&workspace::top()).unwrap();
    let findings = too_long(&sources);
    assert!(findings.is_empty(), "split, by its nouns: {findings:#?}");
}

#[test]
fn a_file_over_its_lines_is_found() {
    let of = |path: &str, lines: usize| (path.into(), "x\n".repeat(lines));
    let sources = Sources::from([
        of("a/src/b.rs", 501),
        of("a/src/c.rs", 500),
        of("tests/goldens/long.rs", 900),
    ]);
    let findings = ["a/src/b.rs: 501 lines, at most 500"];
    assert_eq!(too_long(&sources), findings);
}
