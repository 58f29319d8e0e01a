//! Reads lines of a file below the cache.

use std::fs;
use std::io::Read as _;
use std::ops::RangeInclusive;
use std::path::{Component, Path};

/// The largest file that is read, in bytes.
const MOST: u64 = 64 << 20;
/// The folder below the root whose files may be read.
const CACHE: &str = "cache";

/// Lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// The lines, with line feeds between them.
    pub text: String,
    /// How many lines the whole file has.
    pub of: usize,
}

/// Why lines cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The path leads out of the cache.
    #[error(
        "{path}: expected the path of a file below `cache/`, such as `cache/offloaded/20260129_142530_search.md`; \
         name one that `recover` gives"
    )]
    Outside {
        /// The path, as it was given.
        path: String,
    },
    /// The file is not one of the session.
    #[error("{path}: is not a file of this session; name one that `context_recover` gives")]
    Foreign {
        /// The path, as it was given.
        path: String,
    },
    /// There is no such file, or it cannot be read.
    #[error(
        "{path}: cannot be read: {source}; name a file that `recover` gives, and check who may read it"
    )]
    Unreadable {
        /// The path, as it was given.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The path names a folder or a device.
    #[error("{path}: is not a file; name a file in that folder")]
    NotAFile {
        /// The path, as it was given.
        path: String,
    },
    /// The file is too large.
    #[error("{path}: has {bytes} bytes, and at most {MOST} are read; search in it with `recover`")]
    TooLarge {
        /// The path, as it was given.
        path: String,
        /// How many bytes the file has.
        bytes: u64,
    },
    /// The file does not have these lines.
    #[error("{path}: {}", beyond(*.first, *.last, *.of))]
    Range {
        /// The path, as it was given.
        path: String,
        /// The first line that was asked for.
        first: usize,
        /// The last line that was asked for.
        last: usize,
        /// How many lines the file has.
        of: usize,
    },
    /// The lines are not text.
    #[error("{path}, line {line}: is not UTF-8; open the file with another program")]
    NotText {
        /// The path, as it was given.
        path: String,
        /// The line, from 1.
        line: usize,
    },
}

/// Says why these lines cannot be read, and which the file has.
fn beyond(first: usize, last: usize, of: usize) -> String {
    if of == 0 {
        return "the file is empty".to_owned();
    }
    if first > last {
        return format!("lines {first} to {last} have no line; name the smaller number first");
    }
    let asked = match last {
        usize::MAX => format!("lines from {first} on"),
        last => format!("lines {first} to {last}"),
    };
    format!("has {of} lines, so {asked} cannot be read; name lines between 1 and {of}")
}

/// Reads lines of a file below the folder `cache` of a root. The path begins with `cache/`. Lines count from 1, and a
/// line feed ends a line. If the last line lies behind the end of the file, all lines up to the end are returned.
///
/// ```
/// # let root = tempfile::tempdir()?;
/// # std::fs::create_dir_all(root.path().join("cache/offloaded"))?;
/// std::fs::write(root.path().join("cache/offloaded/a.md"), "rye\nspelt\noats\n")?;
/// let lines = accp_memory::disk::read::read(root.path(), "cache/offloaded/a.md", 2..=3)?;
/// assert_eq!((&*lines.text, lines.of), ("spelt\noats", 3));
///
/// let refused = accp_memory::disk::read::read(root.path(), "cache/../secret", 1..=1);
/// assert!(refused.is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(
    root: impl AsRef<Path>,
    path: &str,
    lines: RangeInclusive<usize>,
) -> Result<Lines, ReadError> {
    let bytes = bytes(root.as_ref(), path)?;
    let mut all: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    // Text after the last line feed counts as a line. An empty rest does not.
    if all.last().is_some_and(|line| line.is_empty()) {
        all.pop();
    }
    let (first, last, of) = (*lines.start(), *lines.end(), all.len());
    let wanted = first
        .checked_sub(1)
        .filter(|_| first <= last)
        .and_then(|start| all.get(start..last.min(of)))
        .filter(|wanted| !wanted.is_empty());
    let wanted = wanted.ok_or_else(|| ReadError::Range {
        path: path.to_owned(),
        first,
        last,
        of,
    })?;
    let mut text = String::new();
    for (at, line) in wanted.iter().enumerate() {
        let line = std::str::from_utf8(line).map_err(|_| ReadError::NotText {
            path: path.to_owned(),
            line: first + at,
        })?;
        if at > 0 {
            text.push('\n');
        }
        text.push_str(line);
    }
    Ok(Lines { text, of })
}

/// Returns whether a path has the form of a path below the cache.
pub(super) fn is_below(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    let is_below = parts.next() == Some(Component::Normal(CACHE.as_ref()))
        && parts.all(|part| matches!(part, Component::Normal(_)));
    is_below && !path.contains(['\0', '\\'])
}

