//! `accp agent`: runs an agent that answers each request with the output of a command.

mod answer;
mod differences;
mod group;
mod program;
mod signals;
#[cfg(unix)]
mod startable;

use std::sync::Arc;
use std::time::Duration;

use accp_client::{Agent, Cx, Error};
use accp_frame::{AgentId, DynamicFrame, ErrorCode, Intent, profiles::ErrorFail};
use accp_session::{Options, Outbound, Session};
use accp_tokens::Bpe;
use tokio::time::{Instant, sleep};

use self::program::{Program, ProgramArgs};
use self::signals::Signals;
use crate::hub::HubArgs;
use crate::registries::RegistryArgs;
use crate::words::{printable, twin};
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::note;

/// Take part in a session as an agent that answers by a command
///
/// For each request, COMMAND runs once. It gets the frame on its stdin and in `ACCP_FRAME`, with values in
/// the place of references. What it prints is the answer: a frame, or a text. A text becomes a `done` of the
/// same operation, by the schema that the registry of the session has for it: it is the `content` of a chat,
/// or the `result` of a tool. If COMMAND prints nothing, the request counts as handled. If COMMAND fails, the
/// answer is `fail:error` with E4002 and its exit status. What it writes to stderr goes to the stderr of
/// `accp agent`. When the request is cancelled, and when the agent ends, COMMAND and all processes that it has
/// started get SIGTERM, and later SIGKILL. When COMMAND ends by itself, processes that it has left running get
/// the same. COMMAND does not see `ACCP_TOKEN`. An agent whose COMMAND the system cannot start does not join.
///
/// A request that has no answer when the agent ends goes to the next agent of this name. COMMAND then runs again, with
/// `ACCP_REDELIVERED=1`: what the earlier run did may have happened.
///
/// If no hub is there, the agent tries again for five seconds. So a hub and its agents may start together.
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

/// The longest time to wait for the schemas of the hub.
const SCHEMAS: Duration = Duration::from_secs(10);
/// The time between two checks whether the schemas have come.
const LOOK: Duration = Duration::from_millis(20);
/// The time for which an agent tries to reach a hub that is not there yet.
const HUB: Duration = Duration::from_secs(5);
/// The time between two attempts to reach a hub.
const ATTEMPT: Duration = Duration::from_millis(100);

/// Runs the command, until it is interrupted.
pub(crate) fn run(args: &Args) -> Outcome {
    let options = options(args)?;
    #[cfg(unix)]
    startable::check(&args.command, std::env::var_os("PATH").as_deref())?;
    differences::start();
    super::serve::runtime()?.block_on(async {
        let token = args.hub.token()?;
        let mut agent = connect(args, &options, token.as_deref()).await?;
        // From here on, a signal to this process must first end the running command.
        let mut signals = Signals::new();
        let program = Arc::new(Program::new(&args.command, &args.program));
        let outcome = tokio::select! {
            failure = async {
                loop {
                    let removed = match serve(args, &agent, &program).await {
                        Ok(removed) => removed,
                        Err(failure) => break failure,
                    };
                    note(format_args!("note: {}; it begins anew", printable(&removed.to_string())));
                    agent = match connect(args, &options, token.as_deref()).await {
                        Ok(again) => again,
                        Err(failure) => break failure,
                    };
                }
            } => Err(failure),
            () = signals.end() => Ok(Verdict::Fine),
        };
        program.end().await;
        outcome
    })
}

/// Connects the agent to the hub, with an empty store. A hub that starts at the same time may not listen yet.
async fn connect(args: &Args, options: &Options, token: Option<&str>) -> Result<Agent, Failure> {
    let hub = &args.hub;
    let until = Instant::now() + HUB;
    loop {
        let mut connect = Agent::connect(&hub.address.hub, &hub.session, &args.name);
        connect = connect.options(options.clone());
        if let Some(token) = token {
            connect = connect.token(token);
        }
        if let Some(file) = &hub.address.authority {
            connect = connect.authority(file);
        }
        match connect.await {
            Err(Error::Unreachable(..)) if Instant::now() < until => sleep(ATTEMPT).await,
            connected => return connected.map_err(|error| misuse(&error)),
        }
    }
}

/// Answers requests until the agent ends. If it ends because the hub has another log than the agent, returns this
/// reason. Then the caller can connect a new agent.
async fn serve(args: &Args, agent: &Agent, program: &Arc<Program>) -> Result<Error, Failure> {
    note(format_args!(
        "{} is in session {} at {}",
        args.name, args.hub.session, args.hub.address.hub
    ));
    let is_known = match knows_schemas(agent).await {
        Ok(is_known) => is_known,
        Err(error) => return end_of(agent, error).await,
    };
    if !is_known {
        note(
            "note: the session has another registry than this agent, which reads and answers by its own",
        );
    }
    let (name, runs) = (args.name.clone(), Arc::clone(program));
    agent.serve_others(move |cx| {
        let (name, program) = (name.clone(), Arc::clone(&runs));
        async move { answer(&name, &program, cx).await }
    });
    let mut log = agent.frames(u64::MAX);
    match log.next().await {
        Ok(_) => {
            end_of(
                agent,
                Error::Ended("the hub has ended its session".to_owned()),
            )
            .await
        }
        Err(error) => Err(misuse(&error)),
    }
}

