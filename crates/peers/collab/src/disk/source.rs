//! Reads a folder from its files, and never leaves it.

use std::io;
use std::path::{Component, Path, PathBuf};

use super::unwritable;
use crate::finding::{Code, Finding};
use crate::folder::{Content, RootedPath, Source};
use accp_store::files::Files;

const LEADS_OUT: &str =
    "the file is a link that leads out of its folder; put the file itself there";

/// The files of a folder.
pub(super) struct OfFolder<'f, F> {
    files: &'f F,
    folder: &'f Path,
}

impl<'f, F: Files> OfFolder<'f, F> {
    pub(super) fn new(files: &'f F, folder: &'f Path) -> Self {
        Self { files, folder }
    }

    /// Returns the full path, if it is below its root.
    fn locate(&self, path: RootedPath<'_>) -> Result<PathBuf, Content> {
        let root = path
            .root
            .map_or_else(|| self.folder.to_owned(), |root| self.folder.join(root));
        let resolve = |path: &Path| self.files.resolve(path).map_err(|error| refused(&error));
        let root = resolve(&root)?;
        let path = resolve(&root.join(path.path))?;
        if path.starts_with(&root) {
            Ok(path)
        } else {
            Err(Content::Refused(Code::PathEscape, LEADS_OUT.to_owned()))
        }
    }
}

impl<F: Files> Source for OfFolder<'_, F> {
    fn read(&mut self, path: RootedPath<'_>) -> Content {
        let path = match self.locate(path) {
            Ok(path) => path,
            Err(content) => return content,
        };
        match self.files.read(&path) {
            Ok(bytes) => Content::Bytes(bytes),
            Err(error) => refused(&error),
        }
    }

    fn look(&mut self, path: RootedPath<'_>) -> Content {
        self.locate(path).err().unwrap_or(Content::Present)
    }

    fn check_root(&mut self, root: &str) -> Result<(), String> {
        root_of(self.files, self.folder, root).map(|_| ())
    }
}

/// Returns the repository that is the root of the deliverables; the folder need not exist yet.
pub(super) fn root_of(files: &impl Files, folder: &Path, root: &str) -> Result<PathBuf, String> {
    let no = |why: &str| {
        format!(
            "`repoRoot` ({root}) {why}; write the path from the folder to the repository, such as ../.."
        )
    };
    let folder =
        existing(files, folder).map_err(|error| no(&format!("cannot be followed ({error})")))?;
    let mut path = folder.clone();
    for part in Path::new(root).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::Normal(part) => path.push(part),
            _ => {}
        }
    }
    let path = files.resolve(&path).map_err(|_| no("is not there"))?;
    if path.parent().is_none() {
        Err(no("is the root of the file system"))
    } else if !folder.starts_with(&path) {
        Err(no("does not hold the folder"))
    } else {
        Ok(path)
    }
}

/// Refuses a path that a link leads out of its root, even if only its directories exist.
pub(super) fn refuse_link(
    files: &impl Files,
    root: &Path,
    path: &Path,
    name: &str,
) -> Result<(), Vec<Finding>> {
    let of = |error: io::Error| vec![unwritable(path, &error)];
    let root = existing(files, root).map_err(of)?;
    if existing(files, path).map_err(of)?.starts_with(&root) {
        return Ok(());
    }
    let finding = Finding::new(Code::PathEscape, LEADS_OUT);
    Err(vec![finding.within(name, None)])
}

/// Resolves a path whose last parts need not exist.
fn existing(files: &impl Files, path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let mut rest = Vec::new();
    let mut head = path.as_path();
    loop {
        match (files.resolve(head), head.parent(), head.file_name()) {
            (Ok(mut found), ..) => {
                found.extend(rest.iter().rev());
                return Ok(found);
            }
            (Err(error), Some(parent), Some(name)) if error.kind() == io::ErrorKind::NotFound => {
                rest.push(name);
                head = parent;
            }
            (Err(error), ..) => return Err(error),
        }
    }
}

/// Turns an error of reading into content: nothing is there, or the file is refused with a reason.
fn refused(error: &io::Error) -> Content {
    let why = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => return Content::Absent,
        io::ErrorKind::FileTooLarge => "it has more than 64 MiB; make it shorter".to_owned(),
        io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput => {
            format!("{error}; put a file there")
        }
        io::ErrorKind::PermissionDenied => {
            format!("it cannot be read ({error}); give this user the right to read it")
        }
        _ => format!("it cannot be read ({error}); mend it, or restore it from a copy"),
    };
    Content::Refused(Code::Unreadable, why)
}
