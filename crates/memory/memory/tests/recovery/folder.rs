//! A root with archives and offloaded files.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use accp_memory::disk::index::{Filter, Hit, Index};
use accp_memory::{Archive, Archived};

pub(crate) const ARCHIVE: &str = "cache/conversations/s_full.md";
pub(crate) const OFFLOADED: &str = "cache/offloaded/20260129_142530_web_search.md";

/// A folder that is removed at the end.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, and the folders above.
    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let file = self.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }

    /// Appends messages to an archive.
    pub(crate) fn append(&self, path: &str, messages: &[Archived]) {
        let file = self.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(file)
            .unwrap();
        file.write_all(Archive::text(messages).as_bytes()).unwrap();
    }

    pub(crate) fn index(&self) -> Index {
        let mut index = Index::open(self.path()).unwrap();
        assert_eq!(index.update().unwrap(), []);
        index
    }
}

/// Returns a message of a tool.
pub(crate) fn said(number: usize, tool: &str, text: impl Into<String>) -> Archived {
    Archived {
        number,
        role: "tool".into(),
        tools: vec![tool.into()],
        time: None,
        text: text.into(),
    }
}

/// Returns the numbers of the messages that a search finds.
pub(crate) fn found(hits: &[Hit]) -> Vec<usize> {
    hits.iter().filter_map(|hit| hit.message).collect()
}

/// Returns the best hits of a search by words.
pub(crate) fn search(index: &mut Index, query: &str) -> Vec<Hit> {
    index.search(query, &Filter::default(), 10).unwrap()
}

/// Returns the best hits of a search by exact text.
pub(crate) fn exact(index: &mut Index, text: &str) -> Vec<Hit> {
    index.exact(text, &Filter::default(), 10).unwrap()
}
