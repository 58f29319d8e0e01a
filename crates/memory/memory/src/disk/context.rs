//! A session that keeps its files below a root folder. A program gives its list, and gets the list for the model.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use accp_store::files::{Files, Private, create_private_folder, private};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::cold::{Cold, Mark, StoredFile, StoredSession};
use super::error::{ContextError, failed};
use super::named::named;
use super::writer::{DiskLookup, Writer};
use crate::drift::DriftEvent;
use crate::event::Event;
use crate::finding::Finding;
use crate::form::Form;
use crate::hooks::Hooks;
use crate::list::MessageList;
use crate::names::{CHECKPOINTS, CONVERSATIONS, INTERMEDIATE, OFFLOADED, SessionId};
use crate::plan::{ListPlan, NewFile, OnDemand, Options, PlanError};
use crate::session::ListSession;
use crate::window::State;

/// The file with cold state, below the root.
const COLD: &str = "cache/cold.accp";
/// The file that processes lock, below the root.
const LOCK: &str = "cache/.lock";

/// A list that fits its window, and what was done to make it fit.
#[derive(Debug, Clone)]
pub struct Compressed {
    /// The list.
    pub list: MessageList,
    /// Tokens of the list that the program gave.
    pub before: u64,
    /// Tokens of [`list`](Self::list).
    pub after: u64,
    /// How full the window is with the new list.
    pub state: State,
    /// The tiers that acted.
    pub events: Vec<Event>,
    /// Signs that the model has lost its task, in what it has said since the last list.
    pub drift: Vec<DriftEvent>,
    /// What the caller should do, if anything.
    pub advice: Option<String>,
    /// The thoughts that the provider may refuse, because the messages before them have changed.
    pub bound: Vec<Finding>,
}

/// A session that keeps its files below a root folder.
#[derive(Debug)]
pub struct Context<F = Private> {
    root: PathBuf,
    work: PathBuf,
    /// The root that commands in the texts of a list name; `None` if these commands name no root.
    named: Option<String>,
    id: SessionId,
    files: F,
    /// `None` until something was kept below the root.
    held: Option<LockedRoot>,
    kept: Option<StoredSession>,
    /// Whether `kept` is what cold state has, and all files of `kept` are on the disk.
    is_settled: bool,
}

/// A root that this process has locked.
#[derive(Debug)]
struct LockedRoot {
    cold: Cold,
    /// The lock lasts as long as this file is open.
    _lock: std::fs::File,
}

impl Context<Private> {
    /// Opens a session below a root. One `Context` at a time uses a root, whichever its session, until it is dropped. The
    /// next one waits, in another process and in this one, so a thread drops its `Context` before it opens another below
    /// the same root. If the root has no session yet, folders are made only when the first list is returned. Only their
    /// owner may use new files and folders.
    ///
    /// # Errors
    /// When the root cannot be read or written, or its files are damaged.
    pub fn open(root: impl Into<PathBuf>, id: SessionId) -> Result<Self, ContextError> {
        Self::open_on(root, id, Private)
    }

    /// Opens a session that has begun. Makes no files if there is no such session.
    ///
    /// # Errors
    /// When there is no such session, the root cannot be read or written, or its files are damaged.
    pub fn open_existing(root: impl Into<PathBuf>, id: SessionId) -> Result<Self, ContextError> {
        let context = Self::open(root, id)?;
        context.begun()?;
        Ok(context)
    }
}

impl<F: Files> Context<F> {
    /// Opens a session below a root, as [`open`](Context::open) does, and writes its files with `files`. A test can
    /// give `files` that fail. SQLite writes cold state without `files`.
    ///
    /// ```
    /// use accp_memory::disk::Context;
    /// use accp_memory::{MessageList, Options, SessionId, Window};
    /// use accp_store::files::Private;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path().join("Memory");
    /// # let counter = accp_tokens::Bpe::o200k_base();
    /// let mut context = Context::open_on(&root, SessionId::new("trip")?, Private)?;
    /// assert!(context.session().is_none() && !root.exists());
    ///
    /// let window = Window::of(8_000)?;
    /// let options = Options::new(&window, &counter, time::OffsetDateTime::now_utc());
    /// let list = MessageList::read(r#"[{"role":"user","content":"Rye?"}]"#, None)?;
    /// context.compress(&list, &options, &mut ())?;
    /// assert!(context.session().is_some() && root.join("cache/offloaded").is_dir());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the root cannot be read or written, or its files are damaged.
    pub fn open_on(
        root: impl Into<PathBuf>,
        id: SessionId,
        files: F,
    ) -> Result<Self, ContextError> {
        let mut context = Self {
            root: root.into(),
            work: PathBuf::new(),
            named: None,
            id,
            files,
            held: None,
            kept: None,
            is_settled: false,
        };
        context.settle()?;
        Ok(context)
    }

