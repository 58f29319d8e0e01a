//! Measures how long `accp serve` takes after its start in an empty directory until it listens, and until it answers.
//!
//! ```sh
//! cargo build --release -p accp-cli
//! cargo run --release --manifest-path benches/Cargo.toml --bin hub-start -- target/release/accp 20
//! ```
//!
//! The program also prints the time of `accp --version`, which is the start of the process alone. It fails when the
//! median time until the answer is not below 200 ms.

use std::error::Error;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const GOAL: Duration = Duration::from_millis(200);

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let accp = args.next().ok_or("the path of the command `accp`")?;
    let accp = std::fs::canonicalize(accp)?;
    let count: usize = args.next().map_or(Ok(20), |count| count.parse())?;
    let (mut process, mut listens, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..count.max(1) {
        let started = Instant::now();
        Command::new(&accp).arg("--version").output()?;
        process.push(started.elapsed());

        let folder = tempfile::tempdir()?;
        let started = Instant::now();
        let mut hub = Command::new(&accp)
            .args(["serve", "--listen", "127.0.0.1:0"])
            .current_dir(folder.path())
            .stderr(Stdio::piped())
            .spawn()?;
        let told = until_it_answers(&mut hub, started);
        hub.kill()?;
        hub.wait()?;
        let (listening, answering) = told?;
        listens.push(listening);
        answers.push(answering);
    }
    show("accp --version", &mut process);
    show("accp serve, until it listens", &mut listens);
    let median = show("accp serve, until /readyz answers", &mut answers);
    Ok(ExitCode::from(u8::from(median >= GOAL)))
}

fn until_it_answers(
    hub: &mut std::process::Child,
    started: Instant,
) -> Result<(Duration, Duration), Box<dyn Error>> {
    let errors = hub.stderr.take().ok_or("no stderr")?;
    let mut line = String::new();
    BufReader::new(errors).read_line(&mut line)?;
    let listening = started.elapsed();
    let address = line
        .strip_prefix("hub at http://")
        .and_then(|rest| rest.split(',').next())
        .ok_or_else(|| format!("the hub did not start: {line}"))?;
    let mut socket = TcpStream::connect(address)?;
    let request = format!("GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    socket.write_all(request.as_bytes())?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    if !answer.starts_with("HTTP/1.1 200") {
        return Err(format!("/readyz: {answer}").into());
    }
    Ok((listening, started.elapsed()))
}

/// Prints the median and the longest of the times, and returns the median.
fn show(what: &str, times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    let median = times[times.len() / 2];
    let most = times[times.len() - 1];
    println!(
        "{what:36} median {:.0} ms, slowest {:.0} ms, of {}",
        median.as_secs_f64() * 1e3,
        most.as_secs_f64() * 1e3,
        times.len()
    );
    median
}
