//! Measures what it costs to compile structs and enums that use `AccpFrame`, serde, prost or buffa.
//!
//! ```sh
//! cargo run --release --manifest-path benches/Cargo.toml --bin derive-cost
//! cargo run --release --manifest-path benches/Cargo.toml --bin derive-cost -- \
//!     --structs 20 --fields '' --names 583 --modes check,build --peers accp,prost --rounds 1
//! ```
//!
//! The second command is quick. Each list may be empty; serde is always measured. With no modes, only the generators
//! run.
//!
//! The program writes a crate for each peer and shape. Each crate encodes and decodes each of its types once, so that
//! generic code is counted too. First the crates are empty: Cargo builds them with their dependencies, and prints the
//! rustc command of each crate. Then the program writes the sources and runs that command itself, so that only rustc
//! is measured. The peers alternate. For each peer the cheapest run counts, because the machine disturbed that run
//! least.
//!
//! Before that, the generators of prost and buffa write their sources, as `accp generate` does. The time of each
//! generator is printed below each table.

mod compile;
mod peers;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use accp_bench::{Goal, figure};

use crate::compile::{Cost, Counter, Rustc};
use crate::peers::{PEERS, Peer, SERDE, Shape};

type AnyError = Box<dyn std::error::Error>;

const MODES: [(&str, &[&str]); 3] = [
    ("check", &["check"]),
    ("build", &["build"]),
    ("release", &["build", "--release"]),
];

type Mode = (&'static str, &'static [&'static str]);

struct Arguments {
    shapes: Vec<Shape>,
    modes: Vec<Mode>,
    peers: Vec<&'static Peer>,
    rounds: usize,
}

impl Arguments {
    fn parse() -> Result<Self, AnyError> {
        let mut values = [
            ("--structs", "100,1000".to_owned()),
            ("--fields", "1000".to_owned()),
            ("--names", "583".to_owned()),
            ("--modes", MODES.map(|(mode, _)| mode).join(",")),
            ("--peers", PEERS.map(|peer| peer.krate).join(",")),
            ("--rounds", "5".to_owned()),
        ];
        let mut arguments = env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let names = values.each_ref().map(|(name, _)| *name).join(", ");
            let value = values.iter_mut().find(|(name, _)| *name == argument);
            let (_, value) = value
                .ok_or_else(|| format!("{argument:?} is not an argument; expected {names}"))?;
            let given = arguments.next();
            *value = given.ok_or_else(|| format!("{argument} has no value"))?;
        }
        let [structs, fields, names, modes, peers, rounds] = values.map(|(_, value)| value);
        let mut shapes = Vec::new();
        for (list, shape) in [
            (structs, Shape::Structs as fn(usize) -> Shape),
            (fields, Shape::Fields),
            (names, Shape::Names),
        ] {
            for number in list.split(',').filter(|number| !number.is_empty()) {
                let count = number.parse();
                shapes.push(shape(
                    count.map_err(|_| format!("{number:?} is not a number"))?,
                ));
            }
        }
        let chosen_modes = chosen(&modes, &MODES.map(|(mode, _)| mode))?;
        let chosen_peers = chosen(&peers, &PEERS.map(|peer| peer.krate))?;
        let rounds = rounds.parse().ok().filter(|rounds| *rounds > 0);
        Ok(Self {
            shapes,
            modes: MODES
                .into_iter()
                .filter(|(mode, _)| chosen_modes.contains(mode))
                .collect(),
            // serde is always measured, because the others are compared with it.
            peers: PEERS
                .iter()
                .filter(|peer| peer.krate == SERDE || chosen_peers.contains(&peer.krate))
                .collect(),
            rounds: rounds.ok_or("--rounds takes a number above zero")?,
        })
    }
}

/// Returns the words of a list. Each word must be one of `all`.
fn chosen<'a>(list: &'a str, all: &[&str]) -> Result<Vec<&'a str>, AnyError> {
    let words: Vec<&str> = list.split(',').filter(|word| !word.is_empty()).collect();
    match words.iter().find(|word| !all.contains(word)) {
        Some(word) => Err(format!("{word:?} is unknown; expected {}", all.join(", ")).into()),
        None => Ok(words),
    }
}

