//! The error for names and values that do not fit a workflow.

use std::fmt;

use accp_registry::nearest;

use crate::error::WriteError;
use crate::finding::Code;

/// The error for a call of a workflow that makes no packet. It says what is wrong and what helps, and never holds a
/// value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowError(Box<Fault>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Fault {
    Unknown {
        what: &'static str,
        name: String,
        known: Vec<String>,
    },
    Repeated(String),
    Missing(Vec<String>),
    Value(String, String),
    Write(WriteError),
}

impl WorkflowError {
    /// Makes the error for an unknown name. `what` is the noun: `workflow`, `hop` or `parameter`.
    pub fn unknown<'k>(
        what: &'static str,
        name: &str,
        known: impl Iterator<Item = &'k str>,
    ) -> Self {
        let shown = name.chars().take(64).flat_map(char::escape_default);
        Self(Box::new(Fault::Unknown {
            what,
            name: shown.collect(),
            known: known.map(str::to_owned).collect(),
        }))
    }

    /// Returns whether a value is at fault, and not the name of something.
    pub fn is_value(&self) -> bool {
        matches!(&*self.0, Fault::Value(..) | Fault::Write(_))
    }

    /// Returns a code for programs.
    pub fn code(&self) -> &'static str {
        match &*self.0 {
            Fault::Unknown { .. } => "name-unknown",
            Fault::Repeated(_) => "name-repeated",
            Fault::Missing(_) => "value-missing",
            Fault::Write(error) => error.code().map_or("value-invalid", Code::as_str),
            Fault::Value(..) => "value-invalid",
        }
    }

    /// Returns the name of the workflow, hop, parameter or field that the error is about.
    pub fn name(&self) -> Option<&str> {
        match &*self.0 {
            Fault::Unknown { name, .. } | Fault::Repeated(name) | Fault::Value(name, _) => {
                Some(name)
            }
            Fault::Write(error) => error.name(),
            Fault::Missing(names) => names.first().map(String::as_str),
        }
    }

    pub(super) fn repeated(name: &str) -> Self {
        Self(Box::new(Fault::Repeated(name.to_owned())))
    }

    pub(super) fn missing(names: Vec<String>) -> Self {
        Self(Box::new(Fault::Missing(names)))
    }

    pub(super) fn value(name: &str, fault: impl Into<String>) -> Self {
        Self(Box::new(Fault::Value(name.to_owned(), fault.into())))
    }
}

impl From<WriteError> for WorkflowError {
    fn from(error: WriteError) -> Self {
        Self(Box::new(Fault::Write(error)))
    }
}

impl fmt::Display for WorkflowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Fault::Unknown { what, name, known } => {
                write!(f, "`{name}` is not a {what} here")?;
                if let Some(near) = nearest(name, known.iter().map(String::as_str)) {
                    write!(f, "; did you mean `{near}`?")?;
                }
                write!(f, "; the {what}s are {}", known.join(", "))
            }
            Fault::Repeated(name) => {
                write!(
                    f,
                    "`{name}` is given twice; a list is one value with commas"
                )
            }
            Fault::Missing(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                write!(f, "no value for {}; give one for each", names.join(", "))
            }
            Fault::Value(name, fault) => write!(f, "`{name}`: {fault}"),
            Fault::Write(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for WorkflowError {}
