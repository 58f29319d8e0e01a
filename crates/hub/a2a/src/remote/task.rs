//! A request of the session as a task of an agent of A2A.

use std::error::Error as StdError;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use a2a::{
    Message, SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamResponse,
    Task, TaskState, TaskStatus, methods,
};
use accp_client::{Agent, Cx};
use accp_frame::{DynamicFrame, ErrorCode, Intent, Registry};
use accp_session::Outbound;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::left_out::LEFT_OUT;

use super::RemoteError;
use super::artifacts::{Change, ReceivedArtifacts, failure, words};
use super::client::{RpcClient, Updates};
use super::message;

/// How long to wait before each of the first polls of a task whose updates are not streamed.
const POLLS: [Duration; 3] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(3),
];
/// How long to wait before each further poll.
const LAST: Duration = Duration::from_secs(10);
/// How long to wait for the id of a task that is to be cancelled.
const NAMED: Duration = Duration::from_secs(20);
/// How many polls in a row may fail.
const FAILURES: usize = 6;

/// The data that all tasks of one agent of A2A share.
pub(super) struct TaskContext {
    pub(super) client: Arc<RpcClient>,
    pub(super) session: Arc<str>,
    pub(super) registry: Arc<Registry>,
}

/// A task of the other agent, and the chain of the session that it stands for.
struct RemoteTask<'e> {
    context: &'e TaskContext,
    agent: Agent,
    chain: String,
    operation: String,
    /// The id of the task, once it has one.
    task: watch::Sender<Option<String>>,
    received: ReceivedArtifacts,
    /// True while the other agent waits for input.
    waits: bool,
}

impl TaskContext {
    /// Handles a frame of the session.
    pub(super) async fn run(self, cx: Cx) -> Result<(), Box<dyn StdError + Send + Sync>> {
        let agent = cx.agent()?;
        let request = cx.inbound().message(&self.registry)?.into_owned();
        let is_own = request.intent == Intent::REQ;
        if !is_own {
            return Ok(());
        }
        let mid = cx.inbound().mid()?.to_string();
        let chain = request.envelope.correlation_id.as_deref();
        let (id_sender, mut known_id) = watch::channel(None::<String>);
        let mut task = RemoteTask {
            context: &self,
            chain: chain.unwrap_or(&mid).to_owned(),
            operation: request.operation.to_string(),
            task: id_sender,
            received: ReceivedArtifacts::default(),
            waits: false,
            agent: agent.clone(),
        };
        // A repeated request gets the same id, so a server that already has it makes no second task.
        let id = format!("{}-{mid}", self.session);
        let (client, registry) = (&self.client, &self.registry);
        let text = cx.inbound().text();
        let message = message::message(id, text, &client.card, &agent, registry).await;
        let cancel = cx.inbound().cancel_token().clone();
        let mut asking = pin!(task.ask(message));
        let reply = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            reply = &mut asking => Some(reply),
        };
        match reply {
            Some(Ok(reply)) => cx.reply_with(reply).await?,
            Some(Err(error)) => cx.reply_with(fault(&error)).await?,
            // The chain was cancelled, so no agent waits for a reply. The remote task can be
            // cancelled only when its id is known, so this waits a while for the id.
            None => {
                let id = async { known_id.wait_for(Option::is_some).await.ok()?.clone() };
                tokio::select! {
                    id = id => self.cancel(id.as_deref()).await,
                    _ = asking => {}
                    () = sleep(NAMED) => {}
                }
            }
        }
        Ok(())
    }

    /// Cancels a task.
    async fn cancel(&self, id: Option<&str>) {
        let params = json!({ "id": id });
        let cancelled = self.client.call::<Task>(methods::CANCEL_TASK, &params);
        if let Err(error) = cancelled.await {
            tracing::debug!(%error, id, "a task was not cancelled");
        }
    }
}

