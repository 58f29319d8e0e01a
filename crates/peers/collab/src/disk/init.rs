//! Makes a folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::append::now;
use super::{Shared, source, unwritable};
use crate::finding::{Code, Finding};
use crate::folder::{Folder, Scope};
use crate::protocol::{Mode, PROTOCOL_FILE};
use crate::settings::{FolderSettings, NewFile};
use crate::validate::validate;
use accp_store::files::Files;

/// The file with the list of the files to make, with their contents. After an interruption, a later run makes the
/// rest of them.
const BEGUN_FILE: &str = ".acp.begun";

/// A folder that was made.
#[derive(Debug, Clone)]
pub struct Made {
    /// The folder.
    pub folder: Folder,
    /// The files that were made: files in the folder by their names, and deliverables by their references. Empty if
    /// the folder existed before.
    pub files: Vec<String>,
}

impl<F: Files> Shared<F> {
    /// Makes the folder with its files and the event `initialized`. With `is_resumed`, a complete folder
    /// is fine, and a folder that an earlier run began is finished.
    ///
    /// # Errors
    /// Every mistake in the settings; [`Code::Exists`], [`Code::HalfMade`] and [`Code::FileExists`] for existing
    /// files; [`Code::Unwritable`] if the disk fails. Nothing was made then, and no file was changed.
    pub fn init(&self, settings: FolderSettings, is_resumed: bool) -> Result<Made, Vec<Finding>> {
        let settings = settings.trimmed();
        let mut wrong = settings.check();
        let root = match (&settings.mode, &settings.repo_root) {
            (Mode::External, Some(root)) if wrong.iter().all(|one| one.code != Code::RepoRoot) => {
                source::root_of(&self.files, &self.path, root)
                    .map_err(|why| wrong.push(Finding::new(Code::RepoRoot, why)))
                    .ok()
            }
            _ => None,
        };
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let mut work = Work::default();
        let made = work
            .make_folder(&self.path)
            .map_err(|error| vec![unwritable(&self.path, &error)])
            .and_then(|()| self.make(&settings, root, is_resumed, &mut work));
        if made.is_err() {
            work.undo();
        }
        made
    }

    fn make(
        &self,
        settings: &FolderSettings,
        root: Option<PathBuf>,
        is_resumed: bool,
        work: &mut Work,
    ) -> Result<Made, Vec<Finding>> {
        let is_new = work.has_made(&self.path);
        let _held = self.lock()?;
        if is_new {
            work.made.push(self.path.join(".acp.lock"));
        }
        let root = root.unwrap_or_else(|| self.path.clone());
        if fs::symlink_metadata(self.path.join(PROTOCOL_FILE)).is_ok() {
            return self.resume(is_resumed);
        }
        let begun = self.path.join(BEGUN_FILE);
        let earlier = fs::read(&begun).ok();
        let files = match earlier.as_deref().map(files_of) {
            Some(Some(_)) if !is_resumed => {
                let text = "an earlier init was cut before its end; add --resume to finish it";
                return Err(vec![
                    Finding::new(Code::HalfMade, text).within(BEGUN_FILE, None),
                ]);
            }
            Some(Some(files)) => {
                // An earlier run has begun these files, so this run does not remove them if it
                // fails.
                work.is_of_others = true;
                files
            }
            earlier => {
                let files = settings.files(&now());
                refuse_if_there(&files, &self.path, &root)?;
                if earlier.is_some() {
                    // The list is incomplete, so the earlier run made no other file.
                    fs::remove_file(&begun).map_err(|error| vec![unwritable(&begun, &error)])?;
                }
                let text: Json = files.iter().map(NewFile::to_json).collect();
                let text = text.to_string();
                work.write(&begun, text.as_bytes())
                    .map_err(|finding| vec![finding])?;
                sync(&self.path)?;
                files
            }
        };
        for file in files.iter().filter(|file| file.is_deliverable) {
            let path = file.below(&self.path, &root);
            source::refuse_link(&self.files, &root, &path, &file.path)?;
        }
        for file in &files {
            let path = file.below(&self.path, &root);
            if let Some(parent) = path.parent() {
                work.make_folder(parent)
                    .map_err(|error| vec![unwritable(parent, &error)])?;
            }
            let written = if file.path == PROTOCOL_FILE && !file.is_deliverable {
                // A folder counts as made once it has protocol.json, so this file is put in place
                // whole.
                work.made.push(path);
                self.prepare(file.text.as_bytes())
                    .and_then(|()| self.publish())
            } else {
                work.write(&path, file.text.as_bytes())
            };
            written.map_err(|finding| vec![finding])?;
            let path = file.below(&self.path, &root);
            if let Some(parent) = path.parent() {
                sync(parent)?;
            }
        }
        sync(&self.path)?;
        // The folder is complete. If the list remains, a run with --resume removes it.
        let _ = fs::remove_file(&begun);
        let names = files.iter().map(|file| match settings.mode {
            Mode::External if file.is_deliverable => {
                format!("external:{}", settings.primary_file())
            }
            _ => file.path.clone(),
        });
        Ok(Made {
            folder: self.read(Scope::All),
            files: names.collect(),
        })
    }

