//! What has to be known before a collaboration begins: COL-01 to COL-07.

use accp_collab::disk::Draft;
use accp_collab::{Code, FolderSettings, Kind, LOG_FILE, PROTOCOL_FILE, next};
use serde_json::{Value as Json, json};

use crate::requirements::round::{Round, codes, custom, external, settings};

/// Returns the codes with which settings are refused. Nothing is made then, not even the folder.
fn refuse(settings: FolderSettings) -> Vec<Code> {
    let round = Round::before();
    let wrong = round.shared.init(settings, false).unwrap_err();
    assert_eq!(std::fs::read_dir(round.repository()).unwrap().count(), 0);
    codes(&wrong)
}

/// Returns what protocol.json declares about deliverables after a folder was made from settings.
fn declared(settings: FolderSettings) -> (Round, Json) {
    let round = Round::of(settings);
    let declared = round.protocol()["deliverables"].take();
    (round, declared)
}

#[test]
fn col_01_accepts_a_plan_with_all_inputs() {
    let round = Round::of(settings());
    let json = round.protocol();
    assert_eq!(json["objective"], "Choose a store");
    assert_eq!(json["objectiveGates"], json!(["It is fast"]));
    let participants = json!([{ "id": "ada" }, { "id": "bob" }, { "id": "cy" }]);
    assert_eq!(json["participants"], participants);
    assert_eq!(json["deliverables"]["primary"]["type"], "adr");
    assert_eq!(
        round.append("ada", "deliverable_drafted").event.from,
        "ada",
        "the participant says who it is"
    );
}

#[test]
fn col_01_refuses_to_make_anything_while_an_input_is_missing() {
    let blank = || vec![" ".to_owned()];
    for (broken, code) in [
        (
            FolderSettings {
                objective: " ".into(),
                ..settings()
            },
            Code::ObjectiveBlank,
        ),
        (
            FolderSettings {
                gates: vec![],
                ..settings()
            },
            Code::GatesEmpty,
        ),
        (
            FolderSettings {
                gates: blank(),
                ..settings()
            },
            Code::GatesEmpty,
        ),
        (
            FolderSettings {
                participants: vec![],
                ..settings()
            },
            Code::ParticipantsFew,
        ),
        (
            FolderSettings {
                participants: vec!["ada".into(); 2],
                ..settings()
            },
            Code::ParticipantsFew,
        ),
    ] {
        assert_eq!(refuse(broken), [code]);
    }
    // The settings lack a type, and also what a custom deliverable needs.
    let untyped = FolderSettings {
        kind: None,
        ..settings()
    };
    assert_eq!(
        refuse(untyped),
        [Code::PrimaryFileMissing, Code::ChecklistMissing]
    );
    // One call reports all missing settings.
    let nothing = FolderSettings {
        objective: String::new(),
        participants: vec![],
        gates: vec![],
        ..settings()
    };
    let all = [
        Code::ObjectiveBlank,
        Code::ParticipantsFew,
        Code::GatesEmpty,
    ];
    assert_eq!(refuse(nothing), all);
    // An event without the name of its participant is refused.
    let round = Round::new();
    let nameless = Draft {
        from: String::new(),
        ..round.draft("ada", "deliverable_drafted")
    };
    let wrong = codes(&round.refuse_draft(&nameless));
    assert!(wrong.contains(&Code::ParticipantUnknown), "{wrong:?}");
    let wrong = next(&round.folder(), "").unwrap_err();
    assert_eq!(codes(&wrong), [Code::ParticipantUnknown]);
}

#[test]
fn col_02_accepts_the_seven_types() {
    let names = Kind::ALL.iter().map(|kind| kind.as_str());
    let six = [
        "adr",
        "design-spec",
        "implementation-plan",
        "decision-memo",
        "review-report",
        "test-plan",
    ];
    assert_eq!(names.collect::<Vec<_>>(), six);
    for kind in Kind::ALL {
        let (round, declared) = declared(FolderSettings {
            kind: Some(*kind),
            ..settings()
        });
        assert_eq!(declared["primary"]["type"], kind.as_str());
        assert_eq!(round.errors(), []);
    }
    let (round, declared) = declared(custom());
    assert_eq!(declared["primary"]["type"], "custom");
    assert_eq!(round.errors(), []);
}

#[test]
fn col_02_refuses_another_type() {
    for name in [
        json!("memo"),
        json!("ADR"),
        json!(""),
        json!(1),
        json!(null),
    ] {
        assert_eq!(name.as_str().and_then(Kind::named), None);
        let round = Round::new();
        round.edit_protocol(|json| json["deliverables"]["primary"]["type"] = name.clone());
        let errors = round.errors();
        assert!(errors.contains(&Code::PrimaryType), "{name}: {errors:?}");
        let wrong = round.refuse("ada", "deliverable_drafted");
        assert!(wrong.contains(&Code::ProtocolInvalid), "{name}: {wrong:?}");
    }
}

#[test]
fn col_03_accepts_the_name_of_the_type_and_another_name() {
    for kind in Kind::ALL {
        let (round, declared) = declared(FolderSettings {
            kind: Some(*kind),
            ..settings()
        });
        let file = format!("{kind}.md");
        assert_eq!(declared["primary"]["file"], file);
        assert!(round.path("deliverables").join(file).is_file());
    }
    let named = FolderSettings {
        file: Some("papers/store.md".into()),
        ..settings()
    };
    assert_eq!(declared(named).0.doc(), "deliverables/papers/store.md");
    assert_eq!(declared(custom()).0.doc(), "deliverables/memo.md");
}

