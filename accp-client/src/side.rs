//! The task of a side: it owns the driver of a session, and does what the handles ask.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use accp_runtime::session::{
    Event, Inbound, InputError, MemberId, Mid, Outbound, Router, SendError, Transmit,
};
use accp_runtime::{EncodeFrame, ErrorCode, Intent};
use accp_store::{AskError, AsyncDriver, DriverError, Question};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use crate::Error;
use crate::clock::{instant, now};
use crate::command::{Answered, Command, Frame, Handlers, PANICKED, Wire, refuse};
use crate::context::{Marked, Reply, Ticket};

/// Handlers of a side that run at a time. The frames behind wait in their order.
const HANDLERS: usize = 64;
/// Frames, and commands, that share a commit.
const AT_ONCE: usize = 256;

/// A question that an agent waits for.
struct Asked {
    question: Question,
    within: Duration,
    until: Instant,
    answer: oneshot::Sender<Answered>,
}

pub(crate) struct Side {
    driver: AsyncDriver<Vec<Transmit>>,
    /// The number of this side.
    me: MemberId,
    commands: UnboundedReceiver<Command>,
    /// For handlers, which mark frames. The side does not keep itself alive by it.
    own: mpsc::WeakUnboundedSender<Command>,
    frames: mpsc::Receiver<Frame>,
    peers: BTreeMap<MemberId, Wire>,
    handlers: Handlers,
    /// Frames that are to be handed out, in the order of the session.
    inbox: Vec<Inbound>,
    /// Frames that no handler takes. A frame that answers a question comes after the question, so
    /// none of these does.
    unclaimed: Vec<Inbound>,
    /// The positions of frames that handlers have.
    in_work: BTreeSet<u64>,
    questions: Vec<Asked>,
    /// Frames that wait until this side has joined, or the outbox has room.
    early: VecDeque<Command>,
    /// Marks whose answers wait for the same.
    late: VecDeque<Marked>,
    /// What is told to callers once the inputs are durable.
    durable: Vec<oneshot::Sender<Result<(), Error>>>,
}

impl Side {
    pub(crate) fn new(
        driver: AsyncDriver<Vec<Transmit>>,
        me: MemberId,
        commands: UnboundedReceiver<Command>,
        own: mpsc::WeakUnboundedSender<Command>,
        frames: mpsc::Receiver<Frame>,
    ) -> Self {
        Self {
            driver,
            me,
            commands,
            own,
            frames,
            peers: BTreeMap::new(),
            handlers: Router::new(),
            inbox: Vec::new(),
            unclaimed: Vec::new(),
            in_work: BTreeSet::new(),
            questions: Vec::new(),
            early: VecDeque::new(),
            late: VecDeque::new(),
            durable: Vec::new(),
        }
    }

    pub(crate) fn with_peer(mut self, member: MemberId, wire: Wire) -> Self {
        self.peers.insert(member, wire);
        self
    }

    /// Runs until the last handle is dropped, or the store fails.
    pub(crate) async fn run(mut self) {
        let failure = loop {
            match self.turn().await {
                Ok(true) => {}
                Ok(false) => return,
                Err(Error::Ended(text)) => break text,
                Err(error) => break error.to_string(),
            }
        };
        let ended = || Error::Ended(failure.clone());
        for asked in self.questions.drain(..) {
            let _ = asked.answer.send(Err(ended()));
        }
        for done in self.durable.drain(..) {
            let _ = done.send(Err(ended()));
        }
        // The other sides see that this one is gone.
        drop(self.frames);
        self.peers.clear();
        let late = self.late.into_iter().map(Command::Handled);
        for command in self.early.into_iter().chain(late) {
            refuse(command, ended());
        }
        while let Some(command) = self.commands.recv().await {
            refuse(command, ended());
        }
    }

