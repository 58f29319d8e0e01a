//! Many callers with one new instruction, under a simulated clock: which caller calls the model, and how many times.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use accp_aacp::fallback::{
    FallbackError, MemoryRegistry, ModelError, ModelErrorKind, Options, Registry as _, Request,
    Resolution, ResolutionStep, Source,
};
use proptest::prelude::*;

const ENGLISH: &str = "Collect the parking permits";
const ANSWER: &str = "FETCH|CS|return:A|p:1|aacp:1.1|res:parking_permit";

/// The deadline of the model, in milliseconds. A lease is 15,000 milliseconds longer.
const DEADLINE: u64 = 1_000;
const LEASE: u64 = DEADLINE + 15_000;

/// One caller: when it begins, how long its call takes, and how the call ends.
#[derive(Debug, Clone)]
struct Asker {
    begins: u64,
    takes: u64,
    ends: End,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Answers,
    Fails,
    Killed,
}

/// The results of all askers.
#[derive(Debug, Default)]
struct Outcome {
    /// For each call, its start, and the earliest time at which another caller may call.
    calls: Vec<(u64, u64)>,
    /// When an answer was stored first.
    stored: Option<u64>,
    answered: Vec<(u64, Source, String)>,
    failed: usize,
    killed: usize,
    times_seen: u64,
}

