//! Cold state: the messages of a session as they were given, and each step of its list. Nothing is ever removed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use accp_registry::Hash;
use accp_session::{Batch, Cold as Value};
use accp_store::{SideId, SqliteStore, Store as _, StoreError, StoreErrorKind};
use serde::{Deserialize, Serialize};

use crate::drift::DriftEvent;
use crate::event::Event;
use crate::finding::Finding;
use crate::form::Form;
use crate::message::ListMessage;
use crate::names::SessionId;
use crate::plan::ListPlan;
use crate::session::{Covers, ListSession, Slot, SlotKind, Usage};

/// The name of a session's side in the store.
const SIDE: &str = "context";
/// The prefixes of the keys of messages, of texts that took the place of a message, of steps and of files.
const MESSAGE: &str = "message.";
const CHANGED: &str = "changed.";
const STEP: &str = "step.";
const FILE: &str = "file.";

/// Why cold state cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ColdError {
    /// The store failed.
    #[error("{0}; try again then")]
    Store(#[from] StoreError),
    /// The file is not a store.
    #[error("{0}; take `cache/cold.accp` back from a copy, or give another root (`--root`)")]
    Foreign(#[source] StoreError),
    /// A value is missing or damaged.
    #[error(
        "value `{key}` of session {session} {what}; take `cache/cold.accp` back from a copy, or begin another session"
    )]
    Damaged {
        /// The id of the session.
        session: String,
        /// The key of the value.
        key: String,
        /// What is wrong.
        what: String,
    },
}

/// One step of a session's list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredStep {
    form: String,
    at: String,
    /// How many messages the conversation had after this step.
    #[serde(rename = "said")]
    messages: usize,
    /// The messages of the system that got another text in this step, by index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changed: Vec<usize>,
    archived: usize,
    checkpoints: u64,
    /// The list; `None` if the list is that of the previous step with the new messages appended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    list: Option<Vec<StoredSlot>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    made: Vec<StoredMessage>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    events: Vec<Event>,
    /// The files to write, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<StoredFile>,
    /// The messages that the caller marked as critical in this step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    marks: Vec<usize>,
    /// The messages whose marks the caller removed in this step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unmarks: Vec<usize>,
    /// Signs of drift.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    drift: Vec<DriftEvent>,
    /// The number of messages in the conversation when this step wrote a summary. `None` if it wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summed_up: Option<usize>,
    /// How full the window was when the summary was written.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "use_of")]
    usage: Option<Usage>,
}

/// A change of the marks of a session.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mark {
    /// This message is critical from now on.
    Set(usize),
    /// This message is not critical any more.
    Removed(usize),
}

/// The message at one place of the list.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredSlot {
    /// The message of the conversation with this index.
    #[serde(rename = "said")]
    Original(usize),
    /// The message with this digest, which a tier made.
    Made(Hash),
}

/// A message that a tier made.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredMessage {
    text: String,
    kind: SlotKind,
    covers: Covers,
}

/// A file of a step. The value under `key` holds the text of the file, or the text that the step added to it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredFile {
    pub(crate) path: String,
    /// Where the text begins in the file: 0, unless the file grows.
    pub(crate) from: u64,
    pub(crate) bytes: u64,
    pub(crate) digest: Hash,
    key: String,
}

impl StoredFile {
    /// Returns whether a step wrote the file, or a part of it.
    pub(crate) fn is_of(&self, step: u64) -> bool {
        self.key.starts_with(&format!("{FILE}{step}."))
    }
}

/// A session that was read from cold state.
#[derive(Debug)]
pub(crate) struct StoredSession {
    pub(crate) session: ListSession,
    /// How many steps there are.
    pub(crate) steps: u64,
    /// All files of the session, in the order in which they were written.
    pub(crate) files: Vec<StoredFile>,
}

/// The cold state of one session.
#[derive(Debug)]
pub(crate) struct Cold {
    store: SqliteStore,
    side: SideId,
    id: SessionId,
}

impl Cold {
    /// Opens the cold state of a session, and makes the file if there is none.
    pub(crate) fn open(file: &Path, id: SessionId) -> Result<Self, ColdError> {
        let store = SqliteStore::open(file).map_err(|error| match error.kind() {
            StoreErrorKind::Foreign => ColdError::Foreign(error),
            _ => error.into(),
        })?;
        Ok(Self {
            store,
            side: SideId::new(id.as_str(), SIDE),
            id,
        })
    }

