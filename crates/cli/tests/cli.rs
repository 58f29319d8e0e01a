//! Tests of the command `accp`. They run the command as a user does.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod aacp;
mod aacp_fallback;
#[cfg(unix)]
mod agent;
mod authority;
mod built;
mod check;
mod checks;
mod collab;
mod conduct;
mod context;
mod context_drift;
mod context_growth;
mod context_media;
mod context_tools;
mod convert;
mod credentials;
mod damaged;
mod demo;
mod encode_decode;
mod erasure;
mod explain;
mod export;
mod fix;
mod formats;
mod gate;
mod gateway;
mod generated;
mod grammar;
#[cfg(target_os = "linux")]
mod guests;
mod hub;
mod import;
mod new;
mod one_hub;
mod operations;
mod primer;
#[cfg(unix)]
mod private;
mod program;
mod provided;
#[cfg(unix)]
mod readme;
mod registry;
mod session;
mod settings;
mod strangers;
mod tokens;
#[cfg(feature = "otel")]
mod traces;
#[cfg(unix)]
mod typed;

pub(crate) use program::{Folder, Run, Words, accp, command, finish, workspace};

/// The command of these tests.
const PROGRAM: &str = env!("CARGO_BIN_EXE_accp");

/// A valid frame that names a schema.
const GOOD: &str = "@planner>req:schedule{asgn:dev|task:impl_auth|dead:sprint_14|schema:TA}";

/// Returns a client of HTTP, for which an answer that refuses is an answer, too.
fn http() -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    ureq::Agent::new_with_config(config.build())
}

impl Folder {
    /// Returns the names of the files in the folder.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}
