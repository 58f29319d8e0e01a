//! The work of an agent: its running handlers, its open questions, and frames that wait.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};
use std::time::Duration;

use accp_frame::{DynamicFrame, ErrorCode, Frame, Intent, Registry};
use accp_session::{Inbound, MemberId, Mid, Outbound, PeerError, Session};
use accp_store::DriverError;
use futures_util::FutureExt as _;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::open_question::{OnItsWay, OpenQuestion};
use super::sender::{SessionSender, waits};
use crate::command::{Command, Handlers, Posting, refuse};
use crate::context::{DELIVERED, Kept, Marked, PANICKED, Reply, Ticket};
use crate::error::{Done, Error, OnDurable};
use crate::handle::Handle;

/// How many handlers of an agent run at a time. Later frames wait in their order.
const HANDLERS: usize = 64;

pub(super) struct Work {
    /// The name of the agent.
    pub(super) name: Box<str>,
    /// The handle of the agent, with which handlers mark frames. The reference is weak, so that an agent does not
    /// keep itself alive.
    own: Weak<dyn Any + Send + Sync>,
    handlers: Handlers,
    /// True once a handler was registered.
    pub(super) listens: bool,
    /// The requests that the handlers take, as the session knows them.
    pub(super) takes: Takes,
    /// When the agent was opened. If the agent still has no handlers after [`SILENT`], and a request waits for an
    /// agent that takes it, the agent tells the session that it takes no requests.
    opened: Instant,
    /// True if [`SILENT`] was not over yet when [`Work::untold`] last looked.
    is_young: bool,
    /// True if the agent leaves its session once its work is done.
    pub(super) leaves: bool,
    /// The positions of frames that handlers have.
    pub(super) begun: BTreeSet<u64>,
    pub(super) questions: Vec<OpenQuestion>,
    /// Answers on their way to their askers, who have not taken them yet. They are not marked: an asker may leave
    /// without its answer.
    pub(super) given: Vec<Inbound>,
    /// Frames that the program has sent, while it waits until the host accepts or refuses them.
    pub(super) sent: BTreeMap<Mid, OnItsWay>,
    /// The frames to which replies are under way, by the ids of the replies.
    pub(super) replies: BTreeMap<Mid, Inbound>,
    /// Frames that wait until the session takes them.
    pub(super) early: VecDeque<Command>,
    /// Marks that wait until the session takes their answers.
    pub(super) late: VecDeque<Marked>,
    /// The callers that wait for the end of an agent that was closed; `None` before it is closed.
    draining: Option<Vec<Done<()>>>,
}

/// The requests that an agent takes, as its session knows them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// The session knows all requests that the handlers take.
    Heard,
    /// The session knows the requests that the handlers take, and still has those of an earlier run of the agent.
    Early,
    /// Handlers were added that the session does not know of.
    News,
}

/// After its opening an agent has this time to add handlers. Then the session is told which requests the agent
/// takes.
const SILENT: Duration = Duration::from_secs(1);

/// The result of handing a frame to the handlers.
pub(super) enum Dispatch {
    Started,
    Refused,
    /// No handler takes the frame, or no handle of the agent exists any more.
    Nobody,
}

impl Work {
    pub(super) fn new(name: &str, own: Weak<dyn Any + Send + Sync>) -> Self {
        Self {
            name: name.into(),
            own,
            handlers: Handlers::new(),
            listens: false,
            takes: Takes::Heard,
            opened: Instant::now(),
            is_young: true,
            leaves: false,
            begun: BTreeSet::new(),
            questions: Vec::new(),
            given: Vec::new(),
            sent: BTreeMap::new(),
            replies: BTreeMap::new(),
            early: VecDeque::new(),
            late: VecDeque::new(),
            draining: None,
        }
    }

    /// Makes the agent hand out no more frames. `done` is answered when the running work has ended.
    pub(super) fn drain(&mut self, done: Option<Done<()>>) {
        self.draining.get_or_insert_default().extend(done);
    }

    pub(super) fn drains(&self) -> bool {
        self.draining.is_some()
    }

    /// Returns whether the agent was closed, its handlers have ended, and the fate of its frames is known.
    pub(super) fn has_drained(&self) -> bool {
        let is_idle = self.begun.is_empty() && self.late.is_empty() && self.early.is_empty();
        self.drains() && is_idle && self.sent.is_empty()
    }

    pub(super) fn tell_drained(&mut self) {
        for done in self.draining.iter_mut().flat_map(|all| all.drain(..)) {
            let _ = done.send(Ok(()));
        }
    }

