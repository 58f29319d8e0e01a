//! `accp new`: a crate that holds frames.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::{Folder, finish};

#[test]
fn a_new_crate_builds_and_passes_its_tests() {
    let folder = Folder::with(&[]);
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let new = [
        "new",
        "our-frames",
        "--checkout",
        checkout.to_str().unwrap(),
    ];
    let run = folder.run(&new, "");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let lint = folder.run(&["registry", "lint", "our-frames/registry"], "");
    assert_eq!(lint.code, Some(0), "{}", lint.stderr);
    // The lock file fixes the versions, so that Cargo looks up nothing.
    fs::copy(
        checkout.join("Cargo.lock"),
        folder.path("our-frames/Cargo.lock"),
    )
    .unwrap();
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo
        .args(["test", "--offline", "--quiet"])
        .current_dir(folder.path("our-frames"))
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("new"),
        );
    let run = finish(&mut cargo, b"");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("2 passed"), "{}", run.stdout);
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
            "error: type does not end with the name of a crate: a small letter, then small letters, digits, `-` and `_`\n",
        ),
    ] {
        let run = folder.run(&["new", name], "");
        assert_eq!((run.code, run.stderr.as_str()), (Some(2), said));
    }
    assert_eq!(folder.read("taken"), "a file");
    assert_eq!(folder.run(&["new", "frames"], "").code, Some(0));
    let manifest = folder.read("frames/Cargo.toml");
    assert!(manifest.contains("accp-runtime = \"0.1."), "{manifest}");
}
