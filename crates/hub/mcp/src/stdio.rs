//! An agent over the standard streams of this process, or over any pipe.

use std::sync::Arc;

use accp_client::Agent;
use accp_frame::exact_numbers;
use rmcp::service::serve_server;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _};

use crate::connection::Connection;
use crate::error::{Error, without_client};
use crate::initialize;
use crate::server::Server;

/// The bytes of the buffer between the pipe and the parser of its lines.
const ROOM: usize = 64 * 1024;

/// Copies the lines of a client, with numbers written so that the parser does not round them.
///
/// # Errors
/// When the pipe breaks, or nobody reads the lines any more.
async fn keep_digits(
    mut read: impl AsyncBufRead + Unpin,
    mut write: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    let mut line = Vec::new();
    while read.read_until(b'\n', &mut line).await? > 0 {
        let exact = std::str::from_utf8(&line).map(exact_numbers);
        let exact = exact.as_ref().map_or(&*line, |exact| exact.as_bytes());
        write.write_all(exact).await?;
        line.clear();
    }
    Ok(())
}

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
    let connection = Arc::new(Connection::of(agent).await?);
    let read = initialize::pipe(read, &mut write).await;
    let read = read.map_err(|error| Error::Mcp(error.to_string()))?;
    let (lines, exact) = tokio::io::duplex(ROOM);
    let carried = tokio::spawn(keep_digits(read, exact));
    let running = match Box::pin(serve_server(Server::new(connection), (lines, write))).await {
        Ok(running) => running,
        Err(error) => return without_client(error),
    };
    let ended = running.waiting().await;
    ended.map_err(|error| Error::Mcp(error.to_string()))?;
    // If the task that copies the input has ended, its error is reported. If it still runs, it has
    // no result.
    if carried.is_finished()
        && let Ok(Err(error)) = carried.await
    {
        return Err(Error::Mcp(error.to_string()));
    }
    Ok(())
}
