//! The store in a PostgreSQL database. `tests/postgres/server` starts a server for these tests, and
//! `ACCP_POSTGRES` has its URL.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "helpers of tests"
)]

#[path = "postgres/server.rs"]
mod server;

#[path = "postgres/contract.rs"]
mod contract;
#[path = "postgres/fences.rs"]
mod fences;
#[path = "postgres/leases.rs"]
mod leases;
#[path = "postgres/links.rs"]
mod links;
#[path = "postgres/rows.rs"]
mod rows;
#[path = "postgres/tables.rs"]
mod tables;
