//! One request of the session on its way through an agent of A2A.

use std::error::Error as StdError;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use a2a::{
    Message, SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamResponse,
    Task, TaskState, TaskStatus, methods,
};
use accp_client::{Agent, Cx};
use accp_frame::{ErrorCode, Intent, Message as Dynamic, Registry};
use accp_session::Outbound;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::sleep;

use super::RemoteError;
use super::question;
use super::told::{Comes, Told, failure, words};
use super::wire::{Updates, Wire};

/// The times before the first looks at a task whose updates do not come by themselves.
const LOOKS: [Duration; 3] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(3),
];
/// The time before each further look.
const LAST: Duration = Duration::from_secs(10);
/// The time for which a task that is to be cancelled may take to get its name.
const NAMED: Duration = Duration::from_secs(20);
/// Looks in a row that may fail.
const FAILURES: usize = 6;

/// What it takes to ask an agent of A2A.
pub(super) struct Errand {
    pub(super) wire: Arc<Wire>,
    pub(super) session: Arc<str>,
    pub(super) registry: Arc<Registry>,
}

/// A task of the other agent, and the chain of the session that it stands for.
struct Course<'e> {
    errand: &'e Errand,
    agent: Agent,
    chain: String,
    operation: String,
    /// The id of the task, once it has one.
    task: watch::Sender<Option<String>>,
    told: Told,
    /// True while the other agent waits for somebody.
    waits: bool,
}

