//! The summary of a conversion as a table.

use std::fmt;

use accp_recordings::Summary;
use accp_runtime::{Reason, TokenCounter as _};
use accp_tokens::Bpe;

use crate::table::Table;

/// Makes the rows: a name, a figure, and its share of the compact JSON.
pub(super) fn table(summary: &Summary, counter: Bpe) -> Table {
    let mut table = Table::default().indented(2);
    let mut row = |what: &str, figure: &dyn fmt::Display, note: String| {
        table.row([what.to_owned(), format!("{:>8}", figure.to_string()), note]);
    };
    let equal = match summary.restored_equal {
        Some(equal) => format!("{equal} restored equal"),
        None => String::new(),
    };
    row("conversations", &summary.conversations, equal);
    row(
        "messages",
        &summary.messages,
        match summary.verbatim {
            0 => String::new(),
            count => format!("{count} of a shape the profiles do not know, sent whole"),
        },
    );
    row("frames", &summary.frames, String::new());
    let reasons: Vec<String> = summary
        .reasons()
        .filter(|(_, count)| *count > 0)
        .map(|(reason, count)| format!("{count} {}", words(reason)))
        .collect();
    row(
        "values by reference",
        &summary.externalised.values,
        reasons.join(", "),
    );
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    row(
        "inline, of the bytes",
        &percent(summary.inline_share(|share| share.bytes)),
        String::new(),
    );
    row(
        "inline, of the scalars",
        &percent(summary.inline_share(|share| share.scalars)),
        String::new(),
    );
    let against = |tokens: u64| match summary.json_tokens {
        0 => String::new(),
        json => format!("{:.1} % of the JSON", 100.0 * tokens as f64 / json as f64),
    };
    row(&format!("tokens ({})", counter.name()), &"", String::new());
    row("  compact JSON", &summary.json_tokens, String::new());
    row(
        "  frames",
        &summary.frame_tokens,
        against(summary.frame_tokens),
    );
    row(
        "  frames without envelope",
        &summary.without_envelope,
        against(summary.without_envelope),
    );
    row(
        "  behind the references",
        &summary.external_tokens,
        against(summary.external_tokens),
    );
    table
}
fn words(reason: Reason) -> &'static str {
    match reason {
        Reason::Characters => "over 50 characters",
        Reason::Depth => "nested too deep",
        _ => "over the limits of a frame",
    }
}
