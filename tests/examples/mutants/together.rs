//! Many mutants in one build. A variable of the environment chooses the one that is active, so the
//! compiler runs once for all. A mutant that does not build with the others is planted alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::copy::{Changed, Copy, SIMULATION};
use super::mutant::{Mutant, byte};

/// Rounds in which mutants that do not build are left out.
const ROUNDS: usize = 20;
/// The crates with mutants. Each gets the function that says which mutant is active.
const CRATES: [&str; 3] = [
    "accp-runtime/context",
    "accp-runtime/session",
    "crates/hub/store",
];
/// Returns whether this mutant is active.
const SWITCH: &str = r#"
#[doc(hidden)]
#[allow(dead_code, missing_docs, clippy::all)]
pub(crate) fn is_mutant(number: usize) -> bool {
    static CHOSEN: ::std::sync::OnceLock<usize> = ::std::sync::OnceLock::new();
    let read = || ::std::env::var("MUTANT").ok().and_then(|text| text.parse().ok());
    *CHOSEN.get_or_init(|| read().unwrap_or(usize::MAX)) == number
}
"#;

type Span = (usize, usize);

/// A change of a file that adds a mutant beside the original code. An environment variable chooses
/// between them.
#[derive(Debug, Clone)]
struct Edit {
    /// The bytes that are replaced.
    from: usize,
    to: usize,
    new: String,
    /// The lines of the changed file. An error of the compiler in one of these lines comes from
    /// this edit.
    lines: (usize, usize),
}

/// Mutants that are in the copy at the same time.
pub(crate) struct Together {
    /// The indexes of the mutants.
    pub(crate) planted: BTreeSet<usize>,
    changed: Changed,
}

impl Together {
    /// Plants as many of these mutants as can stand beside one another, and builds the simulation.
    pub(crate) fn plant(copy: &Copy, mutants: &[(usize, &Mutant)]) -> Result<Self, String> {
        let mut edits: BTreeMap<&str, BTreeMap<usize, Edit>> = BTreeMap::new();
        let mut files: BTreeMap<&str, Vec<(usize, &Mutant)>> = BTreeMap::new();
        for (index, mutant) in mutants {
            files
                .entry(&mutant.file)
                .or_default()
                .push((*index, *mutant));
        }
        for (file, mutants) in files {
            let text = read(copy, file)?;
            let parsed = syn::parse_file(&text).map_err(|error| format!("{file}: {error}"))?;
            let mut places = Places::default();
            places.visit_file(&parsed);
            let kept = edits.entry(file).or_default();
            for (index, mutant) in mutants {
                let edit = places.edit(&text, index, mutant);
                let Some(edit) = edit.filter(|edit| is_apart(edit, kept.values())) else {
                    continue;
                };
                kept.insert(index, edit);
            }
        }
        for _ in 0..ROUNDS {
            let changed = write(copy, &edits)?;
            let errors = errors_of_simulation(copy)?;
            if errors.is_empty() {
                let planted = edits.values().flat_map(|edits| edits.keys().copied());
                return Ok(Self {
                    planted: planted.collect(),
                    changed,
                });
            }
            Copy::restore(changed)?;
            let before = count(&edits);
            for (file, line) in places_of(&errors) {
                if let Some(edits) = edits.get_mut(&*file) {
                    leave_out(edits, line);
                }
            }
            if count(&edits) == before {
                let what = errors.first().map(Value::to_string).unwrap_or_default();
                return Err(format!("no mutant is to blame for {what}"));
            }
        }
        Err("the mutants do not build together".into())
    }

    /// Takes all mutants out of the copy.
    pub(crate) fn restore(self) -> Result<(), String> {
        Copy::restore(self.changed)
    }
}

fn count(edits: &BTreeMap<&str, BTreeMap<usize, Edit>>) -> usize {
    edits.values().map(BTreeMap::len).sum()
}

fn read(copy: &Copy, file: &str) -> Result<String, String> {
    let place = copy.tree.join(file);
    std::fs::read_to_string(&place).map_err(|error| format!("{file}: {error}"))
}

/// Writes the files with the mutants, and the function that chooses one.
fn write(copy: &Copy, edits: &BTreeMap<&str, BTreeMap<usize, Edit>>) -> Result<Changed, String> {
    let mut changed = Changed::new();
    for (file, edits) in edits {
        let mut text = read(copy, file)?;
        let mut ordered: Vec<_> = edits.values().collect();
        ordered.sort_by_key(|edit| (edit.from, edit.to));
        for edit in ordered.into_iter().rev() {
            text.replace_range(edit.from..edit.to, &edit.new);
        }
        copy.change(Path::new(file), &text, &mut changed)?;
    }
    for of in CRATES {
        let file = format!("{of}/src/lib.rs");
        let text = read(copy, &file)? + SWITCH;
        copy.change(Path::new(&file), &text, &mut changed)?;
    }
    Ok(changed)
}

