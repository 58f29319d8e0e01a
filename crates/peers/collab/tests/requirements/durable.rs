//! What crashes and simultaneous writers leave in a folder: COL-66 to COL-68.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use accp_collab::disk::{Draft, Locking};
use accp_collab::table::Phase;
use accp_collab::{Action, Code, LOG_FILE, PROTOCOL_FILE, Protocol, REVIEW_FILE};

use crate::requirements::round::{Round, codes};

/// How many events each of the writers appends.
const EACH: usize = 5;

#[test]
fn col_66_accepts_several_writers_and_gives_each_its_own_number() {
    for locking in [Locking::System, Locking::File] {
        let round = Round::new();
        let draft = round.draft("ada", "deliverable_drafted");
        let write = |name: &str| {
            let shared = round.shared.clone().with_locking(locking);
            let events = (0..EACH).map(|index| {
                let summary = format!("{name} {index}");
                let draft = Draft {
                    summary: summary.clone(),
                    ..draft.clone()
                };
                (shared.append(&draft).unwrap().event.seq, summary)
            });
            events.collect::<BTreeMap<u64, String>>()
        };
        let outcomes = thread::scope(|scope| {
            let writers =
                ["one", "two", "three", "four"].map(|name| scope.spawn(move || write(name)));
            let outcomes = writers.map(|writer| writer.join().unwrap());
            outcomes.into_iter().flatten().collect::<BTreeMap<_, _>>()
        });
        let log = round.log().into_iter().skip(1);
        let log = log.map(|event| {
            let summary = event["summary"].as_str().unwrap().to_owned();
            (event["seq"].as_u64().unwrap(), summary)
        });
        assert_eq!(outcomes, log.collect());
        assert_eq!(outcomes.len(), 4 * EACH);
        assert_eq!(round.errors(), []);
    }
}

