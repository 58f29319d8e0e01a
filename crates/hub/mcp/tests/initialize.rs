//! Tests of the `initialize` request, over HTTP and over a pipe.

use std::fmt::Write as _;

use accp_mcp::{Principal, Service, Settings, TrustPath};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::support::hub;

async fn serve() -> String {
    let hub = hub().await;
    let agents = move |who: Principal| {
        let hub = hub.clone();
        async move { hub.agent(who.agent()) }
    };
    let service = TrustPath::new(Service::new(agents, Settings::default()));
    let app = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{at}/mcp/lunch/dev")
}

async fn post(at: &str, body: &Json, version: Option<&str>) -> (u16, String) {
    send(at, body.to_string(), version).await
}

async fn send(at: &str, body: String, version: Option<&str>) -> (u16, String) {
    let tls = accp_client::tls_settings(None).unwrap();
    let tls = rustls::ClientConfig::clone(&tls);
    let client = reqwest::Client::builder().tls_backend_preconfigured(tls);
    let mut request = client.build().unwrap().post(at);
    request = request
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .body(body);
    if let Some(version) = version {
        request = request.header("mcp-protocol-version", version);
    }
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

fn initialize(version: &str) -> Json {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {},
            "clientInfo": { "name": "test", "version": "0" },
        },
    })
}

/// The version header counts only after a version was agreed upon, which `initialize` does.
#[tokio::test]
async fn a_client_of_an_unknown_version_is_offered_one() {
    let at = serve().await;
    let newest = "\"protocolVersion\":\"2025-11-25\"";
    for version in ["9999-01-01", "2024-10-07", "2026-06-30", "", "draft"] {
        for header in [None, Some(version), Some("2025-06-18"), Some("none")] {
            let (status, text) = post(&at, &initialize(version), header).await;
            assert_eq!(status, 200, "{version} {header:?}: {text}");
            assert!(text.contains(newest), "{version} {header:?}: {text}");
        }
    }
    for version in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        let (status, text) = post(&at, &initialize(version), Some("9999-01-01")).await;
        let same = format!("\"protocolVersion\":\"{version}\"");
        assert!(status == 200 && text.contains(&same), "{version}: {text}");
    }
    // After `initialize`, an unknown version is refused.
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let (status, text) = post(&at, &ping, Some("9999-01-01")).await;
    assert_eq!(status, 400, "{text}");
}

/// Requests that lack a field, or have one of another type, each with the field that the error names.
fn wrong() -> Vec<(&'static str, Json)> {
    let with = |path: &str, value: Json| {
        let mut body = initialize("2025-11-25");
        *body.pointer_mut(path).unwrap() = value;
        body
    };
    let without = |path: &str, field: &str| {
        let mut body = initialize("2025-11-25");
        let object = body.pointer_mut(path).unwrap().as_object_mut().unwrap();
        object.remove(field);
        body
    };
    let info = |field: &str, value: Json| {
        let mut body = initialize("2025-11-25");
        body["params"]["clientInfo"][field] = value;
        body
    };
    let can = |field: &str, value: Json| {
        let mut body = initialize("2025-11-25");
        body["params"]["capabilities"][field] = value;
        body
    };
    vec![
        ("params", without("", "params")),
        ("params", with("/params", json!([1]))),
        ("params", with("/params", json!("all"))),
        ("protocolVersion", without("/params", "protocolVersion")),
        (
            "protocolVersion",
            with("/params/protocolVersion", json!(2025)),
        ),
        (
            "protocolVersion",
            with("/params/protocolVersion", Json::Null),
        ),
        ("capabilities", without("/params", "capabilities")),
        ("capabilities", with("/params/capabilities", json!("all"))),
        ("capabilities", with("/params/capabilities", json!([]))),
        ("capabilities.roots", can("roots", json!(true))),
        (
            "capabilities.roots.listChanged",
            can("roots", json!({ "listChanged": "yes" })),
        ),
        ("capabilities.experimental", can("experimental", json!(1))),
        ("clientInfo", without("/params", "clientInfo")),
        ("clientInfo", with("/params/clientInfo", json!("test"))),
        ("clientInfo", with("/params/clientInfo", Json::Null)),
        ("clientInfo.name", without("/params/clientInfo", "name")),
        ("clientInfo.name", info("name", json!(7))),
        (
            "clientInfo.version",
            without("/params/clientInfo", "version"),
        ),
        ("clientInfo.version", info("version", json!(1.0))),
        ("clientInfo.title", info("title", json!({}))),
        ("clientInfo.icons", info("icons", json!("none"))),
        ("clientInfo.websiteUrl", info("websiteUrl", json!(0))),
        ("_meta", {
            let mut body = initialize("2025-11-25");
            body["params"]["_meta"] = json!("x");
            body
        }),
    ]
}

