//! A hub for a test, and clients of it.

pub(crate) mod database;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use accp_client::Agent;
use accp_hub::{Access, Config, Open, Server, Sessions, Tokens};
use accp_store::{Committer, MemoryStore, SqliteStore, StoreError};
use futures_util::{SinkExt as _, StreamExt as _, stream};
use reqwest::{RequestBuilder, Response, StatusCode};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// A service for agents, whose answers are events and do not end.
fn waiting() -> axum::Router {
    let waits = || async {
        let begin = stream::iter([Ok::<_, Infallible>(": waits\n\n")]);
        let events = axum::body::Body::from_stream(begin.chain(stream::pending()));
        ([("content-type", "text/event-stream")], events)
    };
    axum::Router::new().route("/", axum::routing::post(waits))
}

pub(crate) struct TestHub {
    pub(crate) address: SocketAddr,
    pub(crate) http: reqwest::Client,
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl TestHub {
    pub(crate) async fn start(config: Config) -> Self {
        Self::open(config, Open, || Ok(Committer::inline(MemoryStore::new()))).await
    }

    pub(crate) async fn with_access(config: Config, access: impl Access) -> Self {
        Self::open(config, access, || Ok(Committer::inline(MemoryStore::new()))).await
    }

    pub(crate) async fn on_file(file: &Path, config: Config) -> Self {
        let file = file.to_owned();
        Self::open(config, Open, move || {
            Committer::new(SqliteStore::open(&file)?)
        })
        .await
    }

    pub(crate) async fn on(
        config: Config,
        store: impl Fn() -> Result<Committer, StoreError> + Send + Sync + 'static,
    ) -> Self {
        Self::open(config, Open, store).await
    }

    pub(crate) async fn with_tokens_on(file: &Path, tokens: Tokens) -> Self {
        let file = file.to_owned();
        Self::open(Config::default(), tokens, move || {
            Committer::new(SqliteStore::open(&file)?)
        })
        .await
    }

    async fn open(
        mut config: Config,
        access: impl Access,
        store: impl Fn() -> Result<Committer, StoreError> + Send + Sync + 'static,
    ) -> Self {
        if config.listen == Config::default().listen {
            config.listen.set_port(0);
        }
        // Another crate of the workspace may enable TLS in reqwest without a provider of
        // cryptography. So the test brings its own TLS settings.
        let tls = accp_client::tls_settings(None).expect("settings");
        let tls = rustls::ClientConfig::clone(&tls);
        let http = reqwest::Client::builder().tls_backend_preconfigured(tls);
        let sessions = Sessions::new(&config, store).expect("a store");
        let server = Server::bind(config, sessions, access)
            .await
            .expect("a port")
            .mount("/waits", waiting());
        let address = server.address();
        let (end, ended) = oneshot::channel();
        let task = tokio::spawn(server.run(async move { drop(ended.await) }));
        Self {
            address,
            http: http.build().expect("a client"),
            end,
            task,
        }
    }

    pub(crate) fn ws(&self) -> String {
        format!("ws://{}", self.address)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Connects an agent to the session `lunch`.
    pub(crate) async fn agent(&self, name: &str) -> Agent {
        let agent = Agent::connect(self.ws(), "lunch", name).await;
        agent.expect("a hub")
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        let answer = self.http.get(self.url(path)).send().await;
        answer.expect("an answer")
    }

    /// Begins a POST of frames.
    pub(crate) fn posting(&self) -> RequestBuilder {
        let request = self.http.post(self.url("/accp/v1/frames"));
        request.header("content-type", "application/accp")
    }

    pub(crate) async fn post(&self, frame: &str) -> (StatusCode, String) {
        self.raw(frame.as_bytes().to_vec()).await
    }

    pub(crate) async fn raw(&self, body: Vec<u8>) -> (StatusCode, String) {
        let request = self.posting().body(body);
        let answer = request.send().await.expect("an answer");
        (answer.status(), answer.text().await.expect("text"))
    }

    pub(crate) async fn socket(&self, query: &str) -> Socket {
        let url = format!("{}/accp/v1/ws{query}", self.ws());
        let (socket, _) = Box::pin(tokio_tungstenite::connect_async(url))
            .await
            .expect("a socket");
        Socket(socket)
    }

    /// Ends the hub as if its process were killed: it gives up no lease and closes nothing.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }

    /// Opens a socket of a caller who shows a token.
    pub(crate) async fn socket_of(&self, query: &str, token: &str) -> Socket {
        let url = format!("{}/accp/v1/ws{query}", self.ws());
        let mut request = url.into_client_request().expect("a request");
        let bearer = format!("Bearer {token}").parse().expect("a header");
        request.headers_mut().insert("authorization", bearer);
        let (socket, _) = Box::pin(tokio_tungstenite::connect_async(request))
            .await
            .expect("a socket");
        Socket(socket)
    }

    pub(crate) async fn stop(self) {
        drop(self.http);
        self.end.send(()).expect("it runs");
        self.task.await.expect("it ends well");
    }
}

pub(crate) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    pub(crate) async fn send_text(&mut self, text: &str) {
        self.0.send(Message::text(text)).await.expect("it is sent");
    }

    /// Waits for a ping of WebSocket itself.
    pub(crate) async fn is_pinged(&mut self) {
        while !matches!(self.0.next().await, Some(Ok(Message::Ping(_)))) {}
    }

    /// Returns the next text, or `close` with the code and the reason.
    pub(crate) async fn receive(&mut self) -> Option<String> {
        loop {
            return match self.0.next().await?.ok()? {
                Message::Text(text) => Some(text.to_string()),
                Message::Close(Some(close)) => {
                    Some(format!("close {} {}", u16::from(close.code), close.reason))
                }
                _ => continue,
            };
        }
    }
}

/// Returns a frame with the present time.
pub(crate) fn frame(head: &str, mid: &str, seq: u64, more: &str) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock")
        .as_secs();
    format!("{head}[mid:{mid},seq:{seq},ts:{now},{more}]")
}
