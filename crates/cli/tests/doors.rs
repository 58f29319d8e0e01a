//! Tests that a session keeps its promises at each of its doors. A door is a way in which programs use a session,
//! such as the command, HTTP or MCP. Each program is a separate process. It is killed, and started again with the
//! same store. Its registry is not the standard one.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod addresses;
mod agents;
mod answers;
mod command;
mod day_one;
mod evolution;
mod http;
mod killed;
mod long_values;
mod one_agent;
mod processes;
mod registries;
mod table;
mod unions;

/// The registry of these tests. It uses the codes of two standard profiles for frames of its own.
const REGISTRY: &str = include_str!("doors/registry.json");
