//! Makes the types of two registries.

use accp_build::{Builder, include_file};

fn main() -> Result<(), accp_build::Error> {
    // This is the registry of the team. Refunds use the types of the crate `frames`. The types of
    // cases are generated here, because the field `CS.number` has a type of this crate.
    let team = Builder::new()
        .registry("../frames/registry")
        .owned(true)
        .extern_path("RF", "::frames")
        .field_type("CS.number", "crate::CaseNumber")
        .out_file("team.rs");
    // The second registry has the frames that only shifts send to each other.
    let own = Builder::new()
        .registry("registry")
        .owned(true)
        .out_file("own.rs");
    include_file("registries.rs", &[team, own])
}
