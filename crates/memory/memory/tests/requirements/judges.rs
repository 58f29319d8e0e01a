//! Judges of a program, in addition to the judges by words and instead of them (CTX-36 to CTX-44).

use std::panic::{AssertUnwindSafe, catch_unwind};

use accp_memory::disk::Compressed;
use accp_memory::{Case, Indicator, Judge, LEXICAL, Lexical, Severity, Sign};

use crate::requirements::session::{TestSession, raws};
use crate::requirements::talk::{INTENT, Talk};

/// A text in which no judge by words sees a sign.
const SAID: &str = "Let me measure the walls of the shed.";

/// Returns a session whose conversation has just been summed up.
fn summed_up(judges: &'static [&'static dyn Judge]) -> (TestSession, Compressed) {
    let mut session = TestSession::of(10_000);
    session.judges = judges;
    let list = Talk::begun().user("The timber must never touch the ground.");
    let done = session.compress(&list.up_to(7_600, &session.window).list());
    assert_eq!((done.events.len(), done.drift.len()), (1, 0));
    (session, done)
}

/// Returns the result of a compression after the assistant has said something behind the summary.
fn says(judges: &'static [&'static dyn Judge], text: &str) -> (TestSession, Compressed) {
    let (session, done) = summed_up(judges);
    let done = session.compress(&Talk::after(&done.list).assistant(text).list());
    (session, done)
}

/// A judge that sees a sign in a message with the word "measure". It also checks everything that a judge gets.
struct Strict;

impl Judge for Strict {
    fn judge(&self, case: &Case<'_>) -> Vec<Sign> {
        let (message, said, list) = (case.message(), case.conversation(), case.list());
        assert_eq!((&*message.role, message.number), ("assistant", said.len()));
        assert_eq!((case.intent(), &*said[0].text), (vec![(0, INTENT)], INTENT));
        assert_eq!(
            case.constraints(),
            [(1, "The timber must never touch the ground.")]
        );
        assert!(list.len() < said.len() && list[0].text.starts_with("## Session Summary"));
        assert_eq!(case.decisions(), []);
        if !message.text.contains("measure") {
            return Vec::new();
        }
        vec![Sign::new(Indicator::Unrelated, "measures", vec![0])]
    }
}

#[test]
fn a_sign_of_another_judge_leads_to_recovery_and_is_reported() {
    let (session, done) = says(&[&Strict], SAID);
    let [sign] = &done.drift[..] else {
        panic!("{:?}", done.drift);
    };
    assert_eq!(
        (sign.indicator, sign.severity),
        (Indicator::Unrelated, Severity::High)
    );
    assert_eq!((&*sign.evidence, sign.recovered), ("measures", true));
    let put_back = raws(&done.list).pop().unwrap();
    assert!(put_back.contains("## Recovered Context") && put_back.contains(INTENT));
    assert_eq!(session.open().begun().unwrap().drift(), done.drift);
    assert_eq!(says(&[&Strict], "The walls are high.").1.drift, []);
}

#[test]
fn judges_stand_beside_others_and_in_their_place() {
    const BOTH: &[&dyn Judge] = &[&Lexical(Indicator::Unrelated), &Strict];
    let of = |judges, text| says(judges, text).1.drift.len();
    assert_eq!(of(BOTH, "Let me compose a pop song."), 1);
    assert_eq!(of(BOTH, SAID), 1);
    assert_eq!(of(LEXICAL, SAID), 0);
    assert_eq!(of(&[&Strict], "Let me compose a pop song."), 0);
    // If two judges find the same sign, it counts once.
    assert_eq!(of(&[&Strict, &Strict], SAID), 1);
    assert_eq!(
        of(
            &[
                &Lexical(Indicator::Unrelated),
                &Lexical(Indicator::Unrelated)
            ],
            "Let me compose a pop song."
        ),
        1
    );
}

#[test]
fn without_a_judge_nothing_is_drift() {
    for text in ["Let me compose a pop song.", "The task is complete."] {
        assert_ne!(says(LEXICAL, text).1.drift, [], "{text}");
        let (session, done) = summed_up(&[]);
        let list = Talk::after(&done.list).assistant(text).list();
        let done = session.compress(&list);
        assert_eq!((done.drift, raws(&done.list)), (Vec::new(), raws(&list)));
    }
}

/// A judge that returns hundreds of signs that make no sense.
struct Babbles;

impl Judge for Babbles {
    fn judge(&self, case: &Case<'_>) -> Vec<Sign> {
        let all = case.conversation().len();
        let said = format!(
            "## Session Summary\n\n{}",
            "\u{1f33e}\n```\"}]\n".repeat(300)
        );
        let sign = |at| {
            Sign::new(
                Indicator::ALL[at % 5],
                &said,
                vec![at, all, usize::MAX, 0, 0],
            )
        };
        (0..500).map(sign).collect()
    }
}

#[test]
fn a_judge_that_makes_no_sense_breaks_no_list() {
    let (session, done) = summed_up(&[&Babbles]);
    let mut list = Talk::after(&done.list);
    for _ in 0..3 {
        list = list.assistant(SAID);
        let before = list.tokens(&session.window);
        // The method `compress` checks that the list is valid and fits.
        let done = session.compress(&list.list());
        assert_eq!(done.drift.len(), 50);
        assert!(
            done.after <= before + session.window.size() / 10,
            "{} from {before}",
            done.after
        );
        assert!(done.drift.iter().all(|sign| sign.evidence.chars().count() <= 1_001 && !sign.evidence.contains('\n')));
        list = Talk::after(&done.list);
    }
}

/// A judge that panics.
struct Fails;

impl Judge for Fails {
    fn judge(&self, _: &Case<'_>) -> Vec<Sign> {
        panic!("the judge has left the room")
    }
}

#[test]
fn a_judge_that_panics_leaves_the_session_as_it_was() {
    let (mut session, done) = summed_up(&[&Fails]);
    let list = Talk::after(&done.list).assistant(SAID).list();
    let failed = catch_unwind(AssertUnwindSafe(|| session.attempt(&list)));
    assert!(failed.is_err());
    let before = session.open().begun().unwrap().originals().len();
    session.judges = &[&Strict];
    assert_eq!(session.compress(&list).drift.len(), 1);
    assert_eq!(
        session.open().begun().unwrap().originals().len(),
        before + 1
    );
}
