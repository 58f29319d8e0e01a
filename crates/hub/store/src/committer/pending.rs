//! The answer of a committer to a job. A program awaits it, or blocks until it comes.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::error::{StoreError, StoreErrorKind};

/// An answer that a [`Committer`](crate::Committer) will give.
///
/// It is a future, which any executor can await; [`wait`](Self::wait) blocks the thread instead.
/// The committer does the submitted work whether or not the program waits for it: dropping a
/// `Pending` takes nothing back.
#[derive(Debug)]
#[must_use = "what was submitted may fail"]
pub struct Pending<T>(Arc<Slot<T>>);

/// The other end of a [`Pending`]: its owner answers once.
#[derive(Debug)]
pub(super) struct Promise<T>(Arc<Slot<T>>);

#[derive(Debug)]
struct Slot<T> {
    state: Mutex<State<T>>,
    ready: Condvar,
}

#[derive(Debug)]
enum State<T> {
    Waiting(Option<Waker>),
    Ready(Result<T, StoreError>),
    /// The answer was given out.
    Taken,
}

/// Makes both ends of an answer.
pub(super) fn pending<T>() -> (Promise<T>, Pending<T>) {
    let slot = Arc::new(Slot {
        state: Mutex::new(State::Waiting(None)),
        ready: Condvar::new(),
    });
    (Promise(Arc::clone(&slot)), Pending(slot))
}

impl<T> Promise<T> {
    pub(super) fn answer(self, answer: Result<T, StoreError>) {
        self.0.fill(answer);
    }
}

impl<T> Drop for Promise<T> {
    /// Answers with an error if the owner of the promise never answered.
    fn drop(&mut self) {
        if matches!(*self.0.state(), State::Waiting(_)) {
            let text = "the thread that has the store has ended: open the store anew";
            self.0.fill(Err(StoreError::new(StoreErrorKind::Io, text)));
        }
    }
}

impl<T> Pending<T> {
    /// Blocks the thread until the answer is there. Asynchronous code awaits it instead.
    ///
    /// # Errors
    /// Returns the error of the store.
    pub fn wait(self) -> Result<T, StoreError> {
        let mut state = self.0.state();
        loop {
            if let Some(answer) = state.take() {
                return answer;
            }
            let woken = self.0.ready.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, StoreError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.state();
        if let Some(answer) = state.take() {
            return Poll::Ready(answer);
        }
        if let State::Waiting(waker) = &mut *state {
            match waker {
                Some(waker) => waker.clone_from(context.waker()),
                None => *waker = Some(context.waker().clone()),
            }
        }
        Poll::Pending
    }
}

impl<T> Slot<T> {
    /// Locks the state. No code panics while it holds the lock, so the state is valid even if the lock is poisoned.
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fill(&self, answer: Result<T, StoreError>) {
        let before = std::mem::replace(&mut *self.state(), State::Ready(answer));
        self.ready.notify_all();
        if let State::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }
}

impl<T> State<T> {
    fn take(&mut self) -> Option<Result<T, StoreError>> {
        let Self::Ready(_) = self else {
            return None;
        };
        match std::mem::replace(self, Self::Taken) {
            Self::Ready(answer) => Some(answer),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_reaches_whoever_waits_in_another_thread() {
        let (promise, pending) = pending();
        let waiting = std::thread::spawn(|| pending.wait());
        promise.answer(Ok(7));
        assert_eq!(waiting.join().unwrap().unwrap(), 7);
    }

    #[test]
    fn a_promise_that_nobody_keeps_is_an_error() {
        let (promise, pending) = pending::<()>();
        drop(promise);
        insta::assert_snapshot!(pending.wait().unwrap_err(), @"the thread that has the store has ended: open the store anew");
    }
}
