//! Runs `accp aacp encode --english` in many processes at once, and kills processes while they call the model.
//!
//! The program runs the command as its users do. The model is a stub on this machine.
//!
//! Many processes with the same new instruction make one call to the model together and get equal packets, and the
//! registry counts each of them. If a process is killed during its call, or after the call, the registry stays
//! whole. The next process with the same instruction gets a packet, and calls the model only if no answer was
//! stored.
//!
//! ```sh
//! cargo build --release -p accp-cli
//! cargo run --release -p accp-tests --example aacp_crowd -- \
//!     --accp target/release/accp --processes 64 --kills 200
//! ```

mod stub;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Output, Stdio};

use accp_tests::program::{self, Result};
use clap::Parser;
use serde_json::Value as Json;
use stub::{Stub, Style};

#[derive(Parser)]
struct Args {
    /// The command `accp`
    #[arg(long, default_value = "target/release/accp", value_parser = program::executable)]
    accp: PathBuf,
    /// The number of processes that run at once
    #[arg(long, default_value_t = 64)]
    processes: usize,
    /// The number of processes to kill
    #[arg(long, default_value_t = 200)]
    kills: usize,
}

fn main() -> ExitCode {
    program::end(Args::parse().run())
}

impl Args {
    fn run(&self) -> Result<String> {
        let mut report = String::new();
        for style in [Style::OpenAi, Style::Anthropic] {
            report += &self.crowd(style)?;
        }
        report += &self.kills()?;
        Ok(report)
    }

    fn encode(&self, stub: &Stub, registry: &Path, english: &str) -> Result<Child> {
        let mut command = Command::new(&self.accp);
        command
            .args([
                "aacp", "encode", "--format", "json", "--dom", "CS", "--return", "Desk",
            ])
            .args(["--llm-model", "stub", "--llm-style", stub.style.name()])
            .args(["--english", english, "--llm-url", &stub.url, "--registry"])
            .arg(registry)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok(command.spawn()?)
    }

    /// Returns the entries of a registry: the instruction, and how often it was seen.
    fn list(&self, registry: &Path) -> Result<Vec<(String, u64)>> {
        let mut command = Command::new(&self.accp);
        command
            .args(["aacp", "registry", "list", "--format", "json", "--registry"])
            .arg(registry);
        let text = succeeded(command.output()?)?;
        let entries = text.lines().map(|line| {
            let json: Json = serde_json::from_str(line)?;
            let english = json["english"].as_str().ok_or("no english")?;
            let seen = json["times_seen"].as_u64().ok_or("no times_seen")?;
            Ok((english.to_owned(), seen))
        });
        entries.collect()
    }

    /// Starts all processes at once with one new instruction. Checks that one call was made, that all packets are
    /// equal, and that the registry has counted each process.
    fn crowd(&self, style: Style) -> Result<String> {
        let folder = tempfile::tempdir()?;
        let registry = folder.path().join("r.aacp");
        let stub = Stub::start(style)?;
        let english = "Collect the parking permits";
        // The model answers the first call only after all processes were started, so that all of
        // them ask at the same time.
        let children = (0..self.processes).map(|_| self.encode(&stub, &registry, english));
        let children = children.collect::<Result<Vec<_>>>()?;
        stub.called()?.answer();
        let (mut packets, mut calls) = (Vec::new(), 0);
        for child in children {
            let json: Json = serde_json::from_str(&succeeded(child.wait_with_output()?)?)?;
            packets.push(json["packet"].as_str().ok_or("no packet")?.to_owned());
            calls += json["llm_calls"].as_u64().ok_or("no llm_calls")?;
        }
        packets.sort_unstable();
        packets.dedup();
        let seen = self.list(&registry)?;
        let found = (stub.calls(), calls, packets.len(), &seen[..]);
        let wanted = [(english.to_owned(), self.processes as u64)];
        if found != (1, 1, 1, &wanted) {
            return Err(format!("calls, llm_calls, packets, entries: {found:?}").into());
        }
        let count = self.processes;
        Ok(format!(
            "{}: {count} processes, 1 call, {count} equal packets, times_seen {count}\n",
            style.name()
        ))
    }

    /// Encodes many instructions, each in a process of its own, and kills the process: during its call, right after
    /// the model has answered, or a little later, when the process begins to print its own answer.
    fn kills(&self) -> Result<String> {
        let folder = tempfile::tempdir()?;
        let registry = folder.path().join("r.aacp");
        let stub = Stub::start(Style::OpenAi)?;
        let (mut kept, mut repeated) = (0, 0);
        for kill in 0..self.kills {
            let english = format!("Collect the parking permits of person Q{kill}");
            let before = stub.calls();
            let mut child = self.encode(&stub, &registry, &english)?;
            let call = stub.called()?;
            match kill % 4 {
                0 => {
                    child.kill()?;
                    drop(call);
                }
                1 => {
                    call.answer();
                    child.kill()?;
                }
                _ => {
                    call.answer();
                    // With each further instruction, the process lives a little longer before the kill.
                    for _ in 0..kill * 40 {
                        std::thread::yield_now();
                    }
                    child.kill()?;
                }
            }
            let printed = child.wait_with_output()?.stdout.ends_with(b"\n");
            let entries = self.list(&registry)?;
            let is_stored = entries.iter().any(|entry| entry.0 == english);
            if printed && !is_stored {
                return Err(format!("kill {kill}: a packet was given and not stored").into());
            }
            let next = self.encode(&stub, &registry, &english)?;
            if !is_stored {
                stub.called()?.answer();
                repeated += 1;
            }
            let json: Json = serde_json::from_str(&succeeded(next.wait_with_output()?)?)?;
            let calls = stub.calls() - before;
            let is_hash = json["source"] == "hash";
            if is_hash != is_stored || calls != 2 - usize::from(is_stored) {
                let what = format!("kill {kill}: stored {is_stored}, {calls} calls, {json}");
                return Err(what.into());
            }
            kept += usize::from(is_stored);
        }
        let entries = self.list(&registry)?;
        if entries.len() != self.kills || entries.iter().any(|entry| !(1..=2).contains(&entry.1)) {
            return Err("the registry does not hold each instruction once".into());
        }
        Ok(format!(
            "{} kills: {kept} answers were stored and not asked for again, {repeated} were asked again",
            self.kills
        ))
    }
}

/// Returns stdout, if the process succeeded.
fn succeeded(output: Output) -> Result<String> {
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
