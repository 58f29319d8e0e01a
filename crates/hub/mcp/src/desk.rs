//! The desk of an agent: the frames that wait for the model, and those that it has open.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accp_client::{Agent, Cx, Error};
use accp_frame::{Intent, Registry};
use accp_session::{CancelToken, Inbound, PiecesInOrder};
use tokio::sync::{Mutex as Turn, Notify, oneshot};

/// Bytes of the texts of the frames that are opened at a time. One frame may be longer.
const TEXTS: usize = 256 << 10;

/// Pieces of streams that wait for those before them. They have handlers, of which an agent has 64 at a time.
const HELD: usize = 32;
/// Entries of the log in which the earlier pieces of a stream are looked for.
const EARLIER: u64 = 1024;

/// A frame that was handed to the agent and is not marked yet.
pub(crate) struct Letter {
    cx: Cx,
    /// Ends the handler of the frame, which marks it.
    mark: oneshot::Sender<()>,
    /// True if somebody waits for an answer of this agent.
    pub(crate) asks: bool,
}

impl Letter {
    pub(crate) fn inbound(&self) -> &Inbound {
        self.cx.inbound()
    }

    /// Marks the frame as handled. The mark is on its way at once. What comes back ends when it is kept, so that a process
    /// that is killed from then on does not give the frame again.
    pub(crate) fn done(self) -> impl Future<Output = Result<(), Error>> + use<> {
        let kept = self.cx.handled();
        let _ = self.mark.send(());
        kept
    }

    /// Marks the frame, and does not wait.
    fn let_go(self) {
        drop(self.done());
    }

    /// Takes the frame apart, for a reply. Dropping the second part leaves the frame open.
    pub(crate) fn reply(self) -> (Cx, oneshot::Sender<()>) {
        (self.cx, self.mark)
    }
}

struct Pile {
    /// Frames in the order in which they came.
    arrived: VecDeque<Letter>,
    /// Pieces of streams that wait for those before them. `None` is one that an earlier desk had.
    order: PiecesInOrder<Option<Letter>>,
    /// Frames in the order in which the model reads them.
    waiting: VecDeque<Letter>,
    /// Frames that the model has seen, by position.
    open: BTreeMap<u64, Letter>,
}

impl Pile {
    /// Takes the next frame that has come. `before` are the pieces of its stream that an earlier desk had.
    fn sort(&mut self, registry: &Registry, before: &[Inbound]) {
        for piece in before {
            drop(self.order.take(registry, piece, None));
        }
        let Some(letter) = self.arrived.pop_front() else {
            return;
        };
        let inbound = letter.inbound().clone();
        self.end(&inbound);
        match self.order.take(registry, &inbound, Some(letter)) {
            Ok(ready) => self.waiting.extend(ready.into_iter().flatten()),
            // A piece that came before is not read again.
            Err(again) => again.into_iter().for_each(Letter::let_go),
        }
    }

    /// Lets the model read what waits of a stream, if this frame of its sender ends it.
    fn end(&mut self, inbound: &Inbound) {
        let frame = accp_frame::Frame::parse(inbound.text());
        let ends = [Intent::DONE, Intent::FAIL, Intent::END];
        let ends = frame.is_ok_and(|frame| ends.iter().any(|end| end.as_str() == frame.intent));
        if let (true, Ok(chain)) = (ends, inbound.chain()) {
            let rest = self.order.rest_of(inbound.sender(), &chain);
            self.waiting.extend(rest.into_iter().flatten());
        }
    }
}

impl Default for Pile {
    fn default() -> Self {
        Self {
            arrived: VecDeque::new(),
            order: PiecesInOrder::holding(HELD),
            waiting: VecDeque::new(),
            open: BTreeMap::new(),
        }
    }
}

/// Returns once an agent has ended. This does not keep it open.
fn end(agent: &Agent) -> impl Future<Output = ()> + use<> {
    let mut frames = agent.frames(u64::MAX);
    async move {
        // An error ends this, too: the agent is gone.
        while let Ok(Some(_)) = frames.next().await {}
    }
}

