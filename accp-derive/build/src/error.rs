//! The errors of this crate, each with its place and its cure.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use accp_registry::{Position, Problems, registry_place};

/// The reason why nothing was generated, or nothing was written.
///
/// `Debug` shows the same text as `Display`, because Cargo prints `Debug` when the `main` of a
/// build script returns the error.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Mistakes in the registry, each with file and line.
    #[error("the registry has mistakes:\n{0}")]
    Registry(#[from] Problems),
    /// Some names of the registry give no Rust name, or the same Rust name.
    #[error("the registry gives no clear Rust names:\n{}", Lines(.0))]
    Names(Vec<NameFault>),
    /// Some names of workflows give no Rust name, or the same Rust name.
    #[error("the workflows give no clear Rust names:\n{}", Lines(.0))]
    Workflows(Vec<NameFault>),
    /// Some texts of the user are not attributes or types, or their paths name no type or field.
    #[error("the added attributes and types cannot be used:\n{}", Lines(.0))]
    Attributes(Vec<AttributeFault>),
    /// Neither a registry nor the standard profiles were asked for.
    #[error("there is nothing to generate; name a registry, or ask for the standard profiles")]
    NoRegistry,
    /// The path of the registry is not UTF-8, or holds a control character or a backtick.
    #[error("the path {0:?} cannot stand in a source file; call the registry something else")]
    Path(PathBuf),
    /// The path of the runtime is not a Rust path.
    #[error("`{0}` is not the path of a crate or a module; expected one like `accp_runtime`")]
    Runtime(String),
    /// The name of the enum over all frames is not a Rust name.
    #[error("`{0}` is not the name of a type; expected one like `AnyFrame`")]
    AnyFrame(String),
    /// A generated file cannot be a module of the file that includes it.
    #[error("{file:?} cannot be a module: {message}")]
    Module {
        /// The file.
        file: PathBuf,
        /// The fault, and the way to correct it.
        message: String,
    },
    /// There is no folder to write to.
    #[error(
        "OUT_DIR is not set; call `compile` from a build script, or name a folder by `out_dir`"
    )]
    NoOutDir,
    /// The file cannot be written; an existing file is unchanged.
    #[error("{} cannot be written: {source}; nothing was changed", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The generated text is not Rust, which is a bug of this crate.
    #[error("the generated text is not Rust ({0}); please report this with the registry")]
    Syntax(#[from] syn::Error),
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A name of the registry that gives no Rust name, or the same Rust name as another name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{} at {pointer}: {message}\n    {cure}", .file.as_deref().unwrap_or("registry"), Place(.position))]
#[non_exhaustive]
pub struct NameFault {
    /// The file, if the registry was read from files.
    pub file: Option<String>,
    /// The place in the file.
    pub position: Option<Position>,
    /// The JSON pointer (RFC 6901) of the name.
    pub pointer: String,
    /// The fault of the name.
    pub message: String,
    /// The way to correct the fault.
    pub cure: String,
}

impl NameFault {
    /// Adds the place in the files of the registry at this path.
    pub(crate) fn place(&mut self, registry: &Path) {
        if let Some((file, position)) = registry_place(registry, &self.pointer) {
            self.file = Some(file.display().to_string());
            self.position = Some(position);
        }
    }
}

/// Writes a place as `:line:column`, and nothing if there is no place.
struct Place<'p>(&'p Option<Position>);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(Position { line, column }) => write!(f, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

/// A text of the user that is not an attribute or a type, or whose path names nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`: {message}\n    {cure}")]
#[non_exhaustive]
pub struct AttributeFault {
    /// The path that the user gave for the attribute or the type.
    pub path: String,
    /// The fault.
    pub message: String,
    /// The way to correct the fault.
    pub cure: String,
}

/// Writes each fault on its own line.
struct Lines<'f, T>(&'f [T]);

impl<T: fmt::Display> fmt::Display for Lines<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            let line = if index == 0 { "" } else { "\n" };
            write!(f, "{line}{fault}")?;
        }
        Ok(())
    }
}
