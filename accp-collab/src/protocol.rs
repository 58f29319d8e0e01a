//! `protocol.json`: what is declared, and a copy of the state.

use serde_json::{Map, Value as Json};

use crate::finding::{Code, Finding};
use crate::kind::Kind;
use crate::names::names;
use crate::state::State;
use crate::table::Phase;

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
    /// Where it comes from.
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
    /// The way from the folder to the repository, in external mode.
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
    /// Reads the file.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its code.
    pub fn from_json(bytes: &[u8]) -> Result<Self, Vec<Finding>> {
        let json: Map<String, Json> = serde_json::from_slice(bytes).map_err(|error| {
            let text = format!(
                "the file is not a JSON object (line {}, character {}); restore it from a copy",
                error.line(),
                error.column()
            );
            vec![finding(Code::Unreadable, text)]
        })?;
        let mut reader = Reader::default();
        let found = reader.protocol(&json);
        match found {
            Some(found) if reader.findings.is_empty() => Ok(Self { json, ..found }),
            _ => Err(reader.findings),
        }
    }

    /// Returns the reference of a deliverable, as events and texts name it: `DIR/FILE`, or
    /// `external:FILE`.
    pub fn reference(&self, file: &str) -> String {
        match self.mode {
            Mode::Internal => format!("{}/{file}", self.dir),
            Mode::External => format!("external:{file}"),
        }
    }

    /// Returns what is wrong with the copy of the state in the file; nothing if it is that of the log.
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

/// Returns whether a text is a path that stays below its root: relative, without `.`, `..`, empty
/// parts, control characters and reverse strokes.
pub(crate) fn is_inside(path: &str) -> bool {
    let is_part = |part: &str| !matches!(part, "" | "." | "..");
    !path.contains(|c: char| c.is_control() || c == '\\') && path.split('/').all(is_part)
}

fn is_markdown(path: &str) -> bool {
    let is_named = path
        .strip_suffix(".md")
        .is_some_and(|stem| !stem.is_empty());
    is_inside(path) && is_named
}

/// Returns whether a text can be the id of a participant.
pub fn is_participant(id: &str) -> bool {
    let is_odd = |c: char| c.is_control() || matches!(c, '`' | '\u{85}' | '\u{2028}' | '\u{2029}');
    !id.trim().is_empty() && id.trim() == id && !id.contains(is_odd)
}

#[derive(Default)]
struct Reader {
    findings: Vec<Finding>,
}

impl Reader {
    fn wrong(&mut self, code: Code, message: impl Into<String>) {
        self.findings.push(finding(code, message));
    }

    fn protocol(&mut self, json: &Map<String, Json>) -> Option<Protocol> {
        let text = |key: &str| json.get(key).and_then(Json::as_str);
        if text("protocol") != Some("acp") {
            self.wrong(
                Code::ProtocolName,
                "`protocol` is not \"acp\"; name a folder of this protocol",
            );
        }
        if json.get("schemaVersion").and_then(Json::as_u64) != Some(2) {
            self.wrong(
                Code::SchemaVersion,
                "`schemaVersion` is not 2, the version that is read here",
            );
        }
        if text("objective").is_none_or(|text| text.trim().is_empty()) {
            self.wrong(
                Code::ObjectiveBlank,
                "`objective` is blank; say what is to be decided or made",
            );
        }
        if text("currentPhase")
            .and_then(Phase::named)
            .is_none_or(|phase| phase == Phase::New)
        {
            let phases: Vec<&str> = Phase::ALL
                .iter()
                .skip(1)
                .map(|phase| phase.as_str())
                .collect();
            let message = format!("`currentPhase` is not one of {}", phases.join(", "));
            self.wrong(Code::PhaseUnknown, message);
        }
        let participants = self.participants(json);
        if text("proposalOwner").is_none_or(|owner| !participants.iter().any(|one| one == owner)) {
            self.wrong(Code::OwnerAbsent, "`proposalOwner` is not a participant");
        }
        let waiting = json.get("waitingFor").and_then(Json::as_array);
        let is_known = |one: &Json| {
            participants
                .iter()
                .any(|name| Some(&name[..]) == one.as_str())
        };
        if waiting.is_none_or(|waiting| !waiting.iter().all(is_known)) {
            self.wrong(
                Code::WaitingAbsent,
                "`waitingFor` is not a list of participants",
            );
        }
        let gates = self.gates(json);
        let Some(declared) = json.get("deliverables").and_then(Json::as_object) else {
            self.wrong(
                Code::DeliverablesMissing,
                "`deliverables` is not an object; restore it from a copy",
            );
            return None;
        };
        let of_it = |key: &str| declared.get(key).and_then(Json::as_str);
        let mode = of_it("mode").and_then(Mode::named);
        if mode.is_none() {
            self.wrong(
                Code::Mode,
                "`deliverables.mode` is neither internal nor external",
            );
        }
        let repo_root = text("repoRoot").map(str::to_owned);
        if mode == Some(Mode::External)
            && repo_root.as_ref().is_none_or(|root| root.trim().is_empty())
        {
            self.wrong(
                Code::RepoRoot,
                "external deliverables need `repoRoot`, the way to the repository",
            );
        }
        let dir = of_it("dir").unwrap_or_default();
        if !is_inside(dir) {
            self.wrong(
                Code::Dir,
                "`deliverables.dir` is not a relative path without `..`",
            );
        }
        let primary = self.primary(declared.get("primary"));
        let supporting = self.supporting(declared.get("supporting"), &primary.file);
        let attachments = self.attachments(declared.get("attachments"));
        Some(Protocol {
            participants,
            gates,
            mode: mode?,
            repo_root,
            dir: dir.to_owned(),
            primary,
            supporting,
            attachments,
            json: Map::new(),
        })
    }

