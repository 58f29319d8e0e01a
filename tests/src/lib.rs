//! Code that the tests and the programs of this package share.

pub mod hub;
pub mod judges;
pub mod machine;
pub mod messages;
pub mod page;
pub mod program;

/// The examples of the book, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../docs/howto/types.md")]
struct Types;

/// The example in the README of accp-derive, which imports accp-runtime under its own name as users do.
#[cfg(doctest)]
#[doc = include_str!("../../accp-derive/README.md")]
struct ReadmeOfDerive;
