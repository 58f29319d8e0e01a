//! The pieces of a stream that answers a question.

use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use accp_frame::{FrameFamily, IntoOwned};
use accp_session::Inbound;
use futures_util::Stream;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Sleep, sleep_until};

use crate::error::{Error, read};
use crate::pending_answer::PendingAnswer;

/// The pieces of a stream, and then the answer. See [`Ask::pieces`](crate::Ask::pieces).
///
/// If the schema of the pieces has indexes, the pieces come in the order of their indexes, and each index once. A
/// piece waits until all earlier pieces have come, or until the answer comes. See
/// [`PiecesInOrder`](accp_session::PiecesInOrder).
///
/// Pieces count as handled once they are here. Pieces that the program has not read wait in memory, and are gone with
/// this: no handler gets them, and neither does the next run of the program. Only pieces that come later, and the
/// answer, go to a handler that takes them. The stream ends with the answer, or when there will be no answer:
/// [`answer`](Self::answer) says why.
#[must_use = "pieces come to who reads them"]
pub struct Pieces<P, A> {
    received: UnboundedReceiver<Inbound>,
    waiting: Result<PendingAnswer, Error>,
    /// Fires at the end of the wait. The first poll makes this timer, because a timer needs a runtime.
    over: Option<Pin<Box<Sleep>>>,
    types: PhantomData<fn() -> (P, A)>,
}

impl<P, A> Pieces<P, A> {
    pub(crate) fn new(
        waiting: Result<PendingAnswer, Error>,
        received: UnboundedReceiver<Inbound>,
    ) -> Self {
        Self {
            received,
            waiting,
            over: None,
            types: PhantomData,
        }
    }

    /// Waits for the next piece, at most until the wait for the answer is over. This measures the time itself,
    /// because the task of the side may be held up.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Inbound>> {
        let piece = self.received.poll_recv(cx);
        let (Poll::Pending, Ok(waiting)) = (&piece, &self.waiting) else {
            return piece;
        };
        let until = waiting.until();
        let over = self
            .over
            .get_or_insert_with(|| Box::pin(sleep_until(until)));
        over.as_mut().poll(cx).map(|()| None)
    }
}

impl<P, A> Pieces<P, A>
where
    P: FrameFamily,
    for<'a> P::Frame<'a>: IntoOwned<Owned = P>,
{
    /// Waits for the next piece. `None` once no more pieces will come. This does the same as `next` of a [`Stream`],
    /// but the caller need not import a trait.
    ///
    /// # Errors
    /// [`Error::Answer`] when the piece is not a frame of type `P`. The pieces after it still come.
    pub async fn next(&mut self) -> Option<Result<P, Error>> {
        Some(read(&poll_fn(|cx| self.poll_piece(cx)).await?))
    }
}

impl<P, A> Pieces<P, A>
where
    A: FrameFamily,
    for<'a> A::Frame<'a>: IntoOwned<Owned = A>,
{
    /// Waits for the answer. Pieces that were not read are dropped.
    ///
    /// # Errors
    /// See [`Agent::ask`](crate::Agent::ask).
    pub async fn answer(self) -> Result<A, Error> {
        self.waiting?.typed().await
    }
}

impl<P, A> Stream for Pieces<P, A>
where
    P: FrameFamily,
    for<'a> P::Frame<'a>: IntoOwned<Owned = P>,
{
    type Item = Result<P, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let piece = self.poll_piece(cx);
        piece.map(|piece| piece.map(|piece| read(&piece)))
    }
}

impl<P, A> fmt::Debug for Pieces<P, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pieces").finish_non_exhaustive()
    }
}
