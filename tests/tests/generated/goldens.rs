//! The goldens as modules of a crate that takes no warning and no item without a doc.
//!
//! Compiled as a library, for rustc asks nobody for docs in a test (`[[example]]` in
//! `Cargo.toml`), and as a module of the test that uses them.
#![deny(warnings, missing_docs)]

/// The draft's own registry (section 6.2).
#[path = "../../goldens/draft.rs"]
pub mod draft;
/// Enumerations.
#[path = "../../goldens/enums.rs"]
pub mod enums;
/// Fields of every type.
#[path = "../../goldens/every_type.rs"]
pub mod every_type;
/// Frames that share schemas and names.
#[path = "../../goldens/frames.rs"]
pub mod frames;
/// Names that Rust does not take.
#[path = "../../goldens/names.rs"]
pub mod names;
/// Schemas inside schemas.
#[path = "../../goldens/nested.rs"]
pub mod nested;
