//! `accp registry lint`: reports every mistake in registries.

use std::path::PathBuf;

use accp_registry::{Problem, Registry};
use serde_json::{Value as Json, json};

use crate::registries::{self, load};
use crate::words::counted;
use accp_console::choices::Format;
use accp_console::outcome::{Outcome, Verdict};
use accp_console::output::{self, Output};

/// Report every mistake in registries, with its place and its cure
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp registry lint registry
  accp registry lint ours.json theirs.json")]
pub(crate) struct Args {
    /// Registry files or folders; they must fit together
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// json: one object a line with `file`, `line`, `column`, `pointer`, `message` and `cure`
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut problems = Vec::new();
    let mut registry = Registry::empty();
    for path in &args.paths {
        match load(path)? {
            Ok(next) => {
                if let Err(clashes) = registry.merge(next) {
                    problems.extend(clashes.into_iter().map(|problem| (path, problem)));
                }
            }
            Err(found) => problems.extend(found.into_iter().map(|problem| (path, problem))),
        }
    }
    let mut out = Output::stdout();
    for (path, problem) in &mut problems {
        // A clash of two registries already names the file of the later one.
        problem
            .file
            .get_or_insert_with(|| path.display().to_string());
        match args.format {
            Format::Text => out.line(&problem)?,
            Format::Json => out.record(to_json(problem))?,
        }
    }
    out.finish()?;
    if args.format == Format::Text {
        registries::note_replaced(registry.replaced());
        output::note(match problems.len() {
            0 => "no mistakes".to_owned(),
            count => counted(count as u64, "mistake"),
        });
    }
    Ok(Verdict::of(problems.len() as u64))
}

fn to_json(problem: &Problem) -> Json {
    json!({
        "file": problem.file,
        "line": problem.position.map(|position| position.line),
        "column": problem.position.map(|position| position.column),
        "pointer": problem.pointer,
        "message": problem.message,
        "cure": problem.cure,
    })
}
