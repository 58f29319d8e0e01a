//! Makes the types of the frames.

fn main() -> Result<(), accp_build::Error> {
    accp_build::Builder::new()
        .registry("registry")
        // Types own their texts. Without this line, they borrow from the text of a frame.
        .owned(true)
        .compile()
}
