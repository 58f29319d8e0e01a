//! Floods of requests in the protocols MCP and A2A.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value as Json, json};

use crate::each;
use crate::raw::Raw;

/// The number of clients at the same time.
const AT_ONCE: u64 = 16;
/// The clients act as this many different agents.
const AGENTS: u64 = 50;

/// No two messages of A2A have the same id.
static IDS: AtomicU64 = AtomicU64::new(0);

fn request(hub: SocketAddr, path: &str, more: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: {hub}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{more}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn call(method: &str, params: &Json) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

fn model(at: u64) -> String {
    format!("/mcp/calm/model{}", at % AGENTS)
}

/// Reads a status that has to be one of these.
async fn answered(raw: &mut Raw, statuses: &[u16]) -> Result<(), String> {
    match raw.status().await? {
        Some(status) if statuses.contains(&status) => Ok(()),
        other => Err(format!("the answer is {other:?}, not one of {statuses:?}")),
    }
}

/// Models that begin a session of MCP and leave without ending it.
pub(crate) async fn models(hub: SocketAddr, times: u64) -> Result<String, String> {
    each(times, AT_ONCE, move |at| async move {
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "flood", "version": "0" },
        });
        let mut raw = Raw::open(hub).await?;
        let begin = request(hub, &model(at), "", &call("initialize", &params));
        raw.send(begin.as_bytes()).await;
        answered(&mut raw, &[200, 429, 503]).await
    })
    .await?;
    Ok(format!("{times} sessions of MCP"))
}

/// Frames that models send with the revision of MCP that has no sessions.
pub(crate) async fn calls(hub: SocketAddr, times: u64) -> Result<String, String> {
    each(times, AT_ONCE, move |at| async move {
        let params = json!({
            "name": "accp_send",
            "arguments": { "intent": "req", "operation": "note", "params": { "text": "x" } },
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "flood", "version": "0" },
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        });
        let more =
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: accp_send\r\n";
        let mut raw = Raw::open(hub).await?;
        let sends = request(hub, &model(at), more, &call("tools/call", &params));
        raw.send(sends.as_bytes()).await;
        answered(&mut raw, &[200, 429, 503]).await
    })
    .await?;
    Ok(format!("{times} calls"))
}

/// Requests that the hub refuses, each for another agent of another session. The hub must keep nothing of them.
pub(crate) async fn refused(hub: SocketAddr, times: u64) -> Result<String, String> {
    each(times, AT_ONCE, move |at| async move {
        let mut raw = Raw::open(hub).await?;
        let path = format!("/mcp/none{at}/model{at}");
        let sent = match at % 4 {
            0 => format!("GET {path} HTTP/1.1\r\nHost: {hub}\r\n\r\n"),
            1 => format!("DELETE {path} HTTP/1.1\r\nHost: {hub}\r\n\r\n"),
            2 => request(hub, &path, "", "{"),
            _ => request(hub, &path, "", &call("tools/list", &json!({}))),
        };
        raw.send(sent.as_bytes()).await;
        answered(&mut raw, &[400, 404, 405, 406, 415, 422, 503]).await
    })
    .await?;
    Ok(format!("{times} requests"))
}

/// Messages of clients of A2A, each a task of its own.
pub(crate) async fn messages(hub: SocketAddr, times: u64) -> Result<String, String> {
    each(times, AT_ONCE, move |at| async move {
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        let params = json!({
            "message": {
                "messageId": format!("m{id}"), "role": "ROLE_USER",
                "parts": [{ "text": "x", "mediaType": "text/plain" }],
            },
            "configuration": { "returnImmediately": true },
        });
        let mut raw = Raw::open(hub).await?;
        let path = format!("/a2a/calm/client{}", at % AGENTS);
        let version = "A2A-Version: 1.0\r\n";
        raw.send(request(hub, &path, version, &call("SendMessage", &params)).as_bytes())
            .await;
        answered(&mut raw, &[200, 429, 503]).await
    })
    .await?;
    Ok(format!("{times} messages"))
}
