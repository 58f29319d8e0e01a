//! The MCP server of an agent, as rmcp calls it.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, DiscoverResult, ErrorCode, Implementation,
    InitializeRequestParams, InitializeResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use crate::desk::Desk;
use crate::seat::Seat;
use crate::watch::Watches;
use crate::{answer, calls, instructions, resources, tools};

/// A server for one client. Several may share a seat.
pub(crate) struct Server {
    seat: Arc<Seat>,
    watches: Watches,
}

impl Server {
    pub(crate) fn new(seat: Arc<Seat>) -> Self {
        Self {
            seat,
            watches: Watches::default(),
        }
    }

    async fn desk(&self) -> Result<Arc<Desk>, ErrorData> {
        self.seat.desk().await.map_err(|error| ended(&error))
    }

    /// Returns what the server says of itself, with instructions for the model.
    async fn introduction(&self) -> Result<ServerConfig, ErrorData> {
        let text = instructions::write(&*self.desk().await?).await;
        let text = text.map_err(|error| ended(&error))?;
        Ok(self.get_info().with_instructions(text))
    }
}

/// The agent cannot go on, so no request can be served.
fn ended(error: &accp_client::Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

fn missing(error: resources::Missing) -> ErrorData {
    match error {
        resources::Missing::Unknown(text) => ErrorData::resource_not_found(text, None),
        resources::Missing::Agent(error) => ended(&error),
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
        result.instructions = self.introduction().await?.instructions;
        Ok(result)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = ServerHandler::supported_protocol_versions(self).into_owned();
        let introduction = self.introduction().await?;
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
        let desk = self.desk().await?;
        let answer = tokio::select! {
            answer = calls::call(&desk, &request.name, &args) => answer,
            // The client does not wait for the result any more.
            () = context.ct.cancelled() => {
                return Err(ErrorData::internal_error("the call was cancelled", None));
            }
        };
        let Some(answer) = answer else {
            let names: Vec<_> = tools::all().into_iter().map(|tool| tool.name).collect();
            let text = format!(
                "there is no tool {}; the tools are {}",
                request.name,
                names.join(", ")
            );
            return Err(ErrorData::new(ErrorCode::INVALID_PARAMS, text, None));
        };
        Ok(answer::result(&request.name, &context.id, answer).into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let desk = self.desk().await?;
        Ok(ListResourcesResult::with_all_items(resources::list(&desk)))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let all = resources::templates(&*self.desk().await?);
        Ok(ListResourceTemplatesResult::with_all_items(all))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = resources::read(&*self.desk().await?, &request.uri).await;
        Ok(ReadResourceResult::new(vec![contents.map_err(missing)?]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !resources::is_watched(self.seat.session(), &request.uri) {
            let text = format!("{} is no resource that changes", request.uri);
            return Err(ErrorData::resource_not_found(text, None));
        }
        let desk = self.desk().await?;
        let watched = self.watches.add(&desk, request.uri, context.peer);
        watched.await.map_err(|error| ended(&error))
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.watches.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::new();
        let watched = requested.resource_subscriptions.iter().flatten();
        let watched = watched.filter(|uri| resources::is_watched(self.seat.session(), uri));
        accepted.resource_subscriptions = Some(watched.cloned().collect());
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let wanted = context.accepted().resource_subscriptions.clone();
        crate::watch::listen(&*self.desk().await?, wanted.unwrap_or_default(), &context)
            .await
            .map_err(|error| ended(&error))
    }
}
