//! Writes the types of prost and buffa from `frames.proto`.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use prost::Message as _;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=frames.proto");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let set = protox::compile(["frames.proto"], ["."])?;
    let descriptors = out.join("frames.descriptors");
    let folder = |name: &str| {
        let folder = out.join(name);
        fs::create_dir_all(&folder).map(|()| folder)
    };
    fs::write(&descriptors, set.encode_to_vec())?;
    // serde reads and writes them too: some codecs have owned values alone.
    prost_build::Config::new()
        .type_attribute(".", "#[derive(serde::Serialize, serde::Deserialize)]")
        .out_dir(folder("prost")?)
        .compile_fds(set)?;
    buffa_build::Config::new()
        .descriptor_set(descriptors)
        .files(&["frames.proto"])
        .generate_views(true)
        .include_file("buffa.rs")
        .out_dir(folder("buffa")?)
        .compile()
}
