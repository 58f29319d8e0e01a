//! The actions of the agent `dev` with generated types.

use accp_client::{Agent, Error};
use accp_runtime::profiles::{
    ChatDone, ChatReq, ScheduleDone, ScheduleReq, ToolDone, ToolReq, TransactionDone,
    TransactionReq,
};
use accp_runtime::{AgentId, Decimal, Value};
use serde_json::{Value as Json, json};

use super::asking;
use super::lab::{NoteDone, NoteReq, ReportDone, ReportReq, Way};

/// Does an action of a scenario with the generated type of its frame. Returns `None` for an action that needs no
/// type.
pub(super) async fn act(agent: &Agent, asked: &Json) -> Option<Result<Json, Error>> {
    let message = &asked["message"];
    let payload = &message["payload"];
    let text = |key: &str| payload[key].as_str().unwrap().to_owned();
    let done = match asked["do"].as_str().unwrap() {
        "ask" => {
            match message["operation"].as_str().unwrap() {
                "note" => note_of(agent.ask(note(payload)).await),
                "report" => {
                    let way = if payload["way"] == "up" {
                        Way::Up
                    } else {
                        Way::Down
                    };
                    let done = agent.ask(ReportReq { way }).await;
                    done.map(|done: ReportDone| json!({ "way": if done.way == Way::Up { "up" } else { "down" } }))
                }
                "chat" => {
                    let done = agent.ask(ChatReq::new(text("content")).lang("en")).await;
                    done.map(|done: ChatDone<'static>| json!({ "content": done.content }))
                }
                "schedule" => {
                    let assignee = AgentId::new(text("assignee")).unwrap();
                    let done = agent.ask(ScheduleReq::new(assignee, text("task"))).await;
                    done.map(
                    |done: ScheduleDone<'static>| json!({ "task": done.task, "status": done.status }),
                )
                }
                "tool" => {
                    let arguments = match Value::from_json(&payload["arguments"]).into_owned() {
                        Value::Map(arguments) => Some(arguments),
                        _ => None,
                    };
                    let call = ToolReq {
                        tool_name: text("tool_name").into(),
                        arguments,
                    };
                    let done = agent.ask(call).await;
                    done.map(|done: ToolDone<'static>| json!({ "result": done.result.unwrap().to_json() }))
                }
                _ => {
                    let amount: Decimal = payload["amount"].to_string().parse().unwrap();
                    let pay = TransactionReq::new(text("transaction_id"), amount)
                        .account(text("account"));
                    let done = agent.ask(pay).await;
                    done.map(|done: TransactionDone<'static>| json!({ "status": done.status }))
                }
            }
        }
        "send" => agent.send(note(payload)).await.map(|_| Json::Null),
        "pieces" => asking::pieces(agent.ask(note(payload))).await,
        "cancel" => asking::cancel(agent, agent.ask(note(payload))).await,
        _ => return None,
    };
    Some(done)
}

fn note(payload: &Json) -> NoteReq<'static> {
    let more = Some(Value::from_json(&payload["more"]).into_owned());
    NoteReq {
        text: payload["text"].as_str().unwrap().to_owned().into(),
        size: payload["size"].as_i64(),
        more: more.filter(|more| *more != Value::Null),
    }
}

fn note_of(done: Result<NoteDone<'static>, Error>) -> Result<Json, Error> {
    let done = done?;
    let more = done.more.unwrap_or(Value::Null).to_exact_json();
    Ok(json!({ "text": done.text, "size": done.size, "more": more }))
}