impl RemoteTask<'_> {
    /// Sends the message, and returns the reply to the request.
    async fn ask(&mut self, message: Message) -> Result<Outbound<'static>, RemoteError> {
        let client = Arc::clone(&self.context.client);
        let streams = client.card.capabilities.streaming == Some(true);
        // With `return_immediately` the server answers with the task at once. A cancellation needs
        // the id of the task.
        let configuration = SendMessageConfiguration {
            accepted_output_modes: None,
            task_push_notification_config: None,
            history_length: None,
            return_immediately: Some(true),
        };
        let request = SendMessageRequest {
            message,
            configuration: (!streams).then_some(configuration),
            metadata: None,
            tenant: None,
        };
        if streams {
            let updates = client.stream(methods::SEND_STREAMING_MESSAGE, &request);
            if let Some(reply) = self.follow(updates.await?).await? {
                return Ok(reply);
            }
        } else {
            let answer = client.call(methods::SEND_MESSAGE, &request).await?;
            let update = match answer {
                SendMessageResponse::Task(task) => StreamResponse::Task(task),
                SendMessageResponse::Message(message) => StreamResponse::Message(message),
            };
            if let Some(reply) = self.take(update).await? {
                return Ok(reply);
            }
        }
        self.poll(&client).await
    }

    /// Takes the updates of a stream until it ends. Returns the reply, if the stream brings it.
    async fn follow(
        &mut self,
        mut updates: Updates<'_>,
    ) -> Result<Option<Outbound<'static>>, RemoteError> {
        loop {
            match updates.next().await {
                Ok(Some(update)) => {
                    if let Some(reply) = self.take(update).await? {
                        return Ok(Some(reply));
                    }
                }
                Ok(None) => return Ok(None),
                // The task may continue although its stream has failed. Polling shows whether it does.
                Err(RemoteError::Unreachable(..) | RemoteError::Refused { .. })
                    if self.task.borrow().is_some() =>
                {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Polls a task whose stream has ended before the task.
    async fn poll(&mut self, client: &RpcClient) -> Result<Outbound<'static>, RemoteError> {
        let id = self.task.borrow().clone();
        let Some(id) = id else {
            let url = client.card.name.clone();
            let why = "the stream has ended without a task or an answer";
            return Err(RemoteError::Unreachable(url, why.to_owned()));
        };
        let params = json!({ "id": id });
        let streams = client.card.capabilities.streaming == Some(true);
        let mut failures = 0;
        let mut polls = POLLS.iter().copied();
        loop {
            sleep(polls.next().unwrap_or(LAST)).await;
            if streams
                && let Ok(updates) = client.stream(methods::SUBSCRIBE_TO_TASK, &params).await
                && let Some(reply) = self.follow(updates).await?
            {
                return Ok(reply);
            }
            match client.call::<Task>(methods::GET_TASK, &params).await {
                Ok(task) => {
                    failures = 0;
                    if let Some(reply) = self.take(StreamResponse::Task(task)).await? {
                        return Ok(reply);
                    }
                }
                Err(RemoteError::Unreachable(..)) if failures < FAILURES => failures += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes an update. Returns the reply, if the update ends the task.
    async fn take(
        &mut self,
        update: StreamResponse,
    ) -> Result<Option<Outbound<'static>>, RemoteError> {
        let agent = self.agent.name().to_owned();
        let registry = &*self.context.registry;
        match update {
            StreamResponse::Task(task) => {
                self.task.send_replace(Some(task.id));
                for artifact in task.artifacts.iter().flatten() {
                    let (id, parts) = (&artifact.artifact_id, &artifact.parts);
                    let left_out = artifact.metadata.as_ref();
                    let left_out = left_out.and_then(|told| told.get(LEFT_OUT)?.as_u64());
                    let left_out = left_out.and_then(|parts| usize::try_from(parts).ok());
                    let change = Change::Whole(left_out.unwrap_or_default());
                    let pieces = self.received.take(id, parts, change, &agent, registry);
                    self.send(pieces).await?;
                }
                self.take_status(&task.status).await
            }
            StreamResponse::ArtifactUpdate(update) => {
                let change = match update.append {
                    Some(true) => Change::More(update.last_chunk == Some(true)),
                    _ => Change::First,
                };
                let artifact = &update.artifact;
                let (id, parts) = (&artifact.artifact_id, &artifact.parts);
                let pieces = self.received.take(id, parts, change, &agent, registry);
                self.send(pieces).await?;
                Ok(None)
            }
            StreamResponse::StatusUpdate(update) => {
                self.task.send_replace(Some(update.task_id));
                self.take_status(&update.status).await
            }
            StreamResponse::Message(message) => {
                self.received.take_answer(&message, &agent, registry);
                Ok(Some(self.received.answer(
                    &self.operation,
                    &agent,
                    registry,
                )))
            }
        }
    }

    /// Takes the state of the task. Returns the reply, if the task has ended.
    async fn take_status(
        &mut self,
        status: &TaskStatus,
    ) -> Result<Option<Outbound<'static>>, RemoteError> {
        let (agent, registry) = (self.agent.name(), &*self.context.registry);
        let message = status.message.as_ref();
        let failed = |otherwise| failure(message, otherwise, agent, registry);
        Ok(match status.state {
            TaskState::Completed => Some(self.received.answer(&self.operation, agent, registry)),
            TaskState::Failed => Some(failed("the remote agent has failed")),
            TaskState::Rejected => Some(failed("the remote agent rejects the task")),
            TaskState::Canceled => Some(failed("the remote agent has cancelled the task")),
            TaskState::InputRequired | TaskState::AuthRequired => {
                if !std::mem::replace(&mut self.waits, true) {
                    let reason = words(message).unwrap_or_else(|| "the remote agent waits".into());
                    let wait = DynamicFrame::new(agent.to_owned(), "wait", "task");
                    let wait = wait.map(|wait| wait.with("reason", reason));
                    let wait = wait.ok().map(Outbound::owned_message);
                    self.send(wait.into_iter().collect()).await?;
                }
                None
            }
            _ => {
                self.waits = false;
                None
            }
        })
    }

    /// Sends frames in the chain of the request.
    async fn send(&self, frames: Vec<Outbound<'static>>) -> Result<(), RemoteError> {
        for frame in frames {
            let sent = self.agent.send_with(frame.in_chain(self.chain.clone()));
            match sent.await {
                // If the session refuses a piece, the answer is still sent.
                Err(error @ (accp_client::Error::Input(_) | accp_client::Error::Refused(_))) => {
                    tracing::debug!(%error, "a piece of a remote agent was left out");
                }
                sent => drop(sent?),
            }
        }
        Ok(())
    }
}

/// Returns the failure of a request whose task cannot be followed.
fn fault(error: &RemoteError) -> Outbound<'static> {
    let code = match error {
        RemoteError::Refused {
            accp: Some(code), ..
        } => *code,
        RemoteError::Unreachable(..) => ErrorCode::TIMEOUT,
        _ => ErrorCode::INTERNAL_ERROR,
    };
    Outbound::error(code, error.to_string())
}
