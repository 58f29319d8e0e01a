//! A program that generates the sources of one shape, and prints how long each generator takes:
//! `generate FOLDER SHAPE ROUNDS`.
//!
//! `peers` writes this file into a crate of its own, so that the benches do not depend on the generators of the peers.
//! Cargo builds it without optimizations, as it builds the scripts in which generators run.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs};

use prost::Message as _;

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [folder, shape, rounds] = &arguments[..] else {
        return Err("expected a folder, a shape and a number of rounds".into());
    };
    let folder = Path::new(folder);
    let input = folder.join(shape);
    let source = |krate: &str| folder.join(format!("{krate}_{shape}")).join("src");
    let generators: [(&str, &dyn Fn() -> Outcome); 4] = [
        ("accp-build", &|| accp(&input, source("accp_generated"))),
        ("prost-build", &|| prost(&input, source("prost"))),
        ("buffa-build", &|| buffa(&input, source("buffa"), true)),
        ("buffa-build without views", &|| {
            buffa(&input, source("buffa_owned"), false)
        }),
    ];
    let mut least = [Duration::MAX; 4];
    for _ in 0..rounds.parse()? {
        for ((_, generate), least) in generators.iter().zip(&mut least) {
            let start = Instant::now();
            generate()?;
            *least = start.elapsed().min(*least);
        }
    }
    let times = generators.iter().zip(least);
    let times = times.map(|((name, _), least)| format!("{name} {:.2} s", least.as_secs_f64()));
    println!("{}", times.collect::<Vec<_>>().join(", "));
    Ok(())
}

fn accp(input: &Path, out: PathBuf) -> Outcome {
    Ok(accp_build::Builder::new()
        .registry(input.join("registry.json"))
        .registry_path("registry.json")
        .owned(true)
        .out_dir(out)
        .compile()?)
}

fn prost(input: &Path, out: PathBuf) -> Outcome {
    let descriptors = protox::compile(["cost.proto"], [input])?;
    Ok(prost_build::Config::new()
        .out_dir(out)
        .compile_fds(descriptors)?)
}

fn buffa(input: &Path, out: PathBuf, views: bool) -> Outcome {
    let descriptors = input.join("cost.descriptors");
    let set = protox::compile(["cost.proto"], [input])?;
    fs::write(&descriptors, set.encode_to_vec())?;
    buffa_build::Config::new()
        .descriptor_set(descriptors)
        .files(&["cost.proto"])
        .generate_views(views)
        .include_file("buffa.rs")
        .out_dir(out)
        .compile()
}
