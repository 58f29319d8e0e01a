//! Tokens by which a handler learns that its request chain was cancelled.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::vec::Vec;

/// Fires when the request chain of a frame is cancelled (draft section 3.7, item 4). Clones share one token. A
/// handler polls the token between steps, or awaits it beside its work.
///
/// ```
/// use accp_runtime::session::CancelToken;
///
/// let token = CancelToken::new();
/// let seen_by_a_handler = token.clone();
/// assert!(!seen_by_a_handler.is_cancelled());
/// token.cancel();
/// assert!(seen_by_a_handler.is_cancelled());
/// ```
#[derive(Debug, Clone, Default)]
pub struct CancelToken {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    fired: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
}

impl CancelToken {
    /// Makes a token that has not fired.
    pub fn new() -> Self {
        Self::default()
    }

    /// Fires the token, which stays fired.
    pub fn cancel(&self) {
        self.shared.fired.store(true, Ordering::Release);
        let wakers = std::mem::take(
            &mut *self
                .shared
                .wakers
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Returns whether the token has fired.
    pub fn is_cancelled(&self) -> bool {
        self.shared.fired.load(Ordering::Acquire)
    }

    /// Returns a future that is ready once the token has fired.
    pub fn cancelled(&self) -> Cancelled<'_> {
        Cancelled { token: self }
    }

    /// Returns whether nobody else holds a clone.
    pub(crate) fn is_alone(&self) -> bool {
        Arc::strong_count(&self.shared) == 1
    }
}

/// The future that [`CancelToken::cancelled`] returns.
#[derive(Debug)]
pub struct Cancelled<'t> {
    token: &'t CancelToken,
}

impl Future for Cancelled<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.token.is_cancelled() {
            return Poll::Ready(());
        }
        {
            let mut wakers = self
                .token
                .shared
                .wakers
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if !wakers.iter().any(|waker| waker.will_wake(context.waker())) {
                wakers.push(context.waker().clone());
            }
        }
        // The token may have fired between the first check and the arrival of the waker.
        if self.token.is_cancelled() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Counter(std::sync::atomic::AtomicUsize);
    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn wakes_each_waiter_once() {
        let token = CancelToken::new();
        let counter = Arc::new(Counter::default());
        let waker = Waker::from(Arc::clone(&counter));
        let mut context = Context::from_waker(&waker);
        let mut future = std::pin::pin!(token.cancelled());
        assert!(future.as_mut().poll(&mut context).is_pending());
        assert!(future.as_mut().poll(&mut context).is_pending());
        token.cancel();
        assert_eq!(counter.0.load(Ordering::Relaxed), 1);
        assert!(future.as_mut().poll(&mut context).is_ready());
    }
}
