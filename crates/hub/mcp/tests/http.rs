//! Agents over streamable HTTP, on the loopback.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use accp_client::Error;
use accp_mcp::{Principal, Service, Settings, TrustPath};
use rmcp::model::{ProtocolVersion, SubscribeRequestParams};
use rmcp::service::{ClientLifecycleMode, serve_client, serve_client_with_lifecycle};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use serde_json::json;

use crate::support::{client, hub, read, task, works};

/// Serves the session `lunch`. Returns the address, and how often an agent was opened.
async fn serve() -> (String, Arc<AtomicUsize>) {
    let hub = hub().await;
    let opened = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&opened);
    let agents = move |who: Principal| {
        let hub = hub.clone();
        count.fetch_add(1, Ordering::Relaxed);
        async move {
            match who.session() {
                "lunch" => hub.agent(who.agent()),
                _ => Err(Error::Ended("there is no such session".to_owned())),
            }
        }
    };
    let service = TrustPath::new(Service::new(agents, Settings::default()));
    let app = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    (format!("http://{at}/mcp"), opened)
}

fn http() -> reqwest::Client {
    let tls = accp_client::tls_settings(None).unwrap();
    let tls = rustls::ClientConfig::clone(&tls);
    let client = reqwest::Client::builder().tls_backend_preconfigured(tls);
    client.build().unwrap()
}

fn to(url: String) -> StreamableHttpClientTransport<reqwest::Client> {
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    StreamableHttpClientTransport::with_client(http(), config)
}

#[tokio::test]
async fn two_clients_ask_and_answer_over_http() {
    let (at, opened) = serve().await;
    let connect = async |agent: &str| {
        let transport = to(format!("{at}/lunch/{agent}"));
        serve_client(client(), transport).await.unwrap()
    };
    let (planner, dev) = (connect("planner").await, connect("dev").await);
    let instructions = dev.peer_info().unwrap().instructions.clone().unwrap();
    assert!(
        instructions.starts_with("@hub>sync:registry{"),
        "{instructions}"
    );
    let (asked, ()) = tokio::join!(
        works(&planner, "accp_ask", task("dev", "impl_auth")),
        async {
            let received = works(&dev, "accp_receive", json!({ "timeout": 60 })).await;
            let answer = json!({
                "id": received["frames"][0]["id"], "intent": "done", "operation": "schedule",
                "params": { "task": "impl_auth" },
            });
            works(&dev, "accp_reply", answer).await;
        }
    );
    assert_eq!(asked["answer"]["from"], "dev");
    let (kind, _) = read(&dev, "accp://session/lunch/hot").await;
    assert_eq!(kind, "application/accp");
    assert_eq!(opened.load(Ordering::Relaxed), 2);
}

/// The revision 2026-07-28 of MCP has no sessions, so the open frames of a model belong to its
/// agent.
#[tokio::test]
async fn a_client_without_sessions_keeps_what_it_has_open() {
    let (at, opened) = serve().await;
    let connect = async |agent: &str| {
        let transport = to(format!("{at}/lunch/{agent}"));
        let mode = ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        };
        serve_client_with_lifecycle(client(), transport, mode)
            .await
            .unwrap()
    };
    let dev = connect("dev").await;
    let instructions = dev.peer_info().unwrap().instructions.clone().unwrap();
    assert!(
        instructions.starts_with("@hub>sync:registry{"),
        "{instructions}"
    );
    let planner = connect("planner").await;
    works(&planner, "accp_send", task("dev", "impl_auth")).await;
    let received = works(&dev, "accp_receive", json!({ "timeout": 60 })).await;
    let id = received["frames"][0]["id"].clone();
    drop(dev);
    let dev = connect("dev").await;
    let again = works(&dev, "accp_receive", json!({ "again": true })).await;
    assert_eq!(again["frames"][0]["id"], id);
    works(&dev, "accp_done", json!({ "ids": [id] })).await;
    assert_eq!(opened.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn requests_of_other_hosts_origins_and_paths_are_refused() {
    let (at, opened) = serve().await;
    let http = http();
    let call = |path: &str, body: String| {
        http.post(format!("{at}{path}"))
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .body(body)
    };
    let ask = |path: &str| {
        call(
            path,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned(),
        )
    };
    let host = ask("/lunch/dev")
        .header("host", "evil.example")
        .send()
        .await
        .unwrap();
    assert_eq!(host.status(), 403);
    let origin = ask("/lunch/dev")
        .header("origin", "https://evil.example")
        .send()
        .await
        .unwrap();
    assert_eq!(origin.status(), 403);
    for path in [
        "",
        "/",
        "/lunch",
        "/lunch/",
        "/lunch/dev/more",
        "/lunch/%ff",
    ] {
        let unknown = ask(path).send().await.unwrap();
        assert_eq!(unknown.status(), 404, "{path}");
        let text = unknown.text().await.unwrap();
        assert!(text.starts_with("expected "), "{text}");
    }
    // A request of a client that has not begun opens no agent.
    for path in ["/dinner/dev", "/lunch/no%20name", "/lunch/dev"] {
        let early = ask(path).send().await.unwrap();
        assert!(early.status().is_client_error(), "{path}: {early:?}");
    }
    assert_eq!(opened.load(Ordering::Relaxed), 0);
    // A client that sends `initialize` gets the reason why the agent cannot be opened.
    let begin = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "0" },
        },
    });
    for (path, why) in [
        ("/dinner/dev", "no such session"),
        ("/lunch/no%20name", "no name"),
    ] {
        let refused = call(path, begin.to_string()).send().await.unwrap();
        let text = refused.text().await.unwrap();
        assert!(
            text.contains("\"error\"") && text.contains(why),
            "{path}: {text}"
        );
    }
}

