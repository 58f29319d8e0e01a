//! What clients ask of one agent.

mod list;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use a2a::{
    A2AError, CancelTaskRequest, GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest, Task,
};
use accp_client::Frames;
use accp_runtime::Message as Dynamic;
use accp_runtime::session::{Mid, Outbound};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::board::Board;
use crate::course::Course;
use crate::fault;
use crate::follow::Follow;
use crate::incoming::Content;
use crate::said::{ACCP, Said, TEXT};
use crate::shown::{Shown, stream_of};

/// Where clients of one agent are served.
pub(crate) struct Desk {
    pub(crate) shown: Shown,
    /// The tasks of the agent. Several requests share them.
    pub(crate) board: Arc<Mutex<Board>>,
    /// The time for which a call waits for the end of a task.
    pub(crate) wait: Duration,
}

impl Desk {
    /// Takes a message, and waits for the end of its task unless the client does not want that.
    pub(crate) async fn send(&self, request: SendMessageRequest) -> Result<Task, A2AError> {
        let configuration = request.configuration.as_ref();
        let history = configuration.and_then(|wishes| wishes.history_length);
        let returns = configuration.and_then(|wishes| wishes.return_immediately);
        let history = count("configuration.historyLength", history)?;
        let id = self.take(&request).await?.id;
        let course = self.find(&id).await?;
        let mut follow = Follow::new(self.shown.clone(), course, BTreeSet::new());
        if returns != Some(true) {
            // After this time the client gets the task as it is.
            if let Ok(settled) = timeout(self.wait, follow.settle()).await {
                settled.map_err(|error| fault::of_agent(&error))?;
            }
        }
        self.show(&follow.course, history).await
    }

    /// Takes a message, and returns its task with what comes after.
    pub(crate) async fn stream(
        &self,
        request: SendMessageRequest,
    ) -> Result<(Task, Follow), A2AError> {
        let course = self.take(&request).await?;
        self.watch(course).await
    }

    /// Returns a task with what comes after.
    pub(crate) async fn subscribe(
        &self,
        request: SubscribeToTaskRequest,
    ) -> Result<(Task, Follow), A2AError> {
        let course = self.find(&request.id).await?;
        if course.state.is_terminal() {
            return Err(ended(&course, "GetTask returns it"));
        }
        self.watch(course).await
    }

    pub(crate) async fn get(&self, request: GetTaskRequest) -> Result<Task, A2AError> {
        let history = count("historyLength", request.history_length)?;
        let course = self.find(&request.id).await?;
        self.show(&course, history).await
    }

    /// Cancels the chain of a task.
    pub(crate) async fn cancel(&self, request: CancelTaskRequest) -> Result<Task, A2AError> {
        let course = self.find(&request.id).await?;
        let refused = || A2AError::task_not_cancelable(&request.id);
        if course.state.is_terminal() {
            return Err(refused());
        }
        let agent = &self.shown.agent;
        let cancel = Dynamic::new(agent.name().to_owned(), "cancel", "task");
        let cancel = cancel.map_err(|error| A2AError::internal(error.to_string()))?;
        let cancel = Outbound::owned_message(cancel).in_chain(course.id.clone());
        let sent = agent.send_with(cancel).await;
        sent.map_err(|error| fault::of_agent(&error))?;
        let mut follow = Follow::new(self.shown.clone(), course, BTreeSet::new());
        if let Ok(over) = timeout(self.wait, follow.end()).await {
            over.map_err(|error| fault::of_agent(&error))?;
        }
        match follow.course.state {
            // The answer was faster.
            a2a::TaskState::Completed | a2a::TaskState::Failed => Err(refused()),
            _ => self.show(&follow.course, None).await,
        }
    }

    async fn show(&self, course: &Course, history: Option<usize>) -> Result<Task, A2AError> {
        let task = self.shown.task(course, history, true).await;
        task.map_err(|error| fault::of_agent(&error))
    }

    async fn watch(&self, course: Course) -> Result<(Task, Follow), A2AError> {
        let failed = |error| fault::of_agent(&error);
        let task = self.shown.task(&course, None, true).await.map_err(failed)?;
        let known = task.artifacts.iter().flatten();
        let begun = known.filter_map(|artifact| stream_of(&artifact.artifact_id));
        let begun = begun.map(str::to_owned).collect();
        Ok((task, Follow::new(self.shown.clone(), course, begun)))
    }

    /// Returns the task with this id.
    async fn find(&self, id: &str) -> Result<Course, A2AError> {
        let known = self.known(id).await?;
        known.ok_or_else(|| A2AError::task_not_found(id))
    }