    /// Sets the working folder of the agent's tools, where relative paths of written files begin. Without this, such
    /// paths begin in the working folder of this process.
    #[must_use]
    pub fn with_work(mut self, work: impl Into<PathBuf>) -> Self {
        self.work = work.into();
        self
    }

    /// Sets the root that the commands in the texts of a list name. Without this, the commands name no root, and use
    /// their default.
    #[must_use]
    pub fn with_root_in_commands(mut self, root: impl Into<String>) -> Self {
        self.named = Some(root.into());
        self
    }

    /// Returns the paths of the files of the session, below the root. These are the files that the session has written,
    /// and the files that the messages given to it name.
    pub(super) fn own_files(&self) -> BTreeSet<String> {
        let mut own = BTreeSet::new();
        if let Some(kept) = &self.kept {
            own.extend(named(&kept.session));
            own.extend(kept.files.iter().map(|file| file.path.clone()));
        }
        own
    }

    /// Returns whether the model of the session may read a file below the root: a file of the session, or a file that
    /// no session writes. If the root has no cold state, no file belongs to another session.
    pub(super) fn may_show(&self, path: &str) -> bool {
        let is_shared = Path::new(path).starts_with(INTERMEDIATE);
        let is_there = self.is_there().unwrap_or(true);
        is_shared || !is_there || self.own_files().contains(path)
    }

    /// Returns whether the root has cold state. A root that this process may not look into has no answer: sessions may
    /// be there.
    fn is_there(&self) -> Result<bool, ContextError> {
        let path = self.root.join(COLD);
        match path.try_exists() {
            Err(error) if error.kind() != io::ErrorKind::NotADirectory => Err(failed(&path, error)),
            there => Ok(there.unwrap_or(false)),
        }
    }

    /// Makes the missing folders, waits until no other process uses the root, and reads the stored session. Returns
    /// whether there is no stored session.
    fn hold(&mut self) -> Result<bool, ContextError> {
        let named = |at: &&Path| !at.as_os_str().is_empty() && !at.exists();
        let above = self.root.ancestors().take_while(named);
        let new: Vec<_> = above.map(Path::to_owned).collect();
        for folder in [OFFLOADED, CONVERSATIONS, CHECKPOINTS, INTERMEDIATE] {
            let path = self.root.join(folder);
            create_private_folder(&path).map_err(|error| failed(&path, error))?;
        }
        // A new folder survives a power cut only if its parent folder was synced.
        for above in new.iter().filter_map(|folder| folder.parent()) {
            let above = if above.as_os_str().is_empty() {
                Path::new(".")
            } else {
                above
            };
            let synced = self.files.sync(above);
            synced.map_err(|error| failed(above, error))?;
        }
        let path = self.root.join(LOCK);
        let mut options = std::fs::File::options();
        options.create(true).truncate(false).write(true);
        let lock = private(&mut options).open(&path);
        let lock = lock.map_err(|error| failed(&path, error))?;
        lock.lock().map_err(|error| failed(&path, error))?;
        let is_new = !self.is_there()?;
        self.held = Some(LockedRoot {
            cold: Cold::open(&self.root.join(COLD), self.id.clone())?,
            _lock: lock,
        });
        self.settle()?;
        Ok(is_new)
    }

    /// Returns the session, if it has begun.
    pub fn session(&self) -> Option<&ListSession> {
        self.kept.as_ref().map(|kept| &kept.session)
    }

