//! Tests of `accp new`, which makes a crate that holds frames.

use std::fs;

use crate::cli::{Folder, workspace};

/// The folder `examples/frames` must be the output of the command, plus one registry and one test.
#[test]
fn the_example_is_a_new_crate() {
    let example = workspace().join("examples/frames");
    let folder = Folder::with(&[]);
    let checkout = workspace().to_str().unwrap();
    folder
        .run(["new", "frames", "--checkout", checkout], "")
        .code_is(0);
    let read = |file: &str| fs::read_to_string(example.join(file)).unwrap();
    for file in [
        "build.rs",
        "src/lib.rs",
        "registry/refund.json",
        "tests/frames.rs",
    ] {
        let made = folder.read(&format!("frames/{file}"));
        assert_eq!(read(file), made, "examples/frames/{file}");
    }
    let here = fs::canonicalize(checkout).unwrap().display().to_string();
    let made = folder.read("frames/Cargo.toml").replace(&here, "../..");
    assert_eq!(read("Cargo.toml").replace("publish = false\n", ""), made);
}

#[test]
fn what_is_there_stays_and_a_name_is_that_of_a_crate() {
    let folder = Folder::with(&[("taken", "a file")]);
    for (name, said) in [
        (
            "taken",
            "error: taken is there already; name a folder that is new or empty\n",
        ),
        (
            "Our Frames",
            "error: Our Frames does not end with the name of a crate: a small letter, then small letters, digits, `-` and `_`\n",
        ),
        (
            "type",
            "error: type ends with a word that Rust, Cargo or ACCP keeps for itself; give the crate another name\n",
        ),
        (
            "ours/accp-build",
            "error: ours/accp-build ends with a word that Rust, Cargo or ACCP keeps for itself; give the crate another name\n",
        ),
    ] {
        let run = folder.run(["new", name], "");
        assert_eq!((run.code, run.stderr.as_str()), (Some(2), said));
    }
    assert_eq!(folder.read("taken"), "a file");
    folder.run("new frames", "").code_is(0);
    let manifest = folder.read("frames/Cargo.toml");
    assert!(manifest.contains("accp-runtime = \"0.1."), "{manifest}");
}

/// The last file has a path that is too long for the system. Nothing stays of those before it.
#[test]
#[cfg(target_os = "linux")]
fn a_crate_that_cannot_be_made_whole_leaves_nothing() {
    let folder = Folder::with(&[]);
    let deep = vec!["a".repeat(250); 16].join("/");
    let path = format!("{deep}/{}", "f".repeat(4_072 - deep.len() - 1));
    let run = folder.run(["new", &path], "");
    run.code_is(2)
        .stderr_has(".github/workflows/ci.yml: File name too long");
    assert!(folder.names().is_empty());
}
