//! What a person typed stands in each list, whole and in order, as long as it fits.

mod answered;
mod blocks;
mod corpus;
mod harness;
mod outcomes;
mod person;
mod room;
mod rounds;
mod shown;
