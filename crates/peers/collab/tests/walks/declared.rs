//! The declarations in `protocol.json`, as the second judge reads them.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::walks::world::ROOT;

/// Codes of findings.
pub(crate) type Codes = BTreeSet<&'static str>;

/// The codes for the copy of the state, which the next append mends.
pub(crate) const OF_STATE: [&str; 4] = [
    "phase-unknown",
    "waiting-absent",
    "owner-absent",
    "state-differs",
];

pub(crate) const FORBIDDEN: [&str; 3] = ["state.log", "discussion.md", "opinions.md"];

/// A deliverable: its reference in events, its name among the files, its sections, and whether it has to be frozen.
pub(crate) struct Doc {
    pub reference: String,
    pub name: String,
    pub sections: Vec<String>,
    pub is_frozen: bool,
}

pub(crate) struct Declared {
    pub participants: Vec<String>,
    pub gates: Vec<String>,
    pub kind: String,
    pub primary: Doc,
    pub supporting: Vec<Doc>,
    /// The file of each attachment, and its name among the files.
    pub attachments: Vec<(String, String)>,
    /// The copy of the phase, the owner and the participants that have the turn.
    pub copy: [Json; 3],
}

/// The sections of a type; `None` if there is no such type.
pub(crate) fn sections_of(kind: &str) -> Option<&'static str> {
    match kind {
        "adr" => {
            Some("Status, Context, Decision, Alternatives Considered, Consequences, Follow-ups")
        }
        "design-spec" => Some(
            "Problem, Goals, Non-goals, Proposed Design, Interfaces / Contracts, Failure Modes, \
             Validation Plan, Open Questions",
        ),
        "implementation-plan" => Some(
            "Scope, Phases, Tasks, Dependencies, Rollout / Migration, Tests, Risks, Exit Criteria",
        ),
        "decision-memo" => {
            Some("Question, Recommendation, Options, Tradeoffs, Decision, Next Action")
        }
        "review-report" => {
            Some("Scope, Findings, Risks, Required Changes, Open Questions, Recommendation")
        }
        "test-plan" => {
            Some("Scope, Test Matrix, Fixtures, Automation, Manual Tests, Exit Criteria")
        }
        _ => None,
    }
}

fn is_blank(json: &Json) -> bool {
    json.as_str().is_none_or(|text| text.trim().is_empty())
}

/// Returns whether a path stays below its root.
pub(crate) fn stays_below(path: &str) -> bool {
    let leads_up = path.split('/').any(|part| part == "..");
    !path.trim().is_empty() && !path.starts_with('/') && !leads_up && !path.contains('\0')
}

/// Reads the file. Only mistakes in the copy of the state are tolerated; after any other mistake there
/// are no declarations.
pub(crate) fn read(bytes: &[u8]) -> (Option<Declared>, Codes) {
    let mut codes = Codes::new();
    let json: Json = serde_json::from_slice(bytes).unwrap_or_default();
    if !json.is_object() {
        return (None, Codes::from(["unreadable"]));
    }
    let mut check = |holds: bool, code| {
        if !holds {
            codes.insert(code);
        }
    };
    check(json["protocol"] == "acp", "protocol-name");
    check(json["schemaVersion"] == 2, "schema-version");
    check(!is_blank(&json["objective"]), "objective-blank");
    let phases = "drafting reviewing revising decision_review readiness_check completed blocked";
    let phase = json["currentPhase"].as_str().unwrap_or("");
    check(phases.split(' ').any(|one| one == phase), "phase-unknown");
    check(json["proposalOwner"].is_string(), "owner-absent");
    let waiting = json["waitingFor"].as_array();
    check(
        waiting.is_some_and(|all| all.iter().all(Json::is_string)),
        "waiting-absent",
    );
    let people = json["participants"].as_array().cloned().unwrap_or_default();
    let has_ids = people.iter().all(|one| !is_blank(&one["id"]));
    check(!people.is_empty() && has_ids, "participants-empty");
    let gates = json["completionGates"].as_array().cloned();
    let gates = gates.unwrap_or_default();
    check(!gates.is_empty(), "gates-empty");
    for gate in &gates {
        let is_known = gate["source"] == "objective" || gate["source"] == "generated";
        check(is_known && !is_blank(&gate["text"]), "gate-shape");
        let text = gate["text"].as_str().unwrap_or("");
        let names_old = FORBIDDEN.iter().any(|name| text.contains(name));
        check(!names_old, "gate-forbidden");
    }
    let of_it = &json["deliverables"];
    let is_there = of_it.is_object() && of_it["primary"].is_object();
    check(is_there, "deliverables-missing");
    if is_there {
        deliverables(&json, &mut check);
    }
    let is_sound = codes.iter().all(|code| OF_STATE.contains(code));
    (is_sound.then(|| declared(&json)), codes)
}

