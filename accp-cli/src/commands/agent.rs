//! `accp agent`: an agent that is a command of the shell.

mod group;
mod program;
mod signals;

use std::sync::Arc;

use accp_client::{Agent, Cx};
use accp_runtime::session::Outbound;
use accp_runtime::{Frame, Message, Registry};

use self::program::{Program, ProgramArgs};
use self::signals::Signals;
use crate::hub::HubArgs;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::output::note;
use crate::registries::RegistryArgs;
use crate::words::{printable, twin};

/// Take part in a session as an agent that answers by a command
///
/// For each request the command runs once, with the frame on its stdin and in `ACCP_FRAME`. What it
/// prints is the answer: a frame, or a text, which becomes a `done` of the same operation (`content` of a
/// chat). If it prints nothing, the request counts as handled. If it fails, the answer is `fail:error`
/// with its exit status. What it writes to stderr goes to the stderr of this command. When the request is
/// cancelled, and when the agent ends, the command and all that it has started get SIGTERM, and later
/// SIGKILL. When the command ends by itself, what it has left running gets the same. It does not see
/// `ACCP_TOKEN`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp agent cook -- echo 'Soup of the day: pumpkin'
  accp agent dev --session lunch -- ./answer.sh")]
pub(crate) struct Args {
    /// The name of the agent
    name: String,
    /// The command, with its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    hub: HubArgs,
    #[command(flatten)]
    registry: RegistryArgs,
}

/// Runs the command, until it is interrupted.
pub(crate) fn run(args: &Args) -> Outcome {
    let registry = Arc::new(args.registry.load()?);
    super::serve::runtime()?.block_on(async {
        let hub = &args.hub;
        let mut connect = Agent::connect(&hub.hub, &hub.session, &args.name);
        if let Some(token) = hub.token()? {
            connect = connect.token(token);
        }
        let agent = connect
            .await
            .map_err(|error| Failure::Misuse(printable(&error.to_string()).into_owned()))?;
        // From the first command on, a signal must not end this process before the command.
        let mut signals = Signals::new();
        note(format_args!(
            "{} is in session {} at {}",
            args.name, hub.session, hub.hub
        ));
        let program = Arc::new(Program::new(&args.command, &args.program));
        let (name, runs) = (args.name.clone(), Arc::clone(&program));
        agent.serve_others(move |cx| {
            let (name, program) = (name.clone(), Arc::clone(&runs));
            let registry = Arc::clone(&registry);
            async move { answer(&name, &program, &registry, cx).await }
        });
        let mut log = agent.frames(u64::MAX);
        let outcome = tokio::select! {
            ended = log.next() => {
                let text = ended.err().map_or_else(
                    || agent_end(&agent),
                    |error| error.to_string(),
                );
                Err(Failure::Misuse(printable(&text).into_owned()))
            }
            () = signals.end() => Ok(Verdict::Fine),
        };
        program.end().await;
        outcome
    })
}

fn agent_end(agent: &Agent) -> String {
    format!("the hub has ended the session of {}", agent.name())
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

async fn answer(
    name: &str,
    program: &Program,
    registry: &Registry,
    cx: Cx,
) -> Result<(), AnyError> {
    let text = cx.inbound().text().to_owned();
    let asked = cx.inbound().message(registry)?;
    if !matches!(asked.intent.as_str(), "req" | "qry") || !is_for(name, &asked) {
        return Ok(());
    }
    note(format_args!("{}", twin(&text, registry)));
    let operation = asked.operation.to_string();
    let is_chat = asked.schema.as_deref() == Some("CH") || operation == "chat";
    let Some(said) = program.run(&text, cx.inbound().cancel_token()).await? else {
        return Ok(());
    };
    let said = said.trim_end();
    if said.is_empty() {
        return Ok(());
    }
    let message = if said.starts_with('@') && Frame::parse(said).is_ok() {
        let message = Message::decode(said, registry)?.into_owned();
        // Nobody would learn of it: the session takes frames of this agent only.
        if message.agent != *name {
            note(format_args!(
                "error: the command prints a frame of {}, and this agent is {name}",
                message.agent
            ));
            return Err("the command prints a frame of another agent".into());
        }
        message
    } else {
        let message = Message::new(name.to_owned(), "done", operation)?;
        if is_chat {
            message.under("CH").with("content", said.to_owned())
        } else {
            message.with("result", said.to_owned())
        }
    };
    Ok(cx.reply_with(Outbound::owned_message(message)).await?)
}

/// Returns whether a request is for this agent: it names no assignee, or this one.
fn is_for(name: &str, asked: &Message<'_>) -> bool {
    let assignee = asked
        .payload
        .get("assignee")
        .map(accp_runtime::Value::to_json);
    assignee.is_none_or(|assignee| assignee.as_str().is_none_or(|assignee| assignee == name))
}
