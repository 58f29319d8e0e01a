//! The programs of the scenarios that use `accp_client`: the agent `lab`, which answers each note with the note's
//! text, and the agent `dev`, which reads its actions from stdin, one on each line.

use accp_client::{Agent, Error, Hub};
use accp_runtime::session::{Inbound, Options, Outbound, Session};
use accp_runtime::{AgentId, DynamicFrame, Value};
use accp_store::SqliteStore;
use accp_tokens::Bpe;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::asking::{cancel, pieces};
use super::lab::echo;
use super::types;
use crate::doors::processes::connect;

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
            let registry = std::fs::read_to_string("registry.json").unwrap();
            let options = Options::from_json("team", hub, &registry).unwrap();
            let options = options.counting(std::sync::Arc::new(Bpe::o200k_base()));
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
            match types::act(&agent, &asked).await {
                Some(done) => done,
                None => act(&agent, &asked).await,
            }
        } else {
            act(&agent, &asked).await
        };
        says(&match done {
            Ok(answer) => json!({ "answer": answer }),
            // The text of an error need not have its code, so the debug form is added.
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
        DynamicFrame::from_json(&message).map(Outbound::owned_message)
    };
    match asked["do"].as_str().unwrap() {
        "log" => log(agent).await,
        "context" => agent.context().await.map(Json::from),
        "read" => {
            let value = agent.expand(asked["message"].as_str().unwrap()).await?;
            Ok(value.to_exact_json())
        }
        "state" => {
            let look = |session: &Session| {
                let (shared, budget) = (session.state().shared(), session.budget());
                let state = Value::Map(shared.entries().clone()).to_exact_json();
                let [hot, warm] =
                    [budget.hot, budget.warm].map(|tier| json!({ "used": tier.used }));
                json!({
                    "version": shared.version(), "state": state, "level": session.level(),
                    "budget": { "hot": hot, "warm": warm },
                })
            };
            agent.look(look).await
        }
        "pieces" => pieces(agent.ask_with(outbound().unwrap())).await,
        "cancel" => cancel(agent, agent.ask_with(outbound().unwrap())).await,
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

/// Returns the params of an answer. References are replaced by their values.
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
