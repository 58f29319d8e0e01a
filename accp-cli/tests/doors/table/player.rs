//! Programs that use `accp_client`: the agent `lab`, which answers each note by its own words, and the agent `dev`, which
//! does what a scenario asks of it, a line each.

use std::borrow::Cow;

use accp_client::{Agent, Error, Hub};
use accp_runtime::profiles::{
    ChatDone, ChatReq, ScheduleDone, ScheduleReq, ToolDone, ToolReq, TransactionDone,
    TransactionReq,
};
use accp_runtime::session::{Inbound, Options, Outbound, Session};
use accp_runtime::{AccpFrame, AgentId, Message, Value};
use accp_store::SqliteStore;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::REGISTRY;
use crate::processes::connect;

/// A note, as a program declares it.
#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(registry = "tests/doors/registry.json", schema = "NOTE")]
#[accp(intent = "req", operation = "note")]
pub(crate) struct NoteReq<'a> {
    text: Cow<'a, str>,
    size: Option<i64>,
    more: Option<Value<'a>>,
}

/// The answer to a note.
#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(registry = "tests/doors/registry.json", schema = "NOTE")]
#[accp(intent = "done", operation = "note")]
pub(crate) struct NoteDone<'a> {
    text: Cow<'a, str>,
    size: Option<i64>,
    more: Option<Value<'a>>,
}

/// Answers each note by what it says, and by the number of its bytes; and the requests of the standard profiles.
fn echo(agent: &Agent) {
    agent.serve(|note: NoteReq<'static>, cx| async move {
        let NoteReq { text, more, .. } = note;
        let size = Some(text.len() as i64);
        cx.reply(NoteDone { text, size, more }).await
    });
    agent.serve(
        |said: ChatReq<'static>, cx| async move { cx.reply(ChatDone::new(said.content)).await },
    );
    agent.serve(|task: ScheduleReq<'static>, cx| async move {
        cx.reply(ScheduleDone::new(task.task).status("done")).await
    });
    agent.serve(|call: ToolReq<'static>, cx| async move {
        let done = ToolDone {
            tool_name: call.tool_name,
            arguments: None,
            result: Some(Value::Integer(4)),
            status: "ok".into(),
            error_code: None,
        };
        cx.reply(done).await
    });
    agent.serve(|pay: TransactionReq<'static>, cx| async move {
        let done = TransactionDone {
            transaction_id: pay.transaction_id,
            reference: None,
            status: "settled".into(),
        };
        cx.reply(done).await
    });
}

fn says(line: &impl std::fmt::Display) {
    println!("\npart: {line}");
}

/// Plays a part: `lab`, or `dev` in one of three ways: `inside` the process of its hub, over a `socket`, or with frames
/// of generated `types` over a socket.
pub(crate) async fn play(part: &str) {
    let mut inside = None;
    let agent = match part {
        "lab" => connect("lab", true).await.unwrap(),
        "inside" => {
            let hub = AgentId::new("hub").unwrap();
            let options = Options::from_json("team", hub, REGISTRY).unwrap();
            let store = SqliteStore::open("inside.accp").unwrap();
            let hub = Hub::open_with(options, store).await.unwrap();
            let (dev, lab) = (hub.agent("dev").unwrap(), hub.agent("lab").unwrap());
            echo(&lab);
            inside = Some((hub, lab));
            dev
        }
        _ => connect("dev", true).await.unwrap(),
    };
    if part == "lab" {
        echo(&agent);
        says(&"ready");
        std::future::pending::<()>().await;
    }
    says(&"ready");
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        let asked: Json = serde_json::from_str(&line).unwrap();
        let done = if part == "types" {
            typed(&agent, &asked).await
        } else {
            act(&agent, &asked).await
        };
        says(&match done {
            Ok(answer) => json!({ "answer": answer }),
            // The code does not stand in all words.
            Err(error) => json!({ "error": format!("{error} ({error:?})") }),
        });
    }
    drop(inside);
    std::process::exit(0);
}

async fn act(agent: &Agent, asked: &Json) -> Result<Json, Error> {
    let outbound = || {
        let mut message = asked["message"].clone();
        message["agent"] = "dev".into();
        Message::from_json(&message).map(Outbound::owned_message)
    };
    match asked["do"].as_str().unwrap() {
        "log" => log(agent).await,
        "state" => {
            let look = |session: &Session| {
                let shared = session.state().shared();
                let state = Value::Map(shared.entries().clone()).to_exact_json();
                json!({ "version": shared.version(), "state": state })
            };
            agent.look(look).await
        }
        "send" => match outbound() {
            Ok(frame) => agent.send_with(frame).await.map(|_| Json::Null),
            Err(error) => Ok(json!({ "refused": error.to_string() })),
        },
        _ => {
            let answer = agent.ask_with::<()>(outbound().unwrap()).frame().await?;
            payload(agent, &answer).await
        }
    }
}

/// The same with frames of types.
async fn typed(agent: &Agent, asked: &Json) -> Result<Json, Error> {
    if asked["do"] == "log" {
        return log(agent).await;
    }
    let note = &asked["message"]["payload"];
    let more = Some(Value::from_json(&note["more"]).into_owned());
    let note = NoteReq {
        text: note["text"].as_str().unwrap().to_owned().into(),
        size: note["size"].as_i64(),
        more: more.filter(|more| *more != Value::Null),
    };
    if asked["do"] == "send" {
        return agent.send(note).await.map(|_| Json::Null);
    }
    let done: NoteDone<'static> = agent.ask(note).await?;
    let more = done.more.unwrap_or(Value::Null).to_exact_json();
    Ok(json!({ "text": done.text, "size": done.size, "more": more }))
}

/// Returns the params of an answer, each reference with its value.
async fn payload(agent: &Agent, answer: &Inbound) -> Result<Json, Error> {
    let registry = agent.registry().await?;
    let message = answer.message(&registry).unwrap();
    let mut all = serde_json::Map::new();
    for (key, value) in message.payload.iter() {
        let value = match value {
            Value::Ref(reference) => agent.expand(reference).await?,
            value => value.clone().into_owned(),
        };
        all.insert(key.to_owned(), value.to_exact_json());
    }
    Ok(all.into())
}

/// Returns the frames of the log.
async fn log(agent: &Agent) -> Result<Json, Error> {
    let last = agent.look(accp_runtime::session::Session::position).await?;
    let mut frames = agent.frames(1);
    let mut log = Vec::new();
    while frames.position() <= last
        && let Some(entry) = frames.next().await?
    {
        log.push(Json::from(&*entry.text));
    }
    Ok(log.into())
}
