//! Mutants: reads those that `cargo mutants` lists, and draws some of them by a seed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use accp_testkit::Rng;
use serde_json::Value;

use super::copy::{Changed, Copy, cargo};

/// The arguments of `cargo mutants` that say which files are mutated. The suite for stores is test code, although a
/// feature of the crate contains it.
const FILES: [&str; 8] = [
    "-f=accp-runtime/session/src/**/*.rs",
    "-f=crates/hub/store/src/**/*.rs",
    "-f=accp-runtime/context/src/checkpoint*.rs",
    "-e=crates/hub/store/src/conformance.rs",
    "-e=crates/hub/store/src/conformance/**",
    "-p=accp-session",
    "-p=accp-store",
    "-p=accp-context",
];

/// One small change of the code.
#[derive(Debug, Clone)]
pub(crate) struct Mutant {
    /// The crate, which is also the name of its folder.
    pub(crate) of: String,
    pub(crate) file: String,
    pub(crate) line: usize,
    /// The change in words, such as "replace == with != in `Gate::first_checks`". If a file has several mutants
    /// with the same words, the words of the second mutant end in "#2".
    pub(crate) what: String,
    /// The change with the lines around it. A result is valid only while these lines stay the same.
    pub(crate) diff: String,
    /// The kind of the change, as `cargo mutants` names it.
    pub(crate) genre: String,
    /// The line and the column, counted from 1, at which the replaced text begins. `to` has those of its end.
    pub(crate) from: (usize, usize),
    pub(crate) to: (usize, usize),
    pub(crate) new: String,
}

impl Mutant {
    /// Lists all mutants of the copy.
    pub(crate) fn all(copy: &Copy) -> Result<Vec<Self>, String> {
        let failed = |error: &dyn std::fmt::Display| format!("cargo mutants: {error}");
        let mut command = Command::new(cargo());
        command.args(["mutants", "--list", "--json", "--no-config"]);
        command.args(FILES).current_dir(&copy.tree);
        let output = command.output().map_err(|error| failed(&error))?;
        if !output.status.success() {
            return Err(failed(&String::from_utf8_lossy(&output.stderr)));
        }
        let list: Vec<Value> =
            serde_json::from_slice(&output.stdout).map_err(|error| failed(&error))?;
        let mut times = BTreeMap::new();
        let mut all = Vec::new();
        for entry in list.iter().filter(|entry| !only_prints(entry)) {
            let mutant =
                Self::read(entry).ok_or_else(|| failed(&format!("cannot read {entry}")))?;
            all.push(mutant.numbered(&mut times));
        }
        Ok(all)
    }

    fn read(entry: &Value) -> Option<Self> {
        let text = |name: &str| entry[name].as_str().map(String::from);
        let place = |end: &str| {
            let place = &entry["span"][end];
            let number = |name: &str| place[name].as_u64().map(|number| number as usize);
            Some((number("line")?, number("column")?))
        };
        let name = text("name")?;
        // Example of a name: accp-runtime/session/src/gate.rs:48:64: replace == with != in
        // Gate::first_checks
        let what = name.splitn(4, ':').nth(3)?.trim();
        Some(Self {
            of: text("package")?,
            file: text("file")?,
            line: place("start")?.0,
            what: what.into(),
            diff: text("diff")?,
            genre: text("genre")?,
            from: place("start")?,
            to: place("end")?,
            new: text("replacement")?,
        })
    }

    fn numbered(mut self, times: &mut BTreeMap<(String, String), usize>) -> Self {
        let time = times.entry((self.file.clone(), self.what.clone()));
        let time = time.and_modify(|time| *time += 1).or_insert(1);
        if *time > 1 {
            self.what = format!("{} #{time}", self.what);
        }
        self
    }

    /// Sorts mutants in an order that depends on the seed. The order of two mutants depends neither on the other
    /// mutants nor on line numbers. So a change of the code changes little of the drawn sample.
    pub(crate) fn shuffle(all: &mut [Self], seed: u64) {
        all.sort_by_cached_key(|mutant| {
            let name = hash(&[&mutant.file, &mutant.what]);
            (Rng::new(seed ^ name).next_u64(), name)
        });
    }

    /// Plants the mutant in the copy.
    pub(crate) fn plant(&self, copy: &Copy) -> Result<Changed, String> {
        let path = Path::new(&self.file);
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", self.file);
        let text = std::fs::read_to_string(copy.tree.join(path)).map_err(|error| failed(&error))?;
        let range = byte(&text, self.from).zip(byte(&text, self.to));
        let (from, to) = range.ok_or_else(|| failed(&"a place behind the end"))?;
        let text = [&text[..from], &self.new, &text[to..]].concat();
        let parsed = syn::parse_file(&text);
        parsed.map_err(|error| failed(&format!("{}: {error}", self.what)))?;
        let mut changed = Changed::new();
        copy.change(path, &text, &mut changed)?;
        Ok(changed)
    }
}

/// Returns whether a mutant only changes how a value is printed: for `Debug`, or as an error.
fn only_prints(entry: &Value) -> bool {
    let name = entry["function"]["function_name"]
        .as_str()
        .unwrap_or_default();
    let shown = name.split_once(" for ");
    let is_error = |of: &str| of.split('>').next().is_some_and(|of| of.ends_with("Error"));
    shown.is_some_and(|(what, of)| {
        what.ends_with("Debug")
            || what.ends_with("Error")
            || what.ends_with("Display") && is_error(of)
    })
}

/// Returns the index of the byte at a line and a column, both counted from 1.
pub(crate) fn byte(text: &str, (line, column): (usize, usize)) -> Option<usize> {
    let before: usize = text
        .split_inclusive('\n')
        .take(line - 1)
        .map(str::len)
        .sum();
    let rest = text.get(before..)?;
    let mut starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    Some(before + starts.nth(column - 1)?)
}

/// Hashes texts, the same on every machine (FNV-1a).
pub(crate) fn hash(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Reads the table of the equivalent mutants. Each row begins with the file and the mutant.
///
/// # Errors
/// If a row names no mutant.
pub(crate) fn equivalent(
    table: &str,
    all: &[Mutant],
) -> Result<BTreeSet<(String, String)>, String> {
    let section = table
        .split("\n## ")
        .find(|part| part.starts_with("Equivalent"));
    let rows = section.unwrap_or_default().lines();
    let mut named = BTreeSet::new();
    for row in rows.filter_map(|line| line.strip_prefix("| `")) {
        let cells = row.split_once("` | `");
        let cells = cells.and_then(|(file, rest)| Some((file, rest.split_once("` | ")?.0)));
        let (file, what) = cells.ok_or_else(|| format!("not a row: {row}"))?;
        let what = what.replace("\\|", "|");
        if !all
            .iter()
            .any(|mutant| mutant.file == file && mutant.what == what)
        {
            return Err(format!("no such mutant: {file}: {what}"));
        }
        named.insert((file.to_owned(), what));
    }
    Ok(named)
}
