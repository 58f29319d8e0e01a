//! The bugs that the simulation has to find fit the code as it stands. That it finds them is
//! shown by `cargo run --release -p accp-tests --example planted`.

use std::collections::BTreeSet;
use std::path::Path;

#[path = "../examples/planted/bugs.rs"]
mod bugs;

use bugs::Bug;

#[test]
fn every_bug_can_be_planted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let bugs = Bug::read_all(&root.join("tests/planted")).unwrap();
    assert!(bugs.len() >= 30, "{} bugs", bugs.len());
    let what: BTreeSet<_> = bugs.iter().map(|bug| &bug.what).collect();
    assert_eq!(what.len(), bugs.len(), "each says what is its own");
    for bug in &bugs {
        assert_eq!(bug.fits(&root), Ok(()));
    }
}

#[test]
fn says_what_does_not_fit() {
    let edit = bugs::Edit {
        file: "a.rs".into(),
        old: "two\n".into(),
        new: "three\n".into(),
    };
    assert_eq!(edit.plant("one\ntwo\n"), Ok("one\nthree\n".into()));
    let said =
        |times| format!("expected these lines once in a.rs, found them {times} times:\ntwo\n");
    assert_eq!(edit.plant("one\n"), Err(said(0)));
    assert_eq!(edit.plant("two\nten\ntwo\n"), Err(said(2)));
}