    /// Returns the stored session; `None` if the session has not begun.
    pub(crate) fn load(&mut self) -> Result<Option<StoredSession>, ColdError> {
        let keys = self.store.cold_keys(&self.side)?;
        let count = |start: &str| keys.iter().filter(|key| key.starts_with(start)).count();
        let (messages, steps) = (count(MESSAGE), count(STEP));
        let mut kept = None;
        let mut made = BTreeMap::new();
        let mut originals: Vec<ListMessage> = Vec::new();
        for number in 0..steps {
            let step = self.step(number)?;
            let form = Form::named(&step.form)
                .ok_or_else(|| self.damaged(&key(STEP, number), "has a form that is not known"))?;
            for index in originals.len()..step.messages {
                let raw = self.text(&key(MESSAGE, index))?;
                let read = ListMessage::read(form, index, &raw);
                originals.push(read.map_err(|fault| self.not_a_message(index, &fault))?);
            }
            let mut changed = Vec::new();
            for index in step.changed {
                let key = format!("{CHANGED}{number}.{index}");
                let raw = self.text(&key)?;
                let read = ListMessage::read(form, index, &raw);
                let read = read.map_err(|fault| self.damaged(&key, &fault.text))?;
                let known = originals.get_mut(index);
                *known.ok_or_else(|| self.damaged(&key, "is of no message"))? = read.clone();
                changed.push((index, read));
            }
            let kept = kept.get_or_insert_with(|| StoredSession {
                session: ListSession::new(self.id.clone(), form),
                steps: 0,
                files: Vec::new(),
            });
            kept.session.form = form;
            kept.session.change(&changed);
            let archive = self.id.archive();
            if step.files.iter().any(|file| file.path == archive) {
                kept.session.earlier.clear();
            }
            for one in step.made {
                let message = ListMessage::read(form, 0, &one.text);
                let message =
                    message.map_err(|fault| self.damaged(&key(STEP, number), &fault.text))?;
                kept.session
                    .made
                    .insert(message.digest(), one.covers.clone());
                made.insert(message.digest(), (message, one.kind, one.covers));
            }
            let from = kept.session.originals.len();
            kept.session
                .originals
                .extend(originals[from..].iter().cloned());
            if let Some(list) = step.list {
                let slots = list.iter().map(|place| slot(*place, &originals, &made));
                let slots: Option<Vec<_>> = slots.collect();
                kept.session.slots = slots.ok_or_else(|| {
                    self.damaged(&key(STEP, number), "names a message that is not there")
                })?;
            } else {
                let slots =
                    (from..originals.len()).map(|at| Slot::original(at, originals[at].clone()));
                kept.session.slots.extend(slots);
            }
            kept.session.archived = step.archived;
            kept.session.checkpoints = step.checkpoints;
            kept.session.events.extend(step.events);
            kept.session.marks.extend(step.marks);
            for message in &step.unmarks {
                kept.session.marks.remove(message);
            }
            kept.session.drift.extend(step.drift);
            kept.session.summed_up = step.summed_up.or(kept.session.summed_up);
            if step.usage.is_some() {
                kept.session.usage.clone_from(&step.usage);
            }
            kept.files.extend(step.files);
            kept.steps += 1;
        }
        match kept {
            Some(_) if originals.len() != messages => {
                Err(self.damaged(&key(MESSAGE, originals.len()), "belongs to no step"))
            }
            kept => Ok(kept),
        }
    }

