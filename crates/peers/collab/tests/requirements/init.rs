//! The beginning of a folder: COL-21 to COL-24.

use std::fs;

use accp_collab::{Action, Code, LOG_FILE, PROTOCOL_FILE, READINESS_FILE};
use serde_json::{Value as Json, json};

use crate::requirements::round::{Round, codes, external, settings};

/// All files that `init` makes, in order.
const MADE: [&str; 9] = [
    "deliverables/adr.md",
    "README.md",
    "proposal.md",
    "review.md",
    "decisions.md",
    "readiness.md",
    "conclusion.md",
    "events.jsonl",
    "protocol.json",
];

#[test]
fn col_21_accepts_a_new_folder_with_its_first_event() {
    let round = Round::before();
    let made = round.shared.init(settings(), false).unwrap();
    assert_eq!(made.files, MADE);
    let mut there: Vec<_> = round.files().into_keys().collect();
    there.retain(|path| MADE.iter().all(|name| *path != round.path(name)));
    assert_eq!(there, [""; 0].map(std::path::PathBuf::from));
    let mut event = round.log().pop().unwrap();
    let at = event["at"].take();
    assert_eq!(at, round.protocol()["createdAt"]);
    let expected = json!({
        "seq": 1, "from": "ada", "event": "initialized", "at": null,
        "summary": "The collaboration begins.", "doc": "protocol.json",
    });
    assert_eq!(event, expected);
    assert_eq!(round.errors(), []);
    assert_eq!(round.warnings(), []);
}

#[test]
fn col_21_refuses_another_first_event_and_a_second_beginning() {
    let round = Round::new();
    round.refuses("ada", "initialized", &[Code::First]);
    round.refuses("bob", "initialized", &[Code::First]);
    let whole = round.read(LOG_FILE);
    round.write(LOG_FILE, whole.replace("\"initialized\"", "\"blocked\""));
    let errors = round.errors();
    assert!(errors.contains(&Code::First), "{errors:?}");
    round.write(
        LOG_FILE,
        whole.replace("\"from\":\"ada\"", "\"from\":\"eve\""),
    );
    assert!(round.errors().contains(&Code::ParticipantUnknown));
}

#[test]
fn col_22_accepts_six_generated_gates_behind_those_of_the_objective() {
    for (settings, doc) in [
        (settings(), "deliverables/adr.md"),
        (external(), "external:adr.md"),
    ] {
        let round = Round::of(settings);
        let gate = |source: &str, text: &str| json!({ "source": source, "text": text });
        let expected = json!([
            gate("objective", "It is fast"),
            gate("generated", &format!("Primary deliverable exists: `{doc}`")),
            gate(
                "generated",
                "Primary deliverable has required `adr` sections"
            ),
            gate("generated", "Every accepted decision has `Reflected in`"),
            gate(
                "generated",
                "Every accepted decision is reflected in the primary deliverable"
            ),
            gate("generated", "Primary deliverable status is `Frozen`"),
            gate("generated", "Primary deliverable SHA-256 snapshot recorded"),
        ]);
        assert_eq!(round.protocol()["completionGates"], expected);
        for gate in expected.as_array().unwrap() {
            let line = format!("\n- [ ] {}\n", gate["text"].as_str().unwrap());
            assert!(round.read(READINESS_FILE).contains(&line), "{line}");
        }
    }
}

#[test]
fn col_22_refuses_to_pass_while_one_of_the_six_is_not_checked() {
    let round = Round::at(Action::PassReadiness);
    let whole = round.read(READINESS_FILE);
    let json = round.protocol();
    let gates = json["completionGates"].as_array().unwrap();
    let generated: Vec<&Json> = gates
        .iter()
        .filter(|gate| gate["source"] == "generated")
        .collect();
    assert_eq!(generated.len(), 6);
    for gate in generated {
        let text = gate["text"].as_str().unwrap();
        let (checked, open) = (format!("- [x] {text}"), format!("- [ ] {text}"));
        round.write(READINESS_FILE, whole.replace(&checked, &open));
        assert_eq!(
            round.refuse("ada", "readiness_passed"),
            [Code::GatesUnchecked],
            "{text}"
        );
    }
}

