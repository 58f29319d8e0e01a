//! The status of a session.

use std::fmt;

use serde::Serialize;

use crate::session::ListSession;
use crate::window::Window;

/// The status of a session, as the command `status` shows it (CTX-58).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// The id of the session.
    pub session: String,
    /// The form of its lists.
    pub form: &'static str,
    /// The tokens of the window.
    pub window: u64,
    /// The tokens of the last list, and those that a model reads outside the list.
    pub tokens: u64,
    /// The share of the window, without its reserve, that these tokens take, in hundredths.
    pub share: f64,
    /// How full the window is.
    pub state: &'static str,
    /// How many messages the conversation has.
    #[serde(rename = "said")]
    pub messages: usize,
    /// How many times a tier acted.
    pub events: usize,
    /// How many checkpoints there are.
    pub checkpoints: u64,
    /// The messages that are marked as critical, by index.
    pub marks: Vec<usize>,
    /// The name of the counter of tokens. The name says if the model's own counter was not available. Empty if the
    /// name was not stored.
    pub counted_with: String,
    #[serde(skip)]
    used: String,
}

impl ListSession {
    /// Returns the status of the session for its [own](Self::window) window, or for another one.
    ///
    /// ```
    /// use accp_memory::{Form, ListSession, SessionId, Window};
    ///
    /// let session = ListSession::new(SessionId::new("trip")?, Form::OpenAi);
    /// let status = session.status(&Window::of(8_000)?);
    /// assert_eq!((status.tokens, status.state), (0, "GREEN"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn status(&self, window: &Window) -> Status {
        let tokens = self.usage.as_ref().map_or(0, |used| used.tokens);
        Status {
            session: self.id.as_str().to_owned(),
            form: self.form.name(),
            window: window.size(),
            tokens,
            share: window.share(tokens),
            state: window.state(tokens).as_str(),
            messages: self.originals.len(),
            events: self.events.len(),
            checkpoints: self.checkpoints,
            marks: self.marks().collect(),
            counted_with: self
                .usage
                .as_ref()
                .map_or_else(String::new, |used| used.counted_with.clone()),
            used: window.used(tokens),
        }
    }

    /// Returns the window of the last list, with its reserve and the limits of the specification; `None` before the
    /// first list.
    pub fn window(&self) -> Option<Window> {
        let used = self.usage.as_ref()?;
        let window = Window::of(used.window).ok()?;
        window
            .with_reserve(used.window.saturating_sub(used.room))
            .ok()
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "session {}: {}\nsaid: {} messages\ncompressions: {}\ncheckpoints: {}",
            self.session, self.used, self.messages, self.events, self.checkpoints
        )?;
        if !self.marks.is_empty() {
            let marks: Vec<_> = self.marks.iter().map(ToString::to_string).collect();
            write!(f, "\nmarked: {}", marks.join(", "))?;
        }
        if self.counted_with.is_empty() {
            return Ok(());
        }
        write!(f, "\ncounted with {}", self.counted_with)
    }
}
