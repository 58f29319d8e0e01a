//! One call of a tool: from `req:tool` to its answer.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use accp_client::{Cx, Error};
use accp_frame::{ErrorCode, Value, profiles::ErrorFail, profiles::ToolDone, profiles::ToolReq};
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ErrorCode as McpCode,
    ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use serde_json::{Map as Object, Value as Json};

use super::content;

/// The tools of a server.
pub(super) struct Tools {
    peer: Peer<RoleClient>,
    names: Mutex<BTreeSet<String>>,
}

/// Why a call has no result.
struct Failure {
    code: ErrorCode,
    message: String,
}

impl Failure {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }
}

impl Tools {
    pub(super) fn new(peer: Peer<RoleClient>, names: &[String]) -> Self {
        Self {
            peer,
            names: Mutex::new(names.iter().cloned().collect()),
        }
    }

    /// Calls a tool and answers. A call whose chain was cancelled has no answer.
    pub(super) async fn answer(
        self: Arc<Self>,
        call: ToolReq<'static>,
        cx: Cx,
    ) -> Result<(), Error> {
        let name = call.tool_name.into_owned();
        let arguments = match call
            .arguments
            .map(|map| Value::Map(map).into_data(&mut |_| None))
        {
            None => Ok(None),
            Some(Ok(Json::Object(arguments))) => Ok(Some(arguments)),
            Some(Ok(_)) => Ok(None),
            Some(Err(key)) => Err(Failure::new(
                ErrorCode::REF_NOT_FOUND,
                format!("there is no value ${key}"),
            )),
        };
        let token = cx.inbound().cancel_token().clone();
        let called = match arguments {
            Ok(arguments) => self.call(&name, arguments, token.cancelled()).await,
            Err(failure) => Err(failure),
        };
        let result = match called {
            Ok(None) => return Ok(()),
            Ok(Some(result)) => result,
            Err(failure) => return cx.reply(fail(&name, failure)).await,
        };
        let json = content::of(&result);
        let done = ToolDone {
            result: Some(Value::from_data(&json).into_owned()),
            ..ToolDone::new(name)
        };
        cx.reply(done).await
    }

    /// Calls a tool. Returns `None` if `cancelled` was first.
    async fn call(
        &self,
        name: &str,
        arguments: Option<Object<String, Json>>,
        cancelled: impl Future<Output = ()>,
    ) -> Result<Option<CallToolResult>, Failure> {
        if !self.has(name).await? {
            let what = format!("the MCP server has no tool {name}");
            return Err(Failure::new(ErrorCode::TOOL_NOT_FOUND, what));
        }
        let mut params = CallToolRequestParams::new(name.to_owned());
        params.arguments = arguments;
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let sent = self.peer.send_cancellable_request(request, options).await;
        let mut handle = sent.map_err(|error| failure(&error))?;
        let answer = tokio::select! {
            answer = &mut handle.rx => answer,
            () = cancelled => {
                // If the server is gone, no work on the call is left to cancel.
                let _ = handle.cancel(Some("the chain was cancelled".to_owned())).await;
                return Ok(None);
            }
        };
        let answer = answer.unwrap_or(Err(ServiceError::TransportClosed));
        match answer.map_err(|error| failure(&error))? {
            ServerResult::CallToolResult(result) if result.is_error == Some(true) => {
                let words = content::words(&result);
                Err(Failure::new(ErrorCode::TOOL_EXEC_FAILED, words))
            }
            ServerResult::CallToolResult(result) => Ok(Some(result)),
            _ => {
                let what = "the tool wants input from its user, which a frame cannot give";
                Err(Failure::new(ErrorCode::TOOL_EXEC_FAILED, what))
            }
        }
    }

    /// Returns whether the server has a tool. If the name is not known yet, this asks the server for its tools
    /// again.
    async fn has(&self, name: &str) -> Result<bool, Failure> {
        let known = || self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if known().contains(name) {
            return Ok(true);
        }
        let listed = self.peer.list_all_tools().await;
        let listed = listed.map_err(|error| failure(&error))?;
        let names: BTreeSet<String> = listed.into_iter().map(|tool| tool.name.into()).collect();
        let is_there = names.contains(name);
        *known() = names;
        Ok(is_there)
    }
}

/// Returns the code of the draft for a failed call.
fn failure(error: &ServiceError) -> Failure {
    match error {
        ServiceError::McpError(error) if error.code == McpCode::INVALID_PARAMS => {
            Failure::new(ErrorCode::TOOL_SCHEMA_MISMATCH, error.message.to_string())
        }
        ServiceError::McpError(error) => {
            Failure::new(ErrorCode::TOOL_EXEC_FAILED, error.message.to_string())
        }
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
            Failure::new(ErrorCode::TOOL_EXEC_FAILED, "the MCP server is gone")
        }
        other => Failure::new(ErrorCode::TOOL_EXEC_FAILED, other.to_string()),
    }
}

fn fail(tool: &str, failure: Failure) -> ErrorFail<'static> {
    let is_retryable = failure.code.is_retryable().unwrap_or_default();
    ErrorFail {
        tool_name: Some(tool.to_owned().into()),
        ..ErrorFail::new(failure.code.to_string(), failure.message, is_retryable)
    }
}
