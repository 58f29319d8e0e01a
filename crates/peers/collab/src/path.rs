//! Paths, as the files of a collaboration name them.

/// The longest path in bytes; no file system takes a longer one.
const LONGEST: usize = 4096;

/// Returns why a path cannot name a file below its root; `None` if it can.
pub(crate) fn fault(path: &str) -> Option<&'static str> {
    if path.trim().is_empty() {
        Some("is blank")
    } else if path.starts_with('/') || path.contains(':') && path.as_bytes().get(1) == Some(&b':') {
        Some("is absolute")
    } else if path.split(['/', '\\']).any(|part| part == "..") {
        Some("contains `..`")
    } else if path.contains(char::is_control) {
        Some("contains a control character")
    } else if path.len() > LONGEST {
        Some("is longer than 4,096 bytes")
    } else {
        None
    }
}

/// Returns why a path cannot name a Markdown file below its root; `None` if it can.
pub(crate) fn markdown_fault(path: &str) -> Option<&'static str> {
    let is_markdown = path.as_bytes().ends_with(b".md");
    fault(path).or((!is_markdown).then_some("does not end in .md"))
}

/// Joins a directory and a file, without empty parts and `.`.
pub(crate) fn joined(dir: &str, file: &str) -> String {
    parts(dir, file).collect::<Vec<_>>().join("/")
}

/// Returns the parts of a directory and a file, without empty parts and `.`.
pub(crate) fn parts<'p>(dir: &'p str, file: &'p str) -> impl Iterator<Item = &'p str> {
    let parts = dir.split('/').chain(file.split('/'));
    parts.filter(|part| !matches!(*part, "" | "."))
}
