//! Kills a side on SQLite a few times, and checks that the planted bugs are found. The full run:
//! `cargo run --release -p accp-tests --example crash -- --kills 1000`.

#[path = "../examples/crash/main.rs"]
#[expect(dead_code, reason = "the command line of the full run")]
mod crash;

use std::process::ExitCode;

// The test has its own main function because it also starts itself as the process that is killed.
fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = crash::run_child(&args) {
        return code;
    }
    match crash::few() {
        Ok(counts) => {
            print!("{counts}");
            ExitCode::SUCCESS
        }
        Err(what) => {
            println!("{what}");
            ExitCode::FAILURE
        }
    }
}
