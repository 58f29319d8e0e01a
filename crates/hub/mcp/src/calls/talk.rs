//! Tools that send frames, and those that receive them.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use accp_client::{Error, Sent};
use accp_frame::{ErrorCode, Intent, Limits, Registry};
use accp_session::Inbound;
use rmcp::model::JsonObject;
use serde_json::{Value as Json, json};

use crate::answer::Answer;
use crate::desk::{Desk, Letter};
use crate::draft::{Draft, asks, number, text};
use crate::fault::Fault;
use crate::request::Request;
use crate::seat::Seat;
use crate::show::{self, Room};
use crate::tools::{FRAMES, PATIENCE};

/// Seconds for which a question waits if the model does not say.
const WAIT: u64 = 60;
/// The time within which a reply is taken.
const TAKEN: Duration = Duration::from_secs(60);
/// The most bytes of a frame that a model hears again when it is sent.
const ECHO: usize = 8_000;
/// Frames that an agent has open at most; the others wait behind them (see `Agent::serve`).
const FULL: usize = 64;
/// Frames that are returned if the model does not say.
const SOME: u64 = 10;
/// Why no more frames come to a call that waits.
const ENDED: &str = "the session was opened anew, or somebody else has opened the agent";

/// Reads the frame of a call, and writes it as it will travel, to find what is wrong with it. This opens no
/// agent.
async fn draft(seat: &Seat, args: &JsonObject) -> Result<(Draft, String), Fault> {
    let registry = seat.registry().await?;
    let draft = Draft::read(args, seat.agent(), &registry)?;
    let options = accp_frame::EncodeOptions {
        inline: true,
        // What is too long for a frame goes by reference.
        limits: Limits {
            frame_bytes: usize::MAX,
            ..Limits::default()
        },
        ..accp_frame::EncodeOptions::default()
    };
    let written = draft.message.encode_with(&registry, options);
    let mut written = written.map_err(|error| Fault::frame(&error))?;
    if written.len() > ECHO {
        // A frame is ASCII. The model knows the rest: it has just said it.
        let bytes = written.len();
        written.truncate(ECHO);
        written = format!("{written}.. ({bytes} bytes in all)");
    }
    Ok((draft, written))
}

/// Tells a model which frame was sent, and what was mended in it.
fn sent(mut words: String, mut json: Json, repairs: &[String]) -> Answer {
    if !repairs.is_empty() {
        words.push_str("\nMended: ");
        words.push_str(&repairs.join("; "));
        json["repairs"] = json!(repairs);
    }
    Answer { text: words, json }
}

/// Says where an accepted frame stands in the log, in words and as JSON. An agent that is elsewhere may not know.
fn place(accepted: &Sent, json: &mut Json) -> String {
    json["mid"] = accepted.mid.to_string().into();
    let Some(position) = accepted.position else {
        return String::new();
    };
    json["id"] = show::id(position).into();
    format!(" as {}", show::id(position))
}

pub(crate) async fn send(seat: &Seat, args: &JsonObject) -> Result<Answer, Fault> {
    let (draft, written) = draft(seat, args).await?;
    let repairs = draft.repairs.clone();
    let desk = seat.desk().await?;
    let accepted = desk.agent.send_with(draft.outbound()).await?;
    let mut json = json!({ "sent": written });
    let words = format!("Sent{}: {written}", place(&accepted, &mut json));
    Ok(sent(words, json, &repairs))
}

