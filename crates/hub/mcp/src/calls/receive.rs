//! Tools that receive frames and close them: `accp_receive`, `accp_reply` and `accp_done`.

use std::sync::Arc;
use std::time::Duration;

use accp_client::Error;
use accp_frame::{ErrorCode, Registry};
use accp_session::Inbound;
use rmcp::model::JsonObject;
use serde_json::{Value as Json, json};

use super::send::{outgoing, place, sent};
use crate::answer::Answer;
use crate::arguments::{asks, flag, number, text};
use crate::connection::Connection;
use crate::fault::Fault;
use crate::inbox::{Inbox, PendingFrame};
use crate::render::{self, FrameRenderer};
use crate::request::Request;
use crate::tools::{MAX_FRAMES, MAX_WAIT};

/// How long a reply may take until the hub accepts it.
const REPLY_WAIT: Duration = Duration::from_secs(60);
/// How many frames an agent has open at most; the others wait (see `Agent::serve`).
const MAX_OPEN: usize = 64;
/// How many frames are returned by default.
const FRAMES: u64 = 10;
/// Why a call that waits gets no more frames.
const ENDED: &str = "the session was opened anew, or somebody else has opened the agent";

pub(crate) async fn receive(
    connection: &Connection,
    args: &JsonObject,
    request: Request<'_>,
) -> Result<Answer, Fault> {
    let limit = number(args, "limit", 1..=MAX_FRAMES)?.unwrap_or(FRAMES);
    let seconds = number(args, "timeout", 0..=MAX_WAIT)?.unwrap_or(0);
    let limit = usize::try_from(limit).unwrap_or(1);
    let again = flag(args, "again")?;
    let inbox = connection.inbox().await?;
    let registry = inbox.agent.registry().await?;
    let wants = |inbound: &Inbound| {
        let message = inbound.message(&registry);
        message.is_ok_and(|message| asks(&message))
    };
    let (mut frames, mut cancelled) = (Vec::new(), Vec::new());
    if again {
        frames = inbox.opened();
    } else {
        cancelled = inbox.clear().await?;
    }
    if frames.is_empty() && seconds > 0 {
        let wait = Duration::from_secs(seconds);
        // A frame that is opened after the timeout stays open. A call with `again` returns such a frame.
        frames = tokio::select! {
            biased;
            opened = tokio::time::timeout(wait, inbox.open(limit, wants)) => opened.unwrap_or_default(),
            () = inbox.ended() => return Err(Error::Ended(ENDED.to_owned()).into()),
            () = request.ends() => Vec::new(),
        };
    } else if frames.len() < limit {
        frames.extend(inbox.open_now(limit - frames.len(), wants).await);
    }
    frames.truncate(limit);
    let shown = rendered(&inbox, &registry, &frames).await;
    let open = inbox.opened().into_iter().filter(|(_, asks)| *asks);
    let open: Vec<String> = open
        .map(|(inbound, _)| render::id(inbound.position()))
        .collect();
    let waiting = inbox.waiting();
    let mut text = summary(&shown, &open, &cancelled, (waiting, inbox.held()));
    let cancelled: Vec<String> = cancelled.into_iter().map(render::id).collect();
    let mut json = json!({
        "frames": shown, "open": open, "cancelled": cancelled, "waiting": waiting,
    });
    if again {
        let answers = last_answers(&inbox, &registry).await;
        for answer in &answers {
            text.push_str("\nAn answer to a question of yours, once more: ");
            text.push_str(&render::words(answer));
        }
        json["answers"] = answers.into();
    }
    Ok(Answer { text, json })
}

/// Returns frames as JSON, each with whether it wants an answer.
async fn rendered(inbox: &Inbox, registry: &Registry, frames: &[(Inbound, bool)]) -> Vec<Json> {
    let mut renderer = FrameRenderer::of(&inbox.agent);
    let mut shown = Vec::new();
    for (inbound, wants_answer) in frames {
        let mut frame = renderer.frame(registry, inbound).await;
        frame["wants_answer"] = (*wants_answer).into();
        if inbound.redelivered() {
            frame["again"] = true.into();
        }
        shown.push(frame);
    }
    shown
}

/// Returns the last answers to questions of this model as JSON.
async fn last_answers(inbox: &Inbox, registry: &Registry) -> Vec<Json> {
    let mut renderer = FrameRenderer::of(&inbox.agent);
    let mut shown = Vec::new();
    for answer in inbox.last_answers() {
        shown.push(renderer.frame(registry, &answer).await);
    }
    shown
}

/// Returns in words what was received and what the model can do now.
fn summary(
    shown: &[Json],
    open: &[String],
    cancelled: &[u64],
    (waiting, held): (usize, usize),
) -> String {
    let mut lines: Vec<String> = shown
        .iter()
        .map(|frame| {
            let wants = if frame["wants_answer"] == true {
                "\n  wants an answer: accp_reply, or accp_done if it is not for you"
            } else {
                ""
            };
            format!("{}{wants}", render::words(frame))
        })
        .collect();
    if shown.is_empty() {
        lines.push(String::from("No new frames."));
    }
    if waiting > 0 {
        lines.push(format!("{waiting} more wait: call accp_receive again."));
    }
    if held > 0 {
        lines.push(format!(
            "Pieces of streams that wait for one before them: {held}."
        ));
    }
    if !cancelled.is_empty() {
        let ids: Vec<String> = cancelled.iter().copied().map(render::id).collect();
        lines.push(format!("Cancelled, do not work on: {}.", ids.join(", ")));
    }
    if open.len() >= MAX_OPEN {
        lines.push(format!(
            "You have {} frames open: nothing more comes until you answer or close some.",
            open.len()
        ));
    }
    if !open.is_empty() {
        lines.push(format!(
            "Open, to be answered or closed: {}.",
            open.join(", ")
        ));
    }
    lines.join("\n")
}

