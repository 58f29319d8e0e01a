//! Recovery: what left the list is found again in archives and offloaded files.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod corpus;
mod folder;
mod needle;
mod needles;
mod queries;
mod torn;
mod updates;
