//! `accp completions`: writes the script with which a shell completes command lines of `accp`.

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

/// Runs the command. `root` is the description of the whole command line.
pub(crate) fn run(args: &Args, mut root: clap::Command) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut root, "accp", &mut script);
    Output::print_data(&script)?;
    Ok(Verdict::Fine)
}
