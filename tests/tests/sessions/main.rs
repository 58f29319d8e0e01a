//! Sessions, held to the requirements of the draft and to what they promise: one test binary,
//! because each would link the tables of the tokenizer.
//! `docs/conformance.md` leads from each requirement to its tests.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod bad_input;
mod conformance_budgets;
mod conformance_checkpoints;
mod conformance_delivery;
mod conformance_envelope;
mod conformance_negotiation;
mod conformance_references;
mod conformance_retries;
mod conformance_silence;
mod conformance_sizes;
mod conformance_state;
mod conformance_streams;
mod conformance_tiers;
mod conformance_triggers;
mod context;
mod corners;
mod large;
mod room;
mod sides;