    /// Stores a step, as a whole or not at all. Returns the files of the step.
    pub(crate) fn keep(
        &mut self,
        kept: Option<&StoredSession>,
        form: Form,
        plan: &ListPlan,
        mark: Option<Mark>,
        at: String,
    ) -> Result<Vec<StoredFile>, ColdError> {
        let number = kept.map_or(0, |kept| kept.steps);
        let first = kept.map_or(0, |kept| kept.session.originals.len());
        let mut batch = Batch::new(true);
        for (index, message) in plan.new.iter().enumerate() {
            let bytes = message.raw().as_bytes();
            batch.cold.push(value(key(MESSAGE, first + index), bytes));
        }
        for (index, message) in &plan.changed {
            let key = format!("{CHANGED}{number}.{index}");
            batch.cold.push(value(key, message.raw().as_bytes()));
        }
        let mut files: Vec<StoredFile> = Vec::new();
        for (index, file) in plan.files.iter().enumerate() {
            let key = format!("{FILE}{number}.{index}");
            batch.cold.push(value(key.clone(), file.text.as_bytes()));
            let grown = || {
                let known = kept.iter().flat_map(|kept| &kept.files).chain(&files);
                known
                    .filter(|known| known.path == file.path)
                    .map(|known| known.bytes)
                    .sum()
            };
            files.push(StoredFile {
                path: file.path.clone(),
                from: if file.grows { grown() } else { 0 },
                bytes: file.text.len() as u64,
                digest: Hash::of(file.text.as_bytes()),
                key,
            });
        }
        let place = |slot: &Slot| match (slot.kind, slot.covers.as_slice()) {
            (SlotKind::Original, [range]) => StoredSlot::Original(range.start),
            _ => StoredSlot::Made(slot.message.digest()),
        };
        let made = |(message, covers, kind): &(ListMessage, Covers, SlotKind)| StoredMessage {
            text: message.raw().to_owned(),
            kind: *kind,
            covers: covers.clone(),
        };
        let (marks, unmarks) = match mark {
            None => (Vec::new(), Vec::new()),
            Some(Mark::Set(message)) => (vec![message], Vec::new()),
            Some(Mark::Removed(message)) => (Vec::new(), vec![message]),
        };
        let step = StoredStep {
            form: form.name().to_owned(),
            at,
            messages: first + plan.new.len(),
            changed: plan.changed.iter().map(|(index, _)| *index).collect(),
            archived: plan.archived,
            checkpoints: plan.checkpoints,
            list: (!plan.made.is_empty()).then(|| plan.slots.iter().map(place).collect()),
            made: plan.made.iter().map(made).collect(),
            events: plan.events.clone(),
            files,
            marks,
            unmarks,
            drift: plan.drift.clone(),
            summed_up: plan.summed_up,
            usage: plan.window.clone(),
        };
        let text = serde_json::to_vec(&step).unwrap_or_default();
        batch.cold.push(value(
            key(STEP, usize::try_from(number).unwrap_or(usize::MAX)),
            &text,
        ));
        self.store.commit(&[(&self.side, &batch)])?;
        Ok(step.files)
    }

    /// Returns the text of a file, or the text that a step added to it.
    pub(crate) fn file(&mut self, file: &StoredFile) -> Result<String, ColdError> {
        self.text(&file.key)
    }

    fn step(&mut self, number: usize) -> Result<StoredStep, ColdError> {
        let key = key(STEP, number);
        let text = self.text(&key)?;
        serde_json::from_str(&text)
            .map_err(|error| self.damaged(&key, &format!("is not a step: {error}")))
    }

    fn text(&mut self, key: &str) -> Result<String, ColdError> {
        let kept = self.store.cold(&self.side, key)?;
        let bytes = kept.and_then(|kept| kept.value.bytes);
        let bytes = bytes.ok_or_else(|| self.damaged(key, "is not there"))?;
        let text = std::str::from_utf8(&bytes);
        Ok(text
            .map_err(|_| self.damaged(key, "is not UTF-8"))?
            .to_owned())
    }

    fn not_a_message(&self, index: usize, fault: &Finding) -> ColdError {
        self.damaged(&key(MESSAGE, index), &fault.text)
    }

    fn damaged(&self, key: &str, what: &str) -> ColdError {
        ColdError::Damaged {
            session: self.id.as_str().to_owned(),
            key: key.to_owned(),
            what: what.to_owned(),
        }
    }
}

fn key(start: &str, number: usize) -> String {
    format!("{start}{number}")
}

fn value(key: String, bytes: &[u8]) -> Value {
    Value {
        key,
        digest: Hash::of(bytes),
        length: bytes.len() as u64,
        bytes: Some(Arc::from(bytes)),
    }
}

fn slot(
    place: StoredSlot,
    originals: &[ListMessage],
    made: &BTreeMap<Hash, (ListMessage, SlotKind, Covers)>,
) -> Option<Slot> {
    Some(match place {
        StoredSlot::Original(at) => Slot::original(at, originals.get(at)?.clone()),
        StoredSlot::Made(digest) => {
            let (message, kind, covers) = made.get(&digest)?.clone();
            Slot {
                message,
                covers,
                kind,
            }
        }
    })
}