impl Errand {
    /// Handles a frame of the session.
    pub(super) async fn run(self, cx: Cx) -> Result<(), Box<dyn StdError + Send + Sync>> {
        let agent = cx.agent()?;
        let request = cx.inbound().message(&self.registry)?.into_owned();
        let is_own = request.intent == Intent::REQ;
        if !is_own || question::is_for_another(&request, agent.name()) {
            return Ok(());
        }
        let mid = cx.inbound().mid()?.to_string();
        let chain = request.envelope.correlation_id.as_deref();
        let (told, mut task) = watch::channel(None::<String>);
        let mut course = Course {
            errand: &self,
            chain: chain.unwrap_or(&mid).to_owned(),
            operation: request.operation.to_string(),
            task: told,
            told: Told::default(),
            waits: false,
            agent: agent.clone(),
        };
        // The same request gets the same id, so that a server that knows it makes no second task.
        let id = format!("{}-{mid}", self.session);
        let (wire, registry) = (&self.wire, &self.registry);
        let text = cx.inbound().text();
        let message = question::message(id, text, &wire.card, &agent, registry).await;
        let cancel = cx.inbound().cancel_token().clone();
        let mut asking = pin!(course.ask(message));
        let reply = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            reply = &mut asking => Some(reply),
        };
        match reply {
            Some(Ok(reply)) => cx.reply_with(reply).await?,
            Some(Err(error)) => cx.reply_with(fault(&error)).await?,
            // Nobody waits for a reply in a cancelled chain. Only a task that has a name can be cancelled.
            None => {
                let name = async { task.wait_for(Option::is_some).await.ok()?.clone() };
                tokio::select! {
                    id = name => self.cancel(id.as_deref()).await,
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
        let cancelled = self.wire.call::<Task>(methods::CANCEL_TASK, &params);
        if let Err(error) = cancelled.await {
            tracing::debug!(%error, id, "a task was not cancelled");
        }
    }
}

impl Course<'_> {
    /// Sends the message, and returns the reply to the request.
    async fn ask(&mut self, message: Message) -> Result<Outbound<'static>, RemoteError> {
        let wire = Arc::clone(&self.errand.wire);
        let streams = wire.card.capabilities.streaming == Some(true);
        // A task that is known can be cancelled.
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
            let updates = wire.stream(methods::SEND_STREAMING_MESSAGE, &request);
            if let Some(reply) = self.follow(updates.await?).await? {
                return Ok(reply);
            }
        } else {
            let answer = wire.call(methods::SEND_MESSAGE, &request).await?;
            let update = match answer {
                SendMessageResponse::Task(task) => StreamResponse::Task(task),
                SendMessageResponse::Message(message) => StreamResponse::Message(message),
            };
            if let Some(reply) = self.take(update).await? {
                return Ok(reply);
            }
        }
        self.look_again(&wire).await
    }

    /// Takes the updates of a stream as far as it goes. Returns the reply if it comes that far.
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
                // The task may go on without its stream: who asks for it learns that.
                Err(RemoteError::Unreachable(..) | RemoteError::Refused { .. })
                    if self.task.borrow().is_some() =>
                {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Follows a task whose stream has ended before it.
    async fn look_again(&mut self, wire: &Wire) -> Result<Outbound<'static>, RemoteError> {
        let id = self.task.borrow().clone();
        let Some(id) = id else {
            let url = wire.card.name.clone();
            let why = "the stream has ended without a task or an answer";
            return Err(RemoteError::Unreachable(url, why.to_owned()));
        };
        let params = json!({ "id": id });
        let streams = wire.card.capabilities.streaming == Some(true);
        let mut failures = 0;
        let mut looks = LOOKS.iter().copied();
        loop {
            sleep(looks.next().unwrap_or(LAST)).await;
            if streams
                && let Ok(updates) = wire.stream(methods::SUBSCRIBE_TO_TASK, &params).await
                && let Some(reply) = self.follow(updates).await?
            {
                return Ok(reply);
            }
            match wire.call::<Task>(methods::GET_TASK, &params).await {
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

    /// Takes an update. Returns the reply, if it ends the task.
    async fn take(
        &mut self,
        update: StreamResponse,
    ) -> Result<Option<Outbound<'static>>, RemoteError> {
        let agent = self.agent.name().to_owned();
        let registry = &*self.errand.registry;
        match update {
            StreamResponse::Task(task) => {
                self.task.send_replace(Some(task.id));
                for artifact in task.artifacts.iter().flatten() {
                    let (id, parts) = (&artifact.artifact_id, &artifact.parts);
                    let pieces = self.told.take(id, parts, Comes::Whole, &agent, registry);
                    self.send(pieces).await?;
                }
                self.stands(&task.status).await
            }
            StreamResponse::ArtifactUpdate(update) => {
                let comes = match update.append {
                    Some(true) => Comes::More(update.last_chunk == Some(true)),
                    _ => Comes::First,
                };
                let artifact = &update.artifact;
                let (id, parts) = (&artifact.artifact_id, &artifact.parts);
                let pieces = self.told.take(id, parts, comes, &agent, registry);
                self.send(pieces).await?;
                Ok(None)
            }
            StreamResponse::StatusUpdate(update) => {
                self.task.send_replace(Some(update.task_id));
                self.stands(&update.status).await
            }
            StreamResponse::Message(message) => {
                self.told.says(&message, &agent, registry);
                Ok(Some(self.told.answer(&self.operation, &agent, registry)))
            }
        }
    }

    /// Takes the state of the task. Returns the reply, if it has ended.
    async fn stands(
        &mut self,
        status: &TaskStatus,
    ) -> Result<Option<Outbound<'static>>, RemoteError> {
        let (agent, registry) = (self.agent.name(), &*self.errand.registry);
        let message = status.message.as_ref();
        let failed = |otherwise| failure(message, otherwise, agent, registry);
        Ok(match status.state {
            TaskState::Completed => Some(self.told.answer(&self.operation, agent, registry)),
            TaskState::Failed => Some(failed("the remote agent has failed")),
            TaskState::Rejected => Some(failed("the remote agent rejects the task")),
            TaskState::Canceled => Some(failed("the remote agent has cancelled the task")),
            TaskState::InputRequired | TaskState::AuthRequired => {
                if !std::mem::replace(&mut self.waits, true) {
                    let reason = words(message).unwrap_or_else(|| "the remote agent waits".into());
                    let wait = Dynamic::new(agent.to_owned(), "wait", "task");
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
                // A piece that the session does not take must not cost the answer.
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
