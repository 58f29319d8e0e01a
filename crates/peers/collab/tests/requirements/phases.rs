//! Phases and turns: COL-35 to COL-45.

use accp_collab::disk::Draft;
use accp_collab::table::Phase;
use accp_collab::{Action, Code, FolderSettings, Mode, PROTOCOL_FILE};
use serde_json::json;

use crate::requirements::round::{Round, codes, external, settings};

/// Checks the phase and the participants that have the turn, in the log and in the copy in protocol.json.
fn stands(round: &Round, phase: &str, waiting_for: &[&str]) {
    assert_eq!(
        (round.phase().as_str(), &round.waiting_for()[..]),
        (phase, &owned(waiting_for)[..])
    );
    let json = round.protocol();
    assert_eq!(json["currentPhase"], phase);
    assert_eq!(json["waitingFor"], json!(waiting_for));
    assert_eq!(json["proposalOwner"], "ada");
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn col_35_accepts_a_copy_that_is_what_the_log_comes_to() {
    let round = Round::new();
    stands(&round, "drafting", &["ada"]);
    for (action, phase, waiting_for) in [
        (Action::Submit, "drafting", &["ada"][..]),
        (Action::Review, "reviewing", &["bob", "cy"]),
        (Action::Revise, "revising", &["ada"]),
        (Action::Classify, "decision_review", &["ada"]),
        (Action::Accept, "decision_review", &["ada", "bob", "cy"]),
        (Action::Freeze, "readiness_check", &["ada"]),
        (Action::PassReadiness, "readiness_check", &["ada"]),
        (Action::Stop, "completed", &[]),
    ] {
        round.walk(action);
        stands(&round, phase, waiting_for);
        assert_eq!(
            round
                .folder()
                .protocol()
                .unwrap()
                .compare(round.folder().state().unwrap()),
            None
        );
    }
}

#[test]
fn col_35_refuses_a_copy_that_says_something_else() {
    for (key, value) in [
        ("currentPhase", json!("completed")),
        ("proposalOwner", json!("bob")),
        ("waitingFor", json!([])),
        ("waitingFor", json!(["cy", "bob"])),
    ] {
        let round = Round::at(Action::Review);
        let whole = round.protocol();
        round.edit_protocol(|json| json[key] = value.clone());
        assert_eq!(round.errors(), [Code::StateDiffers], "{key}: {value}");
        // The log still decides the phase. A repair or the next event mends the copy.
        assert_eq!(round.phase(), Phase::Reviewing);
        round.refuses("ada", "review_submitted", &[Code::Turn]);
        assert_eq!(round.shared.repair().unwrap().files, [PROTOCOL_FILE]);
        assert_eq!(round.protocol()[key], whole[key]);
        round.append("cy", "review_submitted");
        stands(&round, "reviewing", &["bob"]);
    }
}

#[test]
fn col_36_accepts_drafts_and_then_the_proposal() {
    let round = Round::new();
    for _ in 0..2 {
        round.append("ada", "deliverable_drafted");
        stands(&round, "drafting", &["ada"]);
    }
    let appended = round.append("ada", "proposal_submitted");
    assert_eq!(
        (appended.event.seq, appended.state.phase()),
        (4, Phase::Reviewing)
    );
    stands(&round, "reviewing", &["bob", "cy"]);
}

#[test]
fn col_36_refuses_a_proposal_without_a_draft_and_anything_else() {
    let round = Round::new();
    round.refuses("ada", "proposal_submitted", &[Code::NotDrafted]);
    round.refuses("bob", "proposal_submitted", &[Code::Turn, Code::NotDrafted]);
    round.refuses("bob", "deliverable_drafted", &[Code::Turn]);
    for event in [
        "deliverable_revised",
        "review_submitted",
        "proposal_revised",
        "decision_proposed",
    ] {
        assert_eq!(round.refuse("ada", event), [Code::Phase], "{event}");
    }
    // A draft of a supporting deliverable does not count as a draft of the primary one.
    let round = Round::new();
    round.edit_protocol(|json| {
        json["deliverables"]["supporting"] = json!([{ "file": "tests.md", "type": "test-plan" }]);
    });
    round.write("deliverables/tests.md", "Status: Draft\n");
    round.append_draft(&Draft {
        doc: Some("deliverables/tests.md".to_owned()),
        role: Some(accp_collab::Role::Supporting),
        ..round.draft("ada", "deliverable_drafted")
    });
    round.refuses("ada", "proposal_submitted", &[Code::NotDrafted]);
}

#[test]
fn col_37_accepts_one_review_of_each_in_any_order() {
    let round = Round::at(Action::Review);
    round.append("cy", "review_submitted");
    stands(&round, "reviewing", &["bob"]);
    round.append("bob", "review_submitted");
    stands(&round, "revising", &["ada"]);
}

#[test]
fn col_37_refuses_a_second_review_and_one_of_the_owner() {
    let round = Round::at(Action::Review);
    round.refuses("ada", "review_submitted", &[Code::Turn]);
    round.append("cy", "review_submitted");
    round.refuses("cy", "review_submitted", &[Code::Turn]);
    for event in ["proposal_revised", "deliverable_revised"] {
        assert_eq!(round.refuse("ada", event), [Code::Phase], "{event}");
    }
    round.append("bob", "review_submitted");
    round.refuses("bob", "review_submitted", &[Code::Phase]);
}

#[test]
fn col_38_accepts_the_three_ways_out_of_revising() {
    for (event, phase, waiting_for) in [
        ("proposal_revised", "decision_review", &["ada"][..]),
        ("decision_proposed", "decision_review", &["ada"]),
        ("proposal_submitted", "reviewing", &["bob", "cy"]),
    ] {
        let round = Round::at(Action::Revise);
        round.append("ada", "deliverable_revised");
        round.append("ada", "deliverable_drafted");
        stands(&round, "revising", &["ada"]);
        round.append("ada", event);
        stands(&round, phase, waiting_for);
    }
}

#[test]
fn col_38_refuses_others_than_the_owner_and_other_events() {
    let round = Round::at(Action::Revise);
    let events = [
        "deliverable_revised",
        "proposal_revised",
        "proposal_submitted",
        "decision_proposed",
    ];
    for event in events {
        assert_eq!(round.refuse("bob", event), [Code::Turn], "{event}");
    }
    for event in ["review_submitted", "question_classified"] {
        assert_eq!(round.refuse("ada", event), [Code::Phase], "{event}");
    }
    round.refuses("bob", "decision_accepted", &[Code::Phase, Code::Unresolved]);
    round.refuses(
        "ada",
        "deliverable_frozen",
        &[Code::Phase, Code::StatusNotFrozen],
    );
}

#[test]
fn col_39_accepts_the_classification_and_then_each_participant_once() {
    let round = Round::at(Action::Classify);
    stands(&round, "decision_review", &["ada"]);
    round.act("ada", Action::Classify);
    stands(&round, "decision_review", &["ada", "bob", "cy"]);
    for (who, left) in [("bob", &["ada", "cy"][..]), ("ada", &["cy"])] {
        round.append(who, "decision_accepted");
        stands(&round, "decision_review", left);
    }
    round.append("cy", "decision_accepted");
    stands(&round, "readiness_check", &["ada"]);
}

#[test]
fn col_39_refuses_an_acceptance_without_a_classification_and_a_second_one() {
    let round = Round::at(Action::Classify);
    round.replace("readiness.md", "- [unresolved]", "- [resolved]");
    round.refuses("ada", "decision_accepted", &[Code::NotClassified]);
    round.refuses(
        "bob",
        "decision_accepted",
        &[Code::Turn, Code::NotClassified],
    );
    round.refuses("bob", "question_classified", &[Code::Turn]);
    round.append("ada", "question_classified");
    round.append("bob", "decision_accepted");
    round.refuses("bob", "decision_accepted", &[Code::Turn]);
}

#[test]
fn col_40_accepts_a_new_question_to_all_after_each_change() {
    for event in ["question_classified", "decision_proposed"] {
        let round = Round::at(Action::Accept);
        round.append("ada", "decision_accepted");
        round.append("bob", "decision_accepted");
        stands(&round, "decision_review", &["cy"]);
        round.append("ada", event);
        if event == "decision_proposed" {
            stands(&round, "decision_review", &["ada"]);
            round.append("ada", "question_classified");
        }
        stands(&round, "decision_review", &["ada", "bob", "cy"]);
        for who in ["ada", "bob", "cy"] {
            round.append(who, "decision_accepted");
        }
        stands(&round, "readiness_check", &["ada"]);
    }
    // After a new proposal, reviews and acceptances are needed again.
    let round = Round::at(Action::Revise);
    round.append("ada", "proposal_submitted");
    round.walk(Action::Accept);
    stands(&round, "decision_review", &["ada", "bob", "cy"]);
}

#[test]
fn col_40_refuses_to_count_acceptances_from_before() {
    let round = Round::at(Action::Accept);
    round.append("bob", "decision_accepted");
    round.append("ada", "decision_proposed");
    // A decision that is proposed again needs a new classification, too.
    round.refuses("ada", "decision_accepted", &[Code::NotClassified]);
    round.refuses(
        "cy",
        "decision_accepted",
        &[Code::Turn, Code::NotClassified],
    );
    round.append("ada", "question_classified");
    round.append("ada", "decision_accepted");
    round.append("cy", "decision_accepted");
    stands(&round, "decision_review", &["bob"]);
    assert!(
        round
            .refuse("ada", "deliverable_frozen")
            .contains(&Code::Phase)
    );
}

#[test]
fn col_41_accepts_the_freeze_and_then_the_readiness() {
    let round = Round::at(Action::Freeze);
    stands(&round, "readiness_check", &["ada"]);
    round.act("ada", Action::Freeze);
    stands(&round, "readiness_check", &["ada"]);
    round.walk(Action::PassReadiness);
    round.append("ada", "readiness_passed");
    // The owner may append `readiness_passed` again.
    round.append("ada", "readiness_passed");
    stands(&round, "readiness_check", &["ada"]);
    assert_eq!(round.errors(), []);
}

#[test]
fn col_41_refuses_the_readiness_without_a_freeze_and_by_others() {
    let round = Round::at(Action::Freeze);
    let wrong = round.refuse("ada", "readiness_passed");
    assert_eq!(wrong[0], Code::NotFrozen, "{wrong:?}");
    let round = Round::at(Action::PassReadiness);
    round.refuses("bob", "readiness_passed", &[Code::Turn]);
    for event in [
        "decision_proposed",
        "proposal_submitted",
        "question_classified",
    ] {
        assert_eq!(round.refuse("ada", event), [Code::Phase], "{event}");
    }
}

#[test]
fn col_42_accepts_the_end_with_a_conclusion() {
    for settings in [settings(), external()] {
        let round = Round::of(FolderSettings {
            mode: settings.mode,
            ..settings
        });
        round.walk(Action::Complete);
        let appended = round.append("ada", "completed");
        assert_eq!(appended.event.doc.as_deref(), Some("conclusion.md"));
        stands(&round, "completed", &[]);
        assert_eq!(round.errors(), []);
    }
}

#[test]
fn col_42_refuses_an_early_end_another_document_and_anything_after_it() {
    let round = Round::at(Action::PassReadiness);
    let wrong = round.refuse("ada", "completed");
    assert_eq!(wrong[0], Code::NotReady, "{wrong:?}");
    let round = Round::at(Action::Complete);
    round.refuses("bob", "completed", &[Code::Turn]);
    for doc in [
        None,
        Some("readiness.md".to_owned()),
        Some("deliverables/adr.md".to_owned()),
    ] {
        let draft = Draft {
            doc,
            ..round.draft("ada", "completed")
        };
        assert_eq!(codes(&round.refuse_draft(&draft)), [Code::ConclusionDoc]);
    }
    round.append("ada", "completed");
    for event in [
        "completed",
        "blocked",
        "readiness_passed",
        "deliverable_drafted",
    ] {
        let wrong = round.refuse("ada", event);
        assert!(wrong.contains(&Code::Phase), "{event}: {wrong:?}");
    }
}

#[test]
fn col_43_accepts_a_block_by_anybody_at_any_time() {
    for action in [
        Action::Draft,
        Action::Review,
        Action::Revise,
        Action::Classify,
        Action::Accept,
        Action::Freeze,
        Action::Complete,
    ] {
        for who in ["ada", "cy"] {
            let round = Round::at(action);
            round.append(who, "blocked");
            stands(&round, "blocked", &[]);
            assert_eq!(round.errors(), []);
        }
    }
}

#[test]
fn col_43_refuses_anything_after_a_block() {
    let round = Round::at(Action::Review);
    round.append("cy", "blocked");
    for (who, event) in [
        ("bob", "review_submitted"),
        ("ada", "blocked"),
        ("ada", "proposal_submitted"),
    ] {
        assert_eq!(round.refuse(who, event), [Code::Phase], "{event}");
    }
    let draft = round.draft("eve", "blocked");
    assert_eq!(
        codes(&round.refuse_draft(&draft)),
        [Code::ParticipantUnknown, Code::Phase]
    );
    let round = Round::completed();
    round.refuses("bob", "blocked", &[Code::Phase]);
}

#[test]
fn col_44_accepts_the_names_in_ascending_order() {
    let participants = ["mia", "zoe", "Bob", "anna", "Örn"]
        .map(str::to_owned)
        .to_vec();
    let round = Round::of(FolderSettings {
        participants,
        mode: Mode::Internal,
        ..settings()
    });
    assert_eq!(round.waiting_for(), ["mia"]);
    round.walk(Action::Review);
    // Names are sorted by their characters, as in Python.
    assert_eq!(round.waiting_for(), ["Bob", "anna", "zoe", "Örn"]);
    round.append("anna", "review_submitted");
    assert_eq!(round.waiting_for(), ["Bob", "zoe", "Örn"]);
    round.walk(Action::Accept);
    assert_eq!(
        round.protocol()["waitingFor"],
        json!(["Bob", "anna", "mia", "zoe", "Örn"])
    );
    round.walk(Action::Stop);
    assert_eq!(round.protocol()["waitingFor"], json!([]));
}

#[test]
fn col_44_refuses_a_list_in_another_order_and_one_that_is_not_empty_at_the_end() {
    let round = Round::at(Action::Review);
    for waiting in [
        json!(["cy", "bob"]),
        json!(["bob"]),
        json!(["ada", "bob", "cy"]),
    ] {
        round.edit_protocol(|json| json["waitingFor"] = waiting);
        assert_eq!(round.errors(), [Code::StateDiffers]);
    }
    let round = Round::completed();
    round.edit_protocol(|json| json["waitingFor"] = json!(["ada"]));
    assert_eq!(round.errors(), [Code::StateDiffers]);
    round.edit_protocol(|json| json["waitingFor"] = json!(null));
    assert!(round.errors().contains(&Code::WaitingAbsent));
}

#[test]
fn col_45_accepts_those_who_are_asked() {
    let round = Round::at(Action::Review);
    let appended = round.append("bob", "review_submitted");
    assert_eq!(appended.state.waiting_for(), ["cy"]);
    // A participant without the turn may still append events of supporting deliverables, and `blocked`.
    let appended = round.append("ada", "blocked");
    assert_eq!(appended.state.phase(), Phase::Blocked);
}

#[test]
fn col_45_refuses_others_and_names_those_who_are_asked() {
    let round = Round::at(Action::Review);
    for (who, event, asked) in [
        ("ada", "review_submitted", "reserved for bob, cy;"),
        ("bob", "proposal_submitted", ""),
    ] {
        let draft = Draft {
            review: None,
            ..round.draft(who, event)
        };
        let wrong = round.refuse_draft(&draft);
        assert!(wrong[0].message.contains(asked), "{}", wrong[0].message);
        assert_eq!(wrong[0].seq, Some(4));
    }
    round.append("cy", "review_submitted");
    let wrong = round.refuse_draft(&round.draft("cy", "review_submitted"));
    assert_eq!(codes(&wrong), [Code::Turn]);
    assert!(
        wrong[0].message.contains("reserved for bob;"),
        "{}",
        wrong[0].message
    );
    let round = Round::new();
    let wrong = round.refuse_draft(&round.draft("bob", "deliverable_drafted"));
    assert!(
        wrong[0].message.contains("reserved for ada;"),
        "{}",
        wrong[0].message
    );
}
