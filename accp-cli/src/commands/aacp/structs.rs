//! `accp generate --aacp`: generates Rust from workflows.

use std::fs;
use std::path::Path;

use accp_aacp::{Vocabulary, Workflow};
use accp_build::{Error, WorkflowOptions, generate_workflows};

use crate::outcome::Failure;

/// Returns the Rust source of the workflow in a file, or of those of the draft.
pub(in crate::commands) fn rust(
    path: Option<&Path>,
    runtime: Option<&str>,
    owned: bool,
) -> Result<String, Failure> {
    let mut options = WorkflowOptions {
        owned,
        ..WorkflowOptions::default()
    };
    if let Some(runtime) = runtime {
        runtime.clone_into(&mut options.runtime);
    }
    let named;
    let workflows = match path {
        Some(path) => {
            let text = fs::read_to_string(path).map_err(Failure::at(path))?;
            let file = path.display().to_string();
            let workflow = Workflow::from_json(&file, &text, Vocabulary::standard());
            named = workflow.map_err(|problems| Failure::Input(problems.to_string()))?;
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
