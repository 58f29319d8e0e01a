//! The list session: a conversation, and the list that a model gets instead of the whole conversation.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use accp_registry::Hash;

use crate::cache_mark;
use crate::drift::DriftEvent;
use crate::event::Event;
use crate::finding::Finding;
use crate::form::Form;
use crate::list::MessageList;
use crate::media::Way;
use crate::message::ListMessage;
use crate::names::{CommandOptions, SessionId};
use crate::parsed::parse;
use crate::summary::Content;
use crate::writes::Writes;

/// A message of the current list.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub(crate) message: ListMessage,
    /// The messages of the conversation that this message shows or replaces.
    pub(crate) covers: Covers,
    pub(crate) kind: SlotKind,
}

impl Slot {
    /// Returns the slot of a message that stands unchanged in the list.
    pub(crate) fn original(at: usize, message: ListMessage) -> Self {
        Self {
            message,
            covers: std::iter::once(at..at + 1).collect(),
            kind: SlotKind::Original,
        }
    }

    /// Returns the index of the message of the conversation that this message shows, whole or cut; `None` for a message
    /// that stands for others.
    fn shows(&self) -> Option<usize> {
        let shows_one = matches!(self.kind, SlotKind::Original | SlotKind::Cut);
        let first = self.covers.first().filter(|_| shows_one)?;
        Some(first.start)
    }

    /// Takes over what the caller gave for this message: the caller's text of it, or its marks for the cache if the
    /// message was cut. A message that the caller did not give has no marks.
    fn take_over(&mut self, form: Form, given: Option<&ListMessage>) {
        if let Some(given) = given.filter(|given| given.is_same(&self.message)) {
            self.message = given.clone();
        } else if let Some(message) = cache_mark::moved(form, &self.message, given) {
            self.message = message;
        }
    }
}

/// What a message of the list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SlotKind {
    /// A message as it was said.
    #[serde(rename = "said")]
    Original,
    /// A message whose result or input was cut.
    Cut,
    /// The summary.
    Summary,
    /// Parts of the conversation that were put back into the list.
    Recovered,
}

/// What is new in a list, compared with its session.
pub(crate) struct ListUpdate {
    /// The current list, with the new messages at its end.
    pub(crate) slots: Vec<Slot>,
    /// The new messages.
    pub(crate) new: Vec<ListMessage>,
}

/// Ranges of messages of the conversation, by index, ascending.
pub(crate) type Covers = Vec<Range<usize>>;

/// A conversation, and the list that a model gets instead of the whole conversation.
///
/// A session knows each message by its digest. So a program may give the whole conversation each time, or the last list
/// that it got, both with the new messages at their end.
#[derive(Debug, Clone)]
pub struct ListSession {
    pub(crate) id: SessionId,
    pub(crate) form: Form,
    /// The conversation, as it was said.
    pub(crate) originals: Vec<ListMessage>,
    /// The list.
    pub(crate) slots: Vec<Slot>,
    /// The messages that were made for lists of this session, each with the messages that it covers.
    pub(crate) made: BTreeMap<Hash, Covers>,
    /// The messages that the caller has marked as critical.
    pub(crate) marks: BTreeSet<usize>,
    /// How many messages the archive has.
    pub(crate) archived: usize,
    /// The checkpoints taken.
    pub(crate) checkpoints: u64,
    /// The log.
    pub(crate) events: Vec<Event>,
    /// Signs of drift.
    pub(crate) drift: Vec<DriftEvent>,
    /// The number of messages in the conversation when the last summary was written. `None` before the first summary.
    pub(crate) summed_up: Option<usize>,
    /// How full the window was with the last list.
    pub(crate) usage: Option<Usage>,
}

/// How much of a window a list uses.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Usage {
    /// The tokens of the list, and of what a model reads outside the list.
    pub tokens: u64,
    /// The most tokens that the list may have.
    pub room: u64,
    /// The tokens of the window.
    pub window: u64,
    /// The name of the counter of tokens. The name says if the model's own counter was not available. Empty if the
    /// name was not stored.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub counted_with: String,
}