/// An agent, with the frames that its model works on. Requests of MCP share it.
pub(crate) struct Desk {
    pub(crate) agent: Agent,
    pile: Mutex<Pile>,
    /// Who sorts the frames that have come holds this.
    sorting: Turn<()>,
    news: Notify,
}

impl Desk {
    /// Makes the desk of an agent, which from now on gets all frames that no other handler takes.
    pub(crate) async fn new(agent: Agent) -> Result<Arc<Self>, Error> {
        // What a model reads first is what stands in the session.
        agent.joined().await?;
        let desk = Arc::new(Self {
            agent,
            pile: Mutex::default(),
            sorting: Turn::default(),
            news: Notify::new(),
        });
        let weak = Arc::downgrade(&desk);
        desk.agent.serve_others(move |cx: Cx| {
            // The side calls this in the order of the session.
            let (mark, marked) = oneshot::channel();
            let end = cx.agent().map(|agent| end(&agent));
            if let Some(desk) = weak.upgrade() {
                let asks = false;
                desk.pile().arrived.push_back(Letter { cx, mark, asks });
                desk.news.notify_waiters();
            }
            async move {
                // A frame that nobody marks stays due, and comes again when the agent is opened anew.
                let ended = async {
                    if let Ok(end) = end {
                        end.await;
                    }
                };
                let marked = async {
                    if marked.await.is_err() {
                        std::future::pending::<()>().await;
                    }
                };
                tokio::select! {
                    () = marked => {}
                    () = ended => {}
                }
                Ok::<(), Error>(())
            }
        });
        Ok(desk)
    }

    /// Returns once the agent has ended: the session was opened anew, or somebody else has opened the agent.
    pub(crate) async fn ended(&self) {
        end(&self.agent).await;
    }

    fn pile(&self) -> MutexGuard<'_, Pile> {
        self.pile.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many frames wait that the model has not seen.
    pub(crate) fn waiting(&self) -> usize {
        let pile = self.pile();
        pile.waiting.len() + pile.arrived.len()
    }

    /// Returns how many pieces of streams wait for one before them.
    pub(crate) fn held(&self) -> usize {
        self.pile().order.waiting()
    }

    /// Puts the frames that have come into the order in which the model reads them.
    async fn sort(&self) {
        let _turn = self.sorting.lock().await;
        let is_cancelled = |letter: &Letter| letter.inbound().cancel_token().is_cancelled();
        let over = |letter: &Option<Letter>| letter.as_ref().is_some_and(is_cancelled);
        let over = self.pile().order.drop_if(over);
        over.into_iter().flatten().for_each(Letter::let_go);
        // An agent that has ended gets its frames again when it is opened.
        let Ok(registry) = self.agent.registry().await else {
            return;
        };
        loop {
            let next = self
                .pile()
                .arrived
                .front()
                .map(|letter| letter.inbound().clone());
            let Some(next) = next else { return };
            let goes_on = self.pile().order.may_go_on(&registry, &next);
            let before = if goes_on {
                self.before(&next).await
            } else {
                Vec::new()
            };
            self.pile().sort(&registry, &before);
        }
    }

    /// Returns the pieces of a stream that stand before one of them in the log. An earlier desk of the agent had
    /// them, because this one would have got them before.
    async fn before(&self, piece: &Inbound) -> Vec<Inbound> {
        let mut before = Vec::new();
        let Ok(chain) = piece.chain() else {
            return before;
        };
        let mut log = self.agent.frames(piece.position().saturating_sub(EARLIER));
        loop {
            let entry = match log.next_ready().await {
                Ok(Some(entry)) => entry,
                Ok(None) => break,
                Err(error) => {
                    // The model gets the pieces that are here, and their indexes show what is missing.
                    tracing::warn!(%error, "the pieces before one of a stream cannot be read");
                    break;
                }
            };
            if entry.position >= piece.position() {
                break;
            }
            let token = CancelToken::new();
            let earlier = Inbound::new(entry.position, entry.sender, entry.text, token);
            if earlier.sender() == piece.sender() && earlier.is_piece(&chain) {
                before.push(earlier);
            }
        }
        before
    }

