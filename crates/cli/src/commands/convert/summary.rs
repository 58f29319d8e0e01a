//! The summary of a conversion as a table.

use std::fmt;

use accp_frame::{Reason, TokenCounter as _};
use accp_recordings::Summary;
use accp_tokens::Bpe;

use accp_console::table::Table;

/// Makes the table. Each row has a name, a figure, and the share of this figure in the compact JSON.
pub(super) fn table(summary: &Summary, counter: Bpe) -> Table {
    let mut table = Table::default().indented(2);
    let mut row = |what: &str, figure: &dyn fmt::Display, note: String| {
        table.row([what.to_owned(), format!("{:>8}", figure.to_string()), note]);
    };
    let equal = summary.restored_equal;
    let equal = equal.map(|equal| format!("{equal} restored equal"));
    row(
        "conversations",
        &summary.conversations,
        equal.unwrap_or_default(),
    );
    let odd = (summary.verbatim > 0).then_some(summary.verbatim);
    let odd = odd.map(|count| format!("{count} of a shape the profiles do not know, sent whole"));
    row("messages", &summary.messages, odd.unwrap_or_default());
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
    for (what, share) in [
        ("bytes", summary.inline_share(|share| share.bytes)),
        ("scalars", summary.inline_share(|share| share.scalars)),
    ] {
        row(
            &format!("inline, of the {what}"),
            &percent(share),
            String::new(),
        );
    }
    row(&format!("tokens ({})", counter.name()), &"", String::new());
    row("  compact JSON", &summary.json_tokens, String::new());
    for (what, tokens) in [
        ("  frames", summary.frame_tokens),
        ("  frames without envelope", summary.without_envelope),
        ("  behind the references", summary.external_tokens),
    ] {
        let share = tokens as f64 / summary.json_tokens as f64;
        let of = (summary.json_tokens > 0).then(|| percent(share) + " of the JSON");
        row(what, &tokens, of.unwrap_or_default());
    }
    table
}
fn words(reason: Reason) -> &'static str {
    match reason {
        Reason::Characters => "over 50 characters",
        Reason::Depth => "nested too deep",
        _ => "over the limits of a frame",
    }
}
