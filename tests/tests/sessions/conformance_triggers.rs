//! Conformance of the triggers of a checkpoint, CKP-01 to CKP-05 (draft section 5.2).
//! `docs/conformance.md` lists the tests of each requirement.

use std::sync::{Arc, Mutex};

use accp_runtime::context::{Checkpoint, CheckpointHooks, Frozen, Trigger, Verdict};
use accp_runtime::session::{Event, Outbound, Rules};
use accp_runtime::{DynamicFrame, ErrorCode, Intent};
use proptest::prelude::*;

use crate::sessions::room::Room;
use crate::sessions::sides::{Heard, NOW, Node, Side, counting, frame, open_host, options, tokens};

fn host() -> Side {
    open_host(counting("hub"), Rules::default())
}

fn triggers(heard: &Heard) -> Vec<Vec<Trigger>> {
    heard
        .checkpoints()
        .iter()
        .map(|checkpoint| checkpoint.triggers().to_vec())
        .collect()
}

/// Returns a frame of an intent that application frames may have.
fn of_intent(intent: Intent, n: u32) -> String {
    let (payload, more) = match intent {
        Intent::CANCEL => ("", ",cid:none"),
        Intent::SYNC => ("v:1|delta:{a:1}", ""),
        _ => ("goal:x", ""),
    };
    let operation = if intent == Intent::SYNC {
        "state"
    } else {
        "plan"
    };
    frame(
        &format!("@dev>{intent}:{operation}{{{payload}}}"),
        n,
        n.into(),
        more,
    )
}

/// Checks that a frame of this intent leads to a checkpoint with this trigger only.
fn check_trigger(trigger: Trigger, intent: Intent) {
    let mut host = host();
    host.takes(101, &frame("@dev>sync:plan{goal:x}", 1, 1, ""));
    let heard = host.takes(101, &of_intent(intent, 2));
    assert_eq!(triggers(&heard), [[trigger]]);
    assert_eq!(heard.events, [Event::Checkpoint(1)]);
    // The checkpoint covers the earlier frames. The frame itself stays.
    let checkpoint = &heard.checkpoints()[0];
    let position = heard.entries[0].position;
    assert_eq!(checkpoint.covers(), position - 1);
    assert_eq!(checkpoint.left(), [(position - 1, position - 1)]);
    assert_eq!(
        host.state().hot().positions().collect::<Vec<_>>(),
        [position]
    );
}

/// Checks that there is no checkpoint without a counter, because there are no budgets.
fn check_no_trigger(intent: Intent) {
    let mut host = open_host(options("hub"), Rules::default());
    assert!(
        host.takes(101, &of_intent(intent, 1))
            .checkpoints()
            .is_empty()
    );
    assert_eq!(host.phase(NOW), None);
    assert_eq!(host.session().context(), "");
}

// ---- CKP-01, CKP-03, CKP-05 --------------------------------------------------------

#[test]
fn ckp_01_accepts_done_as_a_trigger() {
    check_trigger(Trigger::Done, Intent::DONE);
}

/// Other intents, and refused or dropped `done` frames, are not triggers.
#[test]
fn ckp_01_refuses_other_intents_and_frames_that_were_not_taken() {
    let mut host = host();
    let session = [
        Intent::REQ,
        Intent::QRY,
        Intent::FAIL,
        Intent::WAIT,
        Intent::SYNC,
        Intent::STREAM,
        Intent::END,
        Intent::CANCEL,
    ];
    for (n, intent) in (1..).zip(session) {
        let heard = host.takes(101, &of_intent(intent, n));
        assert_eq!(heard.checkpoints(), [], "{intent}");
    }
    host.refuses(101, &frame("@dev>done:plan{goal:$ctx.none}", 9, 9, ""));
    let expired = frame("@dev>done:plan{}", 10, 9, ",ttl:1").replace("ts:1714", "ts:1713");
    assert_eq!(host.ignores(101, &expired, NOW).entries.len(), 1);
    assert_eq!(host.state().warm().last(), 0);
    check_no_trigger(Intent::DONE);
}

#[test]
fn ckp_03_accepts_esc_as_a_trigger() {
    check_trigger(Trigger::Esc, Intent::ESC);
}

#[test]
fn ckp_03_refuses_esc_where_nothing_is_counted() {
    check_no_trigger(Intent::ESC);
}

#[test]
fn ckp_05_accepts_comp_as_a_trigger() {
    check_trigger(Trigger::Comp, Intent::COMP);
}

#[test]
fn ckp_05_refuses_comp_where_nothing_is_counted_and_of_others() {
    check_no_trigger(Intent::COMP);
    let mut host = host();
    let foreign = "@boss>comp:state{}[mid:101000001001,seq:1]";
    assert_eq!(host.refuses(101, foreign).code, ErrorCode::POLICY_DENIED);
    assert_eq!(host.state().warm().last(), 0);
}

