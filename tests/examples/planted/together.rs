//! Many mistakes in one build. An environment variable chooses the active mistake, so the compiler runs once for all
//! mistakes. The code of each mistake is beside the code that the mistake changes. A mistake that does not build
//! together with the others is left out, and the programs plant it alone later.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use serde_json::Value;

use super::copy::{Changed, Copy, SIMULATION};

/// The most rounds in which mistakes that do not build are left out.
const ROUNDS: usize = 20;
/// The crates that may have mistakes. Each crate gets the function of [`SWITCH`].
const CRATES: [&str; 3] = [
    "accp-runtime/context",
    "accp-runtime/session",
    "crates/hub/store",
];
/// The code of a function that returns whether a mistake is active. The environment variable `MUTANT` has the number
/// of the active mistake.
const SWITCH: &str = r#"
#[doc(hidden)]
#[allow(dead_code, missing_docs, clippy::all)]
pub(crate) fn is_mutant(number: usize) -> bool {
    static CHOSEN: ::std::sync::OnceLock<usize> = ::std::sync::OnceLock::new();
    let read = || ::std::env::var("MUTANT").ok().and_then(|text| text.parse().ok());
    *CHOSEN.get_or_init(|| read().unwrap_or(usize::MAX)) == number
}
"#;

/// Returns the condition, as Rust code, under which a mistake is active.
pub(crate) fn is_active(number: usize) -> String {
    format!("crate::is_mutant({number})")
}

/// A change of a file that adds a mistake beside the original code.
#[derive(Debug, Clone)]
pub(crate) struct Switch {
    pub(crate) file: String,
    /// The bytes that are replaced.
    pub(crate) at: Range<usize>,
    pub(crate) new: String,
    /// If the compiler reports an error in these bytes, this change may be the cause, although the error is not in
    /// the new text.
    pub(crate) scope: Range<usize>,
}

/// The changes that plant one mistake.
pub(crate) type Way = Vec<Switch>;

/// Mistakes that are planted in the copy at the same time.
pub(crate) struct Together {
    /// The numbers of the mistakes.
    pub(crate) planted: BTreeSet<usize>,
    changed: Changed,
}

/// A change, with its place in the text that the compiler sees.
struct Written {
    number: usize,
    file: String,
    own: Range<usize>,
    scope: Range<usize>,
}

impl Together {
    /// Plants as many of these mistakes as can be in one build, and builds the simulation. Of the ways to plant a
    /// mistake, uses the first that builds.
    ///
    /// # Errors
    /// If no mistake is to blame for an error of the compiler.
    pub(crate) fn plant(copy: &Copy, ways: Vec<(usize, Vec<Way>)>) -> Result<Self, String> {
        let mut left: BTreeMap<usize, Vec<Way>> = ways.into_iter().collect();
        for _ in 0..ROUNDS {
            let chosen = chosen(&mut left);
            let (changed, written) = write(copy, &chosen)?;
            let errors = errors_of_simulation(copy)?;
            if errors.is_empty() {
                let planted = chosen.into_keys().collect();
                return Ok(Self { planted, changed });
            }
            Copy::restore(changed)?;
            let blamed = blamed(&errors, &written);
            if blamed.is_empty() {
                let what = errors.first().map(Value::to_string).unwrap_or_default();
                return Err(format!("no mistake is to blame for {what}"));
            }
            for number in blamed {
                if let Some(ways) = left.get_mut(&number) {
                    ways.remove(0);
                }
            }
        }
        Err("the mistakes do not build together".into())
    }

    /// Takes all mistakes out of the copy.
    pub(crate) fn restore(self) -> Result<(), String> {
        Copy::restore(self.changed)
    }
}

/// For each mistake, returns the first way that does not overlap with the ways that were chosen before. Drops the
/// earlier ways of the mistake.
fn chosen(left: &mut BTreeMap<usize, Vec<Way>>) -> BTreeMap<usize, Way> {
    let mut chosen: BTreeMap<usize, Way> = BTreeMap::new();
    for (number, ways) in left {
        let taken = || chosen.values().flatten();
        let fits = |way: &Way| way.iter().all(|new| taken().all(|old| is_apart(new, old)));
        if let Some(first) = ways.iter().position(fits) {
            ways.drain(..first);
            chosen.insert(*number, ways[0].clone());
        }
    }
    chosen
}

