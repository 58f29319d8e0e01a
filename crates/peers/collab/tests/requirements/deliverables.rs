//! Primary and supporting deliverables, attachments, and the freeze: COL-14 to COL-20.

use accp_collab::disk::{Declaration, Draft};
use accp_collab::{
    Action, CONCLUSION_FILE, Code, DECISIONS_FILE, FolderSettings, Kind, Mode, READINESS_FILE, Role,
};
use serde_json::{Value as Json, json};

use crate::requirements::round::{Round, codes, custom, external, settings};

fn supporting(file: &str, is_frozen: bool) -> Declaration {
    Declaration::Supporting {
        file: file.to_owned(),
        kind: Some(Kind::TestPlan),
        is_frozen,
    }
}

/// Returns the codes with which a declaration is refused. Nothing changes then.
fn refuse(round: &Round, declaration: &Declaration) -> Vec<Code> {
    let before = round.files();
    let wrong = round.shared.declare(declaration).unwrap_err();
    assert!(
        round.files() == before,
        "a refused declaration changed a file"
    );
    codes(&wrong)
}

#[test]
fn col_14_accepts_one_declared_primary_deliverable() {
    for settings in [settings(), external(), custom()] {
        let round = Round::of(settings);
        round.walk(Action::Stop);
        assert_eq!(round.errors(), []);
        let docs = round
            .log()
            .into_iter()
            .filter(|event| event["event"] == "deliverable_frozen");
        let docs: Vec<Json> = docs.map(|mut event| event["doc"].take()).collect();
        assert_eq!(docs, [round.doc()]);
    }
}

#[test]
fn col_14_refuses_to_go_on_without_a_primary_deliverable() {
    let round = Round::at(Action::Complete);
    round.edit_protocol(|json| json["deliverables"]["primary"] = Json::Null);
    assert_eq!(round.errors()[0], Code::DeliverablesMissing);
    let draft = Draft {
        doc: Some(CONCLUSION_FILE.to_owned()),
        reply_to: Some(1),
        ..Draft::new("ada", "completed", "Done")
    };
    assert!(codes(&round.refuse_draft(&draft)).contains(&Code::ProtocolInvalid));

    let round = Round::at(Action::Complete);
    round.edit_protocol(|json| json["deliverables"]["primary"]["file"] = "adr.txt".into());
    assert!(round.errors().contains(&Code::PrimaryFile));
    assert!(
        round
            .refuse("ada", "completed")
            .contains(&Code::ProtocolInvalid)
    );
}

#[test]
fn col_15_accepts_the_receipt_beside_the_deliverable() {
    let round = Round::completed();
    let last = round.log().pop().unwrap();
    assert_eq!(
        (&last["event"], &last["doc"]),
        (&json!("completed"), &json!(CONCLUSION_FILE))
    );
    assert_eq!(round.doc(), "deliverables/adr.md");
    // A deliverable may be called conclusion.md, because it stands in a directory of its own.
    let named = FolderSettings {
        file: Some(CONCLUSION_FILE.to_owned()),
        ..settings()
    };
    assert_eq!(Round::of(named).doc(), "deliverables/conclusion.md");
}

#[test]
fn col_15_refuses_the_receipt_as_a_deliverable() {
    for dir in [".", "./", "./."] {
        let round = Round::before();
        let settings = FolderSettings {
            dir: dir.into(),
            file: Some(CONCLUSION_FILE.into()),
            ..settings()
        };
        let wrong = round.shared.init(settings, false).unwrap_err();
        assert_eq!(codes(&wrong), [Code::NameReserved], "{dir}");
        assert!(!round.shared.path().exists());
    }
    let round = Round::of(FolderSettings {
        dir: ".".into(),
        ..settings()
    });
    assert_eq!(
        refuse(&round, &supporting(CONCLUSION_FILE, false)),
        [Code::NameReserved]
    );
}

