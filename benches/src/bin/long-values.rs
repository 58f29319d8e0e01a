//! Measures how long it takes to ask a question with a long text, until its short answer arrives. The two agents are
//! in the process of their hub, or connected over loopback. The sessions are in memory, or in SQLite files.
//!
//! ```sh
//! cargo run --release --manifest-path benches/Cargo.toml --bin long-values -- 21           # rounds
//! cargo run --release --manifest-path benches/Cargo.toml --bin long-values -- 21 4000000   # another length
//! ```
//!
//! Prints the median and the least time of the rounds. The goals are for the median with a text of 1 MB.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use accp_bench::{Goal, figure};
use accp_client::{Agent, Hub};
use accp_hub::{Config, Open, Server, Sessions};
use accp_runtime::profiles::{ChatDone, ChatReq};
use accp_store::{Committer, MemoryStore, SqliteStore};
use tokio::sync::oneshot;

type AnyError = Box<dyn Error + Send + Sync>;

const LENGTH: usize = 1_000_000;
/// The most milliseconds that a question of `LENGTH` bytes may take: in one process, and over loopback.
const GOALS: [f64; 2] = [20.0, 100.0];

fn main() -> Result<(), AnyError> {
    let mut arguments = std::env::args().skip(1);
    let rounds = arguments.next().map_or(Ok(21), |text| text.parse())?;
    let length = arguments.next().map_or(Ok(LENGTH), |text| text.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        for durable in [false, true] {
            for over_loopback in [false, true] {
                let folder = tempfile::tempdir()?;
                let folder = durable.then(|| folder.path());
                let mut took = if over_loopback {
                    loopback(folder, rounds, length).await?
                } else {
                    in_process(folder, rounds, length).await?
                };
                took.sort();
                let goal = match length {
                    LENGTH => Goal::AtMost(GOALS[usize::from(over_loopback)]),
                    _ => Goal::None,
                };
                let place = if over_loopback {
                    "over loopback"
                } else {
                    "in one process"
                };
                let store = if durable { "SQLite" } else { "memory" };
                let millis = |time: Duration| time.as_secs_f64() * 1e3;
                let median = millis(took[took.len() / 2]);
                figure(&format!("{place}, {store}: median"), median, "ms", goal);
                figure(
                    &format!("{place}, {store}: least"),
                    millis(took[0]),
                    "ms",
                    Goal::None,
                );
            }
        }
        Ok(())
    })
}

async fn in_process(
    folder: Option<&Path>,
    rounds: usize,
    length: usize,
) -> Result<Vec<Duration>, AnyError> {
    let hub = match folder {
        Some(folder) => Hub::open("bench", SqliteStore::open(folder.join("hub.accp"))?).await?,
        None => Hub::open("bench", MemoryStore::new()).await?,
    };
    talk(&hub.agent("guest")?, &hub.agent("cook")?, rounds, length).await
}

async fn loopback(
    folder: Option<&Path>,
    rounds: usize,
    length: usize,
) -> Result<Vec<Duration>, AnyError> {
    let config = Config {
        listen: "127.0.0.1:0".parse()?,
        ..Config::default()
    };
    let file = folder.map(|folder| folder.join("hub.accp"));
    let sessions = Sessions::new(&config, move || match &file {
        Some(file) => Committer::new(SqliteStore::open(file)?),
        None => Ok(Committer::inline(MemoryStore::new())),
    })?;
    let server = Server::bind(config, sessions, Open).await?;
    let hub = format!("ws://{}", server.address());
    let (end, ended) = oneshot::channel::<()>();
    let task = tokio::spawn(server.run(async move { drop(ended.await) }));
    let mut agents = Vec::new();
    for name in ["guest", "cook"] {
        let mut connect = Agent::connect(&hub, "bench", name);
        if let Some(folder) = folder {
            connect = connect.store(SqliteStore::open(folder.join(name))?);
        }
        agents.push(connect.await?);
    }
    let took = talk(&agents[0], &agents[1], rounds, length).await?;
    drop(agents);
    drop(end);
    task.await?;
    Ok(took)
}

/// Asks `rounds` times, and returns how long each question took.
async fn talk(
    guest: &Agent,
    cook: &Agent,
    rounds: usize,
    length: usize,
) -> Result<Vec<Duration>, AnyError> {
    cook.serve(|asked: ChatReq, cx| async move {
        cx.reply(ChatDone::new(asked.content.len().to_string()))
            .await
    });
    let text: String = "rye and spelt, ".chars().cycle().take(length).collect();
    let mut took = Vec::new();
    for round in 0..=rounds {
        let asked = ChatReq::new(text.clone());
        let began = Instant::now();
        let answer: ChatDone = guest.ask(asked).await?;
        // The first round warms up.
        if round > 0 {
            took.push(began.elapsed());
        }
        assert_eq!(answer.content, length.to_string());
    }
    Ok(took)
}
