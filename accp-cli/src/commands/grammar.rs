//! `accp grammar`: the grammar of frames, the pest grammar made from it, and grammars of the frames
//! of a registry.

pub(super) mod export;

use std::fs;
use std::path::{Path, PathBuf};

use accp_grammar::{ACCP, Source};

use crate::outcome::{Failure, Outcome, Verdict};
use crate::output::Output;

/// The place of the generated grammar in the repository.
const FILE: &str = "grammar/accp.pest";

/// Write the grammar of frames: for pest, or the ABNF from which it is made
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  accp grammar --abnf
  accp grammar --check
  accp grammar --write
  accp grammar export --format lark"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// The ABNF of the draft, section 3.1
    #[arg(long, group = "what")]
    abnf: bool,
    /// The pest grammar that is generated from it (the default)
    #[arg(long, group = "what")]
    pest: bool,
    /// Write nothing; fail if the file differs from what the ABNF generates
    #[arg(long, group = "what", value_name = "FILE", num_args = 0..=1, default_missing_value = FILE)]
    check: Option<PathBuf>,
    /// Write the pest grammar to the file
    #[arg(long, group = "what", value_name = "FILE", num_args = 0..=1, default_missing_value = FILE)]
    write: Option<PathBuf>,
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
    if args.abnf {
        Output::print(ACCP.abnf.as_bytes())?;
    } else if let Some(path) = &args.check {
        check(path)?;
    } else {
        // Both texts are part of this binary, so an error is a mistake in the source.
        let pest = ACCP
            .generate()
            .map_err(|error| Failure::Input(error.to_string()))?;
        let mut out = Output::to(args.write.as_deref())?;
        out.write(pest.as_bytes())?;
        out.finish()?;
    }
    Ok(Verdict::Fine)
}

fn check(path: &Path) -> Result<(), Failure> {
    let pest = fs::read_to_string(path).map_err(Failure::at(path))?;
    ACCP.check(&pest).map_err(|error| {
        Failure::Input(match error.file() {
            Source::Pest => format!(
                "{0}:{1}: this is not what the ABNF and the overrides give; run `{2} {0}`",
                path.display(),
                error.line(),
                ACCP.command
            ),
            _ => error.to_string(),
        })
    })
}
