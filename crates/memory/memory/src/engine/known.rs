//! What a memory knows of the messages that it has sent: their tokens, their results, and the forms of these results.

use std::sync::OnceLock;

use accp_registry::Hash;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;

use super::calls::Asked;
use super::result::Given;
use super::{below, lines};
use crate::form::Form;
use crate::message::{ListMessage, Role};
use crate::raw::Pointer;
use crate::thought;

/// The version of what [`State::to_text`] writes.
const VERSION: u32 = 1;

/// The text does not come from [`Memory::remember`](crate::Memory::remember).
#[derive(Debug, thiserror::Error)]
#[error(
    "expected what `Memory::remember` gave, found other text ({0}); begin a conversation instead"
)]
pub struct RecallError(String);

/// A conversation, as a memory has sent it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct State {
    #[serde(serialize_with = "write_version")]
    version: u32,
    pub(super) messages: Vec<Known>,
    /// Whether a mark needs the tool.
    pub(super) needs_tool: bool,
    /// The requests so far.
    pub(super) requests: u64,
    /// The tokens of the last request: of the list as given, and as sent.
    pub(super) before: (u64, u64),
    /// Whether the last request had the tool.
    #[serde(default)]
    pub(super) had_tool: bool,
    /// What the conversation has saved so far, in tokens of input.
    pub(super) saved: f64,
    /// The time of the last request, in Unix seconds.
    pub(super) last: Option<i64>,
    /// The messages that have left the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) left: Option<Left>,
}

/// The messages that left the list, and the summary in their place.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Left {
    /// The index of the first message that has not left. System messages before this index have not left, either.
    pub(super) end: usize,
    pub(super) text: String,
    pub(super) tokens: u64,
}

/// A message.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Known {
    #[serde(serialize_with = "write_digest", deserialize_with = "read_digest")]
    digest: Hash,
    /// Its tokens as given, and as sent.
    pub(super) tokens: u64,
    pub(super) tokens_sent: u64,
    /// Whether it never leaves, as system messages do not.
    #[serde(default)]
    pub(super) is_system: bool,
    /// Whether the agent speaks.
    pub(super) is_agent: bool,
    /// Whether it has a thought that the provider binds to the exact list before it.
    is_bound: bool,
    /// The tokens of its bound thoughts, if a step has dropped these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dropped: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) results: Vec<KnownResult>,
    /// The message as it was given; `None` after a restart until a list gives it.
    #[serde(skip)]
    pub(super) given: Option<ListMessage>,
    /// The message as it was given and as it is sent, if they differ.
    #[serde(skip)]
    sent: Option<(ListMessage, ListMessage)>,
}

/// A result.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct KnownResult {
    pub(super) name: String,
    /// The tokens of its text as sent.
    pub(super) tokens: u64,
    /// The form that the result got when it entered the list; `None` if that is the text as it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first: Option<String>,
    /// The text in the list; `None` if no lines were left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    now: Option<String>,
    /// Whether the marks count the lines of the text after its long lines were split.
    #[serde(default, skip_serializing_if = "is_false")]
    is_lined: bool,
    /// Whether the tool has shown it, and the lines that it was asked for have other numbers since.
    #[serde(default, skip_serializing_if = "is_false")]
    is_stale: bool,
    /// The text with its long lines split. Made when it is first needed; `None` inside if the text has no long lines.
    #[serde(skip)]
    lined: OnceLock<Option<String>>,
    /// The lines of a text inside the result's JSON. Made when they are first needed.
    #[serde(skip)]
    inner: OnceLock<Option<String>>,
    /// The text as given, and its place in the message; `None` after a restart until a list gives them.
    #[serde(skip)]
    given: Option<(String, Pointer)>,
    /// The id of the result's call; empty if there is none.
    #[serde(skip)]
    call: String,
    /// What the call asks for, if it is a call of the tool, and whether it names a file. A later call may have the same
    /// id, so both are noted when the result comes. A list gives them anew after a restart.
    #[serde(skip)]
    asked: Option<Asked>,
    #[serde(skip)]
    names_file: bool,
    /// The first and last lines, and their tokens. Made when they are first needed; `None` inside if no line would
    /// leave.
    #[serde(skip)]
    ends: OnceLock<Option<(String, u64)>>,
    /// The mark that replaces the whole result, and its tokens. Made when it is first needed.
    #[serde(skip)]
    gone: OnceLock<(String, u64)>,
}

