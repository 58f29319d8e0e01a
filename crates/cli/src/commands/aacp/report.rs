//! Writes the findings of the validator for people and for programs.

use accp_aacp::{Finding, Report, Severity};
use serde_json::{Value as Json, json};

use accp_console::output;

/// Returns a finding as JSON.
fn finding(finding: &Finding) -> Json {
    json!({
        "code": finding.code.as_str(), "field": finding.field, "at": finding.at,
        "message": finding.to_string(),
    })
}

/// Returns the first error of each code as JSON.
pub(super) fn errors(report: &Report) -> Json {
    report.errors().map(finding).collect()
}

/// Returns the first warning of each code as JSON.
pub(super) fn warnings(report: &Report) -> Json {
    report.warnings().map(finding).collect()
}

/// Returns a line of text for each finding, with its place.
pub(super) fn lines(name: &str, line: u64, report: &Report) -> Vec<String> {
    let findings = report.findings().iter();
    let lines = findings.map(|finding| {
        let weight = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let column = finding.at.map(|at| format!(":{}", at + 1));
        let column = column.unwrap_or_default();
        format!(
            "{name}:{line}{column}: {weight}[{}]: {finding}",
            finding.code
        )
    });
    lines.collect()
}

/// Writes the findings to stderr.
pub(super) fn print(name: &str, line: u64, report: &Report) {
    lines(name, line, report).iter().for_each(output::note);
}
