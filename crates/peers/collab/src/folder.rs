//! A folder that was read: its declarations, its log, and its texts.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::event::{Event, EventName};
use crate::finding::{Code, Finding};
use crate::log::{LOG_FILE, Log};
use crate::protocol::{FORBIDDEN, Mode, PROTOCOL_FILE, Protocol};
use crate::state::State;
use crate::texts::{CONCLUSION_FILE, DECISIONS_FILE, PROPOSAL_FILE, READINESS_FILE, REVIEW_FILE};

/// The Markdown files that every folder has.
pub(crate) const TEXTS: [&str; 5] = [
    PROPOSAL_FILE,
    REVIEW_FILE,
    DECISIONS_FILE,
    READINESS_FILE,
    CONCLUSION_FILE,
];

/// The path of a file below its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RootedPath<'p> {
    /// The relative path from the folder to the root; `None` if the folder is the root.
    pub root: Option<&'p str>,
    /// The path below the root.
    pub path: &'p str,
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    Absent,
    /// Something that was not read.
    Present,
    /// A file with these bytes.
    Bytes(Vec<u8>),
    /// Something that cannot be read, and why.
    Refused(Code, String),
}

/// Reads the files of a folder: from a disk, or from memory in tests.
pub trait Source {
    /// Returns what is at a path, with the bytes of a file.
    fn read(&mut self, path: RootedPath<'_>) -> Content;

    /// Returns what is at a path, without reading the file.
    fn look(&mut self, path: RootedPath<'_>) -> Content;

    /// Says why a repository cannot be the root of the deliverables: it is not there, it is the root of
    /// the file system, or the folder is not in it.
    ///
    /// # Errors
    /// The reason.
    fn check_root(&mut self, root: &str) -> Result<(), String>;
}

/// How much of a folder is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The declarations and the log: enough for the phase and the turns.
    Log,
    /// All files.
    All,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct File {
    content: Content,
    /// The text, with a line feed at the end of each line.
    text: String,
    /// Why there is no text although there is a file.
    finding: Option<Finding>,
}

impl File {
    fn new(name: &str, content: Content) -> Self {
        let (text, finding) = match &content {
            Content::Absent | Content::Present => (String::new(), None),
            Content::Refused(code, why) => {
                let finding = Finding::new(*code, why.clone()).within(name, None);
                (String::new(), Some(finding))
            }
            Content::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => (with_feeds(text), None),
                Err(error) => {
                    let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
                    let line = before.split(|byte| *byte == b'\n').count();
                    let why = "the text is not UTF-8; save the file as UTF-8";
                    let finding = Finding::new(Code::Unreadable, why).within(name, Some(line));
                    (String::new(), Some(finding))
                }
            },
        };
        Self {
            content,
            text,
            finding,
        }
    }
}

/// Replaces the line ends of other systems by line feeds.
fn with_feeds(text: &str) -> String {
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n")
    } else {
        text.to_owned()
    }
}

/// A folder that was read. All decisions are made from it.
#[derive(Debug, Clone)]
pub struct Folder {
    protocol: Option<Protocol>,
    log: Log,
    state: Option<State>,
    /// What is wrong with `protocol.json`.
    of_protocol: Vec<Finding>,
    /// What is wrong with the log.
    of_log: Vec<Finding>,
    /// The files of the protocol by their names, and the deliverables by their references.
    files: BTreeMap<String, File>,
    forbidden: Vec<&'static str>,
}

impl Folder {
    /// Reads a folder.
    pub fn read(source: &mut impl Source, scope: Scope) -> Self {
        let own = |path| RootedPath { root: None, path };
        let (protocol, mut of_protocol) = match source.read(own(PROTOCOL_FILE)) {
            Content::Bytes(bytes) => Protocol::read(&bytes),
            Content::Refused(code, why) => {
                let finding = Finding::new(code, why).within(PROTOCOL_FILE, None);
                (None, vec![finding])
            }
            Content::Absent | Content::Present => (None, vec![missing(PROTOCOL_FILE)]),
        };
        if let Some(root) = protocol.as_ref().and_then(Protocol::root)
            && of_protocol.iter().all(|one| one.code != Code::RepoRoot)
            && let Err(why) = source.check_root(root)
        {
            let finding = Finding::new(Code::RepoRoot, why).within(PROTOCOL_FILE, None);
            of_protocol.push(finding);
        }
        let (log, mut of_log) = match source.read(own(LOG_FILE)) {
            Content::Bytes(bytes) => (Log::read(&bytes), Vec::new()),
            Content::Refused(code, why) => {
                let finding = Finding::new(code, why).within(LOG_FILE, None);
                (Log::default(), vec![finding])
            }
            Content::Absent | Content::Present => (Log::default(), vec![missing(LOG_FILE)]),
        };
        let (state, wrong) = log.fold(protocol.as_ref());
        of_log.extend(wrong);
        let mut folder = Self {
            protocol,
            log,
            state,
            of_protocol,
            of_log,
            files: BTreeMap::new(),
            forbidden: Vec::new(),
        };
        if scope == Scope::All {
            folder.read_files(source);
        }
        folder
    }

