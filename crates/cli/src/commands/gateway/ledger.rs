//! `accp gateway report`, `receipt`, `verify` and `key`: reports on a ledger, and its signed receipts.

use std::fs;
use std::path::{Path, PathBuf};

use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::Output;
use accp_gateway::{By, Ledger, LedgerError, Receipt, ReceiptError, Report};

/// The file of a ledger, unless another one is named.
pub(super) const FILE: &str = "gateway.accp";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Show what requests have cost, and what they would have cost unchanged
    Report {
        #[command(flatten)]
        ledger: LedgerArgs,
        /// A row for each `session`, `day` or `model`
        #[arg(long, default_value = "session")]
        by: By,
        /// Write JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a signed receipt for a session
    Receipt {
        /// The session, as the report or the header x-accp-session of an answer names it
        session: String,
        #[command(flatten)]
        ledger: LedgerArgs,
    },
    /// Check a receipt, and show what it says
    Verify {
        /// The file of the receipt
        receipt: PathBuf,
        /// The public key that has to have signed it, as `accp gateway key` prints it
        #[arg(long)]
        key: Option<String>,
    },
    /// Print the public key of receipts
    Key {
        #[command(flatten)]
        ledger: LedgerArgs,
        /// Sign with a new key from now on
        #[arg(long)]
        rotate: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct LedgerArgs {
    /// The file of the ledger
    #[arg(long, value_name = "FILE", default_value = FILE, env = "ACCP_LEDGER")]
    ledger: PathBuf,
}

impl LedgerArgs {
    /// Opens the ledger. Fails if there is no such file.
    fn open(&self) -> Result<Ledger, Failure> {
        let file = &self.ledger;
        fs::metadata(file).map_err(Failure::at(file))?;
        Ledger::open(file).map_err(|error| unusable(file, &error))
    }
}

/// Returns the failure for a ledger that cannot be used. A ledger that cannot be reached is no bad input.
pub(super) fn unusable(file: &Path, error: &LedgerError) -> Failure {
    let message = format!("{}: {error}", file.display());
    match error {
        LedgerError::InUse
        | LedgerError::Io(_)
        | LedgerError::Unwritable(_)
        | LedgerError::Random(_) => Failure::Misuse(message),
        _ => Failure::Input(message),
    }
}

fn refused(error: &ReceiptError) -> Failure {
    Failure::Input(error.to_string())
}

/// Runs the command.
pub(super) fn run(command: &Command) -> Outcome {
    match command {
        Command::Report { ledger, by, json } => {
            let report = Report::of(&ledger.open()?, *by);
            let report = report.map_err(|error| unusable(&ledger.ledger, &error))?;
            if *json {
                Output::print_data(report.to_json().as_bytes())?;
            } else {
                Output::print(report.to_text().as_bytes())?;
            }
        }
        Command::Receipt { session, ledger } => {
            let ledger = ledger.open()?;
            let receipt = Receipt::of(&ledger, session).map_err(|error| refused(&error))?;
            let signed = receipt.signed(&ledger).map_err(|error| refused(&error))?;
            Output::print_data(signed.as_bytes())?;
        }
        Command::Verify { receipt, key } => {
            let bytes = fs::read(receipt).map_err(Failure::at(receipt))?;
            let text = String::from_utf8(bytes).map_err(|error| {
                let at = error.utf8_error().valid_up_to();
                Failure::Input(format!(
                    "{}: byte {at} is not UTF-8; give a receipt as `accp gateway receipt` writes it",
                    receipt.display()
                ))
            })?;
            let said = Receipt::verify(&text, key.as_deref());
            let said =
                said.map_err(|error| Failure::Input(format!("{}: {error}", receipt.display())))?;
            let saved = if said.plain > 0.0 {
                100.0 * (1.0 - said.cost / said.plain)
            } else {
                0.0
            };
            Output::print_line(format_args!(
                "The signature holds. Session {}: {} requests ({} with a count of the provider) cost {:.0} tokens of plain \
                 input, and {:.0} as they came: {saved:.1} % saved.",
                said.session, said.requests, said.counted, said.cost, said.plain
            ))?;
        }
        Command::Key { ledger, rotate } => {
            let ledger = ledger.open()?;
            let key = if *rotate {
                Receipt::rotate(&ledger)
            } else {
                Receipt::key(&ledger)
            };
            Output::print_record(key.map_err(|error| refused(&error))?)?;
        }
    }
    Ok(Verdict::Fine)
}
