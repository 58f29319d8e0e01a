//! Random items: each compiles, or has exactly one error, and the derive wrote that error.
//!
//! `ITEMS=2000` sets the number of items, and `SEED=7` the seed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::format_push_string,
    reason = "helpers of tests"
)]

mod random;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use random::{Item, Random};

/// The types and imports that every generated module uses.
const HEADER: &str = "#![allow(warnings)]
pub mod types {
    pub use accp_runtime::{AccpFrame, AgentId, Decimal, Map, Value};
    pub use std::{borrow::Cow, collections::{BTreeMap, HashMap}, fmt::Debug, marker::PhantomData};
    #[derive(AccpFrame)] pub enum Known { Low, High }
    #[derive(AccpFrame)] #[accp(transparent)] pub struct Text(pub String);
    #[derive(AccpFrame)] pub struct Held<'a> { a: Cow<'a, str> }
    #[derive(AccpFrame)] #[accp(intent = \"req\", operation = \"x\")] pub struct FrameX { a: i64 }
    #[derive(AccpFrame)] #[accp(intent = \"req\", operation = \"y\")] pub struct FrameY { a: i64 }
    #[derive(AccpFrame)] #[accp(intent = \"req\", operation = \"z\")] pub struct FrameZ<'a> { a: Cow<'a, str> }
}
";

fn setting(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn a_random_item_compiles_or_has_one_error() {
    let (count, seed) = (setting("ITEMS", 40), setting("SEED", 1));
    let mut random = Random::new(seed);
    let items: Vec<Item> = (0..count)
        .map(|at| random::item(&mut random, &format!("Item{at}")))
        .collect();
    let project = project();
    let all: Vec<usize> = (0..items.len()).collect();
    // rustc stops at the errors of macros, so the items without such errors are compiled once
    // more.
    let first = errors(&project, &items, &all);
    let others: Vec<usize> = all
        .into_iter()
        .filter(|at| !first.contains_key(at))
        .collect();
    let second = errors(&project, &items, &others);
    let (mut compiled, mut refused, mut faults) = (0, 0, Vec::new());
    for (at, item) in items.iter().enumerate() {
        let errors = first.get(&at).or(second.get(&at));
        let errors = errors.map(Vec::as_slice).unwrap_or_default();
        match errors {
            [] if !item.is_wrong => compiled += 1,
            [error] if item.is_wrong && is_ours(error) => refused += 1,
            _ => faults.push(format!("{}\n    {}", item.text, errors.join("\n    "))),
        }
    }
    println!(
        "{compiled} compile, {refused} have one error, {} are at fault",
        faults.len()
    );
    assert!(faults.is_empty(), "seed {seed}:\n{}", faults.join("\n"));
    assert!(compiled * 5 > items.len() && refused * 5 > items.len());
}

/// Returns whether the derive wrote an error: a message without a code, or an assertion.
fn is_ours(error: &str) -> bool {
    error.starts_with("error: ") || error.starts_with("error[E0080]: evaluation panicked")
}

/// Makes a crate that depends on the runtime, and returns its folder.
fn project() -> PathBuf {
    let project = Path::new(env!("CARGO_TARGET_TMPDIR")).join("items");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::create_dir_all(project.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"items\"\nedition = \"2024\"\n\n[dependencies]\naccp-runtime = {{ path = {:?}, \
         default-features = false, features = [\"std\", \"derive\"] }}\n\n[workspace]\n",
        here.display().to_string()
    );
    fs::write(project.join("Cargo.toml"), manifest).unwrap();
    fs::copy(here.join("../Cargo.lock"), project.join("Cargo.lock")).unwrap();
    project
}

/// Compiles some of the items, and returns the errors of each.
fn errors(project: &Path, items: &[Item], chosen: &[usize]) -> BTreeMap<usize, Vec<String>> {
    let before = HEADER.lines().count();
    let modules = chosen
        .iter()
        .map(|at| format!("mod m{at} {{ use super::types::*; {} }}\n", items[*at].text));
    let text: String = std::iter::once(HEADER.to_owned()).chain(modules).collect();
    fs::write(project.join("src/lib.rs"), text).unwrap();
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["check", "--offline", "--quiet", "--message-format=short"])
        .current_dir(project)
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("../tests/trybuild"),
        )
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    let mut errors: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for line in messages.lines() {
        let Some(place) = line.strip_prefix("src/lib.rs:") else {
            continue;
        };
        let mut parts = place.splitn(3, ':');
        let number: usize = parts.next().unwrap().parse().unwrap();
        let message = parts.nth(1).unwrap_or_default().trim();
        if message.starts_with("error") {
            let at = number.checked_sub(before + 1).and_then(|at| chosen.get(at));
            let at = at.unwrap_or_else(|| panic!("{line}"));
            errors.entry(*at).or_default().push(message.to_owned());
        }
    }
    assert!(output.status.success() || !errors.is_empty(), "{messages}");
    errors
}