    pub(super) fn serve(&mut self, add: impl FnOnce(Handlers) -> Handlers) {
        let handlers = std::mem::take(&mut self.handlers);
        self.handlers = add(handlers);
        (self.listens, self.takes) = (true, Takes::News);
    }

    /// Returns the requests that the handlers take, if the session does not know them yet. Shortly after its opening an
    /// agent may still add handlers, so the requests of its earlier run are kept for a moment.
    pub(super) fn untold(&mut self, session: &Session, member: MemberId) -> Option<Vec<String>> {
        let is_young = self.opened.elapsed() < SILENT;
        self.is_young = is_young;
        let is_over = !is_young && session.is_asked_what_takes(member);
        match self.takes {
            Takes::News => {}
            Takes::Early if !is_young => {}
            _ if is_over => {}
            _ => return None,
        }
        let mut heads = self.handlers.heads();
        self.takes = Takes::Heard;
        if is_young {
            self.takes = Takes::Early;
            let mut members = session.state().members();
            let party = members.find(|(other, _)| *other == member);
            let before = party.and_then(|(_, party)| party.takes.clone());
            heads.extend(before.unwrap_or_default());
        }
        Some(heads)
    }

    pub(super) fn takes(&self, inbound: &Inbound) -> bool {
        self.handlers.takes(inbound)
    }

    /// Returns how many more handlers may begin.
    pub(super) fn room(&self) -> usize {
        HANDLERS.saturating_sub(self.begun.len())
    }

    /// Returns when the next wait is over.
    pub(super) fn wakes(&self) -> Option<Instant> {
        let asked = self
            .questions
            .iter()
            .map(|asked| asked.asking.deadline.until);
        let early = self.early.iter().filter_map(|command| match command {
            Command::Ask(asking) => Some(asking.deadline.until),
            _ => None,
        });
        // While [`Work::untold`] holds something back, the side must run once more when [`SILENT`] is over. This
        // does not read the clock again: [`SILENT`] may be over by now, and then nothing would wake the side.
        let waits = self.is_young && (self.takes == Takes::Early || !self.listens);
        let spoken = waits.then(|| self.opened + SILENT);
        asked.chain(early).chain(spoken).min()
    }

    /// Answers all waits with the reason why the agent has ended.
    pub(super) fn end(&mut self, ended: impl Fn() -> Error) {
        for asked in self.questions.drain(..) {
            let _ = asked.asking.answer.send(Err(ended()));
        }
        for done in self.draining.iter_mut().flat_map(|all| all.drain(..)) {
            let _ = done.send(Err(ended()));
        }
        while let Some((_, sent)) = self.sent.pop_first() {
            sent.ends(ended());
        }
        let late = self.late.drain(..).map(Command::Handled);
        for command in self.early.drain(..).chain(late) {
            refuse(command, ended());
        }
    }

    /// Returns the number of the question that gets this frame as a piece of a stream.
    pub(super) fn piece(&self, inbound: &Inbound) -> Option<u64> {
        let mut asked = self.questions.iter();
        let asked = asked.find(|asked| asked.has_piece(inbound))?;
        Some(asked.asking.number)
    }

    /// Hands a piece of a stream to its asker.
    pub(super) fn hand_piece(&mut self, registry: &Registry, whole: Inbound, number: u64) {
        let mut asked = self.questions.iter_mut();
        if let Some(asked) = asked.find(|asked| asked.asking.number == number) {
            asked.hand_piece(registry, whole);
        }
    }

    /// Returns the place of the question that a frame answers, and the intent of the answer.
    pub(super) fn answered(&self, inbound: &Inbound) -> Option<(usize, Intent)> {
        let mut asked = self.questions.iter().enumerate();
        asked.find_map(|(at, asked)| Some((at, asked.is_answered_by(inbound)?)))
    }

    /// Hands an answer to its asker. Returns false if the asker has just given up.
    pub(super) fn hand_answer(
        &mut self,
        registry: &Registry,
        whole: Inbound,
        (at, intent): (usize, Intent),
    ) -> bool {
        let given = whole.clone();
        let asked = self.questions.remove(at);
        let is_given = asked.hand_answer(registry, whole, intent);
        if is_given {
            self.given.push(given);
        }
        is_given
    }

    /// Returns the answer at this position, which was on its way to its asker.
    pub(super) fn given(&mut self, position: u64) -> Option<Inbound> {
        let at = self
            .given
            .iter()
            .position(|given| given.position() == position)?;
        Some(self.given.swap_remove(at))
    }

