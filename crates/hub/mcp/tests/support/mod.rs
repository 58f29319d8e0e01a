//! Sessions and MCP clients for tests.
#![allow(unreachable_pub, reason = "helpers of tests")]

use accp_client::{Agent, Hub};
use accp_store::MemoryStore;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation,
    ReadResourceRequestParams, ResourceContents,
};
use rmcp::service::{RunningService, serve_client};
use serde_json::{Value as Json, json};

pub type Client = RunningService<RoleClient, ClientConfig>;

pub fn client() -> ClientConfig {
    ClientConfig::new(
        ClientCapabilities::default(),
        Implementation::new("test", "1"),
    )
}

pub async fn hub() -> Hub {
    Hub::open("lunch", MemoryStore::new()).await.unwrap()
}

/// Connects an MCP client to an agent, in this process.
pub async fn connect(agent: Agent) -> Client {
    let (near, far) = tokio::io::duplex(1 << 20);
    let (read, write) = tokio::io::split(far);
    tokio::spawn(accp_mcp::serve_on(agent, read, write));
    serve_client(client(), near).await.unwrap()
}

pub async fn call(client: &Client, tool: &'static str, args: Json) -> CallToolResult {
    let params = CallToolRequestParams::new(tool).with_arguments(args.as_object().unwrap().clone());
    client.call_tool(params).await.unwrap()
}

/// Returns the structured content of a call that works.
pub async fn works(client: &Client, tool: &'static str, args: Json) -> Json {
    let result = call(client, tool, args).await;
    assert_ne!(result.is_error, Some(true), "{result:?}");
    result.structured_content.unwrap()
}

/// Returns the text of a call that fails.
pub async fn fails(client: &Client, tool: &'static str, args: Json) -> String {
    let result = call(client, tool, args).await;
    assert_eq!(result.is_error, Some(true), "{result:?}");
    words(&result)
}

pub fn words(result: &CallToolResult) -> String {
    result.content[0].as_text().unwrap().text.clone()
}

/// Returns the type and the text of the frame in a result.
pub fn frame(result: &CallToolResult) -> (String, String) {
    content(&result.content[1].as_resource().unwrap().resource)
}

pub fn content(contents: &ResourceContents) -> (String, String) {
    match contents {
        ResourceContents::TextResourceContents {
            mime_type, text, ..
        } => (mime_type.clone().unwrap(), text.clone()),
        other => panic!("{other:?}"),
    }
}

pub async fn read(client: &Client, uri: &str) -> (String, String) {
    let read = client
        .read_resource(ReadResourceRequestParams::new(uri))
        .await;
    content(&read.unwrap().contents[0])
}

/// A task for an agent, as the arguments of a tool.
pub fn task(assignee: &str, task: &str) -> Json {
    json!({
        "intent": "req", "operation": "schedule",
        "params": { "assignee": assignee, "task": task },
    })
}
