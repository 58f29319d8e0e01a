//! A folder in memory: names and bytes.

use std::collections::BTreeMap;

use accp_collab::{Content, RootedPath, Source};

/// The path from the folder to the repository, in external mode.
pub(crate) const ROOT: &str = "../..";

/// All files. Those below the root of the repository have `repo:` before their paths.
#[derive(Clone, Default)]
pub(crate) struct World {
    pub files: BTreeMap<String, Vec<u8>>,
}

impl World {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    pub(crate) fn bytes(&self, name: &str) -> &[u8] {
        self.files.get(name).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn set(&mut self, name: &str, text: impl Into<Vec<u8>>) {
        self.files.insert(name.to_owned(), text.into());
    }

    pub(crate) fn is_utf8(&self, name: &str) -> bool {
        std::str::from_utf8(self.bytes(name)).is_ok()
    }

    /// Returns the text of a file; nothing if there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        let text = std::str::from_utf8(self.bytes(name)).unwrap_or_default();
        text.replace("\r\n", "\n")
    }
}

/// Reads a world.
pub(crate) struct Reader<'w>(pub &'w World);

impl Source for Reader<'_> {
    fn read(&mut self, path: RootedPath<'_>) -> Content {
        let found = match path.root {
            None => self.0.files.get(path.path),
            Some(_) => self.0.files.get(&format!("repo:{}", path.path)),
        };
        found.map_or(Content::Absent, |bytes| Content::Bytes(bytes.clone()))
    }

    fn look(&mut self, path: RootedPath<'_>) -> Content {
        match self.read(path) {
            Content::Absent => Content::Absent,
            _ => Content::Present,
        }
    }

    fn check_root(&mut self, root: &str) -> Result<(), String> {
        if root == ROOT {
            Ok(())
        } else {
            Err("the folder is not in that repository".to_owned())
        }
    }
}
