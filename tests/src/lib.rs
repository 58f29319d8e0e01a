//! What the tests and the fuzz targets share: checks that fail with the input in hand.

pub mod judges;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
