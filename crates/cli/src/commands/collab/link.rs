//! `accp collab link`: runs one side of an ACCP session through the shared folder.

use std::collections::VecDeque;
use std::io::BufRead as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use accp_collab::disk::FolderLink;
use accp_collab::{Code, Finding, Folder, Scope, frames};
use accp_frame::{AgentId, DynamicFrame, Registry};
use accp_session::{InputError, MemberId, Options, Outbound, Rules, SendError, Time};
use accp_store::{Driver, DriverError, SqliteStore};

use super::{FolderArgs, report};
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::note;

/// The name of the session.
const SESSION: &str = "collab";

/// The longest time between two checks of the files.
const PAUSE: Duration = Duration::from_millis(50);

/// Take part in an ACCP session through the folder
///
/// Each line of stdin is a frame to send. Each frame that arrives is a line on stdout. The owner of the
/// proposal is the host, so the owner has to take part. The store keeps frames until they are acknowledged.
/// So a participant that was killed goes on with the same store, and loses nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp collab link --folder round --participant ada --store ada.accp
  echo '@bob>qry:status{}' | accp collab link --folder round --participant bob --store bob.accp --until-sent")]
pub(crate) struct Args {
    #[command(flatten)]
    folder: FolderArgs,
    /// The participant
    #[arg(long, value_name = "ID")]
    participant: String,
    /// The file that keeps this side of the session
    #[arg(long, value_name = "FILE")]
    store: PathBuf,
    /// End when stdin has ended and all frames are acknowledged. Without this option, the command runs until it is
    /// interrupted
    #[arg(long)]
    until_sent: bool,
}

type Side = Driver<SqliteStore, FolderLink>;

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let folder = args.folder.shared().read(Scope::Log);
    let mut side = match open(args, &folder) {
        Ok(side) => side?,
        Err(findings) => return report::refuse(&findings, args.folder.format),
    };
    let lines = lines_of_stdin();
    let mut is_open = true;
    let mut waiting = VecDeque::new();
    loop {
        while is_open {
            match lines.try_recv() {
                Ok(line) => waiting.push_back(line),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => is_open = false,
            }
        }
        while let Some(line) = waiting.front() {
            if !send(&mut side, line) {
                break;
            }
            waiting.pop_front();
        }
        let arrived = side
            .link_mut()
            .receive()
            .map_err(Failure::at(&args.folder.path))?;
        for (agent, frame) in arrived {
            if let Some(member) = side.link_mut().number(&agent) {
                side.receive(member, frame.as_bytes(), now())?;
            }
        }
        side.serve(now(), |inbound| {
            // The frame is printed before it counts as handled.
            report::record(inbound.text()).map_err(|failure| failure.to_string())?;
            Ok(vec![])
        })?;
        if args.until_sent && !is_open && waiting.is_empty() && side.session().is_quiet() {
            return Ok(Verdict::Fine);
        }
        thread::sleep(PAUSE);
    }
}

/// Opens the participant's side of the session. Returns findings if the folder has no such participant, or cannot be
/// read.
fn open(args: &Args, folder: &Folder) -> Result<Result<Side, Failure>, Vec<Finding>> {
    let (protocol, state) = folder.standing()?;
    let participant = &args.participant;
    if !protocol.participants.contains(participant) {
        let text = format!(
            "the participant is unknown; name one of {}",
            protocol.participants.join(", ")
        );
        return Err(vec![Finding::new(Code::ParticipantUnknown, text)]);
    }
    let owner = state.owner().unwrap_or_default();
    let others = protocol.participants.iter().filter(|one| *one != owner);
    let others: Vec<String> = others.map(|one| frames::agent_of(one)).collect();
    Ok(begin(args, owner, &others))
}

fn begin(args: &Args, owner: &str, others: &[String]) -> Result<Side, Failure> {
    let agent =
        |name: String| AgentId::new(name).map_err(|error| Failure::Misuse(error.to_string()));
    let me = agent(frames::agent_of(&args.participant))?;
    let mut link =
        FolderLink::open(&args.folder.path, &me).map_err(Failure::at(&args.folder.path))?;
    let store = SqliteStore::open(&args.store)?;
    let registry = Arc::new(Registry::standard());
    let options = Options::new(SESSION, me, registry);
    if args.participant != owner {
        link.name(MemberId::HOST, &agent(frames::agent_of(owner))?);
        return Ok(Driver::open_member(store, link, options, now())?);
    }
    let mut side = Driver::open_host(store, link, options, Rules::default(), now())?;
    for other in others {
        let other = agent(other.clone())?;
        let member = side.join(&other, now())?;
        side.link_mut().name(member, &other);
    }
    Ok(side)
}

/// Sends a frame, or reports why the line is not a frame. Returns false if the frame has to wait, because the host
/// has not answered yet or because too many frames wait to be acknowledged.
fn send(side: &mut Side, line: &str) -> bool {
    let line = line.trim();
    if line.is_empty() {
        return true;
    }
    let registry = Arc::clone(&side.session().options().registry);
    let why = match DynamicFrame::decode(line, &registry) {
        Err(error) => error.to_string(),
        Ok(message) => match side.send(&Outbound::message(&message), now()) {
            Ok(_) => return true,
            Err(DriverError::Input(InputError::Send(
                SendError::NotJoined | SendError::Full(_),
            ))) => {
                return false;
            }
            Err(error) => error.to_string(),
        },
    };
    note(format_args!("not sent: {why} ({line})"));
    true
}

fn lines_of_stdin() -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

fn now() -> Time {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