pub(crate) async fn ask(
    seat: &Seat,
    args: &JsonObject,
    request: Request<'_>,
) -> Result<Answer, Fault> {
    let seconds = number(args, "timeout", PATIENCE)?.unwrap_or(WAIT);
    let cancels = match args.get("cancel") {
        None | Some(Json::Null) => false,
        Some(Json::Bool(cancels)) => *cancels,
        Some(_) => return Err(Fault::argument("`cancel` is not true or false")),
    };
    let (draft, written) = draft(seat, args).await?;
    let repairs = draft.repairs.clone();
    let answers = [Intent::DONE, Intent::FAIL, Intent::END];
    if answers.contains(&draft.message.intent) {
        let what = format!(
            "a frame with intent {} is an answer and gets none",
            draft.message.intent
        );
        let cure = "use req or qry to ask, or accp_reply or accp_send for this frame";
        return Err(Fault::new(ErrorCode::INVALID_INTENT, what, cure));
    }
    let desk = seat.desk().await?;
    let mut ask = desk.agent.ask_with::<()>(draft.outbound());
    ask = ask.within(Duration::from_secs(seconds.max(1)));
    if cancels {
        ask = ask.cancelling();
    }
    let accepted = ask.accepted();
    // Nothing is sent in the name of an agent for which nobody may speak any more.
    let mut over = String::new();
    let answered = ask.frame_unless(async { over = request.over().await });
    let inbound = match answered.await {
        Ok(Some(inbound)) => inbound,
        Ok(None) => return Err(Fault::over(over)),
        Err(Error::Timeout(_)) => {
            return Err(unanswered(now(accepted).await, seconds, cancels));
        }
        Err(error) => return Err(error.into()),
    };
    let registry = desk.agent.registry().await?;
    let answer = Room::of(&desk.agent).frame(&registry, &inbound).await;
    desk.ends(&inbound).await;
    let mut json = json!({ "sent": written });
    let place = match now(accepted).await {
        Some(Ok(accepted)) => place(&accepted, &mut json),
        _ => String::new(),
    };
    let words = format!("Asked{place}: {written}\nAnswer: {}", show::words(&answer));
    json["answer"] = answer;
    Ok(sent(words, json, &repairs))
}

/// Returns what a future is ready with, and does not wait for it.
async fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        ready = future => Some(ready),
        () = std::future::ready(()) => None,
    }
}

/// Says what is with a question that nobody has answered in time. `accepted` says whether the hub has it: it may still
/// wait for the hub, or may never have gone out.
fn unanswered(accepted: Option<Result<Sent, Error>>, seconds: u64, cancels: bool) -> Fault {
    let (what, cure) = match accepted {
        Some(Ok(sent)) => {
            let place = sent
                .position
                .map(|position| format!(" {}", show::id(position)));
            let what = format!(
                "nobody answered the question{} within {seconds} seconds",
                place.unwrap_or_default()
            );
            let cure = "it stands: go on with other work, and call accp_receive later for the answer; do not ask again";
            (what, cure)
        }
        None => {
            let what = format!("the hub has not taken the question within {seconds} seconds");
            let cure = "it goes out once the hub is there, and the answer comes with accp_receive; do not ask again";
            (what, cure)
        }
        Some(Err(_)) => {
            let what = format!("the question could not be sent within {seconds} seconds");
            return Fault::new(
                ErrorCode::TIMEOUT,
                what,
                "ask again later, or tell the user that the hub is away",
            );
        }
    };
    let cancelled = "the question is cancelled; ask somebody else, or go on without the answer";
    Fault::new(
        ErrorCode::TIMEOUT,
        what,
        if cancels { cancelled } else { cure },
    )
}

pub(crate) async fn receive(seat: &Seat, args: &JsonObject) -> Result<Answer, Fault> {
    let limit = number(args, "limit", FRAMES)?.unwrap_or(SOME).max(1);
    let seconds = number(args, "timeout", PATIENCE)?.unwrap_or(0);
    let limit = usize::try_from(limit).unwrap_or(1);
    let again = match args.get("again") {
        Some(Json::Bool(again)) => *again,
        None | Some(Json::Null) => false,
        Some(_) => return Err(Fault::argument("`again` is not true or false")),
    };
    let desk = seat.desk().await?;
    let registry = desk.agent.registry().await?;
    let me = desk.agent.name();
    let wants = |inbound: &Inbound| {
        let message = inbound.message(&registry);
        message.is_ok_and(|message| asks(&message, me))
    };
    let (mut frames, mut cancelled) = (Vec::new(), Vec::new());
    if again {
        frames = desk.opened();
    } else {
        cancelled = desk.clear().await?;
    }
    if frames.is_empty() && seconds > 0 {
        let wait = Duration::from_secs(seconds);
        // A frame that is opened after this has given up stays open, and `again` shows it.
        frames = tokio::select! {
            biased;
            opened = tokio::time::timeout(wait, desk.open(limit, wants)) => opened.unwrap_or_default(),
            () = desk.ended() => return Err(Error::Ended(ENDED.to_owned()).into()),
        };
    } else if frames.len() < limit {
        frames.extend(desk.open_now(limit - frames.len(), wants).await);
    }
    frames.truncate(limit);
    let shown = show(&desk, &registry, &frames).await;
    let open = desk.opened().into_iter().filter(|(_, asks)| *asks);
    let open: Vec<String> = open
        .map(|(inbound, _)| show::id(inbound.position()))
        .collect();
    let waiting = desk.waiting();
    let text = said(&shown, &open, &cancelled, (waiting, desk.held()));
    let cancelled: Vec<String> = cancelled.into_iter().map(show::id).collect();
    let json = json!({
        "frames": shown, "open": open, "cancelled": cancelled, "waiting": waiting,
    });
    Ok(Answer { text, json })
}

