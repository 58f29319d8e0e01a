//! The goldens as modules of a crate that denies warnings, missing docs and pedantic lints.
//!
//! The file is compiled as a library (`[[example]]` in `Cargo.toml`), because rustc requires no
//! docs in a test. It is also a module of the test that uses the goldens.
#![deny(warnings, missing_docs, clippy::all, clippy::pedantic)]

/// The draft's own registry (section 6.2).
#[path = "../../goldens/draft.rs"]
pub mod draft;
/// Enumerations.
#[path = "../../goldens/enums.rs"]
pub mod enums;
/// Enumerations that take other values.
#[path = "../../goldens/enums_open.rs"]
pub mod enums_open;
/// Fields of every type.
#[path = "../../goldens/every_type.rs"]
pub mod every_type;
/// Fields of every type, owned.
#[path = "../../goldens/every_type_owned.rs"]
pub mod every_type_owned;
/// Fields of every type, for serde.
#[path = "../../goldens/every_type_serde.rs"]
pub mod every_type_serde;
/// Texts of one form.
#[path = "../../goldens/formats.rs"]
pub mod formats;
/// Texts of one form, owned.
#[path = "../../goldens/formats_owned.rs"]
pub mod formats_owned;
/// Frames that share schemas and names.
#[path = "../../goldens/frames.rs"]
pub mod frames;
/// Names that are not valid in Rust.
#[path = "../../goldens/names.rs"]
pub mod names;
/// Schemas inside schemas.
#[path = "../../goldens/nested.rs"]
pub mod nested;
/// Schemas inside schemas, owned.
#[path = "../../goldens/nested_owned.rs"]
pub mod nested_owned;
/// Fields that were renamed.
#[path = "../../goldens/renamed.rs"]
pub mod renamed;
/// Records of several forms.
#[path = "../../goldens/unions.rs"]
pub mod unions;
/// Records of several forms, which also take other forms.
#[path = "../../goldens/unions_open.rs"]
pub mod unions_open;
/// Records of several forms, owned.
#[path = "../../goldens/unions_owned.rs"]
pub mod unions_owned;
/// The workflows of AACP.
#[rustfmt::skip]
#[path = "../../goldens/workflows.rs"]
pub mod workflows;
/// The workflows of AACP, owned.
#[rustfmt::skip]
#[path = "../../goldens/workflows_owned.rs"]
pub mod workflows_owned;
