//! Accidents of hubs, of their links and of their database, which happen while agents work.

use std::process::Command;
use std::time::Duration;

use accp_testkit::Rng;
use accp_tests::hub::HubProcess;
use tokio::time::sleep;

use crate::relay::Relay;

/// The lease of each hub.
pub(crate) const LEASE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accident {
    /// A hub is killed, and started again at once or after its lease.
    Kill,
    /// A hub is stopped for longer than its lease.
    Pause,
    /// All links to a hub are cut.
    Cut,
    /// The links to a hub carry nothing until the hub gives up the links.
    Stall,
    /// The command that `--command` names runs.
    Command,
}

/// How many times each accident happens.
#[derive(Debug, Clone, Default)]
pub(crate) struct AccidentPlan {
    pub(crate) counts: Vec<(Accident, u64)>,
    pub(crate) command: Option<String>,
}

impl AccidentPlan {
    /// Returns all accidents, in an order that the seed decides.
    pub(crate) fn shuffled(&self, random: &mut Rng) -> Vec<Accident> {
        let counts = self.counts.iter();
        let mut all: Vec<Accident> = counts
            .flat_map(|(accident, count)| (0..*count).map(|_| *accident))
            .collect();
        for at in (1..all.len()).rev() {
            let other = random.below(at as u64 + 1) as usize;
            all.swap(at, other);
        }
        all
    }

    /// Lets one accident happen, and puts the hub and its links in order again.
    pub(crate) async fn happens(
        &self,
        accident: Accident,
        hubs: &mut [HubProcess],
        ways: &[Relay],
        random: &mut Rng,
    ) -> Result<(), String> {
        let at = random.below(hubs.len() as u64) as usize;
        let (hub, way) = (&mut hubs[at], &ways[at]);
        match accident {
            Accident::Kill => {
                hub.kill();
                // With only one hub, the pause would only make all agents wait.
                if ways.len() > 1 && random.below(2) == 0 {
                    sleep(LEASE + LEASE / 2).await;
                }
                hub.restart()
            }
            Accident::Pause => {
                hub.signal("STOP")?;
                sleep(LEASE + LEASE / 2).await;
                hub.signal("CONT")
            }
            Accident::Cut => {
                way.cut();
                Ok(())
            }
            Accident::Stall => {
                way.stall(true);
                // The hub gives up a peer that is silent for two heartbeats. A heartbeat is one second.
                sleep(Duration::from_secs(3)).await;
                if random.below(2) == 0 {
                    way.cut();
                }
                way.stall(false);
                Ok(())
            }
            Accident::Command => {
                let command = self.command.clone().ok_or("no --command")?;
                let run = move || Command::new("sh").args(["-c", &command]).output();
                let ran = tokio::task::spawn_blocking(run).await;
                let ran = ran.map_err(|error| error.to_string())?;
                let ran = ran.map_err(|error| error.to_string())?;
                if ran.status.success() {
                    Ok(())
                } else {
                    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
                    Err(format!("--command: {}: {said}", ran.status))
                }
            }
        }
    }
}
