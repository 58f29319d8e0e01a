//! Sends all floods to one hub at the same time.

use std::fs;
use std::path::Path;
use std::time::Duration;

use accp_store::{SqliteStore, Store as _};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::calm::Calm;
use crate::{ANSWERS, Args, floods, memory, ready, start, total};

/// The part of a flood that is sent before the flood begins again, in percent.
const TURN: u64 = 2;
/// The time within which 99 of 100 answers have to arrive.
const PATIENCE: Duration = Duration::from_secs(1);
/// The MiB by which the memory of the hub may be higher in the second half of the run than in the first half.
const GROWS: u64 = 8;
const ENTRY: u64 = 4 * 1024;
/// The files may have this many bytes in addition to [`ENTRY`] bytes for each entry.
const BESIDE: u64 = 8 << 20;

/// Floods a hub for this many seconds.
pub(crate) async fn run(args: &Args, seconds: u64) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let store = folder.path().join("hub.accp");
    let (hub, address) = start(args, &store)?;
    let url = format!("http://{address}");
    let mut pairs = [
        Calm::start(&url, "calm").await?,
        Calm::start(&url, "beside").await?,
    ];
    for pair in &mut pairs {
        pair.goes_on(200).await?;
        pair.times();
    }
    let mut flooding = JoinSet::new();
    for flood in floods() {
        let times = (flood.times * TURN / 100).max(10);
        flooding.spawn(async move {
            loop {
                let flooded = (flood.run)(address, times).await;
                if let Err(why) = flooded {
                    return Err::<(), _>(format!("{}: {why}", flood.name));
                }
            }
        });
    }
    let mut most = [0; 2];
    for second in 0..seconds {
        sleep(Duration::from_secs(1)).await;
        let half = usize::from(second * 2 >= seconds);
        most[half] = most[half].max(memory::resident(hub.id())?);
    }
    let answers = total(&pairs)?;
    let mut times: Vec<Duration> = pairs.iter().flat_map(Calm::times).collect();
    // A flood that has ended has failed. All other floods still run, and are stopped here.
    while let Some(flooded) = flooding.try_join_next() {
        flooded.map_err(|error| error.to_string())??;
    }
    flooding.shutdown().await;
    for pair in &mut pairs {
        pair.goes_on(ANSWERS).await?;
    }
    ready(address).await?;
    times.sort_unstable();
    let slow = times[times.len() * 99 / 100];
    drop(pairs);
    hub.stop()?;
    let (entries, bytes) = (entries(&store)?, size(folder.path())?);
    println!(
        "{seconds} s: {} and {} MiB at most, {entries} entries in {} KiB, answers within {slow:?} (99 of 100), {:?} at most",
        most[0],
        most[1],
        bytes >> 10,
        times.last().copied().unwrap_or_default(),
    );
    if most[1] > most[0] + GROWS {
        return Err(format!("the hub needs more and more memory: {most:?} MiB"));
    }
    if bytes > entries * ENTRY + BESIDE {
        return Err(format!("{bytes} bytes of files for {entries} entries"));
    }
    if slow > PATIENCE {
        return Err(format!("an answer in a hundred takes longer than {slow:?}"));
    }
    Ok(format!("{answers} answers"))
}

/// Returns how many entries the logs of a store have.
fn entries(file: &Path) -> Result<u64, String> {
    let mut store = SqliteStore::open(file).map_err(|error| error.to_string())?;
    let sides = store.list().map_err(|error| error.to_string())?;
    Ok(sides.iter().map(|side| side.entries).sum())
}

/// Returns the bytes of all files of a folder.
fn size(folder: &Path) -> Result<u64, String> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(|error| error.to_string())? {
        let entry = entry.map_err(|error| error.to_string())?;
        bytes += entry.metadata().map_err(|error| error.to_string())?.len();
    }
    Ok(bytes)
}
