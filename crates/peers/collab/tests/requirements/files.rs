//! The files of a folder: COL-08 to COL-13.

use std::fs;

use accp_collab::{
    Action, CONCLUSION_FILE, Code, DECISIONS_FILE, FORBIDDEN, FolderSettings, Kind, LOG_FILE,
    PROPOSAL_FILE, PROTOCOL_FILE, READINESS_FILE, REVIEW_FILE,
};
use serde_json::json;

use crate::requirements::round::{Round, codes, custom, external, settings};

#[test]
fn col_08_accepts_a_protocol_with_its_members() {
    let round = Round::new();
    let text = round.read(PROTOCOL_FILE);
    let json = round.protocol();
    let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    let expected = [
        "completionGates",
        "createdAt",
        "currentPhase",
        "deliverables",
        "objective",
        "objectiveGates",
        "participants",
        "proposalOwner",
        "protocol",
        "schemaVersion",
        "updatedAt",
        "waitingFor",
    ];
    assert_eq!(keys, expected);
    assert_eq!(
        (&json["protocol"], &json["schemaVersion"]),
        (&json!("acp"), &json!(2))
    );
    assert_eq!(json["currentPhase"], "drafting");
    assert_eq!(
        (&json["proposalOwner"], &json["waitingFor"]),
        (&json!("ada"), &json!(["ada"]))
    );
    assert_eq!(json["createdAt"], round.log()[0]["at"]);
    for gate in json["completionGates"].as_array().unwrap() {
        assert!(
            gate["source"].is_string() && gate["text"].is_string(),
            "{gate}"
        );
    }
    // The file has sorted keys, an indent of two spaces, and a line feed at its end.
    assert_eq!(text, format!("{json:#}\n"));
    assert!(text.starts_with("{\n  \"completionGates\": [\n    {\n      \"source\": "));
    assert_eq!(Round::of(external()).protocol()["repoRoot"], "../..");
}

#[test]
fn col_08_refuses_a_protocol_without_a_member() {
    for (key, code) in [
        ("protocol", Code::ProtocolName),
        ("schemaVersion", Code::SchemaVersion),
        ("objective", Code::ObjectiveBlank),
        ("participants", Code::ParticipantsEmpty),
        ("completionGates", Code::GatesEmpty),
        ("deliverables", Code::DeliverablesMissing),
        ("currentPhase", Code::PhaseUnknown),
        ("proposalOwner", Code::OwnerAbsent),
        ("waitingFor", Code::WaitingAbsent),
        ("repoRoot", Code::RepoRoot),
    ] {
        let round = Round::of(external());
        round.edit_protocol(|json| _ = json.as_object_mut().unwrap().remove(key).unwrap());
        let errors = round.errors();
        assert!(errors.contains(&code), "{key}: {errors:?}");
    }
    for (key, value) in [("protocol", json!("ACP")), ("schemaVersion", json!(1))] {
        let round = Round::new();
        round.edit_protocol(|json| json[key] = value);
        round.refuses("ada", "deliverable_drafted", &[Code::ProtocolInvalid]);
    }
}

#[test]
fn col_09_accepts_compact_lines_and_only_adds_to_them() {
    let round = Round::new();
    let mut before = fs::read(round.path(LOG_FILE)).unwrap();
    for (count, action) in [
        (2, Action::Submit),
        (4, Action::Revise),
        (9, Action::Freeze),
        (12, Action::Stop),
    ] {
        round.walk(action);
        let after = fs::read(round.path(LOG_FILE)).unwrap();
        assert!(after.starts_with(&before));
        before = after;
        assert_eq!(round.log().len(), count + usize::from(count > 2));
    }
    for line in round.read(LOG_FILE).lines() {
        // The only white space is inside of texts.
        assert!(
            line.starts_with("{\"seq\":") && line.ends_with('}'),
            "{line}"
        );
        assert!(!line.contains("\": ") && !line.contains(", \""), "{line}");
    }
}

#[test]
fn col_09_refuses_a_log_whose_earlier_bytes_have_changed() {
    for (from, to, code) in [
        ("\"seq\":2,", "\"seq\":3,", Code::Seq),
        (
            "\"event\":\"initialized\"",
            "\"event\":\"blocked\"",
            Code::First,
        ),
        (
            "\"event\":\"deliverable_drafted\"",
            "\"event\":\"deliverable_revised\"",
            Code::Phase,
        ),
        ("{\"seq\":1,", "{seq:1,", Code::Unreadable),
    ] {
        let round = Round::at(Action::Submit);
        round.replace(LOG_FILE, from, to);
        let errors = round.errors();
        assert!(errors.contains(&code), "{to}: {errors:?}");
        assert!(
            round
                .refuse("ada", "proposal_submitted")
                .contains(&Code::LogInvalid),
            "{to}"
        );
    }
    // A line was removed from the log.
    let round = Round::at(Action::Revise);
    let lines: Vec<String> = round.read(LOG_FILE).lines().map(str::to_owned).collect();
    round.write(
        LOG_FILE,
        [&lines[..1], &lines[2..]].concat().join("\n") + "\n",
    );
    assert!(round.errors().contains(&Code::Seq));
}

/// The Markdown files of the protocol, each with a text that its template has.
const TEXTS: [(&str, &str); 5] = [
    (
        PROPOSAL_FILE,
        "# Proposal\n\n## Purpose\n\nChoose a store\n",
    ),
    (
        REVIEW_FILE,
        "Review Scope:\n- Proposal coherence\n- Primary deliverable completeness\n",
    ),
    (DECISIONS_FILE, "\n### D1. The deliverable\n\n- Decision: "),
    (READINESS_FILE, "\n## Objective Gates\n\n- [ ] It is fast\n"),
    (
        CONCLUSION_FILE,
        "\n## Deliverable Receipt\n\n- Primary: `deliverables/adr.md`\n- Type: `adr`\n",
    ),
];

