//! An MCP server over a session in this process, for trying MCP clients.
//!
//! `mcp_server --stdio [AGENT]` serves one agent of the session `lunch` over standard streams. `mcp_server PORT`
//! serves all sessions and agents at `http://127.0.0.1:PORT/mcp/{session}/{agent}`, and prints the address; with
//! the port 0 the system chooses a free port. In every session the agent `cook` answers tasks and chats.

use std::collections::BTreeMap;
use std::sync::Arc;

use accp_client::{Agent, Error, Hub};
use accp_mcp::{Principal, Service, Settings, TrustPath};
use accp_runtime::profiles::{ChatDone, ChatReq, ScheduleDone, ScheduleReq};
use accp_runtime::session::Options;
use accp_runtime::{AgentId, Registry};
use accp_store::MemoryStore;
use tokio::sync::Mutex;

/// Opens a session with its cook.
async fn open(session: &str) -> Result<(Hub, Agent), Error> {
    let host = AgentId::new("hub").map_err(|error| Error::Name("hub".to_owned(), error))?;
    let options = Options::new(session, host, Arc::new(Registry::standard()))
        .counting(Arc::new(accp_tokens::Bpe::o200k_base()));
    let hub = Hub::open_with(options, MemoryStore::new()).await?;
    let cook = hub.agent("cook")?;
    cook.serve(|task: ScheduleReq<'static>, cx| async move {
        if task.assignee.as_str() == "cook" {
            return cx.reply(ScheduleDone::new(task.task).status("done")).await;
        }
        Ok(())
    });
    cook.serve(|said: ChatReq<'static>, cx| async move {
        cx.reply(ChatDone::new(format!("The cook heard: {}", said.content)))
            .await
    });
    Ok((hub, cook))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let first = args.next().unwrap_or_default();
    if first == "--stdio" {
        let (hub, _cook) = open("lunch").await?;
        let agent = hub.agent(&args.next().unwrap_or_else(|| "dev".to_owned()))?;
        return Ok(accp_mcp::serve_stdio(agent).await?);
    }
    let sessions = Arc::new(Mutex::new(BTreeMap::<String, (Hub, Agent)>::new()));
    let agents = move |who: Principal| {
        let sessions = Arc::clone(&sessions);
        async move {
            let mut sessions = sessions.lock().await;
            if let Some((hub, _)) = sessions.get(who.session()) {
                return hub.agent(who.agent());
            }
            let opened = open(who.session()).await?;
            let entered = opened.0.agent(who.agent());
            sessions.insert(who.session().to_owned(), opened);
            entered
        }
    };
    let service = Service::new(agents, Settings::default());
    let app = axum::Router::new().nest_service("/mcp", TrustPath::new(service));
    let port: u16 = first.parse()?;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}/mcp/lunch/dev", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}
