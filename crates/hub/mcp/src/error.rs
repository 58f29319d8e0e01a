//! Errors of this crate.

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