/// A list that does not belong to the session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListMismatch {
    /// A message is not the one that the conversation has at this place.
    #[error(
        "message {message} is not message {known} of session {session}, and no message of a list that it gave; give \
         the conversation as it was, with what was said since, or begin another session"
    )]
    Other {
        /// The id of the session.
        session: String,
        /// The index in the list.
        message: usize,
        /// The index in the conversation.
        known: usize,
    },
    /// The list ends before the conversation does.
    #[error(
        "the list ends before message {known} of session {session}, which was there before; give the conversation as \
         it was, with what was said since, or begin another session"
    )]
    Short {
        /// The id of the session.
        session: String,
        /// The index in the conversation of the first message that is not there.
        known: usize,
    },
    /// The list has another form.
    #[error(
        "the list of session {session} has the form {expected}, and this one has the form {found}; go on with {expected}"
    )]
    Form {
        /// The id of the session.
        session: String,
        /// The form of the session.
        expected: Form,
        /// The form of the list.
        found: Form,
    },
}

impl ListSession {
    /// Begins a session.
    pub fn new(id: SessionId, form: Form) -> Self {
        Self {
            id,
            form,
            originals: Vec::new(),
            slots: Vec::new(),
            made: BTreeMap::new(),
            marks: BTreeSet::new(),
            archived: 0,
            checkpoints: 0,
            events: Vec::new(),
            drift: Vec::new(),
            summed_up: None,
            usage: None,
        }
    }

    /// Reads the next list of this session, in the form of the session unless `form` is given. While all messages
    /// have only a role and texts, they mean the same in every form. Then the first list with other members decides
    /// the form.
    ///
    /// ```
    /// use accp_memory::{Form, ListSession, SessionId};
    ///
    /// let session = ListSession::new(SessionId::new("s")?, Form::OpenAi);
    /// let list = session.read(r#"[{"role":"user","content":"Rye?"},{"type":"reasoning","id":"rs_1","summary":[]}]"#, None)?;
    /// assert_eq!(list.form(), Form::Responses);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `not-a-list`, when the text is not a list or a request with one.
    pub fn read(&self, text: &str, form: Option<Form>) -> Result<MessageList, Finding> {
        let form = form.or((!is_plain(&self.originals)).then_some(self.form));
        let list = MessageList::read(text, form)?;
        if form.is_none() && list.request().is_null() && is_plain(list.messages()) {
            return MessageList::read(text, Some(self.form));
        }
        Ok(list)
    }

    /// Returns the id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Returns the conversation as it was said.
    pub fn originals(&self) -> &[ListMessage] {
        &self.originals
    }

    /// Returns the log, the oldest event first.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns the signs of drift, the oldest first.
    pub fn drift(&self) -> &[DriftEvent] {
        &self.drift
    }

    /// Returns how full the window was with the last list that changed anything.
    pub fn usage(&self) -> Option<Usage> {
        self.usage.clone()
    }

    /// Returns the messages that are marked as critical, by index.
    pub fn marks(&self) -> impl Iterator<Item = usize> {
        self.marks.iter().copied()
    }

    /// Returns the number of the last checkpoint; 0 if there is none.
    pub fn checkpoints(&self) -> u64 {
        self.checkpoints
    }

    /// Returns the conversation as it was said.
    pub fn restored(&self) -> Result<MessageList, Finding> {
        MessageList::of(self.form, self.originals.iter().map(ListMessage::raw))
    }

    /// Returns the current list, without marks for the cache.
    pub(crate) fn list(&self) -> Result<MessageList, Finding> {
        let slots = self.without_cache_marks();
        MessageList::of(self.form, slots.iter().map(|slot| slot.message.raw()))
    }

    /// Returns the slots of the current list without marks for the cache. The messages were given at different times,
    /// with the marks of that time: together these may be more than a provider takes.
    pub(crate) fn without_cache_marks(&self) -> Vec<Slot> {
        let mut slots = self.slots.clone();
        for slot in &mut slots {
            slot.take_over(self.form, None);
        }
        slots
    }

    /// Returns, verbatim, the first message of the user and each later one that begins as a new objective.
    pub fn intent(&self) -> Vec<String> {
        let options = CommandOptions::of(&self.id, None);
        let all = parse(self.form, Way::Command(&options), &self.originals);
        let content = Content::of(&all, &BTreeSet::new(), &Writes::default());
        content.intent.into_iter().map(|item| item.text).collect()
    }

