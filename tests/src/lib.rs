//! Checks that the tests and the fuzz targets share. A check that fails shows its input.

pub mod judges;
pub mod machine;
pub mod messages;

/// The examples of the book, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../docs/howto/types.md")]
struct Types;

/// The example of the derive, which names accp-runtime as its readers do.
#[cfg(doctest)]
#[doc = include_str!("../../accp-derive/README.md")]
struct ReadmeOfDerive;
