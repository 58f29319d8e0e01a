//! A session in this process, for clients of A2A: `cargo run -p accp-a2a --example a2a_server -- 7340`.
//!
//! The agent `cook` answers requests. Clients speak for the agent `guest`. The first line of the output is its
//! URL.
#![allow(elided_lifetimes_in_paths, reason = "as a program writes it")]

use std::error::Error as StdError;

use accp_a2a::{Agents, Config, Principal, TrustPath, router};
use accp_client::{Agent, Cx, Error, Hub};
use accp_runtime::Registry;
use accp_runtime::profiles::{ChatDone, ChatReq, InferStream, ScheduleDone, ScheduleReq};
use accp_runtime::session::Outbound;
use accp_store::MemoryStore;
use tokio::net::TcpListener;

type Failure = Box<dyn StdError + Send + Sync>;

/// The agent for which clients speak. A server that checks who calls puts a layer before the router.
struct Guest(Agent);

impl Agents for Guest {
    async fn agent(&self, who: &Principal) -> Result<Agent, Error> {
        let (session, agent) = (who.session(), who.agent());
        if (session, agent) == ("lunch", "guest") {
            return Ok(self.0.clone());
        }
        let why = format!("clients speak for `guest` in `lunch`, not for `{agent}` in `{session}`");
        Err(Error::Denied("this server".to_owned(), why))
    }
}

/// Answers a request of a conversation.
async fn chat(chat: ChatReq<'static>, cx: Cx) -> Result<(), Failure> {
    match &*chat.content {
        "burn it" => Err("the soup is burnt".into()),
        "take your time" => {
            cx.inbound().cancel_token().cancelled().await;
            Ok(())
        }
        "step by step" => {
            let message = cx.inbound().message(&Registry::standard())?.into_owned();
            let chain = message.envelope.correlation_id.unwrap_or_default();
            for (index, step) in ["wash", "cut", "cook"].into_iter().enumerate() {
                let piece = InferStream::new(index as i64, step).is_final(index == 2);
                let piece = Outbound::owned(piece).in_chain(chain.clone());
                cx.agent()?.send_with(piece).await?;
            }
            Ok(cx.reply(ChatDone::new("that was all")).await?)
        }
        other => Ok(cx.reply(ChatDone::new(other.to_uppercase())).await?),
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let port = std::env::args().nth(1).unwrap_or_else(|| "0".to_owned());
    let hub = Hub::open("lunch", MemoryStore::new()).await?;
    let (cook, guest) = (hub.agent("cook")?, hub.agent("guest")?);
    cook.serve(chat);
    cook.serve(|task: ScheduleReq, cx| async move {
        cx.reply(ScheduleDone::new(task.task).status("done")).await
    });
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    let url = format!("http://{}/a2a", listener.local_addr()?);
    let routes = router(Config::new(&url), Guest(guest));
    println!("A2A at {url}/lunch/guest");
    let app = axum::Router::new().nest_service("/a2a", TrustPath::new(routes));
    axum::serve(listener, app).await?;
    Ok(())
}
