//! Serves the tools of accp-memory over MCP. With these tools, a model finds the messages that left its list.

use std::path::PathBuf;
use std::sync::Arc;

use accp_memory::SessionId;
use accp_memory::disk::tools::{self, Tool as ContextTool, ToolError};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode,
    Implementation, JsonObject, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, serve_server};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value as Json;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::error::{Error, without_client};
use crate::{initialize, methods};

/// The instructions that the server sends to the model.
const INSTRUCTIONS: &str = "This conversation is longer than its window, so results and old turns move to files. What you miss is there: \
     context_recover searches it, context_read reads it, and context_status says how full the window is.";

/// Serves the tools of CTX-001 for a session below a root over standard input and output, until the client closes
/// them: `context_read`, `context_recover` and `context_status`. Nothing else may write to standard output.
///
/// The session need not have begun. Until it begins, `context_recover` and `context_status` say that it has not.
///
/// ```no_run
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// let session = accp_memory::SessionId::new("trip")?;
/// accp_mcp::serve_context_stdio("Memory/Shared", session).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Mcp`] when the client does not speak MCP.
pub async fn serve_context_stdio(
    root: impl Into<PathBuf>,
    session: SessionId,
) -> Result<(), Error> {
    let (read, write) = rmcp::transport::stdio();
    serve_context_on(root, session, read, write).await
}

/// Serves these tools over a pair of streams: one message of JSON-RPC a line.
///
/// # Errors
/// See [`serve_context_stdio`].
pub async fn serve_context_on(
    root: impl Into<PathBuf>,
    session: SessionId,
    read: impl AsyncRead + Send + Unpin + 'static,
    mut write: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), Error> {
    let root = root.into();
    let read = initialize::pipe(read, &mut write).await;
    let read = read.map_err(|error| Error::Mcp(error.to_string()))?;
    let running = match serve_server(Server { root, session }, (read, write)).await {
        Ok(running) => running,
        Err(error) => return without_client(error),
    };
    let ended = running.waiting().await;
    ended
        .map(drop)
        .map_err(|error| Error::Mcp(error.to_string()))
}

/// The methods of the server, beside those that every server has.
const METHODS: [&str; 2] = ["tools/list", "tools/call"];

/// The server of one session.
struct Server {
    root: PathBuf,
    session: SessionId,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let version = env!("CARGO_PKG_VERSION");
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("accp-context", version).with_title("ACCP context"),
            )
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let all = ContextTool::ALL.map(defined);
        Ok(ListToolsResult::with_all_items(all.to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let mut all = ContextTool::ALL.into_iter();
        all.find(|tool| tool.name() == name).map(defined)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (root, session) = (self.root.clone(), self.session.clone());
        let called = tokio::task::spawn_blocking(move || {
            let arguments = Json::Object(request.arguments.unwrap_or_default());
            tools::call(&root, &session, &request.name, &arguments)
        });
        let answer = called
            .await
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        match answer {
            Ok(answer) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
                result.structured_content = Some(answer.json);
                Ok(result.into())
            }
            Err(error @ ToolError::Unknown(_)) => Err(ErrorData::new(
                ErrorCode::INVALID_PARAMS,
                error.to_string(),
                None,
            )),
            // The model gets this error as the result, so it can correct its call.
            Err(error) => {
                let text = ContentBlock::text(error.to_string());
                Ok(CallToolResult::error(vec![text]).into())
            }
        }
    }

    methods::refuse_others!(METHODS);

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(methods::absent("resources/list", &METHODS))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(methods::absent("resources/templates/list", &METHODS))
    }

    async fn read_resource(
        &self,
        _: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Err(methods::absent("resources/read", &METHODS))
    }
}

/// Returns a tool as MCP lists it.
fn defined(tool: ContextTool) -> Tool {
    let schema = match tool.parameters() {
        Json::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    let kind = ToolAnnotations::new().read_only(true).open_world(false);
    Tool::new(tool.name(), tool.description(), Arc::new(schema))
        .with_title(tool.title())
        .annotate(kind)
}
