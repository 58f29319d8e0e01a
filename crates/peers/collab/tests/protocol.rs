//! `protocol.json`: what is read, what is refused with which code, and what comes back.

use accp_collab::{Code, Mode, Protocol, State};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

fn whole() -> Json {
    json!({
        "protocol": "acp", "schemaVersion": 2, "objective": "Choose a store",
        "objectiveGates": ["It is fast"],
        "participants": [{ "id": "ada", "role": "lead" }, { "id": "bob" }],
        "completionGates": [
            { "source": "objective", "text": "It is fast" },
            { "source": "generated", "text": "The file exists" },
        ],
        "deliverables": {
            "mode": "internal", "dir": "deliverables", "owner": "ada", "coAuthors": [],
            "primary": { "type": "custom", "file": "adr.md", "checklist": ["Status", "Context"] },
            "supporting": [{ "file": "plan.md", "type": "test-plan", "frozen": true }],
            "attachments": [{ "file": "figures/one.png" }],
        },
        "currentPhase": "drafting", "proposalOwner": "ada", "waitingFor": ["ada"],
        "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z",
        "x-own": { "b": 1, "a": [2] },
    })
}

fn codes(json: &Json) -> Vec<Code> {
    let read = Protocol::from_json(json.to_string().as_bytes());
    let findings = read.err().unwrap_or_default();
    assert!(
        findings
            .iter()
            .all(|finding| finding.file.as_deref() == Some("protocol.json"))
    );
    findings.into_iter().map(|finding| finding.code).collect()
}

#[test]
fn a_whole_file_is_read() {
    let protocol = Protocol::from_json(whole().to_string().as_bytes()).unwrap();
    assert_eq!(protocol.participants, ["ada", "bob"]);
    assert_eq!(protocol.mode, Mode::Internal);
    assert_eq!(
        protocol.reference(&protocol.primary.file),
        "deliverables/adr.md"
    );
    assert!(protocol.supporting[0].is_frozen);
    assert_eq!(protocol.attachments, ["figures/one.png"]);
}

#[test]
fn each_mistake_has_its_code() {
    for (pointer, value, code) in [
        ("/protocol", json!("acq"), Code::ProtocolName),
        ("/schemaVersion", json!(3), Code::SchemaVersion),
        ("/schemaVersion", json!("2"), Code::SchemaVersion),
        ("/objective", json!(" "), Code::ObjectiveBlank),
        ("/currentPhase", json!("new"), Code::PhaseUnknown),
        ("/participants/0/id", json!("a\nb"), Code::ParticipantsEmpty),
        ("/participants/0/id", json!("a`b"), Code::ParticipantsEmpty),
        ("/proposalOwner", json!(1), Code::OwnerAbsent),
        ("/waitingFor", json!([1]), Code::WaitingAbsent),
        ("/waitingFor", json!("ada"), Code::WaitingAbsent),
        ("/completionGates", json!([]), Code::GatesEmpty),
        ("/completionGates/0/source", json!("mine"), Code::GateShape),
        (
            "/completionGates/0/text",
            json!("see opinions.md"),
            Code::GateForbidden,
        ),
        ("/deliverables", json!([]), Code::DeliverablesMissing),
        ("/deliverables/mode", json!("both"), Code::Mode),
        ("/deliverables/mode", json!("external"), Code::RepoRoot),
        ("/deliverables/dir", json!("../up"), Code::Dir),
        ("/deliverables/dir", json!("/up"), Code::Dir),
        (
            "/deliverables/primary/type",
            json!("memo"),
            Code::PrimaryType,
        ),
        (
            "/deliverables/primary/file",
            json!("a/../../adr.md"),
            Code::PrimaryFile,
        ),
        (
            "/deliverables/primary/file",
            json!("adr.txt"),
            Code::PrimaryFile,
        ),
        (
            "/deliverables/primary/file",
            json!("a\u{0}.md"),
            Code::PrimaryFile,
        ),
        (
            "/deliverables/primary/checklist",
            json!([""]),
            Code::Checklist,
        ),
        (
            "/deliverables/supporting/0/type",
            json!(1),
            Code::SupportingType,
        ),
        (
            "/deliverables/supporting/0/file",
            json!("plan.txt"),
            Code::SupportingFile,
        ),
        (
            "/deliverables/supporting/0/file",
            json!("adr.md"),
            Code::SupportingPrimary,
        ),
        ("/deliverables/supporting", json!({}), Code::SupportingFile),
        (
            "/deliverables/attachments",
            json!("one.png"),
            Code::AttachmentShape,
        ),
        (
            "/deliverables/attachments/0",
            json!("one.png"),
            Code::AttachmentShape,
        ),
        (
            "/deliverables/attachments/0/file",
            json!("../one.png"),
            Code::AttachmentFile,
        ),
    ] {
        let mut json = whole();
        *json.pointer_mut(pointer).unwrap() = value;
        let found = codes(&json);
        assert!(found.contains(&code), "{pointer}: {found:?}");
    }
    let mut json = whole();
    let twice = json["deliverables"]["supporting"][0].clone();
    json["deliverables"]["supporting"]
        .as_array_mut()
        .unwrap()
        .push(twice);
    assert_eq!(codes(&json), [Code::SupportingRepeated]);
    assert_eq!(codes(&json!([1])), [Code::Unreadable]);
}

