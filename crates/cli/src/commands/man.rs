//! `accp man`: writes manual pages.

use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::Output;

/// Write the manual page of accp, or of one of its commands
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp man | man -l -
  accp man registry diff > accp-registry-diff.1")]
pub(crate) struct Args {
    /// The command, such as `check` or `registry diff`
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs the command. `root` is the description of the whole command line.
pub(crate) fn run(args: &Args, mut root: clap::Command) -> Outcome {
    root.build();
    let mut command = &root;
    for name in &args.command {
        command = command.find_subcommand(name).ok_or_else(|| {
            let names: Vec<_> = command
                .get_subcommands()
                .map(clap::Command::get_name)
                .collect();
            let known = if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            };
            let of = command.get_bin_name().unwrap_or("accp");
            Failure::Misuse(format!("`{of}` has no command `{name}`; it has {known}"))
        })?;
    }
    let mut page = Vec::new();
    // Without this, the foot of a command's page has its name and no version.
    let source = concat!("accp ", env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(command.clone())
        .source(source)
        .render(&mut page)
        .map_err(|error| Failure::Io("manual page".to_owned(), error))?;
    Output::print_data(&page)?;
    Ok(Verdict::Fine)
}
