//! Replaces `traces.rs` if the command is built without the feature `otel`: there are no traces.

use accp_hub::Server;
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::Registry;

use accp_console::outcome::Failure;

/// No options.
#[derive(Debug, clap::Args)]
pub(crate) struct TraceArgs {}

/// Sends no traces.
pub(crate) struct Traces;

impl TraceArgs {
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "as with traces"
    )]
    pub(crate) fn open(&self) -> Result<Traces, Failure> {
        Ok(Traces)
    }
}

#[expect(clippy::unused_self, reason = "as with traces")]
impl Traces {
    pub(crate) fn layer(&self) -> Option<Box<dyn Layer<Registry> + Send + Sync>> {
        None
    }

    pub(crate) fn follow(&self, server: Server) -> Server {
        server
    }

    pub(crate) fn end(self) {}
}
