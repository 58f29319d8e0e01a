//! `accp ready`: asks a running hub whether it accepts requests.

use crate::hub::{HubAddress, cure_of_tls, seconds};
use accp_console::outcome::{Outcome, Verdict};
use accp_console::output::note;

/// Ask a running hub whether it takes requests
///
/// The exit code is 0 if the hub and its store answer, and 1 otherwise. The command needs no token. Use it
/// as the health check of a container.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp ready
  accp ready --hub https://hub.example.com --timeout 2
  accp ready --hub https://hub.internal:7337 --authority ca.pem")]
pub(crate) struct Args {
    #[command(flatten)]
    address: HubAddress,
    /// The number of seconds to wait
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    timeout: u64,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .tls_config(args.address.tls()?)
        .timeout_global(Some(seconds(args.timeout)))
        .build();
    let http = ureq::Agent::new_with_config(config);
    let url = format!("{}/readyz", args.address.http());
    let why = match http.get(&url).call() {
        Ok(answer) if answer.status().is_success() => return Ok(Verdict::Fine),
        Ok(answer) if answer.status() == 503 => {
            format!("{}; the log of the hub says why", answer.status())
        }
        Ok(answer) => format!(
            "{}; a hub does not answer so: --hub names another address",
            answer.status()
        ),
        Err(ureq::Error::Timeout(_)) => format!(
            "no answer in the time of --timeout {}: see whether the hub still runs",
            args.timeout
        ),
        Err(error) => {
            let cure = cure_of_tls(&error);
            let cure = cure.unwrap_or("`accp serve` starts a hub, and --hub names another");
            format!("{error}; {cure}")
        }
    };
    note(format_args!("{url}: {why}"));
    Ok(Verdict::AtFault)
}
