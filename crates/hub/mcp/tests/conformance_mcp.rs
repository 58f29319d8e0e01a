//! Section 11.3 of the draft: ACCP over MCP.

use accp_client::Hub;
use accp_runtime::profiles::{ErrorFail, ScheduleReq, ToolDone};
use accp_runtime::session::Options;
use accp_runtime::{AgentId, DecodeOptions, DynamicFrame, Frame, Intent, Registry, Typed};
use accp_store::MemoryStore;
use rmcp::model::ReadResourceRequestParams;
use serde_json::json;
use std::sync::Arc;

use crate::support::{call, connect, frame, hub, read, task, works};

/// Returns the first line of the instructions, as a message.
async fn introduced(hub: &Hub) -> (String, DynamicFrame<'static>) {
    let client = connect(hub.agent("dev").unwrap()).await;
    let info = client.peer_info().unwrap();
    let text = info.instructions.clone().unwrap();
    let line = text.lines().next().unwrap();
    let message = DynamicFrame::decode(line, &Registry::standard()).unwrap();
    (line.to_owned(), message.into_owned())
}

#[tokio::test]
async fn mcp_01_accepts_frames_as_resources_of_the_type_accp() {
    let hub = hub().await;
    let dev = connect(hub.agent("dev").unwrap()).await;
    let qa = connect(hub.agent("qa").unwrap()).await;
    works(&dev, "accp_send", task("qa", "test_auth")).await;
    let received = works(&qa, "accp_receive", json!({ "timeout": 60 })).await;
    let position = received["frames"][0]["id"]
        .as_str()
        .unwrap()
        .trim_start_matches('p')
        .to_owned();
    let (kind, text) = read(&qa, &format!("accp://session/lunch/frames/{position}")).await;
    assert_eq!(kind, "application/accp");
    assert_eq!(
        Typed::<ScheduleReq<'_>>::decode(&text).unwrap().frame.task,
        "test_auth"
    );
}

#[tokio::test]
async fn mcp_01_accepts_a_done_tool_frame_in_every_result() {
    let hub = hub().await;
    let dev = connect(hub.agent("dev").unwrap()).await;
    let _qa = hub.agent("qa").unwrap();
    let calls = [
        ("accp_send", task("qa", "test_auth")),
        ("accp_receive", json!({})),
        ("accp_query", json!({ "about": "members" })),
        ("accp_query", json!({ "about": "context" })),
    ];
    let mut chains = Vec::new();
    for (tool, args) in calls {
        let result = call(&dev, tool, args).await;
        let (kind, text) = frame(&result);
        assert_eq!(kind, "application/accp");
        let typed = Typed::<ToolDone<'_>>::decode_with(&text, &DecodeOptions::default()).unwrap();
        assert_eq!(typed.frame.tool_name, tool);
        let sent = typed
            .frame
            .result
            .unwrap()
            .into_data(&mut |_| None)
            .unwrap();
        assert_eq!(Some(sent), result.structured_content);
        chains.push(typed.envelope.correlation_id.unwrap().into_owned());
    }
    chains.dedup();
    assert_eq!(chains.len(), 4, "each call has a chain of its own");
}

#[tokio::test]
async fn mcp_01_refuses_by_a_tool_error_with_its_frame() {
    let hub = hub().await;
    let dev = connect(hub.agent("dev").unwrap()).await;
    let result = call(&dev, "accp_expand", json!({ "reference": "cold.k9_9" })).await;
    assert_eq!(result.is_error, Some(true));
    let (kind, text) = frame(&result);
    assert_eq!(kind, "application/accp");
    let typed = Typed::<ErrorFail<'_>>::decode(&text).unwrap();
    assert_eq!(
        (&*typed.frame.code, typed.frame.tool_name.as_deref()),
        ("E2001", Some("accp_expand"))
    );
    // A request for an unknown tool or resource gets an error of MCP.
    let unknown = rmcp::model::CallToolRequestParams::new("accp_dance");
    let error = dev.call_tool(unknown).await.unwrap_err().to_string();
    assert!(error.contains("the tools are accp_send"), "{error}");
    let unknown = ReadResourceRequestParams::new("accp://session/lunch/frames/0");
    let error = dev.read_resource(unknown).await.unwrap_err().to_string();
    assert!(error.contains("no resource"), "{error}");
}

#[tokio::test]
async fn mcp_02_accepts_the_registry_in_the_instructions() {
    let (line, message) = introduced(&hub().await).await;
    assert_eq!(
        (message.intent, &*message.operation),
        (Intent::SYNC, "registry")
    );
    let frame = Frame::parse(&line).unwrap();
    let standard = Registry::standard();
    assert_eq!(
        frame.get("v").unwrap().as_str(),
        standard.version.to_string()
    );
    assert_eq!(
        frame.get("hash").unwrap().as_str(),
        standard.hash().short(6)
    );
    assert!(
        frame.get("schemas").is_none(),
        "a peer of the draft has the standard profiles"
    );
}

#[tokio::test]
async fn mcp_02_accepts_schemas_of_the_session_in_the_frame() {
    let json = r#"{ "schemas": { "refund": {
        "code": "RF", "version": 1, "fields": ["order", "amount"],
        "types": { "order": "string", "amount": "decimal" }, "required": ["order"],
        "frames": [ { "intent": "req", "operation": "refund", "required": ["amount"] } ] } } }"#;
    let registry = Registry::from_json(json).unwrap();
    let shop = AgentId::new("hub").unwrap();
    let options = Options::new("shop", shop, Arc::new(registry.clone()));
    let hub = Hub::open_with(options, MemoryStore::new()).await.unwrap();
    let (line, _) = introduced(&hub).await;
    let frame = Frame::parse(&line).unwrap();
    assert_eq!(
        frame.get("hash").unwrap().as_str(),
        registry.hash().short(6)
    );
    let schemas = frame.value("schemas").unwrap().to_json();
    assert_eq!(schemas["refund"]["code"], "RF");
    assert_eq!(schemas["refund"]["required"], json!(["order"]));
}

#[tokio::test]
async fn mcp_02_refuses_frames_of_schemas_that_are_not_in_the_registry() {
    let hub = hub().await;
    let dev = connect(hub.agent("dev").unwrap()).await;
    let frame = json!({ "frame": "@dev>req:refund{ord:A1|schema:RF}" });
    let result = call(&dev, "accp_send", frame).await;
    assert_eq!(result.is_error, Some(true));
    let error = &result.structured_content.unwrap()["error"];
    assert_eq!(error["code"], "E1003");
}
