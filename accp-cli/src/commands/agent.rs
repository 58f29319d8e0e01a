//! `accp agent`: an agent that is a command of the shell.

use std::process::Stdio;

use accp_client::{Agent, Cx};
use accp_runtime::session::Outbound;
use accp_runtime::{Frame, Message, Registry};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::hub::HubArgs;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::output::note;
use crate::registries::RegistryArgs;
use crate::words::twin;

/// Take part in a session as an agent that answers by a command
///
/// For each request the command runs once, with the frame on its stdin and in `ACCP_FRAME`. What it
/// prints is the answer: a frame, or a text, which becomes a `done` of the same operation (`content` of a
/// chat). If it prints nothing, the request counts as handled. If it fails, the answer is `fail:error`
/// with the last line of its stderr.
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
    hub: HubArgs,
    #[command(flatten)]
    registry: RegistryArgs,
}

/// Runs the command, until it is interrupted.
pub(crate) fn run(args: &Args) -> Outcome {
    let registry = std::sync::Arc::new(args.registry.load()?);
    super::serve::runtime()?.block_on(async {
        let hub = &args.hub;
        let mut connect = Agent::connect(&hub.hub, &hub.session, &args.name);
        if let Some(token) = hub.token()? {
            connect = connect.token(token);
        }
        let agent = connect
            .await
            .map_err(|error| Failure::Misuse(error.to_string()))?;
        note(format_args!(
            "{} is in session {} at {}",
            args.name, hub.session, hub.hub
        ));
        let (name, command) = (args.name.clone(), args.command.clone());
        agent.serve_others(move |cx| {
            let (name, command) = (name.clone(), command.clone());
            let registry = std::sync::Arc::clone(&registry);
            async move { answer(&name, &command, &registry, cx).await }
        });
        let mut log = agent.frames(u64::MAX);
        tokio::select! {
            ended = log.next() => {
                let text = ended.err().map_or_else(
                    || agent_end(&agent),
                    |error| error.to_string(),
                );
                Err(Failure::Misuse(text))
            }
            () = super::serve::interrupted() => Ok(Verdict::Fine),
        }
    })
}

fn agent_end(agent: &Agent) -> String {
    format!("the hub has ended the session of {}", agent.name())
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

async fn answer(
    name: &str,
    command: &[String],
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
    let said = run_once(command, &text).await?;
    let said = said.trim_end();
    if said.is_empty() {
        return Ok(());
    }
    let message = if said.starts_with('@') && Frame::parse(said).is_ok() {
        Message::decode(said, registry)?.into_owned()
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

async fn run_once(command: &[String], frame: &str) -> Result<String, AnyError> {
    let [program, arguments @ ..] = command else {
        return Ok(String::new());
    };
    let mut child = Command::new(program)
        .args(arguments)
        .env("ACCP_FRAME", frame)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("{program}: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read its stdin is fine.
        let _ = stdin.write_all(format!("{frame}\n").as_bytes()).await;
    }
    let ended = child.wait_with_output().await?;
    if ended.status.success() {
        return Ok(String::from_utf8(ended.stdout)?);
    }
    let errors = String::from_utf8_lossy(&ended.stderr);
    let last = errors.trim_end().lines().last().unwrap_or_default();
    Err(format!("{program} ended with {}: {last}", ended.status).into())
}
