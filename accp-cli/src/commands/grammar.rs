//! `accp grammar`: the grammars of frames and of packets, the pest grammars made from them, and
//! grammars of the frames of a registry.

pub(super) mod export;

use std::fs;
use std::path::{Path, PathBuf};

use accp_grammar::{AACP, ACCP, Grammar, Source};

use crate::outcome::{Failure, Outcome, Verdict};
use crate::output::Output;

/// The places of the generated grammars in the repository, each with its grammar.
const FILES: [(&str, &Grammar<'_>); 2] =
    [("grammar/accp.pest", &ACCP), ("grammar/aacp.pest", &AACP)];

/// Write the grammar of frames or of packets: for pest, or the ABNF from which it is made
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  accp grammar --abnf
  accp grammar --check
  accp grammar --write
  accp grammar --check grammar/aacp.pest
  accp grammar export --format lark"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// The grammar of AACP packets. A FILE `aacp.pest` says so by its name
    #[arg(long)]
    aacp: bool,
    /// The ABNF of the draft
    #[arg(long, group = "what")]
    abnf: bool,
    /// The pest grammar that is generated from it (the default)
    #[arg(long, group = "what")]
    pest: bool,
    /// Write nothing; fail if the file, grammar/accp.pest by default, differs from what the ABNF
    /// generates
    #[arg(long, group = "what", value_name = "FILE", num_args = 0..=1)]
    #[expect(
        clippy::option_option,
        reason = "the option may stand without its value"
    )]
    check: Option<Option<PathBuf>>,
    /// Write the pest grammar to the file, grammar/accp.pest by default
    #[arg(long, group = "what", value_name = "FILE", num_args = 0..=1)]
    #[expect(
        clippy::option_option,
        reason = "the option may stand without its value"
    )]
    write: Option<Option<PathBuf>>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Export(export::Args),
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    if let Some(Command::Export(args)) = &args.command {
        return export::run(args);
    }
    let (path, grammar) = place(args);
    if args.abnf {
        Output::print(grammar.abnf.as_bytes())?;
    } else if args.check.is_some() {
        check(grammar, &path)?;
    } else {
        // Both texts are part of this binary, so an error is a mistake in the source.
        let pest = grammar
            .generate()
            .map_err(|error| Failure::Input(error.to_string()))?;
        let mut out = Output::to(args.write.as_ref().map(|_| path.as_path()))?;
        out.write(pest.as_bytes())?;
        out.finish()?;
    }
    Ok(Verdict::Fine)
}

/// Returns the grammar that is asked for, and the place of its file.
fn place(args: &Args) -> (PathBuf, &'static Grammar<'static>) {
    let named = args.check.as_ref().or(args.write.as_ref());
    let named = named.and_then(Option::as_ref);
    let is_named = |(file, _): &&(&str, _)| {
        let name = named.and_then(|path| path.file_name());
        name.is_some() && name == Path::new(file).file_name()
    };
    let [frames, packets] = FILES;
    let asked = if args.aacp { packets } else { frames };
    let (file, grammar) = FILES.iter().find(is_named).copied().unwrap_or(asked);
    (named.map_or_else(|| file.into(), PathBuf::clone), grammar)
}

fn check(grammar: &Grammar<'_>, path: &Path) -> Result<(), Failure> {
    let pest = fs::read_to_string(path).map_err(Failure::at(path))?;
    grammar.check(&pest).map_err(|error| {
        Failure::Input(match error.file() {
            Source::Pest => format!(
                "{0}:{1}: this is not what the ABNF and the overrides give; run `{2} {0}`",
                path.display(),
                error.line(),
                grammar.command
            ),
            _ => error.to_string(),
        })
    })
}