impl State {
    pub(super) fn to_text(&self) -> String {
        // Texts, numbers and lists always become JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(super) fn read(text: &str) -> Result<Self, RecallError> {
        let read: Self =
            serde_json::from_str(text).map_err(|error| RecallError(error.to_string()))?;
        match read.version {
            VERSION => Ok(read),
            other => Err(RecallError(format!("version {other}"))),
        }
    }

    /// Returns the index of the first message that has not left.
    pub(super) fn end(&self) -> usize {
        self.left.as_ref().map_or(0, |left| left.end)
    }

    /// Returns whether a message stands in the list.
    pub(super) fn stands(&self, at: usize, known: &Known) -> bool {
        (at >= self.end() || known.is_system) && !known.is_gone()
    }

    pub(super) fn given(&self) -> u64 {
        self.messages.iter().map(|known| known.tokens).sum()
    }

    pub(super) fn sent(&self) -> u64 {
        let messages = self.messages.iter().enumerate();
        let stands = messages.filter(|(at, known)| self.stands(*at, known));
        let tokens = stands.map(|(_, known)| known.tokens_sent).sum::<u64>();
        tokens + self.left.as_ref().map_or(0, |left| left.tokens)
    }
}

impl Known {
    pub(super) fn new(message: &ListMessage, tokens: u64) -> Self {
        Self {
            digest: message.digest(),
            tokens,
            tokens_sent: tokens,
            is_system: message.stays(),
            is_agent: message.role == Role::Assistant,
            is_bound: message.is_bound(),
            dropped: None,
            results: Vec::new(),
            given: Some(message.clone()),
            sent: None,
        }
    }

    pub(super) fn is(&self, message: &ListMessage) -> bool {
        self.digest == message.digest()
    }

    /// Returns whether the message lacks its text, as it does after a restart until a list gives it.
    pub(super) fn is_bare(&self) -> bool {
        self.given.is_none()
    }

    /// Adds the texts that the remembered state lacks, from the message of a list. Returns false if this message has
    /// another number of results. Then the program now names other speakers whose messages are results.
    pub(super) fn complete(&mut self, message: &ListMessage, given: Vec<Given>) -> bool {
        if given.len() != self.results.len() {
            return false;
        }
        for (result, given) in self.results.iter_mut().zip(given) {
            result.given = Some((given.text, given.place));
            result.call = given.id;
        }
        self.given = Some(message.clone());
        true
    }

    /// Returns the message to send for a given message. The given message is the known one, but its cache marks may
    /// differ.
    pub(super) fn sent(&mut self, form: Form, message: &ListMessage) -> ListMessage {
        let texts = self.results.iter().filter_map(|result| {
            let (text, place) = result.given.as_ref()?;
            let now = result.now();
            (now != text).then(|| (place.clone(), Json::from(now)))
        });
        let texts: Vec<_> = texts.collect();
        if texts.is_empty() && self.dropped.is_none() {
            return message.clone();
        }
        if let Some((given, sent)) = &self.sent
            && given.raw() == message.raw()
        {
            return sent.clone();
        }
        let sent = message.with(form, &texts);
        let mut sent = sent.unwrap_or_else(|| message.clone());
        if self.dropped.is_some() {
            sent = thought::without(form, &sent).unwrap_or(sent);
        }
        self.sent = Some((message.clone(), sent.clone()));
        sent
    }

