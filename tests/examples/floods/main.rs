//! Floods hubs, each hub with its own kind of flood, while two pairs of agents ask and answer all the time.
//!
//! A hub is the command `accp serve`. After each flood no answer of the pairs may be missing, the hub has to report
//! that it is ready, and its memory must not have grown by more than the limit of the flood. Each flood has a fixed
//! size, and the number of its repetitions is bounded.
//!
//! The allocator keeps memory that a hub has freed, for the next clients. So the memory after one flood does not
//! show a leak: a hub that has freed everything may hold as much memory as a hub that has not. But a second flood by
//! as many clients can use the memory that the first flood has freed, and with a leak the hub still needs more after
//! each flood. So the program repeats each flood whose clients leave nothing in the sessions, until the memory has
//! stopped growing ([`memory::has_stopped`]). This has to happen within a few rounds. For this, each flood has a hub
//! of its own: in a shared hub, a leak could hide for long in the memory that a greater flood has freed.
//!
//! ```sh
//! cargo build --release -p accp-cli
//! cargo run --release -p accp-tests --example floods -- --accp target/release/accp --share 100
//! cargo run --release -p accp-tests --example floods -- --accp target/release/accp --plant sizes
//! ```
//!
//! `--share` sets the size of each flood, in percent of its full size. `--plant` takes bounds away, and the run has
//! to fail: without bounds on sizes (`sizes`), without bounds on times (`times`), or with all sessions kept in
//! memory (`rest`). `--only` runs the floods with this word in their name. `--rounds` is the most rounds of a flood,
//! 10 by default. With fewer than four rounds the run does not check whether the memory grows.
//!
//! `--together 180` sends all floods to one hub at the same time, again and again for 180 seconds. The memory must
//! not grow, the size of the files must stay below a limit for each entry, and 99 of 100 answers have to arrive
//! within a second.

mod calm;
mod http;
mod member;
mod memory;
mod others;
mod raw;
mod socket;
mod together;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use accp_tests::hub::{HubOptions, HubProcess};
use accp_tests::program;
use calm::Calm;
use clap::Parser;
use memory::Watch;
use raw::Raw;

/// Settings of the hub: its usual bounds on sizes, and times that fit a test.
const SETTINGS: &str = "idle = 1
[limits]
header_seconds = 2
body_seconds = 2
sessions = 500
";
/// The same settings without bounds on sizes and counts.
const SIZES: &str = "idle = 1
[limits]
header_seconds = 2
body_seconds = 2
frame = 1073741824
headers = 1073741824
sessions = 1000000
frames_per_second = 4294967295
";
/// The same settings without bounds on times.
const TIMES: &str = "idle = 86400
[limits]
header_seconds = 86400
body_seconds = 86400
sessions = 500
";
/// The same settings, but all sessions stay in memory.
const REST: &str = "idle = 86400
[limits]
header_seconds = 2
body_seconds = 2
sessions = 1000000
";
/// How many questions each pair has to answer after each flood.
const ANSWERS: u64 = 5;
/// The number of rounds of a flood in which the memory has to stop growing.
const ROUNDS: usize = 10;
/// The allocator has one pool of memory, not one for each thread. With several pools, the threads of a flood may
/// take new memory from other pools while the old pools have some left. (glibc reads this variable; other allocators
/// do not need it.)
const POOLS: (&str, &str) = ("MALLOC_ARENA_MAX", "1");

type Run = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

/// A flood, with its size and the memory that the hub may need for it.
struct Flood {
    name: &'static str,
    times: u64,
    /// The most MiB that the hub may need in addition to its memory at the start.
    most: u64,
    /// Whether the sessions keep nothing of this flood, so that the hub needs no more memory for the next round.
    is_forgotten: bool,
    run: Box<dyn Fn(SocketAddr, u64) -> Run + Send + Sync>,
}

