//! The report as tables of text.

use std::fmt::Write as _;

use accp_eval::{BASE, COLUMNS, COVERAGE, Column, Corpus, Prices, Report};

use crate::table::Table;

/// Writes a table for each corpus, with `all` a second one.
pub(super) fn text(report: &Report, all: bool) -> String {
    let mut text = String::new();
    for corpus in &report.corpora {
        let heading = report.heading(corpus);
        let _ = writeln!(text, "{heading}\n{}", table(corpus, &COLUMNS));
        each(&mut text, corpus);
        if all {
            let _ = writeln!(text, "{}", table(corpus, &COVERAGE));
        }
        text.push('\n');
    }
    let prices = report.prices;
    let Prices { cached, input, .. } = prices;
    let _ = write!(
        text,
        "Tokens of {}. Shares are of `{BASE}`; a token in the cache costs {cached}, any other \
         {input}, one of output {}; the cache keeps {} tokens or more; windows of {} tokens. The \
         rules: accp bench context --help",
        report.encoding, prices.output, prices.minimum, prices.window,
    );
    text
}

fn table<const N: usize>(corpus: &Corpus, columns: &[Column; N]) -> Table {
    let mut table = Table::headed(columns.map(|(name, _)| name)).indented(2);
    for row in &corpus.rows {
        let mut cells = columns.map(|(_, cell)| cell(row));
        if row.is_part(corpus) {
            let part = format!(" ({})", row.measure.conversations);
            cells
                .iter_mut()
                .take(1)
                .for_each(|name| name.push_str(&part));
        }
        table.row(cells);
    }
    table
}

/// Writes the net costs of few conversations, each by itself.
fn each(text: &mut String, corpus: &Corpus) {
    for row in &corpus.rows {
        if row.held.len() < 2 || row.interval().is_some() {
            continue;
        }
        let held = row.held.iter().filter_map(accp_eval::Held::net);
        let held: Vec<_> = held.map(|net| format!("{net:.3}")).collect();
        let _ = writeln!(
            text,
            "  {}, each conversation: {}",
            row.policy,
            held.join(" ")
        );
    }
}
