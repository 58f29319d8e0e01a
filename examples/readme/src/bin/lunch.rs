use accp_client::Hub;
use accp_runtime::AgentId;
use accp_runtime::profiles::{ScheduleDone, ScheduleReq};
use accp_store::SqliteStore;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let hub = Hub::open("lunch", SqliteStore::open("lunch.accp")?).await?;
    let (planner, dev) = (hub.agent("planner")?, hub.agent("dev")?);
    dev.serve(|task: ScheduleReq, cx| async move {
        cx.reply(ScheduleDone::new(task.task).status("done")).await // mark and reply: one commit
    });
    let task = ScheduleReq::new(AgentId::new("dev")?, "impl_auth").priority("high");
    let done: ScheduleDone = planner.ask(task).await?;
    println!("{} is done", done.task);
    Ok(())
}
