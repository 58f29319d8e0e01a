//! The report as a page: one file, without links to other files.

use std::fmt::Write as _;

use accp_memory::policy::Kind;

use super::chart::{Part, Point, bars, colour, escaped, lines, points};
use super::{BASE, COLUMNS, Column, Corpus, LISTS, Report, Row, viewer};
use crate::net::rules;

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;color:#1f2933;background:#fff;margin:2rem auto;\
max-width:1360px;padding:0 1rem}\
h1{font-size:1.6rem;margin:0 0 .4rem}h2{font-size:1.2rem;margin:2.6rem 0 .2rem}\
p{max-width:75ch;margin:.4rem 0}p.note{color:#52606d}\
.table{overflow-x:auto;margin:1rem 0}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%;font-size:.85rem}\
th,td{white-space:nowrap;padding:.25rem .4rem;text-align:right;border-bottom:1px solid #e4e7eb}\
th{font-weight:600;color:#52606d}th:first-child,td:first-child{text-align:left}\
.table th:first-child,.table td:first-child{position:sticky;left:0;background:#fff}\
tr:nth-child(2) td,.table tr:nth-child(2) td:first-child{background:#f5f7fa}\
i{display:inline-block;width:.75em;height:.75em;border-radius:2px;margin-right:.5em}\
figure{margin:1.2rem 0;max-width:1080px;overflow-x:auto}figcaption{font-weight:600;margin-bottom:.2rem}\
figcaption,.legend{position:sticky;left:0}\
.legend{color:#52606d;font-size:.85rem}.legend span{white-space:nowrap;margin-right:1em}\
svg{width:100%;min-width:900px;height:auto}svg text{font:12px system-ui,sans-serif;fill:#323f4b}\
svg .axis{font-weight:600}.grid{stroke:#e4e7eb}.lead{stroke:#9aa5b1;stroke-width:.8}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dt{font-weight:600}\
dd{margin:0}pre{white-space:pre-wrap}\
@media (max-width:50rem){dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}}";

/// Writes the page.
pub(super) fn page(report: &Report) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\
         <title>Contexts: net cost and memory</title><style>{STYLE}{}</style></head><body>\n\
         <h1>Contexts: net cost and memory</h1>\n\
         <p>Recorded conversations, replayed without a model. Before each message of an agent \
         each policy gave the agent's prompt; the message shows what the agent needed \
         from the prompt. Tokens are those of {}; a token in the cache costs {}, any other {}; \
         shares are relative to the policy <code>{}</code>.</p>\n",
        viewer::STYLE,
        escaped(&report.encoding),
        report.prices.cached,
        report.prices.input,
        BASE,
    );
    for corpus in &report.corpora {
        section(&mut page, report, corpus);
    }
    viewer::write(&mut page, &report.corpora);
    let rules = escaped(&rules());
    let _ = write!(
        page,
        "<h2>The rules</h2>\n<pre>{rules}</pre>\n<h2>The policies</h2>\n<dl>"
    );
    for row in report
        .corpora
        .first()
        .map_or(&[][..], |corpus| &corpus.rows)
    {
        let _ = write!(
            page,
            "<dt>{}</dt><dd>{}</dd>",
            escaped(&row.policy),
            escaped(&row.doc)
        );
    }
    page.push_str("</dl>\n</body></html>\n");
    page
}

fn section(page: &mut String, report: &Report, corpus: &Corpus) {
    let heading = report.heading(corpus);
    let (name, rest) = heading.split_once(": ").unwrap_or((&heading, ""));
    let _ = write!(
        page,
        "<h2>{}</h2>\n<p class=\"note\">{}.</p>\n",
        escaped(name),
        escaped(&rest.replace('`', "")),
    );
    table(page, corpus, &COLUMNS);
    if let Some(window) = report.window {
        let _ = writeln!(
            page,
            "<p class=\"note\">As lists inside a window of {window} tokens:</p>"
        );
        table(page, corpus, &LISTS);
    }
    let caption = "Net cost and lost needs: best is below on the left";
    figure(page, caption, &against(corpus), "");
    let caption = format!(
        "Tokens of each prompt, conversation {}",
        corpus.longest.conversation
    );
    figure(page, &caption, &over_turns(corpus), "");
    let kinds = Kind::ALL.into_iter().filter(|&kind| {
        corpus
            .rows
            .iter()
            .any(|row| row.measure.spent.tokens[kind as usize] > 0)
    });
    let kinds = kinds.map(|kind| (kind.name(), colour(kind as usize)));
    let caption = "Tokens of all prompts, by kind of message";
    figure(page, caption, &by_kind(corpus), &legend_of(kinds));
}

fn table(page: &mut String, corpus: &Corpus, columns: &[Column]) {
    let names = columns.iter().map(|(name, _)| format!("<th>{name}</th>"));
    let names: String = names.collect();
    let _ = writeln!(page, "<div class=\"table\"><table><tr>{names}</tr>");
    for (index, row) in corpus.rows.iter().enumerate() {
        table_row(page, corpus, columns, (index, row));
    }
    page.push_str("</table></div>\n");
}

fn table_row(page: &mut String, corpus: &Corpus, columns: &[Column], (index, row): (usize, &Row)) {
    let part = if row.is_part(corpus) {
        format!(" ({} conversations)", row.measure.conversations)
    } else {
        String::new()
    };
    let cells = columns.iter().skip(1).map(|(_, cell)| cell(row));
    let cells = cells.collect::<Vec<_>>().join("</td><td>");
    let _ = writeln!(
        page,
        "<tr><td><i style=\"background:{}\"></i>{}{part}</td><td>{cells}</td></tr>",
        colour(index),
        escaped(&row.policy),
    );
}

fn figure(page: &mut String, caption: &str, svg: &str, legend: &str) {
    let caption = escaped(caption);
    let _ = write!(
        page,
        "<figure><figcaption>{caption}</figcaption>{svg}<div class=\"legend\">{legend}</div></figure>"
    );
}

fn legend_of<'n>(entries: impl Iterator<Item = (&'n str, &'static str)>) -> String {
    let entry = |(name, colour): (&str, &str)| {
        format!(
            "<span><i style=\"background:{colour}\"></i>{}</span> ",
            escaped(name)
        )
    };
    entries.map(entry).collect()
}

/// Draws net cost against the share of needs that are lost.
fn against(corpus: &Corpus) -> String {
    let marks = corpus.rows.iter().enumerate().filter_map(|(index, row)| {
        Some(Point {
            name: &row.policy,
            colour: colour(index),
            x: row.net()?,
            y: row.measure.net.lost.share()?,
        })
    });
    let marks: Vec<Point<'_>> = marks.collect();
    points(&marks, "net cost, base = 1", "share of needs that are lost")
}

fn over_turns(corpus: &Corpus) -> String {
    let series = corpus.rows.iter().zip(&corpus.longest.turns).enumerate();
    let series: Vec<_> = series
        .map(|(index, (row, turns))| (&*row.policy, colour(index), turns.as_slice()))
        .collect();
    lines(&series, "prompt", "tokens")
}

fn by_kind(corpus: &Corpus) -> String {
    let rows: Vec<_> = corpus
        .rows
        .iter()
        .map(|row| {
            let parts = Kind::ALL.into_iter().map(|kind| {
                let tokens = row.measure.spent.tokens[kind as usize];
                Part {
                    name: kind.name(),
                    colour: colour(kind as usize),
                    size: tokens,
                }
            });
            (&*row.policy, parts.collect())
        })
        .collect();
    bars(&rows, "tokens")
}