/// Runs all askers in the order of the clock.
fn run(askers: &[Asker]) -> Outcome {
    let request = Request::new(ENGLISH, "CS", "Desk", "2").unwrap();
    let options = Options {
        patience: Duration::from_secs(3600),
        workflows: &[],
        ..Options::default()
    };
    let mut registry = MemoryRegistry::default();
    let mut outcome = Outcome::default();
    let mut resolutions: BTreeMap<usize, (Resolution<'_>, bool)> = BTreeMap::new();
    let mut agenda: BTreeSet<(u64, usize)> = BTreeSet::new();
    for (index, asker) in askers.iter().enumerate() {
        let deadline = Some(Duration::from_millis(DEADLINE));
        let resolution = Resolution::new(&request, options, index as u64, deadline);
        resolutions.insert(index, (resolution, false));
        agenda.insert((asker.begins, index));
    }
    let mut steps = 0;
    while let Some((now, index)) = agenda.pop_first() {
        steps += 1;
        assert!(steps < 1_000_000, "the askers wait for ever");
        let asker = &askers[index];
        let Some((mut resolution, is_calling)) = resolutions.remove(&index) else {
            continue;
        };
        if is_calling {
            let result = match asker.ends {
                End::Answers => Ok(ANSWER.to_owned()),
                End::Fails => Err(ModelError::new(ModelErrorKind::Status, "500")),
                End::Killed => {
                    outcome.killed += 1;
                    continue;
                }
            };
            match resolution.answered(&mut registry, result) {
                Ok(answer) => {
                    outcome.stored.get_or_insert(now);
                    outcome
                        .answered
                        .push((now, answer.source, answer.packet.text().to_owned()));
                }
                Err(FallbackError::Model(_)) => outcome.failed += 1,
                Err(error) => panic!("{error}"),
            }
            continue;
        }
        match resolution.step(&mut registry, now) {
            Ok(ResolutionStep::Call) => {
                outcome
                    .calls
                    .push((now, (now + asker.takes).min(now + LEASE)));
                agenda.insert((now + asker.takes, index));
                resolutions.insert(index, (resolution, true));
            }
            Ok(ResolutionStep::Wait(time)) => {
                agenda.insert((now + u64::try_from(time.as_millis()).unwrap(), index));
                resolutions.insert(index, (resolution, false));
            }
            Ok(ResolutionStep::Done(answer)) => {
                outcome
                    .answered
                    .push((now, answer.source, answer.packet.text().to_owned()));
            }
            Err(FallbackError::Model(_)) => outcome.failed += 1,
            Err(error) => panic!("{error}"),
        }
    }
    let entry = registry.find(&request.key()).unwrap();
    outcome.times_seen = entry.map_or(0, |entry| entry.times_seen);
    outcome
}

fn askers(ends: &'static [End], takes: std::ops::Range<u64>) -> impl Strategy<Value = Vec<Asker>> {
    let asker = (0..4_000_u64, takes, proptest::sample::select(ends));
    let asker = asker.prop_map(|(begins, takes, ends)| Asker {
        begins,
        takes,
        ends,
    });
    proptest::collection::vec(asker, 1..64)
}

proptest! {
    #[test]
    fn aacp_44_refuses_a_second_call(askers in askers(&[End::Answers], 0..DEADLINE)) {
        let outcome = run(&askers);
        prop_assert_eq!(outcome.calls.len(), 1);
        prop_assert_eq!(outcome.answered.len(), askers.len());
        prop_assert_eq!(outcome.times_seen, askers.len() as u64);
        let by_call = outcome.answered.iter().filter(|(_, source, _)| *source == Source::Llm);
        prop_assert_eq!(by_call.count(), 1);
        let packet = "FETCH|CS|return:Desk|p:2|aacp:1.1|res:parking_permit";
        prop_assert!(outcome.answered.iter().all(|(_, _, text)| text == packet));
    }

    /// A failed call, a call that outlives its lease, and a killed asker store no answer, and no two
    /// calls run at a time.
    #[test]
    fn aacp_40_refuses_to_count_what_was_not_answered(
        askers in askers(&[End::Answers, End::Fails, End::Killed], 0..2 * LEASE),
    ) {
        let outcome = run(&askers);
        for pair in outcome.calls.windows(2) {
            prop_assert!(pair[0].1 <= pair[1].0, "a call begins while another runs: {pair:?}");
        }
        if let Some(stored) = outcome.stored {
            prop_assert!(outcome.calls.iter().all(|(start, _)| *start <= stored));
        }
        let ended = outcome.answered.len() + outcome.failed + outcome.killed;
        prop_assert_eq!(ended, askers.len(), "an asker was lost");
        prop_assert_eq!(outcome.times_seen, outcome.answered.len() as u64);
    }
}

#[test]
fn who_waits_shares_the_failure_and_who_comes_later_asks_again() {
    let asker = |begins, ends| Asker {
        begins,
        takes: 500,
        ends,
    };
    let mut all = vec![asker(0, End::Fails)];
    all.extend((0..10).map(|index| asker(index, End::Answers)));
    all.push(asker(2_000, End::Answers));
    let outcome = run(&all);
    assert_eq!((outcome.failed, outcome.answered.len()), (11, 1));
    assert_eq!(
        outcome.calls.iter().map(|call| call.0).collect::<Vec<_>>(),
        [0, 2_000]
    );
}

#[test]
fn the_claim_of_a_killed_caller_ends_with_its_lease() {
    let killed = Asker {
        begins: 0,
        takes: 10,
        ends: End::Killed,
    };
    let waits = Asker {
        begins: 5,
        takes: 10,
        ends: End::Answers,
    };
    let outcome = run(&[killed, waits.clone(), waits]);
    assert_eq!((outcome.calls.len(), outcome.answered.len()), (2, 2));
    assert!(
        (LEASE..LEASE + 100).contains(&outcome.calls[1].0),
        "{:?}",
        outcome.calls
    );
}

#[test]
fn a_clock_that_was_set_back_does_not_keep_a_claim_for_ever() {
    let request = Request::new(ENGLISH, "CS", "Desk", "2").unwrap();
    let mut registry = MemoryRegistry::default();
    let deadline = Some(Duration::from_millis(DEADLINE));
    let year = 365 * 24 * 3600 * 1000;
    let mut first = Resolution::new(&request, Options::default(), 1, deadline);
    assert_eq!(
        first.step(&mut registry, 2 * year),
        Ok(ResolutionStep::Call)
    );
    let mut second = Resolution::new(&request, Options::default(), 2, deadline);
    assert_eq!(second.step(&mut registry, year), Ok(ResolutionStep::Call));
    // The answer of the first call is stored, and the second caller uses it.
    let answer = first
        .answered(&mut registry, Ok(ANSWER.to_owned()))
        .unwrap();
    assert_eq!(answer.times_seen, Some(1));
    let other = ANSWER.replace("parking_permit", "another");
    let late = second.answered(&mut registry, Ok(other)).unwrap();
    assert_eq!((&late.packet, late.times_seen), (&answer.packet, Some(2)));
}

/// Returns how and when the wait of a second request ends while the call of the first request hangs. `deadlines` has
/// the deadlines of the two models, in seconds.
fn waited_for(deadlines: [u64; 2]) -> (Result<ResolutionStep, FallbackError>, u64) {
    let request = Request::new(ENGLISH, "CS", "Desk", "2").unwrap();
    let mut registry = MemoryRegistry::default();
    let [mut first, mut second] =
        [(1, deadlines[0]), (2, deadlines[1])].map(|(holder, seconds)| {
            let deadline = Some(Duration::from_secs(seconds));
            Resolution::new(&request, Options::default(), holder, deadline)
        });
    assert_eq!(first.step(&mut registry, 0), Ok(ResolutionStep::Call));
    let mut now = 0;
    loop {
        match second.step(&mut registry, now) {
            Ok(ResolutionStep::Wait(time)) => now += u64::try_from(time.as_millis()).unwrap(),
            end => return (end, now),
        }
    }
}

#[test]
fn a_request_does_not_wait_for_ever() {
    let (end, now) = waited_for([600, 5]);
    assert_eq!(end, Err(FallbackError::Waited));
    assert!((120_000..121_000).contains(&now), "{now}");
}

#[test]
fn a_request_waits_as_long_as_its_own_call_may_take() {
    assert_eq!(waited_for([600, 600]), (Ok(ResolutionStep::Call), 615_000));
}
