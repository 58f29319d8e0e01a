//! The planted bugs fit the current code. The command `cargo run --release -p accp-tests --example
//! planted` shows that the simulation finds them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

#[path = "../examples/planted/bugs.rs"]
mod bugs;
#[path = "../examples/planted/sources.rs"]
mod sources;
#[path = "../examples/planted/tokens.rs"]
mod tokens;

use bugs::Bug;
use sources::Source;

#[test]
fn every_bug_can_be_planted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let bugs = Bug::read_all(&root.join("tests/planted")).unwrap();
    assert!(bugs.len() >= 30, "{} bugs", bugs.len());
    let what: BTreeSet<_> = bugs.iter().map(|bug| &bug.what).collect();
    assert_eq!(what.len(), bugs.len(), "two bugs have the same sentence");
    let mut crates = BTreeMap::new();
    let mut said = Vec::new();
    for bug in &bugs {
        for edit in &bug.edits {
            let read = || Source::of_crate(&root, &edit.of).unwrap();
            match edit.plant(crates.entry(&edit.of).or_insert_with(read)) {
                Ok((path, text)) => {
                    assert!(syn::parse_file(&text).is_ok(), "{}: {path:?}", bug.name);
                }
                Err(error) => said.push(format!("{}: {error}", bug.name)),
            }
        }
    }
    assert!(said.is_empty(), "{}", said.join("\n"));
}

/// A crate of two files.
fn house() -> Result<Vec<Source>, String> {
    let judge = "/// Judges.
impl Judge<'_> {
    fn check(&self) -> bool {
        // The first.
        if self.seen(  &mid, ) { return false }
        self.one(1, 2)
            && self.two(\"a b\")
    }
}

impl Other {
    fn check(&self) { self.two(3) }
}
";
    let limits = "const DEPTH: usize = 64;
mod inner { pub(super) fn deep() { self.seen(&mid) } }
";
    let files = [("judge", judge), ("limits", limits)];
    let read = |(module, text): (&str, &str)| {
        let path = format!("a/src/{module}.rs");
        Source::read(Path::new(&path), &[module.to_owned()], text.into())
    };
    files.into_iter().map(read).collect()
}

/// Plants one edit in the crate from `house`. Returns the changed text, or the error.
fn plant(edit: &str) -> Result<String, String> {
    let bug = Bug::parse("a_bug", &format!("It errs.\n\n--- a {edit}"))?;
    let (path, text) = bug.edits[0].plant(&house()?)?;
    Ok(format!("{}\n{text}", path.display()))
}

#[test]
fn formatting_and_files_are_nothing() {
    let text = plant("Judge::check\n-self.seen(\n-    &mid\n-)\n+false").unwrap();
    assert!(text.starts_with("a/src/judge.rs\n"));
    assert!(
        text.contains("        if false { return false }\n        self.one(1, 2)\n"),
        "{text}"
    );
    let text = plant("DEPTH\n-64\n+1").unwrap();
    assert!(
        text.starts_with("a/src/limits.rs\nconst DEPTH: usize = 1;\n"),
        "{text}"
    );
    let text = plant("limits::inner::deep\n-self.seen(&mid)").unwrap();
    assert!(text.contains("fn deep() {  }"), "{text}");
}

#[test]
fn brackets_may_hold_anything() {
    let text =
        plant("Judge::check\n-if self.seen(..) { .. }\n self.one(..)\n+    || true").unwrap();
    assert!(
        text.contains("        // The first.\n        self.one(..)\n    || true\n            &&"),
        "{text}"
    );
}

#[test]
fn says_what_does_not_fit() {
    let said = |edit: &str| plant(edit).unwrap_err();
    assert_eq!(
        said("check\n-self.two(..)\n+true"),
        "a, check: expected these tokens once, found them 2 times:
  self . two ( . . )
  a/src/judge.rs:7, judge::Judge::check: self.two(\"a b\")
  a/src/judge.rs:12, judge::Other::check: self.two(3)"
    );
    assert_eq!(
        said("Judge::check\n-self.one(2, 1)"),
        "a, Judge::check: expected these tokens once, did not find them:
  self . one ( 2 , 1 )
this is most like them:
  a/src/judge.rs:6, judge::Judge::check: self.one(1, 2)"
    );
    assert_eq!(
        said("Gate::check\n-self.one(1, 2)"),
        "a, Gate::check: expected these tokens once, found no such item:
  self . one ( 1 , 2 )
they stand elsewhere:
  a/src/judge.rs:6, judge::Judge::check: self.one(1, 2)"
    );
    assert!(said("heck\n-64").contains("found no such item"));
}

#[test]
fn says_what_is_no_bug() {
    let said = |edit: &str| plant(edit).unwrap_err();
    assert_eq!(said("DEPTH\n 64"), "nothing is changed in a DEPTH");
    assert_eq!(said("DEPTH\n-6 4\n+6  4"), "nothing is changed in a DEPTH");
    assert_eq!(
        said("DEPTH\n!64"),
        "expected `-`, `+` or a space before !64"
    );
    assert!(said("DEPTH\n-if a {").starts_with("a DEPTH: not tokens, or brackets without"));
    let none = Bug::parse("a_bug", "It errs.\n\n--- a\n-1\n+2").unwrap_err();
    assert_eq!(none, "expected `--- CRATE ITEM`, found `--- a`");
    assert!(Bug::parse("a_bug", "It errs.").is_err());
}
