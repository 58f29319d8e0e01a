//! Tests of sessions against the requirements of the draft. They are one test binary, because each
//! binary would link the tables of the tokenizer. `docs/conformance.md` lists the tests of each
//! requirement.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod accidents;
mod asks;
mod bad_input;
mod bounds;
mod codes;
mod conformance_budgets;
mod conformance_checkpoints;
mod conformance_delivery;
mod conformance_envelope;
mod conformance_levels;
mod conformance_negotiation;
mod conformance_packets;
mod conformance_references;
mod conformance_retries;
mod conformance_rules;
mod conformance_silence;
mod conformance_sizes;
mod conformance_state;
mod conformance_streams;
mod conformance_tiers;
mod conformance_triggers;
mod context;
mod copies;
mod corners;
mod draft_hosts;
mod draft_peers;
mod enemies;
mod guests;
mod ids;
mod large;
mod layers;
mod lineage;
mod missed;
mod numbering;
mod repeats;
mod returns;
mod room;
mod said;
mod sides;
mod summaries;
mod turns;
mod waiting;
mod whole;
