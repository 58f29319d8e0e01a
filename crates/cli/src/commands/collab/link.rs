//! `accp collab link`: runs one side of an ACCP session through the shared folder.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use accp_collab::disk::FolderLink;
use accp_collab::{Code, Finding, Folder, Scope, frames};
use accp_frame::{AgentId, DynamicFrame, Registry};
use accp_session::{Event, InputError, MemberId, Mid, Options, Outbound, Rules, SendError, Time};
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
/// So a participant that was killed goes on with the same store, and loses nothing. A line that is not a frame, and a
/// frame that the host refuses, are reported on stderr.
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
    /// End when stdin has ended and all frames are acknowledged or refused. The exit code is 2 if a frame was not sent.
    /// Without this option, the command runs until it is interrupted
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
    let mut outgoing = Frames::default();
    loop {
        while is_open {
            match lines.try_recv() {
                Ok(line) => {
                    let line = line.map_err(|error| Failure::Io("stdin".to_owned(), error))?;
                    waiting.push_back(line);
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => is_open = false,
            }
        }
        while let Some(line) = waiting.front() {
            if !outgoing.send(&mut side, line) {
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
        let events = side.serve(now(), |inbound| {
            // The frame is printed before it counts as handled.
            report::record(inbound.text()).map_err(|failure| failure.to_string())?;
            Ok(vec![])
        })?;
        for event in events {
            outgoing.hear(event);
        }
        if args.until_sent && !is_open && waiting.is_empty() && side.session().is_quiet() {
            return Ok(if outgoing.has_lost {
                Verdict::Refused
            } else {
                Verdict::Fine
            });
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

/// The frames of stdin that the host has not taken yet.
#[derive(Default)]
struct Frames {
    /// The lines that were sent, by the ids of their frames.
    sent: BTreeMap<Mid, String>,
    /// Whether a line was not sent, or was refused.
    has_lost: bool,
}

impl Frames {
    /// Sends a frame, or reports why the line is not a frame. Returns false if the frame has to wait, because the host
    /// has not answered yet or because too many frames wait to be acknowledged.
    fn send(&mut self, side: &mut Side, line: &[u8]) -> bool {
        let line = line.trim_ascii();
        if line.is_empty() {
            return true;
        }
        let registry = Arc::clone(&side.session().options().registry);
        let shown = String::from_utf8_lossy(line);
        let why = match DynamicFrame::decode_bytes(line, &registry) {
            Err(error) => error.to_string(),
            Ok(message) => match side.send(&Outbound::message(&message), now()) {
                Ok(mid) => {
                    // The host takes its own frames at once, so no event says what became of them.
                    if !side.session().is_host() {
                        self.sent.insert(mid, shown.into_owned());
                    }
                    return true;
                }
                Err(DriverError::Input(InputError::Send(
                    SendError::NotJoined | SendError::Full(_),
                ))) => {
                    return false;
                }
                Err(error) => error.to_string(),
            },
        };
        self.lose(&why, &shown);
        true
    }

    /// Reports the frames that the host does not take, and the frames that this side does not get.
    fn hear(&mut self, event: Event) {
        match event {
            Event::Acknowledged(mid) => {
                self.sent.remove(&mid);
            }
            Event::Retried { old, new, .. } => {
                if let Some(line) = self.sent.remove(&old) {
                    self.sent.insert(new, line);
                }
            }
            Event::Refused(mid, error) => {
                let why = format!(
                    "{}: the host refuses the frame: expected {}",
                    error.code, error.message
                );
                self.refused(&mid, &why);
            }
            Event::Cancelled(mid) => self.refused(&mid, "the chain of the frame was cancelled"),
            Event::Expired(mid) => self.refused(&mid, "E3001: the time of the frame was over"),
            Event::Missed(positions) => note(format_args!(
                "frames are missing: the host no longer has the entries {} to {} of the session",
                positions.start(),
                positions.end()
            )),
            Event::RolledBack { position, .. } => note(format_args!(
                "the store is an older copy: a member has the session up to entry {position}; end this command, and \
                 put back the newest copy of the store"
            )),
            _ => {}
        }
    }

    /// Reports a frame that was sent in vain. An earlier run may have sent the frame, so its line may not be known.
    fn refused(&mut self, mid: &Mid, why: &str) {
        let line = self.sent.remove(mid);
        let line = line.unwrap_or_else(|| format!("frame {mid} of an earlier run"));
        self.lose(why, &line);
    }

    fn lose(&mut self, why: &str, line: &str) {
        self.has_lost = true;
        note(format_args!("not sent: {why} ({line})"));
    }
}

/// Reads the lines of stdin on a thread of their own. An error of stdin is the last item.
fn lines_of_stdin() -> Receiver<io::Result<Vec<u8>>> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in io::stdin().lock().split(b'\n') {
            let is_last = line.is_err();
            if sender.send(line).is_err() || is_last {
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
