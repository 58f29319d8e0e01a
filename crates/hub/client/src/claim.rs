//! The decision whether a frame is sent.

use std::sync::{Mutex, MutexGuard, PoisonError};

use accp_session::Mid;

/// Decides whether a frame is sent: either the session takes it, or its sender gives it up, whichever comes first.
/// So a frame that was reported as not sent never goes out later.
#[derive(Debug, Default)]
pub(crate) struct Claim {
    claimed: Mutex<Claimed>,
}

#[derive(Debug, Default)]
enum Claimed {
    #[default]
    Open,
    Taken(Mid),
    GivenUp,
}

impl Claim {
    /// Lets the session take the frame, unless it was given up: then this returns `None` and does not call `take`.
    /// `id` returns the id under which the session has taken the frame.
    pub(crate) fn take<T>(
        &self,
        take: impl FnOnce() -> T,
        id: impl FnOnce(&T) -> Option<&Mid>,
    ) -> Option<T> {
        let mut claimed = self.claimed();
        if let Claimed::GivenUp = *claimed {
            return None;
        }
        let taken = take();
        if let Some(mid) = id(&taken) {
            *claimed = Claimed::Taken(mid.clone());
        }
        Some(taken)
    }

    /// Gives the frame up, so that it is not sent. If the session has taken the frame already, returns the id of the
    /// frame, and the frame goes out.
    pub(crate) fn give_up(&self) -> Option<Mid> {
        let mut claimed = self.claimed();
        if let Claimed::Taken(mid) = &*claimed {
            return Some(mid.clone());
        }
        *claimed = Claimed::GivenUp;
        None
    }

    fn claimed(&self) -> MutexGuard<'_, Claimed> {
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