fn main() -> Result<(), AnyError> {
    let arguments = Arguments::parse()?;
    let Arguments {
        shapes,
        modes,
        peers,
        rounds,
    } = &arguments;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let folder = std::path::absolute(target)?.join("derive-cost");
    peers::write_workspace(&folder, &root, shapes)?;

    let counter = Counter::of_this_machine(&folder);
    println!("{}, on {}.", version("rustc")?, processor()?);
    println!("Each cell: the time, its ratio to serde's, and the same ratio of {counter}.\n");
    for shape in shapes {
        let commands = commands(&folder, shape, modes, peers)?;
        peers::write_sources(&folder, shape)?;
        let generated = generate(&folder, shape, *rounds)?;
        println!("{shape}, least of {rounds} rounds:\n");
        table(&commands, &arguments, &counter)?;
        println!("\nThe generators: {generated}.\n");
    }
    Ok(())
}

/// Returns the commands that compile the crates of a shape, one for each mode and peer. The crates are still empty.
fn commands(
    folder: &Path,
    shape: &Shape,
    modes: &[Mode],
    peers: &[&Peer],
) -> Result<Vec<Vec<Rustc>>, AnyError> {
    let of_mode = |(_, arguments): &Mode| {
        let of_peer = |peer: &&Peer| Rustc::of(folder, arguments, &peer.crate_name(shape));
        peers.iter().map(of_peer).collect()
    };
    modes.iter().map(of_mode).collect()
}

/// Prints what each peer costs for a shape, and whether our crates meet their goal. The goal applies to the second
/// ratio, that of the work, because other programs disturb it less.
fn table(
    commands: &[Vec<Rustc>],
    arguments: &Arguments,
    counter: &Counter,
) -> Result<(), AnyError> {
    let Arguments { modes, peers, .. } = arguments;
    let mut rows: Vec<String> = peers
        .iter()
        .map(|peer| format!("| {} |", peer.name))
        .collect();
    let mut goals = Vec::new();
    for (commands, (mode, _)) in commands.iter().zip(modes) {
        let mut least = vec![Cost::MOST; peers.len()];
        for _ in 0..arguments.rounds {
            for (command, least) in commands.iter().zip(&mut least) {
                *least = least.min(command.run(counter)?);
            }
        }
        // serde is the first of the peers.
        let serde = least[0];
        for (((peer, row), cost), command) in peers.iter().zip(&mut rows).zip(least).zip(commands) {
            *row += &format!(" {} |", cost.cell(&serde));
            if *mode == "release" {
                *row += &format!(" {} KB |", command.text_size()? / 1000);
            }
            if peer.is_ours {
                goals.push((format!("{}, {mode}", peer.name), cost.work / serde.work));
            }
        }
    }
    let mut heads: Vec<&str> = modes.iter().map(|(mode, _)| *mode).collect();
    if heads.contains(&"release") {
        heads.push("`.text`");
    }
    println!(
        "| | {} |\n|---{}|",
        heads.join(" | "),
        "|---".repeat(heads.len())
    );
    println!("{}\n", rows.join("\n"));
    for (what, ratio) in goals {
        figure(&what, ratio, "x serde", Goal::AtMost(1.2));
    }
    Ok(())
}

/// Lets the generators write their sources. Returns the line with their times.
fn generate(folder: &Path, shape: &Shape, rounds: usize) -> Result<String, AnyError> {
    let output = compile::cargo(folder)
        .args(["run", "--quiet", "--package", "generate", "--"])
        .arg(folder)
        .args([shape.folder(), rounds.to_string()])
        .output()?;
    if !output.status.success() {
        return Err(format!("generating: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    // The last line has the times. The lines before it are instructions for Cargo.
    let said = String::from_utf8(output.stdout)?;
    Ok(said.lines().last().unwrap_or_default().to_owned())
}

fn version(program: &str) -> Result<String, AnyError> {
    let output = Command::new(program).arg("--version").output()?;
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

fn processor() -> Result<String, AnyError> {
    let info = fs::read_to_string("/proc/cpuinfo")?;
    let of = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(": "))
            .map_or("?", |(_, value)| value)
    };
    let processors = info.lines().filter(|line| line.starts_with("processor"));
    Ok(format!(
        "{} of {} (family {}, model {})",
        processors.count(),
        of("model name"),
        of("cpu family"),
        of("model\t"),
    ))
}