#[test]
fn col_16_accepts_supporting_deliverables_and_any_attachment() {
    let round = Round::new();
    round.shared.declare(&supporting("tests.md", true)).unwrap();
    round.write("deliverables/figures/one.png", [0xff, 0x00]);
    let figure = Declaration::Attachment("figures/one.png".to_owned());
    round.shared.declare(&figure).unwrap();
    let declared = &round.protocol()["deliverables"];
    let one = json!([{ "file": "tests.md", "type": "test-plan", "frozen": true }]);
    assert_eq!(declared["supporting"], one);
    assert_eq!(
        declared["attachments"],
        json!([{ "file": "figures/one.png" }])
    );
    assert!(
        round
            .read("deliverables/tests.md")
            .contains("## Test Matrix\n")
    );
    // The deliverable is declared frozen, but the log does not have the freeze yet.
    assert_eq!(round.errors()[0], Code::FreezeMissing);
    round
        .shared
        .declare(&supporting("tests.md", false))
        .unwrap();
    assert_eq!(round.errors(), []);
}

#[test]
fn col_16_refuses_other_files_and_the_same_file_twice() {
    let round = Round::new();
    for (file, code) in [
        ("tests.txt", Code::SupportingFile),
        ("../tests.md", Code::SupportingFile),
        ("adr.md", Code::SupportingPrimary),
    ] {
        assert_eq!(refuse(&round, &supporting(file, false)), [code], "{file}");
    }
    for (file, code) in [
        ("../../secret", Code::AttachmentFile),
        ("/etc/passwd", Code::AttachmentFile),
        ("figure.png", Code::AttachmentMissing),
    ] {
        let attachment = Declaration::Attachment(file.to_owned());
        assert_eq!(refuse(&round, &attachment), [code], "{file}");
    }
    let twice = json!({ "file": "tests.md", "type": "test-plan", "frozen": false });
    round
        .shared
        .declare(&supporting("tests.md", false))
        .unwrap();
    round.edit_protocol(|json| json["deliverables"]["supporting"] = json!([twice, twice]));
    assert_eq!(round.errors(), [Code::SupportingRepeated]);
}

#[test]
fn col_17_accepts_the_reference_of_each_mode_everywhere() {
    for (settings, doc) in [
        (settings(), "deliverables/adr.md"),
        (external(), "external:adr.md"),
    ] {
        let round = Round::of(settings);
        round.walk(Action::Stop);
        let of_deliverable = |event: &Json| event.get("role").is_some();
        let mut events = round.log();
        events.retain(of_deliverable);
        assert!(events.len() >= 2 && events.iter().all(|event| event["doc"] == doc));
        for name in [READINESS_FILE, CONCLUSION_FILE, DECISIONS_FILE] {
            let text = round.read(name);
            assert!(text.contains(&format!("`{doc}`")), "{name}: {text}");
        }
        assert_eq!(round.errors(), []);
    }
}

#[test]
fn col_17_refuses_the_reference_of_the_other_mode() {
    let others = [
        "external:adr.md",
        "external:docs/adr.md",
        "docs/adr.md",
        "adr.md",
    ];
    for (settings, docs) in [
        (settings(), [others[0], others[1], others[2], others[3]]),
        (
            external(),
            ["deliverables/adr.md", others[1], others[2], others[3]],
        ),
    ] {
        let round = Round::of(settings);
        for doc in docs {
            let doc = Some(doc.to_owned());
            let draft = Draft {
                doc,
                ..round.draft("ada", "deliverable_drafted")
            };
            let wrong = codes(&round.refuse_draft(&draft));
            assert_eq!(wrong, [Code::DocNotPrimary], "{draft:?}");
        }
    }
    let round = Round::of(external());
    round.walk(Action::Complete);
    round.replace(CONCLUSION_FILE, "external:adr.md", "docs/adr.md");
    assert!(
        round
            .refuse("ada", "completed")
            .contains(&Code::ConclusionPrimary)
    );
    round.replace(DECISIONS_FILE, "external:adr.md", "docs/adr.md");
    assert!(round.errors().contains(&Code::DecisionTarget));
}

#[test]
fn col_18_accepts_the_three_statuses() {
    let round = Round::new();
    let whole = round.read("deliverables/adr.md");
    for status in ["Draft", "In Review", "Frozen"] {
        let status = format!("Status: {status}\n");
        round.write(
            "deliverables/adr.md",
            whole.replace("Status: Draft\n", &status),
        );
        assert_eq!(round.errors(), []);
    }
}

