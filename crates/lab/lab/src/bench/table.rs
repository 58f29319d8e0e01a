//! The report as tables of text.

use std::fmt::Write as _;

use accp_eval::{BASE, COLUMNS, Column, Corpus, FURTHER, LISTS, PROFILES, Prices, Report};

use accp_console::table::Table;

/// Writes two tables for each corpus, and one more for each of these: a window, `all`, and `sensitivity`.
pub(crate) fn text(report: &Report, all: bool, sensitivity: bool) -> String {
    let mut text = String::new();
    for corpus in &report.corpora {
        let heading = report.heading(corpus);
        let _ = writeln!(text, "{heading}\n{}", table(corpus, &COLUMNS));
        for line in corpus.each() {
            let _ = writeln!(text, "  {line}");
        }
        let _ = writeln!(text, "{}", table(corpus, &PROFILES));
        if report.window.is_some() {
            let _ = writeln!(text, "{}", table(corpus, &LISTS));
        }
        if all {
            let _ = writeln!(text, "{}", table(corpus, &FURTHER));
        }
        if sensitivity {
            let _ = writeln!(text, "{}", Table::of(corpus.sensitivity()).indented(2));
        }
        text.push('\n');
    }
    let prices = report.prices;
    let Prices { cached, input, .. } = prices;
    let _ = write!(
        text,
        "Tokens of {}. Shares are of `{BASE}`; a token in the cache costs {cached}, any other \
         {input}, one of output {}; the cache keeps {} tokens or more; windows of {} tokens. The \
         rules: accp-lab bench --help",
        report.encoding, prices.output, prices.minimum, prices.window,
    );
    if let Some(window) = report.window {
        let _ = write!(text, "; the window of the model has {window} tokens");
    }
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
