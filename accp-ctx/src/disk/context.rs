//! A session below its root: the list that a program gives goes in, and the list for the model comes out.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use accp_frame::TokenCounter;
use accp_registry::Hash;
use accp_store::files::{Files, Os};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::cold::{Cold, ColdError, Kept, KeptFile};
use crate::drift::DriftEvent;
use crate::event::Event;
use crate::form::Form;
use crate::hooks::Hooks;
use crate::list::MessageList;
use crate::names::{CHECKPOINTS, CONVERSATIONS, INTERMEDIATE, OFFLOADED, SessionId};
use crate::plan::{Apart, Means, Plan, PlanError, World};
use crate::session::Session;
use crate::summary::Summarizer;
use crate::window::{State, Window};
use crate::writes::Writes;

/// The file with cold state, below the root.
const COLD: &str = "cache/cold.accp";
/// The file that processes lock, below the root.
const LOCK: &str = "cache/.lock";

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// The list, the session or the window does not allow one.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Cold state cannot be read or written.
    #[error(transparent)]
    Cold(#[from] ColdError),
    /// A file cannot be read or written.
    #[error("{path}: {source}; the list is as it was, {cure}")]
    Files {
        /// The path.
        path: String,
        /// What can be done.
        cure: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// A file is not what was written.
    #[error(
        "{path}: the file is not what was written there (its SHA-256 differs); take it back from a copy, or remove it, \
         and it is written again"
    )]
    Changed {
        /// The path below the root.
        path: String,
    },
    /// The conversation has no such message.
    #[error(
        "there is no message {message}; the conversation has {of}, and the first has the index 0"
    )]
    NoMessage {
        /// The index that was asked for.
        message: usize,
        /// How many messages there are.
        of: usize,
    },
    /// The session has no such checkpoint.
    #[error("there is no checkpoint {number}; the session has {of}, from 1 on")]
    NoCheckpoint {
        /// The number that was asked for.
        number: u64,
        /// How many there are.
        of: u64,
    },
    /// The session is not there.
    #[error(
        "there is no session {id} below {root}; `accp context compress --session {id}` begins one"
    )]
    NoSession {
        /// The id.
        id: String,
        /// The root.
        root: String,
    },
}

/// How a list is compressed.
pub struct Options<'o> {
    /// The window of the model.
    pub window: &'o Window,
    /// Counts tokens.
    pub counter: &'o dyn TokenCounter,
    /// The tools that write files.
    pub writes: &'o Writes,
    /// Sums up what leaves.
    pub summarizer: &'o dyn Summarizer,
    /// Where relative paths of written files begin.
    pub work: &'o Path,
    /// Whether tiers 1 and 2 act under their limit too.
    pub force: bool,
    /// The time, in the zone that logs have.
    pub now: OffsetDateTime,
}

impl<'o> Options<'o> {
    fn means<'m>(&'m self, world: &'m dyn World) -> Means<'m>
    where
        'o: 'm,
    {
        Means {
            window: self.window,
            counter: self.counter,
            writes: self.writes,
            world,
            summarizer: self.summarizer,
            force: self.force,
            now: self.now,
        }
    }
}

/// A list that fits its window, and what was done for that.
#[derive(Debug, Clone)]
pub struct Compressed {
    /// The list.
    pub list: MessageList,
    /// Tokens of the list that was given.
    pub before: u64,
    /// Tokens of this list.
    pub after: u64,
    /// How full the window was.
    pub state: State,
    /// The tiers that acted.
    pub events: Vec<Event>,
    /// Signs that the model has lost its task, in what it has said since the last list.
    pub drift: Vec<DriftEvent>,
    /// What the caller should do, if anything.
    pub advice: Option<String>,
}

/// A session below its root.
#[derive(Debug)]
pub struct Context<F = Os> {
    root: PathBuf,
    id: SessionId,
    files: F,
    cold: Cold,
    kept: Option<Kept>,
    /// Held as long as this is there.
    _lock: Option<std::fs::File>,
}