/// Returns whether two changes do not overlap. Two insertions never overlap, even at the same place.
fn is_apart(one: &Switch, other: &Switch) -> bool {
    let are_points = one.at.is_empty() && other.at.is_empty();
    one.file != other.file
        || are_points
        || one.at.end <= other.at.start
        || other.at.end <= one.at.start
}

/// Writes the files with the mistakes, and adds the function that chooses the active mistake to each crate.
fn write(copy: &Copy, chosen: &BTreeMap<usize, Way>) -> Result<(Changed, Vec<Written>), String> {
    let mut files: BTreeMap<&str, Vec<(usize, &Switch)>> = BTreeMap::new();
    for (number, way) in chosen {
        for switch in way {
            files
                .entry(&switch.file)
                .or_default()
                .push((*number, switch));
        }
    }
    let (mut changed, mut written) = (Changed::new(), Vec::new());
    for (file, mut switches) in files {
        let old = copy.read(file)?;
        switches.sort_by_key(|(_, switch)| (switch.at.start, switch.at.end));
        let (mut text, mut taken, mut places) = (String::new(), 0, Vec::new());
        for (number, Switch { at, new, .. }) in &switches {
            text += &old[taken..at.start];
            let start = text.len();
            text += new;
            taken = at.end;
            places.push((*number, start..text.len()));
        }
        text += &old[taken..];
        // Returns the new place of a byte of the old text. The changes before this byte have moved it.
        let moved = |byte: usize| {
            let before = switches.iter().filter(|(_, switch)| switch.at.end <= byte);
            before.fold(byte, |byte, (_, switch)| {
                byte + switch.new.len() - switch.at.len()
            })
        };
        for ((number, own), (_, switch)) in places.into_iter().zip(&switches) {
            written.push(Written {
                number,
                file: file.into(),
                own,
                scope: moved(switch.scope.start)..moved(switch.scope.end),
            });
        }
        copy.change(Path::new(file), &text, &mut changed)?;
    }
    for of in CRATES {
        let file = format!("{of}/src/lib.rs");
        let text = copy.read(&file)? + SWITCH;
        copy.change(Path::new(&file), &text, &mut changed)?;
    }
    Ok((changed, written))
}

/// Builds the simulation, and returns the errors of the compiler.
fn errors_of_simulation(copy: &Copy) -> Result<Vec<Value>, String> {
    let build = ["build", "--message-format=json"];
    let output = copy.cargo(&[&build, &SIMULATION[..]].concat())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let messages = lines.map(|line: Value| line["message"].clone());
    let errors: Vec<_> = messages
        .filter(|message| message["level"] == "error")
        .collect();
    if errors.is_empty() && !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(errors)
}

/// Returns the mistakes that the errors of the compiler come from. For each error, these are the mistakes with the
/// shortest new text that contains the error. If no new text contains the error, they are the mistakes with the
/// shortest scope that contains it.
fn blamed(errors: &[Value], written: &[Written]) -> BTreeSet<usize> {
    let spans = errors
        .iter()
        .filter_map(|error| error["spans"].as_array())
        .flatten();
    let primary = spans.filter(|span| span["is_primary"] == true);
    let places = primary.filter_map(|span| {
        let byte = span["byte_start"].as_u64()? as usize;
        Some((span["file_name"].as_str()?, byte))
    });
    let blame = |(file, byte): (&str, usize)| {
        let here = written.iter().filter(|one| one.file == file);
        let of = |place: fn(&Written) -> &Range<usize>| {
            let around = here.clone().filter(|one| place(one).contains(&byte));
            let least = around.clone().map(|one| place(one).len()).min();
            let shortest = around.filter(|one| Some(place(one).len()) == least);
            shortest.map(|one| one.number).collect::<Vec<_>>()
        };
        match of(|one| &one.own) {
            own if own.is_empty() => of(|one| &one.scope),
            own => own,
        }
    };
    places.flat_map(blame).collect()
}
