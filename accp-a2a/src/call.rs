//! The methods of A2A.

use a2a::{A2AError, JsonRpcRequest, StreamResponse, Task, methods};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::desk::Desk;
use crate::fault;
use crate::follow::Follow;

/// The answer to a call.
pub(crate) enum Answer {
    One(Value),
    /// The task, and then its updates.
    Stream(Box<(Task, Follow)>),
}

impl Desk {
    /// Answers a call.
    pub(crate) async fn call(&self, call: JsonRpcRequest) -> Result<Answer, A2AError> {
        match call.method.as_str() {
            methods::SEND_MESSAGE => {
                let task = self.send(params(call.params)?).await?;
                one(&a2a::SendMessageResponse::Task(task))
            }
            methods::SEND_STREAMING_MESSAGE => {
                let streamed = self.stream(params(call.params)?).await?;
                Ok(Answer::Stream(Box::new(streamed)))
            }
            methods::SUBSCRIBE_TO_TASK => {
                let streamed = self.subscribe(params(call.params)?).await?;
                Ok(Answer::Stream(Box::new(streamed)))
            }
            methods::GET_TASK => one(&self.get(params(call.params)?).await?),
            methods::LIST_TASKS => {
                let wishes = call.params.or_else(|| Some(Value::Object(<_>::default())));
                one(&self.list(params(wishes)?).await?)
            }
            methods::CANCEL_TASK => one(&self.cancel(params(call.params)?).await?),
            methods::CREATE_PUSH_CONFIG
            | methods::GET_PUSH_CONFIG
            | methods::LIST_PUSH_CONFIGS
            | methods::DELETE_PUSH_CONFIG => Err(fault::of_push()),
            methods::GET_EXTENDED_AGENT_CARD => Err(A2AError::unsupported_operation(
                "there is no extended card: the card has everything",
            )),
            other => {
                let error = A2AError::method_not_found(other);
                let message = format!("{error}; expected a method of A2A 1.0, such as SendMessage");
                Err(A2AError { message, ..error })
            }
        }
    }
}

/// Returns the first update of a stream.
pub(crate) fn first(task: Task) -> StreamResponse {
    StreamResponse::Task(task)
}

fn one(result: &impl Serialize) -> Result<Answer, A2AError> {
    let value = serde_json::to_value(result);
    Ok(Answer::One(
        value.map_err(|error| A2AError::internal(error.to_string()))?,
    ))
}

/// Reads the params of a call.
fn params<T: DeserializeOwned>(params: Option<Value>) -> Result<T, A2AError> {
    let params = params.unwrap_or_default();
    serde_json::from_value(params)
        .map_err(|error| fault::of_field("params", &error.to_string(), []))
}
