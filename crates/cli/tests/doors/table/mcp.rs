//! The door of MCP: a client that uses the official Rust SDK of the protocol.

use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::{RunningService, serve_client};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use serde_json::{Value as Json, json};
use tokio::runtime::Runtime;

use super::command::{at_work, frame};
use super::{ByHand, Door, Late, Setup};

/// A client that calls the tools as a model would.
pub(super) struct Mcp {
    runtime: Runtime,
    client: RunningService<RoleClient, ClientConfig>,
}

/// Returns an HTTP client.
pub(super) fn http() -> reqwest::Client {
    let tls = accp_client::tls_settings(None).unwrap();
    let client = reqwest::Client::builder().tls_backend_preconfigured((*tls).clone());
    client.build().unwrap()
}

impl Mcp {
    fn call(&self, tool: &'static str, args: &Json) -> Result<Json, String> {
        let params =
            CallToolRequestParams::new(tool).with_arguments(args.as_object().unwrap().clone());
        let result = self
            .runtime
            .block_on(self.client.call_tool(params))
            .unwrap();
        if result.is_error == Some(true) {
            return Err(result.content[0].as_text().unwrap().text.clone());
        }
        Ok(result.structured_content.unwrap())
    }
}

/// Turns a message into the arguments of a tool call.
fn args(message: &Json) -> Json {
    let mut args = message.clone();
    let params = args["payload"].take();
    args.as_object_mut().unwrap().remove("payload");
    args["params"] = params;
    args
}

impl Door for Mcp {
    fn open(setup: &Setup) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let url = format!("{}/mcp/team/dev", setup.hub.http());
        let client = runtime.block_on(async {
            let config = StreamableHttpClientTransportConfig::with_uri(url);
            let transport = StreamableHttpClientTransport::with_client(http(), config);
            let who = Implementation::new("test", "1");
            serve_client(
                ClientConfig::new(ClientCapabilities::default(), who),
                transport,
            )
            .await
        });
        Self {
            runtime,
            client: client.unwrap(),
        }
    }

    fn send(&mut self, _: &Setup, message: &Json) -> Result<(), String> {
        self.call("accp_send", &args(message)).map(drop)
    }

    fn ask(&mut self, _: &Setup, message: &Json) -> Result<Json, String> {
        let mut answer = self.call("accp_ask", &args(message))?;
        let mut params = answer["answer"]["params"].take();
        for value in params.as_object_mut().unwrap().values_mut() {
            if let Some(key) = value["$ref"].as_str() {
                let read = self.call("accp_expand", &json!({ "reference": key }))?;
                *value = read["value"].clone();
            }
        }
        Ok(params)
    }

    fn pieces(&mut self, _: &Setup, message: &Json) -> Vec<String> {
        self.call("accp_ask", &args(message)).unwrap();
        let received = self.call("accp_receive", &json!({ "limit": 50 })).unwrap();
        // The next call of the tool marks the received frames as handled.
        self.call("accp_receive", &json!({})).unwrap();
        let frames = received["frames"].as_array().unwrap().iter();
        let data = frames.filter_map(|frame| frame["params"]["data"].as_str());
        data.map(str::to_owned).collect()
    }

    fn cancel(&mut self, setup: &Setup, message: &Json) {
        // The tool waits for one second and then cancels. `lab` begins to work on the question before that.
        let mut args = args(message);
        (args["timeout"], args["cancel"]) = (json!(1), json!(true));
        let said = self.call("accp_ask", &args).unwrap_err();
        assert!(said.contains("E3001"), "{said}");
        at_work(setup);
    }

    fn context(&mut self, _: &Setup) -> String {
        let said = self
            .call("accp_query", &json!({ "about": "context" }))
            .unwrap();
        said["context"].as_str().unwrap().to_owned()
    }

    fn read(&mut self, _: &Setup, key: &str) -> Json {
        self.call("accp_expand", &json!({ "reference": key }))
            .unwrap()["value"]
            .take()
    }

    fn state(&mut self, _: &Setup) -> Json {
        let mut state = self
            .call("accp_query", &json!({ "about": "state" }))
            .unwrap();
        state["budget"] = self
            .call("accp_query", &json!({ "about": "budget" }))
            .unwrap();
        state
    }
}

impl Late for Mcp {
    fn late(self, _: &mut Setup, message: &Json) -> Self {
        let late = format!("{}[ts:1000,ttl:5]", frame(message));
        let said = self
            .call("accp_send", &json!({ "frame": late }))
            .unwrap_err();
        assert!(said.contains("E3001"), "{said}");
        self
    }
}

impl ByHand for Mcp {
    fn by_hand(&mut self, _: &Setup, frame: &str) -> Result<(), String> {
        self.call("accp_send", &json!({ "frame": frame })).map(drop)
    }
}
