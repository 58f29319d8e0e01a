//! Makes the types of the frames.

fn main() -> Result<(), accp_build::Error> {
    // Types that borrow from the text of a frame, for handlers.
    let frames = accp_build::Builder::new().registry("registry");
    frames.compile()?;
    // Types that own their texts, for data that the program keeps.
    frames
        .owned(true)
        .type_attribute("SupportReq", "#[derive(serde::Deserialize)]")
        .out_file("owned.rs")
        .compile()
}
