//! The inbox of an agent: the frames that wait for the model, and the frames that the model has open.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accp_client::{Agent, Cx, Error};
use accp_frame::{Intent, Registry};
use accp_session::{CancelToken, Inbound, PiecesInOrder};
use tokio::sync::{Mutex as Turn, Notify, oneshot};

/// How many bytes of frames are opened at a time. A single frame may be longer.
const MAX_BYTES: usize = 256 << 10;

/// How many pieces of streams may wait for earlier pieces. Each of them keeps a handler running, and an agent
/// runs 64 handlers at a time.
const MAX_HELD: usize = 32;
/// How many answers to questions of the model are kept.
const ANSWERS: usize = 8;
/// How many entries of the log are searched for earlier pieces of a stream.
const EARLIER: u64 = 1024;

/// A frame that was handed to the agent and is not marked as handled yet.
pub(crate) struct PendingFrame {
    cx: Cx,
    /// Ends the handler of the frame. Then the frame is marked as handled.
    mark: oneshot::Sender<()>,
    /// True if the frame asks this agent for an answer.
    pub(crate) asks: bool,
}

impl PendingFrame {
    pub(crate) fn inbound(&self) -> &Inbound {
        self.cx.inbound()
    }

    /// Marks the frame as handled. The mark is sent at once. The future returned ends when the mark is durable: a
    /// process that is killed after that does not get the frame again.
    pub(crate) fn done(self) -> impl Future<Output = Result<(), Error>> + use<> {
        let kept = self.cx.handled();
        let _ = self.mark.send(());
        kept
    }

    /// Marks the frame as handled, and does not wait until the mark is durable.
    fn discard(self) {
        drop(self.done());
    }

    /// Returns the context for a reply, and the sender that ends the handler. Dropping the sender leaves the
    /// frame open.
    pub(crate) fn reply(self) -> (Cx, oneshot::Sender<()>) {
        (self.cx, self.mark)
    }
}

/// The frames of an inbox, from their arrival until the model has them open.
struct FrameQueues {
    /// Frames in the order in which they came.
    arrived: VecDeque<PendingFrame>,
    /// Pieces of streams that wait for earlier pieces. `None` stands for a piece that an earlier inbox of the
    /// agent had.
    order: PiecesInOrder<Option<PendingFrame>>,
    /// Frames in the order in which the model reads them.
    waiting: VecDeque<PendingFrame>,
    /// Frames that the model has seen, by position.
    open: BTreeMap<u64, PendingFrame>,
}

impl FrameQueues {
    /// Takes the next frame that has come. `before` are the pieces of its stream that an earlier inbox had.
    fn sort(&mut self, registry: &Registry, before: &[Inbound]) {
        for piece in before {
            drop(self.order.take(registry, piece, None));
        }
        let Some(pending) = self.arrived.pop_front() else {
            return;
        };
        let inbound = pending.inbound().clone();
        self.end(&inbound);
        match self.order.take(registry, &inbound, Some(pending)) {
            Ok(ready) => self.waiting.extend(ready.into_iter().flatten()),
            // The model already has this piece, so the repeated piece is discarded.
            Err(again) => again.into_iter().for_each(PendingFrame::discard),
        }
    }