fn flood<F>(
    name: &'static str,
    times: u64,
    most: u64,
    run: impl Fn(SocketAddr, u64) -> F + Send + Sync + 'static,
) -> Flood
where
    F: Future<Output = Result<String, String>> + Send + 'static,
{
    Flood {
        name,
        times,
        most,
        is_forgotten: true,
        run: Box::new(move |hub, times| Box::pin(run(hub, times))),
    }
}

/// A flood of frames, which stay in the log and the state of a session.
fn frames<F>(
    name: &'static str,
    times: u64,
    most: u64,
    run: impl Fn(SocketAddr, u64) -> F + Send + Sync + 'static,
) -> Flood
where
    F: Future<Output = Result<String, String>> + Send + 'static,
{
    Flood {
        is_forgotten: false,
        ..flood(name, times, most, run)
    }
}

fn floods() -> Vec<Flood> {
    vec![
        flood("bodies that say they are long", 1000, 64, http::declared),
        flood("bodies in chunks without end", 1000, 64, http::chunked),
        flood("bodies in chunks of a byte", 100, 64, http::bits),
        flood("requests that are not UTF-8", 10_000, 64, http::utf8),
        flood("headers, many and long", 2000, 64, http::headers),
        flood("requests that stop halfway", 2000, 96, http::halves),
        flood("connections opened and dropped", 10_000, 64, http::dropped),
        flood("readers of HTTP that do not read", 1000, 128, http::unread),
        flood("sessions", 5000, 128, http::sessions),
        flood("sockets without a first frame", 2000, 96, socket::mute),
        flood("messages that break the rules", 5000, 64, socket::broken),
        flood("messages that are too long", 1000, 64, socket::long),
        flood("messages in tiny pieces", 100, 64, socket::pieces),
        frames("members that do not read", 20_000, 64, socket::slow),
        frames("pings of WebSockets", 1_000_000, 64, socket::pings),
        frames(
            "streams and parts without end",
            5000,
            64,
            member::unfinished,
        ),
        frames("models that begin and end", 2000, 64, others::models),
        frames("calls of models", 2000, 64, others::calls),
        flood(
            "requests for models that are refused",
            5000,
            64,
            others::refused,
        ),
        frames("messages of A2A", 2000, 64, others::messages),
        frames("values that never come", 5000, 64, member::values),
        frames("pings of the draft", 20_000, 64, member::pings),
    ]
}

#[derive(Parser)]
struct Args {
    /// The command `accp`
    #[arg(long, default_value = "target/debug/accp")]
    accp: PathBuf,
    /// The size of each flood, in percent of its full size
    #[arg(long, default_value_t = 100)]
    share: u64,
    /// Run the hub without some of its bounds: sizes, times or rest
    #[arg(long = "plant", value_name = "BOUNDS", value_parser = settings, default_value = "none", hide_default_value = true)]
    settings: &'static str,
    /// Only the floods with this word in their name
    #[arg(long, default_value = "")]
    only: String,
    /// The most rounds of a flood
    #[arg(long, default_value_t = ROUNDS)]
    rounds: usize,
    /// Run all floods at the same time, for this number of seconds
    #[arg(long)]
    together: Option<u64>,
}

/// Returns the settings of a hub without these bounds.
fn settings(bounds: &str) -> Result<&'static str, String> {
    match bounds {
        "none" => Ok(SETTINGS),
        "sizes" => Ok(SIZES),
        "times" => Ok(TIMES),
        "rest" => Ok(REST),
        _ => Err("expected sizes, times or rest".into()),
    }
}

fn main() -> ExitCode {
    program::end(run(&Args::parse()))
}

fn run(args: &Args) -> Result<String, String> {
    let started = Instant::now();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        if let Some(seconds) = args.together {
            return together::run(args, seconds).await;
        }
        let mut answers = 0;
        for flood in floods() {
            if flood.name.contains(&args.only) {
                let answered = one(args, &flood).await;
                answers += answered.map_err(|why| format!("{}: {why}", flood.name))?;
            }
        }
        let seconds = started.elapsed().as_secs_f64();
        Ok(format!("{answers} answers, none was lost, {seconds:.1} s"))
    })
}

