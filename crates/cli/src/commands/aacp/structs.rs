//! `accp generate --aacp`: generates Rust from workflows.

use std::path::{Path, PathBuf};

use accp_aacp::Workflow;
use accp_build::{Error, WorkflowOptions, generate_workflows};

use super::vocabulary::{VocabularyArgs, faulty, read};
use accp_console::outcome::Failure;

/// Returns the Rust source for the workflow in a file, or for the standard workflows.
pub(in crate::commands) fn rust(
    path: Option<&Path>,
    vocabulary: &[PathBuf],
    runtime: Option<&str>,
    owned: bool,
) -> Result<String, Failure> {
    let files = vocabulary.iter().map(|path| path.display().to_string());
    let words = VocabularyArgs {
        vocabulary: vocabulary.to_vec(),
    };
    let mut options = WorkflowOptions {
        owned,
        vocabulary: words.load()?,
        vocabulary_files: files.collect(),
        ..WorkflowOptions::default()
    };
    if let Some(runtime) = runtime {
        runtime.clone_into(&mut options.runtime);
    }
    let named;
    let workflows = match path {
        Some(path) => {
            let file = path.display().to_string();
            let workflow = Workflow::from_json(&file, &read(path)?, &options.vocabulary);
            named = workflow.map_err(|problems| faulty(&problems))?;
            options.file = Some(file);
            std::slice::from_ref(&named)
        }
        None => Workflow::standard(),
    };
    generate_workflows(workflows, &options).map_err(|error| match error {
        Error::Workflows(_) => Failure::Input(error.to_string()),
        _ => Failure::Misuse(error.to_string()),
    })
}
