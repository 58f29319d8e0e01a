//! The methods of A2A.

use a2a::{
    A2AError, CancelTaskRequest, GetTaskRequest, JsonRpcRequest, ListTasksRequest,
    ListTasksResponse, SendMessageRequest, StreamResponse, SubscribeToTaskRequest, Task, methods,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::desk::{self, Desk};
use crate::fault;
use crate::follow::Follow;
use crate::incoming::Content;

/// The answer to a call.
pub(crate) enum Answer {
    One(Value),
    /// The task, and then its updates.
    Stream(Box<(Task, Follow)>),
}

/// A call that can be read.
pub(crate) enum Call {
    Send(SendMessageRequest),
    Stream(SendMessageRequest),
    Subscribe(SubscribeToTaskRequest),
    Get(GetTaskRequest),
    List(ListTasksRequest),
    Cancel(CancelTaskRequest),
}

impl Call {
    /// Reads a call, with what can be known of it before a session sees it.
    pub(crate) fn read(call: JsonRpcRequest) -> Result<Self, A2AError> {
        let given = call.params;
        let call = match call.method.as_str() {
            methods::SEND_MESSAGE => Self::Send(params(given)?),
            methods::SEND_STREAMING_MESSAGE => Self::Stream(params(given)?),
            methods::SUBSCRIBE_TO_TASK => Self::Subscribe(params(given)?),
            methods::GET_TASK => Self::Get(params(given)?),
            methods::LIST_TASKS => Self::List(params(
                given.or_else(|| Some(Value::Object(<_>::default()))),
            )?),
            methods::CANCEL_TASK => Self::Cancel(params(given)?),
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
        };
        if let Self::Send(request) | Self::Stream(request) = &call {
            desk::check(request)?;
            Content::read(&request.message)?;
        }
        Ok(call)
    }

    /// Returns how many frames the call wants to send, at most.
    pub(crate) fn frames(&self) -> usize {
        match self {
            Self::Send(request) | Self::Stream(request) => request.message.parts.len(),
            Self::Cancel(_) => 1,
            Self::Subscribe(_) | Self::Get(_) | Self::List(_) => 0,
        }
    }

    /// Returns the answer of a session that has not begun. `None` for a call that may begin it.
    pub(crate) fn of_nothing(&self) -> Option<Result<Value, A2AError>> {
        let id = match self {
            Self::Send(request) | Self::Stream(request) => request.message.task_id.as_deref()?,
            Self::Subscribe(request) => &request.id,
            Self::Get(request) => &request.id,
            Self::Cancel(request) => &request.id,
            Self::List(request) => {
                let nothing = ListTasksResponse {
                    next_page_token: String::new(),
                    page_size: request.page_size.unwrap_or_default(),
                    total_size: 0,
                    tasks: Vec::new(),
                };
                return Some(to_value(&nothing));
            }
        };
        Some(Err(A2AError::task_not_found(id)))
    }
}

impl Desk {
    /// Answers a call.
    pub(crate) async fn call(&self, call: Call) -> Result<Answer, A2AError> {
        match call {
            Call::Send(request) => one(&a2a::SendMessageResponse::Task(self.send(request).await?)),
            Call::Stream(request) => Ok(Answer::Stream(Box::new(self.stream(request).await?))),
            Call::Subscribe(request) => {
                Ok(Answer::Stream(Box::new(self.subscribe(request).await?)))
            }
            Call::Get(request) => one(&self.get(request).await?),
            Call::List(request) => one(&self.list(request).await?),
            Call::Cancel(request) => one(&self.cancel(request).await?),
        }
    }
}

/// Returns the first update of a stream.
pub(crate) fn first(task: Task) -> StreamResponse {
    StreamResponse::Task(task)
}

fn one(result: &impl Serialize) -> Result<Answer, A2AError> {
    to_value(result).map(Answer::One)
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
