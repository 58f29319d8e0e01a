//! A session in a folder of its own, and what its files hold.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use accp_memory::disk::index::{Filter, Hit, Index};
use accp_memory::disk::{Compressed, Context, ContextError};
use accp_memory::{
    Code, Hooks, Judge, LEXICAL, MessageList, Options, SessionId, Summarizer, Tier, Window, check,
};
use serde_json::Value as Json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

pub(crate) use crate::common::quarters::Quarters;

/// A session below a root, with the window of its model.
pub(crate) struct TestSession {
    folder: tempfile::TempDir,
    pub(crate) window: Window,
    pub(crate) judges: &'static [&'static dyn Judge],
    pub(crate) force: bool,
}

impl TestSession {
    pub(crate) fn of(size: u64) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            window: Window::of(size).unwrap(),
            judges: LEXICAL,
            force: false,
        }
    }

    pub(crate) fn stress(self) -> Self {
        let window = self.window.clone().with_stress(true);
        Self { window, ..self }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// Returns the folder where relative paths of written files begin.
    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Writes a file into the folder in which the conversation's tools write.
    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.work().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn open(&self) -> Context {
        let context = Context::open(self.root(), SessionId::new("trip").unwrap());
        context.unwrap().with_work(self.work())
    }

    /// Does some work with the options of this session.
    pub(crate) fn with<T>(
        &self,
        summarizer: &dyn Summarizer,
        work: impl FnOnce(&Options<'_>) -> T,
    ) -> T {
        let now = OffsetDateTime::parse("2026-01-29T14:25:30+02:00", &Rfc3339).unwrap();
        work(&Options {
            summarizer,
            judges: self.judges,
            force: self.force,
            ..Options::new(&self.window, &Quarters, now)
        })
    }

    pub(crate) fn attempt(&self, list: &MessageList) -> Result<Compressed, ContextError> {
        self.with(&(), |options| self.open().compress(list, options, &mut ()))
    }

    /// Compresses a list with a new context, as a process does that has just begun. Checks that the returned list is
    /// valid and fits.
    pub(crate) fn compress(&self, list: &MessageList) -> Compressed {
        self.checked(self.attempt(list))
    }

    pub(crate) fn compress_with(&self, list: &MessageList, hooks: &mut dyn Hooks) -> Compressed {
        self.checked(self.with(&(), |options| self.open().compress(list, options, hooks)))
    }

    pub(crate) fn summed_up(&self, list: &MessageList, summarizer: &dyn Summarizer) -> Compressed {
        self.checked(self.with(summarizer, |options| {
            self.open().compress(list, options, &mut ())
        }))
    }

    fn checked(&self, done: Result<Compressed, ContextError>) -> Compressed {
        let done = done.unwrap_or_else(|error| panic!("{error}"));
        // A compression keeps the names of tools, so a finding about such a name does not count
        // here.
        let mut faults = check(&done.list);
        faults.retain(|fault| fault.code != Code::NameForm);
        assert_eq!(faults, []);
        assert_eq!(self.window.count(&done.list, &Quarters), done.after);
        assert!(done.after <= self.window.room());
        done
    }

    /// Returns the text of a file below the root.
    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path))
            .unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Returns the files of the four folders with their bytes, by their paths below the root.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        for folder in ["offloaded", "conversations", "checkpoints", "intermediate"] {
            let folder = Path::new("cache").join(folder);
            // A root where nothing was kept yet has no folders.
            let entries = std::fs::read_dir(self.root().join(&folder));
            for entry in entries.into_iter().flatten() {
                let name = entry.unwrap().file_name();
                let path = folder.join(name);
                let bytes = std::fs::read(self.root().join(&path)).unwrap();
                found.insert(path.to_str().unwrap().to_owned(), bytes);
            }
        }
        found
    }

    fn index(&self) -> Index {
        let mut index = Index::open(self.root()).unwrap();
        assert_eq!(index.update().unwrap(), []);
        index
    }

    pub(crate) fn search(&self, words: &str, filter: &Filter) -> Vec<Hit> {
        self.index().search(words, filter, 3).unwrap()
    }

    pub(crate) fn exact(&self, text: &str) -> Vec<Hit> {
        self.index().exact(text, &Filter::default(), 3).unwrap()
    }
}

/// Returns the tiers that acted.
pub(crate) fn tiers(done: &Compressed) -> Vec<Tier> {
    done.events.iter().map(|event| event.tier).collect()
}

/// Returns the messages exactly as they are written.
pub(crate) fn raws(list: &MessageList) -> Vec<String> {
    let messages = list.messages().iter();
    messages.map(|message| message.raw().to_owned()).collect()
}

/// Returns the text of a message.
pub(crate) fn text(list: &MessageList, message: usize) -> String {
    let json: &Json = list.messages()[message].json();
    json["content"].as_str().unwrap().to_owned()
}

/// Returns the text of the summary of a list, which has only one.
pub(crate) fn summary(list: &MessageList) -> String {
    let texts = list.messages().iter();
    let texts = texts.filter_map(|message| message.json()["content"].as_str());
    let found: Vec<_> = texts
        .filter(|text| text.starts_with("## Session Summary\n"))
        .collect();
    assert_eq!(found.len(), 1, "{list}");
    found[0].to_owned()
}

/// Returns a section of a summary without its heading.
pub(crate) fn section<'s>(summary: &'s str, name: &str) -> &'s str {
    let (_, rest) = summary.split_once(&format!("### {name}\n")).unwrap();
    rest.split("\n### ").next().unwrap().trim()
}
