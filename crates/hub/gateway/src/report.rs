//! Reports of what requests have cost, from a ledger.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::str::FromStr;

use serde::Serialize;
use time::OffsetDateTime;

use crate::ledger::{Entry, Ledger, LedgerError};

/// What the rows of a report are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// A row for each session.
    Session,
    /// A row for each day, in UTC.
    Day,
    /// A row for each model.
    Model,
}

impl By {
    /// All values of this type.
    pub const ALL: [Self; 3] = [Self::Day, Self::Model, Self::Session];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Day => "day",
            Self::Model => "model",
        }
    }

    fn of(self, entry: &Entry) -> String {
        let day = || {
            let time = OffsetDateTime::from_unix_timestamp(entry.at.div_euclid(1_000));
            time.map_or_else(|_| String::new(), |time| time.date().to_string())
        };
        match self {
            Self::Session if entry.session.is_empty() => "(not read)".to_owned(),
            Self::Session => entry.session.clone(),
            Self::Day => day(),
            Self::Model if entry.model.is_empty() => "(not known)".to_owned(),
            Self::Model => entry.model.clone(),
        }
    }
}

impl FromStr for By {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|by| by.name() == text);
        found.ok_or_else(|| format!("expected session, day or model, found {text:?}"))
    }
}

/// A row of a report. Costs are in tokens of plain input.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// The session, the day or the model.
    pub of: String,
    /// The number of requests.
    pub requests: u64,
    /// The number of requests whose answer had no count of the provider. They are not part of the costs.
    pub uncounted: u64,
    /// The tokens of input by the provider's count, and those among them that a cache had.
    pub prompt: u64,
    /// See [`prompt`](Self::prompt).
    pub read: u64,
    /// The tokens of output.
    pub output: u64,
    /// What the requests have cost.
    pub cost: f64,
    /// What the requests would have cost with the unchanged lists of the client.
    pub plain: f64,
    /// What the requests would have cost, or have cost, with cheaper forms.
    pub changed: f64,
    /// The number of requests in which something failed, but for those in [`repeated`](Self::repeated): the gateway
    /// could not read the request or its answer, or the provider failed.
    pub faults: u64,
    /// The number of requests that the provider refused with 400 after a change, and then got unchanged.
    pub repeated: u64,
    /// The number of turns in which the model read what had left its list.
    pub turns: u64,
    /// The median and the 99th percentile of the time that the gateway took, in microseconds.
    pub added_us: (u64, u64),
}

impl Row {
    /// Returns the share of the plain bill that was saved.
    pub fn saved(&self) -> f64 {
        if self.plain > 0.0 {
            1.0 - self.cost / self.plain
        } else {
            0.0
        }
    }
}

/// Compares the cost of sessions that stayed as they were with the cost of the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Holdout {
    /// The number of sessions that were changed, and of those that stayed as they were (`held`).
    pub changed: u64,
    /// See [`changed`](Self::changed).
    pub held: u64,
    /// How much less a request of a changed session costs, in tokens of plain input: the difference of the means over sessions.
    pub difference: f64,
    /// Half the width of the interval that contains the difference with a confidence of 95 %.
    pub margin: f64,
}

/// A report of what requests have cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// What the rows are about.
    pub by: &'static str,
    /// The rows, in order.
    pub rows: Vec<Row>,
    /// All rows together.
    pub all: Row,
    /// What failed, and in how many requests.
    pub faults: BTreeMap<String, u64>,
    /// The newest notes, each after the name of its session: what left lists and why, and which obstacles the policy
    /// met.
    pub notes: Vec<(String, String)>,
    /// The comparison with sessions that stayed as they were; `None` with fewer than two of either kind.
    pub holdout: Option<Holdout>,
}

impl Report {
    /// Reads a ledger.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn of(ledger: &Ledger, by: By) -> Result<Self, LedgerError> {
        let entries = ledger.entries(None)?;
        let mut groups: BTreeMap<String, Vec<&Entry>> = BTreeMap::new();
        for entry in &entries {
            groups.entry(by.of(entry)).or_default().push(entry);
        }
        let rows = groups.into_iter().map(|(of, entries)| row(of, &entries));
        Ok(Self {
            by: by.name(),
            rows: rows.collect(),
            all: row("all".to_owned(), &entries.iter().collect::<Vec<_>>()),
            faults: faults(&entries),
            notes: notes(&entries),
            holdout: holdout(&entries),
        })
    }

    /// Returns the report as JSON.
    pub fn to_json(&self) -> String {
        // Texts and numbers always become JSON.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Returns the report as a table for people.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        let width = self.rows.iter().map(|row| row.of.chars().count()).max();
        let width = width.unwrap_or(0).max(self.by.len()).max(3);
        let _ = write!(out, "{:width$}", self.by);
        for title in TITLES {
            let _ = write!(out, "  {title:>11}");
        }
        out.push('\n');
        for row in self.rows.iter().chain([&self.all]) {
            let _ = write!(out, "{:width$}", in_line(&row.of));
            for cell in cells(row) {
                let _ = write!(out, "  {cell:>11}");
            }
            out.push('\n');
        }
        let all = &self.all;
        let (half, most) = all.added_us;
        let _ = writeln!(
            out,
            "\nCosts are in tokens of plain input. The gateway took {half} us of each request in the median, and {most} us at \
             the 99th percentile."
        );
        for (count, what) in [
            (
                all.uncounted,
                "had no count of the provider, so they are in no cost",
            ),
            (all.faults, "met a fault, which the lines below name"),
            (
                all.repeated,
                "went out again as they were after the provider had refused the change",
            ),
        ] {
            if count > 0 {
                let _ = writeln!(out, "{count} of {} requests {what}.", all.requests);
            }
        }
        if all.turns > 0 {
            let _ = writeln!(
                out,
                "The model has read what had left its list in {} turns.",
                all.turns
            );
        }
        for (session, note) in &self.notes {
            let _ = writeln!(out, "{session}  {}", in_line(note));
        }
        for (fault, count) in &self.faults {
            let _ = writeln!(out, "{count:>width$}  {}", in_line(fault));
        }
        if let Some(holdout) = &self.holdout {
            let Holdout {
                changed,
                held,
                difference,
                margin,
            } = holdout;
            let _ = writeln!(
                out,
                "Beside {held} sessions that stayed as they were, a request of the {changed} others cost {difference:.0} \
                 (+/- {margin:.0}) less."
            );
        }
        out
    }

    /// Returns the report as a table of a page.
    pub(crate) fn to_html(&self) -> String {
        let mut out = format!(
            "<table><caption>By {}</caption><tr><th>{}",
            self.by, self.by
        );
        for title in TITLES {
            let _ = write!(out, "<th>{title}");
        }
        for row in self.rows.iter().chain([&self.all]) {
            let _ = write!(out, "\n<tr><td>{}", escaped(&row.of));
            for cell in cells(row) {
                let _ = write!(out, "<td>{cell}");
            }
        }
        out + "\n</table>\n"
    }
}