#[test]
fn col_23_accepts_a_whole_folder_with_resume() {
    for action in [Action::Draft, Action::Accept, Action::Stop] {
        let round = Round::at(action);
        let before = round.files();
        let made = round.shared.init(settings(), true).unwrap();
        assert_eq!(made.files, [""; 0]);
        assert_eq!(made.folder.log(), round.folder().log());
        assert!(round.files() == before);
    }
}

#[test]
fn col_23_refuses_a_folder_that_is_there_and_half_a_folder() {
    let round = Round::new();
    let refuse = |is_resumed| {
        let before = round.files();
        let wrong = round.shared.init(settings(), is_resumed).unwrap_err();
        assert!(round.files() == before);
        wrong
    };
    let wrong = refuse(false);
    assert_eq!(codes(&wrong), [Code::Exists]);
    assert_eq!(wrong[0].file.as_deref(), Some(PROTOCOL_FILE));
    for name in MADE {
        let bytes = round.read(name);
        round.remove(name);
        // No rule needs README.md, which is for people. Without protocol.json, the folder does
        // not count as made.
        match name {
            "README.md" => assert!(round.shared.init(settings(), true).is_ok()),
            PROTOCOL_FILE => assert_eq!(codes(&refuse(true)), [Code::FileExists; 8]),
            _ => {
                let wrong = refuse(true);
                assert_eq!(wrong[0].code, Code::HalfMade, "{name}");
                assert_eq!(wrong[0].file.as_deref(), Some(name));
            }
        }
        round.write(name, bytes);
    }
    round.write(PROTOCOL_FILE, "{");
    assert_eq!(refuse(true)[0].code, Code::HalfMade);
    round.write(LOG_FILE, "");
    assert_eq!(refuse(true)[0].code, Code::HalfMade);
}

#[test]
fn col_24_accepts_a_folder_with_files_of_others_and_leaves_them() {
    let round = Round::before();
    round.write("notes.txt", "Mine.");
    round.write("deliverables/figures/one.png", [0xff]);
    round.shared.init(settings(), false).unwrap();
    assert_eq!(round.read("notes.txt"), "Mine.");
    assert_eq!(
        fs::read(round.path("deliverables/figures/one.png")).unwrap(),
        [0xff]
    );
    assert_eq!(round.files().len(), MADE.len() + 2);
    assert_eq!(round.errors(), []);
}

#[test]
fn col_24_refuses_to_overwrite_a_file_and_leaves_nothing_half_made() {
    for name in MADE.into_iter().filter(|name| *name != PROTOCOL_FILE) {
        let round = Round::before();
        round.write(name, "Mine.");
        let wrong = round.shared.init(settings(), false).unwrap_err();
        assert_eq!(codes(&wrong), [Code::FileExists], "{name}");
        assert!(wrong[0].file.as_ref().unwrap().ends_with(name));
        assert_eq!(
            round.files().into_values().collect::<Vec<_>>(),
            [b"Mine."],
            "{name}"
        );
    }
    // A file is in the place of a directory, so init stops after it has begun.
    let round = Round::before();
    round.write("deliverables", "Mine.");
    let wrong = round.shared.init(settings(), false).unwrap_err();
    assert_eq!(codes(&wrong), [Code::Unwritable]);
    assert_eq!(
        round.files().into_keys().collect::<Vec<_>>(),
        [round.path("deliverables")]
    );
}

/// A directory that is a link would take the deliverable out of the folder.
#[cfg(unix)]
#[test]
fn col_24_refuses_to_write_through_a_link_that_leads_out() {
    let round = Round::before();
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir_all(round.shared.path()).unwrap();
    std::os::unix::fs::symlink(outside.path(), round.path("deliverables")).unwrap();
    let wrong = round.shared.init(settings(), false).unwrap_err();
    assert_eq!(codes(&wrong), [Code::PathEscape]);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    assert!(!round.path(PROTOCOL_FILE).exists());
}
