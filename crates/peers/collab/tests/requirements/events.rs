//! The events of the log: COL-25 to COL-34.

use accp_collab::disk::{Declaration, Draft};
use accp_collab::{Action, Code, Event, EventName, Kind, LOG_FILE, Role};
use serde_json::{Value as Json, json};

use crate::requirements::round::{Round, codes, external};

/// Returns the codes of the errors after the first line of the log was changed.
fn errors_with(change: impl FnOnce(&mut Json)) -> Vec<Code> {
    let round = Round::new();
    let mut event = round.log().pop().unwrap();
    change(&mut event);
    round.write(LOG_FILE, format!("{event}\n"));
    round.errors()
}

/// Declares a supporting deliverable.
fn declare(round: &Round, is_frozen: bool) {
    let one = Declaration::Supporting {
        file: "tests.md".to_owned(),
        kind: Some(Kind::TestPlan),
        is_frozen,
    };
    round.shared.declare(&one).unwrap();
}

#[test]
fn col_25_accepts_events_with_their_members_and_numbers_from_1() {
    let round = Round::completed();
    let log = round.log();
    let numbers = log.iter().map(|event| event["seq"].as_u64().unwrap());
    assert_eq!(numbers.collect::<Vec<_>>(), (1..=13).collect::<Vec<_>>());
    for event in &log {
        for key in ["from", "event", "at", "summary"] {
            assert!(event[key].is_string(), "{event}");
        }
    }
    // The keys are in the order of the protocol, and keys without a value are left out.
    let line = round.read(LOG_FILE).lines().nth(10).unwrap().to_owned();
    let keys = [
        "{\"seq\":11,\"from\":",
        "\"event\":",
        "\"at\":",
        "\"summary\":",
        "\"doc\":",
    ];
    let keys = keys
        .into_iter()
        .chain(["\"reply_to\":", "\"role\":", "\"sha256\":"]);
    let places: Vec<usize> = keys
        .map(|key| line.find(key).unwrap_or(usize::MAX))
        .collect();
    assert!(places.is_sorted() && places[7] < line.len(), "{line}");
    assert_eq!(log[11].get("sha256"), None);
}

#[test]
fn col_25_refuses_a_gap_and_an_event_that_lacks_a_member() {
    for (seq, code) in [
        (json!(2), Code::Seq),
        (json!(0), Code::Seq),
        (json!("1"), Code::Seq),
        (json!([1]), Code::Seq),
        (json!(1.5), Code::Seq),
        (json!(null), Code::Seq),
    ] {
        let errors = errors_with(|event| event["seq"] = seq.clone());
        assert!(errors.contains(&code), "{seq}: {errors:?}");
    }
    for key in ["from", "event", "at", "summary"] {
        let errors = errors_with(|event| _ = event.as_object_mut().unwrap().remove(key));
        assert!(errors.contains(&Code::FieldMissing), "{key}: {errors:?}");
        let errors = errors_with(|event| event[key] = json!(1));
        assert!(errors.contains(&Code::FieldMissing), "{key}: {errors:?}");
    }
}

#[test]
fn col_26_accepts_the_participants_of_the_protocol() {
    let round = Round::at(Action::Review);
    for who in ["cy", "bob"] {
        assert_eq!(round.append(who, "review_submitted").event.from, who);
    }
}

#[test]
fn col_26_refuses_anybody_else() {
    let round = Round::at(Action::Review);
    for who in ["eve", "Bob", "bob ", ""] {
        let wrong = round.refuse_draft(&Draft {
            from: who.to_owned(),
            ..round.draft("bob", "review_submitted")
        });
        assert_eq!(
            codes(&wrong),
            [Code::ParticipantUnknown, Code::Turn],
            "{who}"
        );
        assert!(
            wrong[0].message.contains("ada, bob, cy"),
            "{}",
            wrong[0].message
        );
    }
    let errors = errors_with(|event| event["from"] = json!("eve"));
    assert!(errors.contains(&Code::ParticipantUnknown), "{errors:?}");
}

#[test]
fn col_27_accepts_the_thirteen_names() {
    let names = "initialized deliverable_drafted deliverable_revised deliverable_frozen \
        proposal_submitted review_submitted proposal_revised question_classified decision_proposed \
        decision_accepted readiness_passed completed blocked";
    let names: Vec<&str> = names.split(' ').collect();
    let known = EventName::ALL.iter().map(|name| name.as_str());
    assert_eq!(known.collect::<Vec<_>>(), names);
    for name in names {
        let line = format!(
            r#"{{"seq":1,"from":"ada","event":"{name}","at":"2026-01-01T00:00:00Z","summary":"x"}}"#
        );
        assert_eq!(Event::from_line(&line).unwrap().to_line(), line + "\n");
    }
}

