//! An agent over the standard streams of this process, or over any pipe.

use std::sync::Arc;

use accp_client::Agent;
use rmcp::service::serve_server;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::seat::Seat;
use crate::server::Server;
use crate::{Error, initialize};

/// Serves an agent over standard input and output, until the client closes them. Nothing else may write
/// to standard output.
///
/// # Errors
/// [`Error::Agent`] when the agent has ended, [`Error::Mcp`] when the client does not speak MCP.
pub async fn serve_stdio(agent: Agent) -> Result<(), Error> {
    let (read, write) = rmcp::transport::stdio();
    serve_on(agent, read, write).await
}

/// Serves an agent over a pair of streams: one message of JSON-RPC a line.
///
/// # Errors
/// See [`serve_stdio`].
pub async fn serve_on(
    agent: Agent,
    read: impl AsyncRead + Send + Unpin + 'static,
    mut write: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), Error> {
    let seat = Arc::new(Seat::of(agent).await?);
    let read = initialize::pipe(read, &mut write).await;
    let read = read.map_err(|error| Error::Mcp(error.to_string()))?;
    let running = Box::pin(serve_server(Server::new(seat), (read, write))).await;
    let running = running.map_err(|error| Error::Mcp(error.to_string()))?;
    let ended = running.waiting().await;
    ended
        .map(drop)
        .map_err(|error| Error::Mcp(error.to_string()))
}
