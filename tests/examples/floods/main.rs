//! Floods a hub, one flood after another, while two agents go on asking and answering.
//!
//! The hub is the command `accp serve`. After each flood no answer of the two may be missing, the hub
//! has to say that it is ready, its memory must not have grown by more than the flood may take, and it
//! has to come down again. Each flood is bounded by a count, and there are at most so many of it.
//!
//! ```sh
//! cargo build --release -p accp-cli
//! cargo run --release -p accp-tests --example floods -- --accp target/release/accp --share 100
//! cargo run --release -p accp-tests --example floods -- --accp target/release/accp --plant sizes
//! ```
//!
//! `--share` is how much of the whole each flood has, in percent. With `--plant sizes` the settings of
//! the hub bound no sizes, with `--plant times` no times, and the run has to fail. `--only` runs the floods with this word in their
//! name.

mod calm;
mod http;
mod member;
mod memory;
#[path = "../hub/process.rs"]
#[allow(dead_code, reason = "floods kill nothing")]
mod process;
mod raw;
mod socket;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use calm::Calm;
use memory::Watch;
use process::{Process, Start};
use raw::Raw;

/// Settings of the hub: its usual bounds on sizes, and times that fit a test.
const SETTINGS: &str = "idle = 1
[limits]
header_seconds = 2
body_seconds = 2
sessions = 500
";
/// The same without bounds on sizes and counts.
const SIZES: &str = "idle = 1
[limits]
header_seconds = 2
body_seconds = 2
frame = 1073741824
headers = 1073741824
sessions = 1000000
frames_per_second = 4294967295
";
/// The same without bounds on times.
const TIMES: &str = "idle = 86400
[limits]
header_seconds = 86400
body_seconds = 86400
sessions = 500
";
/// Questions of the two agents that have to be answered during each flood, and after it.
const ANSWERS: u64 = 5;
/// What the hub may have more than at the start once a flood is over, in MiB: the allocator keeps some
/// of what connections have freed, for the next ones.
const REST: u64 = 64;
/// The time in which the memory comes down.
const SETTLES: Duration = Duration::from_secs(30);

type Run = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

/// A flood: how much of it there is, and what the hub may take for it.
struct Flood {
    name: &'static str,
    times: u64,
    /// MiB more than at the start.
    most: u64,
    run: Box<dyn Fn(SocketAddr, u64) -> Run>,
}

fn flood<F>(
    name: &'static str,
    times: u64,
    most: u64,
    run: impl Fn(SocketAddr, u64) -> F + 'static,
) -> Flood
where
    F: Future<Output = Result<String, String>> + Send + 'static,
{
    Flood {
        name,
        times,
        most,
        run: Box::new(move |hub, times| Box::pin(run(hub, times))),
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
        flood("members that do not read", 20_000, 128, socket::slow),
        flood("pings of WebSockets", 1_000_000, 64, socket::pings),
        flood(
            "streams and parts without end",
            5000,
            64,
            member::unfinished,
        ),
        flood("values that never come", 5000, 64, member::values),
        flood("pings of the draft", 20_000, 64, member::pings),
    ]
}

fn main() -> ExitCode {
    let started = Instant::now();
    let done = Args::read().and_then(|args| run(&args));
    match done {
        Ok(said) => {
            println!("{said}, {:.1} s", started.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

struct Args {
    accp: PathBuf,
    share: u64,
    settings: &'static str,
    only: String,
}

impl Args {
    fn read() -> Result<Self, String> {
        let mut args = Self {
            accp: PathBuf::from("target/debug/accp"),
            share: 100,
            settings: SETTINGS,
            only: String::new(),
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} has no value"))?;
            match word.as_str() {
                "--accp" => args.accp = PathBuf::from(&value),
                "--share" => {
                    let share = value.parse();
                    args.share = share.map_err(|error| format!("{word} {value}: {error}"))?;
                }
                "--plant" if value == "sizes" => args.settings = SIZES,
                "--plant" if value == "times" => args.settings = TIMES,
                "--only" => args.only = value,
                _ => return Err(format!("unknown: {word} {value}")),
            }
        }
        Ok(args)
    }
}

fn run(args: &Args) -> Result<String, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let settings = folder.path().join("hub.toml");
    std::fs::write(&settings, args.settings).map_err(|error| error.to_string())?;
    runtime.block_on(all(args, folder.path(), settings))
}

async fn all(args: &Args, folder: &Path, settings: PathBuf) -> Result<String, String> {
    let store = folder.join("hub.accp");
    let hub = Process::start(&Start {
        accp: args.accp.clone(),
        store: Some(store.display().to_string()),
        config: settings,
    })?;
    let address = hub.address().parse();
    let address: SocketAddr = address.map_err(|error| format!("{}: {error}", hub.address()))?;
    let url = format!("http://{address}");
    // One pair in the session that is flooded, and one beside it.
    let mut pairs = [
        Calm::start(&url, "calm").await?,
        Calm::start(&url, "beside").await?,
    ];
    for pair in &mut pairs {
        pair.goes_on(200).await?;
    }
    let start = memory::resident(hub.id())?;
    println!("{:34} {start:4} MiB", "before");
    for flood in floods() {
        if !flood.name.contains(&args.only) {
            continue;
        }
        let times = (flood.times * args.share / 100).max(20);
        let before = total(&pairs)?;
        let watch = Watch::start(hub.id());
        let said = (flood.run)(address, times).await;
        let after = async {
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
            let rests = memory::comes_down(hub.id(), start + REST, SETTLES).await?;
            Ok((most, rests, said))
        };
        let (most, rests, said) = after
            .await
            .map_err(|why| format!("{}: {why}", flood.name))?;
        let answers = total(&pairs)? - before;
        println!(
            "{:34} {most:4} MiB at most, {rests:4} after it; {answers:6} answers; {said}",
            flood.name
        );
    }
    let answers = total(&pairs)?;
    drop(pairs);
    hub.stop()?;
    Ok(format!("{answers} answers, none was lost"))
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

/// Does something so many times, some at once.
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