    fn participants(&mut self, json: &Map<String, Json>) -> Vec<String> {
        let list = json.get("participants").and_then(Json::as_array);
        let ids = list.into_iter().flatten().map(|one| {
            let id = one.get("id").and_then(Json::as_str);
            id.filter(|id| is_participant(id)).map(str::to_owned)
        });
        let ids: Option<Vec<String>> = ids.collect();
        let ids = ids.unwrap_or_default();
        if ids.is_empty() {
            let message = "`participants` is not a list of objects with `id`";
            self.wrong(Code::ParticipantsEmpty, message);
        }
        ids
    }

    fn gates(&mut self, json: &Map<String, Json>) -> Vec<Gate> {
        let list = json.get("completionGates").and_then(Json::as_array);
        let list = list.map(Vec::as_slice).unwrap_or_default();
        if list.is_empty() {
            self.wrong(Code::GatesEmpty, "`completionGates` has no gates");
        }
        let mut gates = Vec::with_capacity(list.len());
        for gate in list {
            let member = |key: &str| gate.get(key).and_then(Json::as_str);
            let text = member("text").filter(|text| !text.trim().is_empty());
            match (member("source").and_then(GateSource::named), text) {
                (Some(source), Some(text)) => {
                    if let Some(file) = FORBIDDEN.iter().find(|file| text.contains(**file)) {
                        let message =
                            format!("a gate names {file}, which is no file of the protocol");
                        self.wrong(Code::GateForbidden, message);
                    }
                    let text = text.to_owned();
                    gates.push(Gate { source, text });
                }
                _ => self.wrong(
                    Code::GateShape,
                    "a gate is not {\"source\": \"objective\" or \"generated\", \"text\": ..}",
                ),
            }
        }
        gates
    }

    fn kind(&mut self, json: Option<&Json>, code: Code) -> Option<Kind> {
        let name = json.and_then(Json::as_str).unwrap_or_default();
        let kind = Kind::named(name);
        if kind.is_none() && name != "custom" {
            let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
            let message = format!(
                "the type of a deliverable is not one of {}, custom",
                names.join(", ")
            );
            self.wrong(code, message);
        }
        kind
    }

    fn primary(&mut self, json: Option<&Json>) -> Primary {
        let member = |key: &str| json.and_then(|json| json.get(key));
        let kind = self.kind(member("type"), Code::PrimaryType);
        let file = member("file").and_then(Json::as_str).unwrap_or_default();
        if !is_markdown(file) {
            let message =
                "the file of the primary deliverable is not a relative path that ends in .md";
            self.wrong(Code::PrimaryFile, message);
        }
        let list = member("checklist").and_then(Json::as_array);
        let sections = list.into_iter().flatten().map(|one| {
            let text = one.as_str().filter(|text| !text.trim().is_empty());
            text.map(str::to_owned)
        });
        let sections: Vec<String> = sections.collect::<Option<_>>().unwrap_or_default();
        if sections.is_empty() {
            self.wrong(
                Code::Checklist,
                "`checklist` is not a list of at least one section",
            );
        }
        Primary {
            kind,
            file: file.to_owned(),
            sections,
        }
    }

    fn supporting(&mut self, json: Option<&Json>, primary: &str) -> Vec<Supporting> {
        if json.is_some_and(|json| !json.is_array()) {
            self.wrong(Code::SupportingFile, "`supporting` is not a list");
        }
        let mut found: Vec<Supporting> = Vec::new();
        for one in json.and_then(Json::as_array).into_iter().flatten() {
            let file = one.get("file").and_then(Json::as_str).unwrap_or_default();
            if !is_markdown(file) {
                let message =
                    "the file of a supporting deliverable is not a relative path that ends in .md";
                self.wrong(Code::SupportingFile, message);
            } else if file == primary {
                self.wrong(
                    Code::SupportingPrimary,
                    "a supporting deliverable is the primary one",
                );
            } else if found.iter().any(|other| other.file == file) {
                self.wrong(
                    Code::SupportingRepeated,
                    "a supporting deliverable stands twice",
                );
            }
            let kind = self.kind(one.get("type"), Code::SupportingType);
            found.push(Supporting {
                file: file.to_owned(),
                kind,
                is_frozen: one.get("frozen").and_then(Json::as_bool).unwrap_or(false),
            });
        }
        found
    }

    fn attachments(&mut self, json: Option<&Json>) -> Vec<String> {
        if json.is_some_and(|json| !json.is_array()) {
            self.wrong(Code::AttachmentShape, "`attachments` is not a list");
        }
        let mut found = Vec::new();
        for one in json.and_then(Json::as_array).into_iter().flatten() {
            let Some(file) = one.get("file").and_then(Json::as_str) else {
                self.wrong(
                    Code::AttachmentShape,
                    "an attachment is not an object with `file`",
                );
                continue;
            };
            if !is_inside(file) {
                self.wrong(
                    Code::AttachmentFile,
                    "the file of an attachment is not a relative path without `..`",
                );
            }
            found.push(file.to_owned());
        }
        found
    }
}