/// Starts a hub on this file. Returns its address, too.
fn start(args: &Args, store: &Path) -> Result<(HubProcess, SocketAddr), String> {
    let config = store.with_extension("toml");
    std::fs::write(&config, args.settings).map_err(|error| error.to_string())?;
    let hub = HubProcess::start(&HubOptions {
        accp: args.accp.clone(),
        store: Some(store.display().to_string()),
        config,
        variables: vec![POOLS],
    })?;
    let address = hub.address().parse();
    let address = address.map_err(|error| format!("{}: {error}", hub.address()))?;
    Ok((hub, address))
}

/// Floods a hub until its memory has stopped growing. Returns how many questions were answered.
async fn one(args: &Args, flood: &Flood) -> Result<u64, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (hub, address) = start(args, &folder.path().join("hub.accp"))?;
    let url = format!("http://{address}");
    // One pair talks in the flooded session, and the other pair in another session.
    let mut pairs = [
        Calm::start(&url, "calm").await?,
        Calm::start(&url, "beside").await?,
    ];
    for pair in &mut pairs {
        pair.goes_on(200).await?;
    }
    let start = memory::resident(hub.id())?;
    let times = (flood.times * args.share / 100).max(20);
    let rounds = if flood.is_forgotten {
        args.rounds.max(1)
    } else {
        1
    };
    let mut rests = Vec::new();
    while rests.len() < rounds && !memory::has_stopped(&rests) {
        let before = total(&pairs)?;
        let watch = Watch::start(hub.id());
        let said = (flood.run)(address, times).await;
        let most = watch.most();
        if most > start + flood.most {
            return Err(format!(
                "the hub had {most} MiB, {start} before the floods; {} more are fine",
                flood.most
            ));
        }
        let said = said?;
        for pair in &mut pairs {
            pair.goes_on(ANSWERS).await?;
        }
        ready(address).await?;
        let rest = memory::resident(hub.id())?;
        let answers = total(&pairs)? - before;
        println!(
            "{:34} {start:4} MiB before, {most:4} at most, {rest:4} after it; {answers:6} answers; {said}",
            flood.name
        );
        rests.push(rest);
    }
    if rounds > memory::QUIET && !memory::has_stopped(&rests) {
        return Err(format!(
            "each time the hub keeps more memory: {rests:?} MiB; look for what it does not let go"
        ));
    }
    let answers = total(&pairs)?;
    drop(pairs);
    hub.stop()?;
    Ok(answers)
}

fn total(pairs: &[Calm]) -> Result<u64, String> {
    pairs.iter().map(Calm::answered).sum()
}

async fn ready(hub: SocketAddr) -> Result<(), String> {
    let mut raw = Raw::open(hub).await?;
    raw.send(format!("GET /readyz HTTP/1.1\r\nHost: {hub}\r\n\r\n").as_bytes())
        .await;
    match raw.status().await? {
        Some(200) => Ok(()),
        other => Err(format!("/readyz answers {other:?}")),
    }
}

/// Runs `one` this many times, with `at_once` runs at the same time.
pub(crate) async fn each<F>(
    times: u64,
    at_once: u64,
    one: impl Fn(u64) -> F + Send + Sync + 'static,
) -> Result<(), String>
where
    F: Future<Output = Result<(), String>> + Send + 'static,
{
    let one = Arc::new(one);
    let next = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = (0..at_once.min(times))
        .map(|_| {
            let (one, next) = (Arc::clone(&one), Arc::clone(&next));
            tokio::spawn(async move {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= times {
                        return Ok::<(), String>(());
                    }
                    one(at).await?;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.map_err(|error| error.to_string())??;
    }
    Ok(())
}