#[test]
fn col_10_accepts_a_folder_with_all_texts() {
    let round = Round::new();
    for (name, part) in TEXTS {
        let text = round.read(name);
        assert!(text.contains(part), "{name}: {text}");
    }
    assert_eq!(round.errors(), []);
}

#[test]
fn col_10_refuses_a_folder_that_lacks_a_text() {
    for (name, _) in TEXTS {
        let round = Round::new();
        round.remove(name);
        let findings = round.findings();
        assert_eq!(codes(&findings), [Code::FileRequired], "{name}");
        assert_eq!(findings[0].file.as_deref(), Some(name));
    }
}

#[test]
fn col_11_accepts_the_template_of_each_type() {
    for kind in Kind::ALL {
        let round = Round::of(FolderSettings {
            kind: Some(*kind),
            ..settings()
        });
        let sections = kind.sections().iter();
        let sections = sections.map(|title| format!("\n## {title}\n\n"));
        let head = format!(
            "# {}\n\nDeliverable type: `{kind}`\nStatus: Draft\n",
            kind.title()
        );
        assert_eq!(
            round.read(&round.primary()),
            head + &sections.collect::<String>()
        );
    }
    let round = Round::of(custom());
    let text = round.read("deliverables/memo.md");
    assert!(
        text.contains("\nDeliverable type: `custom`\nStatus: Draft\n\n## Question\n"),
        "{text}"
    );
}

#[test]
fn col_11_refuses_a_deliverable_without_its_sections_and_its_status() {
    let round = Round::new();
    round.replace("deliverables/adr.md", "Status: Draft\n", "");
    assert_eq!(round.errors(), [Code::StatusMissing]);
    round.replace("deliverables/adr.md", "## Context", "### Context");
    round.replace("deliverables/adr.md", "## Follow-ups", "## Follow ups");
    let findings = round.findings();
    let missing = [
        Code::StatusMissing,
        Code::SectionMissing,
        Code::SectionMissing,
    ];
    assert_eq!(codes(&findings), missing);
    assert_eq!(findings[1].file.as_deref(), Some("deliverables/adr.md"));
}

#[test]
fn col_12_accepts_a_folder_without_the_former_files() {
    assert_eq!(FORBIDDEN, ["state.log", "discussion.md", "opinions.md"]);
    let round = Round::completed();
    for name in FORBIDDEN {
        assert!(!round.path(name).exists(), "{name}");
    }
    // The text of a deliverable may contain these names.
    let round = Round::new();
    round.replace(
        "deliverables/adr.md",
        "## Context\n",
        "## Context\nSee opinions.md.\n",
    );
    assert_eq!(round.errors(), []);
}

#[test]
fn col_12_refuses_the_former_files_and_gates_that_name_them() {
    for name in FORBIDDEN {
        let round = Round::new();
        round.write(name, "");
        let findings = round.findings();
        assert_eq!(codes(&findings), [Code::FileForbidden]);
        assert_eq!(findings[0].file.as_deref(), Some(name));
        round.remove(name);

        let gate = format!("All of {name} is read");
        let wrong = Round::before().shared.init(
            FolderSettings {
                gates: vec![gate.clone()],
                ..settings()
            },
            false,
        );
        assert_eq!(codes(&wrong.unwrap_err()), [Code::GateForbidden]);
        round.edit_protocol(|json| json["completionGates"][0]["text"] = gate.into());
        assert_eq!(round.errors(), [Code::GateForbidden]);
    }
}

#[test]
fn col_13_accepts_the_fixed_sections() {
    let counts = Kind::ALL.iter().map(|kind| kind.sections().len());
    assert_eq!(counts.collect::<Vec<_>>(), [6, 8, 8, 6, 6, 6]);
    let said = "adr: Status, Context, Decision, Alternatives Considered, Consequences, Follow-ups. \
        design-spec: Problem, Goals, Non-goals, Proposed Design, Interfaces / Contracts, Failure Modes, \
        Validation Plan, Open Questions. \
        implementation-plan: Scope, Phases, Tasks, Dependencies, Rollout / Migration, Tests, Risks, Exit Criteria. \
        decision-memo: Question, Recommendation, Options, Tradeoffs, Decision, Next Action. \
        review-report: Scope, Findings, Risks, Required Changes, Open Questions, Recommendation. \
        test-plan: Scope, Test Matrix, Fixtures, Automation, Manual Tests, Exit Criteria";
    let kinds = Kind::ALL.iter();
    let kinds = kinds.map(|kind| format!("{kind}: {}", kind.sections().join(", ")));
    assert_eq!(kinds.collect::<Vec<_>>().join(". "), said);
}

#[test]
fn col_13_refuses_a_deliverable_that_lacks_one_of_them() {
    for kind in Kind::ALL {
        let round = Round::of(FolderSettings {
            kind: Some(*kind),
            ..settings()
        });
        let name = round.primary();
        let whole = round.read(&name);
        for title in kind.sections() {
            round.write(
                &name,
                whole.replace(&format!("## {title}\n"), "## Another\n"),
            );
            let findings = round.findings();
            assert_eq!(codes(&findings), [Code::SectionMissing], "{kind}, {title}");
            assert!(findings[0].message.contains(&format!("`## {title}`")));
        }
    }
}
