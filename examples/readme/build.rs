fn main() -> Result<(), accp_build::Error> {
    accp_build::Builder::new()
        .registry("registry")
        .owned(true)
        .compile()
}
