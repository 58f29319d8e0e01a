//! The results so far, in a file. Each line is one result. The last line about a mutant is the valid one.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use super::mutant::{Mutant, hash};

/// Who has found a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Finder {
    Simulation,
    Tests,
    /// The mutant does not build.
    Compiler,
    Nobody,
}

impl Finder {
    pub(crate) const ALL: [(Self, &'static str); 4] = [
        (Self::Simulation, "simulation"),
        (Self::Tests, "tests"),
        (Self::Compiler, "unviable"),
        (Self::Nobody, "SURVIVED"),
    ];

    pub(crate) fn read(name: &str) -> Option<Self> {
        let known = Self::ALL.iter().find(|(_, other)| *other == name);
        known.map(|(finder, _)| *finder)
    }

    pub(crate) fn name(self) -> &'static str {
        let known = Self::ALL.iter().find(|(finder, _)| *finder == self);
        known.map_or("", |(_, name)| name)
    }
}

/// Who has found a mutant, and how: the seed and the message, or the name of the test.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) by: Finder,
    pub(crate) how: String,
}

/// All results.
pub(crate) struct Results {
    file: File,
    known: BTreeMap<String, Found>,
}

impl Results {
    /// Reads the file, and leaves out the results of the finders in `without`.
    pub(crate) fn open(path: &Path, without: &[Finder]) -> Result<Self, String> {
        let failed = |error| format!("{}: {error}", path.display());
        let mut known = BTreeMap::new();
        let text = if path.exists() {
            fs::read_to_string(path).map_err(failed)?
        } else {
            String::new()
        };
        for line in text.lines() {
            let mut cells = line.splitn(4, '\t');
            let mut cell = || cells.next().unwrap_or_default();
            let (key, by, how) = (cell().to_owned(), Finder::read(cell()), cell().to_owned());
            if let Some(by) = by {
                known.insert(key, Found { by, how });
            }
        }
        known.retain(|_, found| !without.contains(&found.by));
        let file = OpenOptions::new().create(true).append(true).open(path);
        Ok(Self {
            file: file.map_err(failed)?,
            known,
        })
    }

    pub(crate) fn of(&self, mutant: &Mutant) -> Option<Found> {
        self.known.get(&key(mutant)).cloned()
    }

    pub(crate) fn add(&mut self, mutant: &Mutant, found: &Found) -> Result<(), String> {
        let how = found.how.replace(['\t', '\n'], " ");
        let (by, place) = (found.by.name(), format!("{}: {}", mutant.file, mutant.what));
        let written = writeln!(self.file, "{}\t{by}\t{how}\t{place}", key(mutant));
        self.known.insert(key(mutant), found.clone());
        written.map_err(|error| error.to_string())
    }
}

/// Names a mutant by its text and the lines around it, so that its result is not used after these lines change.
fn key(mutant: &Mutant) -> String {
    let diff = mutant.diff.lines().filter(|line| !line.starts_with("@@"));
    let lines: Vec<_> = diff.collect();
    format!("{:016x}", hash(&[&lines.join("\n"), &mutant.what]))
}
