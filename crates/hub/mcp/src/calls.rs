//! The tools, as they are called.

mod look;
mod talk;

use rmcp::model::JsonObject;

use crate::answer::Answer;
use crate::fault::Fault;
use crate::request::Request;
use crate::seat::Seat;
use crate::tools;

/// Calls a tool, as long as who asks has the right. A tool opens the agent only once it has read its
/// arguments. Returns `None` if there is no tool of this name.
pub(crate) async fn call(
    seat: &Seat,
    name: &str,
    args: &JsonObject,
    request: Request<'_>,
) -> Option<Result<Answer, Fault>> {
    if let Err(fault) = check(name, args)? {
        return Some(Err(fault));
    }
    let called = async {
        Some(match name {
            tools::SEND => talk::send(seat, args).await,
            tools::RECEIVE => talk::receive(seat, args).await,
            tools::REPLY => talk::reply(seat, args).await,
            tools::DONE => talk::done(seat, args).await,
            tools::QUERY => look::query(seat, args).await,
            tools::EXPAND => look::expand(seat, args).await,
            _ => return None,
        })
    };
    if name == tools::ASK {
        // A question that is left has its own end.
        return Some(talk::ask(seat, args, request).await);
    }
    tokio::select! {
        biased;
        why = request.over() => Some(Err(Fault::over(why))),
        answer = called => answer,
    }
}

/// Checks that all arguments are among those of the tool, so that a slip is not passed over.
fn check(name: &str, args: &JsonObject) -> Option<Result<(), Fault>> {
    let tool = tools::all().into_iter().find(|tool| tool.name == name)?;
    let properties = tool.input_schema.get("properties")?.as_object()?;
    let unknown = args.keys().find(|key| !properties.contains_key(*key));
    Some(match unknown {
        None => Ok(()),
        Some(key) => {
            let known: Vec<&str> = properties.keys().map(String::as_str).collect();
            let what = format!(
                "{name} has no argument `{key}`; it has {}",
                known.join(", ")
            );
            Err(Fault::argument(what))
        }
    })
}
