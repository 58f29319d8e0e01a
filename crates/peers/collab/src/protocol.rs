//! `protocol.json`: what is declared, and a copy of the state.

use serde_json::{Map, Value as Json};

use crate::finding::{Code, Finding};
use crate::kind::Kind;
use crate::names::names;
use crate::path;
use crate::state::State;

mod reader;

/// The name of the file.
pub const PROTOCOL_FILE: &str = "protocol.json";

/// Files that the protocol once had and that must not be there.
pub const FORBIDDEN: [&str; 3] = ["state.log", "discussion.md", "opinions.md"];

names! {
    /// Where the deliverables are.
    Mode {
        /// In the folder of the collaboration.
        Internal = "internal",
        /// In a directory of the repository.
        External = "external",
    }
}

names! {
    /// Where a gate comes from.
    GateSource {
        /// From the objective.
        Objective = "objective",
        /// From the protocol.
        Generated = "generated",
    }
}

/// A gate that has to be checked before the collaboration may conclude.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// Where the gate comes from.
    pub source: GateSource,
    /// What has to hold.
    pub text: String,
}

/// The primary deliverable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Primary {
    /// Its type; `None` for `custom`.
    pub kind: Option<Kind>,
    /// Its file, relative to the directory of deliverables.
    pub file: String,
    /// The sections that it needs.
    pub sections: Vec<String>,
}

/// A supporting deliverable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supporting {
    /// Its file, relative to the directory of deliverables.
    pub file: String,
    /// Its type; `None` for `custom`.
    pub kind: Option<Kind>,
    /// The sections that it needs.
    pub sections: Vec<String>,
    /// Whether it has to be frozen.
    pub is_frozen: bool,
}

/// What `protocol.json` declares.
///
/// ```
/// use accp_collab::{Code, Protocol};
///
/// let findings = Protocol::from_json(br#"{"protocol":"acp","schemaVersion":3}"#).unwrap_err();
/// assert!(findings.iter().any(|finding| finding.code == Code::SchemaVersion));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Protocol {
    /// The participants, in the order of the file. The first one initialized the folder.
    pub participants: Vec<String>,
    /// All gates, the generated ones last.
    pub gates: Vec<Gate>,
    /// Where the deliverables are.
    pub mode: Mode,
    /// The relative path from the folder to the repository, in external mode.
    pub repo_root: Option<String>,
    /// The directory of deliverables, relative to the folder or to the repository.
    pub dir: String,
    /// The primary deliverable.
    pub primary: Primary,
    /// The supporting deliverables.
    pub supporting: Vec<Supporting>,
    /// The files of the attachments, relative to the directory of deliverables.
    pub attachments: Vec<String>,
    /// The whole document, with the members that this version does not know.
    json: Map<String, Json>,
}

impl Protocol {
    /// Reads the file, and returns everything that is wrong with it. If the file is not an object or declares no
    /// deliverables, nothing can be done with it, and no protocol is returned.
    pub fn read(bytes: &[u8]) -> (Option<Self>, Vec<Finding>) {
        let json: Map<String, Json> = match serde_json::from_slice(bytes) {
            Ok(json) => json,
            Err(error) => {
                let text = format!(
                    "the file is not a JSON object (line {}, character {}); restore it from a copy",
                    error.line(),
                    error.column()
                );
                return (None, vec![finding(Code::Unreadable, text)]);
            }
        };
        let mut reader = reader::Reader::default();
        let found = reader.protocol(&json);
        (found.map(|found| Self { json, ..found }), reader.findings)
    }

    /// Reads the file.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its code.
    pub fn from_json(bytes: &[u8]) -> Result<Self, Vec<Finding>> {
        match Self::read(bytes) {
            (Some(found), findings) if findings.is_empty() => Ok(found),
            (_, findings) => Err(findings),
        }
    }

    /// Returns the reference of a deliverable, as events and texts name it: `DIR/FILE`, or
    /// `external:FILE`.
    pub fn reference(&self, file: &str) -> String {
        match self.mode {
            Mode::Internal => path::joined(&self.dir, file),
            Mode::External => format!("external:{file}"),
        }
    }

    /// Returns whether a document is the reference of a deliverable.
    pub(crate) fn is_reference(&self, doc: &str, file: &str) -> bool {
        match self.mode {
            Mode::Internal => path::parts(&self.dir, file).eq(doc.split('/')),
            Mode::External => doc.strip_prefix("external:") == Some(file),
        }
    }

    /// Returns the path of a deliverable below its root: the folder, or the repository.
    pub fn path_of(&self, file: &str) -> String {
        path::joined(&self.dir, file)
    }

    /// Returns the objective.
    pub fn objective(&self) -> &str {
        self.json
            .get("objective")
            .and_then(Json::as_str)
            .unwrap_or_default()
    }

    /// Returns the members of the file, to change its declarations.
    pub(crate) fn json(&self) -> &Map<String, Json> {
        &self.json
    }

    /// Returns what is wrong with the copy of the state in the file; `None` if the copy equals the state of the log.
    pub fn compare(&self, state: &State) -> Option<Finding> {
        let text = |key: &str| {
            self.json
                .get(key)
                .and_then(Json::as_str)
                .unwrap_or_default()
        };
        let waiting = Json::from(state.waiting_for());
        let is_same = text("currentPhase") == state.phase().as_str()
            && text("proposalOwner") == state.owner().unwrap_or_default()
            && self.json.get("waitingFor") == Some(&waiting);
        let message = "the file says another state than the log; the log decides, and `accp collab repair` mends the file";
        (!is_same).then(|| finding(Code::StateDiffers, message))
    }

    /// Writes the file with the state of the log: keys sorted, two spaces for each level, a line feed at the
    /// end. Members that this version does not know are kept.
    pub fn to_text(&self, state: &State, at: &str) -> String {
        let mut json = self.json.clone();
        let mut set = |key: &str, value: Json| json.insert(key.to_owned(), value);
        set("currentPhase", state.phase().as_str().into());
        set("proposalOwner", state.owner().unwrap_or_default().into());
        set("waitingFor", state.waiting_for().into());
        set("updatedAt", at.into());
        let mut text = format!("{:#}", sorted(&Json::Object(json)));
        text.push('\n');
        text
    }
}

/// Returns the value with the keys of all its objects sorted.
fn sorted(json: &Json) -> Json {
    match json {
        Json::Object(object) => {
            let mut members: Vec<_> = object.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            let members = members.into_iter();
            members
                .map(|(key, value)| (key.clone(), sorted(value)))
                .collect()
        }
        Json::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

fn finding(code: Code, message: impl Into<String>) -> Finding {
    Finding::new(code, message).within(PROTOCOL_FILE, None)
}

/// Returns whether a text can be the id of a participant.
pub fn is_participant(id: &str) -> bool {
    let is_odd = |c: char| c.is_control() || matches!(c, '`' | '\u{85}' | '\u{2028}' | '\u{2029}');
    !id.trim().is_empty() && id.trim() == id && !id.contains(is_odd)
}
