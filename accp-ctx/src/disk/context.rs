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
use crate::event::Event;
use crate::form::Form;
use crate::hooks::Hooks;
use crate::list::MessageList;
use crate::names::{CHECKPOINTS, CONVERSATIONS, INTERMEDIATE, OFFLOADED, SessionId};
use crate::plan::{Means, Plan, PlanError, World};
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
        let session = self.kept.as_ref().map_or(&fresh, |kept| &kept.session);
        let here = Here {
            root: &self.root,
            work: options.work,
            files: &self.files,
        };
        let means = Means {
            window: options.window,
            counter: options.counter,
            writes: options.writes,
            world: &here,
            summarizer: options.summarizer,
            force: options.force,
            now: options.now,
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
            advice: plan.advice,
        })
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
