//! Makes the types of two registries.

use accp_build::{Builder, include_file};

fn main() -> Result<(), accp_build::Error> {
    // This is the registry of the team. Its refunds are the types of the crate `frames`. Its cases are generated
    // again, because their number is a type of this crate.
    let team = Builder::new()
        .registry("../frames/registry")
        .owned(true)
        .extern_path("RF", "::frames")
        .field_type("CS.number", "crate::CaseNumber")
        .out_file("team.rs");
    // The frames that only shifts send to each other.
    let own = Builder::new()
        .registry("registry")
        .owned(true)
        .out_file("own.rs");
    include_file("registries.rs", &[team, own])
}