#[test]
fn col_27_refuses_another_name() {
    let round = Round::new();
    for name in ["proposal_withdrawn", "Blocked", "", "blocked "] {
        assert_eq!(round.refuse("ada", name), [Code::EventUnknown], "{name}");
        let errors = errors_with(|event| event["event"] = json!(name));
        assert!(errors.contains(&Code::EventUnknown), "{name}: {errors:?}");
    }
}

#[test]
fn col_28_accepts_times_in_utc_that_never_go_back() {
    let round = Round::completed();
    let log = round.log();
    let times: Vec<&str> = log
        .iter()
        .map(|event| event["at"].as_str().unwrap())
        .collect();
    assert!(times.is_sorted(), "{times:?}");
    assert!(
        times.iter().all(|at| at.len() == 20 && at.ends_with('Z')),
        "{times:?}"
    );
    // The clock of another participant may be ahead. Then the event gets the time of the event
    // before it.
    let round = Round::new();
    let at = log[0]["at"].as_str().unwrap();
    let text = round.read(LOG_FILE);
    let ahead = text.replace(&round.log()[0]["at"].as_str().unwrap()[..4], "2999");
    assert_ne!(ahead, text);
    round.write(LOG_FILE, ahead);
    let appended = round.append("ada", "deliverable_drafted");
    assert_eq!(appended.event.at, round.log()[0]["at"]);
    assert!(appended.event.at.as_str() > at);
    assert_eq!(round.errors(), []);
}

#[test]
fn col_28_refuses_other_times_and_a_step_back() {
    for at in [
        "2026-01-01T00:00:00",
        "2026-01-01T00:00:00+02:00",
        "2026-13-01T00:00:00Z",
        "2026-01-01",
        "2026-01-01_00:00:00Z",
        "now",
        "",
    ] {
        let errors = errors_with(|event| event["at"] = json!(at));
        assert!(errors.contains(&Code::Time), "{at}: {errors:?}");
    }
    let round = Round::at(Action::Submit);
    let line = round.read(LOG_FILE).lines().nth(1).unwrap().to_owned();
    let mut event = Event::from_line(&line).unwrap();
    event.at = "2001-01-01T00:00:00Z".to_owned();
    round.replace(LOG_FILE, &format!("{line}\n"), &event.to_line());
    let findings = round.findings();
    assert_eq!(codes(&findings), [Code::TimeOrder]);
    assert_eq!((findings[0].line, findings[0].seq), (Some(2), Some(2)));
}

