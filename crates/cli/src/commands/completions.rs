//! `accp completions`: scripts with which a shell completes the command line.

use clap_complete::Shell;

use accp_console::outcome::{Outcome, Verdict};
use accp_console::output::Output;

/// Write the completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp completions bash > ~/.local/share/bash-completion/completions/accp
  accp completions zsh > ~/.zfunc/_accp")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command, for the command line `root`.
pub(crate) fn run(args: &Args, mut root: clap::Command) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut root, "accp", &mut script);
    Output::print_data(&script)?;
    Ok(Verdict::Fine)
}