    /// Returns whether the message is sent with a thought that is bound to the exact list before it.
    pub(super) fn binds(&self) -> bool {
        self.is_bound && self.dropped.is_none()
    }

    /// Returns whether nothing of the message is sent: it had nothing but thoughts, and these were dropped.
    pub(super) fn is_gone(&self) -> bool {
        self.dropped == Some(self.tokens)
    }

    /// Sends the message without its bound thoughts from now on. They have this many tokens.
    pub(super) fn drop_thoughts(&mut self, tokens: u64) {
        self.dropped = Some(tokens);
        self.tokens_sent = self.tokens_sent.saturating_sub(tokens);
        self.change();
    }

    /// Returns the tokens of the message with the texts that it was given, without the thoughts that were dropped.
    pub(super) fn tokens_whole(&self) -> u64 {
        self.tokens.saturating_sub(self.dropped.unwrap_or(0))
    }

    /// Forgets the message that was sent, because a text of it has changed.
    pub(super) fn change(&mut self) {
        self.sent = None;
    }
}

impl KnownResult {
    pub(super) fn of(name: String, given: &Given) -> Self {
        Self {
            name,
            tokens: 0,
            first: None,
            now: None,
            is_lined: false,
            is_stale: false,
            lined: OnceLock::new(),
            inner: OnceLock::new(),
            given: Some((given.text.clone(), given.place.clone())),
            call: given.id.clone(),
            asked: None,
            names_file: false,
            ends: OnceLock::new(),
            gone: OnceLock::new(),
        }
    }

    /// Returns the uncut text whose lines the marks count; an empty text after a restart until a list gives it.
    pub(super) fn first(&self) -> &str {
        self.whole().unwrap_or_default()
    }

    /// Returns the same text as [`first`](Self::first); `None` after a restart until a list gives it.
    pub(super) fn whole(&self) -> Option<&str> {
        let lined = if self.is_lined { self.lined() } else { None };
        lined.or_else(|| self.text())
    }

    /// Returns the text in its first form; `None` after a restart until a list gives it.
    fn text(&self) -> Option<&str> {
        let given = self.given.as_ref().map(|(text, _)| text.as_str());
        self.first.as_deref().or(given)
    }

    /// Returns the text with its long lines split; `None` if it has no long lines, or no list has given the text yet.
    fn lined(&self) -> Option<&str> {
        let text = self.text()?;
        let lined = self.lined.get_or_init(|| lines::lined(text));
        lined.as_deref()
    }

    /// Returns the lines of a text inside the result's JSON, to which later results can refer. `None` if the result
    /// has a form or is cut, or its JSON does not consist of long lines with such a text.
    pub(super) fn inner(&self) -> Option<&str> {
        if self.first.is_some() || self.is_cut() || !self.has_long_lines() {
            return None;
        }
        let text = self.text()?;
        let inner = self.inner.get_or_init(|| Some(below::parts(text)?.1));
        inner.as_deref()
    }

    /// Returns the text whose lines both marks and references count: [`inner`](Self::inner), or else
    /// [`whole`](Self::whole).
    pub(super) fn to_read(&self) -> Option<&str> {
        self.inner().or_else(|| self.whole())
    }

    /// Returns whether the text has long lines. A mark counts their lines only after they are split.
    pub(super) fn has_long_lines(&self) -> bool {
        self.lined().is_some()
    }

    /// Returns the text from which lines can be left out; an empty text after a restart until a list gives it.
    pub(super) fn in_lines(&self) -> &str {
        let lined = self.lined().or_else(|| self.text());
        lined.unwrap_or_default()
    }

    /// Returns the text as it was given; an empty text after a restart until a list gives it.
    pub(super) fn given(&self) -> &str {
        self.given.as_ref().map_or("", |(text, _)| text)
    }

    /// Returns the text that stands in the list.
    pub(super) fn now(&self) -> &str {
        self.now.as_deref().unwrap_or_else(|| self.first())
    }

