//! A hub in this process, with a router on loopback, and a client that calls it.
#![allow(unreachable_pub, reason = "helpers of tests")]

pub mod agents;

use std::sync::{Arc, Mutex};

use a2a::{JsonRpcError, JsonRpcResponse, Message, Part, Role, Task, TaskState};
use a2a::{SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamResponse};
use accp_a2a::{Agents, Config, Principal, TrustPath, router};
use accp_client::{Agent, Error, Hub};
use accp_runtime::session::{Options, Rules, Scope};
use accp_runtime::{AgentId, Registry};
use accp_store::{Committer, MemoryStore};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;

use agents::{HeldRequest, by_hand, works};

/// The open handle of one agent of one session.
struct OneAgent(String, Arc<Mutex<Agent>>);

impl Agents for OneAgent {
    async fn agent(&self, who: &Principal) -> Result<Agent, Error> {
        let (session, agent) = (who.session(), who.agent());
        let only = self.1.lock().expect("no panic").clone();
        if session == self.0 && agent == only.name() {
            Ok(only)
        } else {
            let why = format!("no agent {agent} in {session}");
            Err(Error::Denied("this hub".into(), why))
        }
    }
}

/// A session with a router for its agent `guest`.
pub struct TestServer {
    pub committer: Committer,
    pub hub: Hub,
    pub guest: Agent,
    /// The agent that the router opens.
    current: Arc<Mutex<Agent>>,
    /// The URL of the agent `guest`.
    pub url: String,
    server: JoinHandle<()>,
}

impl TestServer {
    pub async fn open(session: &str) -> Self {
        let committer = Committer::new(MemoryStore::new()).expect("a store");
        Self::open_on(committer, session).await
    }

    /// Opens the session `lunch` with the agent `dev`, whose frames the test handles.
    pub async fn by_hand() -> (Self, Agent, UnboundedReceiver<HeldRequest>) {
        let server = Self::open("lunch").await;
        let dev = server.agent("dev");
        let heard = by_hand(&dev);
        (server, dev, heard)
    }

    /// Opens the session `lunch` with the agent `dev`, which answers each request.
    pub async fn working() -> (Self, Agent) {
        let server = Self::open("lunch").await;
        let dev = server.agent("dev");
        works(&dev);
        (server, dev)
    }

    pub async fn open_on(committer: Committer, session: &str) -> Self {
        Self::open_with(committer, session, |_| {}).await
    }

    /// Opens a session with a router that has these settings.
    pub async fn open_with(
        committer: Committer,
        session: &str,
        set: impl FnOnce(&mut Config),
    ) -> Self {
        let hub = opened(&committer, session).await;
        let guest = hub.agent("guest").expect("an agent");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base = format!("http://{}/a2a", listener.local_addr().expect("an address"));
        let current = Arc::new(Mutex::new(guest.clone()));
        let only = OneAgent(session.to_owned(), Arc::clone(&current));
        let mut config = Config::new(&base);
        set(&mut config);
        let routes = router(config, only);
        let app = axum::Router::new().nest_service("/a2a", TrustPath::new(routes));
        let server = tokio::spawn(async move {
            axum::serve(listener, app).await.expect("it serves");
        });
        Self {
            committer,
            hub,
            guest,
            current,
            url: format!("{base}/{session}/guest"),
            server,
        }
    }

    /// Ends the server and the hub, and opens both again on the same store.
    pub async fn reopen(self) -> Self {
        self.server.abort();
        let session = self.hub.session().to_owned();
        let committer = self.committer.clone();
        drop((self.hub, self.guest));
        Self::open_on(committer, &session).await
    }

    /// Ends the session, and opens it again behind the same server.
    pub async fn open_anew(&mut self) {
        self.hub.end("a test opens it anew");
        self.hub = opened(&self.committer, self.hub.session()).await;
        self.guest = self.agent("guest");
        *self.current.lock().expect("no panic") = self.guest.clone();
    }

    pub fn agent(&self, name: &str) -> Agent {
        self.hub.agent(name).expect("an agent")
    }

    /// Calls a method, and returns its answer as it came.
    pub async fn raw(&self, method: &str, params: &impl Serialize) -> Value {
        call(&self.url, method, params).await
    }

    /// Calls a method.
    pub async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<T, JsonRpcError> {
        let answer = self.raw(method, params).await;
        let answer: JsonRpcResponse = serde_json::from_value(answer).expect("an answer");
        match (answer.result, answer.error) {
            (Some(result), None) => Ok(serde_json::from_value(result).expect("the type")),
            (None, Some(error)) => Err(error),
            other => panic!("{other:?}"),
        }
    }

    /// Sends a message, and waits for the end of its task.
    pub async fn send(&self, message: Message) -> Result<Task, JsonRpcError> {
        self.task_of(&request(message)).await
    }

    /// Sends a message, and does not wait.
    pub async fn begin(&self, message: Message) -> Result<Task, JsonRpcError> {
        let mut request = request(message);
        request.configuration = Some(SendMessageConfiguration {
            accepted_output_modes: None,
            task_push_notification_config: None,
            history_length: None,
            return_immediately: Some(true),
        });
        self.task_of(&request).await
    }

