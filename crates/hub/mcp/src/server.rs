//! The MCP server of an agent, as rmcp calls it.

use std::collections::BTreeSet;
use std::sync::Arc;

use accp_client::Principal;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, DiscoverResult, ErrorCode, Implementation,
    InitializeRequestParams, InitializeResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use crate::connection::Connection;
use crate::fault::{absent, over, unserved};
use crate::request::{Request, given_up};
use crate::resources::Address;
use crate::subscriptions::{Subscriptions, listen};
use crate::{answer, calls, instructions, methods, resources, tools};

/// The methods of the server, beside those that every server has.
const METHODS: [&str; 8] = [
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
];

/// A server for one client. Several clients may share a connection.
pub(crate) struct Server {
    connection: Arc<Connection>,
    subscriptions: Subscriptions,
}

impl Server {
    pub(crate) fn new(connection: Arc<Connection>) -> Self {
        Self {
            connection,
            subscriptions: Subscriptions::default(),
        }
    }

    /// Returns the introduction of the server, with instructions for the model.
    async fn introduction(&self) -> Result<ServerConfig, ErrorData> {
        let inbox = self
            .connection
            .inbox()
            .await
            .map_err(|error| unserved(&error))?;
        let text = instructions::write(&inbox).await;
        let text = text.map_err(|error| unserved(&error))?;
        Ok(self.get_info().with_instructions(text))
    }

    fn address(&self, uri: &str) -> Result<Address, ErrorData> {
        let unknown = || {
            let text = format!("there is no resource {uri}");
            no_resource(accp_frame::ErrorCode::REF_NOT_FOUND, text)
        };
        Address::read(self.connection.session(), uri).ok_or_else(unknown)
    }
}

/// Makes the error for a resource that is not there, or that does not change.
fn no_resource(code: accp_frame::ErrorCode, text: String) -> ErrorData {
    let cure = "take an address from resources/list, or one that fits resources/templates/list; those that change are \
                context, hot and warm";
    absent(ErrorCode::RESOURCE_NOT_FOUND, text, code, cure)
}

fn missing(error: resources::Missing) -> ErrorData {
    match error {
        resources::Missing::Unknown(code, text) => no_resource(code, text),
        resources::Missing::Agent(error) => unserved(&error),
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .build();
        let version = env!("CARGO_PKG_VERSION");
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("accp-mcp", version).with_title("ACCP"))
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        let introduction = Request::of(&context).serve(self.introduction());
        result.instructions = introduction.await?.instructions;
        Ok(result)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = ServerHandler::supported_protocol_versions(self).into_owned();
        let introduction = Request::of(&context).serve(self.introduction()).await?;
        Ok(DiscoverResult::from_server_info(versions, introduction))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let args = request.arguments.unwrap_or_default();
        let asked = Request::of(&context);
        let answer = tokio::select! {
            biased;
            answer = calls::call(&self.connection, &request.name, &args, asked) => answer,
            () = asked.given_up() => return Err(given_up()),
        };
        let Some(answer) = answer else {
            let names: Vec<_> = tools::all().into_iter().map(|tool| tool.name).collect();
            let text = format!(
                "there is no tool {}; the tools are {}",
                request.name,
                names.join(", ")
            );
            let code = accp_frame::ErrorCode::TOOL_NOT_FOUND;
            let cure = "call one of the tools of tools/list";
            return Err(absent(ErrorCode::INVALID_PARAMS, text, code, cure));
        };
        Ok(answer::result(&request.name, &context.id, answer).into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let all = resources::list(self.connection.session());
        Ok(ListResourcesResult::with_all_items(all))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let all = resources::templates(self.connection.session());
        Ok(ListResourceTemplatesResult::with_all_items(all))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let address = self.address(&request.uri)?;
        let contents = Request::of(&context).serve(async {
            let contents = resources::read(&self.connection, &request.uri, &address).await;
            contents.map_err(missing)
        });
        Ok(ReadResourceResult::new(vec![contents.await?]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !self.address(&request.uri)?.changes() {
            let text = format!("{} is not a resource that changes", request.uri);
            return Err(no_resource(accp_frame::ErrorCode::REF_NOT_FOUND, text));
        }
        let asked = Request::of(&context);
        let who = asked.who().map(Principal::beyond_its_request);
        let peer = context.peer.clone();
        let subscribed = self
            .subscriptions
            .add(&self.connection, request.uri, peer, who);
        asked
            .serve(async { subscribed.await.map_err(|error| unserved(&error)) })
            .await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::new();
        let watched = requested.resource_subscriptions.iter().flatten();
        let session = self.connection.session();
        let changes = |uri: &&String| Address::read(session, uri).is_some_and(Address::changes);
        let watched: BTreeSet<&String> = watched.filter(changes).collect();
        accepted.resource_subscriptions = Some(watched.into_iter().cloned().collect());
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let asked = Request::of(context.request_context());
        tokio::select! {
            biased;
            why = asked.over() => Err(over(why)),
            () = asked.given_up() => Ok(()),
            () = asked.ends() => Ok(()),
            heard = listen(&self.connection, &context) => heard.map_err(|error| unserved(&error)),
        }
    }

    methods::refuse_others!(METHODS);
}
