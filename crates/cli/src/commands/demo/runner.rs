//! Runs the script of the demo, and shows its frames.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use accp_context::Checkpoint;
use accp_frame::{AgentId, DynamicFrame, Value};
use accp_registry::Registry;
use accp_session::{
    Entry, EntryKind, Input, MemberId, Mid, Options, Outbound, Reference, Rules, Time,
};
use accp_store::{DriverError, SqliteStore};
use accp_tokens::Bpe;

use super::script::{HOST, INTRODUCTION, MEMBERS, READ, READER, ScriptStep};
use super::token_costs::TokenCosts;
use crate::local_session::LocalSession;
use crate::store_file::SharedStore;
use crate::words::{ranges, triggers, twin, without_metadata};
use accp_console::outcome::Failure;
use accp_console::output::Output;

const SESSION: &str = "pipeline";
/// The start of the simulated clock, so that every run shows the same times.
const START: Time = Time::from_secs(1_714_000_000);
/// The number of columns of the output.
const WIDTH: usize = 80;
/// The number of columns at the left, for the positions.
const MARGIN: usize = 5;
/// The most lines for a frame. The frame in plain words (its twin) also has at most this many lines.
const LINES: usize = 2;

/// A session that runs through the script.
pub(super) struct Runner {
    path: PathBuf,
    out: Output,
    session: LocalSession,
    agents: BTreeMap<&'static str, MemberId>,
    /// The requests that have no answer yet, by the names that the script gives to their chains.
    chains: BTreeMap<&'static str, Chain>,
    costs: TokenCosts,
    /// Accepted frames, by position.
    frames: BTreeMap<u64, String>,
}

/// A request that has no answer yet.
struct Chain {
    mid: Mid,
    /// The member that has to answer, and the position of the request.
    due: Option<(MemberId, u64)>,
}

impl Runner {
    /// Opens the session and lets all members in.
    pub(super) fn open(path: &Path, mut out: Output) -> Result<Self, Failure> {
        let registry = Arc::new(Registry::shared().clone());
        let counter = Bpe::o200k_base();
        let options = Options::new(SESSION, agent(HOST)?, registry).counting(Arc::new(counter));
        let mut session = LocalSession::open(options, Rules::default(), store(path)?, START)?;
        let mut agents = BTreeMap::from([(HOST, MemberId::HOST)]);
        for name in MEMBERS {
            agents.insert(name, session.join(&agent(name)?, store(path)?)?);
        }
        session.settle()?;
        session.take_accepted()?;
        out.line(INTRODUCTION)?;
        Ok(Self {
            path: path.to_owned(),
            out,
            session,
            agents,
            chains: BTreeMap::new(),
            costs: TokenCosts::new(counter),
            frames: BTreeMap::new(),
        })
    }

    /// Does the next step of the script; `rest` holds the steps after it.
    pub(super) fn step(&mut self, step: ScriptStep, rest: &[ScriptStep]) -> Result<(), Failure> {
        self.session.now = self.session.now + Duration::from_secs(1);
        let mut asked = None;
        match step {
            ScriptStep::Say(frame) => self.send(frame, None).map(drop)?,
            ScriptStep::Stream(name, frame) => self.send(frame, Some(name)).map(drop)?,
            ScriptStep::Ask(chain, frame) => {
                let mid = self.send(frame, None)?;
                self.chains.insert(chain, Chain { mid, due: None });
                let answer = rest.iter().find_map(|step| step.answer_to(chain));
                asked = answer.map(|frame| (chain, self.member(agent_of(frame))));
            }
            ScriptStep::Cancel(chain, frame) => {
                let asked = self.chains.remove(chain);
                let mid = asked.map(|chain| chain.mid.to_string());
                self.send(frame, mid.as_deref()).map(drop)?;
            }
            ScriptStep::Answer(chain, frame) => self.reply(chain, frame)?,
            ScriptStep::AnswerInCrash(chain, frame) => {
                self.reply(chain, frame)?;
                return self.crash();
            }
            ScriptStep::Phase => {
                let now = self.session.now;
                let host = self.session.host.driver.session_mut()?;
                host.handle(Input::Phase, now).map_err(DriverError::from)?;
            }
        }
        self.session.settle()?;
        self.show_news()?;
        self.hand_out(asked)
    }

