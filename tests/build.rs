//! The build script as a user writes it. `tests/generated_by_build.rs` includes its output.

fn main() -> Result<(), accp_build::Error> {
    accp_build::Builder::new()
        .registry("goldens/team")
        .compile()?;
    // As the README does.
    accp_build::Builder::new()
        .registry("goldens/readme")
        .owned(true)
        .type_attribute(".", "#[derive(serde::Serialize)]")
        .out_file("readme.rs")
        .compile()
}