    async fn task_of(&self, request: &SendMessageRequest) -> Result<Task, JsonRpcError> {
        match self.call("SendMessage", request).await? {
            SendMessageResponse::Task(task) => Ok(task),
            SendMessageResponse::Message(message) => panic!("{message:?}"),
        }
    }

    pub async fn get(&self, id: &str) -> Result<Task, JsonRpcError> {
        self.call("GetTask", &json!({ "id": id })).await
    }

    pub async fn cancel(&self, id: &str) -> Result<Task, JsonRpcError> {
        self.call("CancelTask", &json!({ "id": id })).await
    }

    /// Calls a method that answers with a stream.
    pub async fn stream(&self, method: &str, params: &impl Serialize) -> Updates {
        let answer = post(&self.url, method, params).await;
        let kind = answer.headers()["content-type"].to_str().expect("a text");
        assert!(kind.starts_with("text/event-stream"), "{kind}");
        Updates {
            answer,
            text: String::new(),
        }
    }
}

async fn opened(committer: &Committer, session: &str) -> Hub {
    let name = AgentId::new("hub").expect("a name");
    let options = Options::new(session, name, Arc::new(Registry::standard()));
    let rules = Rules {
        scope: Scope::Sender,
        ..Rules::default()
    };
    let hub = Hub::open_on(committer, options, rules).await;
    hub.expect("a hub")
}

/// The updates of a stream.
pub struct Updates {
    answer: reqwest::Response,
    text: String,
}

impl Updates {
    pub async fn next(&mut self) -> Option<StreamResponse> {
        let answer = self.next_answer().await?;
        let result = answer.result.expect("a result");
        Some(serde_json::from_value(result).expect("an update"))
    }

    /// Returns the next event, which may be an error.
    pub async fn next_answer(&mut self) -> Option<JsonRpcResponse> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let event: String = self.text.drain(..end + 2).collect();
                let data = event.trim_end().strip_prefix("data: ").map(str::to_owned);
                let Some(data) = data else { continue };
                return Some(serde_json::from_str(&data).expect("JSON"));
            }
            let chunk = self.answer.chunk().await.expect("a chunk")?;
            self.text += std::str::from_utf8(&chunk).expect("UTF-8");
        }
    }

    pub async fn all(mut self) -> Vec<StreamResponse> {
        let mut all = Vec::new();
        while let Some(update) = self.next().await {
            all.push(update);
        }
        all
    }
}

async fn post(url: &str, method: &str, params: &impl Serialize) -> reqwest::Response {
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let request = client().post(url).header("a2a-version", "1.0");
    let sent = request.body(call.to_string()).send().await;
    sent.expect("an answer")
}

/// Calls a method of the agent at this URL, and returns its answer as it came.
pub async fn call(url: &str, method: &str, params: &impl Serialize) -> Value {
    let answer = post(url, method, params).await;
    let text = answer.text().await.expect("a body");
    serde_json::from_str(&text).expect("JSON")
}

/// Posts a body as it is, and returns its answer as it came.
pub async fn post_body(url: &str, version: Option<&str>, body: String) -> Value {
    let mut request = client().post(url);
    if let Some(version) = version {
        request = request.header("a2a-version", version);
    }
    let answer = request.body(body).send().await.expect("an answer");
    let text = answer.text().await.expect("a body");
    serde_json::from_str(&text).expect("JSON")
}

fn client() -> reqwest::Client {
    let tls = accp_client::tls_settings(None).expect("settings");
    let tls = rustls::ClientConfig::clone(&tls);
    let client = reqwest::Client::builder().tls_backend_preconfigured(tls);
    client.build().expect("a client")
}

/// Returns the body that a URL answers with.
pub async fn get(url: &str) -> String {
    let answer = client().get(url).send().await.expect("an answer");
    answer.text().await.expect("a body")
}

pub fn request(message: Message) -> SendMessageRequest {
    SendMessageRequest {
        message,
        configuration: None,
        metadata: None,
        tenant: None,
    }
}

pub fn frame(text: &str) -> Part {
    Part::text(text).with_media_type("application/accp")
}

/// A message of frames.
pub fn frames<const N: usize>(texts: [&str; N]) -> Message {
    Message::new(Role::User, texts.map(frame).to_vec())
}

/// A message of words.
pub fn words(text: &str) -> Message {
    Message::new(Role::User, vec![Part::text(text)])
}

pub fn in_task(mut message: Message, id: &str) -> Message {
    message.task_id = Some(id.to_owned());
    message
}

/// Returns the frames among parts.
pub fn texts(parts: &[Part]) -> Vec<&str> {
    let frames = parts
        .iter()
        .filter(|part| part.media_type.as_deref() == Some("application/accp"));
    frames.filter_map(Part::as_text).collect()
}

/// Returns the states of a stream in order. A state that is repeated directly counts once.
pub fn states(updates: &[StreamResponse]) -> Vec<TaskState> {
    let mut states: Vec<TaskState> = updates
        .iter()
        .filter_map(|update| match update {
            StreamResponse::Task(task) => Some(task.status.state.clone()),
            StreamResponse::StatusUpdate(update) => Some(update.status.state.clone()),
            _ => None,
        })
        .collect();
    states.dedup();
    states
}
