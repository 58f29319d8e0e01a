//! Loads the vocabulary and the workflows that a command uses.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use accp_aacp::{Limits, Validator, Vocabulary, Workflow, WorkflowError};
use accp_registry::Problems;

use accp_console::outcome::Failure;

/// The most bytes of a file with a vocabulary or a workflow.
const FILE_BYTES: u64 = 16 << 20;

/// The option `--vocabulary`.
#[derive(Debug, clap::Args)]
pub(super) struct VocabularyArgs {
    /// A JSON file with `domains` and `keys` that are known besides those of the draft; may be
    /// repeated
    #[arg(long, value_name = "FILE")]
    pub(super) vocabulary: Vec<PathBuf>,
}

impl VocabularyArgs {
    /// Loads the standard vocabulary with the given files.
    pub(super) fn load(&self) -> Result<Vocabulary, Failure> {
        let mut vocabulary = Vocabulary::standard().clone();
        for path in &self.vocabulary {
            let extended = vocabulary.extended(&path.display().to_string(), &read(path)?);
            vocabulary = extended.map_err(|problems| faulty(&problems))?;
        }
        Ok(vocabulary)
    }
}

/// Returns a validator with the default limits.
pub(super) fn validator(vocabulary: &Vocabulary) -> Validator<'_> {
    Validator {
        vocabulary,
        limits: Limits::DEFAULT,
    }
}

/// Returns the standard workflow of this name, or reads the file of this path.
pub(super) fn workflow(name: &str, vocabulary: &Vocabulary) -> Result<Workflow, Failure> {
    if let Some(workflow) = Workflow::named(name) {
        return Ok(workflow.clone());
    }
    let path = Path::new(name);
    if path.components().count() < 2 && path.extension().is_none() {
        let known = Workflow::standard().iter().map(|known| &known.name[..]);
        let error = WorkflowError::unknown("workflow", name, known);
        return Err(Failure::Misuse(format!(
            "{error}; a file is named with its ending .json"
        )));
    }
    let workflow = Workflow::from_json(name, &read(path)?, vocabulary);
    workflow.map_err(|problems| faulty(&problems))
}

/// Reads a file as text, in bounded memory.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    read_up_to(path, FILE_BYTES)
}

/// Reads a file of at most `most` bytes as text. The function counts the bytes while it reads, because a pipe or a
/// device has no known size.
pub(super) fn read_up_to(path: &Path, most: u64) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(Failure::at(path))?;
    let read = file.take(most + 1).read_to_end(&mut bytes);
    if read.map_err(Failure::at(path))? as u64 > most {
        let path = path.display();
        let message = format!("{path}: the file is longer than {most} bytes; split it");
        return Err(Failure::Input(message));
    }
    String::from_utf8(bytes).map_err(|error| {
        let (path, at) = (path.display(), error.utf8_error().valid_up_to());
        Failure::Input(format!(
            "{path}: byte {at} is not UTF-8; save the file as UTF-8"
        ))
    })
}

pub(super) fn faulty(problems: &Problems) -> Failure {
    Failure::Input(problems.to_string())
}
