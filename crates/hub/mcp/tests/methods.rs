//! Methods that a server does not have, and params that its methods do not take.

use accp_memory::SessionId;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

use crate::support::hub;

/// A method, its params, and the code and the text of the error for them.
type Refused = (&'static str, Json, i32, &'static str);

/// Params that tools do not take.
fn wrong_calls() -> [Refused; 3] {
    let call = "tools/call";
    [
        (call, json!({}), -32602, "`name` of tools/call is missing"),
        (
            call,
            json!({ "name": 5 }),
            -32602,
            "`name` of tools/call: invalid type: integer `5`, expected a string",
        ),
        (
            call,
            json!({ "name": "accp_send", "arguments": [1] }),
            -32602,
            "`arguments` of tools/call: invalid type: list, expected an object",
        ),
    ]
}

/// Begins with a server over a pipe, sends these requests, and compares the errors.
async fn compare(near: DuplexStream, refused: impl IntoIterator<Item = Refused>) {
    let (read, mut write) = tokio::io::split(near);
    let mut lines = BufReader::new(read).lines();
    let begin = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "test", "version": "0" },
        },
    });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let both = format!("{begin}\n{ready}\n");
    write.write_all(both.as_bytes()).await.unwrap();
    lines.next_line().await.unwrap().unwrap();
    for (method, params, code, says) in refused {
        let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let line = format!("{request}\n");
        write.write_all(line.as_bytes()).await.unwrap();
        let line = lines.next_line().await.unwrap().unwrap();
        let answer: Json = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], 7, "{request}: {line}");
        assert_eq!(answer["error"]["code"], code, "{request}: {line}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(says), "{request}: {message}");
    }
}

#[tokio::test]
async fn an_agent_names_its_methods_and_the_field_that_is_wrong() {
    let (near, far) = tokio::io::duplex(1 << 20);
    let (read, write) = tokio::io::split(far);
    let hub = hub().await;
    tokio::spawn(accp_mcp::serve_on(hub.agent("dev").unwrap(), read, write));
    let all = "; the methods are tools/list, tools/call, resources/list,";
    let complete = json!({
        "ref": { "type": "ref/prompt", "name": "a" }, "argument": { "name": "a", "value": "b" },
    });
    let refused = [
        (
            "prompts/list",
            json!({}),
            -32601,
            "there is no method prompts/list; the methods are tools/list, tools/call,",
        ),
        ("prompts/get", json!({ "name": "a" }), -32601, all),
        ("logging/setLevel", json!({ "level": "info" }), -32601, all),
        ("logging/setLevel", json!({ "level": 1 }), -32601, all),
        ("completion/complete", complete, -32601, all),
        ("shop/open", json!({}), -32601, all),
        (
            "resources/read",
            json!({ "uri": 1 }),
            -32602,
            "`uri` of resources/read: invalid type: integer `1`, expected a string",
        ),
        (
            "resources/subscribe",
            json!({}),
            -32602,
            "`uri` of resources/subscribe is missing",
        ),
    ];
    compare(near, refused.into_iter().chain(wrong_calls())).await;
}

#[tokio::test]
async fn the_tools_of_a_list_name_their_methods_and_the_field_that_is_wrong() {
    let root = tempfile::tempdir().unwrap();
    let (near, far) = tokio::io::duplex(1 << 20);
    let (read, write) = tokio::io::split(far);
    let session = SessionId::new("trip").unwrap();
    let root = root.path().to_owned();
    tokio::spawn(accp_mcp::serve_context_on(root, session, read, write));
    let all = "; the methods are tools/list, tools/call";
    let refused = [
        ("prompts/list", json!({}), -32601, all),
        ("resources/list", json!({}), -32601, all),
        ("resources/templates/list", json!({}), -32601, all),
        ("resources/read", json!({ "uri": "accp://a" }), -32601, all),
        ("resources/read", json!({}), -32601, all),
        ("logging/setLevel", json!({ "level": "info" }), -32601, all),
    ];
    compare(near, refused.into_iter().chain(wrong_calls())).await;
}
