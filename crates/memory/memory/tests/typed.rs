//! What a person typed stands in each list, whole and in order, as long as it fits.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod answered;
mod blocks;
mod corpus;
mod harness;
mod outcomes;
mod person;
mod room;
mod rounds;
mod shown;
