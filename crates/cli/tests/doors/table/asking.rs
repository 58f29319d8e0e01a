//! Helpers for the doors with `accp_client`: questions whose answers come in pieces, and questions that are
//! cancelled.

use std::future::IntoFuture as _;
use std::pin::pin;

use accp_client::{Agent, Ask, Error};
use accp_runtime::profiles::InferStream;
use serde_json::Value as Json;

use super::lab::NoteDone;

/// Asks a question, and returns the data of the pieces that come before the answer.
pub(super) async fn pieces(asking: Ask<NoteDone<'static>>) -> Result<Json, Error> {
    let mut answer = asking.pieces::<InferStream<'static>>();
    let mut data = Vec::new();
    while let Some(piece) = answer.next().await {
        data.push(piece?.data.into_owned());
    }
    answer.answer().await?;
    Ok(data.into())
}

/// Asks a question, and cancels it when `lab` has begun to work on it.
pub(super) async fn cancel(agent: &Agent, asking: Ask<NoteDone<'static>>) -> Result<Json, Error> {
    let mut asking = pin!(asking.cancelling().into_future());
    let mut frames = agent.frames(1);
    let works = async {
        while let Some(entry) = frames.next().await.unwrap() {
            if entry.text.starts_with("@lab>wait:note") {
                break;
            }
        }
    };
    tokio::select! {
        answer = &mut asking => panic!("an answer: {answer:?}"),
        () = works => Ok(Json::Null),
    }
}
