//! The agents of a session: workers, senders, askers, and an agent that posts over HTTP.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use accp_client::{Agent, Error};
use accp_runtime::AgentId;
use accp_runtime::profiles::{ChatDone, ChatReq, ScheduleDone, ScheduleReq};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::PATIENCE;
use crate::tally::Tally;

/// The task of a sender. Returns the name of the sender and how many tasks the sender has sent.
type Sender = JoinHandle<Result<(String, u64), String>>;

pub(crate) struct Agents {
    senders: Vec<Vec<Sender>>,
    workers: Vec<Agent>,
    /// These agents stay connected, so that the frames in their outboxes are sent.
    _others: Vec<Agent>,
}

/// The senders of each session, by name.
pub(crate) const SENDERS: [&str; 5] = ["a", "b", "asker", "open", "poster"];

/// The most tasks by which a sender is ahead of the worker. Without a bound, the backlog of the worker grows with
/// each accident, and a question waits behind the whole backlog.
const AHEAD: u64 = 100;
/// How many tasks a sender may send for each question of the asker. Every agent gets the whole log, so without this
/// bound an asker on a slow connection would fall further and further behind.
const EACH: u64 = 200;

/// Starts the agents of all sessions. Each agent connects to one of the hubs. The names of the sessions end in
/// `end`.
pub(crate) async fn start(
    hubs: &[String],
    sessions: usize,
    end: &str,
    tally: &Arc<Tally>,
    stops: &watch::Receiver<bool>,
) -> Result<Agents, String> {
    let (mut senders, mut workers, mut others) = (Vec::new(), Vec::new(), Vec::new());
    let mut next = hubs.iter().cycle().cloned();
    let mut hub = move || next.next().unwrap_or_default();
    for at in 0..sessions {
        let session = format!("load{at}_{end}");
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
            others.push(agent.clone());
            all.push(tokio::spawn(send(agent, at, tally.clone(), stops.clone())));
        }
        for (name, to) in [("asker", Some("worker")), ("open", None)] {
            let asker = connect(name).await?;
            others.push(asker.clone());
            all.push(tokio::spawn(ask(asker, to, stops.clone())));
        }
        let stays = connect("stays").await?;
        take(&stays, at, tally);
        others.push(stays);
        let comes = Taker {
            hub: hub(),
            session: session.clone(),
            at,
            tally: Arc::clone(tally),
        };
        tokio::spawn(comes.run(stops.clone()));
        let (hub, stops) = (hub(), stops.clone());
        let had = Arc::clone(tally);
        all.push(tokio::task::spawn_blocking(move || {
            let go_on = |count| {
                let stops = stops.clone();
                Handle::current().block_on(may_send(&had, at, "poster", count, stops))
            };
            post(&hub, &session, go_on)
        }));
        senders.push(all);
    }
    Ok(Agents {
        senders,
        workers,
        _others: others,
    })
}

impl Agents {
    /// Describes how many entries of its log each worker has.
    pub(crate) async fn state(&self) -> String {
        let mut said = Vec::new();
        for (at, worker) in self.workers.iter().enumerate() {
            let look = worker.look(|session| {
                format!("has {} of {} entries", session.position(), session.known())
            });
            let state = match timeout(Duration::from_secs(1), look).await {
                Ok(Ok(state)) => state,
                Ok(Err(why)) => format!("has ended: {why}"),
                Err(_) => "does not answer".to_owned(),
            };
            said.push(format!("; the worker of session {at} {state}"));
        }
        said.concat()
    }

    /// Waits for the senders to end. Returns how many tasks each has sent, by session.
    pub(crate) async fn finish(
        &mut self,
        patience: Duration,
    ) -> Result<Vec<BTreeMap<String, u64>>, String> {
        let mut sent = Vec::new();
        for senders in self.senders.drain(..) {
            let mut of_session = BTreeMap::new();
            for sender in senders {
                let ended = timeout(patience, sender).await;
                let ended =
                    ended.map_err(|_| format!("a sender has not ended within {patience:?}"))?;
                of_session.extend([ended.map_err(|error| error.to_string())??]);
            }
            sent.push(of_session);
        }
        Ok(sent)
    }
}

fn task(sender: &str, number: u64) -> Result<ScheduleReq<'static>, String> {
    let worker = AgentId::new("worker").map_err(|error| error.to_string())?;
    Ok(ScheduleReq::new(worker, format!("{sender}_{number}")))
}

