//! Two agents that ask and answer all the time, whatever else happens to the hub.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use accp_client::{Agent, Error};
use accp_runtime::AgentId;
use accp_runtime::profiles::{ScheduleDone, ScheduleReq};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::raw::PATIENCE;

/// A pair of agents in a session.
pub(crate) struct Calm {
    session: &'static str,
    answered: watch::Receiver<Result<u64, String>>,
    /// How long each answer took.
    times: Arc<Mutex<Vec<Duration>>>,
    asking: JoinHandle<()>,
    /// The agent that answers.
    _worker: Agent,
}

impl Calm {
    pub(crate) async fn start(hub: &str, session: &'static str) -> Result<Self, String> {
        let connect = async |name: &str| {
            let agent = Agent::connect(hub, session, name).await;
            agent.map_err(|error| format!("{session}: {error}"))
        };
        let worker = connect("worker").await?;
        worker.serve(|task: ScheduleReq<'static>, cx| async move {
            cx.reply(ScheduleDone::new(task.task)).await?;
            Ok::<_, Error>(())
        });
        let planner = connect("planner").await?;
        let (answers, answered) = watch::channel(Ok(0));
        let answers = Arc::new(answers);
        let times = Arc::<Mutex<Vec<Duration>>>::default();
        let took = Arc::clone(&times);
        let asking = tokio::spawn(async move {
            let mut count = 0;
            loop {
                count += 1;
                let asks = Instant::now();
                let asked = ask(&planner, count).await;
                took.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(asks.elapsed());
                let has_failed = asked.is_err();
                drop(answers.send_replace(asked.map(|()| count)));
                if has_failed {
                    return;
                }
            }
        });
        Ok(Self {
            session,
            answered,
            times,
            asking,
            _worker: worker,
        })
    }

    /// Returns how many questions were answered. Fails if a question was not answered, or got the answer of another
    /// question.
    pub(crate) fn answered(&self) -> Result<u64, String> {
        self.answered
            .borrow()
            .clone()
            .map_err(|why| format!("{}: {why}", self.session))
    }

    /// Returns how long the answers took since the last call, the fastest first.
    pub(crate) fn times(&self) -> Vec<Duration> {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let mut times = std::mem::take(&mut *times);
        times.sort_unstable();
        times
    }

    /// Waits until `more` further questions were answered.
    pub(crate) async fn goes_on(&mut self, more: u64) -> Result<(), String> {
        let wanted = self.answered()? + more;
        let reached = |answered: &Result<u64, String>| {
            answered
                .as_ref()
                .map_or(true, |answered| *answered >= wanted)
        };
        let waits = timeout(PATIENCE, self.answered.wait_for(reached));
        let is_late = waits.await.map(drop).is_err();
        if is_late {
            let count = self.answered()?;
            let session = self.session;
            return Err(format!(
                "{session}: {count} of {wanted} answers in {PATIENCE:?}"
            ));
        }
        self.answered().map(drop)
    }
}

impl Drop for Calm {
    fn drop(&mut self) {
        self.asking.abort();
    }
}

async fn ask(planner: &Agent, number: u64) -> Result<(), String> {
    let worker = AgentId::new("worker").map_err(|error| error.to_string())?;
    let wanted = format!("task_{number}");
    let asked = planner.ask::<ScheduleDone<'_>>(ScheduleReq::new(worker, wanted.clone()));
    let done = asked.within(Duration::from_secs(30)).await;
    let done = done.map_err(|error| format!("{wanted}: {error}"))?;
    if done.task == wanted {
        Ok(())
    } else {
        Err(format!("the answer to {wanted} is {}", done.task))
    }
}