#[test]
fn col_29_accepts_a_sentence_of_any_letters() {
    let round = Round::new();
    // A line of the log stays one line, also for readers that end lines at these characters.
    let summary = "Größe „1“\u{2028}\u{2029}\u{85}\n\"end\"";
    let draft = Draft {
        summary: summary.to_owned(),
        ..round.draft("ada", "deliverable_drafted")
    };
    assert_eq!(round.append_draft(&draft).event.summary, summary);
    let text = round.read(LOG_FILE);
    let line = text.lines().nth(1).unwrap();
    assert!(
        line.contains(r#""summary":"Größe „1“\u2028\u2029\u0085\n\"end\"""#),
        "{line}"
    );
    assert_eq!(round.folder().last().unwrap().summary, summary);
    assert_eq!(round.errors(), []);
    // Other programs write these characters as they are.
    round.replace(LOG_FILE, "\\u2028\\u2029\\u0085", "\u{2028}\u{2029}\u{85}");
    assert_eq!(round.folder().last().unwrap().summary, summary);
    assert_eq!(round.errors(), []);
}

#[test]
fn col_29_refuses_a_blank_summary() {
    let round = Round::new();
    for summary in ["", " ", "\n\t", "\u{2003}"] {
        let draft = Draft {
            summary: summary.to_owned(),
            ..round.draft("ada", "deliverable_drafted")
        };
        assert_eq!(
            codes(&round.refuse_draft(&draft)),
            [Code::SummaryBlank],
            "{summary:?}"
        );
    }
}

#[test]
fn col_30_accepts_an_answer_to_any_earlier_event() {
    let round = Round::at(Action::Revise);
    let reply_to = Some(2);
    let draft = Draft {
        reply_to,
        ..round.draft("ada", "proposal_revised")
    };
    assert_eq!(round.append_draft(&draft).event.reply_to, reply_to);
    assert_eq!(round.log().pop().unwrap()["reply_to"], 2);
    assert_eq!(round.log()[0].get("reply_to"), None);
    assert_eq!(round.errors(), []);
}

#[test]
fn col_30_refuses_an_answer_to_nothing_to_itself_and_to_what_is_to_come() {
    let round = Round::new();
    for (reply_to, code) in [
        (None, Code::ReplyMissing),
        (Some(0), Code::ReplyUnknown),
        (Some(2), Code::ReplyUnknown),
        (Some(9), Code::ReplyUnknown),
    ] {
        let draft = Draft {
            reply_to,
            ..round.draft("ada", "deliverable_drafted")
        };
        assert_eq!(codes(&round.refuse_draft(&draft)), [code], "{reply_to:?}");
    }
    round.append("ada", "deliverable_drafted");
    round.replace(LOG_FILE, "\"reply_to\":1", "\"reply_to\":2");
    assert_eq!(round.errors(), [Code::ReplyUnknown]);
    round.replace(LOG_FILE, ",\"reply_to\":2", "");
    assert_eq!(round.errors(), [Code::ReplyMissing]);
    round.replace(LOG_FILE, ",\"role\"", ",\"reply_to\":\"1\",\"role\"");
    assert!(round.errors().contains(&Code::FieldMissing));
}

#[test]
fn col_31_accepts_files_of_the_folder_and_of_the_repository() {
    for doc in [
        "proposal.md",
        "notes/of today.md",
        "external:notes.md",
        "a..b.md",
    ] {
        let round = Round::of(external());
        round.walk(Action::Submit);
        let doc = Some(doc.to_owned());
        let draft = Draft {
            doc: doc.clone(),
            ..round.draft("ada", "proposal_submitted")
        };
        assert_eq!(round.append_draft(&draft).event.doc, doc);
        assert_eq!(round.errors(), []);
    }
}

#[test]
fn col_31_refuses_a_document_that_leads_out() {
    let round = Round::at(Action::Submit);
    let long = "a".repeat(5_000);
    for doc in [
        "../secret.md",
        "a/../../secret.md",
        "/etc/passwd",
        "external:../secret.md",
        "external:/etc/passwd",
        "a\\..\\..\\secret.md",
        "C:/secret.md",
        "a\0b.md",
        " ",
        &long,
    ] {
        let doc = Some(doc.to_owned());
        let draft = Draft {
            doc,
            ..round.draft("ada", "proposal_submitted")
        };
        assert_eq!(
            codes(&round.refuse_draft(&draft)),
            [Code::PathEscape],
            "{:?}",
            draft.doc
        );
    }
}

#[cfg(unix)]
#[test]
fn col_31_refuses_a_link_that_leads_out() {
    let round = Round::at(Action::Submit);
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.md"), "Status: Draft\n").unwrap();
    std::os::unix::fs::symlink(outside.path(), round.path("out")).unwrap();
    let doc = Some("out/secret.md".to_owned());
    let draft = Draft {
        doc,
        ..round.draft("ada", "proposal_submitted")
    };
    assert_eq!(codes(&round.refuse_draft(&draft)), [Code::PathEscape]);
    // A deliverable must not be such a link either.
    let round = Round::new();
    round.remove("deliverables/adr.md");
    let link = round.path("deliverables/adr.md");
    std::os::unix::fs::symlink(outside.path().join("secret.md"), link).unwrap();
    let wrong = round.refuse("ada", "deliverable_drafted");
    assert!(wrong.contains(&Code::PathEscape), "{wrong:?}");
    assert_eq!(round.errors(), [Code::PathEscape]);
}

#[test]
fn col_32_accepts_a_declared_deliverable_in_its_role() {
    let round = Round::new();
    declare(&round, false);
    let draft = Draft {
        doc: Some("deliverables/tests.md".to_owned()),
        role: Some(Role::Supporting),
        ..round.draft("cy", "deliverable_drafted")
    };
    let appended = round.append_draft(&draft);
    assert_eq!(appended.event.role, Some(Role::Supporting));
    assert_eq!(
        round.action("ada"),
        Action::Draft,
        "it is not the primary one"
    );
    let appended = round.append("ada", "deliverable_drafted");
    assert_eq!(appended.event.role, Some(Role::Primary));
    assert_eq!(round.errors(), []);
}

#[test]
fn col_32_refuses_an_event_without_its_role_and_its_document() {
    let round = Round::new();
    declare(&round, false);
    let whole = round.draft("ada", "deliverable_drafted");
    let doc = |doc: &str| Some(doc.to_owned());
    let (primary, supporting) = (Some(Role::Primary), Some(Role::Supporting));
    for (role, doc, code) in [
        (None, doc("deliverables/adr.md"), Code::RoleMissing),
        (primary, None, Code::DocMissing),
        (primary, doc("deliverables/tests.md"), Code::DocNotPrimary),
        (primary, doc("proposal.md"), Code::DocNotPrimary),
        (
            supporting,
            doc("deliverables/adr.md"),
            Code::DocNotSupporting,
        ),
        (
            supporting,
            doc("deliverables/other.md"),
            Code::DocNotSupporting,
        ),
    ] {
        let draft = Draft {
            role,
            doc,
            ..whole.clone()
        };
        assert_eq!(codes(&round.refuse_draft(&draft)), [code], "{draft:?}");
    }
    round.append_draft(&whole);
    round.replace(LOG_FILE, "\"role\":\"primary\"", "\"role\":\"main\"");
    assert!(round.errors().contains(&Code::RoleMissing));
    round.replace(LOG_FILE, ",\"role\":\"main\"", "");
    assert!(round.errors().contains(&Code::RoleMissing));
}

#[test]
fn col_33_accepts_the_sha256_of_the_file() {
    for has_hash in [true, false] {
        let round = Round::at(Action::Freeze);
        round.replace("deliverables/adr.md", "Status: Draft", "Status: Frozen");
        let sha256 = round.sha256();
        let given = Some(sha256.clone()).filter(|_| !has_hash);
        let draft = round.draft("ada", "deliverable_frozen");
        let draft = Draft {
            has_hash,
            sha256: given,
            ..draft
        };
        assert_eq!(
            round.append_draft(&draft).event.sha256,
            Some(sha256.clone())
        );
        assert_eq!(round.log().pop().unwrap()["sha256"], sha256);
    }
}

#[test]
fn col_33_refuses_another_sha256_and_none() {
    let round = Round::at(Action::Freeze);
    round.replace("deliverables/adr.md", "Status: Draft", "Status: Frozen");
    let sha256 = round.sha256();
    for (given, code) in [
        (String::new(), Code::Sha256Missing),
        (sha256.to_uppercase(), Code::Sha256Missing),
        (sha256[1..].to_owned(), Code::Sha256Missing),
        (format!("{sha256}0"), Code::Sha256Missing),
        (format!("x{}", &sha256[1..]), Code::Sha256Missing),
        ("0".repeat(64), Code::Sha256Differs),
    ] {
        let draft = round.draft("ada", "deliverable_frozen");
        let draft = Draft {
            has_hash: false,
            sha256: Some(given.clone()),
            ..draft
        };
        let wrong = codes(&round.refuse_draft(&draft));
        assert!(wrong.contains(&code), "{given}: {wrong:?}");
    }
    let unhashed = Draft {
        has_hash: false,
        ..round.draft("ada", "deliverable_frozen")
    };
    assert_eq!(codes(&round.refuse_draft(&unhashed)), [Code::Sha256Missing]);
}

#[test]
fn col_34_accepts_a_frozen_file_that_stays_as_it_is() {
    let round = Round::completed();
    let frozen = round.read("deliverables/adr.md");
    round.write("deliverables/adr.md", frozen);
    assert_eq!(round.errors(), []);
}

#[test]
fn col_34_refuses_a_change_after_the_freeze() {
    let round = Round::at(Action::PassReadiness);
    let frozen = round.read("deliverables/adr.md");
    for changed in [format!("{frozen}\n"), frozen.replace('\n', "\r\n")] {
        round.write("deliverables/adr.md", changed);
        let findings = round.findings();
        assert_eq!(codes(&findings), [Code::Sha256Differs]);
        assert_eq!(
            (findings[0].seq, findings[0].file.as_deref()),
            (Some(11), Some("deliverables/adr.md"))
        );
        round.refuses("ada", "readiness_passed", &[Code::Sha256Differs]);
    }
    let round = Round::completed();
    round.replace("deliverables/adr.md", "Something", "Anything");
    assert_eq!(round.errors(), [Code::Sha256Differs]);
    // The hash of a supporting deliverable is checked as well.
    let round = Round::new();
    declare(&round, true);
    round.fill("deliverables/tests.md");
    round.replace("deliverables/tests.md", "Status: Draft", "Status: Frozen");
    let draft = Draft {
        doc: Some("deliverables/tests.md".to_owned()),
        role: Some(Role::Supporting),
        ..round.draft("bob", "deliverable_frozen")
    };
    round.append_draft(&draft);
    assert_eq!(round.errors(), []);
    round.replace("deliverables/tests.md", "Something", "Anything");
    assert_eq!(round.errors(), [Code::Sha256Differs]);
}
