//! Conformance of the effects of a checkpoint, CKP-06 to CKP-08 (draft section 5.3).
//! `docs/conformance.md` lists the tests of each requirement.

use std::collections::BTreeSet;
use std::sync::Arc;

use accp_runtime::context::{Fact, Frozen, Summarizer};
use accp_runtime::session::{Outbound, Reference, Rules, Session};
use accp_runtime::{DynamicFrame, ErrorCode, Value};
use accp_session::{Located, Output};
use accp_store::{Store as _, StoreErrorKind};
use proptest::prelude::*;

use crate::sessions::room::Room;
use crate::sessions::sides::{
    self, HUB, Heard, NOW, Node, Side, counting, frame, numbers, open_host, tokens,
};

fn host() -> Side {
    open_host(counting("hub"), Rules::default())
}

// ---- CKP-06 ------------------------------------------------------------------------

/// Plays a conversation about two tasks, up to the end of the second.
fn two_tasks(host: &mut Side) -> Heard {
    for (n, (head, more)) in (1..).zip([
        (
            "@dev>req:schedule{asgn:dev|task:T1|pri:high|dead:2026-05-01|schema:TA}",
            "",
        ),
        (
            "@dev>done:schedule{task:T1|stat:complete|prog:100|schema:TA}",
            ",cid:101000001001",
        ),
        (
            "@dev>req:schedule{asgn:dev|task:T2|dead:2026-06-01|schema:TA}",
            "",
        ),
    ]) {
        host.takes(101, &frame(head, n, n.into(), more));
    }
    let done = "@dev>done:schedule{task:T2|stat:started|schema:TA}";
    host.takes(101, &frame(done, 4, 4, ",cid:101000001003"))
}

#[test]
fn ckp_06_accepts_the_six_steps_as_one_entry() {
    let mut host = host();
    let heard = two_tasks(&mut host);
    // The batch has one frame and one checkpoint, as consecutive entries.
    let [frame, _] = &heard.entries[..] else {
        panic!("{heard:?}");
    };
    let checkpoint = &heard.checkpoints()[0];
    // Step 1: the frames before the triggering frame are frozen.
    assert_eq!(
        (checkpoint.id(), checkpoint.covers()),
        (2, frame.position - 1)
    );
    // Steps 2, 3 and 4: facts and summary are in warm state.
    let digest = checkpoint.digest().unwrap();
    assert!(
        digest
            .facts()
            .iter()
            .any(|fact| fact.to_string() == "[T1,status,complete]")
    );
    assert!(
        digest.summary().contains("dev.done.schedule"),
        "{}",
        digest.summary()
    );
    assert_eq!(host.state().warm().digests().last(), Some(digest));
    // Step 5: the raw frames are in cold state, and the checkpoint lists them.
    let left: Vec<u64> = checkpoint
        .left()
        .iter()
        .flat_map(|(from, to)| *from..=*to)
        .collect();
    for position in left {
        let key = format!("cold.p{position}");
        let located = host.state().locate(&Reference::parse(&key).unwrap());
        assert_eq!(located, Ok(Located::Log(position)));
    }
    // Step 6: hot state has the frame, its request, and the reference.
    let kept: Vec<u64> = checkpoint.kept().iter().map(|kept| kept.position).collect();
    assert_eq!(kept, host.state().hot().positions().collect::<Vec<_>>());
    assert_eq!(kept.last(), Some(&frame.position));
    assert_eq!(kept.len(), 2);
    assert_eq!(
        host.state().hot().reference().as_deref(),
        Some("warm.ckpt_2")
    );
    let context = host.session().context();
    let lines: Vec<&str> = context.lines().collect();
    assert!(lines[lines.len() - 2].starts_with("@dev>req:schedule TA(dev,T2"));
    assert!(lines[lines.len() - 1].starts_with("@dev>done:schedule TA(,T2"));
}

/// After a crash, the store has both the checkpoint and the frame that triggered it, or neither.
#[test]
fn ckp_06_refuses_to_do_half_of_it() {
    let mut host = host();
    host.takes(101, &frame("@dev>sync:plan{goal:x}", 1, 1, ""));
    let before = host.state().clone();
    let text = frame("@dev>done:plan{goal:x}", 2, 2, "");
    for committed in [false, true] {
        host.session_mut()
            .receive(sides::member(101), text.as_bytes(), NOW);
        let after = host.state().clone();
        let Some(Output::Batch(batch)) = host.session_mut().poll() else {
            panic!("nothing was accepted");
        };
        assert_eq!(batch.entries.len(), 2, "the frame and the checkpoint");
        if committed {
            host.store.commit(&[(&HUB, &batch)]).unwrap();
        }
        let stored = host.stored();
        let restored =
            Session::restore_host(counting("hub"), Rules::default(), &stored, NOW).unwrap();
        assert_eq!(restored.state(), if committed { &after } else { &before });
        host.restart_as(counting("hub"));
    }
    // Only the host takes a checkpoint.
    let last = host.log().pop().unwrap();
    assert!(last.text.contains(">sync:checkpoint{"));
    let forged = last
        .text
        .replace("@hub", "@dev")
        .replace("ckpt_1", "ckpt_2");
    let (head, _) = forged.rsplit_once("}[").unwrap();
    let refused = host.refuses(101, &frame(&format!("{head}}}"), 9, 3, ""));
    assert_eq!(refused.code, ErrorCode::POLICY_DENIED);
}

// ---- CKP-07 ------------------------------------------------------------------------

/// A summarizer whose summary is far too long.
struct Chatter;