/// Reads a file, if its path stays below the cache, also after links are followed.
fn bytes(root: &Path, path: &str) -> Result<Vec<u8>, ReadError> {
    let outside = || ReadError::Outside {
        path: path.to_owned(),
    };
    let unreadable = |source| ReadError::Unreadable {
        path: path.to_owned(),
        source,
    };
    if !is_below(path) {
        return Err(outside());
    }
    let cache = root.join(CACHE).canonicalize().map_err(unreadable)?;
    let file = root.join(path).canonicalize().map_err(unreadable)?;
    if !file.starts_with(&cache) {
        return Err(outside());
    }
    let about = fs::metadata(&file).map_err(unreadable)?;
    if !about.is_file() {
        return Err(ReadError::NotAFile {
            path: path.to_owned(),
        });
    }
    let file = fs::File::open(&file).map_err(unreadable)?;
    let mut bytes = Vec::new();
    // The file may grow meanwhile, so the read is limited as well.
    file.take(MOST + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    let size = about.len().max(bytes.len() as u64);
    if size > MOST {
        return Err(ReadError::TooLarge {
            path: path.to_owned(),
            bytes: size,
        });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("cache/offloaded")).unwrap();
        fs::write(root.path().join("secret"), "key").unwrap();
        fs::write(root.path().join("cache/offloaded/a.md"), "1\n2\r\n\n4").unwrap();
        root
    }

    #[test]
    fn lines_are_given_as_they_are() {
        let root = root();
        let lines = |lines| read(root.path(), "cache/offloaded/a.md", lines).unwrap();
        assert_eq!(lines(1..=4).text, "1\n2\r\n\n4");
        assert_eq!(lines(2..=2).text, "2\r");
        assert_eq!(lines(3..=3).text, "");
        assert_eq!((&*lines(4..=usize::MAX).text, lines(1..=1).of), ("4", 4));
    }

    #[test]
    fn a_wrong_range_says_how_many_lines_there_are() {
        let root = root();
        for (first, last) in [(0, 1), (5, 5), (usize::MAX, usize::MAX)] {
            let error = read(root.path(), "cache/offloaded/a.md", first..=last).unwrap_err();
            assert!(error.to_string().contains("has 4 lines"), "{error}");
        }
        let ends = [3, 2];
        let error = read(root.path(), "cache/offloaded/a.md", ends[0]..=ends[1]).unwrap_err();
        assert!(
            error.to_string().contains("name the smaller number first"),
            "{error}"
        );
        fs::write(root.path().join("cache/empty.md"), "").unwrap();
        let error = read(root.path(), "cache/empty.md", 1..=1).unwrap_err();
        assert!(matches!(error, ReadError::Range { of: 0, .. }));
    }

    #[test]
    fn no_path_leads_out() {
        let root = root();
        let inside = root.path().join("cache/offloaded/a.md");
        for path in [
            "secret",
            "cache/../secret",
            "cache/offloaded/../../secret",
            "../secret",
            "",
            ".",
            "/etc/passwd",
            "cache\\..\\secret",
            "cache/a\0.md",
            inside.to_str().unwrap(),
        ] {
            let error = read(root.path(), path, 1..=1).unwrap_err();
            assert!(
                matches!(error, ReadError::Outside { .. }),
                "{path}: {error}"
            );
        }
        let error = read(root.path(), "cache/offloaded", 1..=1).unwrap_err();
        assert!(matches!(error, ReadError::NotAFile { .. }));
        let error = read(root.path(), "cache/none.md", 1..=1).unwrap_err();
        assert!(matches!(error, ReadError::Unreadable { .. }));
    }

    #[cfg(unix)]
    #[test]
    fn no_link_leads_out() {
        use std::os::unix::fs::symlink;
        let root = root();
        symlink("../secret", root.path().join("cache/link.md")).unwrap();
        symlink("..", root.path().join("cache/up")).unwrap();
        symlink("offloaded/a.md", root.path().join("cache/in.md")).unwrap();
        for path in ["cache/link.md", "cache/up/secret"] {
            let error = read(root.path(), path, 1..=1).unwrap_err();
            assert!(
                matches!(error, ReadError::Outside { .. }),
                "{path}: {error}"
            );
        }
        assert_eq!(read(root.path(), "cache/in.md", 1..=1).unwrap().text, "1");
    }

    #[test]
    fn bytes_that_are_not_text_and_files_that_are_too_large_are_refused() {
        let root = root();
        fs::write(root.path().join("cache/b.md"), b"a\n\xff\nc\n").unwrap();
        assert_eq!(read(root.path(), "cache/b.md", 3..=3).unwrap().text, "c");
        let error = read(root.path(), "cache/b.md", 1..=3).unwrap_err();
        assert!(matches!(error, ReadError::NotText { line: 2, .. }));
        let file = fs::File::create(root.path().join("cache/c.md")).unwrap();
        file.set_len(MOST + 1).unwrap();
        let error = read(root.path(), "cache/c.md", 1..=1).unwrap_err();
        assert!(matches!(error, ReadError::TooLarge { bytes, .. } if bytes == MOST + 1));
    }
}
