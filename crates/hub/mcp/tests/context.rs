//! The tools of CTX-001, as an MCP client calls them.

use std::fs;

use accp_memory::SessionId;
use accp_memory::disk::tools::Tool;
use rmcp::model::CallToolRequestParams;
use rmcp::service::serve_client;
use serde_json::{Value as Json, json};

use crate::support::{Client, client, fails, works};

/// Connects an MCP client to the tools of the session `trip` below a root.
async fn connect(root: &std::path::Path) -> Client {
    let (near, far) = tokio::io::duplex(1 << 20);
    let (read, write) = tokio::io::split(far);
    let session = SessionId::new("trip").unwrap();
    tokio::spawn(accp_mcp::serve_context_on(
        root.to_owned(),
        session,
        read,
        write,
    ));
    serve_client(client(), near).await.unwrap()
}

#[tokio::test]
async fn a_client_sees_the_three_tools_with_their_schemas() {
    let root = tempfile::tempdir().unwrap();
    let client = connect(root.path()).await;
    let listed = client.list_all_tools().await.unwrap();
    assert_eq!(listed.len(), Tool::ALL.len());
    for (listed, tool) in listed.iter().zip(Tool::ALL) {
        assert_eq!(listed.name, tool.name());
        assert_eq!(
            Json::Object((*listed.input_schema).clone()),
            tool.parameters()
        );
    }
    let instructions = client.peer_info().unwrap().instructions.clone().unwrap();
    assert!(
        Tool::ALL
            .iter()
            .all(|tool| instructions.contains(tool.name()))
    );
}

#[tokio::test]
async fn a_client_reads_a_file_and_is_told_what_is_wrong() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("cache/offloaded")).unwrap();
    fs::write(
        root.path().join("cache/offloaded/a.md"),
        "rye\nspelt\noats\n",
    )
    .unwrap();
    let client = connect(root.path()).await;
    let args = json!({ "path": "cache/offloaded/a.md", "first": 2 });
    let read = works(&client, "context_read", args).await;
    assert_eq!(
        (&read["text"], &read["of"]),
        (&json!("spelt\noats"), &json!(3))
    );
    let out = fails(&client, "context_read", json!({ "path": "cache/../a.md" })).await;
    assert!(
        out.contains("expected the path of a file below `cache/`"),
        "{out}"
    );
    let none = fails(&client, "context_status", json!({})).await;
    assert!(none.contains("there is no session trip"), "{none}");
    let unknown = client.call_tool(CallToolRequestParams::new("read")).await;
    assert!(unknown.unwrap_err().to_string().contains("context_recover"));
}
