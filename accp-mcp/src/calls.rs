//! The tools, as they are called.

mod look;
mod talk;

use rmcp::model::JsonObject;

use crate::answer::Answer;
use crate::desk::Desk;
use crate::fault::Fault;
use crate::tools;

/// Calls a tool. Returns `None` if there is none of this name.
pub(crate) async fn call(
    desk: &Desk,
    name: &str,
    args: &JsonObject,
) -> Option<Result<Answer, Fault>> {
    Some(match check(name, args)? {
        Err(fault) => Err(fault),
        Ok(()) => match name {
            tools::SEND => talk::send(desk, args).await,
            tools::ASK => talk::ask(desk, args).await,
            tools::RECEIVE => talk::receive(desk, args).await,
            tools::REPLY => talk::reply(desk, args).await,
            tools::DONE => talk::done(desk, args),
            tools::QUERY => look::query(desk, args).await,
            tools::EXPAND => look::expand(desk, args).await,
            _ => return None,
        },
    })
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