/// The most notes that a report has.
const NOTES: usize = 10;

/// The titles of the [`cells`].
const TITLES: [&str; 7] = [
    "requests",
    "input",
    "from cache",
    "output",
    "cost",
    "plain",
    "saved",
];

fn cells(row: &Row) -> [String; 7] {
    [
        row.requests.to_string(),
        row.prompt.to_string(),
        row.read.to_string(),
        row.output.to_string(),
        format!("{:.0}", row.cost),
        format!("{:.0}", row.plain),
        format!("{:.1} %", row.saved() * 100.0),
    ]
}

/// Returns a text as a part of one line. A model may have any name.
fn in_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn row(of: String, entries: &[&Entry]) -> Row {
    let mut row = Row {
        of,
        ..Row::default()
    };
    let mut added: Vec<u64> = entries.iter().map(|entry| entry.added_us).collect();
    added.sort_unstable();
    // The least value that is not below this share of the values, in percent.
    let at = |share: usize| {
        let rank = (added.len() * share).div_ceil(100);
        added.get(rank.saturating_sub(1)).copied()
    };
    row.added_us = (at(50).unwrap_or(0), at(99).unwrap_or(0));
    for entry in entries {
        row.requests += 1;
        row.turns += entry.turns;
        row.faults += u64::from(entry.fault.is_some() && !entry.repeated);
        row.repeated += u64::from(entry.repeated);
        match (entry.usage, entry.bill) {
            (Some(usage), Some(bill)) => {
                row.prompt = row.prompt.saturating_add(usage.prompt());
                row.read = row.read.saturating_add(usage.read);
                row.output = row.output.saturating_add(usage.output);
                row.cost += bill.cost;
                row.plain += bill.plain;
                row.changed += bill.changed;
            }
            _ => row.uncounted += 1,
        }
    }
    row
}

fn faults(entries: &[Entry]) -> BTreeMap<String, u64> {
    let mut faults = BTreeMap::new();
    for fault in entries.iter().filter_map(|entry| entry.fault.as_ref()) {
        *faults.entry(fault.clone()).or_default() += 1;
    }
    faults
}

/// Returns the newest notes.
fn notes(entries: &[Entry]) -> Vec<(String, String)> {
    let newest = entries.iter().rev();
    let newest = newest.filter_map(|entry| Some((entry.session.clone(), entry.note.clone()?)));
    let mut notes: Vec<_> = newest.take(NOTES).collect();
    notes.reverse();
    notes
}

/// Compares sessions that stayed as they were with those that were changed.
fn holdout(entries: &[Entry]) -> Option<Holdout> {
    let mut sessions: BTreeMap<&str, (f64, u64)> = BTreeMap::new();
    let mut held = BTreeSet::new();
    for entry in entries {
        let kind = &*entry.policy;
        if let (Some(bill), "append" | "save" | "window" | "plain" | "holdout") = (entry.bill, kind)
        {
            let sum = sessions.entry(&entry.session).or_default();
            *sum = (sum.0 + bill.cost, sum.1 + 1);
            if kind == "holdout" {
                held.insert(&*entry.session);
            }
        }
    }
    let means = |is_held: bool| -> Vec<f64> {
        let sessions = sessions.iter();
        let of_kind = sessions.filter(|(id, _)| held.contains(**id) == is_held);
        of_kind
            .map(|(_, (cost, requests))| cost / *requests as f64)
            .collect()
    };
    let (changed, left) = (means(false), means(true));
    if changed.len() < 2 || left.len() < 2 {
        return None;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let error = |values: &[f64]| {
        let middle = mean(values);
        let squares = values
            .iter()
            .map(|value| (value - middle).powi(2))
            .sum::<f64>();
        squares / (values.len() - 1) as f64 / values.len() as f64
    };
    Some(Holdout {
        changed: changed.len() as u64,
        held: left.len() as u64,
        difference: mean(&left) - mean(&changed),
        margin: 1.96 * (error(&changed) + error(&left)).sqrt(),
    })
}