// ---- CKP-02 ------------------------------------------------------------------------

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A checkpoint is taken when hot state would hold more than 400 tokens, and not before.
    #[test]
    fn ckp_02_accepts_401_tokens_and_refuses_400_as_a_trigger(words in prop::collection::vec(0..80_usize, 1..14)) {
        let mut host = host();
        for (words, n) in words.into_iter().zip(1..) {
            let head = format!("@dev>sync:plan{{notes:[{}]}}", vec!["word"; words].join(","));
            let before = host.session().budget().hot.used as usize;
            let with_it = before + tokens(&format!("{head}\n"));
            let heard = host.takes(101, &frame(&head, n, n.into(), ""));
            let expected: &[Vec<Trigger>] = if with_it > 400 { &[vec![Trigger::Hot]] } else { &[] };
            prop_assert_eq!(triggers(&heard), expected, "{} tokens", with_it);
            prop_assert!(host.session().budget().hot.used <= 400);
        }
    }
}

/// Returns a frame whose line has exactly this many tokens.
fn line_of(count: usize) -> String {
    let line = |words: usize| {
        format!(
            "@dev>sync:plan{{notes:[{}]}}",
            vec!["word"; words].join(",")
        )
    };
    let words = (0..=count).find(|words| tokens(&format!("{}\n", line(*words))) == count);
    line(words.unwrap())
}

#[test]
fn ckp_02_accepts_a_frame_of_more_than_400_tokens_as_a_trigger() {
    let mut host = host();
    let heard = host.takes(101, &frame(&line_of(441), 1, 1, ""));
    assert_eq!(triggers(&heard), [[Trigger::Hot]]);
    // The frame stays as the current frame, because it fits. With the next frame, it leaves hot state.
    assert_eq!(host.session().budget().hot.used, 441);
    let heard = host.takes(101, &frame("@dev>sync:plan{}", 2, 2, ""));
    assert_eq!(triggers(&heard), [[Trigger::Hot]]);
    assert!(host.session().budget().hot.used < 20);
}

#[test]
fn ckp_02_refuses_400_tokens_as_a_trigger() {
    let mut host = host();
    for (n, count) in (1..).zip([201, 199]) {
        let heard = host.takes(101, &frame(&line_of(count), n, n.into(), ""));
        assert_eq!(heard.checkpoints(), []);
    }
    assert_eq!(host.session().budget().hot.used, 400);
    let heard = host.takes(101, &frame("@dev>sync:plan{}", 3, 3, ""));
    assert_eq!(triggers(&heard), [[Trigger::Hot]]);
}

// ---- CKP-04 ------------------------------------------------------------------------

#[test]
fn ckp_04_accepts_a_phase_boundary_as_a_trigger() {
    let mut room = Room::counting(&["dev"]);
    room.say(
        0,
        &Outbound::message(&DynamicFrame::new("dev", "sync", "plan").unwrap()),
    );
    let position = room.host.session().position();
    let checkpoint = room.host.phase(NOW).unwrap();
    room.settle();
    assert_eq!(checkpoint.triggers(), [Trigger::Phase]);
    // There is no current frame, so the checkpoint covers all of hot state.
    assert_eq!(
        (checkpoint.covers(), checkpoint.left()),
        (position, &[(position, position)][..])
    );
    assert_eq!(room.host.session().budget().hot.used, 0);
    room.check_replicas();
}

/// Hooks that always object.
struct Never(Arc<Mutex<Vec<u64>>>);

impl CheckpointHooks for Never {
    fn before(&mut self, _: &Frozen<'_>) -> Verdict {
        Verdict::Veto("not now".into())
    }

    fn after(&mut self, checkpoint: &Checkpoint) {
        self.0.lock().unwrap().push(checkpoint.id());
    }
}

/// A hook postpones a checkpoint. The veto is logged and changes nothing else. A veto does not count when hot state
/// is over its limit.
#[test]
fn ckp_04_refuses_a_checkpoint_that_a_hook_vetoes() {
    let mut host = host();
    let seen = Arc::default();
    host.hooks(Never(Arc::clone(&seen)));
    host.takes(101, &frame("@dev>sync:plan{}", 1, 1, ""));
    let (hot_state, warm) = (host.state().hot().clone(), host.state().warm().clone());
    assert_eq!(host.phase(NOW), None);
    host.carries_out(NOW);
    assert_eq!(
        (host.state().hot(), host.state().warm()),
        (&hot_state, &warm)
    );
    assert_eq!(
        host.events.last(),
        Some(&Event::CheckpointDeferred("not now".into()))
    );
    let last = host.log().pop().unwrap();
    assert!(
        last.text.starts_with("@hub>sync:veto{why:\"not_now}"),
        "{}",
        last.text
    );
    assert!(
        host.takes(101, &of_intent(Intent::DONE, 2))
            .checkpoints()
            .is_empty()
    );
    let mut checkpoints = 0;
    for n in 3..9 {
        let heard = host.takes(101, &frame(&line_of(151), n, n.into(), ""));
        checkpoints += heard.checkpoints().len();
        assert!(host.session().budget().hot.used <= 500);
    }
    assert!(checkpoints > 0);
    assert_eq!(seen.lock().unwrap().len(), checkpoints);
}