fn deliverables(json: &Json, check: &mut impl FnMut(bool, &'static str)) {
    let of_it = &json["deliverables"];
    let is_external = of_it["mode"] == "external";
    check(is_external || of_it["mode"] == "internal", "mode");
    if is_external {
        check(json["repoRoot"] == ROOT, "repo-root");
    } else if of_it["mode"] == "internal" {
        check(json.get("repoRoot").is_none(), "repo-root");
    }
    let below = |json: &Json| json.as_str().is_some_and(stays_below);
    let is_markdown = |json: &Json| {
        let ends = |text: &str| text.rsplit('.').next() == Some("md");
        below(json) && json.as_str().is_some_and(ends)
    };
    let is_type = |one: &Json| {
        let kind = one["type"].as_str().unwrap_or("");
        kind == "custom" || sections_of(kind).is_some()
    };
    check(below(&of_it["dir"]), "dir");
    let primary = &of_it["primary"];
    check(is_type(primary), "primary-type");
    check(is_markdown(&primary["file"]), "primary-file");
    if primary["type"] == "custom" {
        let titles = primary["checklist"].as_array().cloned();
        let titles = titles.unwrap_or_default();
        check(titles.iter().any(|one| !is_blank(one)), "checklist");
    }
    let mut seen: Vec<&Json> = Vec::new();
    for one in of_it["supporting"].as_array().into_iter().flatten() {
        check(is_markdown(&one["file"]), "supporting-file");
        check(is_type(one), "supporting-type");
        check(one["file"] != primary["file"], "supporting-primary");
        check(!seen.contains(&&one["file"]), "supporting-repeated");
        seen.push(&one["file"]);
    }
    for one in of_it["attachments"].as_array().into_iter().flatten() {
        check(one.is_object(), "attachment-shape");
        check(!one.is_object() || below(&one["file"]), "attachment-file");
    }
}

fn declared(json: &Json) -> Declared {
    let texts = |list: &Json, key: &str| -> Vec<String> {
        let list = list.as_array().into_iter().flatten();
        let texts = list.map(|one| if key.is_empty() { one } else { &one[key] });
        texts.filter_map(Json::as_str).map(str::to_owned).collect()
    };
    let of_it = &json["deliverables"];
    let dir = of_it["dir"].as_str().unwrap_or("");
    let is_external = of_it["mode"] == "external";
    let name_of = |file: &str| {
        let before = if is_external { "repo:" } else { "" };
        format!("{before}{dir}/{file}")
    };
    let doc = |one: &Json| {
        let file = one["file"].as_str().unwrap_or("").to_owned();
        let kind = one["type"].as_str().unwrap_or("");
        Doc {
            reference: if is_external {
                format!("external:{file}")
            } else {
                format!("{dir}/{file}")
            },
            name: name_of(&file),
            sections: match sections_of(kind) {
                Some(titles) => titles.split(", ").map(str::to_owned).collect(),
                None => texts(&one["checklist"], ""),
            },
            is_frozen: one["frozen"] == true,
        }
    };
    let supporting = of_it["supporting"].as_array().into_iter().flatten();
    let files = texts(&of_it["attachments"], "file").into_iter();
    Declared {
        participants: texts(&json["participants"], "id"),
        gates: texts(&json["completionGates"], "text"),
        kind: of_it["primary"]["type"].as_str().unwrap_or("").to_owned(),
        primary: doc(&of_it["primary"]),
        supporting: supporting.map(doc).collect(),
        attachments: files.map(|file| (file.clone(), name_of(&file))).collect(),
        copy: ["currentPhase", "proposalOwner", "waitingFor"].map(|key| json[key].clone()),
    }
}