    async fn known(&self, id: &str) -> Result<Option<Course>, A2AError> {
        let mut board = self.board.lock().await;
        let read = board.catch_up(&self.shown.agent).await;
        read.map_err(|error| fault::of_agent(&error))?;
        Ok(board.get(id).cloned())
    }

    /// Sends what a message holds into the session. Returns its task as it stood before all that may follow
    /// from the message, so that a stream has each frame that does.
    async fn take(&self, request: &SendMessageRequest) -> Result<Course, A2AError> {
        let message = &request.message;
        let named = message.task_id.as_deref().filter(|id| !id.is_empty());
        let context = message.context_id.as_deref().filter(|id| !id.is_empty());
        if context.is_some_and(|context| context != self.shown.session) {
            let text = format!(
                "expected `{}`, the session that is the context of all tasks here, or no contextId",
                self.shown.session
            );
            return Err(fault::of_field("message.contextId", &text, []));
        }
        let said = Content::read(message)?;
        let (agent, registry) = (&self.shown.agent, &self.shown.registry);
        if let Some(id) = named {
            let course = self.find(id).await?;
            if course.state.is_terminal() {
                return Err(ended(
                    &course,
                    "begin a new one by a message without taskId",
                ));
            }
            let frames = said.frames(agent.name(), &course.id, false, registry)?;
            self.put(&course.id, course.last + 1, frames).await?;
            return Ok(course);
        }
        let id = said.chain(&message.message_id);
        // The client has sent this message before.
        if let Some(course) = self.known(&id).await? {
            return Ok(course.at_its_beginning());
        }
        let frames = said.frames(agent.name(), &id, true, registry)?;
        let position = agent.look(accp_runtime::session::Session::position).await;
        let after = position.map_err(|error| fault::of_agent(&error))? + 1;
        self.put(&id, after, frames).await?;
        Ok(self.find(&id).await?.at_its_beginning())
    }

    /// Sends frames, each once the host has taken the one before.
    async fn put(
        &self,
        chain: &str,
        after: u64,
        frames: Vec<(usize, Outbound<'static>)>,
    ) -> Result<(), A2AError> {
        let agent = &self.shown.agent;
        let mut log = agent.frames(after);
        let chain = Mid::parse(chain);
        for (part, outbound) in frames {
            let asked = agent.ask_with::<()>(outbound).within(self.wait).frame();
            // The log tells that the host took the frame, and the question tells if it did not.
            tokio::select! {
                biased;
                answered = asked => match answered {
                    Ok(_) | Err(accp_client::Error::Failed { .. }) => {}
                    Err(error) => return Err(fault::of_session(part, &error)),
                },
                taken = self.taken(&mut log, &chain) => {
                    taken.map_err(|error| fault::of_agent(&error))?;
                }
            }
        }
        Ok(())
    }

    /// Waits for the next frame of the client in a chain.
    async fn taken(&self, log: &mut Frames, chain: &Mid) -> Result<(), accp_client::Error> {
        while let Some(entry) = log.next().await? {
            let said = Said::read(&entry.text);
            if said.is_ok_and(|said| Course::is_mine(chain, self.shown.agent.name(), &said)) {
                return Ok(());
            }
        }
        Err(accp_client::Error::Ended("its task is over".to_owned()))
    }
}

/// Checks what a client wishes beside its message.
pub(crate) fn check(request: &SendMessageRequest) -> Result<(), A2AError> {
    let Some(wishes) = &request.configuration else {
        return Ok(());
    };
    if wishes.task_push_notification_config.is_some() {
        return Err(fault::of_push());
    }
    let modes = wishes.accepted_output_modes.as_deref().unwrap_or_default();
    let fits = |mode: &String| {
        let mode = mode.split(';').next().unwrap_or_default().trim();
        [ACCP, TEXT, "*/*", "text/*", "application/*"].contains(&mode)
    };
    if !modes.is_empty() && !modes.iter().any(fits) {
        let error = A2AError::content_type_not_supported();
        let message =
            format!("configuration.acceptedOutputModes: expected {ACCP} or {TEXT} among them");
        return Err(A2AError { message, ..error });
    }
    Ok(())
}

/// Reads a number that is not negative.
pub(crate) fn count(field: &str, number: Option<i32>) -> Result<Option<usize>, A2AError> {
    let number = number.map(usize::try_from).transpose();
    number.map_err(|_| fault::of_field(field, "expected a number from 0", []))
}

fn ended(course: &Course, cure: &str) -> A2AError {
    let state = serde_json::to_value(&course.state).unwrap_or_default();
    let state = state.as_str().unwrap_or_default();
    let text = format!("the task {} has ended ({state}): {cure}", course.id);
    A2AError::unsupported_operation(text)
}
