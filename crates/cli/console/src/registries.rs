//! The registries that a command loads: those of its option `--registry`, and the standard profiles.

use std::fs;
use std::path::{Path, PathBuf};

use accp_registry::{Problem, Problems, Registry, registry_place};

use crate::outcome::Failure;
use crate::output;

/// The option `--registry`.
#[derive(Debug, clap::Args)]
pub struct RegistryArgs {
    /// A registry file or folder, in addition to the standard profiles; may be repeated
    #[arg(long, value_name = "PATH")]
    registry: Vec<PathBuf>,
}

impl RegistryArgs {
    /// Returns whether a registry was named.
    pub fn is_given(&self) -> bool {
        !self.registry.is_empty()
    }

    /// Loads the schemas of all given registries, and the standard profiles that these registries do not replace.
    /// Prints a note for each profile that they replace.
    pub fn load(&self) -> Result<Registry, Failure> {
        let registry = merged(&self.registry)?;
        note_replaced(registry.replaced());
        Ok(registry.with_profiles())
    }
}

/// Prints a note for each standard profile that a registry replaces.
pub fn note_replaced(replaced: Vec<String>) {
    for text in replaced {
        output::note(format_args!("note: {text}"));
    }
}

/// Loads the schemas of all these registries.
pub fn merged(paths: &[PathBuf]) -> Result<Registry, Failure> {
    let mut registry: Option<Registry> = None;
    for (index, path) in paths.iter().enumerate() {
        let next = load_valid(path)?;
        match &mut registry {
            Some(registry) => registry.merge(next).map_err(|clashes| {
                let clashes = placed(&paths[..=index], clashes);
                let clashes: Vec<String> = clashes.iter().map(Problem::to_string).collect();
                let path = path.display();
                Failure::Input(format!(
                    "{path} does not fit the registries before it\n{}",
                    clashes.join("\n")
                ))
            })?,
            none => *none = Some(next),
        }
    }
    Ok(registry.unwrap_or_default())
}

/// Gives the problems of registries that do not fit together their files and places. Each is looked for in the
/// registry at the last path first, because this one does not fit the registries before it.
pub fn placed(paths: &[PathBuf], clashes: Problems) -> Vec<Problem> {
    let place = |mut problem: Problem| {
        let mut paths = paths.iter().rev();
        if let Some((file, position)) =
            paths.find_map(|path| registry_place(path, &problem.pointer))
        {
            problem.file = Some(file.display().to_string());
            problem.position = Some(position);
        }
        problem
    };
    clashes.into_iter().map(place).collect()
}

/// Loads the registry at `path`, which must have no problems.
pub fn load_valid(path: &Path) -> Result<Registry, Failure> {
    load(path)?.map_err(|problems| failure(&problems))
}

/// Loads the registry at `path`, or returns its problems. A path that cannot be read is a failure.
pub fn load(path: &Path) -> Result<Result<Registry, Problems>, Failure> {
    check_readable(path)?;
    Ok(Registry::load(path))
}

/// Checks that the file or folder at `path` can be read.
pub fn check_readable(path: &Path) -> Result<(), Failure> {
    let found = fs::metadata(path).map_err(Failure::at(path))?;
    let opened = if found.is_dir() {
        fs::read_dir(path).map(drop)
    } else if found.is_file() {
        fs::File::open(path).map(drop)
    } else {
        // Opening a pipe would take its content.
        Ok(())
    };
    opened.map_err(Failure::at(path))
}

/// Makes the failure for the problems of a registry.
fn failure(problems: &Problems) -> Failure {
    let more = match problems.len() {
        1 => String::new(),
        count => format!("{count} mistakes in the registry\n"),
    };
    Failure::Input(format!("{more}{problems}"))
}