#[test]
fn col_18_refuses_another_status() {
    let round = Round::new();
    let whole = round.read("deliverables/adr.md");
    for status in [
        "Status: Done\n",
        "Status: frozen\n",
        "- Status: Draft\n",
        "Status Draft\n",
        "",
    ] {
        round.write(
            "deliverables/adr.md",
            whole.replace("Status: Draft\n", status),
        );
        let findings = round.findings();
        assert_eq!(codes(&findings), [Code::StatusMissing], "{status}");
        assert_eq!(findings[0].file.as_deref(), Some("deliverables/adr.md"));
    }
}

#[test]
fn col_19_accepts_one_freeze_by_the_owner() {
    let round = Round::at(Action::Freeze);
    round.act("ada", Action::Freeze);
    let folder = round.folder();
    let frozen: Vec<_> = folder.state().unwrap().frozen().collect();
    assert_eq!(frozen, [("deliverables/adr.md", &round.sha256()[..])]);
    assert_eq!(round.errors(), []);
}

#[test]
fn col_19_refuses_a_freeze_by_another_a_second_one_and_a_way_back() {
    let round = Round::at(Action::Freeze);
    round.replace("deliverables/adr.md", "Status: Draft", "Status: Frozen");
    round.refuses("bob", "deliverable_frozen", &[Code::Turn]);
    round.append("ada", "deliverable_frozen");
    round.refuses("ada", "deliverable_frozen", &[Code::FrozenOnce]);
    let wrong = round.refuse("ada", "deliverable_revised");
    assert_eq!(wrong, [Code::RevisedAfterFreeze, Code::Phase]);
    round.refuses("ada", "deliverable_drafted", &[Code::Phase]);
    round.refuses("ada", "proposal_revised", &[Code::Phase]);
    // A supporting deliverable cannot be changed after its freeze either.
    let round = Round::new();
    round.shared.declare(&supporting("tests.md", true)).unwrap();
    round.fill("deliverables/tests.md");
    round.replace("deliverables/tests.md", "Status: Draft", "Status: Frozen");
    let of_it = |event| Draft {
        doc: Some("deliverables/tests.md".to_owned()),
        role: Some(Role::Supporting),
        ..round.draft("bob", event)
    };
    round.append_draft(&of_it("deliverable_frozen"));
    let wrong = round.refuse_draft(&of_it("deliverable_frozen"));
    assert_eq!(codes(&wrong), [Code::FrozenOnce]);
    let wrong = round.refuse_draft(&of_it("deliverable_revised"));
    assert_eq!(codes(&wrong), [Code::RevisedAfterFreeze]);
}

#[test]
fn col_20_accepts_a_file_that_says_frozen_with_all_sections_filled() {
    for mode in [Mode::Internal, Mode::External] {
        let of_mode = if mode == Mode::Internal {
            settings()
        } else {
            external()
        };
        let round = Round::of(of_mode);
        round.walk(Action::Freeze);
        round.act("ada", Action::Freeze);
        let event = round.log().pop().unwrap();
        assert_eq!(event["event"], "deliverable_frozen");
        assert_eq!(event["sha256"], round.sha256());
    }
}

#[test]
fn col_20_refuses_a_freeze_of_a_file_that_is_not_ready() {
    let round = Round::at(Action::Freeze);
    round.refuses("ada", "deliverable_frozen", &[Code::StatusNotFrozen]);
    round.replace("deliverables/adr.md", "Status: Draft", "Status: Frozen");
    let whole = round.read("deliverables/adr.md");
    let section = "## Context\n\nSomething is said here.\n";
    for (from, to, code) in [
        (section, "", Code::SectionMissing),
        (section, "## Context\n\n \n", Code::SectionEmpty),
        ("Status: Frozen\n", "", Code::StatusMissing),
    ] {
        assert!(whole.contains(from), "{whole}");
        round.write("deliverables/adr.md", whole.replace(from, to));
        assert_eq!(round.refuse("ada", "deliverable_frozen"), [code], "{to}");
    }
    round.remove("deliverables/adr.md");
    let wrong = round.refuse("ada", "deliverable_frozen");
    assert_eq!(wrong, [Code::Sha256Missing, Code::FileMissing]);
}