    /// Starts the handler of a frame, if there is one.
    pub(super) fn start(&mut self, whole: &Inbound) -> Dispatch {
        if self.own.strong_count() == 0 {
            return Dispatch::Nobody;
        }
        let own = self.own.clone();
        let mark = move |marked| {
            // If the agent has ended, the mark is lost. The frame comes again when the agent is
            // opened.
            let own = own.upgrade().and_then(|own| own.downcast().ok());
            let _ = own.map(|own: Arc<Handle>| own.tell(Command::Handled(marked)));
        };
        let (ticket, cx) = Ticket::new(whole.clone(), self.own.clone(), Box::new(mark));
        match self.handlers.dispatch(&mut Some(cx), whole) {
            Ok(None) => return Dispatch::Nobody,
            Ok(Some(handling)) => {
                // A handler that panics counts as failed. If the program ends instead, its next run
                // hands the frame out again.
                let handling = AssertUnwindSafe(handling).catch_unwind();
                tokio::spawn(async move {
                    let result = handling.await;
                    ticket.ends(result.unwrap_or_else(|_| Err(PANICKED.into())));
                });
                self.begun.insert(whole.position());
                return Dispatch::Started;
            }
            // The header names the type of the handler, but the fields do not fit it.
            Err(error) => self.late.push_back(Marked {
                inbound: whole.clone(),
                reply: Some(Reply::Unread(error.code(), error.to_string())),
                was_handled: false,
                done: None,
            }),
        }
        self.begun.insert(whole.position());
        Dispatch::Refused
    }

    /// Notes that a handler has ended. `sender` sends frames of the agent, and `member` is the agent's member.
    pub(super) fn ended(
        &mut self,
        sender: &mut SessionSender<'_>,
        member: MemberId,
        marked: Marked,
    ) -> Result<(), DriverError> {
        if !marked.was_handled {
            self.late.push_back(marked);
        } else if sender.driver.session().is_owed(member, &marked.inbound) {
            let end = end_of(&self.name, &marked.inbound);
            let end = end.and_then(|end| end.answering(&marked.inbound).ok());
            if let Some(end) = end {
                self.tell(sender, Posting::unwatched(end))?;
            }
        }
        Ok(())
    }

    /// Returns the positions of requests for this member alone whose handlers have ended without an answer.
    pub(super) fn owed(&self, session: &Session, member: MemberId) -> BTreeSet<u64> {
        let ended = self.late.iter().filter(|marked| marked.is_end());
        let owed = ended.filter(|marked| session.is_owed(member, &marked.inbound));
        owed.map(|marked| marked.inbound.position()).collect()
    }