#[tokio::test]
async fn what_is_wrong_with_the_beginning_is_named() {
    let at = serve().await;
    let mut all = String::new();
    for (field, body) in wrong() {
        let (status, text) = post(&at, &body, Some("2025-11-25")).await;
        let error: Json = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{field}: {text}"));
        assert_eq!(status, 400, "{field}: {text}");
        assert_eq!(error["id"], 1, "{field}: {text}");
        assert_eq!(error["error"]["code"], -32602, "{field}: {text}");
        let message = error["error"]["message"].as_str().unwrap();
        assert!(
            message.contains(&format!("`{field}`")),
            "{field}: {message}"
        );
        let _ = writeln!(all, "{message}");
    }
    insta::assert_snapshot!(all, @r#"
    `params` of initialize is missing
    `params` of initialize is not an object
    `params` of initialize is not an object
    `protocolVersion` of initialize is missing
    `protocolVersion` of initialize: invalid type: integer `2025`, expected a string
    `protocolVersion` of initialize: invalid type: null, expected a string
    `capabilities` of initialize is missing
    `capabilities` of initialize is not an object
    `capabilities` of initialize is not an object
    `capabilities.roots` of initialize: invalid type: boolean `true`, expected an object
    `capabilities.roots.listChanged` of initialize: invalid type: string "yes", expected a boolean
    `capabilities.experimental` of initialize: invalid type: integer `1`, expected an object
    `clientInfo` of initialize is missing
    `clientInfo` of initialize is not an object
    `clientInfo` of initialize is not an object
    `clientInfo.name` of initialize is missing
    `clientInfo.name` of initialize: invalid type: integer `7`, expected a string
    `clientInfo.version` of initialize is missing
    `clientInfo.version` of initialize: invalid type: floating point `1.0`, expected a string
    `clientInfo.title` of initialize: invalid type: object, expected a string
    `clientInfo.icons` of initialize: invalid type: string "none", expected a list
    `clientInfo.websiteUrl` of initialize: invalid type: integer `0`, expected a string
    `_meta` of initialize: invalid type: string "x", expected an object
    "#);
    // The errors also name fields of the request outside its parameters.
    for (field, value) in [
        ("jsonrpc", json!("1.0")),
        ("id", json!({})),
        ("id", Json::Null),
    ] {
        let mut body = initialize("2025-11-25");
        body[field] = value;
        let (status, text) = post(&at, &body, None).await;
        assert_eq!(status, 400, "{field}: {text}");
        let error: Json = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{field}: {text}"));
        assert_eq!(error["error"]["code"], -32600, "{field}: {text}");
        assert!(text.contains(&format!("`{field}`")), "{field}: {text}");
    }
}

/// A body that is not a message has the status of a wrong request, and an error that says what is wrong.
#[tokio::test]
async fn a_body_that_is_no_message_is_a_wrong_request() {
    let at = serve().await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for (body, code, says) in [
        ("{".to_owned(), -32700, "at line 1 column 1"),
        (String::new(), -32700, "as JSON"),
        (format!("[{ping}]"), -32600, "a batch"),
        ("[]".to_owned(), -32600, "a batch"),
        ("\"ping\"".to_owned(), -32600, "as an object"),
        (
            json!({ "jsonrpc": "1.0", "id": 1, "method": "ping" }).to_string(),
            -32600,
            "\"2.0\"",
        ),
        (
            json!({ "id": 1, "method": "ping" }).to_string(),
            -32600,
            "\"2.0\"",
        ),
    ] {
        let (status, text) = send(&at, body.clone(), None).await;
        assert_eq!(status, 400, "{body}: {text}");
        let answer: Json = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{body}: {text}"));
        assert_eq!(answer["error"]["code"], code, "{body}: {text}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(says), "{body}: {message}");
    }
}

/// Over a pipe a client can mend its request and go on.
#[tokio::test]
async fn over_a_pipe_what_is_wrong_is_named_and_the_client_can_begin_again() {
    let hub = hub().await;
    let (near, far) = tokio::io::duplex(1 << 20);
    let (read, write) = tokio::io::split(far);
    tokio::spawn(accp_mcp::serve_on(hub.agent("dev").unwrap(), read, write));
    let (near_read, mut near) = tokio::io::split(near);
    let mut lines = BufReader::new(near_read).lines();
    for (field, body) in wrong() {
        near.write_all(format!("{body}\n").as_bytes())
            .await
            .unwrap();
        let line = lines.next_line().await.unwrap();
        let line = line.unwrap_or_else(|| panic!("{field}: the server has gone"));
        let error: Json = serde_json::from_str(&line).unwrap();
        assert_eq!(error["id"], 1, "{field}: {line}");
        assert_eq!(error["error"]["code"], -32602, "{field}: {line}");
        let message = error["error"]["message"].as_str().unwrap();
        assert!(
            message.contains(&format!("`{field}`")),
            "{field}: {message}"
        );
    }
    let body = initialize("9999-01-01");
    near.write_all(format!("{body}\n").as_bytes())
        .await
        .unwrap();
    let line = lines.next_line().await.unwrap().unwrap();
    assert!(
        line.contains("\"protocolVersion\":\"2025-11-25\""),
        "{line}"
    );
}
