//! The tools of an MCP server, called by frames.

use std::sync::Arc;
use std::time::Duration;

use accp_client::{Agent, Error};
use accp_mcp::Bridge;
use accp_runtime::profiles::{ToolDone, ToolReq};
use accp_runtime::session::Outbound;
use accp_runtime::{ErrorCode, Value};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;
use tokio::sync::{Notify, mpsc};

use crate::support::hub;

/// A server whose tools add, fail, draw, wait and quit.
struct Tools {
    began: mpsc::UnboundedSender<()>,
    cancelled: mpsc::UnboundedSender<()>,
    quit: Arc<Notify>,
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({ "type": "object" }).as_object().unwrap().clone();
        let tool = |name| Tool::new(name, "a tool", Arc::new(schema.clone()));
        let all = ["add", "fail", "draw", "wait", "quit"].map(tool);
        Ok(ListToolsResult::with_all_items(all.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let args = request.arguments.unwrap_or_default();
        let text = |text: &str| vec![ContentBlock::text(text)];
        let result = match &*request.name {
            "add" => match (args.get("a"), args.get("b")) {
                (Some(a), Some(b)) => {
                    let sum = a.as_i64().unwrap() + b.as_i64().unwrap();
                    CallToolResult::structured(json!({ "sum": sum }))
                }
                _ => return Err(ErrorData::invalid_params("a and b are required", None)),
            },
            "fail" => CallToolResult::error(text("no flour")),
            "draw" => CallToolResult::success(vec![
                ContentBlock::text("a cake"),
                ContentBlock::image("aGVsbG8=", "image/png"),
            ]),
            "wait" => {
                self.began.send(()).unwrap();
                context.ct.cancelled().await;
                self.cancelled.send(()).unwrap();
                CallToolResult::success(text("too late"))
            }
            _ => {
                self.quit.notify_one();
                std::future::pending().await
            }
        };
        Ok(result.into())
    }
}

struct Room {
    planner: Agent,
    bridge: Bridge,
    began: mpsc::UnboundedReceiver<()>,
    cancelled: mpsc::UnboundedReceiver<()>,
}

async fn room() -> Room {
    let hub = hub().await;
    let (planner, tools) = (hub.agent("planner").unwrap(), hub.agent("tools").unwrap());
    let (near, far) = tokio::io::duplex(1 << 16);
    let (began, has_begun) = mpsc::unbounded_channel();
    let (cancelled, was_cancelled) = mpsc::unbounded_channel();
    let quit = Arc::new(Notify::new());
    let handler = Tools {
        began,
        cancelled,
        quit: Arc::clone(&quit),
    };
    tokio::spawn(async move {
        let running = rmcp::service::serve_server(handler, far).await.unwrap();
        quit.notified().await;
        running.cancel().await.unwrap();
    });
    let (read, write) = tokio::io::split(near);
    let bridge = Bridge::on(tools, read, write).await.unwrap();
    Room {
        planner,
        bridge,
        began: has_begun,
        cancelled: was_cancelled,
    }
}

fn req(tool: &str, args: &serde_json::Value) -> ToolReq<'static> {
    let Value::Map(arguments) = Value::from_data(args).into_owned() else {
        panic!("arguments are an object");
    };
    ToolReq {
        arguments: Some(arguments),
        ..ToolReq::new(tool.to_owned())
    }
}

#[tokio::test]
async fn a_call_goes_to_the_tool_and_its_result_comes_back() {
    let room = room().await;
    assert_eq!(room.bridge.tools(), ["add", "fail", "draw", "wait", "quit"]);
    let done: ToolDone<'_> = room
        .planner
        .ask(req("add", &json!({ "a": 2, "b": 3 })))
        .await
        .unwrap();
    assert_eq!(done.tool_name, "add");
    assert_eq!(done.result.unwrap().to_json(), json!({ "sum": 5 }));
}

#[tokio::test]
async fn content_of_any_kind_comes_whole() {
    let room = room().await;
    let done: ToolDone<'_> = room.planner.ask(req("draw", &json!({}))).await.unwrap();
    let whole = json!({ "content": [
        { "type": "text", "text": "a cake" },
        { "type": "image", "data": "aGVsbG8=", "mimeType": "image/png" },
    ] });
    assert_eq!(done.result.unwrap().to_json(), whole);
}

#[tokio::test]
async fn failures_have_the_codes_of_the_draft() {
    let room = room().await;
    let wrong = [
        (
            "dance",
            ErrorCode::TOOL_NOT_FOUND,
            "the MCP server has no tool dance",
        ),
        (
            "add",
            ErrorCode::TOOL_SCHEMA_MISMATCH,
            "a and b are required",
        ),
        ("fail", ErrorCode::TOOL_EXEC_FAILED, "no flour"),
        (
            "quit",
            ErrorCode::TOOL_EXEC_FAILED,
            "the MCP server is gone",
        ),
        ("add", ErrorCode::TOOL_EXEC_FAILED, "the MCP server is gone"),
    ];
    for (tool, code, text) in wrong {
        let failed = room
            .planner
            .ask::<ToolDone<'_>>(req(tool, &json!({})))
            .await
            .unwrap_err();
        assert_eq!(failed.code(), Some(code), "{tool}: {failed}");
        assert!(failed.to_string().ends_with(text), "{failed}");
    }
    assert!(room.bridge.is_gone());
}

#[tokio::test]
async fn a_cancelled_chain_cancels_the_request() {
    let mut room = room().await;
    let planner = room.planner.clone();
    let asked = tokio::spawn(async move {
        let call = Outbound::owned(req("wait", &json!({})));
        planner
            .ask_with::<ToolDone<'_>>(call)
            .within(Duration::from_secs(60))
            .cancelling()
            .await
    });
    room.began.recv().await.unwrap();
    asked.abort();
    room.cancelled.recv().await.unwrap();
    // The bridge still answers calls.
    let done: ToolDone<'_> = room
        .planner
        .ask(req("add", &json!({ "a": 1, "b": 1 })))
        .await
        .unwrap();
    assert_eq!(done.result.unwrap().to_json(), json!({ "sum": 2 }));
}

#[tokio::test]
async fn a_command_that_is_not_there_says_so() {
    let agent = hub().await.agent("tools").unwrap();
    let mut command = tokio::process::Command::new("/nowhere/mcp");
    let error = Bridge::command(agent, &mut command)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("the MCP server `/nowhere/mcp` cannot be started"),
        "{error}"
    );
    let agent = hub().await.agent("tools").unwrap();
    let error = Bridge::url(agent, "http://127.0.0.1:9/mcp")
        .await
        .unwrap_err();
    assert!(matches!(error, accp_mcp::Error::Mcp(_)), "{error}");
    let ended = Error::Ended(String::new());
    assert!(matches!(
        accp_mcp::Error::from(ended),
        accp_mcp::Error::Agent(_)
    ));
}
