//! The build script as a user writes it. `tests/generated_by_build.rs` includes its output.

use accp_build::{Builder, include_file};

fn main() -> Result<(), accp_build::Error> {
    let team = Builder::new().registry("goldens/team").out_file("team.rs");
    // The README shows these settings, so they are tested here.
    let frames = Builder::new()
        .registry("goldens/readme")
        .owned(true)
        .type_attribute(".", "#[derive(serde::Serialize)]")
        .out_file("frames.rs");
    include_file("registries.rs", &[team, frames])
}
