//! Generates Rust source from registry JSON. Build scripts, `accp generate` and `accp generate --check` all use this
//! crate.
//!
//! [`Builder`] is for build scripts, and [`include_file`] for build scripts with several registries. [`generate`],
//! [`write()`] and [`check`] are for programs that already have a registry. With feature `aacp`, `generate_workflows`
//! does the same for the workflows of AACP.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod attributes;
mod builder;
mod catalog;
mod constants;
mod doc;
mod error;
mod file;
mod generate;
mod item;
mod items;
mod lints;
mod modules;
mod names;
mod options;
mod overrides;
mod slashed;
#[cfg(test)]
mod tests;
#[cfg(feature = "aacp")]
mod workflows;

pub use builder::Builder;
pub use error::{AttributeFault, Error, NameFault};
pub use file::{Stale, check, check_with, write};
pub use generate::generate;
pub use modules::include_file;
pub use options::Options;
#[cfg(feature = "aacp")]
pub use workflows::{WorkflowOptions, generate_workflows};

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
