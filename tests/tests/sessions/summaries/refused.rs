//! Texts that a host refuses as a summary.

use std::collections::BTreeSet;

use accp_runtime::session::{InputError, MemberId, Outbound, Scope, SummaryError};
use accp_runtime::{DynamicFrame, Envelope, Registry};
use accp_store::DriverError;
use insta::assert_snapshot;
use proptest::prelude::*;

use super::{carried, does, host, invented, late, supply, task};
use crate::sessions::room::Room;
use crate::sessions::sides::{NOW, Node, Side, counting, dynamic, frame};

#[test]
fn a_text_for_another_checkpoint_is_refused() {
    let mut host = host();
    assert_eq!(
        supply(&mut host, 1, "Dev."),
        Err(SummaryError::NotWanted(1))
    );
    task(&mut host, 1);
    task(&mut host, 2);
    for other in [0, 1, 3, u64::MAX] {
        assert_eq!(
            supply(&mut host, other, "Dev."),
            Err(SummaryError::NotWanted(other))
        );
    }
    // The model was too slow: the next task came first.
    task(&mut host, 3);
    assert_eq!(
        supply(&mut host, 2, "Dev did T1."),
        Err(SummaryError::NotWanted(2))
    );
    for empty in ["", " \n\t"] {
        assert_eq!(supply(&mut host, 3, empty), Err(SummaryError::Empty));
    }
    task(&mut host, 4);
    assert_eq!(carried(&host), []);
    assert_snapshot!(SummaryError::NotWanted(2), @"no summary of ckpt_2 is wanted: only of the last checkpoint, if frames left with it and Rules::late_summaries is set");
    assert_snapshot!(SummaryError::Empty, @"the summary has no text; to keep the first one, supply none");

    let mut room = Room::counting(&["dev"]);
    let now = room.now;
    let refused = room.members[0].session_mut().supply_summary(1, "Dev.", now);
    assert!(matches!(refused, Err(InputError::HostOnly(_))));
    assert_eq!(room.members[0].session().frames_to_sum_up().count(), 0);
}

#[test]
fn a_text_with_an_invented_value_is_refused() {
    let mut host = host();
    task(&mut host, 1);
    task(&mut host, 2);
    supply(&mut host, 2, "Dev did T1 for 1.25.").unwrap();
    // The task T2 is still in hot state, so the summary must not name it.
    let refused = supply(&mut host, 2, "Dev did T1, T2 and T3, T3 for $1.5, a_b.");
    assert_eq!(refused, invented(&["T2", "T3", "1.5", "a_b"]));
    assert_snapshot!(refused.unwrap_err(), @"these words stand in no frame that left hot state: T2, T3, 1.5, a_b; leave them out of the summary, or write them as the frames do");
    for (text, word) in [
        ("Fee: 1.250", "1.250"),
        ("Fee: 25", "25"),
        ("Fee: -1.25", "-1.25"),
        ("T1-T2", "T1-T2"),
        ("T\u{661}", "T\u{661}"),
        ("dev@T1", "dev@T1"),
    ] {
        assert_eq!(supply(&mut host, 2, text), invented(&[word]), "{text}");
    }
    // The refused texts have not replaced the earlier summary.
    task(&mut host, 3);
    assert_eq!(carried(&host), [(2, "Dev did T1 for 1.25.".to_owned())]);
}

/// A frame may hold a long value as a reference. A driver reads the value for the model and for the check of the
/// summary.
#[test]
fn a_value_may_stand_behind_a_reference() {
    for awaits in [false, true] {
        let mut room = Room::with(counting("hub"), late(Scope::Shared), &["dev"]);
        let content = "Good morning, I would like to return my order W2378156. ".repeat(9);
        let done = dynamic("dev", "done", "plan").with("goal", content.as_str());
        room.say(0, &Outbound::message(&done));
        does(&mut room, 2);
        let (store, options) = (room.host.store.clone(), room.host.options.clone());
        let rules = Some(late(Scope::Shared));
        let mut host = Side::open(MemberId::HOST, store, vec![], options, rules, NOW).unwrap();
        if awaits {
            host = host.awaiting(NOW).unwrap();
        }
        host.carries_out(NOW);
        let frames = host.driver.frames_to_sum_up().unwrap();
        let [read] = &frames[..] else {
            panic!("{frames:?}");
        };
        assert_eq!(read.payload.get("goal"), Some(&content.clone().into()));
        assert_eq!(read.envelope, Envelope::default());
        let text = "The user returns W2378156.";
        assert_eq!(supply(&mut host, 2, text), invented(&["W2378156"]));
        let refused = host.driver.supply_summary(2, "It is W1.", NOW);
        let Err(DriverError::Input(InputError::Summary(error))) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(Err(error), invented(&["W1"]));
        host.driver.supply_summary(2, text, NOW).unwrap();
        host.phase(NOW);
        assert_eq!(carried(&host), [(2, text.to_owned())]);
    }
}

/// Returns the runs of letters and digits in a text.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[A-C]{0,1}[1-3]{1,2}",
        1 => "20[1-2]{2}-0[1-2]",
        1 => r"-?[1-2]\.[1-3]{1,2}",
        1 => "[a-b]{1,2}_[a-b]",
        1 => "[a-z]{1,4}",
        1 => r"[a-c1-3@/\\.,:;()+_ -]{1,6}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// If a text is accepted, each of its words with a digit is in a frame that left hot state. Otherwise the text
    /// is refused because of words that no such frame has.
    #[test]
    fn what_is_taken_stands_in_a_frame_that_left(
        said in prop::collection::vec(word(), 1..8),
        told in prop::collection::vec((any::<prop::sample::Index>(), word(), any::<bool>()), 1..6),
        marks in "[ ,.;:!?]",
    ) {
        let mut host = host();
        let notes: Vec<DynamicFrame<'_>> = said.iter().map(|word| {
            DynamicFrame::new("dev", "sync", "note").unwrap().with("note", word.as_str())
        }).collect();
        for (message, n) in notes.iter().zip(1..) {
            let text = message.encode(&Registry::standard()).unwrap();
            host.takes(101, &frame(&text, n, n.into(), ""));
        }
        let asked = host.phase(NOW);
        prop_assert!(asked.is_some());
        host.carries_out(NOW);
        let text = told.iter().map(|(index, word, is_true)| match is_true {
            true => index.get(&said).clone(),
            false => word.clone(),
        });
        let text = text.collect::<Vec<_>>().join(&format!("{marks} "));
        let all = said.join("\n");
        let frames: Vec<String> = host.session().frames_to_sum_up().map(|(_, text)| text.to_owned()).collect();
        let stands: BTreeSet<&str> = runs(&all).chain(frames.iter().flat_map(|text| runs(text))).collect();
        let last = host.state().warm().last();
        match supply(&mut host, last, &text) {
            Ok(()) => {
                for run in runs(&text).filter(|run| run.contains(char::is_numeric)) {
                    prop_assert!(stands.contains(run), "{} of {} in {:?}", run, text, frames);
                }
                host.phase(NOW);
                let normal = text.split_whitespace().collect::<Vec<_>>().join(" ");
                prop_assert_eq!(carried(&host), [(last, normal)]);
            }
            Err(SummaryError::Invented(words)) => {
                prop_assert!(!words.is_empty());
                for word in words {
                    prop_assert!(text.contains(&word));
                    prop_assert!(!said.contains(&word), "{} of {:?}", word, said);
                }
            }
            Err(error) => prop_assert_eq!((error, text.trim()), (SummaryError::Empty, "")),
        }
    }
}