#[test]
fn the_file_is_written_with_the_state_and_keeps_what_is_unknown() {
    let protocol = Protocol::from_json(whole().to_string().as_bytes()).unwrap();
    let mut state = State::new(protocol.participants.clone());
    assert!(protocol.compare(&state).is_some());
    let line =
        r#"{"seq":1,"from":"bob","event":"initialized","at":"2026-01-01T00:00:00Z","summary":"x"}"#;
    state
        .apply(&accp_collab::Event::from_line(line).unwrap())
        .unwrap();
    let text = protocol.to_text(&state, "2026-01-02T00:00:00Z");
    assert!(text.starts_with("{\n  \"completionGates\": [\n    {\n") && text.ends_with("}\n"));
    let again = Protocol::from_json(text.as_bytes()).unwrap();
    assert_eq!(again.compare(&state), None);
    let json: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&json["x-own"], &json["participants"]),
        (&whole()["x-own"], &whole()["participants"])
    );
    assert_eq!(json["proposalOwner"], "bob");
    assert_eq!(again.to_text(&state, "2026-01-02T00:00:00Z"), text);
}

/// JSON of any shape, a few levels deep.
fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        "\\PC{0,6}".prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Json::from),
            proptest::collection::btree_map("[a-z]{1,4}", inner, 0..3)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn a_file_with_any_member_is_read_or_has_a_finding(
        pointer in prop::sample::select(&[
            "/protocol", "/participants", "/participants/0", "/completionGates", "/completionGates/1",
            "/deliverables", "/deliverables/primary", "/deliverables/supporting",
            "/deliverables/supporting/0", "/deliverables/attachments", "/waitingFor", "/x-own",
        ][..]),
        value in any_json(),
    ) {
        let mut json = whole();
        *json.pointer_mut(pointer).unwrap() = value;
        let bytes = json.to_string();
        match Protocol::from_json(bytes.as_bytes()) {
            Err(findings) => prop_assert!(!findings.is_empty()),
            Ok(protocol) => {
                let state = State::new(protocol.participants.clone());
                let text = protocol.to_text(&state, "2026-01-01T00:00:00Z");
                let again: Json = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(&again["deliverables"], &json["deliverables"]);
                prop_assert_eq!(&again["x-own"], &json["x-own"]);
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_have_a_finding(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        prop_assert!(Protocol::from_json(&bytes).is_err_and(|findings| !findings.is_empty()));
    }
}