    /// Compresses a list: the whole conversation, or the last returned list with the new messages at its end.
    ///
    /// Before this returns, the new list and all files that it names are on the disk.
    ///
    /// # Errors
    /// When the list breaks the rules of its form, does not belong to the session, or does not fit, and when a file
    /// cannot be written. Then no list is returned. If a step was begun, the next call finishes it, so give the same
    /// list again.
    pub fn compress(
        &mut self,
        list: &MessageList,
        options: &Options<'_>,
        hooks: &mut dyn Hooks,
    ) -> Result<Compressed, ContextError> {
        self.settle()?;
        let fresh = ListSession::new(self.id.clone(), list.form());
        let session = self.session().unwrap_or(&fresh);
        let plan = session.plan(list, options, &self.lookup(), hooks)?;
        // Folders are made only now, so that a refused list leaves none behind.
        if self.held.is_none() && !plan.is_empty() {
            let is_new = self.hold()?;
            if !is_new {
                // Another process has begun to use the root meanwhile, so the list is planned again.
                return self.compress(list, options, hooks);
            }
        }
        self.keep(list.form(), &plan, None, options.now)?;
        for event in &plan.events {
            hooks.after(event);
        }
        Ok(Compressed {
            list: plan.list(list),
            before: plan.before,
            after: plan.after,
            state: plan.state,
            events: plan.events,
            drift: plan.drift,
            advice: plan.advice,
            bound: plan.bound,
        })
    }

    /// Marks a message of the conversation as critical: no summary drops it.
    ///
    /// # Errors
    /// When there is no such message, or cold state cannot be written.
    pub fn mark(&mut self, message: usize, now: OffsetDateTime) -> Result<(), ContextError> {
        self.change_mark(Mark::Set(message), now)
    }

    /// Takes away the mark of a message, so that summaries may drop it. A message without a mark stays as it is.
    ///
    /// # Errors
    /// When there is no such message, or cold state cannot be written.
    pub fn unmark(&mut self, message: usize, now: OffsetDateTime) -> Result<(), ContextError> {
        self.change_mark(Mark::Removed(message), now)
    }

    fn change_mark(&mut self, mark: Mark, now: OffsetDateTime) -> Result<(), ContextError> {
        self.settle()?;
        let session = self.begun()?;
        let of = session.originals.len();
        let (message, is_set) = match mark {
            Mark::Set(message) => (message, true),
            Mark::Removed(message) => (message, false),
        };
        if message >= of {
            return Err(ContextError::NoMessage { message, of });
        }
        if session.marks.contains(&message) == is_set {
            return Ok(());
        }
        let (form, plan) = (session.form, ListPlan::unchanged(session));
        self.keep(form, &plan, Some(mark), now)
    }

    /// Takes a checkpoint of the current list, and returns the number of the checkpoint.
    ///
    /// # Errors
    /// When the session has not begun, or a file cannot be written.
    pub fn checkpoint(&mut self, options: &Options<'_>) -> Result<u64, ContextError> {
        self.on_demand(options, OnDemand::Checkpoint)?;
        Ok(self.begun()?.checkpoints)
    }

    /// Makes the shortest list to continue with: system messages, a summary, and the newest turn. This list becomes
    /// the list of the session, and is returned.
    ///
    /// # Errors
    /// When the session has not begun, the messages marked as critical do not fit, or a file cannot be written.
    pub fn resume(&mut self, options: &Options<'_>) -> Result<MessageList, ContextError> {
        self.on_demand(options, OnDemand::Fresh)?;
        let list = self.begun()?.list();
        list.map_err(|fault| PlanError::Invalid(vec![fault]).into())
    }

    /// Returns the text of a checkpoint: JSON, with the list in `list`.
    ///
    /// # Errors
    /// When there is no such checkpoint, or cold state cannot be read.
    pub fn checkpoint_text(&mut self, number: u64) -> Result<String, ContextError> {
        let path = self.id.checkpoint(number);
        let mut files = self.kept.iter().flat_map(|kept| &kept.files);
        let file = files.rfind(|file| file.path == path).cloned();
        let of = self.begun()?.checkpoints;
        let file = file.ok_or(ContextError::NoCheckpoint { number, of })?;
        let missing = || ContextError::missing(&self.root, &self.id);
        let held = self.held.as_mut().ok_or_else(missing)?;
        Ok(held.cold.file(&file)?)
    }

