//! The figures of the draft's Appendix A, beside the counted figures of the same messages. Both are
//! in the tables of `docs/tokens.md`.
//!
//! `ACCP_BLESS=1 cargo test -p accp-tests --test all appendix_a` writes the tables anew.

use std::fs;
use std::sync::Arc;

use accp_runtime::view::{Transcript, View};
use accp_runtime::{DynamicFrame, Envelope, Frame, Registry, TokenCounter as _};
use accp_tokens::Bpe;

const DOCUMENT: &str = "../docs/tokens.md";
const VECTORS: &str = include_str!("../vectors/draft.json");
/// Holds the figures of `accp demo`. A test of the command checks them.
const DEMO: &str = include_str!("../../docs/sessions.md");

struct Scenario {
    name: &'static str,
    /// The figures of the draft: natural language, JSON, ACCP.
    claimed: [usize; 3],
    words: &'static str,
    /// The frame in the draft's spelling.
    frame: &'static str,
}

const SCENARIOS: [Scenario; 4] = [
    Scenario {
        name: "task completion, findings",
        claimed: [85, 62, 22],
        words: "Research has finished its analysis of the Q3 sales: revenue is down 12% quarter on \
                quarter, the enterprise segment is declining, and churn is up 3.2%. Next, strategy \
                should make a plan.",
        frame: "@research>done:analyze{d:q3_sales|f:[rev:-12%QoQ,ent_seg:decline,churn:+3.2%]\
                |nx:@strategy:plan}",
    },
    Scenario {
        name: "task request, parameters",
        claimed: [45, 38, 15],
        words: "The planner asks the dev team to schedule the implementation of the auth module for \
                sprint 14, with high priority.",
        frame: "@planner>req:schedule{who:@dev_team|when:sprint_14|task:impl_auth_module|pri:high}",
    },
    Scenario {
        name: "error, escalation",
        claimed: [60, 48, 18],
        words: "The data agent could not fetch from api.crm: it timed out after 30 seconds, with 3 \
                retries. This is escalated to the supervisor.",
        frame: "@data_agent>fail:fetch{src:api.crm|err:timeout_30s|retry:3|esc:@supervisor}",
    },
    // The draft's own frame has only three fields. The `$` is escaped, because a sum of money is not a
    // reference.
    Scenario {
        name: "state sync, ten fields",
        claimed: [120, 95, 35],
        words: "The orchestrator shares version 7 of the state: tasks 1 to 3 are done, tasks 4 and 5 \
                are in progress and task 6 is blocked. We are in the review phase, the dev team owns \
                it, the deadline is sprint 14 and the budget is $42.30.",
        frame: "@orchestrator>sync:state{v:7|delta:{task_1:done,task_2:done,task_3:done,task_4:wip,\
                task_5:wip,task_6:blocked,phase:review,owner:dev_team,deadline:sprint_14,\
                budget:\\$42.30}}",
    },
];

/// The columns of a scenario: the claimed figures, then the counted figures.
const COLUMNS: [&str; 9] = [
    "claimed: language",
    "JSON",
    "ACCP",
    "counted: language",
    "JSON, indented",
    "JSON, compact",
    "frame",
    "frame, envelope",
    "view",
];

/// The savings: for each, the old column and the new column.
const SAVED: [(&str, usize, usize); 7] = [
    ("claimed: of language", 0, 2),
    ("of JSON", 1, 2),
    ("frame: of language", 3, 6),
    ("of indented JSON", 4, 6),
    ("of compact JSON", 5, 6),
    ("with envelope: of compact JSON", 5, 7),
    ("view: of compact JSON", 5, 8),
];

/// The draft's figures for the full pipeline of five agents: JSON and ACCP.
const PIPELINE: [usize; 2] = [6200, 1800];