impl Summarizer for Chatter {
    fn summarize(&self, frozen: &Frozen<'_>) -> String {
        "much\tis said\n".repeat(100 * frozen.leaving().count())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A triple has the exact values of its frames.
    #[test]
    fn ckp_07_accepts_triples_and_a_summary_of_100_tokens(
        tasks in prop::collection::vec(("[A-Z]{2}[0-9]{1,3}", "[a-z]{1,6}|[A-Za-z ]{40,60}", 1..29_u32), 1..8), chatter: bool,
    ) {
        let mut rules = Rules::default();
        if chatter {
            rules.summarizer = Arc::new(Chatter);
        }
        let mut host = open_host(counting("hub"), rules);
        let mut said = BTreeSet::new();
        for ((task, stage, day), n) in tasks.iter().zip(1..) {
            let stage = Value::from(stage.as_str());
            said.extend([task.clone(), stage.to_string(), format!("2026-05-{day:02}"), "dev".into()]);
            let head = format!("@dev>wait:task{{task:{task}|stage:{stage}|deadline:2026-05-{day:02}|owner:dev}}");
            host.takes(101, &frame(&head, n, n.into(), ""));
        }
        let checkpoint = host.phase(NOW).unwrap();
        let digest = checkpoint.digest().unwrap();
        prop_assert!(!digest.facts().is_empty());
        for fact in digest.facts() {
            prop_assert!(!fact.relationship().is_empty());
            prop_assert!(said.contains(&fact.value().to_string()), "{}", fact);
            prop_assert!(fact.value().to_string().len() <= 50, "verbatim or absent: {}", fact);
            let entity = fact.entity().to_string();
            prop_assert!(said.contains(&entity) || entity == "dev.task", "{}", fact);
        }
        let summary = Value::from(digest.summary().to_owned()).to_string();
        prop_assert!(!summary.is_empty() && tokens(&summary) <= 100, "{}", summary);
        prop_assert_eq!(digest.summary().ends_with(" ..."), chatter);
    }
}

#[test]
fn ckp_07_refuses_values_that_are_too_long_and_summaries_that_are() {
    let rules = Rules {
        summarizer: Arc::new(Chatter),
        ..Rules::default()
    };
    let mut host = open_host(counting("hub"), rules);
    let long = "so_".repeat(20);
    let head = format!("@dev>wait:task{{task:T1|note:{long}|stage:two}}");
    host.takes(101, &frame(&head, 1, 1, ""));
    let checkpoint = host.phase(NOW).unwrap();
    let digest = checkpoint.digest().unwrap();
    let facts: Vec<_> = digest.facts().iter().map(Fact::relationship).collect();
    assert!(
        facts.contains(&"stage") && !facts.contains(&"note"),
        "{facts:?}"
    );
    // The summary is cut after a word, and the cut is marked.
    let words = digest.summary().strip_suffix(" ...").unwrap().split(' ');
    assert!(
        words
            .zip(["much", "is", "said"].into_iter().cycle())
            .all(|(a, b)| a == b)
    );
    assert!(digest.tokens() <= 200);
    // Facts that are not in warm state are in the frames that the manifest lists.
    assert!(host.log().iter().any(|entry| entry.text.contains(&long)));
}

// ---- CKP-08 ------------------------------------------------------------------------

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Each byte of every frame that has left hot state is in cold state on both sides. So is every
    /// value that the frame referred to.
    #[test]
    fn ckp_08_accepts_that_what_was_frozen_is_read_back_byte_for_byte(
        said in prop::collection::vec((prop::sample::select(vec!["req", "done", "esc", "qry"]), "\\PC{0,120}", 0..3_usize), 1..10),
    ) {
        let mut room = Room::counting(&["dev"]);
        let mut sent = Vec::new();
        for (intent, text, lists) in &said {
            let message = DynamicFrame::new("dev", intent, "plan").unwrap()
                .with("goal", text.as_str()).with("list", numbers(lists * 60));
            room.say(0, &Outbound::message(&message));
            sent.push(message.payload);
        }
        let now = room.now;
        room.host.phase(now);
        room.settle();
        room.check_replicas();
        let mut left = BTreeSet::new();
        for entry in room.host.log() {
            if let Some(checkpoint) = sides::checkpoint(&entry) {
                left.extend(checkpoint.left().iter().flat_map(|(from, to)| *from..=*to));
            }
        }
        let hot: BTreeSet<u64> = room.host.state().hot().positions().collect();
        let frames = room.host.frames();
        prop_assert_eq!(frames.len(), sent.len());
        let copies = room.members[0].log();
        for (entry, payload) in frames.iter().zip(sent) {
            prop_assert!(left.contains(&entry.position) || hot.contains(&entry.position));
            let copy = copies.iter().find(|copy| copy.position == entry.position).unwrap();
            prop_assert_eq!(&copy.text, &entry.text);
            let passed = room.passed(101, 100).any(|text| text == &*entry.text);
            prop_assert!(passed, "as it was sent: {}", entry.text);
            let read = DynamicFrame::decode(&entry.text, &sides::STANDARD).unwrap();
            for (key, value) in payload.iter() {
                let there = room.host.follow(read.payload.get(key).unwrap());
                prop_assert_eq!(&there, value);
            }
        }
    }
}

#[test]
fn ckp_08_refuses_other_bytes_in_the_place_of_what_was_said() {
    let mut host = host();
    let entry = host
        .takes(101, &frame("@dev>sync:plan{}", 1, 1, ""))
        .entries
        .remove(0);
    let mut batch = accp_session::Batch::new(true);
    let text = entry.text.replace("plan", "nothing");
    batch.entries.push(entry.clone().with(|entry| {
        entry.text = text.into();
        entry.hash = None;
    }));
    let error = host.store.commit(&[(&HUB, &batch)]).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Conflict);
    assert_eq!(
        host.store.entries(&HUB, entry.position, 1).unwrap(),
        [entry]
    );
}