#[tokio::test]
async fn a_client_that_subscribes_hears_of_changes() {
    struct Notified(tokio::sync::mpsc::UnboundedSender<String>);
    impl rmcp::ClientHandler for Notified {
        async fn on_resource_updated(
            &self,
            params: rmcp::model::ResourceUpdatedNotificationParam,
            _: rmcp::service::NotificationContext<rmcp::RoleClient>,
        ) {
            let _ = self.0.send(params.uri);
        }
    }
    let (at, _) = serve().await;
    let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let transport = to(format!("{at}/lunch/dev"));
    let dev = serve_client(Notified(sender), transport).await.unwrap();
    let uri = "accp://session/lunch/context";
    #[allow(deprecated, reason = "revisions before 2026-07-28")]
    dev.subscribe(SubscribeRequestParams::new(uri))
        .await
        .unwrap();
    let transport = to(format!("{at}/lunch/planner"));
    let planner = serve_client(client(), transport).await.unwrap();
    works(&planner, "accp_send", task("dev", "impl_auth")).await;
    assert_eq!(heard.recv().await.as_deref(), Some(uri));
}

/// An endpoint that nobody uses ends by itself, and so does its agent. No further request is needed
/// for that.
#[tokio::test]
async fn a_place_that_rests_ends_by_itself() {
    let hub = hub().await;
    let _qa = hub.agent("qa").unwrap();
    let before = hub.handles();
    let opens = hub.clone();
    let agents = move |who: Principal| {
        let hub = opens.clone();
        async move { hub.agent(who.agent()) }
    };
    let mut settings = Settings::default();
    settings.idle = Duration::from_millis(1);
    let service = TrustPath::new(Service::new(agents, settings));
    let app = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    let mode = ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    };
    let transport = to(format!("http://{at}/mcp/lunch/dev"));
    let dev = serve_client_with_lifecycle(client(), transport, mode);
    let dev = dev.await.unwrap();
    works(&dev, "accp_send", task("qa", "impl_auth")).await;
    // The service also holds one handle of the hub.
    while hub.handles() > before + 1 {
        tokio::task::yield_now().await;
    }
    works(&dev, "accp_send", task("qa", "test_auth")).await;
}

/// A model may think for long between two calls, and a call may wait for five minutes.
#[tokio::test]
async fn a_session_outlives_the_longest_wait() {
    let (at, _) = serve().await;
    let http = http();
    let post = |session: Option<&str>, method: &str, params: serde_json::Value| {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = http
            .post(format!("{at}/lunch/dev"))
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json");
        let request = match session {
            Some(session) => request.header("mcp-session-id", session),
            None => request,
        };
        request.body(call.to_string()).send()
    };
    let params = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "0" },
    });
    let opened = post(None, "initialize", params).await.unwrap();
    let session = opened.headers()["mcp-session-id"].clone();
    let session = session.to_str().unwrap();
    opened.text().await.unwrap();
    for minutes in [6, 29] {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(60 * minutes)).await;
        tokio::time::resume();
        let answer = post(Some(session), "ping", json!({})).await.unwrap();
        assert_eq!(answer.status(), 200, "after {minutes} minutes");
        let text = answer.text().await.unwrap();
        assert!(text.contains("\"result\":{}"), "{text}");
    }
    // A session that is silent for longer ends.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(60 * 31)).await;
    tokio::time::resume();
    let answer = post(Some(session), "ping", json!({})).await.unwrap();
    assert_eq!(answer.status(), 404);
}
