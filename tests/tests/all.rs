//! The tests of this crate are one program, because each program is linked by itself.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod appendix_a;
mod arbitrary_registries;
mod codec;
mod conformance;
mod conformance_frame;
mod conformance_limits;
mod conformance_options;
mod conformance_profiles;
mod conformance_registry;
mod conformance_values;
mod conformance_vocabulary;
mod context_budget;
mod derive;
// Generated types are in public modules, as in the crate of a user.
pub mod generated;
pub mod generated_by_build;
mod generated_text;
mod grammar_export;
mod judges;
mod packets;
mod planted;
mod read_back;
mod sessions;
mod simulation;
mod structure;
mod text_forms;
mod tools;
mod typed_and_dynamic;
mod vectors;