    fn on_demand(&mut self, options: &Options<'_>, what: OnDemand) -> Result<(), ContextError> {
        self.settle()?;
        let session = self.begun()?;
        let plan = session.plan_on_demand(options, &self.lookup(), what)?;
        let form = session.form;
        self.keep(form, &plan, None, options.now)
    }

    /// Returns the session.
    ///
    /// # Errors
    /// When the session has not begun.
    pub fn begun(&self) -> Result<&ListSession, ContextError> {
        let missing = || ContextError::missing(&self.root, &self.id);
        self.session().ok_or_else(missing)
    }

    fn lookup(&self) -> DiskLookup<'_, F> {
        DiskLookup {
            root: &self.root,
            work: &self.work,
            files: &self.files,
            named: self.named.as_deref(),
        }
    }

    /// Finishes what an earlier call or another process has begun. Cold state says which files must exist.
    fn settle(&mut self) -> Result<(), ContextError> {
        if self.is_settled {
            return Ok(());
        }
        let Some(held) = &mut self.held else {
            // Another process may have begun to use the root after this context was opened. Then
            // this context reads what that process has kept.
            return if self.is_there()? {
                self.hold().map(drop)
            } else {
                Ok(())
            };
        };
        let writer = Writer::new(&self.root, &self.files);
        let unfinished = writer.unfinished()?;
        let last = |kept: &StoredSession, id: &SessionId| {
            let is_unfinished = unfinished.as_ref() == Some(id);
            is_unfinished.then_some(kept.steps.saturating_sub(1))
        };
        // If the unfinished session is another one, it may have chosen names of files that it has
        // not written yet. Its files are written first, so that this session does not choose the
        // same names.
        if let Some(id) = unfinished.as_ref().filter(|id| **id != self.id) {
            let mut cold = Cold::open(&self.root.join(COLD), id.clone())?;
            if let Some(kept) = cold.load()? {
                writer.complete(&mut cold, &kept.files, last(&kept, id))?;
            }
        }
        self.kept = held.cold.load()?;
        if let Some(kept) = &self.kept {
            writer.complete(&mut held.cold, &kept.files, last(kept, &self.id))?;
        }
        writer.end()?;
        self.is_settled = true;
        Ok(())
    }

    /// Keeps a plan: first in cold state, then in files. So after a crash, cold state says which files are not
    /// finished.
    fn keep(
        &mut self,
        form: Form,
        plan: &ListPlan,
        mark: Option<Mark>,
        now: OffsetDateTime,
    ) -> Result<(), ContextError> {
        if plan.is_empty() && mark.is_none() {
            return Ok(());
        }
        let missing = || ContextError::missing(&self.root, &self.id);
        let held = self.held.as_mut().ok_or_else(missing)?;
        let at = now.format(&Rfc3339).unwrap_or_default();
        let writer = Writer::new(&self.root, &self.files);
        for NewFile { path, .. } in &plan.files {
            let mut known = self.kept.iter().flat_map(|kept| &kept.files);
            if !known.any(|known| known.path == *path) && writer.is_taken(path) {
                return Err(ContextError::Taken { path: path.clone() });
            }
        }
        self.is_settled = false;
        if self.kept.is_none() {
            writer.sync_folders()?;
        }
        if !plan.files.is_empty() {
            writer.begin(&self.id)?;
        }
        let cold = &mut held.cold;
        let files = cold.keep(self.kept.as_ref(), form, plan, mark, at)?;
        let kept = self.kept.get_or_insert_with(|| StoredSession {
            session: ListSession::new(self.id.clone(), form),
            steps: 0,
            files: Vec::new(),
        });
        kept.session.apply(plan);
        match mark {
            Some(Mark::Set(message)) => {
                kept.session.marks.insert(message);
            }
            Some(Mark::Removed(message)) => {
                kept.session.marks.remove(&message);
            }
            None => {}
        }
        let last = kept.steps;
        kept.steps += 1;
        kept.files.extend(files.iter().cloned());
        // Before a file gets a new part, all its earlier parts have to be on the disk.
        let grows = |known: &&StoredFile| files.iter().any(|file| file.path == known.path);
        let parts: Vec<_> = kept.files.iter().filter(grows).cloned().collect();
        writer.complete(cold, &parts, Some(last))?;
        if !plan.files.is_empty() {
            writer.end()?;
        }
        self.is_settled = true;
        Ok(())
    }
}
