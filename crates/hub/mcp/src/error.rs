//! Errors of this crate.

use rmcp::model::JsonRpcMessage;
use rmcp::service::ServerInitializeError;

/// The reason why a server or a bridge could not begin, or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The agent cannot go on.
    #[error(transparent)]
    Agent(#[from] accp_client::Error),
    /// The other side of MCP could not be reached, or broke the protocol.
    #[error("MCP: {0}")]
    Mcp(String),
    /// The command of an MCP server could not be started.
    #[error("the MCP server `{0}` cannot be started: {1}")]
    Command(String, std::io::Error),
}

/// Says how a server ended whose client did not begin: well if the client has only closed the pipe, perhaps after it has
/// asked what the server can do.
///
/// # Errors
/// [`Error::Mcp`] when the client does not speak MCP.
pub(crate) fn without_client(error: ServerInitializeError) -> Result<(), Error> {
    let sent = match error {
        ServerInitializeError::ConnectionClosed(_) => return Ok(()),
        ServerInitializeError::ExpectedInitializeRequest(Some(sent)) => sent,
        other => return Err(Error::Mcp(other.to_string())),
    };
    let kind = match sent {
        JsonRpcMessage::Request(_) => "a request",
        JsonRpcMessage::Response(_) => "an answer",
        JsonRpcMessage::Notification(_) => "a notification",
        JsonRpcMessage::Error(_) => "an error",
    };
    let expected = "expected `initialize` as the first message of the client";
    Err(Error::Mcp(format!("{expected}, and got {kind}")))
}
