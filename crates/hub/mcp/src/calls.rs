//! Calls of the tools.

mod query;
mod receive;
mod send;

use rmcp::model::JsonObject;

use crate::answer::Answer;
use crate::connection::Connection;
use crate::fault::Fault;
use crate::request::Request;
use crate::tools;

/// Calls a tool, as long as the caller has the right. A tool opens the agent only after it has read its
/// arguments. Returns `None` if there is no tool of this name.
pub(crate) async fn call(
    connection: &Connection,
    name: &str,
    args: &JsonObject,
    request: Request<'_>,
) -> Option<Result<Answer, Fault>> {
    if let Err(fault) = check(name, args)? {
        return Some(Err(fault));
    }
    let called = async {
        Some(match name {
            tools::SEND => send::send(connection, args).await,
            tools::RECEIVE => receive::receive(connection, args, request).await,
            tools::REPLY => receive::reply(connection, args).await,
            tools::DONE => receive::done(connection, args).await,
            tools::QUERY => query::query(connection, args).await,
            tools::EXPAND => query::expand(connection, args).await,
            _ => return None,
        })
    };
    if name == tools::ASK {
        // `ask` itself watches the right of the client, so the race below does not apply to it.
        return Some(send::ask(connection, args, request).await);
    }
    tokio::select! {
        biased;
        why = request.over() => Some(Err(Fault::over(why))),
        answer = called => answer,
    }
}

/// Checks that the tool declares all arguments of the call, so that a misspelt argument is an error.
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
