//! The report as tables of text.

use std::fmt::Write as _;

use accp_eval::{BASE, Corpus, Recall, Report};
use accp_runtime::context::CachePrices;

use crate::table::Table;

/// Writes a table for each corpus.
pub(super) fn text(report: &Report) -> String {
    let mut text = String::new();
    for corpus in &report.corpora {
        let _ = writeln!(text, "{}\n", table(report, corpus));
    }
    let CachePrices { cached, fresh } = report.prices;
    let _ = write!(
        text,
        "Tokens of {}. Shares are of `{}`; a token in the cache costs {cached}, any other \
             {fresh}.",
        report.encoding, BASE,
    );
    text
}

fn table(report: &Report, corpus: &Corpus) -> String {
    let mut table = Table::headed([
        "policy",
        "tokens",
        "share",
        "no system",
        "cost",
        "arguments",
        "bound",
        "identifiers",
        "results",
        "read back",
        "ms",
    ])
    .indented(2);
    for row in &corpus.rows {
        let measure = &row.measure;
        let part = if row.is_part(corpus) {
            format!(" ({})", measure.conversations)
        } else {
            String::new()
        };
        let told = |share: Option<f64>, places: usize| match share {
            Some(share) => format!("{share:.places$}"),
            None => "-".to_owned(),
        };
        let recall = |recall: Recall| told(recall.share(), 3);
        table.row([
            format!("{}{part}", row.policy),
            measure.spent.total().to_string(),
            told(row.tokens(), 3),
            told(row.without_system(), 3),
            told(row.cost(report.prices), 3),
            recall(measure.arguments),
            recall(measure.bound),
            recall(measure.identifiers),
            told(measure.results.share(), 3),
            recall(measure.bytes),
            format!("{:.0}", measure.time.as_secs_f64() * 1000.0),
        ]);
    }
    format!("{}\n{table}", report.heading(corpus))
}
