//! `accp registry lint`: reports every mistake in registries.

use std::path::{Path, PathBuf};

use accp_registry::{Broken, Change, Problem, Registry, diff, registry_place};
use serde_json::{Value as Json, json};

use crate::registries::{self, load, load_valid, placed};
use crate::words::counted;
use accp_console::choices::Format;
use accp_console::outcome::{Outcome, Verdict};
use accp_console::output::{self, Output};

/// Report every mistake in registries, with its place and its cure
///
/// With --against, also every change that breaks a peer on an older registry: one side may write a
/// frame that the other side refuses or reads with another meaning. Exits with 1 if there is anything
/// to report.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp registry lint registry
  accp registry lint ours.json theirs.json
  accp registry lint --against released.json ours.json
  accp registry lint --against released.json --readers new ours.json   all agents update before they send")]
pub(crate) struct Args {
    /// Registry files or folders; they must fit together
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// The older registry, a file or a folder: report the changes that break its peers
    #[arg(long, value_name = "OLD")]
    against: Option<PathBuf>,
    /// The readers that must not break. `old` have OLD, and read new frames; `new` have the registries
    /// of PATH, and read old frames
    #[arg(long, value_enum, default_value_t, requires = "against")]
    readers: Readers,
    /// json: one object a line with `file`, `line`, `column`, `pointer`, `message` and `cure`
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The readers that must not break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Readers {
    Old,
    New,
    #[default]
    Both,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut problems = Vec::new();
    let mut registry = Registry::empty();
    for (index, path) in args.paths.iter().enumerate() {
        match load(path)? {
            Ok(next) => {
                if let Err(clashes) = registry.merge(next) {
                    let clashes = placed(&args.paths[..=index], clashes);
                    problems.extend(clashes.into_iter().map(|problem| (path, problem)));
                }
            }
            Err(found) => problems.extend(found.into_iter().map(|problem| (path, problem))),
        }
    }
    let mistakes = problems.len();
    // If the registry has mistakes, it cannot be compared with the older one.
    if let Some(old) = args.against.as_ref().filter(|_| mistakes == 0) {
        let changes = diff(&load_valid(old)?, &registry);
        let broken = changes
            .into_iter()
            .filter_map(|change| broken(change, args, old));
        problems.extend(broken.map(|problem| (old, problem)));
    }
    let mut out = Output::stdout();
    for (path, problem) in &mut problems {
        // A problem whose place was found already names its file.
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
        output::note(match (problems.len(), &args.against) {
            (0, None) => "no mistakes".to_owned(),
            (0, Some(_)) => "no mistakes, and nothing that breaks".to_owned(),
            (count, _) if mistakes > 0 => counted(count as u64, "mistake"),
            (count, _) => counted(count as u64, "breaking change"),
        });
    }
    Ok(Verdict::of(problems.len() as u64))
}

/// Turns a change that breaks a reader into a problem. The place is in the registry that has the
/// changed part.
fn broken(change: Change, args: &Args, old: &Path) -> Option<Problem> {
    let reader = match args.readers {
        Readers::Old => Broken::Old,
        Readers::New => Broken::New,
        Readers::Both => Broken::Both,
    };
    let breaking = change
        .breaking
        .filter(|breaking| breaking.reader.includes(reader))?;
    let mut paths = args.paths.iter().map(PathBuf::as_path).chain([old]);
    let place = paths.find_map(|path| registry_place(path, &change.pointer));
    let mut problem = Problem::new(change.pointer, change.description).cure(breaking.to_string());
    if let Some((file, position)) = place {
        problem.file = Some(file.display().to_string());
        problem.position = Some(position);
    }
    Some(problem)
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