/// Returns frames as JSON, with whether they want an answer.
async fn show(desk: &Desk, registry: &Registry, frames: &[(Inbound, bool)]) -> Vec<Json> {
    let mut room = Room::of(&desk.agent);
    let mut shown = Vec::new();
    for (inbound, wants_answer) in frames {
        let mut frame = room.frame(registry, inbound).await;
        frame["wants_answer"] = (*wants_answer).into();
        if inbound.redelivered() {
            frame["again"] = true.into();
        }
        shown.push(frame);
    }
    shown
}

/// Says what was received, and what the model can do now.
fn said(
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
            format!("{}{wants}", show::words(frame))
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
        let ids: Vec<String> = cancelled.iter().copied().map(show::id).collect();
        lines.push(format!("Cancelled, do not work on: {}.", ids.join(", ")));
    }
    if open.len() >= FULL {
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
    show::position(id).ok_or_else(wrong)
}

/// Returns the desk on which a frame lies. An agent that is not open has none, and is not opened for it.
async fn desk_with(seat: &Seat, id: &str, at: u64) -> Result<(Arc<Desk>, Inbound), Fault> {
    if !seat.is_open() {
        return Err(not_open(&[], id));
    }
    let desk = seat.desk().await?;
    let inbound = desk.letter(at);
    let inbound = inbound.ok_or_else(|| not_open(&desk.opened(), id))?;
    Ok((desk, inbound))
}

fn not_open(open: &[(Inbound, bool)], id: &str) -> Fault {
    let open = open.iter().map(|(inbound, _)| show::id(inbound.position()));
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

pub(crate) async fn reply(seat: &Seat, args: &JsonObject) -> Result<Answer, Fault> {
    let id = text(args, "id")?.ok_or_else(|| Fault::argument("`id` is missing"))?;
    let at = position(id)?;
    let (desk, inbound) = desk_with(seat, id, at).await?;
    let mut args = args.clone();
    if args.remove("chain").is_some_and(|chain| !chain.is_null()) {
        let what = "a reply is in the chain of the frame that it answers; leave `chain` out";
        return Err(Fault::argument(what));
    }
    let (draft, written) = draft(seat, &args).await?;
    let repairs = draft.repairs.clone();
    if inbound.cancel_token().is_cancelled() {
        if let Some(letter) = desk.take(at) {
            letter.done().await?;
        }
        let cure = "stop working on it; nothing was sent";
        let what = format!("the chain of {id} was cancelled");
        return Err(Fault::new(ErrorCode::POLICY_DENIED, what, cure));
    }
    let letter = desk.take(at);
    let letter = letter.ok_or_else(|| not_open(&desk.opened(), id))?;
    let (cx, mark) = letter.reply();
    let kept = tokio::time::timeout(TAKEN, cx.reply_kept(draft.outbound())).await;
    let _ = mark.send(());
    let late = |_| {
        let what = format!("the hub has not taken your reply within {TAKEN:?}");
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
    let mut json = json!({ "replied_to": show::id(at), "sent": written });
    let words = format!("Replied to {id}{}: {written}", place(&accepted, &mut json));
    Ok(sent(words, json, &repairs))
}

pub(crate) async fn done(seat: &Seat, args: &JsonObject) -> Result<Answer, Fault> {
    let wrong = || Fault::argument("`ids` is not a list of ids of frames");
    let ids = args.get("ids").and_then(Json::as_array).ok_or_else(wrong)?;
    let mut open = Vec::new();
    for id in ids {
        let id = id.as_str().ok_or_else(wrong)?;
        let at = position(id)?;
        let (desk, _) = desk_with(seat, id, at).await?;
        open.push((desk, at));
    }
    let letters = open.iter().filter_map(|(desk, at)| desk.take(*at));
    let marks: Vec<_> = letters.map(Letter::done).collect();
    for kept in marks {
        kept.await?;
    }
    let closed: Vec<String> = open.into_iter().map(|(_, at)| show::id(at)).collect();
    Ok(Answer {
        text: format!("Closed without an answer: {}.", closed.join(", ")),
        json: json!({ "closed": closed }),
    })
}
