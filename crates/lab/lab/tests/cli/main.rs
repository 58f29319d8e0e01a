//! The command `accp-lab`, run as its users run it.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod bench;
mod formats;
mod learn;
#[path = "../../../../cli/tests/cli/program.rs"]
mod program;

use program::{Folder, Run, accp, workspace};

/// The command of these tests.
const PROGRAM: &str = env!("CARGO_BIN_EXE_accp-lab");