/// Returns whether an edit touches no other. Several may stand at the same place between two bytes.
fn is_apart<'e>(edit: &Edit, others: impl Iterator<Item = &'e Edit>) -> bool {
    let mut others = others;
    others.all(|other| {
        let is_point = |edit: &Edit| edit.from == edit.to;
        let are_points = is_point(edit) && is_point(other);
        are_points || edit.to <= other.from || other.to <= edit.from
    })
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

/// Returns the files and lines of the errors.
fn places_of(errors: &[Value]) -> BTreeSet<(String, usize)> {
    let spans = errors
        .iter()
        .filter_map(|error| error["spans"].as_array())
        .flatten();
    let primary = spans.filter(|span| span["is_primary"] == true);
    let places = primary.filter_map(|span| {
        let line = span["line_start"].as_u64()?;
        Some((span["file_name"].as_str()?.to_owned(), line as usize))
    });
    places.collect()
}

/// Removes the edits whose lines have an error of the compiler. Of several such edits, only those
/// with the fewest lines are removed.
fn leave_out(edits: &mut BTreeMap<usize, Edit>, line: usize) {
    let covers = |edit: &Edit| (edit.lines.0..=edit.lines.1).contains(&line);
    let size = |edit: &Edit| edit.lines.1 - edit.lines.0;
    let least = edits.values().filter(|edit| covers(edit)).map(size).min();
    edits.retain(|_, edit| !covers(edit) || Some(size(edit)) != least);
}

/// The expressions of a file that mutants change, by the place of their operator or pattern.
#[derive(Default)]
struct Places {
    binary: BTreeMap<Span, [(Span, Span); 3]>,
    unary: BTreeMap<Span, [(Span, Span); 2]>,
    /// The guard of a match arm, or the place where one would stand.
    arms: BTreeMap<Span, (Span, Span)>,
}

fn range(node: &impl Spanned) -> (Span, Span) {
    let span = node.span();
    let (start, end) = (span.start(), span.end());
    ((start.line, start.column + 1), (end.line, end.column + 1))
}

impl<'ast> Visit<'ast> for Places {
    fn visit_expr_binary(&mut self, node: &'ast syn::ExprBinary) {
        let parts = [range(node), range(&node.left), range(&node.right)];
        self.binary.insert(range(&node.op).0, parts);
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &'ast syn::ExprUnary) {
        let parts = [range(node), range(&node.expr)];
        self.unary.insert(range(&node.op).0, parts);
        visit::visit_expr_unary(self, node);
    }

    fn visit_arm(&mut self, node: &'ast syn::Arm) {
        let guard = match &node.pat {
            syn::Pat::Guard(pat) => Some(range(&*pat.guard)),
            _ => None,
        };
        let arrow = range(&node.fat_arrow_token).0;
        self.arms
            .insert(range(&node.pat).0, guard.unwrap_or((arrow, arrow)));
        visit::visit_arm(self, node);
    }
}

impl Places {
    /// Returns the edit that plants a mutant beside the code, if there is one.
    fn edit(&self, text: &str, index: usize, mutant: &Mutant) -> Option<Edit> {
        let is_it = format!("crate::is_mutant({index})");
        let part = |(from, to): (Span, Span)| text.get(byte(text, from)?..byte(text, to)?);
        let (whole, new) = match mutant.genre.as_str() {
            "FnValue" => {
                let new = format!("if {is_it} {{ return {}; }} ", mutant.new);
                ((mutant.from, mutant.from), new)
            }
            "BinaryOperator" => {
                let [whole, left, right] = *self.binary.get(&mutant.from)?;
                let old = part((mutant.from, mutant.to))?;
                let (left, right, new) = (part(left)?, part(right)?, &mutant.new);
                let new = format!(
                    "(if {is_it} {{ {left} {new} {right} }} else {{ {left} {old} {right} }})"
                );
                (whole, new)
            }
            "UnaryOperator" => {
                let [whole, inner] = *self.unary.get(&mutant.from)?;
                let (old, inner) = (part(whole)?, part(inner)?);
                (
                    whole,
                    format!("(if {is_it} {{ {inner} }} else {{ {old} }})"),
                )
            }
            "MatchArmGuard" => {
                let guard = (mutant.from, mutant.to);
                let new = match mutant.new.as_str() {
                    "true" => format!("{is_it} || ({})", part(guard)?),
                    _ => format!("!{is_it} && ({})", part(guard)?),
                };
                (guard, new)
            }
            "MatchArm" => {
                let guard = *self.arms.get(&mutant.from)?;
                let new = match part(guard)? {
                    "" => format!("if !{is_it} "),
                    old => format!("!{is_it} && ({old})"),
                };
                (guard, new)
            }
            _ => return None,
        };
        let (from, to) = (byte(text, whole.0)?, byte(text, whole.1)?);
        let lines = if from == to {
            (mutant.from.0, mutant.to.0)
        } else {
            (whole.0.0, whole.1.0)
        };
        Some(Edit {
            from,
            to,
            new,
            lines,
        })
    }
}
