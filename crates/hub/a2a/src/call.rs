//! The methods of A2A.

use std::time::Duration;

use a2a::{
    A2AError, CancelTaskRequest, GetTaskRequest, JsonRpcRequest, StreamResponse,
    SubscribeToTaskRequest, Task, methods,
};
use accp_client::Agents;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::desk::{Desk, Wanted};
use crate::fault::{self, Failure};
use crate::follow::Follow;
use crate::incoming::Incoming;
use crate::places::Visit;
use crate::speaker::Speaker;

/// The answer to a call.
pub(crate) enum Answer {
    One(Value),
    /// The task, and then its updates.
    Stream(Box<(Task, Follow)>),
}

/// A call that can be carried out, as far as that can be known without its session.
pub(crate) enum Call {
    Send(Incoming),
    Stream(Incoming),
    Subscribe(String),
    /// The task, and how many of its messages.
    Get(String, Option<usize>),
    List(Wanted),
    Cancel(String),
}

impl Call {
    /// Reads a call for an agent of this session.
    pub(crate) fn read(call: JsonRpcRequest, session: &str) -> Result<Self, A2AError> {
        let given = call.params;
        Ok(match call.method.as_str() {
            methods::SEND_MESSAGE => Self::Send(Incoming::read(params(given)?, session)?),
            methods::SEND_STREAMING_MESSAGE => {
                Self::Stream(Incoming::read(params(given)?, session)?)
            }
            methods::SUBSCRIBE_TO_TASK => {
                let request: SubscribeToTaskRequest = params(given)?;
                Self::Subscribe(request.id)
            }
            methods::GET_TASK => {
                let request: GetTaskRequest = params(given)?;
                let history = fault::count("historyLength", request.history_length)?;
                Self::Get(request.id, history)
            }
            methods::LIST_TASKS => {
                let given = given.or_else(|| Some(Value::Object(<_>::default())));
                Self::List(Wanted::read(params(given)?)?)
            }
            methods::CANCEL_TASK => {
                let request: CancelTaskRequest = params(given)?;
                Self::Cancel(request.id)
            }
            methods::CREATE_PUSH_CONFIG
            | methods::GET_PUSH_CONFIG
            | methods::LIST_PUSH_CONFIGS
            | methods::DELETE_PUSH_CONFIG => return Err(fault::of_push()),
            methods::GET_EXTENDED_AGENT_CARD => {
                return Err(A2AError::unsupported_operation(
                    "there is no extended card: the card has everything",
                ));
            }
            other => {
                let error = A2AError::method_not_found(other);
                let message = format!("{error}; expected a method of A2A 1.0, such as SendMessage");
                return Err(A2AError { message, ..error });
            }
        })
    }

    /// Returns how many frames the call wants to send, at most.
    pub(crate) fn frames(&self) -> usize {
        match self {
            Self::Send(incoming) | Self::Stream(incoming) => incoming.content.frame_count(),
            Self::Cancel(_) => 1,
            Self::Subscribe(_) | Self::Get(..) | Self::List(_) => 0,
        }
    }

    /// Answers the call.
    pub(crate) async fn answer<A: Agents>(
        self,
        visit: &Visit<'_, A>,
        wait: Duration,
    ) -> Result<Answer, Failure> {
        let desk = Desk::of(visit).await?;
        match self {
            Self::Send(incoming) => {
                let task = Speaker { visit, desk, wait }.send(incoming).await?;
                one(&a2a::SendMessageResponse::Task(task))
            }
            Self::Stream(incoming) => {
                let streamed = Speaker { visit, desk, wait }.stream(incoming).await?;
                Ok(Answer::Stream(Box::new(streamed)))
            }
            Self::Cancel(id) => one(&Speaker { visit, desk, wait }.cancel(&id).await?),
            Self::Subscribe(id) => {
                let desk = desk.ok_or_else(|| A2AError::task_not_found(&id))?;
                Ok(Answer::Stream(Box::new(desk.subscribe(&id).await?)))
            }
            Self::Get(id, history) => {
                let desk = desk.ok_or_else(|| A2AError::task_not_found(&id))?;
                one(&desk.get(&id, history).await?)
            }
            Self::List(wanted) => match desk {
                Some(desk) => one(&desk.list(&wanted).await?),
                None => one(&wanted.of_nothing()),
            },
        }
    }
}

/// Returns the first update of a stream.
pub(crate) fn first(task: Task) -> StreamResponse {
    StreamResponse::Task(task)
}

fn one(result: &impl Serialize) -> Result<Answer, Failure> {
    Ok(to_value(result).map(Answer::One)?)
}

/// Writes a result as JSON.
pub(crate) fn to_value(result: &impl Serialize) -> Result<Value, A2AError> {
    serde_json::to_value(result).map_err(|error| A2AError::internal(error.to_string()))
}

/// Reads the params of a call.
fn params<T: DeserializeOwned>(params: Option<Value>) -> Result<T, A2AError> {
    let params = params.unwrap_or_default();
    serde_json::from_value(params)
        .map_err(|error| fault::of_field("params", &error.to_string(), []))
}