    /// Returns the id of the result's call; empty if there is none.
    pub(super) fn call(&self) -> &str {
        &self.call
    }

    /// Notes what the result's call asks for, if it is a call of the tool, and whether it names a file.
    pub(super) fn answers(&mut self, asked: Option<Asked>, names_file: bool) {
        self.asked = asked;
        self.names_file = names_file;
    }

    /// Returns what the result's call asks for, if it is a call of the tool.
    pub(super) fn asked(&self) -> Option<&Asked> {
        self.asked.as_ref()
    }

    /// Notes that the lines that the tool was asked for have other numbers now.
    pub(super) fn outdate(&mut self) {
        self.is_stale = true;
    }

    /// Returns whether the lines that the tool was asked for have other numbers than when it showed them.
    pub(super) fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// Returns whether the result's call names a file.
    pub(super) fn names_file(&self) -> bool {
        self.names_file
    }

    /// Gives the text back as it was.
    pub(super) fn reset(&mut self) {
        self.first = None;
        self.now = None;
        self.is_lined = false;
        self.lined = OnceLock::new();
        self.ends = OnceLock::new();
        self.gone = OnceLock::new();
    }

    /// Returns the first and last lines with their tokens, which `cut` makes from the name and the text; `None` if no
    /// line would leave.
    pub(super) fn ends(
        &self,
        cut: impl FnOnce(&str, &str) -> Option<(String, u64)>,
    ) -> Option<(&str, u64)> {
        let ends = self.ends.get_or_init(|| cut(&self.name, self.in_lines()));
        ends.as_ref().map(|(text, tokens)| (text.as_str(), *tokens))
    }

    /// Returns the mark that replaces the whole result, with its tokens. `mark` makes both from the name and the
    /// text.
    pub(super) fn gone(&self, mark: impl FnOnce(&str, &str) -> (String, u64)) -> (&str, u64) {
        let gone = self.gone.get_or_init(|| mark(&self.name, self.in_lines()));
        (&gone.0, gone.1)
    }

    /// Returns the form that the result got when it entered the list, with all its lines; `None` if that is the text as
    /// it was given.
    pub(super) fn formed(&self) -> Option<&str> {
        self.first.as_deref()
    }

    /// Returns whether the result has another form than the text as it was given.
    pub(super) fn is_formed(&self) -> bool {
        self.first.is_some()
    }

    /// Returns whether the lines of the result differ from those of the text as it was given.
    pub(super) fn has_own_lines(&self) -> bool {
        self.is_formed() || self.is_lined || self.inner().is_some()
    }

    pub(super) fn form(&mut self, text: String) {
        self.first = Some(text);
        self.lined = OnceLock::new();
    }

    /// Sets the text in the list, in which marks replace some of the lines of [`in_lines`](Self::in_lines). `None`
    /// sets the uncut text.
    pub(super) fn cut(&mut self, text: Option<String>) {
        self.is_lined = text.is_some() && self.has_long_lines();
        self.now = text;
    }

    /// Replaces the form of the text and the text in the list by what `rewrite` makes of them. Returns whether one
    /// changed.
    pub(super) fn rewrite(&mut self, rewrite: impl Fn(&str) -> Option<String>) -> bool {
        let first = self.first.as_deref().and_then(&rewrite);
        let now = self.now.as_deref().and_then(&rewrite);
        let changes = first.is_some() || now.is_some();
        if let Some(first) = first {
            self.form(first);
            self.ends = OnceLock::new();
            self.gone = OnceLock::new();
        }
        if now.is_some() {
            self.now = now;
        }
        changes
    }

    pub(super) fn is_cut(&self) -> bool {
        self.now.is_some()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn write_version<S: Serializer>(_: &u32, serializer: S) -> Result<S::Ok, S::Error> {
    VERSION.serialize(serializer)
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_false(is: &bool) -> bool {
    !*is
}

fn write_digest<S: Serializer>(digest: &Hash, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(digest)
}

fn read_digest<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Hash, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}
