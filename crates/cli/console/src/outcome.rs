//! The end of a command, and its exit code.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use accp_store::{DriverError, StoreError, StoreErrorKind};

/// The result of every command.
pub type Outcome = Result<Verdict, Failure>;

/// The result of a command that has read its whole input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Exit code 0.
    Fine,
    /// Exit code 1: the input has faults. The command has reported the place and the cure of each.
    AtFault,
    /// Exit code 2: the input was refused or the command failed. The command has reported each reason. Only
    /// `accp collab` returns this, because its exit code 1 has another meaning.
    Refused,
}

/// The reason why a command stopped. `main` reports it.
#[derive(Debug)]
pub enum Failure {
    /// The input has a fault. The text names its place and the cure. Exit code 1.
    Input(String),
    /// The arguments do not fit together, or do not fit the input. Exit code 2.
    Misuse(String),
    /// Reading or writing failed at the file or stream of this name. Exit code 2.
    Io(String, io::Error),
}

impl Verdict {
    /// Returns [`Verdict::AtFault`] if there are faults.
    pub fn of(faults: u64) -> Self {
        if faults == 0 {
            Self::Fine
        } else {
            Self::AtFault
        }
    }
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Fine => ExitCode::SUCCESS,
            Verdict::AtFault => ExitCode::from(1),
            Verdict::Refused => ExitCode::from(2),
        }
    }
}

impl Failure {
    /// Makes the failure for an error of `path`, for `map_err`.
    pub fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let name = path.display().to_string().replace('\n', "\\n");
        move |error| Self::Io(name, error)
    }

    /// Returns whether the reader of our output has closed it, which is not a failure of the
    /// command.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io(_, error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns the exit code of a command that stops for this reason.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Input(_) => ExitCode::from(1),
            Self::Misuse(_) | Self::Io(..) => ExitCode::from(2),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(message) | Self::Misuse(message) => f.write_str(message),
            Self::Io(name, error) if error.kind() == io::ErrorKind::FileTooLarge => {
                write!(
                    f,
                    "{name}: {error}; raise the limit for files (`ulimit -f`)"
                )
            }
            Self::Io(name, error) => write!(f, "{name}: {error}"),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let text = error.to_string();
        match error.kind() {
            // These errors are faults of the file. The other errors are faults in the way the command was called.
            StoreErrorKind::Corrupt
            | StoreErrorKind::Version
            | StoreErrorKind::Foreign
            | StoreErrorKind::Unfinished => Self::Input(text),
            _ => Self::Misuse(text),
        }
    }
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::Store(error) => error.into(),
            error => Self::Input(error.to_string()),
        }
    }
}