    /// Carries out what is due, and waits for the next thing to do. Returns whether there is one.
    async fn turn(&mut self) -> Result<bool, Error> {
        let outcome = self.driver.carry_out(now()).await?;
        for done in self.durable.drain(..) {
            let _ = done.send(Ok(()));
        }
        for frame in self.driver.link_mut().drain(..) {
            if let Some(wire) = self.peers.get(&frame.to) {
                let text = frame.text.clone();
                let _ = wire.try_send(Frame {
                    from: self.me,
                    text,
                });
            }
        }
        self.follow(&outcome.events);
        self.inbox.extend(outcome.inbound);
        if self.hand_out().await? | self.mark_late()? | self.send_early()? {
            return Ok(true);
        }
        let due = self.driver.session().next_timeout().map(instant);
        let asked = self.questions.iter().map(|asked| asked.until);
        let early = self.early.iter().filter_map(|command| match command {
            Command::Ask { until, .. } => Some(*until),
            _ => None,
        });
        let wakes = due.into_iter().chain(asked).chain(early).min();
        let host = self.peers.get(&MemberId::HOST).cloned();
        let gone = async {
            match &host {
                Some(host) => host.closed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = gone => return Err(Error::Ended("the host of the session has ended".to_owned())),
            command = self.commands.recv() => match command {
                Some(command) => self.obey(command)?,
                None => return Ok(false),
            },
            Some(frame) = self.frames.recv() => self.hear(&frame)?,
            () = sleep_until(wakes.unwrap_or_else(Instant::now)), if wakes.is_some() => {}
        }
        // What else is there already shares the next commit.
        for _ in 0..AT_ONCE {
            let Ok(frame) = self.frames.try_recv() else {
                break;
            };
            self.hear(&frame)?;
        }
        for _ in 0..AT_ONCE {
            let Ok(command) = self.commands.try_recv() else {
                break;
            };
            self.obey(command)?;
        }
        Ok(true)
    }

    fn hear(&mut self, frame: &Frame) -> Result<(), DriverError> {
        self.driver
            .receive(frame.from, frame.text.as_bytes(), now())
    }

    /// Sends the frames that have waited, as far as the session takes them now. Returns whether it
    /// has taken one.
    fn send_early(&mut self) -> Result<bool, DriverError> {
        let before = self.early.len();
        for command in std::mem::take(&mut self.early) {
            match command {
                // Nobody waits any more.
                Command::Send { done, .. } if done.is_closed() => {}
                Command::Ask { answer, .. } if answer.is_closed() => {}
                Command::Ask {
                    within,
                    until,
                    answer,
                    ..
                } if until <= Instant::now() => {
                    let _ = answer.send(Err(Error::Timeout(within)));
                }
                command => self.obey(command)?,
            }
        }
        Ok(self.early.len() < before)
    }

    /// Sends a frame. Returns `None` if it has to wait: this side has not joined yet, or its outbox is
    /// full. Frames that wait keep their order.
    fn send(&mut self, frame: &dyn EncodeFrame) -> Result<Option<Result<Mid, Error>>, DriverError> {
        if !self.early.is_empty() {
            return Ok(None);
        }
        match self.driver.send(&Outbound::frame(frame), now()) {
            Ok(mid) => Ok(Some(Ok(mid))),
            Err(DriverError::Input(error)) if waits(&error) => Ok(None),
            Err(DriverError::Input(error)) => Ok(Some(Err(Error::Input(error)))),
            Err(error) => Err(error),
        }
    }

    fn obey(&mut self, command: Command) -> Result<(), DriverError> {
        match command {
            Command::Send { frame, done } => match self.send(&*frame)? {
                None => self.early.push_back(Command::Send { frame, done }),
                Some(Ok(_)) => self.durable.push(done),
                Some(Err(error)) => drop(done.send(Err(error))),
            },
            Command::Ask {
                frame,
                within,
                until,
                answer,
            } => match self.send(&*frame)? {
                None => self.early.push_back(Command::Ask {
                    frame,
                    within,
                    until,
                    answer,
                }),
                Some(Ok(mid)) => self.questions.push(Asked {
                    question: Question::new(mid, None),
                    within,
                    until,
                    answer,
                }),
                Some(Err(error)) => drop(answer.send(Err(error))),
            },
            Command::Serve(add) => {
                let handlers = std::mem::take(&mut self.handlers);
                self.handlers = add(handlers);
                self.inbox.append(&mut self.unclaimed);
                self.inbox.sort_by_key(Inbound::position);
            }
            Command::Handled(marked) => self.late.push_back(marked),
            Command::Join {
                agent,
                wire,
                number,
            } => {
                let joined = self.driver.join(&agent, now());
                if let Ok(member) = joined {
                    self.peers.insert(member, wire);
                }
                let _ = number.send(joined.map_err(Error::from));
            }
        }
        Ok(())
    }

    /// Marks frames as handled, as far as the session takes the answers now. Returns whether it has
    /// taken one.
    fn mark_late(&mut self) -> Result<bool, DriverError> {
        let before = self.late.len();
        for marked in std::mem::take(&mut self.late) {
            if let Some(marked) = self.mark(marked)? {
                self.late.push_back(marked);
            }
        }
        Ok(self.late.len() < before)
    }

    /// Marks a frame as handled, with an answer. If the answer cannot be sent, an error goes out in
    /// its place. Returns what has to wait: the outbox is full, or the host has not answered yet.
    fn mark(&mut self, marked: Marked) -> Result<Option<Marked>, DriverError> {
        let inbound = &marked.inbound;
        // An answer to an answer would be answered in turn.
        let registry = &self.driver.session().options().registry;
        let asks = inbound.message(registry).is_ok_and(|message| {
            !matches!(message.intent, Intent::DONE | Intent::FAIL | Intent::END)
        });
        let fault = |code, text| asks.then(|| Outbound::error(code, text));
        let answers = match &marked.reply {
            Some(Reply::Frame(frame)) => vec![Outbound::frame(&**frame)],
            Some(Reply::Error(code, text)) => fault(*code, text.clone()).into_iter().collect(),
            None => Vec::new(),
        };
        let refused = match self.driver.handled(inbound, answers, now()) {
            Err(DriverError::Input(error)) if waits(&error) => return Ok(Some(marked)),
            handled => input(handled)?,
        };
        if let Some(error) = &refused {
            let text = format!("the answer of the handler cannot be sent: {error}");
            let answers = fault(ErrorCode::INTERNAL_ERROR, text).into_iter().collect();
            match self.driver.handled(inbound, answers, now()) {
                Err(DriverError::Input(error)) if waits(&error) => return Ok(Some(marked)),
                handled => drop(input(handled)?),
            }
        }
        self.in_work.remove(&inbound.position());
        match (refused, marked.done) {
            (None, Some(done)) => self.durable.push(done),
            (Some(error), Some(done)) => drop(done.send(Err(error))),
            (_, None) => {}
        }
        Ok(None)
    }

    /// Tells those who ask what has become of their questions.
    fn follow(&mut self, events: &[Event]) {
        let now = Instant::now();
        let asked = std::mem::take(&mut self.questions);
        for mut asked in asked {
            let fate = match asked.question.follow(events) {
                Err(AskError::Refused(error)) => Some(Error::Refused(error)),
                Err(AskError::Expired) => Some(Error::Expired),
                Err(_) => Some(Error::Cancelled),
                Ok(()) if asked.until <= now => Some(Error::Timeout(asked.within)),
                Ok(()) => None,
            };
            match fate {
                Some(error) => drop(asked.answer.send(Err(error))),
                None if asked.answer.is_closed() => {}
                None => self.questions.push(asked),
            }
        }
    }

    /// Hands frames to those who ask and to handlers, in their order. Frames that nobody takes wait.
    /// Returns whether the session has new inputs.
    async fn hand_out(&mut self) -> Result<bool, DriverError> {
        let mut has_inputs = false;
        // A handler gets no frame before an earlier one that waits for its values or for room.
        let mut is_blocked = false;
        let mut rest = Vec::new();
        for inbound in std::mem::take(&mut self.inbox) {
            if !self.driver.session().waits(inbound.position()) {
                continue;
            }
            if self.driver.session_mut()?.lapse(&inbound, now()) {
                has_inputs = true;
                continue;
            }
            let answered = self.answered(&inbound);
            if answered.is_none() && !self.handlers.takes(&inbound) {
                self.unclaimed.push(inbound);
                continue;
            }
            if answered.is_none() && (is_blocked || self.in_work.len() == HANDLERS) {
                is_blocked = true;
                rest.push(inbound);
                continue;
            }
            match (self.driver.with_values(&inbound).await?, answered) {
                (Some(whole), Some((at, intent))) => {
                    let asked = self.questions.remove(at);
                    self.driver.handled(&whole, Vec::new(), now())?;
                    has_inputs = true;
                    let _ = asked.answer.send(Ok((whole, intent)));
                }
                (Some(whole), None) => match self.handle(&whole) {
                    Taken::Started => {}
                    Taken::Refused => has_inputs = true,
                    Taken::Nobody => rest.push(inbound),
                },
                (None, answered) => {
                    is_blocked |= answered.is_none();
                    rest.push(inbound);
                }
            }
        }
        self.inbox = rest;
        Ok(has_inputs)
    }

    /// Returns the place of the question that a frame answers, and the intent of the answer.
    fn answered(&self, inbound: &Inbound) -> Option<(usize, Intent)> {
        let mut asked = self.questions.iter().enumerate();
        asked.find_map(|(at, asked)| {
            let answer = asked.question.answer(inbound)?;
            (!asked.answer.is_closed()).then_some((at, answer))
        })
    }

    /// Starts the handler of a frame, if there is one.
    fn handle(&mut self, whole: &Inbound) -> Taken {
        let Some(own) = self.own.upgrade() else {
            return Taken::Nobody;
        };
        let position = whole.position();
        let mark = move |marked| drop(own.send(Command::Handled(marked)));
        let (ticket, cx) = Ticket::new(whole.clone(), Box::new(mark));
        match self.handlers.dispatch(&mut Some(cx), whole) {
            Ok(None) => Taken::Nobody,
            Ok(Some(handling)) => {
                self.in_work.insert(position);
                // A task of its own, so that a panic is an end like any other.
                let handling = tokio::spawn(handling);
                tokio::spawn(async move {
                    match handling.await {
                        Ok(result) => ticket.ends(result),
                        Err(error) if error.is_panic() => {
                            ticket.ends(Err(PANICKED.into()));
                        }
                        // The program ends. The next one gets the frame again.
                        Err(_) => {}
                    }
                });
                Taken::Started
            }
            // The frame says that it has the type of the handler, and has not.
            Err(error) => {
                self.late.push_back(Marked {
                    inbound: whole.clone(),
                    reply: Some(Reply::Error(error.code(), error.to_string())),
                    done: None,
                });
                Taken::Refused
            }
        }
    }
}

/// What became of a frame that was handed to the handlers.
enum Taken {
    Started,
    Refused,
    Nobody,
}

/// Ends a side that could not be opened, for this reason.
pub(crate) async fn ends(mut commands: UnboundedReceiver<Command>, error: Error) {
    let text = match error {
        Error::Ended(text) => text,
        other => other.to_string(),
    };
    while let Some(command) = commands.recv().await {
        refuse(command, Error::Ended(text.clone()));
    }
}

/// Returns whether the session takes this input later: the host has not answered this side yet, or
/// its outbox is full.
fn waits(error: &InputError) -> bool {
    matches!(
        error,
        InputError::Send(SendError::NotJoined | SendError::Full(_))
    )
}

/// Tells an input that the session does not take from a driver that has failed.
fn input(result: Result<(), DriverError>) -> Result<Option<Error>, DriverError> {
    match result {
        Ok(()) => Ok(None),
        Err(DriverError::Input(error)) => Ok(Some(Error::Input(error))),
        Err(error) => Err(error),
    }
}