#[test]
fn col_03_refuses_a_custom_type_without_a_file_and_a_file_that_is_not_markdown() {
    let nameless = FolderSettings {
        file: None,
        ..custom()
    };
    assert_eq!(refuse(nameless), [Code::PrimaryFileMissing]);
    for file in [
        "adr.txt",
        "adr",
        "md",
        "adr.md/",
        " ",
        "/adr.md",
        "../adr.md",
        "a\0.md",
    ] {
        let wrong = refuse(FolderSettings {
            file: Some(file.into()),
            ..settings()
        });
        assert_eq!(wrong, [Code::PrimaryFile], "{file}");
    }
}

#[test]
fn col_04_accepts_a_checklist() {
    let (round, declared) = declared(custom());
    assert_eq!(
        declared["primary"]["checklist"],
        json!(["Question", "Answer"])
    );
    let text = round.read("deliverables/memo.md");
    assert!(text.ends_with("\n## Question\n\n\n## Answer\n\n"), "{text}");
    assert_eq!(round.errors(), []);
}

#[test]
fn col_04_refuses_a_custom_type_without_a_checklist() {
    for checklist in [vec![], vec![" ".to_owned()]] {
        let wrong = refuse(FolderSettings {
            checklist,
            ..custom()
        });
        assert_eq!(wrong, [Code::ChecklistMissing]);
    }
    for checklist in [json!([]), json!([" "]), json!("Question"), json!(null)] {
        let round = Round::of(custom());
        round.edit_protocol(|json| json["deliverables"]["primary"]["checklist"] = checklist);
        assert_eq!(round.errors(), [Code::Checklist]);
    }
}

#[test]
fn col_05_accepts_internal_deliverables_and_external_ones_with_a_repository() {
    let (round, declared) = declared(settings());
    assert_eq!(declared["mode"], "internal");
    assert_eq!(round.protocol().get("repoRoot"), None);
    assert!(round.path("deliverables/adr.md").is_file());

    let (round, declared) = self::declared(external());
    assert_eq!(declared["mode"], "external");
    assert_eq!(round.protocol()["repoRoot"], "../..");
    assert!(round.repository().join("docs/adr.md").is_file());
    assert!(!round.path("docs").exists());
    assert_eq!(round.errors(), []);
}

#[test]
fn col_05_refuses_external_deliverables_without_a_repository_around_the_folder() {
    let nowhere = [
        "../../../../../../../../../../../../..",
        "sub",
        "../sibling",
    ];
    for root in nowhere
        .into_iter()
        .chain([" ", "/tmp"])
        .map(Some)
        .chain([None])
    {
        let repo_root = root.map(str::to_owned);
        let wrong = refuse(FolderSettings {
            repo_root,
            ..external()
        });
        assert_eq!(wrong, [Code::RepoRoot], "{root:?}");
    }
    let beside = FolderSettings {
        repo_root: Some("..".into()),
        ..settings()
    };
    assert_eq!(refuse(beside), [Code::RepoRoot]);
    // The same rule holds for a protocol.json that was edited.
    let round = Round::of(external());
    round.edit_protocol(|json| json["repoRoot"] = "../../../../../../../..".into());
    assert_eq!(round.errors()[0], Code::RepoRoot);
}

#[test]
fn col_06_accepts_another_directory() {
    let (round, declared) = declared(FolderSettings {
        dir: "papers/of it".into(),
        ..settings()
    });
    assert_eq!(declared["dir"], "papers/of it");
    assert!(round.path("papers/of it/adr.md").is_file());
    assert_eq!(round.doc(), "papers/of it/adr.md");
    assert_eq!(round.errors(), []);
}

#[test]
fn col_06_refuses_a_directory_that_is_not_below_the_root() {
    for dir in [
        "..",
        "../up",
        "a/../../up",
        "/up",
        "a\\..\\..",
        " ",
        "C:/up",
    ] {
        assert_eq!(
            refuse(FolderSettings {
                dir: dir.into(),
                ..settings()
            }),
            [Code::Dir],
            "{dir}"
        );
        let round = Round::new();
        round.edit_protocol(|json| json["deliverables"]["dir"] = dir.into());
        assert!(round.errors().contains(&Code::Dir), "{dir}");
    }
}

#[test]
fn col_07_accepts_the_gates_of_the_user_and_no_others() {
    let gates = vec!["It is fast".to_owned(), "It is cheap".to_owned()];
    let round = Round::of(FolderSettings {
        gates: gates.clone(),
        ..settings()
    });
    let json = round.protocol();
    assert_eq!(json["objectiveGates"], json!(gates));
    let all = json["completionGates"].as_array().unwrap();
    let of_objective = all.iter().filter(|gate| gate["source"] == "objective");
    let of_objective: Vec<&Json> = of_objective.map(|gate| &gate["text"]).collect();
    assert_eq!(of_objective, ["It is fast", "It is cheap"]);
}

#[test]
fn col_07_refuses_to_invent_a_gate() {
    assert_eq!(
        refuse(FolderSettings {
            gates: vec![],
            ..settings()
        }),
        [Code::GatesEmpty]
    );
    let round = Round::new();
    let log = round.read(LOG_FILE);
    round.edit_protocol(|json| json["completionGates"] = json!([]));
    let broken = round.read(PROTOCOL_FILE);
    assert_eq!(round.errors(), [Code::GatesEmpty]);
    round.refuses("ada", "deliverable_drafted", &[Code::ProtocolInvalid]);
    // The repair refuses such a protocol.json too.
    assert_eq!(
        codes(&round.shared.repair().unwrap_err()),
        [Code::ProtocolInvalid]
    );
    assert_eq!(
        (round.read(PROTOCOL_FILE), round.read(LOG_FILE)),
        (broken, log)
    );
}
