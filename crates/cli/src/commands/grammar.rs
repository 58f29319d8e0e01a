//! `accp grammar`: writes or checks the grammars of frames and of packets, makes a pest grammar from a user's own
//! ABNF, and exports grammars of the frames of a registry.

pub(super) mod export;
mod own;

use std::fs;
use std::path::{Path, PathBuf};

use accp_grammar::{AACP, ACCP, Grammar, Source};

use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{Output, SHARED};

/// The folder of the generated grammars in the repository.
const FOLDER: &str = "grammar";

/// Write the pest grammar of an ABNF: your own, or that of frames or packets
///
/// The grammar that is made from FILE.abnf accepts the same texts as the ABNF. If a PEG would read a
/// rule differently, an error names the rule, its line and the cure.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  accp grammar --abnf
  accp grammar --write
  accp grammar --check grammar/aacp.pest
  accp grammar uri.abnf -o uri.pest
  accp grammar uri.abnf --overrides uri.overrides -o uri.pest --check
  accp grammar export --format lark"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Your ABNF (RFC 5234, RFC 7405)
    #[arg(value_name = "FILE.abnf", conflicts_with_all = ["aacp", "abnf", "pest", "write"])]
    file: Option<PathBuf>,
    /// Decisions about the rules of FILE.abnf: one on each line, `rule decision [operand] ; reason`
    #[arg(long, value_name = "FILE")]
    overrides: Option<PathBuf>,
    /// Write the grammar of FILE.abnf to this file ; stdout by default
    #[arg(short, long, value_name = "FILE.pest", conflicts_with_all = ["aacp", "abnf", "pest", "write"])]
    output: Option<PathBuf>,
    /// Take the grammar of AACP packets instead of that of frames. A FILE named `aacp.pest` needs no --aacp
    #[arg(long)]
    aacp: bool,
    /// Print the ABNF of the draft
    #[arg(long, group = "what")]
    abnf: bool,
    /// Print the pest grammar that is generated from the ABNF of the draft; this is the default
    #[arg(long, group = "what")]
    pest: bool,
    /// Write nothing; fail if FILE differs from what the ABNF generates
    #[arg(long, group = "what", value_name = "FILE", num_args = 0..=1, default_missing_value = FOLDER)]
    check: Option<PathBuf>,
    /// Write the pest grammar to this file; without FILE, to its place in the folder `grammar`
    #[arg(long, group = "what", value_name = "FILE", num_args = 0..=1, default_missing_value = FOLDER)]
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
    if let Some(own) = own::Own::of(args)? {
        return own.run();
    }
    let path = args.check.as_ref().or(args.write.as_ref());
    let is_packets = args.aacp || path.is_some_and(|path| path.ends_with("aacp.pest"));
    let grammar = if is_packets { &AACP } else { &ACCP };
    let path = path.map(|path| match path {
        path if path == Path::new(FOLDER) => path.join(format!("{}.pest", grammar.protocol.name)),
        path => path.clone(),
    });
    match path {
        _ if args.abnf => Output::print_data(grammar.abnf.as_bytes())?,
        Some(path) if args.check.is_some() => check(grammar, &path)?,
        path => {
            // The ABNF and its overrides are part of this binary. So an error here is a bug of this program.
            let pest = grammar.generate();
            let pest = pest.map_err(|error| Failure::Input(error.to_string()))?;
            Output::write(path.as_deref(), SHARED, pest.as_bytes())?;
        }
    }
    Ok(Verdict::Fine)
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
