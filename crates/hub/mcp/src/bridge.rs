//! The tools of an MCP server, behind frames of the schema TC.

mod call;
mod content;

use std::fmt;
use std::process::Stdio;
use std::sync::Arc;

use accp_client::Agent;
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use rmcp::RoleClient;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, Tool};
use rmcp::service::{RunningService, serve_client};
use rmcp::transport::TokioChildProcess;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::Command;

use crate::error::Error;
use call::Tools;

/// The most redirects of one request.
const REDIRECTS: usize = 10;

/// An agent that answers `req:tool` by the tools of an MCP server: with `done:tool`, or with `fail:error` and E4001
/// (no such tool), E4003 (arguments that the tool does not take) or E4002 (the tool failed, or the server is gone).
///
/// When the chain of a call is cancelled, the request to the MCP server is cancelled too. The agent stops
/// serving when the bridge is dropped or [closed](Self::close).
///
/// ```no_run
/// # async fn connect(hub: accp_client::Hub) -> Result<(), Box<dyn std::error::Error>> {
/// use accp_mcp::Bridge;
/// use accp_runtime::profiles::{ToolDone, ToolReq};
///
/// let mut command = tokio::process::Command::new("mcp-server-time");
/// let bridge = Bridge::command(hub.agent("clock")?, &mut command).await?;
/// assert!(bridge.tools().contains(&"get_current_time".into()));
/// let planner = hub.agent("planner")?;
/// let done: ToolDone = planner.ask(ToolReq::new("get_current_time")).await?;
/// # Ok(())
/// # }
/// ```
pub struct Bridge {
    agent: Agent,
    running: RunningService<RoleClient, ClientConfig>,
    tools: Vec<String>,
}

impl Bridge {
    /// Starts an MCP server as a child process, and serves its tools.
    ///
    /// # Errors
    /// [`Error::Command`], [`Error::Mcp`] when it does not speak MCP.
    pub async fn command(agent: Agent, command: &mut Command) -> Result<Self, Error> {
        let name = command
            .as_std()
            .get_program()
            .to_string_lossy()
            .into_owned();
        let owned = std::mem::replace(command, Command::new(&name));
        let child = TokioChildProcess::builder(owned).stderr(Stdio::inherit());
        let (child, _) = child.spawn().map_err(|error| Error::Command(name, error))?;
        let running = serve_client(client_config(), child).await;
        Self::serve(
            agent,
            running.map_err(|error| Error::Mcp(error.to_string()))?,
        )
        .await
    }

    /// Connects to an MCP server over streamable HTTP, and serves its tools.
    ///
    /// # Errors
    /// [`Error::Mcp`] when it is not there, or does not speak MCP.
    pub async fn url(agent: Agent, url: &str) -> Result<Self, Error> {
        let client = http_client().map_err(Error::Mcp)?;
        let config = StreamableHttpClientTransportConfig::with_uri(url);
        let transport = StreamableHttpClientTransport::with_client(client, config);
        let running = serve_client(client_config(), transport).await;
        Self::serve(
            agent,
            running.map_err(|error| Error::Mcp(error.to_string()))?,
        )
        .await
    }

    /// Connects to an MCP server over a pair of streams, and serves its tools.
    ///
    /// # Errors
    /// [`Error::Mcp`] when it does not speak MCP.
    pub async fn on(
        agent: Agent,
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Self, Error> {
        let running = serve_client(client_config(), (read, write)).await;
        Self::serve(
            agent,
            running.map_err(|error| Error::Mcp(error.to_string()))?,
        )
        .await
    }

    async fn serve(
        agent: Agent,
        running: RunningService<RoleClient, ClientConfig>,
    ) -> Result<Self, Error> {
        let listed = running.peer().list_all_tools().await;
        let listed = listed.map_err(|error| Error::Mcp(error.to_string()))?;
        let names = |listed: &[Tool]| listed.iter().map(|tool| tool.name.to_string()).collect();
        let names: Vec<String> = names(&listed);
        let tools = Arc::new(Tools::new(running.peer().clone(), &names));
        agent.serve(move |call, cx| Arc::clone(&tools).answer(call, cx));
        Ok(Self {
            agent,
            running,
            tools: names,
        })
    }

    /// Returns the names of the server's tools, as the server listed them at the start.
    pub fn tools(&self) -> &[String] {
        &self.tools
    }

    /// Returns the agent.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Returns whether the MCP server is gone. Calls are answered with E4002 then.
    pub fn is_gone(&self) -> bool {
        self.running.is_closed() || self.running.peer().is_transport_closed()
    }

    /// Ends the MCP session, and the child process if there is one.
    ///
    /// # Errors
    /// [`Error::Mcp`] when it does not end.
    pub async fn close(self) -> Result<(), Error> {
        let ended = self.running.cancel().await;
        ended
            .map(drop)
            .map_err(|error| Error::Mcp(error.to_string()))
    }
}

/// Returns a client that follows a redirect only if the request keeps its method and body, and goes to
/// the same server. It keeps no connections open: on an open one, the next answer may wait 40 ms for an
/// acknowledgement of TCP.
fn http_client() -> Result<Client, String> {
    let keeps = [
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::PERMANENT_REDIRECT,
    ];
    let redirects = Policy::custom(move |attempt| {
        let from = attempt.previous().first();
        let is_same = from.is_some_and(|url| url.origin() == attempt.url().origin());
        if is_same && keeps.contains(&attempt.status()) && attempt.previous().len() <= REDIRECTS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    });
    let tls = rustls::ClientConfig::clone(&*accp_client::tls_settings(None)?);
    let client = Client::builder().tls_backend_preconfigured(tls);
    let client = client.redirect(redirects).pool_max_idle_per_host(0);
    client.build().map_err(|error| error.to_string())
}

/// Returns how the bridge introduces itself.
fn client_config() -> ClientConfig {
    let version = env!("CARGO_PKG_VERSION");
    let name = Implementation::new("accp-mcp-bridge", version);
    ClientConfig::new(ClientCapabilities::default(), name)
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge")
            .field("agent", &self.agent)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}