/// Waits until a sender that has sent `count` tasks may send the next task. Returns false if the run is to stop.
async fn may_send(
    tally: &Tally,
    session: usize,
    sender: &str,
    count: u64,
    mut stops: watch::Receiver<bool>,
) -> Result<bool, String> {
    let least = count.saturating_sub(AHEAD);
    let near = async {
        tally.reach_of(session, sender, least).await;
        tally.reach_of(session, "asker", count / EACH).await;
    };
    tokio::select! {
        biased;
        _ = stops.wait_for(|stops| *stops) => Ok(false),
        () = near => Ok(true),
        () = sleep(PATIENCE) => Err(format!(
            "{sender}: after {count} tasks the worker has not had task {least}, or the asker is behind, for \
             {PATIENCE:?}"
        )),
    }
}

/// Sends tasks without waiting for answers.
async fn send(
    agent: Agent,
    session: usize,
    tally: Arc<Tally>,
    stops: watch::Receiver<bool>,
) -> Result<(String, u64), String> {
    let mut count: u64 = 0;
    while may_send(&tally, session, agent.name(), count, stops.clone()).await? {
        let sent = agent.send(task(agent.name(), count)?).await;
        sent.map_err(|error| format!("{}: {error}", agent.name()))?;
        count += 1;
    }
    Ok((agent.name().to_owned(), count))
}

/// Asks questions of the worker, or of any agent that takes them. Waits for the answer before the next question.
async fn ask(
    agent: Agent,
    of: Option<&str>,
    stops: watch::Receiver<bool>,
) -> Result<(String, u64), String> {
    let mut count = 0;
    while !*stops.borrow() {
        let asked = task(agent.name(), count)?;
        let wanted = asked.task.clone();
        let answer = if of.is_some() {
            let done = agent.ask::<ScheduleDone<'_>>(asked.priority("high")).await;
            done.map(|done| done.task)
        } else {
            let done = agent
                .ask::<ChatDone<'_>>(ChatReq::new(wanted.clone()))
                .await;
            done.map(|done| done.content)
        };
        let answer = answer.map_err(|error| format!("{wanted}: {error}"))?;
        if answer != wanted {
            return Err(format!("the answer to {wanted} is {answer}"));
        }
        count += 1;
    }
    Ok((agent.name().to_owned(), count))
}

/// Lets an agent answer the questions that name no agent.
fn take(agent: &Agent, at: usize, tally: &Arc<Tally>) {
    let had = Arc::clone(tally);
    agent.serve(move |asked: ChatReq<'static>, cx| {
        had.had_by_one(at, &asked.content, cx.inbound().redelivered());
        async move { cx.reply(ChatDone::new(asked.content)).await }
    });
}

/// An agent that takes some questions, leaves its session, and comes back, again and again.
struct Taker {
    hub: String,
    session: String,
    at: usize,
    tally: Arc<Tally>,
}

impl Taker {
    /// How many questions are answered before the agent leaves.
    const STAYS: u64 = 40;

    async fn run(self, mut stops: watch::Receiver<bool>) {
        let mut asked = 0;
        while !*stops.borrow() {
            // An accident may have stopped the hub, so the agent tries again.
            let Ok(agent) = Agent::connect(&*self.hub, &*self.session, "comes").await else {
                sleep(Duration::from_millis(50)).await;
                continue;
            };
            take(&agent, self.at, &self.tally);
            asked += Self::STAYS;
            tokio::select! {
                () = self.tally.reach_of(self.at, "open", asked) => {}
                _ = stops.wait_for(|stops| *stops) => {}
            }
            let _ = agent.leave().await;
        }
    }
}

/// Posts tasks over HTTP. Sends each task again under the same id until the hub has it.
fn post(
    hub: &str,
    session: &str,
    may_send: impl Fn(u64) -> Result<bool, String>,
) -> Result<(String, u64), String> {
    let url = format!("{hub}/accp/v1/frames?session={session}");
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(10)));
    let http = ureq::Agent::new_with_config(config.build());
    let mut count: u64 = 0;
    while may_send(count)? {
        let head = format!("@poster>req:schedule{{asgn:worker|task:poster_{count}|schema:TA}}");
        loop {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            let now = now.map_or(0, |now| now.as_secs());
            let frame = format!("{head}[mid:f{count:011x},seq:{},ts:{now}]", count + 1);
            let request = http.post(&url).content_type("application/accp");
            // A hub that is being killed breaks the connection. Then the frame is sent again.
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
