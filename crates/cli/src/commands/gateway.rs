//! `accp gateway`: runs a gateway between agents and the API of a model.

mod ledger;

use std::net::SocketAddr;
use std::path::PathBuf;

use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_gateway::{Config, Gateway, GatewayError, Keep, Policy};

use super::serve::log::LogArgs;
use super::serve::{address, interrupted, runtime};

/// Run a gateway: agents reach the API of their model through it, and pay less
///
/// An agent needs another base URL and nothing else. The gateway gives results of tools a cheaper form
/// when they enter a list, and leaves everything else of a request as it is, to the byte. Answers are
/// passed on as they arrive. Keys are passed on and never kept. The ledger has a row for each request:
/// what it has cost by the provider's own count, and what it would have cost unchanged.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  accp gateway
  export ANTHROPIC_BASE_URL=http://127.0.0.1:7338 OPENAI_BASE_URL=http://127.0.0.1:7338/v1
  accp gateway --policy shadow
  accp gateway --policy window --window 100000
  accp gateway --upstream openai=https://llm.example.com --holdout 0.1
  accp gateway report --by day")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<ledger::Command>,
    #[command(flatten)]
    serve: ServeArgs,
}

#[derive(Debug, clap::Args)]
struct ServeArgs {
    /// The file of requests and sessions; it is created if it does not exist
    #[arg(long, value_name = "FILE", default_value = ledger::FILE, env = "ACCP_LEDGER")]
    ledger: PathBuf,
    /// The API behind the gateway: `anthropic=URL` or `openai=URL`
    #[arg(long, value_name = "NAME=URL")]
    upstream: Vec<String>,
    /// What happens to requests: `append` gives results cheaper forms; `save` also lets old results lose their middles where
    /// that pays; `window` also lets whole messages leave a list that is too large; `shadow` changes nothing, and says what
    /// another policy would save; `off` does not read requests
    #[arg(long, default_value = "append")]
    policy: Policy,
    /// The policy whose bill `shadow` predicts [default: save]
    #[arg(long, value_name = "POLICY")]
    predict: Option<Policy>,
    /// The most tokens of a list, for `--policy window` and `save`
    #[arg(long, value_name = "TOKENS")]
    window: Option<u64>,
    /// The share of the sessions that stay unchanged, from 0 to 1, so that bills can be compared
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    holdout: f64,
    /// How much of a request the ledger keeps: `cold` keeps what was sent instead of the original, such as cheaper forms of
    /// results, and summaries of messages that left the list; `none` keeps digests, numbers and names only, and needs
    /// `--policy shadow` or `off`
    #[arg(long, default_value = "cold")]
    keep: Keep,
    /// Encrypt parts of prompts in the ledger with the key in this file: at least 32 random bytes
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Listen on this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7338", value_parser = address)]
    listen: SocketAddr,
    /// Allow an address beyond loopback. Requests and keys then cross the network unencrypted
    #[arg(long)]
    allow_remote: bool,
    /// Trust the certificate authorities in this PEM file instead of Mozilla's
    #[arg(long, value_name = "FILE")]
    upstream_ca: Option<PathBuf>,
    #[command(flatten)]
    log: LogArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    match &args.command {
        Some(command) => ledger::run(command),
        None => serve(&args.serve),
    }
}

/// Runs a gateway until it is interrupted.
fn serve(args: &ServeArgs) -> Outcome {
    if args.predict.is_some() && args.policy != Policy::Shadow {
        let message = format!(
            "--predict is for --policy shadow, and the policy is {}: add --policy shadow, or leave --predict out",
            args.policy
        );
        return Err(Failure::Misuse(message));
    }
    let default = Config::default();
    let mut config = Config {
        listen: args.listen,
        allow_remote: args.allow_remote,
        policy: args.policy,
        predict: args.predict.unwrap_or(default.predict),
        window: args.window,
        holdout: args.holdout,
        keep: args.keep,
        key_file: args.key_file.clone(),
        authority: args.upstream_ca.clone(),
        ..default
    };
    let mut named = Vec::new();
    for upstream in &args.upstream {
        let name = upstream.split('=').next().unwrap_or_default();
        if named.contains(&name) {
            let message = format!("--upstream {name} stands twice: give one URL for each API");
            return Err(Failure::Misuse(message));
        }
        named.push(name);
        match upstream.split_once('=') {
            Some(("anthropic", url)) => url.clone_into(&mut config.anthropic),
            Some(("openai", url)) => url.clone_into(&mut config.openai),
            _ => {
                let message = format!(
                    "--upstream {upstream}: expected anthropic=URL or openai=URL, such as openai=https://llm.example.com"
                );
                return Err(Failure::Misuse(message));
            }
        }
    }
    let _log = args.log.start(None);
    open_many_files();
    runtime()?.block_on(async {
        let policy = config.policy;
        let gateway = Gateway::bind(config, &args.ledger).await;
        let gateway = gateway.map_err(|error| match error {
            GatewayError::Ledger(error) => ledger::unusable(&args.ledger, &error),
            error => Failure::Misuse(error.to_string()),
        })?;
        let ends = interrupted();
        let url = gateway.url();
        args.log.tell(&format!(
            "gateway at {url}, policy {policy}, ledger {}; Ctrl-C ends it",
            args.ledger.display()
        ));
        args.log.tell(&format!(
            "export ANTHROPIC_BASE_URL={url} OPENAI_BASE_URL={url}/v1"
        ));
        let ended = gateway.run(ends).await;
        ended.map_err(|error| Failure::Io(url, error))?;
        Ok(Verdict::Fine)
    })
}

/// Lets this process open as many files as the system allows. Each request takes two: the connection of its client, and
/// the one to the provider. Many systems let a program begin with 1,024.
fn open_many_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        // If the system refuses, the gateway goes on with what it has.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}
