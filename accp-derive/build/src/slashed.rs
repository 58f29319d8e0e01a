//! Writes paths for source files.

use std::path::{Component, Path};

use crate::error::Error;

/// Returns the path as a source file has it: with the same separators on every system.
pub(crate) fn slashed(path: &Path) -> Result<String, Error> {
    let Some(text) = path.to_str() else {
        return Err(Error::Path(path.to_owned()));
    };
    if path.is_absolute() {
        return Ok(text.to_owned());
    }
    let parts = path.components().filter(|part| *part != Component::CurDir);
    let parts: Vec<_> = parts
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    Ok(if parts.is_empty() {
        ".".to_owned()
    } else {
        parts.join("/")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spells_paths_alike_everywhere() {
        for (path, text) in [
            ("registry", "registry"),
            ("./registry/", "registry"),
            ("a/./b.json", "a/b.json"),
            ("../a", "../a"),
            (".", "."),
        ] {
            assert_eq!(slashed(Path::new(path)).unwrap(), text);
        }
    }
}
