//! The example of docs/sessions.md: two agents on one store, one of which is killed and goes on.

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use accp_runtime::profiles::{ScheduleDone, ScheduleReq};
use accp_runtime::session::{MemberId, Options, Outbound, Rules, Time};
use accp_runtime::{AgentId, Registry};
use accp_store::{Driver, SqliteStore};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    std::env::set_current_dir(&folder)?;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let now = Time::from_secs(i64::try_from(since.as_secs())?);
    let (planner, dev) = (AgentId::new("planner")?, AgentId::new("dev")?);
    let registry = Arc::new(Registry::standard());
    let options = |agent: &AgentId<'static>| Options::new("lunch", agent.clone(), registry.clone());
    let task = ScheduleReq::new(&dev, "impl_auth").priority("high");
    let mut done: Vec<String> = Vec::new();

    let store = Arc::new(Mutex::new(SqliteStore::open("lunch.accp")?));
    let host = || {
        Driver::open_host(
            store.clone(),
            vec![],
            options(&planner),
            Rules::default(),
            now,
        )
    };
    let member = || Driver::open_member(store.clone(), vec![], options(&dev), now);
    let (mut planner, mut worker) = (host()?, member()?);
    let id = planner.join(&dev, now)?;
    planner.send(&Outbound::frame(&task), now)?;
    for round in 0..9 {
        planner.serve(now, |answer| {
            done.push(answer.decode::<ScheduleDone>()?.frame.task.to_string());
            Ok(vec![])
        })?;
        worker.receive_all(MemberId::HOST, planner.link_mut().drain(..), now)?;
        if round == 2 {
            worker = member()?; // The worker was killed. It goes on from the state in its store.
        }
        worker.serve(now, |request| {
            let task = request.decode::<ScheduleReq>()?.frame.task;
            Ok(vec![Outbound::owned(ScheduleDone::new(task))]) // committed with the mark
        })?;
        planner.receive_all(id, worker.link_mut().drain(..), now)?;
    }
    assert_eq!(done, ["impl_auth"]);
    println!("done: {}", done.join(", "));
    Ok(())
}