fn position(id: &str) -> Result<u64, Fault> {
    let wrong = || Fault::argument(format!("`{id}` is not the id of a frame, such as p12"));
    render::position(id).ok_or_else(wrong)
}

/// Returns an open frame with its inbox. An agent that is not open has no open frames, and stays closed.
async fn open_frame(
    connection: &Connection,
    id: &str,
    at: u64,
) -> Result<(Arc<Inbox>, Inbound), Fault> {
    if !connection.is_open() {
        return Err(not_open(&[], id));
    }
    let inbox = connection.inbox().await?;
    let inbound = inbox.opened_frame(at);
    let inbound = inbound.ok_or_else(|| not_open(&inbox.opened(), id))?;
    Ok((inbox, inbound))
}

fn not_open(open: &[(Inbound, bool)], id: &str) -> Fault {
    let open = open
        .iter()
        .map(|(inbound, _)| render::id(inbound.position()));
    let open: Vec<String> = open.collect();
    let open = if open.is_empty() {
        String::from("no frame is open")
    } else {
        format!("open are {}", open.join(", "))
    };
    let what = format!("{id} is not open; {open}");
    let cure = "a frame is open from accp_receive to its one reply; use accp_send to say more";
    Fault::new(ErrorCode::REF_NOT_FOUND, what, cure)
}

pub(crate) async fn reply(connection: &Connection, args: &JsonObject) -> Result<Answer, Fault> {
    let id = text(args, "id")?.ok_or_else(|| Fault::argument("`id` is missing"))?;
    let at = position(id)?;
    let (inbox, inbound) = open_frame(connection, id, at).await?;
    let mut args = args.clone();
    if args.remove("chain").is_some_and(|chain| !chain.is_null()) {
        let what = "a reply is in the chain of the frame that it answers; leave `chain` out";
        return Err(Fault::argument(what));
    }
    let (outgoing, written) = outgoing(connection, &args).await?;
    let repairs = outgoing.repairs.clone();
    if inbound.cancel_token().is_cancelled() {
        if let Some(pending) = inbox.take(at) {
            pending.done().await?;
        }
        let cure = "stop working on it; nothing was sent";
        let what = format!("the chain of {id} was cancelled");
        return Err(Fault::new(ErrorCode::POLICY_DENIED, what, cure));
    }
    let pending = inbox.take(at);
    let pending = pending.ok_or_else(|| not_open(&inbox.opened(), id))?;
    let (cx, mark) = pending.reply();
    let kept = tokio::time::timeout(REPLY_WAIT, cx.reply_kept(outgoing.outbound())).await;
    let _ = mark.send(());
    let late = |_| {
        let what = format!("the hub has not taken your reply within {REPLY_WAIT:?}");
        let cure = "do not reply again: the reply goes out once the hub is there";
        Fault::new(ErrorCode::TIMEOUT, what, cure)
    };
    let kept = kept.map_err(late)?.map_err(|error| {
        let mut fault = Fault::from(error);
        fault.cure = format!("{id} was answered with E9999 instead; use accp_send to say more");
        fault
    })?;
    let accepted = kept.accepted().await.map_err(|error| {
        let waits = matches!(error, Error::Pending(_));
        let mut fault = Fault::from(error);
        if !waits {
            fault.cure = format!(
                "your reply is not in the session, and {id} is closed; mend the reply and send it in its chain with \
                 accp_send, if it is still needed"
            );
        }
        fault
    })?;
    let mut json = json!({ "replied_to": render::id(at), "sent": written });
    let words = format!("Replied to {id}{}: {written}", place(&accepted, &mut json));
    Ok(sent(words, json, &repairs))
}

pub(crate) async fn done(connection: &Connection, args: &JsonObject) -> Result<Answer, Fault> {
    let wrong = || Fault::argument("`ids` is not a list of ids of frames");
    let ids = args.get("ids").and_then(Json::as_array);
    let ids = ids.filter(|ids| !ids.is_empty()).ok_or_else(wrong)?;
    let mut open = Vec::new();
    for id in ids {
        let id = id.as_str().ok_or_else(wrong)?;
        let at = position(id)?;
        let (inbox, _) = open_frame(connection, id, at).await?;
        open.push((inbox, at));
    }
    let pending = open.iter().filter_map(|(inbox, at)| inbox.take(*at));
    let marks: Vec<_> = pending.map(PendingFrame::done).collect();
    for kept in marks {
        kept.await?;
    }
    let closed: Vec<String> = open.into_iter().map(|(_, at)| render::id(at)).collect();
    Ok(Answer {
        text: format!("Closed without an answer: {}.", closed.join(", ")),
        json: json!({ "closed": closed }),
    })
}
