//! The methods of A2A.

use std::time::Duration;

use a2a::{
    A2AError, CancelTaskRequest, GetTaskRequest, JsonRpcRequest, SubscribeToTaskRequest, Task,
    methods,
};
use accp_client::Agents;
use serde::Serialize;
use serde_json::Value;

use crate::fault::{self, Failure};
use crate::message::ClientMessage;
use crate::params;
use crate::pool::SlotGuard;
use crate::reader::{ListFilter, TaskReader};
use crate::updates::TaskUpdates;
use crate::writer::TaskWriter;

/// The answer to a call.
pub(crate) enum Answer {
    One(Value),
    /// The task, and then its updates.
    Stream(Box<(Task, TaskUpdates)>),
}

/// A call whose params have passed all checks that need no session.
pub(crate) enum Call {
    Send(ClientMessage),
    Stream(ClientMessage),
    Subscribe(String),
    /// The id of the task, and how many of its messages to return at most.
    Get(String, Option<usize>),
    List(ListFilter),
    Cancel(String),
}

impl Call {
    /// Reads a call for an agent of this session.
    pub(crate) fn read(call: JsonRpcRequest, session: &str) -> Result<Self, A2AError> {
        let given = call.params;
        Ok(match call.method.as_str() {
            methods::SEND_MESSAGE => {
                Self::Send(ClientMessage::read(params::read(given)?, session)?)
            }
            methods::SEND_STREAMING_MESSAGE => {
                Self::Stream(ClientMessage::read(params::read(given)?, session)?)
            }
            methods::SUBSCRIBE_TO_TASK => {
                let request: SubscribeToTaskRequest = params::read(given)?;
                Self::Subscribe(request.id)
            }
            methods::GET_TASK => {
                let request: GetTaskRequest = params::read(given)?;
                let history = fault::count("historyLength", request.history_length)?;
                Self::Get(request.id, history)
            }
            methods::LIST_TASKS => {
                let given = given.or_else(|| Some(Value::Object(<_>::default())));
                Self::List(ListFilter::read(params::read(given)?)?)
            }
            methods::CANCEL_TASK => {
                let request: CancelTaskRequest = params::read(given)?;
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

    /// Returns how many frames the call sends at most.
    pub(crate) fn frames(&self) -> usize {
        match self {
            Self::Send(message) | Self::Stream(message) => message.content.frame_count(),
            Self::Cancel(_) => 1,
            Self::Subscribe(_) | Self::Get(..) | Self::List(_) => 0,
        }
    }

    /// Answers the call.
    pub(crate) async fn answer<A: Agents>(
        self,
        slot: &SlotGuard<'_, A>,
        wait: Duration,
    ) -> Result<Answer, Failure> {
        let reader = TaskReader::of(slot).await?;
        match self {
            Self::Send(message) => {
                let task = TaskWriter { slot, reader, wait }.send(message).await?;
                one(&a2a::SendMessageResponse::Task(task))
            }
            Self::Stream(message) => {
                let streamed = TaskWriter { slot, reader, wait }.stream(message).await?;
                Ok(Answer::Stream(Box::new(streamed)))
            }
            Self::Cancel(id) => one(&TaskWriter { slot, reader, wait }.cancel(&id).await?),
            Self::Subscribe(id) => {
                let reader = reader.ok_or_else(|| A2AError::task_not_found(&id))?;
                Ok(Answer::Stream(Box::new(reader.subscribe(&id).await?)))
            }
            Self::Get(id, history) => {
                let reader = reader.ok_or_else(|| A2AError::task_not_found(&id))?;
                one(&reader.get(&id, history).await?)
            }
            Self::List(filter) => match reader {
                Some(reader) => one(&reader.list(&filter).await?),
                None => one(&filter.empty_list()),
            },
        }
    }
}

fn one(result: &impl Serialize) -> Result<Answer, Failure> {
    Ok(to_value(result).map(Answer::One)?)
}

/// Writes a result as JSON.
pub(crate) fn to_value(result: &impl Serialize) -> Result<Value, A2AError> {
    serde_json::to_value(result).map_err(|error| A2AError::internal(error.to_string()))
}
