//! The tests that are run on a mistake which the simulation has not found.

use super::copy::{Copy, cargo, how_it_ended};

/// The time limit of one run of tests, in seconds.
const SECONDS: u32 = 300;

/// The arguments with which cargo runs a group of tests.
pub(crate) type Suite = &'static [&'static str];

/// The result of tests with a mistake planted.
#[derive(Debug)]
pub(crate) enum Tested {
    Passed,
    /// The name of the first test that fails, or how the run of the tests ended.
    Failed(String),
    /// The tests do not build.
    Unbuilt,
}

/// Returns the tests that can find a mistake in a crate, the cheap ones first.
pub(crate) fn suites(of: &str) -> Vec<Suite> {
    let context: Suite = &["-p", "accp-context", "--lib", "--tests"];
    let session: Suite = &["-p", "accp-session", "--lib", "--tests"];
    let store: Suite = &["-p", "accp-store", "--lib", "--tests"];
    let sessions: Suite = &[
        "-p",
        "accp-tests",
        "--test",
        "all",
        "--test",
        "memory",
        "sessions::",
    ];
    match of {
        "accp-context" => vec![context, session, sessions, store],
        "accp-session" => vec![session, sessions, store],
        _ => vec![store, sessions],
    }
}

pub(crate) fn build_tests(copy: &Copy, tests: Suite) -> Result<(), String> {
    copy.build(&[&["test", "--quiet", "--no-run"], tests].concat())
}

/// Builds and runs tests.
pub(crate) fn test(copy: &Copy, tests: Suite) -> Result<Tested, String> {
    if build_tests(copy, tests).is_err() {
        return Ok(Tested::Unbuilt);
    }
    let run = copy.bounded(SECONDS, &cargo(), &[&["test"], tests].concat())?;
    if run.status.success() {
        return Ok(Tested::Passed);
    }
    let text = String::from_utf8_lossy(&run.stdout);
    let mut failed = text
        .lines()
        .filter_map(|line| line.strip_suffix(" ... FAILED"));
    let failed = failed.find_map(|line| line.strip_prefix("test "));
    let failed = failed.map_or_else(|| how_it_ended(run.status), String::from);
    Ok(Tested::Failed(failed))
}
