//! The ACCP schema registry: its model, the standard profiles and tables, and the lexical
//! rules that every codec of the protocol shares.
//!
//! A registry (draft section 6) gives the meaning of each schema code: fields, defaults, types and
//! abbreviations. [`Registry::standard`] holds the profiles of the draft. [`Registry::from_json`]
//! and `Registry::load` read your own registry and report all mistakes at once. The generator reads
//! its facts about a protocol from one value, [`ACCP`] or [`AACP`]: see [`protocol`].
//!
//! ```
//! use accp_registry::Registry;
//!
//! let registry = Registry::standard();
//! let task = registry.schema("TA").expect("a standard profile");
//! let (_, priority) = task.field("pri").expect("by its short name");
//! assert_eq!((priority.name.as_str(), priority.default_wire.as_deref()), ("priority", Some("medium")));
//!
//! let mistake = Registry::from_json(r#"{ "schemas": { "sales": {
//!     "code": "SR", "fields": ["period", "revenue"],
//!     "types": { "revenue": "decimel" }
//! } } }"#);
//! assert_eq!(
//!     mistake.unwrap_err().to_string(),
//!     "registry:3:16 at /schemas/sales/types/revenue: `decimel` is neither a type nor the code \
//!      of a schema\n    did you mean `decimal`?",
//! );
//! ```
//!
//! # The format
//!
//! The registry JSON of the draft (section 6.2) loads unchanged. These keys of a schema are
//! optional additions; `registry.schema.json`, beside this crate's manifest, describes all
//! of them to an editor.
//!
//! | Key | Holds |
//! |---|---|
//! | `types` | the type of a field ([`Type`]); a field without one has the type of its default, or `any` |
//! | `abbreviations` | the key of a field on the wire; by default the standard abbreviation, or the name |
//! | `required` | fields that each frame with this schema carries, unless its `fields` leave them out |
//! | `optional` | fields beyond those of `fields` |
//! | `inline` | fields that are sent in the frame even when they are long |
//! | `frames` | for each head ([`Protocol::head`]: intent and operation): `required`, `fields` (those that it is about), `envelope`, `to` (the field that names the agent that a request is for), `doc` |
//! | `union`, `variants` | makes the schema a union: the field that names the variant of a record, and each variant's `name`, `fields` and `required` |
//! | `keep` | fields that later calls need: they stay when the rest of a record leaves the context |
//! | `rules` | rules that the host of a session enforces ([`SchemaRules`]) |
//! | `doc`, `docs` | the purpose of the schema; the meaning of each field |
//!
//! At the top, `version` and `tokenizer` are optional.
//!
//! # Features
//!
//! All are on by default. Without any feature the crate needs `alloc` only, and does everything
//! that the derive needs.
//!
//! | Feature | Adds |
//! |---|---|
//! | `std` | reading from files |
//! | `hash` | [`Registry::hash`]: peers compare it to know that they hold the same registry |
//! | `delta` | [`Delta`], which turns one registry into another; it needs `hash` |
//! | `tools` | [`export`] and [`diff()`], for tools that examine registries |
#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod aacp;
mod accp;
mod aliases;
mod assemble;
pub mod checked;
mod decimal;
#[cfg(feature = "delta")]
mod delta;
#[cfg(feature = "tools")]
mod diff;
mod document;
#[cfg(feature = "tools")]
pub mod export;
mod finite;
mod format;
#[cfg(feature = "hash")]
mod hash;
mod json;
#[cfg(feature = "std")]
mod jsonc;
pub mod lexical;
mod limits;
#[cfg(feature = "std")]
mod load;
mod memo;
mod model;
mod names;
mod nearest;
mod open;
mod problem;
pub mod protocol;
mod read;
mod reader;
mod rules;
mod serde;
mod tables;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
mod tool;
mod types;
pub mod view;
mod write;

pub use aacp::AACP;
pub use accp::ACCP;
pub use decimal::{Decimal, DecimalError};
#[cfg(feature = "delta")]
pub use delta::{Delta, DeltaError, DeltaPolicy};
#[cfg(feature = "tools")]
pub use diff::{Breaking, Broken, Change, diff};
pub use format::{Format, from_base64, to_base64};
#[cfg(feature = "hash")]
pub use hash::{Hash, HashSyntax};
pub use limits::Limits;
#[cfg(feature = "std")]
pub use load::{registry_files, registry_place};
pub use model::{ERRORS, Field, FrameSpec, Registry, Schema};
pub use names::{identity_rank, words};
pub use nearest::nearest;
pub use problem::{Position, Problem, Problems};
pub use protocol::Protocol;
pub use rules::{SchemaRules, Sequence};
pub use tables::{
    ABBREVIATIONS, Abbreviation, Category, ENVELOPE, EnvelopeField, EnvelopeKind, ErrorCode,
    ErrorCodeSyntax, Intent, OPERATIONS, Requirement, abbreviate, expand, is_core_operation,
};
pub use tool::Tool;
pub use types::{EnumValue, Type, TypeSyntax};
pub use write::TypeError;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
