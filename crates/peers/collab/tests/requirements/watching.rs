//! `next` and `wait`: COL-59 to COL-62.

use std::fs;
use std::thread;
use std::time::Duration;

use accp_collab::disk::{Ready, Reason, Shared, Waiting};
use accp_collab::{Action, Code, READINESS_FILE, next};

use crate::requirements::round::{Round, codes, settings};

/// Long enough for the slowest machine.
const MINUTE: Duration = Duration::from_secs(60);

/// Looks at the files only once an hour, so the system has to report the changes.
const WAITING: Waiting = Waiting {
    interval: Duration::from_secs(3_600),
    timeout: Some(MINUTE),
};

/// Gives up at once.
const IMPATIENT: Waiting = Waiting {
    interval: Duration::from_millis(10),
    timeout: Some(Duration::from_millis(1)),
};

fn wait(round: &Round, who: &str, waiting: Waiting) -> Option<Ready> {
    round.shared.wait(who, waiting, |_| {}).unwrap()
}

#[test]
fn col_59_accepts_a_turn_and_the_end_and_says_which() {
    let round = Round::at(Action::Review);
    let ready = wait(&round, "cy", IMPATIENT).unwrap();
    assert_eq!(
        (ready.reason, ready.next.action),
        (Reason::Turn, Action::Review)
    );
    round.append("bob", "blocked");
    for who in ["ada", "bob", "cy"] {
        let ready = wait(&round, who, IMPATIENT).unwrap();
        assert_eq!(
            (ready.reason, ready.next.action),
            (Reason::Blocked, Action::StopBlocked)
        );
    }
    let ready = wait(&Round::completed(), "bob", IMPATIENT).unwrap();
    assert_eq!(
        (ready.reason, ready.next.action),
        (Reason::Completed, Action::Stop)
    );
    // A participant that waits learns of an event that another one appends.
    let round = Round::at(Action::Submit);
    let shared = round.shared.clone();
    let waiter = thread::spawn(move || shared.wait("bob", WAITING, |_| {}).unwrap());
    round.append("ada", "proposal_submitted");
    let ready = waiter.join().unwrap().expect("bob is asked");
    assert_eq!((ready.reason, ready.next.is_asked), (Reason::Turn, true));
    assert_eq!(ready.folder.log().events().len(), 3);
}

#[test]
fn col_59_refuses_to_return_to_one_who_is_not_asked() {
    let round = Round::at(Action::Review);
    assert!(wait(&round, "ada", IMPATIENT).is_none());
    round.append("cy", "review_submitted");
    assert!(wait(&round, "cy", IMPATIENT).is_none());
    let wrong = round.shared.wait("eve", IMPATIENT, |_| {}).unwrap_err();
    assert_eq!(codes(&wrong), [Code::ParticipantUnknown]);
    let nowhere = Shared::new(round.path("nowhere"));
    let wrong = nowhere.wait("ada", IMPATIENT, |_| {}).unwrap_err();
    assert!(codes(&wrong).contains(&Code::ProtocolMissing), "{wrong:?}");
}

#[test]
fn col_60_accepts_a_wait_without_an_end() {
    let round = Round::at(Action::Submit);
    let shared = round.shared.clone();
    let (sender, receiver) = std::sync::mpsc::channel();
    let endless = Waiting {
        interval: Duration::from_millis(50),
        timeout: None,
    };
    let waiter = thread::spawn(move || {
        let tell = |_: &accp_collab::Folder| sender.send(()).unwrap();
        shared.wait("bob", endless, tell).unwrap()
    });
    // The waiter has read the folder once, and continues to wait.
    receiver.recv().unwrap();
    round.append("ada", "proposal_submitted");
    assert_eq!(waiter.join().unwrap().unwrap().reason, Reason::Turn);
}

#[test]
fn col_60_refuses_to_wait_beyond_its_time() {
    let round = Round::new();
    let mut turns = Vec::new();
    let ready = round.shared.wait("bob", IMPATIENT, |folder| {
        turns.push(folder.state().unwrap().waiting_for().to_vec());
    });
    assert!(ready.unwrap().is_none());
    assert_eq!(turns[0], ["ada"], "it says whom it has waited for");
    // The interval may be longer than the timeout.
    let long = Waiting {
        interval: MINUTE * 60,
        ..IMPATIENT
    };
    assert!(wait(&round, "bob", long).is_none());
}