#[test]
fn col_66_refuses_to_write_while_another_has_the_lock() {
    let round = Round::new();
    let soon = round.shared.clone().with_patience(Duration::from_millis(1));
    let lock = File::options()
        .append(true)
        .open(round.path(".acp.lock"))
        .unwrap();
    lock.lock().unwrap();
    let before = round.files();
    let draft = round.draft("ada", "deliverable_drafted");
    let wrong = soon
        .append(&draft)
        .map(|appended| appended.event)
        .unwrap_err();
    assert_eq!(codes(&wrong), [Code::Busy]);
    assert_eq!(wrong[0].file.as_deref(), Some(".acp.lock"));
    assert_eq!(codes(&soon.repair().unwrap_err()), [Code::Busy]);
    assert!(round.files() == before);
    lock.unlock().unwrap();
    soon.append(&draft).unwrap();

    // A lock in a file holds until the time in its text. Then another process may take it.
    let soon = soon.with_locking(Locking::File);
    let far = format!(r#"{{"owner":1,"until":{}}}"#, u32::MAX);
    round.write(".acp.lock.1", far);
    let wrong = soon
        .append(&draft)
        .map(|appended| appended.event)
        .unwrap_err();
    assert_eq!(codes(&wrong), [Code::Busy]);
    round.write(".acp.lock.1", r#"{"owner":1,"until":1}"#);
    assert_eq!(soon.append(&draft).unwrap().event.seq, 3);
}

#[test]
fn col_67_accepts_a_folder_after_a_crash_and_goes_on() {
    // The process ended after it wrote the line, and before it wrote protocol.json.
    let round = Round::at(Action::Review);
    let copy = round.read(PROTOCOL_FILE);
    round.append("bob", "review_submitted");
    round.write(PROTOCOL_FILE, copy);
    assert_eq!(round.waiting_for(), ["cy"]);
    assert_eq!(round.action("bob"), Action::WaitReviewers);
    round.append("cy", "review_submitted");
    assert_eq!(round.errors(), []);
    let from_bob = round
        .log()
        .into_iter()
        .filter(|event| event["from"] == "bob");
    assert_eq!(from_bob.count(), 1);

    // The last line was cut.
    let log = round.read(LOG_FILE);
    let torn = "{\"seq\":6,\"from\":\"a";
    round.write(LOG_FILE, format!("{log}{torn}"));
    assert_eq!(
        (round.errors(), round.warnings()),
        (vec![], vec![Code::LogTorn])
    );
    assert_eq!(round.append("ada", "proposal_revised").event.seq, 6);
    assert_eq!(round.read("events.jsonl.torn"), format!("{torn}\n"));
    assert!(round.read(LOG_FILE).starts_with(&log));
    assert_eq!(round.findings(), []);

    // Only the line feed of the last line is missing, so the event counts.
    let log = round.read(LOG_FILE);
    round.write(LOG_FILE, log.trim_end());
    assert_eq!(round.append("ada", "question_classified").event.seq, 7);
    assert!(round.read(LOG_FILE).starts_with(&log));
    assert_eq!(round.findings(), []);
}

#[test]
fn col_67_refuses_to_lose_or_to_double_an_event_and_its_review() {
    let round = Round::at(Action::Review);
    let texts = round.read(REVIEW_FILE);
    let draft = round.draft("bob", "review_submitted");
    let event = round.append_draft(&draft).event;
    let reviewed = round.read(REVIEW_FILE);
    // A writer that repeats an event, unsure whether the first one was stored, is refused.
    round.refuses("bob", "review_submitted", &[Code::Turn]);
    // The process ended between the line and review.md. The repair adds the review once.
    let waiting = serde_json::json!({ "line": event.to_line(), "text": draft.review });
    for before in [&texts, &reviewed] {
        round.write(REVIEW_FILE, before);
        round.write(".acp.review.json", waiting.to_string());
        round.shared.repair().unwrap();
        assert_eq!(round.read(REVIEW_FILE), reviewed);
        assert!(!round.path(".acp.review.json").exists());
    }
    // The process ended before it wrote the line. The review of a missing event is not added.
    let lost = event.to_line().replace("\"seq\":4", "\"seq\":5");
    let waiting = serde_json::json!({ "line": lost, "text": "Lost." });
    round.write(".acp.review.json", waiting.to_string());
    round.append("cy", "review_submitted");
    assert!(!round.read(REVIEW_FILE).contains("Lost."));
    // A line in the middle that is not an event stops all appends, because its content is
    // unknown.
    round.replace(LOG_FILE, "{\"seq\":4,", "{\"seq\":4");
    assert!(
        round
            .refuse("ada", "proposal_revised")
            .contains(&Code::LogInvalid)
    );
    assert!(!round.path("events.jsonl.torn").exists());
}

#[test]
fn col_68_accepts_readers_at_any_time_and_shows_them_a_whole_file() {
    let round = Round::new();
    let is_over = AtomicBool::new(false);
    let path = round.path(PROTOCOL_FILE);
    let reads = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0_u32;
            while !is_over.load(Ordering::Relaxed) || reads == 0 {
                let bytes = fs::read(&path).unwrap();
                let protocol = Protocol::from_json(&bytes);
                assert_eq!(protocol.unwrap().participants.len(), 3);
                reads += 1;
            }
            reads
        });
        for _ in 0..20 {
            round.append("ada", "deliverable_drafted");
        }
        is_over.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });
    assert!(reads > 0);
    // No temporary file stays.
    let hidden = round.files().into_keys().filter(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(".acp.")
    });
    assert_eq!(hidden.count(), 0);
}

#[test]
fn col_68_refuses_to_go_by_a_copy_that_is_behind() {
    let round = Round::at(Action::Review);
    let behind = round.read(PROTOCOL_FILE);
    round.walk(Action::Accept);
    let whole = round.protocol();
    round.write(PROTOCOL_FILE, behind);
    assert_eq!(round.errors(), [Code::StateDiffers]);
    assert_eq!(round.phase(), Phase::DecisionReview);
    assert_eq!(round.action("cy"), Action::Accept);
    round.refuses("cy", "review_submitted", &[Code::Phase]);
    // A repair mends the copy, and so does the next event.
    assert_eq!(round.shared.repair().unwrap().files, [PROTOCOL_FILE]);
    for key in ["currentPhase", "proposalOwner", "waitingFor"] {
        assert_eq!(round.protocol()[key], whole[key]);
    }
    assert_eq!(round.errors(), []);
    assert_eq!(round.shared.repair().unwrap().files, [""; 0]);
}