    /// Sends a frame. If a chain is named, the frame belongs to this chain.
    fn send(&mut self, frame: &str, chain: Option<&str>) -> Result<Mid, Failure> {
        let message = read(frame, chain)?;
        let by = self.member(message.agent.as_str());
        self.session.send(by, &Outbound::message(&message))
    }

    /// Answers the request of a chain, and marks the request as handled.
    fn reply(&mut self, chain: &str, frame: &str) -> Result<(), Failure> {
        let asked = self.chains.remove(chain);
        let Some(Chain {
            mid,
            due: Some((by, position)),
        }) = asked
        else {
            return Err(defect(&format!(
                "this frame answers no open request: {frame}"
            )));
        };
        let message = read(frame, Some(&mid.to_string()))?;
        let reply = Outbound::message(&message);
        self.session.answer(by, position, &[reply])
    }

    fn member(&self, agent: &str) -> MemberId {
        self.agents.get(agent).copied().unwrap_or(MemberId::HOST)
    }

    /// Marks all delivered frames as handled, except the request that was just sent: its answer will mark it as
    /// handled.
    fn hand_out(&mut self, asked: Option<(&'static str, MemberId)>) -> Result<(), Failure> {
        if let Some((chain, by)) = asked {
            let inbound = self.session.side(by)?.inbox.pop();
            if let Some(chain) = self.chains.get_mut(chain) {
                chain.due = inbound.map(|inbound| (by, inbound.position()));
            }
        }
        let sides: Vec<_> = self.session.sides().map(|side| side.id).collect();
        for side in sides {
            self.session.handle_all(side)?;
        }
        self.session.settle()
    }

    /// Kills the host between its commit and its first acknowledgement, and restores it.
    fn crash(&mut self) -> Result<(), Failure> {
        self.session.kill_host()?;
        self.show_news()?;
        let before = self.session.host.session().context();
        self.session.restore_host(store(&self.path)?)?;
        let host = self.session.host.session();
        let (entries, members) = (host.position(), host.state().members().count());
        if host.context() != before {
            return Err(defect("the context differs after the restart"));
        }
        let waiting = |session: &LocalSession| {
            let members = session.members.iter();
            members
                .map(|member| member.session().outbox_len())
                .sum::<usize>()
        };
        let unsure = waiting(&self.session);
        self.session.settle()?;
        let again = self.session.take_accepted()?;
        let is_frame = |entry: &Entry| entry.kind == EntryKind::Frame;
        if unsure != 1 || waiting(&self.session) != 0 || again.iter().any(is_frame) {
            return Err(defect("the frame under way was not accepted exactly once"));
        }
        self.out.line(format_args!(
            "   ! After this commit and before anything left, the host was killed. It is back\n     \
             from its file: {entries} entries, {members} agents, the same context. dev heard nothing\n     \
             and sent its frame again; the log has it once."
        ))?;
        self.hand_out(None)
    }

    fn show_news(&mut self) -> Result<(), Failure> {
        let news = self.session.take_accepted()?;
        for entry in &news {
            self.show(entry)?;
        }
        if news.iter().any(|entry| entry.kind == EntryKind::Frame) {
            self.costs.read(&self.session.host.session().context());
        }
        Ok(())
    }

    /// Shows an accepted frame.
    fn show(&mut self, entry: &Entry) -> Result<(), Failure> {
        let registry = Registry::shared();
        match entry.kind {
            EntryKind::Frame => {
                let head = without_metadata(&entry.text);
                let position = format!("{:>3}  ", entry.position);
                self.out.line(wrapped(&position, head))?;
                self.out.line(wrapped("", &twin(&entry.text, registry)))?;
                self.frames.insert(entry.position, entry.text.to_string());
                self.costs.frame(&entry.text);
            }
            EntryKind::Control => {
                if let Ok(checkpoint) = Checkpoint::decode(&entry.text) {
                    self.checkpoint(&checkpoint)?;
                } else if entry.text.contains(">sync:put{") {
                    let position = format!("{:>3}  ", entry.position);
                    self.out
                        .line(wrapped(&position, &twin(&entry.text, registry)))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), Failure> {
        let left = match checkpoint.left() {
            [] => "nothing".to_owned(),
            left => ranges(left),
        };
        let budget = self.session.host.session().budget();
        self.out.line(format_args!(
            "   * checkpoint {} ({}): {left} left; hot {} + warm {} = {} tokens",
            checkpoint.id(),
            triggers(checkpoint),
            budget.hot.used,
            budget.warm.used,
            budget.total.used
        ))
    }

    /// Shows the totals, and reads values that have left the context.
    pub(super) fn close(mut self) -> Result<(), Failure> {
        self.out.line(format_args!(
            "\n{}\n  (JSON under full names; a model reads the context, or all of the JSON so far)\n",
            self.costs.table()
        ))?;
        self.out.line(format_args!(
            "Every agent can read by reference what left the context. {READER} reads:\n"
        ))?;
        for key in READ {
            let value = self.fetch(READER, key)?;
            let frame = key
                .strip_prefix("cold.p")
                .and_then(|at| at.parse::<u64>().ok());
            let sent = frame.and_then(|at| self.frames.get(&at));
            if sent.is_some_and(|sent| value.as_str() != Some(sent)) {
                return Err(defect(&format!("${key} is not what was accepted")));
            }
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            self.out.line(format_args!("  ${key}"))?;
            self.out.line(wrapped("", &value))?;
        }
        self.out.line(
            "\nKeep it all with `accp demo --store team.db`, then `accp session show team.db`.",
        )?;
        self.out.finish()
    }

    /// Lets the member `agent` read the value of a reference.
    fn fetch(&mut self, agent: &str, key: &str) -> Result<Value<'static>, Failure> {
        let reference = Reference::parse(key).ok_or_else(|| defect(key))?;
        let id = self.member(agent);
        for _ in 0..2 {
            let member = self.session.side(id)?;
            if let Some(value) = member.driver.read(&reference)? {
                return Ok(value);
            }
            // The member asks its host for the bytes.
            self.session.settle()?;
            self.session.take_accepted()?;
        }
        Err(defect(&format!("${key} cannot be read")))
    }
}

/// Breaks the text into lines of the full width, after the margin. If the text needs more lines than allowed, it is
/// cut, and the number of its bytes is added.
fn wrapped(margin: &str, text: &str) -> String {
    let width = WIDTH - MARGIN;
    let mut lines = Vec::new();
    let mut rest = text;
    while rest.len() > width && lines.len() + 1 < LINES {
        let at = rest[..=width]
            .rfind(['|', ',', ' '])
            .map_or(width, |at| at + 1)
            .min(width);
        lines.push(rest[..at].trim_end());
        rest = rest[at..].trim_start();
    }
    let cut = format!(".. ({} bytes)", text.len());
    let mut last = rest.to_owned();
    if last.len() > width {
        last.truncate(width - cut.len());
        last += &cut;
    }
    lines.push(&last);
    format!(
        "{margin:MARGIN$}{}",
        lines.join(&format!("\n{:MARGIN$}", ""))
    )
}

/// Opens the file. Each side opens it for itself, as separate processes would.
fn store(path: &Path) -> Result<SharedStore, Failure> {
    Ok(Arc::new(Mutex::new(SqliteStore::open(path)?)))
}

/// Reads a frame of the script. If a chain is named, the frame belongs to this chain.
fn read(frame: &str, chain: Option<&str>) -> Result<DynamicFrame<'static>, Failure> {
    let chain = chain.map(|chain| format!("[cid:{chain}]"));
    let text = format!("{frame}{}", chain.unwrap_or_default());
    let message = DynamicFrame::decode(&text, Registry::shared());
    let message = message.map_err(|error| defect(&format!("{text}: {error}")))?;
    Ok(message.into_owned())
}

fn agent_of(frame: &str) -> &str {
    let end = frame.find('>').unwrap_or_default();
    frame.get(1..end).unwrap_or_default()
}

fn agent(name: &'static str) -> Result<AgentId<'static>, Failure> {
    AgentId::new(name).map_err(|error| defect(&error.to_string()))
}

/// Makes the failure for a mistake in the script. Such a mistake is a bug of this program.
fn defect(what: &str) -> Failure {
    Failure::Input(format!("{what}; this is a defect, please report it"))
}