fn count(scenario: &Scenario) -> [usize; 9] {
    let registry = Arc::new(Registry::standard());
    let (frame, _) = Frame::parse_lenient(scenario.frame).expect("it is mended");
    let frame = frame.to_string();
    let message = DynamicFrame::decode(&frame, &registry).expect("it decodes");
    let envelope = Envelope::new("100001000001", 1).at(1_714_000_000);
    let enveloped = message.clone().in_envelope(envelope);
    let encode = |message: &DynamicFrame<'_>| message.encode(&registry).expect("it encodes");
    let view = View::new(Arc::clone(&registry));
    let shown = Transcript::default().push(&view, &view.block(&message));
    let json = message.to_json();
    let tokens = |text: &str| Bpe::o200k_base().count(text);
    let frame = tokens(&encode(&message));
    // The canonical text is at most one token longer than the draft's frame. So the spelling does
    // not explain the difference from the claim.
    assert!(frame <= tokens(scenario.frame) + 1, "{}", scenario.name);
    let claimed = scenario.claimed;
    [
        claimed[0],
        claimed[1],
        claimed[2],
        tokens(scenario.words),
        tokens(&format!("{json:#}")),
        tokens(&json.to_string()),
        frame,
        tokens(&encode(&enveloped)),
        tokens(&shown),
    ]
}

/// Returns the saving of `new` against `old` in percent. The saving is negative if `new` is more.
fn saved(old: usize, new: usize) -> String {
    let percent = 100.0 - 100.0 * new as f64 / old as f64;
    format!("{} %", percent.round() as i64)
}

fn row(name: &str, cells: &[String]) -> String {
    format!("| {name} | {} |\n", cells.join(" | "))
}

fn heading(name: &str, columns: impl IntoIterator<Item = &'static str>) -> String {
    let columns: Vec<&str> = columns.into_iter().collect();
    let rule = "|---".repeat(columns.len() + 1);
    format!("| {name} | {} |\n{rule}|\n", columns.join(" | "))
}

/// Returns two tables for the scenarios and their sum: tokens and savings.
fn scenarios() -> [String; 2] {
    let mut rows: Vec<_> = SCENARIOS.iter().map(|one| (one.name, count(one))).collect();
    let sum = std::array::from_fn(|column| rows.iter().map(|(_, row)| row[column]).sum());
    rows.push(("together", sum));
    let mut tokens = heading("tokens", COLUMNS);
    let mut savings = heading("saved", SAVED.map(|(name, ..)| name));
    for (name, figures) in rows {
        tokens += &row(name, &figures.map(|figure| figure.to_string()));
        let cells = SAVED.map(|(_, old, new)| saved(figures[old], figures[new]));
        savings += &row(name, &cells);
    }
    [tokens, savings]
}

/// Returns the claim for the pipeline, and the last lines of the output of `accp demo`.
fn pipeline() -> String {
    let mut out = heading("pipeline of five agents", ["JSON", "ACCP", "saved"]);
    let mut figures = |name: &str, [json, accp]: [usize; 2]| {
        let cells = [json.to_string(), accp.to_string(), saved(json, accp)];
        out += &row(name, &cells);
    };
    figures("claimed", PIPELINE);
    let (_, printed) = DEMO.split_once("as compact JSON\n").expect("the demo");
    for line in printed.lines().take_while(|line| *line != "```") {
        let (line, json) = line.rsplit_once(' ').expect("two figures");
        let (name, frames) = line.trim_end().rsplit_once(' ').expect("two figures");
        let both = [json, frames].map(|figure| figure.parse().expect("a figure"));
        figures(name.trim(), both);
    }
    out
}

/// Replaces the table that has the same heading.
fn with_table(text: &str, table: &str) -> String {
    let heading = table.lines().next().expect("a heading");
    let (before, rest) = text.split_once(heading).expect("the table is there");
    let after = rest.split_inclusive('\n').skip(1);
    let after: String = after.skip_while(|line| line.starts_with('|')).collect();
    format!("{before}{table}{after}")
}

#[test]
fn the_document_shows_these_tables() {
    let mut text = fs::read_to_string(DOCUMENT).unwrap();
    for table in scenarios().iter().chain([&pipeline()]) {
        if std::env::var_os("ACCP_BLESS").is_some() && std::env::var_os("CI").is_none() {
            text = with_table(&text, table);
            fs::write(DOCUMENT, &text).unwrap();
        }
        assert!(
            text.contains(table),
            "{DOCUMENT} has not this table; bless with ACCP_BLESS=1 if the change is meant\n{table}"
        );
    }
}

#[test]
fn the_draft_s_scenarios_are_its_frames() {
    for scenario in &SCENARIOS[..3] {
        assert!(VECTORS.contains(scenario.frame), "{}", scenario.name);
    }
}
