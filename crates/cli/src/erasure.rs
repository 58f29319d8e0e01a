//! The common parts of `accp session erase` and `accp erase`: the arguments that say which data to erase, and the
//! table of the erased data.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use accp_store::ErasureRequest;
use serde_json::Value as Json;

use crate::words::{counted, name, ranges};
use accp_console::choices::Format;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output};
use accp_console::table::Table;

/// The data to erase.
#[derive(Debug, clap::Args)]
pub(crate) struct ErasureArgs {
    /// All frames and values of this agent
    #[arg(long, value_name = "AGENT")]
    pub(crate) from: Option<String>,
    /// The frames at these positions: 7, or 3..9 for all from 3 to 9
    #[arg(long, value_name = "POSITIONS", value_delimiter = ',', value_parser = positions)]
    pub(crate) positions: Vec<RangeInclusive<u64>>,
    /// The value under this key: `k101_7`
    #[arg(long, value_name = "KEY", value_delimiter = ',')]
    pub(crate) key: Vec<String>,
    /// Erase even if frames still wait for a handler; these frames lapse. Without this option, nothing is erased while
    /// frames wait
    #[arg(long)]
    pub(crate) lapse: bool,
    /// Only say what would be erased
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// json: one object with `session`, `erased` (false for a dry run), and `sides`: `side`, `host`,
    /// `positions`, `keys` and the `bytes` of the frames
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

impl ErasureArgs {
    pub(crate) fn selection(&self) -> Result<ErasureRequest, Failure> {
        if self.from.is_none() && self.positions.is_empty() && self.key.is_empty() {
            return Err(Failure::Misuse(
                "name what to erase: --from AGENT, --positions 3..9 or --key k101_7".to_owned(),
            ));
        }
        let keys = self.key.iter();
        let keys = keys.map(|key| key.trim_start_matches('$').trim_start_matches("cold."));
        Ok(ErasureRequest {
            from: self.from.clone(),
            positions: self.positions.clone(),
            keys: keys.map(str::to_owned).collect::<BTreeSet<_>>(),
            lapses: self.lapse,
        })
    }

    /// Prints the data that is or would be erased.
    pub(crate) fn print(&self, report: &Json) -> Outcome {
        if self.format == Format::Json {
            Output::print_record(report)?;
            return Ok(Verdict::Fine);
        }
        let sides = report["sides"].as_array().map(Vec::as_slice);
        let sides = sides.unwrap_or_default();
        if sides.is_empty() {
            output::note("nothing is left to erase");
            return Ok(Verdict::Fine);
        }
        let verb = if self.dry_run {
            "would erase"
        } else {
            "erased"
        };
        let mut table = Table::headed(["side", verb, "bytes", "values"]);
        for side in sides {
            let positions = side["positions"].as_array().into_iter().flatten();
            let positions: Vec<u64> = positions.filter_map(Json::as_u64).collect();
            let keys = side["keys"].as_array().into_iter().flatten();
            let keys: Vec<&str> = keys.filter_map(Json::as_str).collect();
            let host = if side["host"] == true { " (host)" } else { "" };
            let agent = side["side"].as_str().unwrap_or_default();
            let frames = counted(positions.len() as u64, "frame");
            table.row([
                format!("{}{host}", name(agent)),
                format!("{frames}: {}", ranges(&runs(&positions))),
                side["bytes"].to_string(),
                keys.join(", "),
            ]);
        }
        Output::print_line(table)?;
        if !self.dry_run {
            output::note(
                "copies elsewhere stay: those of agents with stores of their own, and backups",
            );
        }
        Ok(Verdict::Fine)
    }
}

/// Returns sorted positions as ranges.
fn runs(positions: &[u64]) -> Vec<(u64, u64)> {
    let runs = positions.chunk_by(|one, next| one + 1 == *next);
    runs.filter_map(|run| Some((*run.first()?, *run.last()?)))
        .collect()
}

fn positions(text: &str) -> Result<RangeInclusive<u64>, String> {
    let number = |text: &str| {
        let number = text.parse().ok().filter(|number| *number > 0);
        number.ok_or_else(|| format!("`{text}` is not a position: write 7, or 3..9"))
    };
    match text.split_once("..") {
        None => number(text).map(|at| at..=at),
        Some((from, to)) => {
            let (from, to) = (number(from)?, number(to.trim_start_matches('='))?);
            if from > to {
                return Err(format!("{from} is after {to}: swap the two"));
            }
            Ok(from..=to)
        }
    }
}