    /// Lets the model read what waits of the stream that this answer ends, which went to whoever has asked.
    pub(crate) async fn ends(&self, answer: &Inbound) {
        self.sort().await;
        self.pile().end(answer);
    }

    /// Marks the frames that the model has seen and that ask for nothing, or whose chain was
    /// cancelled. Returns the positions of the latter, once all marks are kept.
    ///
    /// # Errors
    /// When the agent has ended.
    pub(crate) async fn clear(&self) -> Result<Vec<u64>, Error> {
        let (marks, cancelled) = self.close();
        for kept in marks {
            kept.await?;
        }
        Ok(cancelled)
    }

    /// Marks frames. Returns what ends when the marks are kept, and the positions of cancelled frames.
    fn close(
        &self,
    ) -> (
        Vec<impl Future<Output = Result<(), Error>> + use<>>,
        Vec<u64>,
    ) {
        let mut pile = self.pile();
        let is_cancelled = |letter: &Letter| letter.inbound().cancel_token().is_cancelled();
        let is_over = |letter: &Letter| !letter.asks || is_cancelled(letter);
        let (over, open): (BTreeMap<_, _>, _) = std::mem::take(&mut pile.open)
            .into_iter()
            .partition(|(_, letter)| is_over(letter));
        pile.open = open;
        let cancelled = over.iter().filter(|(_, letter)| letter.asks);
        let cancelled = cancelled.map(|(at, _)| *at).collect();
        (over.into_values().map(Letter::done).collect(), cancelled)
    }

    /// Opens the next frames, as many as this, and waits for the first. `asks` says which of them
    /// want an answer.
    pub(crate) async fn open(
        &self,
        most: usize,
        asks: impl Fn(&Inbound) -> bool,
    ) -> Vec<(Inbound, bool)> {
        loop {
            let news = self.news.notified();
            tokio::pin!(news);
            // From here on no frame is missed.
            news.as_mut().enable();
            let opened = self.open_now(most, &asks).await;
            if !opened.is_empty() {
                return opened;
            }
            news.await;
        }
    }

    /// Opens the next frames that are there, as far as their texts have room in one answer.
    pub(crate) async fn open_now(
        &self,
        most: usize,
        asks: impl Fn(&Inbound) -> bool,
    ) -> Vec<(Inbound, bool)> {
        self.sort().await;
        let mut pile = self.pile();
        let mut opened = Vec::new();
        let mut room = TEXTS;
        while opened.len() < most {
            let Some(mut letter) = pile.waiting.pop_front() else {
                break;
            };
            let inbound = letter.inbound().clone();
            if inbound.cancel_token().is_cancelled() {
                letter.let_go();
                continue;
            }
            let length = inbound.text().len();
            if length > room && !opened.is_empty() {
                pile.waiting.push_front(letter);
                break;
            }
            room = room.saturating_sub(length);
            letter.asks = asks(&inbound);
            opened.push((inbound.clone(), letter.asks));
            pile.open.insert(inbound.position(), letter);
        }
        opened
    }

    /// Returns the open frames, with whether they want an answer.
    pub(crate) fn opened(&self) -> Vec<(Inbound, bool)> {
        let pile = self.pile();
        let open = pile.open.values();
        open.map(|letter| (letter.inbound().clone(), letter.asks))
            .collect()
    }

    /// Takes an open frame from the desk, to reply to it or to mark it.
    pub(crate) fn take(&self, position: u64) -> Option<Letter> {
        self.pile().open.remove(&position)
    }

    /// Returns an open frame.
    pub(crate) fn letter(&self, position: u64) -> Option<Inbound> {
        let pile = self.pile();
        Some(pile.open.get(&position)?.inbound().clone())
    }
}
