//! The state machine for readers: as a table, as JSON, and as a diagram.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::{Asks, Mark, Phase, ROWS, Row, row};
use crate::event::EventName;

/// Returns all rows, also the rows of `blocked`, which are the same in all phases.
fn rows() -> impl Iterator<Item = Row> {
    let blocked = Phase::ALL
        .iter()
        .filter_map(|phase| row(*phase, EventName::Blocked));
    ROWS.into_iter().chain(blocked)
}

fn needs(row: Row) -> Vec<&'static str> {
    row.needs.iter().map(|need| need.as_str()).collect()
}

/// Returns a table in Markdown, in which the cells of a column are equally wide.
///
/// ```
/// let table = accp_collab::table::rendered::markdown();
/// assert!(table.contains("| reviewing       | review_submitted    | asked |"));
/// ```
pub fn markdown() -> String {
    let head = [
        "Phase",
        "Event",
        "By",
        "Needs",
        "Phase after",
        "Asked after",
        "Leaves",
    ];
    let mut cells = vec![head.map(str::to_owned).to_vec()];
    for row in rows() {
        let mark = if row.mark == Mark::Nothing {
            ""
        } else {
            row.mark.as_str()
        };
        let cell = [
            row.phase.as_str(),
            row.event.as_str(),
            row.by.as_str(),
            &needs(row).join(", "),
            row.to.as_str(),
            row.asks.as_str(),
            mark,
        ];
        cells.push(cell.map(str::to_owned).to_vec());
    }
    let widths: Vec<usize> = (0..head.len())
        .map(|column| {
            let column = cells.iter().filter_map(|row| row.get(column));
            column.map(String::len).max().unwrap_or_default()
        })
        .collect();
    let mut text = String::new();
    for (index, row) in cells.iter().enumerate() {
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(text, "| {cell:width$} ");
        }
        text.push_str("|\n");
        if index == 0 {
            for width in &widths {
                let _ = write!(text, "|{}", "-".repeat(width + 2));
            }
            text.push_str("|\n");
        }
    }
    text
}

/// Returns an object with the rows.
pub fn json() -> Json {
    let rows = rows().map(|row| {
        json!({
            "phase": row.phase.as_str(), "event": row.event.as_str(), "by": row.by.as_str(),
            "needs": needs(row), "to": row.to.as_str(), "asks": row.asks.as_str(),
            "mark": row.mark.as_str(),
        })
    });
    json!({ "rows": rows.collect::<Vec<_>>() })
}

/// Returns a diagram for Mermaid.
pub fn mermaid() -> String {
    let mut text = "stateDiagram-v2\n".to_owned();
    let name = |phase: Phase| {
        if phase == Phase::New {
            "[*]"
        } else {
            phase.as_str()
        }
    };
    for row in rows() {
        let last = if row.asks == Asks::Rest {
            " (the last)"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "    {} --> {}: {}{last}",
            name(row.phase),
            row.to,
            row.event
        );
    }
    for phase in Phase::ALL.iter().filter(|phase| phase.is_over()) {
        let _ = writeln!(text, "    {phase} --> [*]");
    }
    text
}