    /// Checks an existing folder.
    fn resume(&self, is_resumed: bool) -> Result<Made, Vec<Finding>> {
        if !is_resumed {
            let text = "the folder already contains protocol.json; add --resume if you know it, or name another folder";
            return Err(vec![
                Finding::new(Code::Exists, text).within(PROTOCOL_FILE, None),
            ]);
        }
        let folder = self.read(Scope::All);
        let is_missing = |one: &Finding| {
            let codes = [
                Code::FileRequired,
                Code::DeliverableMissing,
                Code::Unreadable,
            ];
            codes.contains(&one.code)
        };
        let mut wrong: Vec<Finding> = validate(&folder).into_iter().filter(is_missing).collect();
        if let (true, Err(findings)) = (wrong.is_empty(), folder.begun()) {
            wrong = findings;
        }
        for one in &mut wrong {
            one.code = Code::HalfMade;
        }
        if wrong.is_empty() {
            let _ = fs::remove_file(self.path.join(BEGUN_FILE));
            let files = Vec::new();
            Ok(Made { folder, files })
        } else {
            Err(wrong)
        }
    }
}

impl NewFile {
    fn below(&self, folder: &Path, root: &Path) -> PathBuf {
        if self.is_deliverable {
            root.join(&self.path)
        } else {
            folder.join(&self.path)
        }
    }

    fn to_json(&self) -> Json {
        json!({ "deliverable": self.is_deliverable, "path": self.path, "text": self.text })
    }
}

/// Refuses if one of the files exists.
fn refuse_if_there(files: &[NewFile], folder: &Path, root: &Path) -> Result<(), Vec<Finding>> {
    let paths = files.iter().map(|file| file.below(folder, root));
    let there = paths.filter(|path| fs::symlink_metadata(path).is_ok());
    let there: Vec<Finding> = there
        .map(|path| {
            let text = "the file is there already, and init overwrites nothing; move it away, or name another folder";
            Finding::new(Code::FileExists, text).within(&path.display().to_string(), None)
        })
        .collect();
    if there.is_empty() { Ok(()) } else { Err(there) }
}

/// Reads the list of an interrupted run; `None` if the list is incomplete. In this case, the run made no other file.
fn files_of(bytes: &[u8]) -> Option<Vec<NewFile>> {
    let json: Json = serde_json::from_slice(bytes).ok()?;
    let files = json.as_array()?.iter().map(|file| {
        let text = |key: &str| file.get(key).and_then(Json::as_str).map(str::to_owned);
        Some(NewFile {
            is_deliverable: file.get("deliverable")?.as_bool()?,
            path: text("path").filter(|path| crate::path::fault(path).is_none())?,
            text: text("text")?,
        })
    });
    files.collect()
}

fn sync(folder: &Path) -> Result<(), Vec<Finding>> {
    let synced = super::Os.sync(folder);
    synced.map_err(|error| vec![unwritable(folder, &error)])
}

/// The files and folders that were made, to remove them after a failure.
#[derive(Default)]
struct Work {
    folders: Vec<PathBuf>,
    made: Vec<PathBuf>,
    is_of_others: bool,
}

impl Work {
    fn make_folder(&mut self, folder: &Path) -> io::Result<()> {
        let new = folder
            .ancestors()
            .take_while(|one| !one.as_os_str().is_empty() && !one.exists());
        let new: Vec<PathBuf> = new.map(Path::to_owned).collect();
        fs::create_dir_all(folder)?;
        self.folders.extend(new.into_iter().rev());
        Ok(())
    }

    fn has_made(&self, folder: &Path) -> bool {
        self.folders.iter().any(|one| one == folder)
    }

    /// Writes a file and syncs it. A file that an earlier run has begun is finished; any other file stays as it is.
    fn write(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Finding> {
        let of = |error| unwritable(path, &error);
        match super::Os.create(path, bytes) {
            Ok(()) => self.made.push(path.to_owned()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && self.is_of_others => {
                let found = fs::read(path).map_err(of)?;
                if found == bytes || !bytes.starts_with(&found) {
                    return Ok(());
                }
                super::Os.write(path, bytes).map_err(of)?;
            }
            Err(error) => {
                if error.kind() != io::ErrorKind::AlreadyExists {
                    self.made.push(path.to_owned());
                }
                return Err(of(error));
            }
        }
        super::Os.sync(path).map_err(of)
    }

    fn undo(&self) {
        if self.is_of_others {
            return;
        }
        for path in self.made.iter().rev() {
            let _ = fs::remove_file(path);
        }
        for folder in self.folders.iter().rev() {
            // A folder that has other files stays, because it cannot be removed.
            let _ = fs::remove_dir(folder);
        }
    }
}