#[test]
fn col_61_accepts_each_participant_and_says_what_to_do() {
    use Action as A;
    let round = Round::new();
    for (until, [ada, bob, cy]) in [
        (A::Draft, [A::Draft, A::WaitOwner, A::WaitOwner]),
        (A::Submit, [A::Submit, A::WaitOwner, A::WaitOwner]),
        (A::Review, [A::WaitReviewers, A::Review, A::Review]),
        (A::Revise, [A::Revise, A::WaitOwner, A::WaitOwner]),
        (A::Classify, [A::Classify, A::WaitOwner, A::WaitOwner]),
        (A::Accept, [A::Accept, A::Accept, A::Accept]),
        (A::Freeze, [A::Freeze, A::WaitOwner, A::WaitOwner]),
        (A::CheckGates, [A::CheckGates, A::WaitOwner, A::WaitOwner]),
        (
            A::PassReadiness,
            [A::PassReadiness, A::WaitOwner, A::WaitOwner],
        ),
        (A::Conclude, [A::Conclude, A::WaitOwner, A::WaitOwner]),
        (A::Complete, [A::Complete, A::WaitOwner, A::WaitOwner]),
        (A::Stop, [A::Stop, A::Stop, A::Stop]),
    ] {
        round.walk(until);
        let actions = ["ada", "bob", "cy"].map(|who| round.action(who));
        assert_eq!(actions, [ada, bob, cy]);
        if until == A::Accept {
            round.append("bob", "decision_accepted");
            assert_eq!(round.action("bob"), A::WaitAcceptances);
        }
        if until == A::Review {
            round.append("cy", "review_submitted");
            assert_eq!(round.action("cy"), A::WaitReviewers);
        }
    }
    // The text has the command with all its arguments.
    let round = Round::at(A::Freeze);
    let text = next(&round.folder(), "ada").unwrap().text("my round");
    let command = "\naccp collab append --folder 'my round' --participant ada --event deliverable_frozen \
        --reply-to 10 --role primary --doc deliverables/adr.md --hash --summary \"..\"";
    assert!(
        text.starts_with("next action: ") && text.ends_with(command),
        "{text}"
    );
    let text = next(&round.folder(), "bob").unwrap().text("my round");
    assert!(
        text.ends_with("\naccp collab wait --folder 'my round' --participant bob"),
        "{text}"
    );
}

#[test]
fn col_61_refuses_to_speak_for_others_and_of_a_folder_that_is_broken() {
    let round = Round::new();
    let wrong = next(&round.folder(), "eve").unwrap_err();
    assert_eq!(codes(&wrong), [Code::ParticipantUnknown]);
    assert!(wrong[0].message.contains("ada, bob, cy"));
    let whole = round.read("events.jsonl");
    round.write("events.jsonl", "[]\n");
    assert_eq!(
        codes(&next(&round.folder(), "ada").unwrap_err()),
        [Code::LogInvalid]
    );
    // If the log has no event, the folder has no owner to wait for.
    round.write("events.jsonl", "");
    assert_eq!(
        codes(&next(&round.folder(), "ada").unwrap_err()),
        [Code::LogInvalid]
    );
    round.write("events.jsonl", whole);
    round.write("protocol.json", "[]");
    let wrong = codes(&next(&round.folder(), "ada").unwrap_err());
    assert!(wrong.contains(&Code::ProtocolInvalid), "{wrong:?}");
    // While a question is open, `next` does not ask for an event that would be refused.
    let round = Round::at(Action::Accept);
    round.replace(READINESS_FILE, "- [resolved]", "- [blocking]");
    let next = next(&round.folder(), "ada").unwrap();
    assert_eq!(next.action, Action::Classify);
    assert!(
        next.text("round")
            .contains("\n- readiness.md:5: the question "),
        "{}",
        next.text("round")
    );
}

/// Puts another folder in the place of the watched one. The system does not report changes of its files.
fn replace_folder(round: &Round) {
    let (here, away) = (round.shared.path(), round.repository().join("away"));
    fs::rename(here, &away).unwrap();
    let copy = Shared::new(here);
    copy.init(settings(), false).unwrap();
    round.act("ada", Action::Draft);
}

#[test]
fn col_62_accepts_changes_of_which_the_system_does_not_tell() {
    let round = Round::at(Action::Submit);
    let waiting = Waiting {
        interval: Duration::from_millis(50),
        timeout: Some(MINUTE),
    };
    let mut looks = 0;
    let ready = round.shared.wait("bob", waiting, |_| {
        looks += 1;
        match looks {
            1 => replace_folder(&round),
            2 => _ = round.append("ada", "proposal_submitted"),
            _ => {}
        }
    });
    assert_eq!(ready.unwrap().expect("bob is asked").reason, Reason::Turn);
}

#[test]
fn col_62_refuses_to_wait_the_interval_out_when_the_system_tells_of_a_change() {
    // The interval is an hour, and each of the first two reads makes a change. Without reports of the system, the
    // second read would come only at the timeout, and would not see the change that it makes. So a result shows that
    // the system has reported a change.
    let wait = |round: &Round, who, changes: [fn(&Round); 2]| {
        let mut looks = 0;
        let ready = round.shared.wait(who, WAITING, |_| {
            if let Some(change) = changes.get(looks) {
                change(round);
            }
            looks += 1;
        });
        ready.unwrap().expect("the system has told of it").next
    };
    let drafts = |round: &Round| _ = round.append("ada", "deliverable_drafted");
    let submits = |round: &Round| _ = round.append("ada", "proposal_submitted");
    let next = wait(&Round::new(), "cy", [drafts, submits]);
    assert_eq!(next.action, Action::Review);
    // If a question in readiness.md is open again, it is the owner's turn.
    let round = Round::at(Action::Accept);
    round.append("ada", "decision_accepted");
    let accepts = |round: &Round| _ = round.append("bob", "decision_accepted");
    let opens = |round: &Round| round.replace(READINESS_FILE, "- [resolved]", "- [blocking]");
    let next = wait(&round, "ada", [accepts, opens]);
    assert_eq!(next.action, Action::Classify);
}