    fn read_files(&mut self, source: &mut impl Source) {
        for path in TEXTS {
            let content = source.read(RootedPath { root: None, path });
            self.files.insert(path.to_owned(), File::new(path, content));
        }
        let is_there = |path: &&&str| {
            let path = RootedPath { root: None, path };
            source.look(path) != Content::Absent
        };
        self.forbidden = FORBIDDEN.iter().filter(is_there).copied().collect();
        let is_of_paths = |one: &Finding| {
            let codes = [
                Code::RepoRoot,
                Code::Dir,
                Code::Mode,
                Code::PrimaryFile,
                Code::SupportingFile,
            ];
            codes.contains(&one.code)
        };
        // If a path leads out of its root, no deliverable is read.
        if self.of_protocol.iter().any(is_of_paths) {
            return;
        }
        let Some(protocol) = &self.protocol else {
            return;
        };
        let mut read = |file: &str, whole: bool| {
            let path = protocol.path_of(file);
            let path = RootedPath {
                root: protocol.root(),
                path: &path,
            };
            let content = if whole {
                source.read(path)
            } else {
                source.look(path)
            };
            let name = protocol.reference(file);
            let file = File::new(&name, content);
            self.files.insert(name, file);
        };
        for file in &protocol.attachments {
            read(file, false);
        }
        for one in &protocol.supporting {
            read(&one.file, true);
        }
        read(&protocol.primary.file, true);
    }

    /// Returns what `protocol.json` declares; `None` if it cannot be used.
    pub fn protocol(&self) -> Option<&Protocol> {
        self.protocol.as_ref()
    }

    /// Returns the log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Returns the state at the end of the log; `None` without a protocol.
    pub fn state(&self) -> Option<&State> {
        self.state.as_ref()
    }

    /// Returns the declarations and the state, if they are valid.
    ///
    /// # Errors
    /// The reasons why they are not valid, with the codes [`Code::ProtocolMissing`], [`Code::ProtocolInvalid`] and
    /// [`Code::LogInvalid`].
    pub fn standing(&self) -> Result<(&Protocol, &State), Vec<Finding>> {
        let of_protocol = self
            .of_protocol
            .iter()
            .filter(|one| !one.code.is_of_state());
        let of_protocol = of_protocol.map(|one| {
            let code = if one.code == Code::FileRequired {
                Code::ProtocolMissing
            } else {
                Code::ProtocolInvalid
            };
            let finding = one.clone();
            Finding { code, ..finding }
        });
        let of_log = self.of_log.iter().map(|one| {
            let finding = one.clone();
            Finding {
                code: Code::LogInvalid,
                ..finding
            }
        });
        let findings: Vec<Finding> = of_protocol.chain(of_log).collect();
        match (&self.protocol, &self.state) {
            (Some(protocol), Some(state)) if findings.is_empty() => Ok((protocol, state)),
            _ => Err(findings),
        }
    }

    /// Returns the declarations and the state, if they are valid and the log has an event. Without an event nobody
    /// owns the proposal, so nobody ever has the turn.
    pub(crate) fn begun(&self) -> Result<(&Protocol, &State), Vec<Finding>> {
        let (protocol, state) = self.standing()?;
        if state.last() > 0 {
            return Ok((protocol, state));
        }
        let text = "the log has no event; restore it from a copy, or begin a new folder with `accp collab init`";
        let finding = Finding::new(Code::LogInvalid, text);
        Err(vec![finding.within(LOG_FILE, None)])
    }

    /// Returns the findings about `protocol.json` and the log, each with its own code.
    pub(crate) fn wrong(&self) -> impl Iterator<Item = &Finding> {
        self.of_protocol.iter().chain(&self.of_log)
    }

    pub(crate) fn is_protocol_whole(&self) -> bool {
        self.protocol.is_some() && self.of_protocol.iter().all(|one| one.code.is_of_state())
    }

    pub(crate) fn is_log_whole(&self) -> bool {
        self.of_log.is_empty()
    }

    pub(crate) fn forbidden(&self) -> &[&'static str] {
        &self.forbidden
    }

    /// Returns the text of a file, by its name or reference; an empty text if there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.files.get(name).map_or("", |file| &file.text)
    }

    /// Returns why a file has no text although it is there.
    pub(crate) fn unreadable(&self, name: &str) -> Option<&Finding> {
        self.files.get(name).and_then(|file| file.finding.as_ref())
    }

    /// Returns whether a file is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        let file = self.files.get(name);
        file.is_some_and(|file| file.content != Content::Absent)
    }

    /// Returns the SHA-256 of a file, in small hexadecimal digits.
    pub fn sha256(&self, name: &str) -> Option<String> {
        match &self.files.get(name)?.content {
            Content::Bytes(bytes) => Some(sha256(bytes)),
            _ => None,
        }
    }

    /// Returns whether the log has an event of this name.
    pub(crate) fn has_event(&self, name: EventName) -> bool {
        self.log.events().iter().any(|event| event.event == name)
    }

    /// Returns the last event.
    pub fn last(&self) -> Option<&Event> {
        self.log.events().last()
    }
}

/// Returns the SHA-256 of bytes, in small hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Returns the finding for a file of the protocol that is not there.
pub(crate) fn missing(name: &str) -> Finding {
    let text = "the file is missing; restore it from a copy, or begin a new folder with `accp collab init`";
    Finding::new(Code::FileRequired, text).within(name, None)
}

impl Protocol {
    /// Returns the relative path from the folder to the root of the deliverables; `None` if the folder is the root.
    pub(crate) fn root(&self) -> Option<&str> {
        match self.mode {
            Mode::Internal => None,
            Mode::External => self.repo_root.as_deref(),
        }
    }
}
