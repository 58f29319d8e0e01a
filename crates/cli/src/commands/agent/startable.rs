//! Checks that the system can start a command, so that an agent does not join a session only to fail each request.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use accp_console::outcome::Failure;

/// Checks the program of a command: the file exists and is executable. As the system does, the check looks for a name
/// without `/` in the folders of `path`, the variable `PATH`.
///
/// # Errors
/// [`Failure::Misuse`], which says why the system cannot start the program.
pub(super) fn check(command: &[String], path: Option<&OsStr>) -> Result<(), Failure> {
    let Some(program) = command.first() else {
        return Ok(());
    };
    let why = match path {
        _ if program.contains('/') => fault_of(Path::new(program)),
        Some(path) => {
            let mut files = env::split_paths(path).map(|folder| folder.join(program));
            let is_here = files.any(|file| fault_of(&file).is_none());
            (!is_here).then(|| {
                "no folder of PATH has a program of this name: install it, or give its path"
                    .to_owned()
            })
        }
        // Without the variable, the system looks into folders of its own.
        None => None,
    };
    match why {
        Some(why) => Err(Failure::Misuse(format!("the command {program}: {why}"))),
        None => Ok(()),
    }
}

/// Returns why the system cannot start a file as a program.
fn fault_of(file: &Path) -> Option<String> {
    let about = match fs::metadata(file) {
        Ok(about) => about,
        Err(error) => return Some(format!("{error}; name a program that is there")),
    };
    if about.is_dir() {
        return Some("this is a folder; name a program".to_owned());
    }
    let is_executable = {
        use std::os::unix::fs::PermissionsExt as _;
        about.permissions().mode() & 0o111 != 0
    };
    (!is_executable).then(|| "the file is not executable; `chmod +x` makes it so".to_owned())
}
