//! The columns of the tables.

use super::Row;
use crate::net::Net;
use crate::profile::SHOWN;
use crate::share::Recall;

/// A column: its name, and the function that returns its cell in a row.
pub type Column = (&'static str, fn(&Row) -> String);

/// The columns of the main table: net cost and related figures.
pub const COLUMNS: [Column; 23] = [
    ("policy", |row| row.policy.clone()),
    ("net", |row| share_text(row.net())),
    ("95 %", |row| match row.interval() {
        Some((low, high)) => format!("{low:.3}-{high:.3}"),
        None => "-".to_owned(),
    }),
    ("real", |row| share_text(row.net_real())),
    ("worst", |row| share_text(row.worst())),
    ("dearer", |row| percent(row.dearer())),
    ("steps", |row| row.measure.changes.found.to_string()),
    ("refused", |row| match row.measure.refused {
        Recall { wanted: 0, .. } => "-".to_owned(),
        refused => refused.found.to_string(),
    }),
    ("lost", |row| match net(row).lost.share() {
        Some(lost) => format!("{lost:.4}"),
        None => "-".to_owned(),
    }),
    ("seen", |row| recall(net(row).seen)),
    ("task", |row| recall(net(row).remembered.task)),
    ("later", |row| recall(net(row).remembered.later)),
    ("did", |row| recall(net(row).remembered.did)),
    ("decided", |row| recall(net(row).remembered.decided)),
    ("misquoted", |row| recall(net(row).misquoted)),
    ("tokens", |row| share_text(row.tokens())),
    ("cost", |row| share_text(row.cost())),
    ("p95", |row| net(row).sizes(false).0.to_string()),
    ("peak", |row| net(row).sizes(false).1.to_string()),
    ("with windows", |row| net(row).sizes(true).1.to_string()),
    ("no cache", |row| {
        share_text(row.shares(|net| net.costs.uncached).1)
    }),
    ("no min", |row| {
        share_text(row.shares(|net| net.costs.no_minimum).1)
    }),
    ("ms", |row| {
        format!("{:.0}", row.measure.time.as_secs_f64() * 1000.0)
    }),
];

/// The columns of the table of further figures.
pub const FURTHER: [Column; 5] = [
    ("further", |row| row.policy.clone()),
    ("tokens", |row| row.measure.spent.total().to_string()),
    ("no system", |row| share_text(row.without_system())),
    ("results", |row| share_text(row.measure.results.share())),
    ("read back", |row| recall(row.measure.bytes)),
];

/// The columns of the net cost at the prices of the [shown](crate::SHOWN) profiles, in this order: of all
/// conversations, of the worst one, and the share of conversations that cost more than under the base.
pub const PROFILES: [Column; 5] = [
    ("net (worst, dearer)", |row| row.policy.clone()),
    (SHOWN[0], |row| at_profile(row, 0)),
    (SHOWN[1], |row| at_profile(row, 1)),
    (SHOWN[2], |row| at_profile(row, 2)),
    (SHOWN[3], |row| at_profile(row, 3)),
];

/// The columns of the table of prompts as lists inside a window.
pub const LISTS: [Column; 6] = [
    ("window", |row| row.policy.clone()),
    ("prompts", |row| row.measure.prompts.to_string()),
    ("over window", |row| {
        row.measure.lists.over.found.to_string()
    }),
    ("invalid lists", |row| match row.measure.lists.refused {
        Recall { wanted: 0, .. } => "-".to_owned(),
        refused => refused.found.to_string(),
    }),
    ("intent verbatim", |row| recall(row.measure.lists.intent)),
    ("recovered", |row| recall(row.measure.bytes)),
];

fn net(row: &Row) -> &Net {
    &row.measure.net
}

fn at_profile(row: &Row, profile: usize) -> String {
    let [net, worst, dearer] = row.at_profile(profile);
    let [net, worst] = [net, worst].map(share_text);
    format!("{net} ({worst}, {})", percent(dearer))
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0))
}

fn share_text(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{share:.3}"))
}

fn recall(recall: Recall) -> String {
    share_text(recall.share())
}
