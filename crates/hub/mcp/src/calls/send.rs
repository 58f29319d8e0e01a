//! Tools that send frames: `accp_send` and `accp_ask`.

use std::future::Future;
use std::time::Duration;

use accp_client::{Error, Sent};
use accp_frame::{ErrorCode, Intent, Limits};
use rmcp::model::JsonObject;
use serde_json::{Value as Json, json};

use crate::answer::Answer;
use crate::arguments::{OutgoingFrame, flag, number};
use crate::connection::Connection;
use crate::fault::Fault;
use crate::render::{self, FrameRenderer};
use crate::request::Request;
use crate::tools::MAX_WAIT;

/// How many seconds a question waits by default.
const WAIT: u64 = 60;
/// The longest frame, in bytes, that the result repeats whole.
const ECHO: usize = 8_000;

/// Reads the frame of a call, and encodes it to find its mistakes. This opens no agent.
pub(super) async fn outgoing(
    connection: &Connection,
    args: &JsonObject,
) -> Result<(OutgoingFrame, String), Fault> {
    let registry = connection.registry().await?;
    let speaker = (connection.agent(), connection.session());
    let outgoing = OutgoingFrame::read(args, speaker, &registry)?;
    let options = accp_frame::EncodeOptions {
        inline: true,
        // The session moves long values out of the frame later, so this text may exceed the limit
        // of a frame.
        limits: Limits {
            frame_bytes: usize::MAX,
            ..Limits::default()
        },
        ..accp_frame::EncodeOptions::default()
    };
    let written = outgoing.message.encode_with(&registry, options);
    let mut written = written.map_err(|error| Fault::frame(&error))?;
    if written.len() > ECHO {
        // A frame is ASCII, so it can be cut at any byte. The model wrote the frame and does not
        // need the rest.
        let bytes = written.len();
        written.truncate(ECHO);
        written = format!("{written}.. ({bytes} bytes in all)");
    }
    Ok((outgoing, written))
}

/// Makes the result of a call that has sent a frame, with the repairs to the frame.
pub(super) fn sent(mut words: String, mut json: Json, repairs: &[String]) -> Answer {
    if !repairs.is_empty() {
        words.push_str("\nMended: ");
        words.push_str(&repairs.join("; "));
        json["repairs"] = json!(repairs);
    }
    Answer { text: words, json }
}

/// Returns the position of an accepted frame as text, and adds it to the JSON. An agent in another process may not
/// know the position.
pub(super) fn place(accepted: &Sent, json: &mut Json) -> String {
    json["mid"] = accepted.mid.to_string().into();
    let Some(position) = accepted.position else {
        return String::new();
    };
    json["id"] = render::id(position).into();
    format!(" as {}", render::id(position))
}

pub(crate) async fn send(connection: &Connection, args: &JsonObject) -> Result<Answer, Fault> {
    let (outgoing, written) = outgoing(connection, args).await?;
    let repairs = outgoing.repairs.clone();
    let inbox = connection.inbox().await?;
    let accepted = inbox.agent.send_with(outgoing.outbound()).await?;
    let mut json = json!({ "sent": written });
    let words = format!("Sent{}: {written}", place(&accepted, &mut json));
    Ok(sent(words, json, &repairs))
}