    /// Releases the pieces of a stream that wait, if this frame of their sender ends the stream.
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

impl Default for FrameQueues {
    fn default() -> Self {
        Self {
            arrived: VecDeque::new(),
            order: PiecesInOrder::holding(MAX_HELD),
            waiting: VecDeque::new(),
            open: BTreeMap::new(),
        }
    }
}

/// Waits until an agent has ended. This does not keep the agent open.
fn ended(agent: &Agent) -> impl Future<Output = ()> + use<> {
    let mut frames = agent.frames(u64::MAX);
    async move {
        // An error ends this, too: the agent has ended.
        while let Ok(Some(_)) = frames.next().await {}
    }
}

/// An agent with the frames for its model. All MCP requests for the agent share it.
pub(crate) struct Inbox {
    pub(crate) agent: Agent,
    frames: Mutex<FrameQueues>,
    /// The last answers that calls have returned, the oldest first. The client of such a call may have been away, and
    /// rmcp does not keep its result.
    answers: Mutex<VecDeque<Inbound>>,
    /// Locked while new frames are sorted.
    sorting: Turn<()>,
    news: Notify,
}

impl Inbox {
    /// Makes the inbox of an agent. From now on the inbox gets all frames that no other handler takes.
    pub(crate) async fn new(agent: Agent) -> Result<Arc<Self>, Error> {
        // The model first reads the state of the session, so the agent has to have joined.
        agent.joined().await?;
        let inbox = Arc::new(Self {
            agent,
            frames: Mutex::default(),
            answers: Mutex::default(),
            sorting: Turn::default(),
            news: Notify::new(),
        });
        let weak = Arc::downgrade(&inbox);
        inbox.agent.serve_others(move |cx: Cx| {
            // The side calls this closure in the order of the session, so `arrived` has that order.
            let (mark, marked) = oneshot::channel();
            let end = cx.agent().map(|agent| ended(&agent));
            if let Some(inbox) = weak.upgrade() {
                let asks = false;
                inbox
                    .frames()
                    .arrived
                    .push_back(PendingFrame { cx, mark, asks });
                inbox.news.notify_waiters();
            }
            async move {
                // If the agent ends before the frame is marked, the agent gets the frame again when it is opened
                // anew.
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
        Ok(inbox)
    }

    /// Waits until the agent has ended: the session was opened anew, or somebody else has opened the agent.
    pub(crate) async fn ended(&self) {
        ended(&self.agent).await;
    }

    fn frames(&self) -> MutexGuard<'_, FrameQueues> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many frames the model has not seen.
    pub(crate) fn waiting(&self) -> usize {
        let frames = self.frames();
        frames.waiting.len() + frames.arrived.len()
    }

    /// Returns how many pieces of streams wait for earlier pieces.
    pub(crate) fn held(&self) -> usize {
        self.frames().order.waiting()
    }

    /// Puts the frames that have come into the order in which the model reads them.
    async fn sort(&self) {
        let _turn = self.sorting.lock().await;
        let is_cancelled = |pending: &PendingFrame| pending.inbound().cancel_token().is_cancelled();
        let over = |pending: &Option<PendingFrame>| pending.as_ref().is_some_and(is_cancelled);
        let over = self.frames().order.drop_if(over);
        over.into_iter().flatten().for_each(PendingFrame::discard);
        // If this fails, the agent has ended. The agent gets its frames again when it is opened.
        let Ok(registry) = self.agent.registry().await else {
            return;
        };
        loop {
            let next = self
                .frames()
                .arrived
                .front()
                .map(|pending| pending.inbound().clone());
            let Some(next) = next else { return };
            let goes_on = self.frames().order.may_go_on(&registry, &next);
            let before = if goes_on {
                self.before(&next).await
            } else {
                Vec::new()
            };
            self.frames().sort(&registry, &before);
        }
    }

    /// Returns the pieces of a stream that are before this piece in the log. An earlier inbox of the agent had
    /// those pieces, because this inbox gets its frames in the order of the log.
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
                    // The model gets the pieces that are here. Their indexes show which are missing.
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

    /// Releases the pieces of the stream that this answer ends. The answer itself went to the call that asked.
    pub(crate) async fn release_stream(&self, answer: &Inbound) {
        self.sort().await;
        self.frames().end(answer);
    }

    /// Marks the open frames that want no answer, or whose chain was cancelled. Returns the positions of frames
    /// that wanted an answer and were cancelled, once all marks are durable.
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

    /// Marks the frames that [`clear`](Self::clear) marks. Returns futures that end when the marks are durable, and
    /// the positions of the cancelled frames.
    fn close(
        &self,
    ) -> (
        Vec<impl Future<Output = Result<(), Error>> + use<>>,
        Vec<u64>,
    ) {
        let mut frames = self.frames();
        let is_cancelled = |pending: &PendingFrame| pending.inbound().cancel_token().is_cancelled();
        let is_over = |pending: &PendingFrame| !pending.asks || is_cancelled(pending);
        let (over, open): (BTreeMap<_, _>, _) = std::mem::take(&mut frames.open)
            .into_iter()
            .partition(|(_, pending)| is_over(pending));
        frames.open = open;
        let cancelled = over.iter().filter(|(_, pending)| pending.asks);
        let cancelled = cancelled.map(|(at, _)| *at).collect();
        (
            over.into_values().map(PendingFrame::done).collect(),
            cancelled,
        )
    }

    /// Opens at most `most` frames, and waits for the first. `asks` says whether a frame wants an answer.
    pub(crate) async fn open(
        &self,
        most: usize,
        asks: impl Fn(&Inbound) -> bool,
    ) -> Vec<(Inbound, bool)> {
        loop {
            let news = self.news.notified();
            tokio::pin!(news);
            // `enable` registers the wait before the inbox is read, so a frame that arrives in
            // between ends the wait.
            news.as_mut().enable();
            let opened = self.open_now(most, &asks).await;
            if !opened.is_empty() {
                return opened;
            }
            news.await;
        }
    }

    /// Opens frames that have come, as far as they fit in one result.
    pub(crate) async fn open_now(
        &self,
        most: usize,
        asks: impl Fn(&Inbound) -> bool,
    ) -> Vec<(Inbound, bool)> {
        self.sort().await;
        let mut frames = self.frames();
        let mut opened = Vec::new();
        let mut room = MAX_BYTES;
        while opened.len() < most {
            let Some(mut pending) = frames.waiting.pop_front() else {
                break;
            };
            let inbound = pending.inbound().clone();
            if inbound.cancel_token().is_cancelled() {
                pending.discard();
                continue;
            }
            let length = inbound.text().len();
            if length > room && !opened.is_empty() {
                frames.waiting.push_front(pending);
                break;
            }
            room = room.saturating_sub(length);
            pending.asks = asks(&inbound);
            opened.push((inbound.clone(), pending.asks));
            frames.open.insert(inbound.position(), pending);
        }
        opened
    }

    /// Keeps an answer that a call returns, for a client that did not get the result.
    pub(crate) fn keep_answer(&self, answer: Inbound) {
        let mut answers = self.answers();
        if answers.len() == ANSWERS {
            answers.pop_front();
        }
        answers.push_back(answer);
    }

    /// Returns the last answers that calls have returned, the oldest first.
    pub(crate) fn last_answers(&self) -> Vec<Inbound> {
        self.answers().iter().cloned().collect()
    }

    fn answers(&self) -> MutexGuard<'_, VecDeque<Inbound>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the open frames, each with whether it wants an answer.
    pub(crate) fn opened(&self) -> Vec<(Inbound, bool)> {
        let frames = self.frames();
        let open = frames.open.values();
        open.map(|pending| (pending.inbound().clone(), pending.asks))
            .collect()
    }

    /// Takes an open frame from the inbox, to reply to it or to mark it.
    pub(crate) fn take(&self, position: u64) -> Option<PendingFrame> {
        self.frames().open.remove(&position)
    }

    /// Returns an open frame.
    pub(crate) fn opened_frame(&self, position: u64) -> Option<Inbound> {
        let frames = self.frames();
        Some(frames.open.get(&position)?.inbound().clone())
    }
}
