//! What a person typed stands in each list, whole and in order, as long as it fits.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[allow(dead_code)] // Each test uses a part.
#[path = "../common/forms.rs"]
mod forms;
#[path = "../common/quarters.rs"]
mod quarters;

mod corpus;
mod harness;
mod person;
mod room;
mod rounds;
mod shown;