impl Context<Os> {
    /// Opens a session below a root, and makes the folders that are not there. One process at a time has a root.
    ///
    /// # Errors
    /// When the root cannot be read or written, or what stands there is damaged.
    pub fn open(root: impl Into<PathBuf>, id: SessionId) -> Result<Self, ContextError> {
        let root = root.into();
        for folder in [OFFLOADED, CONVERSATIONS, CHECKPOINTS, INTERMEDIATE] {
            let path = root.join(folder);
            std::fs::create_dir_all(&path).map_err(|error| failed(&path, error))?;
        }
        let path = root.join(LOCK);
        let lock = std::fs::File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| failed(&path, error))?;
        lock.lock().map_err(|error| failed(&path, error))?;
        Self::with_files(root, id, Os, Some(lock))
    }
}

impl<F: Files> Context<F> {
    fn with_files(
        root: PathBuf,
        id: SessionId,
        files: F,
        lock: Option<std::fs::File>,
    ) -> Result<Self, ContextError> {
        let mut cold = Cold::open(&root.join(COLD), id.clone())?;
        let kept = cold.load()?;
        let mut context = Self {
            root,
            id,
            files,
            cold,
            kept,
            _lock: lock,
        };
        let files = context.kept.as_ref().map(|kept| kept.files.clone());
        context.complete(&files.unwrap_or_default())?;
        Ok(context)
    }

    /// Returns the session, if it has begun.
    pub fn session(&self) -> Option<&Session> {
        self.kept.as_ref().map(|kept| &kept.session)
    }

    /// Compresses a list: the conversation as it grew, or the last list with what was said since.
    ///
    /// The list that comes back is kept, with all files that it names, before this returns.
    ///
    /// # Errors
    /// When the list breaks the rules of its form, does not belong to the session, or does not fit, and when a file
    /// cannot be written. No list comes back then, and the session is as it was.
    pub fn compress(
        &mut self,
        list: &MessageList,
        options: &Options<'_>,
        hooks: &mut dyn Hooks,
    ) -> Result<Compressed, ContextError> {
        let fresh = Session::new(self.id.clone(), list.form());
        let session = self.session().unwrap_or(&fresh);
        let here = self.here(options);
        // The schemas of the request say which tools write.
        let writes = options.writes.clone().with_schemas(list.tools());
        let means = Means {
            writes: &writes,
            ..options.means(&here)
        };
        let plan = session.plan(list, &means, hooks)?;
        self.keep(list.form(), &plan, Vec::new(), options.now)?;
        for event in &plan.events {
            hooks.after(event);
        }
        let messages = plan.slots.into_iter().map(|slot| slot.message).collect();
        Ok(Compressed {
            list: list.with(messages),
            before: plan.before,
            after: plan.after,
            state: plan.state,
            events: plan.events,
            drift: plan.drift,
            advice: plan.advice,
        })
    }

    /// Marks a message of the conversation as critical: no summary drops it.
    ///
    /// # Errors
    /// When there is no such message, or cold state cannot be written.
    pub fn mark(&mut self, message: usize, now: OffsetDateTime) -> Result<(), ContextError> {
        let session = self.begun()?;
        let of = session.originals.len();
        if message >= of {
            return Err(ContextError::NoMessage { message, of });
        }
        if session.marks.contains(&message) {
            return Ok(());
        }
        let (form, plan) = (session.form, Plan::unchanged(session));
        self.keep(form, &plan, vec![message], now)
    }

    /// Takes a checkpoint of the list as it stands, and returns its number.
    ///
    /// # Errors
    /// When the session has not begun, or a file cannot be written.
    pub fn checkpoint(&mut self, options: &Options<'_>) -> Result<u64, ContextError> {
        self.apart(options, Apart::Checkpoint)?;
        Ok(self.begun()?.checkpoints)
    }

    /// Returns the shortest list to go on with, and makes it the list of the session: system messages, a summary,
    /// and the newest turn.
    ///
    /// # Errors
    /// When the session has not begun, what is marked as critical does not fit, or a file cannot be written.
    pub fn resume(&mut self, options: &Options<'_>) -> Result<MessageList, ContextError> {
        self.apart(options, Apart::Fresh)?;
        let session = self.begun()?;
        let list = MessageList::of(
            session.form,
            session.slots.iter().map(|slot| slot.message.raw()),
        );
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
        Ok(self.cold.file(&file)?)
    }

    fn apart(&mut self, options: &Options<'_>, apart: Apart) -> Result<(), ContextError> {
        let session = self.begun()?;
        let here = self.here(options);
        let plan = session.plan_apart(&options.means(&here), apart)?;
        let form = session.form;
        self.keep(form, &plan, Vec::new(), options.now)
    }