    /// Finds the new messages of a list. Returns them, and the current list of the session with these messages.
    ///
    /// # Errors
    /// When the list is neither the conversation nor a list of this session, each with new messages at its end.
    pub(crate) fn update(&self, list: &MessageList) -> Result<ListUpdate, ListMismatch> {
        if list.form() != self.form && !is_plain(&self.originals) {
            return Err(ListMismatch::Form {
                session: self.id.as_str().to_owned(),
                expected: self.form,
                found: list.form(),
            });
        }
        let messages = list.messages();
        let listed = self.slots.iter().map(|slot| &slot.message);
        let (new, given): (Vec<&ListMessage>, Vec<Option<&ListMessage>>) =
            if let Some(new) = behind(messages, self.originals.iter()) {
                let given = |slot: &Slot| messages.get(slot.shows()?);
                (new.iter().collect(), self.slots.iter().map(given).collect())
            } else if let Some(new) = behind(messages, listed) {
                let given = messages.iter().take(self.slots.len());
                (new.iter().collect(), given.map(Some).collect())
            } else {
                (self.new_beside_made(messages)?, self.given(messages))
            };
        let mut slots = self.slots.clone();
        for (slot, given) in slots.iter_mut().zip(given) {
            slot.take_over(list.form(), given);
        }
        let first = self.originals.len();
        slots.extend(
            new.iter()
                .enumerate()
                .map(|(index, message)| Slot::original(first + index, (*message).clone())),
        );
        let new = new.into_iter().cloned().collect();
        Ok(ListUpdate { slots, new })
    }

    /// Finds, for each message of the current list, the message that stands for it in a list of the caller.
    fn given<'l>(&self, messages: &'l [ListMessage]) -> Vec<Option<&'l ListMessage>> {
        let mut all: BTreeMap<Hash, VecDeque<&'l ListMessage>> = BTreeMap::new();
        for message in messages {
            all.entry(message.digest()).or_default().push_back(message);
        }
        let mut out = Vec::with_capacity(self.slots.len());
        for slot in &self.slots {
            let original = slot.shows().and_then(|at| self.originals.get(at));
            let digests = std::iter::once(&slot.message).chain(original);
            let mut digests = digests.map(ListMessage::digest);
            let given = digests.find_map(|digest| all.get_mut(&digest)?.pop_front());
            // An older list may have another message in the place of the same messages.
            let stands_for =
                |one: &&ListMessage| self.made.get(&one.digest()) == Some(&slot.covers);
            out.push(given.or_else(|| messages.iter().find(stands_for)));
        }
        out
    }

    /// Finds the new messages of a list that begins neither with the conversation nor with the last list, such as an
    /// older list of this session. In such a list, a message that a tier made counts as the messages that it covers.
    fn new_beside_made<'l>(
        &self,
        messages: &'l [ListMessage],
    ) -> Result<Vec<&'l ListMessage>, ListMismatch> {
        let mut shown = vec![false; self.originals.len()];
        for message in messages {
            for range in self.made.get(&message.digest()).into_iter().flatten() {
                shown[range.clone()].fill(true);
            }
        }
        let mut known = (0..self.originals.len())
            .filter(|at| !shown[*at])
            .peekable();
        let mut new = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            if self.made.contains_key(&message.digest()) {
                continue;
            }
            match known.next() {
                Some(next) if self.originals[next].is_same(message) => {}
                Some(next) => {
                    return Err(ListMismatch::Other {
                        session: self.id.as_str().to_owned(),
                        message: at,
                        known: next,
                    });
                }
                None => new.push(message),
            }
        }
        if let Some(&known) = known.peek() {
            return Err(ListMismatch::Short {
                session: self.id.as_str().to_owned(),
                known,
            });
        }
        Ok(new)
    }
}

/// Returns the messages of a list behind the known ones; `None` if the list does not begin with the known ones.
fn behind<'l, 'k>(
    list: &'l [ListMessage],
    known: impl Iterator<Item = &'k ListMessage>,
) -> Option<&'l [ListMessage]> {
    let mut rest = list.iter();
    for message in known {
        if !rest.next()?.is_same(message) {
            return None;
        }
    }
    Some(rest.as_slice())
}

/// Returns whether messages say the same in every form.
fn is_plain(messages: &[ListMessage]) -> bool {
    messages.iter().all(ListMessage::is_plain)
}