/// Returns the reason if the agent has ended because the hub has another log than the agent. Any other reason is a
/// failure. `known` is the reason to use if the agent itself gives none.
async fn end_of(agent: &Agent, known: Error) -> Result<Error, Failure> {
    match agent.joined().await.err().unwrap_or(known) {
        removed @ Error::Removed(_) => Ok(removed),
        other => Err(misuse(&other)),
    }
}

fn misuse(error: &Error) -> Failure {
    Failure::Misuse(printable(&error.to_string()).into_owned())
}

/// Returns the options of the agent's side. The side counts tokens, so that its frames stay within the limits of the
/// draft.
fn options(args: &Args) -> Result<Options, Failure> {
    let registry = Arc::new(args.registry.load()?);
    // An invalid name is reported here, before the agent connects.
    let agent = AgentId::new(args.name.clone());
    let agent =
        agent.map_err(|error| Failure::Misuse(format!("agent `{}`: {error}", args.name)))?;
    let options = Options::new(args.hub.session.clone(), agent, registry);
    let mut options = options.counting(Arc::new(Bpe::o200k_base()));
    // Without --registry, the agent accepts the registry of the session, even if it redefines or removes schemas.
    options.schemas.allow_redefine = !args.registry.is_given();
    options.schemas.allow_remove = !args.registry.is_given();
    Ok(options)
}

/// Waits until the agent has the registry of its session. Returns false if this takes too long.
async fn knows_schemas(agent: &Agent) -> Result<bool, accp_client::Error> {
    let until = Instant::now() + SCHEMAS;
    let look = |session: &Session| {
        let in_force = session.state().schemas();
        let knows = in_force.is_none_or(|hash| hash == session.options().registry.hash());
        (knows, session.awaits_schemas())
    };
    loop {
        match agent.look(look).await? {
            (false, true) if Instant::now() < until => sleep(LOOK).await,
            (knows, _) => return Ok(knows),
        }
    }
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

async fn answer(name: &str, program: &Program, cx: Cx) -> Result<(), AnyError> {
    let registry = cx.agent()?.registry().await?;
    let inbound = cx.inbound();
    let request = inbound.message(&registry)?.into_owned();
    let text = inbound.text().to_owned();
    if !matches!(request.intent.as_str(), "req" | "qry") {
        return Ok(());
    }
    note(format_args!("{}", twin(inbound.text(), &registry)));
    let printed = match program.run(inbound).await {
        Ok(None) => return Ok(()),
        Ok(Some(printed)) => printed,
        Err(error) => return fail(cx, &request, &error.to_string()).await,
    };
    let printed = printed.trim_end();
    if printed.is_empty() {
        return Ok(());
    }
    let message = match answer::of(name, &request, printed, &registry) {
        Ok(message) => message,
        Err(why) => {
            note(format_args!("error: {why}"));
            return fail(cx, &request, &why).await;
        }
    };
    // The session would drop a frame of another agent without a report.
    if message.agent != *name {
        note(format_args!(
            "error: the command prints a frame of {}, and this agent is {name}",
            message.agent
        ));
        return fail(cx, &request, "the command prints a frame of another agent").await;
    }
    if !matches!(message.intent.as_str(), "done" | "fail" | "end" | "stream") {
        let why = format!(
            "the command prints a frame that answers nothing: expected `done`, `fail`, `end` or `stream`, found `{}`",
            message.intent.as_str()
        );
        note(format_args!("error: {why}"));
        return fail(cx, &request, &why).await;
    }
    if message.intent == Intent::STREAM {
        // The command has printed a piece of a stream, and a piece does not end its chain. The command itself has
        // ended, so no more pieces follow, and the agent ends the chain.
        let chain = cx.inbound().chain()?.to_string();
        let piece = Outbound::owned_message(message).in_chain(chain);
        cx.agent()?.send_with(piece).await?;
        return Ok(());
    }
    let replied = cx.reply_kept(Outbound::owned_message(message)).await?;
    let request = twin(&text, &registry);
    // The next request need not wait for the hub.
    tokio::spawn(async move {
        if let Err(error @ (Error::Refused(_) | Error::Expired)) = replied.accepted().await {
            note(format_args!(
                "error: the hub has not taken the answer to {request}: {error}"
            ));
        }
    });
    Ok(())
}

/// Answers that the command has failed (draft section 10.2). The answer names the tool, if the request has called a
/// tool.
async fn fail(cx: Cx, request: &DynamicFrame<'_>, why: &str) -> Result<(), AnyError> {
    let code = ErrorCode::TOOL_EXEC_FAILED;
    let retry = code.is_retryable().unwrap_or(false);
    let mut fail = ErrorFail::new(code.to_string(), why.to_owned(), retry);
    if let Some(tool) = request
        .payload
        .get("tool_name")
        .and_then(|tool| tool.as_str())
    {
        fail = fail.tool_name(tool.to_owned());
    }
    Ok(cx.reply(fail).await?)
}