    /// Returns the session.
    ///
    /// # Errors
    /// When it has not begun.
    pub fn begun(&self) -> Result<&Session, ContextError> {
        self.session().ok_or_else(|| ContextError::NoSession {
            id: self.id.as_str().to_owned(),
            root: self.root.display().to_string(),
        })
    }

    fn here<'h>(&'h self, options: &Options<'h>) -> Here<'h, F> {
        Here {
            root: &self.root,
            work: options.work,
            files: &self.files,
        }
    }

    /// Keeps a plan: cold first, then the files, so that what a crash leaves undone is known.
    fn keep(
        &mut self,
        form: Form,
        plan: &Plan,
        marks: Vec<usize>,
        now: OffsetDateTime,
    ) -> Result<(), ContextError> {
        if plan.is_empty() && marks.is_empty() {
            return Ok(());
        }
        let at = now.format(&Rfc3339).unwrap_or_default();
        let files = self
            .cold
            .keep(self.kept.as_ref(), form, plan, marks.clone(), at)?;
        let kept = self.kept.get_or_insert_with(|| Kept {
            session: Session::new(self.id.clone(), form),
            steps: 0,
            files: Vec::new(),
        });
        kept.session.apply(plan);
        kept.session.marks.extend(marks);
        kept.steps += 1;
        kept.files.extend(files.iter().cloned());
        // A file that grew before has to be there up to where it grows from.
        let grows = |known: &&KeptFile| files.iter().any(|file| file.path == known.path);
        let parts: Vec<_> = kept.files.iter().filter(grows).cloned().collect();
        self.complete(&parts)
    }

    /// Writes what is missing of files. A crash may have left them undone, or somebody removed one.
    fn complete(&mut self, files: &[KeptFile]) -> Result<(), ContextError> {
        let mut parts: BTreeMap<&str, Vec<&KeptFile>> = BTreeMap::new();
        for file in files {
            parts.entry(&file.path).or_default().push(file);
        }
        parts
            .into_iter()
            .try_for_each(|(path, parts)| self.write(path, &parts))
    }

    /// Writes what is missing of a file. Its parts follow each other.
    fn write(&mut self, name: &str, parts: &[&KeptFile]) -> Result<(), ContextError> {
        let path = self.root.join(name);
        let there = match self.files.read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(failed(&path, error)),
        };
        let changed = || ContextError::Changed {
            path: name.to_owned(),
        };
        let mut missing = Vec::new();
        for part in parts {
            let range = usize::try_from(part.from)
                .and_then(|from| Ok(from..from + usize::try_from(part.bytes)?));
            let range = range.map_err(|_| changed())?;
            match there.get(range.clone()) {
                Some(bytes) if Hash::of(bytes) == part.digest => {}
                Some(_) => return Err(changed()),
                None => {
                    let text = self.cold.file(part)?;
                    // A part of the text may be there, from a write that did not end.
                    let begun = there.get(range.start..).unwrap_or_default();
                    let rest = text.as_bytes().strip_prefix(begun).ok_or_else(changed)?;
                    if there.len() + missing.len() != range.start + begun.len() {
                        return Err(changed());
                    }
                    missing.extend_from_slice(rest);
                }
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let done = self
            .files
            .append(&path, &missing)
            .and_then(|()| self.files.sync(&path));
        done.map_err(|error| failed(&path, error))?;
        if there.is_empty() {
            let folder = path.parent().unwrap_or(&self.root);
            self.files
                .sync(folder)
                .map_err(|error| failed(folder, error))?;
        }
        Ok(())
    }
}

fn failed(path: &Path, source: io::Error) -> ContextError {
    let cure = match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room, and give it again",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "give a root that this program may write (`--root`), and give it again"
        }
        _ => "give it again when the cause is gone",
    };
    ContextError::Files {
        path: path.display().to_string(),
        cure,
        source,
    }
}

/// The files around a list.
struct Here<'h, F> {
    root: &'h Path,
    work: &'h Path,
    files: &'h F,
}

impl<F: Files> World for Here<'_, F> {
    fn is_taken(&self, path: &str) -> bool {
        !matches!(self.files.resolve(&self.root.join(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound)
    }

    fn written(&self, path: &str) -> Option<String> {
        String::from_utf8(self.files.read(&self.work.join(path)).ok()?).ok()
    }
}
