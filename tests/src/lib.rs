//! Checks that the tests and the fuzz targets share. A check that fails shows its input.

pub mod judges;
pub mod machine;
pub mod messages;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// The example of the derive, which names accp-runtime as its readers do.
#[cfg(doctest)]
#[doc = include_str!("../../accp-derive/README.md")]
struct ReadmeOfDerive;