    /// Marks frames as handled, as far as the session takes the answers now. `handled` marks one frame with its
    /// answers. A request that is still `owed` an answer gets `end`. Returns whether the session has taken any
    /// mark.
    pub(super) fn mark_late(
        &mut self,
        registry: &Registry,
        owed: &BTreeSet<u64>,
        durable: &mut Vec<OnDurable>,
        mut handled: impl FnMut(&Inbound, Vec<Outbound<'static>>) -> Result<Option<Mid>, DriverError>,
    ) -> Result<bool, DriverError> {
        let before = self.late.len();
        for marked in std::mem::take(&mut self.late) {
            if let Some(marked) = self.mark(marked, registry, owed, durable, &mut handled)? {
                self.late.push_back(marked);
            }
        }
        Ok(self.late.len() < before)
    }

    /// Marks a frame as handled, with an answer. If the answer cannot be sent, an error is sent instead. If the session
    /// takes no frame now, this returns `marked`, which has to wait.
    fn mark(
        &mut self,
        marked: Marked,
        registry: &Registry,
        owed: &BTreeSet<u64>,
        durable: &mut Vec<OnDurable>,
        handled: &mut impl FnMut(&Inbound, Vec<Outbound<'static>>) -> Result<Option<Mid>, DriverError>,
    ) -> Result<Option<Marked>, DriverError> {
        let inbound = &marked.inbound;
        let fault = |code, text: String| takes_answer(inbound).then(|| Outbound::error(code, text));
        let answers = match &marked.reply {
            Some(Reply::Frame(outbound)) => vec![outbound.clone()],
            Some(Reply::Error(code, text)) => fault(*code, text.clone()).into_iter().collect(),
            Some(Reply::Unread(code, text)) => {
                let unread = unread(&self.name, inbound, registry);
                let (code, text) = unread.unwrap_or_else(|| (*code, text.clone()));
                fault(code, text).into_iter().collect()
            }
            None if owed.contains(&inbound.position()) => {
                end_of(&self.name, inbound).into_iter().collect()
            }
            None => Vec::new(),
        };
        let replied = match handled(inbound, answers) {
            Err(DriverError::Input(error)) if waits(&error) => return Ok(Some(marked)),
            handled => input(handled)?,
        };
        if let Err(error) = &replied {
            let text = format!("the answer of the handler cannot be sent: {error}");
            let answers = fault(ErrorCode::INTERNAL_ERROR, text).into_iter().collect();
            match handled(inbound, answers) {
                Err(DriverError::Input(error)) if waits(&error) => return Ok(Some(marked)),
                handled => drop(input(handled)?),
            }
        }
        self.begun.remove(&inbound.position());
        if let (Ok(Some(mid)), Some(Reply::Frame(_))) = (&replied, &marked.reply) {
            self.replies.insert(mid.clone(), inbound.clone());
        }
        match (replied, marked.done) {
            (Ok(mid), Some(done)) => {
                let (fate, known) = oneshot::channel();
                if let Some(mid) = &mid {
                    self.watch(mid, fate);
                }
                let kept = Kept { mid, fate: known };
                durable.push(Box::new(|durable| drop(done.send(durable.map(|()| kept)))));
            }
            (Err(error), Some(done)) => drop(done.send(Err(error))),
            (_, None) => {}
        }
        Ok(None)
    }
}

/// Returns whether a frame may get an answer. An answer never gets one, because two agents could answer each other without
/// end. The intent tells whether a frame is an answer, and can be read even without the schema of the frame.
fn takes_answer(inbound: &Inbound) -> bool {
    Frame::parse_with(inbound.text(), &DELIVERED)
        .is_ok_and(|frame| !matches!(&*frame.intent, "done" | "fail" | "end"))
}

/// Returns the error that answers a frame in the place of a reply that the host has refused.
pub(super) fn instead_of_reply(to: &Inbound, error: &PeerError) -> Option<Outbound<'static>> {
    let PeerError { code, message, .. } = error;
    let text = format!("the answer of the handler was refused: {code}: expected {message}");
    let answer = takes_answer(to).then(|| Outbound::error(ErrorCode::INTERNAL_ERROR, text));
    answer?.answering(to).ok()
}

/// Returns the frame that ends a request without an answer.
fn end_of(agent: &str, request: &Inbound) -> Option<Outbound<'static>> {
    let request = Frame::parse_with(request.text(), &DELIVERED).ok()?;
    let end = DynamicFrame::new(agent.to_owned(), "end", request.operation.into_owned());
    end.ok().map(Outbound::owned_message)
}

/// Returns the code and the message for the sender of a frame that an agent cannot read, because its registry lacks the
/// schema of the frame (E1003) or has another form of the schema (E1004). Returns `None` if the agent can read the frame.
fn unread(agent: &str, inbound: &Inbound, registry: &Registry) -> Option<(ErrorCode, String)> {
    let error = inbound.message(registry).err()?;
    let why = match error.code() {
        ErrorCode::UNKNOWN_SCHEMA => {
            let frame = Frame::parse_with(inbound.text(), &DELIVERED).ok()?;
            let named = frame.payload.iter().find(|param| &*param.key == "schema");
            let named = named.map_or("", |param| param.value.as_str());
            format!("its registry has no schema {named}")
        }
        ErrorCode::INVALID_TYPE => {
            let path = error.path();
            // Behind the name of the field, the path may have keys of data, which no error tells.
            let place = match path.split(['.', '[']).next().unwrap_or_default() {
                "" => String::new(),
                field => format!("in {field}, "),
            };
            format!("{place}its registry expects {}", error.expected())
        }
        _ => return None,
    };
    let cure = "Open it with a registry that agrees with that of its session";
    Some((
        error.code(),
        format!("{agent} cannot read this frame: {why}. {cure}"),
    ))
}

/// Separates an input that the session refuses from the failure of the driver.
fn input<T>(result: Result<T, DriverError>) -> Result<Result<T, Error>, DriverError> {
    match result {
        Ok(taken) => Ok(Ok(taken)),
        Err(DriverError::Input(error)) => Ok(Err(Error::of_input(error))),
        Err(error) => Err(error),
    }
}
