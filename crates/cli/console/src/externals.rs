//! The side file of frames: the values that are sent by reference (`--externals`).

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use accp_recordings::{SideFile, SideFileError, Values};

use crate::outcome::Failure;
use crate::output::{NewFile, PRIVATE};

/// Returns the default path of the side file for a file of frames.
pub fn path_for(frames: &Path) -> PathBuf {
    let mut name = frames.as_os_str().to_owned();
    name.push(".externals.jsonl");
    name.into()
}

/// A new side file. It appears at its path, or replaces an old file there, only at [`finish`](Self::finish).
#[derive(Debug)]
pub struct ExternalsFile {
    path: PathBuf,
    /// The values that were written so far.
    pub file: SideFile<NewFile>,
}

impl ExternalsFile {
    /// Starts a side file at `path`, which is not `-`: values do not go to stdout.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            let text =
                "the values of references need a file of their own, and `-` is none: name a file";
            return Err(Failure::Misuse(text.to_owned()));
        }
        let file = NewFile::create(path, PRIVATE).map_err(Failure::at(path))?;
        Ok(Self {
            path: path.to_owned(),
            file: SideFile::new(file),
        })
    }

    /// Returns the I/O error of the file, if a value was refused because of such an error.
    pub fn failed(&mut self) -> Result<(), Failure> {
        self.file.failed().map_err(Failure::at(&self.path))
    }

    /// Completes the file and moves it to its path.
    pub fn finish(self) -> Result<(), Failure> {
        let finished = self.file.finish().and_then(NewFile::finish);
        finished.map_err(Failure::at(&self.path))
    }
}

/// Reads a side file, and checks every value against its digest.
pub fn load(path: &Path) -> Result<Values, Failure> {
    let file = File::open(path).map_err(Failure::at(path))?;
    let name = path.display().to_string();
    Values::read(&name, BufReader::new(file)).map_err(|error| match error {
        SideFileError::Io(error) => Failure::at(path)(error),
        error => Failure::Input(format!("{name}:{error}")),
    })
}
