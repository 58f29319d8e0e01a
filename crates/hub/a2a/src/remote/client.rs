//! Calls of an agent of A2A: JSON-RPC over HTTP.

use std::time::Duration;

use a2a::{
    AgentCard, JsonRpcError, JsonRpcId, JsonRpcRequest, JsonRpcResponse, StreamResponse,
    TRANSPORT_PROTOCOL_JSONRPC,
};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response};
use rustls::ClientConfig;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::RemoteError;
use super::events::Events;

/// The path of a card below the URL of its agent.
const CARD: &str = "/.well-known/agent-card.json";
/// How long an agent may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(20);

/// A client of one agent.
pub(super) struct RpcClient {
    client: Client,
    url: String,
    pub(super) card: AgentCard,
}

impl RpcClient {
    /// Reads the card of the agent at this URL.
    pub(super) async fn open(url: &str, token: Option<&str>) -> Result<Self, RemoteError> {
        let client = client(token).map_err(|why| RemoteError::Unreachable(url.to_owned(), why))?;
        let below = url.trim_end_matches('/');
        let place = if below.ends_with(CARD) {
            below.to_owned()
        } else {
            format!("{below}{CARD}")
        };
        let failed = |why: String| RemoteError::Unreachable(place.clone(), why);
        let answer = client.get(&place).send().await;
        let answer = answer.map_err(|error| failed(with_causes(&error)))?;
        if !answer.status().is_success() {
            return Err(failed(answer.status().to_string()));
        }
        let text = answer
            .text()
            .await
            .map_err(|error| failed(with_causes(&error)))?;
        let card: AgentCard = serde_json::from_str(&text)
            .map_err(|error| failed(format!("its card cannot be read: {error}")))?;
        let mut interfaces = card.supported_interfaces.iter();
        let fits = interfaces.find(|interface| {
            let binding = &interface.protocol_binding;
            binding.eq_ignore_ascii_case(TRANSPORT_PROTOCOL_JSONRPC)
                && interface.protocol_version.starts_with("1.")
        });
        let Some(fits) = fits else {
            let why = "its card names no interface of JSON-RPC in version 1.0 of A2A";
            return Err(RemoteError::Card(place, why.to_owned()));
        };
        let url = fits.url.clone();
        Ok(Self { client, url, card })
    }

    /// Calls a method that answers once.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<T, RemoteError> {
        let answer = self.post(method, params).await?;
        let text = answer.text().await;
        let text = text.map_err(|error| self.failed(with_causes(&error)))?;
        let answer = self.read(&text)?;
        serde_json::from_value(answer).map_err(|error| self.failed(error.to_string()))
    }

    /// Calls a method that answers with a stream.
    pub(super) async fn stream(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<Updates<'_>, RemoteError> {
        let answer = self.post(method, params).await?;
        let kind = answer.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok());
        if !kind.unwrap_or_default().starts_with("text/event-stream") {
            let text = answer.text().await;
            let text = text.map_err(|error| self.failed(with_causes(&error)))?;
            self.read(&text)?;
            return Err(self.failed("a stream was expected".to_owned()));
        }
        Ok(Updates {
            client: self,
            answer,
            events: Events::default(),
        })
    }

    async fn post(&self, method: &str, params: &impl Serialize) -> Result<Response, RemoteError> {
        let params = serde_json::to_value(params);
        let params = params.map_err(|error| self.failed(error.to_string()))?;
        let call = JsonRpcRequest::new(JsonRpcId::Number(1), method, Some(params));
        let call = serde_json::to_string(&call).map_err(|error| self.failed(error.to_string()))?;
        let request = self.client.post(&self.url).body(call);
        let answer = request.header(CONTENT_TYPE, "application/json");
        let answer = answer.header(ACCEPT, "application/json, text/event-stream");
        let answer = answer.send().await;
        let answer = answer.map_err(|error| self.failed(with_causes(&error)))?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status().to_string();
        // Some servers send a JSON-RPC error in the body of a failed answer.
        let text = answer.text().await.unwrap_or_default();
        self.read(&text).map_err(|error| match error {
            refused @ RemoteError::Refused { .. } => refused,
            _ => self.failed(status.clone()),
        })?;
        Err(self.failed(status))
    }

    /// Reads an answer of JSON-RPC.
    fn read(&self, text: &str) -> Result<serde_json::Value, RemoteError> {
        let answer: JsonRpcResponse = serde_json::from_str(text)
            .map_err(|error| self.failed(format!("its answer cannot be read: {error}")))?;
        match (answer.result, answer.error) {
            (_, Some(error)) => Err(refused(error)),
            (Some(result), None) => Ok(result),
            (None, None) => Err(self.failed("its answer is empty".to_owned())),
        }
    }

    fn failed(&self, why: String) -> RemoteError {
        RemoteError::Unreachable(self.url.clone(), why)
    }
}

/// The updates of a task.
pub(super) struct Updates<'w> {
    client: &'w RpcClient,
    answer: Response,
    events: Events,
}

impl Updates<'_> {
    /// Waits for the next update. `None` when the stream has ended.
    pub(super) async fn next(&mut self) -> Result<Option<StreamResponse>, RemoteError> {
        let client = self.client;
        loop {
            if let Some(data) = self.events.next() {
                let update = serde_json::from_value(client.read(&data)?);
                return update
                    .map(Some)
                    .map_err(|error| client.failed(error.to_string()));
            }
            let chunk = self.answer.chunk().await;
            match chunk.map_err(|error| client.failed(with_causes(&error)))? {
                None => return Ok(None),
                Some(chunk) if self.events.push(&chunk) => {}
                Some(_) => return Err(client.failed("an update is too long".to_owned())),
            }
        }
    }
}

fn client(token: Option<&str>) -> Result<Client, String> {
    let mut headers = HeaderMap::new();
    headers.insert(
        a2a::SVC_PARAM_VERSION,
        HeaderValue::from_static(a2a::VERSION),
    );
    if let Some(token) = token {
        let mut token = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|_| "the token has other than visible characters".to_owned())?;
        token.set_sensitive(true);
        headers.insert(AUTHORIZATION, token);
    }
    let tls = ClientConfig::clone(&*accp_client::tls_settings(None)?);
    let client = Client::builder().tls_backend_preconfigured(tls);
    let client = client.connect_timeout(CONNECT).default_headers(headers);
    client.build().map_err(|error| with_causes(&error))
}

fn refused(error: JsonRpcError) -> RemoteError {
    let details = error.data.as_ref().and_then(|data| data.as_array());
    let mut codes = details.into_iter().flatten().filter_map(|detail| {
        let code = detail.get("metadata")?.get("code")?;
        code.as_str()?.parse().ok()
    });
    RemoteError::Refused {
        code: error.code,
        accp: codes.next(),
        message: error.message,
    }
}

/// Returns the text of an error, with its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