pub(crate) async fn ask(
    connection: &Connection,
    args: &JsonObject,
    request: Request<'_>,
) -> Result<Answer, Fault> {
    let seconds = number(args, "timeout", 1..=MAX_WAIT)?.unwrap_or(WAIT);
    let cancels = flag(args, "cancel")?;
    let (outgoing, written) = outgoing(connection, args).await?;
    let repairs = outgoing.repairs.clone();
    let ttl = outgoing.message.envelope.ttl.unwrap_or_default();
    let answers = [Intent::DONE, Intent::FAIL, Intent::END];
    if answers.contains(&outgoing.message.intent) {
        let what = format!(
            "a frame with intent {} is an answer and gets none",
            outgoing.message.intent
        );
        let cure = "use req or qry to ask, or accp_reply or accp_send for this frame";
        return Err(Fault::new(ErrorCode::INVALID_INTENT, what, cure));
    }
    let inbox = connection.inbox().await?;
    let mut ask = inbox.agent.ask_with::<()>(outgoing.outbound());
    ask = ask.within(Duration::from_secs(seconds));
    if cancels {
        ask = ask.cancelling();
    }
    let accepted = ask.accepted();
    // Once the right is over, nothing more is sent for the agent, not even a cancellation.
    let mut over = String::new();
    let answered = tokio::select! {
        biased;
        answered = ask.frame_unless(async { over = request.over().await }) => answered,
        () = request.ends() => {
            let when = "before the hub ended";
            return Err(unanswered(if_ready(accepted).await, when, cancels));
        }
    };
    let inbound = match answered {
        Ok(Some(inbound)) => inbound,
        Ok(None) => return Err(Fault::over(over)),
        Err(Error::Timeout(_)) => {
            let when = format!("within {seconds} seconds");
            let fault = unanswered(if_ready(accepted).await, &when, cancels);
            let is_over = u64::try_from(ttl).is_ok_and(|ttl| (1..=seconds).contains(&ttl));
            if is_over && fault.stands {
                let cure = "its ttl is over: if you still need the answer, ask again with a longer ttl, or with none";
                return Err(Fault::new(fault.code, fault.message, cure));
            }
            return Err(fault);
        }
        Err(Error::Ended(why)) => return Err(ended(if_ready(accepted).await, why)),
        Err(error) => return Err(error.into()),
    };
    let registry = inbox.agent.registry().await?;
    let answer = FrameRenderer::of(&inbox.agent)
        .frame(&registry, &inbound)
        .await;
    inbox.release_stream(&inbound).await;
    inbox.keep_answer(inbound);
    let mut json = json!({ "sent": written });
    let place = match if_ready(accepted).await {
        Some(Ok(accepted)) => place(&accepted, &mut json),
        _ => String::new(),
    };
    let words = format!(
        "Asked{place}: {written}\nAnswer: {}",
        render::words(&answer)
    );
    json["answer"] = answer;
    Ok(sent(words, json, &repairs))
}

/// Returns the output of a future that is ready, without waiting.
async fn if_ready<T>(future: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        ready = future => Some(ready),
        () = std::future::ready(()) => None,
    }
}

/// Makes the error for a question whose agent has ended before the answer, for the reason `why`. A question that the hub
/// has accepted stands: who asks it again asks twice.
fn ended(accepted: Option<Result<Sent, Error>>, why: String) -> Fault {
    if let Some(Ok(sent)) = accepted {
        let when = format!("before the side of this agent ended: {why}");
        // Nobody can cancel for an agent that has ended.
        return unanswered(Some(Ok(sent)), &when, false);
    }
    Error::Ended(why).into()
}

/// Makes the error for a question that nobody has answered in time. `when` says which time that is, as in `within 60
/// seconds`. `accepted` tells whether the hub has accepted the question. If it is `None`, the hub has not decided
/// yet.
fn unanswered(accepted: Option<Result<Sent, Error>>, when: &str, cancels: bool) -> Fault {
    let (what, cure) = match accepted {
        Some(Ok(sent)) => {
            let place = sent
                .position
                .map(|position| format!(" {}", render::id(position)));
            let what = format!(
                "nobody answered the question{} {when}",
                place.unwrap_or_default()
            );
            let cure = "it stands: go on with other work, and call accp_receive later for the answer; do not ask again";
            (what, cure)
        }
        None => {
            let what = format!("the hub has not taken the question {when}");
            let cure = "it goes out once the hub is there, and the answer comes with accp_receive; do not ask again";
            (what, cure)
        }
        Some(Err(_)) => {
            let what = format!("the question could not be sent {when}");
            return Fault::new(
                ErrorCode::TIMEOUT,
                what,
                "ask again later, or tell the user that the hub is away",
            );
        }
    };
    if cancels {
        let cure = "the question is cancelled; ask somebody else, or go on without the answer";
        return Fault::new(ErrorCode::TIMEOUT, what, cure);
    }
    Fault::new(ErrorCode::TIMEOUT, what, cure).standing()
}
