//! The agents: workers, senders, askers, and one that posts over HTTP.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use accp_client::{Agent, Error};
use accp_runtime::AgentId;
use accp_runtime::profiles::{ScheduleDone, ScheduleReq};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::PATIENCE;
use crate::tally::Tally;

/// The senders of a session, which return how many tasks they have sent.
type Sender = JoinHandle<Result<(String, u64), String>>;

pub(crate) struct Agents {
    senders: Vec<Vec<Sender>>,
    workers: Vec<Agent>,
}

/// The senders of each session.
pub(crate) const SENDERS: [&str; 4] = ["a", "b", "asker", "poster"];

/// How many of its tasks a sender is ahead of the worker at most. Without a bound, what the worker has not
/// had yet grows with each accident, and a question waits behind all of it.
const AHEAD: u64 = 100;
/// The tasks that a sender may send for each question of the asker. Every agent has the whole log, so an
/// asker with a slow way would be further and further behind.
const EACH: u64 = 200;

/// Starts the agents of all sessions, each at one of the hubs.
pub(crate) async fn start(
    hubs: &[String],
    sessions: usize,
    tally: &Arc<Tally>,
    stops: &watch::Receiver<bool>,
) -> Result<Agents, String> {
    let (mut senders, mut workers) = (Vec::new(), Vec::new());
    let mut next = hubs.iter().cycle().cloned();
    let mut hub = move || next.next().unwrap_or_default();
    for at in 0..sessions {
        // A database may have sessions of an earlier run.
        let session = format!("load{at}_{}", std::process::id());
        let mut connect = async |name: &str| {
            let agent = Agent::connect(hub(), &session, name).await;
            agent.map_err(|error| error.to_string())
        };
        let worker = connect("worker").await?;
        let had = Arc::clone(tally);
        worker.serve(move |task: ScheduleReq<'static>, cx| {
            had.had(at, &task.task);
            let is_asked = task.priority == "high";
            async move {
                if is_asked {
                    return cx.reply(ScheduleDone::new(task.task)).await;
                }
                Ok::<_, Error>(())
            }
        });
        workers.push(worker);
        let mut all = Vec::new();
        for name in ["a", "b"] {
            let agent = connect(name).await?;
            all.push(tokio::spawn(send(agent, at, tally.clone(), stops.clone())));
        }
        all.push(tokio::spawn(ask(connect("asker").await?, stops.clone())));
        let (hub, stops) = (hub(), stops.clone());
        all.push(tokio::task::spawn_blocking(move || {
            post(&hub, &session, &stops)
        }));
        senders.push(all);
    }
    Ok(Agents { senders, workers })
}

impl Agents {
    /// Says why workers have ended, if any has.
    pub(crate) async fn ended(&self) -> String {
        let mut said = Vec::new();
        for (at, worker) in self.workers.iter().enumerate() {
            let state = timeout(Duration::from_secs(1), worker.budget()).await;
            if let Ok(Err(why)) = state {
                said.push(format!("; the worker of session {at} has ended: {why}"));
            }
        }
        said.concat()
    }

    /// Waits for the senders to end. Returns how many tasks each has sent, by session.
    pub(crate) async fn finish(
        self,
        patience: Duration,
    ) -> Result<Vec<BTreeMap<String, u64>>, String> {
        let mut sent = Vec::new();
        for senders in self.senders {
            let mut of_session = BTreeMap::new();
            for sender in senders {
                let ended = timeout(patience, sender).await;
                let ended =
                    ended.map_err(|_| format!("a sender has not ended within {patience:?}"))?;
                of_session.extend([ended.map_err(|error| error.to_string())??]);
            }
            sent.push(of_session);
        }
        // The workers have to have what was sent last.
        std::mem::forget(self.workers);
        Ok(sent)
    }
}

fn task(sender: &str, number: u64) -> Result<ScheduleReq<'static>, String> {
    let worker = AgentId::new("worker").map_err(|error| error.to_string())?;
    Ok(ScheduleReq::new(worker, format!("{sender}_{number}")))
}

/// Sends tasks without waiting for answers.
async fn send(
    agent: Agent,
    session: usize,
    tally: Arc<Tally>,
    stops: watch::Receiver<bool>,
) -> Result<(String, u64), String> {
    let mut count: u64 = 0;
    while !*stops.borrow() {
        let least = count.saturating_sub(AHEAD);
        let near = async {
            tally.reach_of(session, agent.name(), least).await;
            tally.reach_of(session, "asker", count / EACH).await;
        };
        if timeout(PATIENCE, near).await.is_err() {
            return Err(format!(
                "{}: after {count} tasks the worker has not had task {least}, or the asker is behind, for \
                 {PATIENCE:?}",
                agent.name()
            ));
        }
        let sent = agent.send(task(agent.name(), count)?).await;
        sent.map_err(|error| format!("{}: {error}", agent.name()))?;
        count += 1;
    }
    let name = agent.name().to_owned();
    // What is in the outbox has to go out.
    std::mem::forget(agent);
    Ok((name, count))
}

/// Asks, and waits for each answer.
async fn ask(agent: Agent, stops: watch::Receiver<bool>) -> Result<(String, u64), String> {
    let mut count = 0;
    while !*stops.borrow() {
        let asked = task(agent.name(), count)?;
        let wanted = asked.task.clone();
        let done = agent.ask::<ScheduleDone<'_>>(asked.priority("high"));
        let done = done.await.map_err(|error| format!("{wanted}: {error}"))?;
        if done.task != wanted {
            return Err(format!("the answer to {wanted} is {}", done.task));
        }
        count += 1;
    }
    Ok((agent.name().to_owned(), count))
}

/// Posts tasks over HTTP, each under one id until the hub has it.
fn post(hub: &str, session: &str, stops: &watch::Receiver<bool>) -> Result<(String, u64), String> {
    let url = format!("{hub}/accp/v1/frames?session={session}");
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(10)));
    let http = ureq::Agent::new_with_config(config.build());
    let mut count: u64 = 0;
    while !*stops.borrow() {
        let head = format!("@poster>req:schedule{{asgn:worker|task:poster_{count}|schema:TA}}");
        loop {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            let now = now.map_or(0, |now| now.as_secs());
            let frame = format!("{head}[mid:f{count:011x},seq:{},ts:{now}]", count + 1);
            let request = http.post(&url).content_type("application/accp");
            // A hub that is being killed breaks the connection.
            let Ok(mut answer) = request.send(&frame) else {
                continue;
            };
            let status = answer.status().as_u16();
            let Ok(said) = answer.body_mut().read_to_string() else {
                continue;
            };
            match status {
                200 => break,
                400 if said.contains("code:E3002") => break,
                503 => std::thread::sleep(Duration::from_millis(10)),
                _ => return Err(format!("{status} to {frame}: {said}")),
            }
        }
        count += 1;
    }
    Ok(("poster".to_owned(), count))
}
