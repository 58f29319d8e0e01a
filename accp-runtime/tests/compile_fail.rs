//! The faults that `#[derive(AccpFrame)]` refuses: one folder for each fault, with its messages.
//!
//! They stand in the crate that users add, because trybuild builds every dependency of its crate once more.
//!
//! `TRYBUILD=overwrite cargo test -p accp-runtime --test compile_fail` writes the messages anew.

use std::fs;
use std::path::Path;

#[test]
fn every_fault_has_its_message() {
    // trybuild compiles the cases as another crate, which looks for registries beside its own
    // manifest.
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/registry");
    let project = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("../tests/trybuild")
        .join(env!("CARGO_PKG_NAME"))
        .join("registry");
    fs::create_dir_all(&project).unwrap();
    for name in ["warehouse.json", "faulty.json", "large.json"] {
        fs::copy(here.join(name), project.join(name)).unwrap();
    }
    trybuild::TestCases::new().compile_fail("tests/ui/*/case.rs");
}
