//! `accp aacp`: packets of the Agent Action Compression Protocol.

mod bench;
mod bridge;
mod decode;
mod encode;
mod fallback;
mod lines;
mod lint;
mod object;
mod profile;
mod registry;
mod report;
pub(super) mod structs;
mod validate;
mod vocabulary;
mod workflows;

use accp_console::outcome::Outcome;

/// Check, read, write and measure AACP packets
///
/// A packet is one line of text, such as
///
///     FETCH|HR|return:HR-Agent|p:1|aacp:1.1|res:emp_salary|period:2024-08
#[derive(Debug, clap::Subcommand)]
#[command(verbatim_doc_comment)]
pub(crate) enum Command {
    Validate(validate::Args),
    Decode(decode::Args),
    Encode(encode::Args),
    Route(fallback::RouteArgs),
    Registry(registry::Args),
    Workflows(workflows::Args),
    Bridge(bridge::Args),
    Profile(profile::Args),
    Lint(lint::Args),
    Bench(bench::Args),
}

/// Runs the command.
pub(crate) fn run(command: &Command) -> Outcome {
    match command {
        Command::Validate(args) => validate::run(args),
        Command::Decode(args) => decode::run(args),
        Command::Encode(args) => encode::run(args),
        Command::Route(args) => fallback::route(args),
        Command::Registry(args) => registry::run(args),
        Command::Workflows(args) => workflows::run(args),
        Command::Bridge(args) => bridge::run(args),
        Command::Profile(args) => profile::run(args),
        Command::Lint(args) => lint::run(args),
        Command::Bench(args) => bench::run(args),
    }
}
