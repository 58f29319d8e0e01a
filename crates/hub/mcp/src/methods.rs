//! Requests that a server of MCP cannot serve: it does not have the method, or the params are not those of the method.
//! rmcp answers both as an unknown method, and says the name of the method alone.

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CustomRequest, ErrorCode, InitializeRequestParams,
    ReadResourceRequestParams, SubscribeRequestParams, SubscriptionsListenRequestParams,
    UnsubscribeRequestParams,
};
use serde_json::Value as Json;
use serde_path_to_error::{Error as PathError, deserialize};

/// The methods that every server has.
const OF_ALL: [&str; 3] = ["initialize", "ping", "server/discover"];

/// Makes the error for a method that is not one of `methods`.
pub(crate) fn absent(method: &str, methods: &[&str]) -> ErrorData {
    let text = format!(
        "there is no method {method}; the methods are {}",
        methods.join(", ")
    );
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None)
}

/// Makes the error for a request that rmcp could not read as a request of any method. The server has `methods`.
pub(crate) fn unread(request: &CustomRequest, methods: &[&str]) -> ErrorData {
    let method = request.method.as_str();
    if !methods.contains(&method) && !OF_ALL.contains(&method) {
        return absent(method, methods);
    }
    let none = Json::Object(serde_json::Map::new());
    let params = request.params.as_ref().unwrap_or(&none);
    let error = match method {
        "initialize" => deserialize::<_, InitializeRequestParams>(params).err(),
        "tools/call" => deserialize::<_, CallToolRequestParams>(params).err(),
        "resources/read" => deserialize::<_, ReadResourceRequestParams>(params).err(),
        "resources/subscribe" => deserialize::<_, SubscribeRequestParams>(params).err(),
        "resources/unsubscribe" => deserialize::<_, UnsubscribeRequestParams>(params).err(),
        "subscriptions/listen" => deserialize::<_, SubscriptionsListenRequestParams>(params).err(),
        _ => None,
    };
    let text = match error {
        Some(error) => wrong_field(method, &error),
        None => format!("the params are not those of {method}"),
    };
    ErrorData::invalid_params(text, None)
}

/// Says which field of the params of a method is wrong, and what is expected there.
pub(crate) fn wrong_field(method: &str, error: &PathError<serde_json::Error>) -> String {
    let path = error.path().to_string();
    let path = if path == "." { "" } else { &path };
    let why = error.inner().to_string();
    let missing = why.strip_prefix("missing field `");
    if let Some(field) = missing.and_then(|rest| rest.strip_suffix('`')) {
        let dot = if path.is_empty() { "" } else { "." };
        return format!("`{path}{dot}{field}` of {method} is missing");
    }
    // A client does not know the names of Rust types, so the error names JSON types.
    let why = match why.find("expected struct ") {
        Some(at) => format!("{}expected an object", &why[..at]),
        None => why
            .replace("expected a map", "expected an object")
            .replace("expected a sequence", "expected a list")
            .replace("invalid type: map", "invalid type: object")
            .replace("invalid type: sequence", "invalid type: list"),
    };
    format!("`{path}` of {method}: {why}")
}

/// The methods of `rmcp::ServerHandler` for requests that no server here serves. The server has `$methods`.
macro_rules! refuse_others {
    ($methods:expr) => {
        async fn list_prompts(
            &self,
            _: Option<rmcp::model::PaginatedRequestParams>,
            _: rmcp::service::RequestContext<rmcp::RoleServer>,
        ) -> Result<rmcp::model::ListPromptsResult, rmcp::ErrorData> {
            Err($crate::methods::absent("prompts/list", &$methods))
        }

        async fn get_prompt(
            &self,
            _: rmcp::model::GetPromptRequestParams,
            _: rmcp::service::RequestContext<rmcp::RoleServer>,
        ) -> Result<rmcp::model::GetPromptResponse, rmcp::ErrorData> {
            Err($crate::methods::absent("prompts/get", &$methods))
        }

        async fn complete(
            &self,
            _: rmcp::model::CompleteRequestParams,
            _: rmcp::service::RequestContext<rmcp::RoleServer>,
        ) -> Result<rmcp::model::CompleteResult, rmcp::ErrorData> {
            Err($crate::methods::absent("completion/complete", &$methods))
        }

        #[allow(deprecated, reason = "revisions before 2026-07-28")]
        async fn set_level(
            &self,
            _: rmcp::model::SetLevelRequestParams,
            _: rmcp::service::RequestContext<rmcp::RoleServer>,
        ) -> Result<(), rmcp::ErrorData> {
            Err($crate::methods::absent("logging/setLevel", &$methods))
        }

        async fn on_custom_request(
            &self,
            request: rmcp::model::CustomRequest,
            _: rmcp::service::RequestContext<rmcp::RoleServer>,
        ) -> Result<rmcp::model::CustomResult, rmcp::ErrorData> {
            Err($crate::methods::unread(&request, &$methods))
        }
    };
}

pub(crate) use refuse_others;
