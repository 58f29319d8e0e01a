//! `accp collab validate`: checks whether a folder is in order.

use accp_collab::{Finding, Scope, validate};
use serde_json::json;

use super::{FolderArgs, report};
use accp_console::outcome::{Outcome, Verdict};

/// Check a folder: files, log, phases, texts, hashes
///
/// Exit codes: 0 passed; 1 passed with warnings; 2 failed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp collab validate --folder round
  accp collab validate --folder round --format json")]
pub(crate) struct Args {
    #[command(flatten)]
    folder: FolderArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let folder = args.folder.shared().read(Scope::All);
    let findings = validate(&folder);
    let (warnings, errors): (Vec<_>, Vec<_>) =
        findings.iter().partition(|finding| finding.is_warning);
    let object = json!({
        "ok": errors.is_empty(),
        "errors": errors.iter().map(|one| report::object(one)).collect::<Vec<_>>(),
        "warnings": warnings.iter().map(|one| report::object(one)).collect::<Vec<_>>(),
        "phase": folder.state().map(|state| state.phase().as_str()),
        "events": folder.log().events().len(),
    });
    let lines = |kind: &str, found: &[&Finding]| {
        let lines = found
            .iter()
            .map(|one| format!("{kind}: {}\n", report::line(one)));
        lines.collect::<String>()
    };
    let verdict = match (errors.len(), warnings.len()) {
        (0, 0) => "validation passed".to_owned(),
        (0, warnings) => format!("validation passed with warnings: {warnings}"),
        (errors, _) => format!("validation failed: {errors} at fault"),
    };
    let text = lines("ERROR", &errors) + &lines("WARNING", &warnings) + &verdict;
    report::show(args.folder.format, object, text)?;
    Ok(match (errors.is_empty(), warnings.is_empty()) {
        (true, true) => Verdict::Fine,
        (true, false) => Verdict::AtFault,
        (false, _) => Verdict::Refused,
    })
}
