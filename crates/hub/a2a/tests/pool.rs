//! Tests how long a router keeps the agents that clients have used.

use crate::support;

use std::time::Duration;

use accp_a2a::{Agents, Config, Principal, TrustPath, router};
use accp_client::{Agent, Error, Hub};
use accp_store::MemoryStore;
use serde_json::json;
use tokio::net::TcpListener;

/// All agents of one session, whose hub is in this process.
struct Of(Hub);

impl Agents for Of {
    async fn agent(&self, who: &Principal) -> Result<Agent, Error> {
        self.0.agent(who.agent())
    }

    async fn hub(&self, _who: &Principal) -> Result<Option<Hub>, Error> {
        Ok(Some(self.0.clone()))
    }
}

#[tokio::test]
async fn an_agent_that_nobody_uses_ends_without_another_call() {
    let hub = Hub::open("lunch", MemoryStore::new()).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/a2a", listener.local_addr().unwrap());
    let mut config = Config::new(&base);
    config.idle = Duration::from_millis(1);
    let routes = router(config, Of(hub.clone()));
    let app = axum::Router::new().nest_service("/a2a", TrustPath::new(routes));
    tokio::spawn(async move { axum::serve(listener, app).await });
    // `dev` has not said yet which requests it takes, so the hub accepts requests that it might take.
    let _dev = hub.agent("dev").unwrap();
    // The test holds one handle, and the router holds another.
    let at_rest = hub.handles();
    for agent in ["guest", "cook"] {
        let url = format!("{base}/lunch/{agent}");
        let part = json!({ "text": "hello" });
        let message = json!({ "messageId": "m", "role": "ROLE_USER", "parts": [part] });
        let params = json!({
            "message": message, "configuration": { "returnImmediately": true },
        });
        let sent = support::call(&url, "SendMessage", &params).await;
        assert!(sent["result"]["task"].is_object(), "{sent}");
    }
    while hub.handles() > at_rest {
        tokio::task::yield_now().await;
    }
}
